//! A desired state in nmstate's words, read and checked by itself.
//!
//! What is not given stays `None`, because not given means: as it is.

mod interface;
mod ip;
mod kinds;
mod routes;

use std::collections::BTreeSet;

use landbridge_linux::IfName;
use serde_json::Value;

pub use self::interface::{Presence, Wish};
pub use self::ip::{Auto, Ipv4Wish, Ipv6Wish};
pub use self::kinds::{BondWish, BridgeWish, KindWish, PortVlans, PortWish, VlanWish, VxlanWish};
pub use self::routes::{RouteWish, RuleWish};

use crate::error::Fault;
use crate::fields::Fields;

/// A desired state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    pub interfaces: Vec<Wish>,
    pub routes: Vec<RouteWish>,
    pub rules: Vec<RuleWish>,
    pub resolver: Option<ResolverWish>,
    pub hostname: Option<HostnameWish>,
}

/// What is wanted of the resolver; nothing is to stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolverWish {
    pub servers: Option<Vec<String>>,
    pub search: Option<Vec<String>>,
    pub options: Option<Vec<String>>,
}

/// What is wanted of the node's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostnameWish {
    pub running: Option<String>,
    pub config: Option<String>,
}

impl Desired {
    /// Reads a desired state.
    pub fn parse(value: &Value) -> Result<Self, Fault> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let mut fields = Fields::of(value, "")?;
        let _ = fields.text("description")?;
        let mut desired = Self { hostname: hostname(&mut fields)?, ..Self::default() };
        for (place, value) in fields.list("interfaces")?.unwrap_or_default() {
            desired.interfaces.push(Wish::parse(&place, value)?);
        }
        if let Some(mut routes) = fields.object("routes")? {
            for (place, value) in routes.list("config")?.unwrap_or_default() {
                desired.routes.push(RouteWish::parse(&place, value)?);
            }
            routes.shown_only(&["running"]);
            routes.finish(&[])?;
        }
        if let Some(mut rules) = fields.object("route-rules")? {
            for (place, value) in rules.list("config")?.unwrap_or_default() {
                desired.rules.push(RuleWish::parse(&place, value)?);
            }
            rules.finish(&[])?;
        }
        desired.resolver = resolver(&mut fields)?;
        fields.finish(&["ovs-db", "ovn"])?;
        desired.no_name_twice()?;
        Ok(desired)
    }

    fn no_name_twice(&self) -> Result<(), Fault> {
        let mut seen = BTreeSet::new();
        match self.interfaces.iter().find(|wish| !seen.insert(&wish.name)) {
            Some(wish) => Err(Fault::new(
                &wish.place,
                "the list has two interfaces of this name: put everything about it into one",
            )),
            None => Ok(()),
        }
    }

    /// The wish for an interface.
    pub fn wish(&self, name: &IfName) -> Option<&Wish> {
        self.interfaces.iter().find(|wish| wish.name == *name)
    }
}

fn hostname(fields: &mut Fields<'_>) -> Result<Option<HostnameWish>, Fault> {
    let Some(mut fields) = fields.object("hostname")? else { return Ok(None) };
    let mut named = |key| -> Result<Option<String>, Fault> {
        let Some(text) = fields.text(key)? else { return Ok(None) };
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if text.is_empty() || text.len() > 64 || !text.chars().all(fine) || text.starts_with('-') {
            let why = format!("{text:?} is no host name: 1 to 64 letters, digits, - and .");
            return Err(fields.fault(key, why));
        }
        Ok(Some(text))
    };
    let wish = HostnameWish { running: named("running")?, config: named("config")? };
    fields.finish(&[])?;
    Ok(Some(wish))
}

fn resolver(fields: &mut Fields<'_>) -> Result<Option<ResolverWish>, Fault> {
    let Some(mut outer) = fields.object("dns-resolver")? else { return Ok(None) };
    outer.shown_only(&["running"]);
    let Some(mut fields) = outer.object("config")? else {
        outer.finish(&[])?;
        return Ok(None);
    };
    outer.finish(&[])?;
    let wish = ResolverWish {
        servers: fields.texts("server")?,
        search: fields.texts("search")?,
        options: fields.texts("options")?,
    };
    for server in wish.servers.iter().flatten() {
        let (ip, zone) = match server.split_once('%') {
            Some((ip, zone)) => (ip, IfName::new(zone).is_ok()),
            None => (server.as_str(), true),
        };
        if !zone || ip.parse::<std::net::IpAddr>().is_err() {
            return Err(fields.fault("server", format!("{server:?} is no IP address")));
        }
    }
    for (key, words) in [("search", &wish.search), ("options", &wish.options)] {
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '#' || c == ';';
        if let Some(word) =
            words.iter().flatten().find(|word| word.is_empty() || word.contains(odd))
        {
            return Err(fields.fault(key, format!("{word:?} is more than one word")));
        }
    }
    // `config: {}` takes everything away, as in nmstate.
    let nothing = wish == ResolverWish::default();
    fields.finish(&[])?;
    Ok(Some(if nothing {
        let none = || Some(Vec::new());
        ResolverWish { servers: none(), search: none(), options: none() }
    } else {
        wish
    }))
}
