//! Options about ranges of addresses: `synth-domain`, `domain`, `auth-zone`.

use std::net::IpAddr;

use ipnet::IpNet;

use super::lines::fields;
use super::servers::{ip, network_of};
use super::{BadOption, Domain, DomainRule, Route, Settings};
use crate::hosts::domain_name;
use crate::wire::Name;

/// Addresses from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub first: IpAddr,
    pub last: IpAddr,
}

impl Range {
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }
}

impl From<IpNet> for Range {
    fn from(net: IpNet) -> Self {
        Self { first: net.network(), last: net.broadcast() }
    }
}

/// `synth-domain=domain,range,prefix[*]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synth {
    pub domain: Name,
    pub range: Range,
    /// In lower case.
    pub prefix: String,
    /// Names are numbered from the start of the range instead of holding the address.
    pub numbered: bool,
}

/// `domain=name[,range]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainOf {
    pub domain: Name,
    pub range: Option<Range>,
}

/// `auth-zone=domain[,subnets][,exclude:subnets]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthZone {
    pub domain: Name,
    pub subnets: Vec<IpNet>,
    pub excluded: Vec<IpNet>,
}

/// `auth-server=name[,interfaces and addresses]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthServer {
    pub name: Name,
    pub interfaces: Vec<AuthInterface>,
    pub addresses: Vec<IpAddr>,
}

/// An interface, and which addresses of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthInterface {
    pub name: String,
    pub v4: bool,
    pub v6: bool,
}

impl AuthInterface {
    pub(crate) fn matches(&self, address: IpAddr, interface: &str) -> bool {
        self.name == interface && if address.is_ipv4() { self.v4 } else { self.v6 }
    }
}

/// `auth-soa=serial[,hostmaster[,refresh[,retry[,expiry]]]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSoa {
    pub serial: u32,
    pub hostmaster: Option<Name>,
    pub refresh: u32,
    pub retry: u32,
    pub expiry: u32,
}

impl Default for AuthSoa {
    fn default() -> Self {
        Self { serial: 1, hostmaster: None, refresh: 1200, retry: 180, expiry: 1_209_600 }
    }
}

impl Settings {
    pub(super) fn synth_domain(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let domain = domain_name(&fields[0])?;
        let (range, used) = range(&fields[1..])?;
        let prefix = fields.get(1 + used).map(String::as_str).unwrap_or_default();
        if fields.len() > 2 + used {
            return Err(BadOption::new("has too many fields", SYNTH));
        }
        let (prefix, numbered) = match prefix.strip_suffix('*') {
            Some(prefix) => (prefix, true),
            None => (prefix, false),
        };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if prefix.len() > 40 || !prefix.bytes().all(legal) {
            return Err(BadOption::new(
                format!("{prefix:?} cannot begin a host name"),
                "use letters, digits and - for the prefix",
            ));
        }
        if let (IpAddr::V6(first), IpAddr::V6(last)) = (range.first, range.last)
            && first.to_bits() >> 64 != last.to_bits() >> 64
            && (numbered || used == 2)
        {
            return Err(BadOption::new(
                "the range leaves its /64",
                "keep the first 64 bits of both ends equal, or give a prefix without *",
            ));
        }
        let prefix = prefix.to_ascii_lowercase();
        self.synth_domains.push(Synth { domain, range, prefix, numbered });
        Ok(())
    }

    /// `domain[,range[,local]]`.
    pub(super) fn domain(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        if fields[0] == "#" {
            return Err(BadOption::new(
                "the domain of resolv.conf is not read",
                "write it out: domain=example.com",
            ));
        }
        let domain = domain_name(&fields[0])?;
        if fields.len() == 1 {
            self.domains.retain(|other| other.range.is_some());
            self.domains.push(DomainOf { domain, range: None });
            return Ok(());
        }
        let (range, used) = range(&fields[1..])?;
        match fields.get(1 + used).map(String::as_str) {
            None => {}
            Some("local") => {
                let route = Route::Local;
                let below = Domain::Below(domain.clone());
                self.rules.push(DomainRule { domain: below, route });
                if used == 1 {
                    self.rev_server(&fields[1])?;
                }
            }
            Some(other) => {
                return Err(BadOption::new(
                    format!("{other:?} after the range is unknown"),
                    "write domain=example.com,10.0.0.0/24,local",
                ));
            }
        }
        self.domains.insert(0, DomainOf { domain, range: Some(range) });
        Ok(())
    }

    pub(super) fn auth_zone(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let domain = domain_name(&fields[0])?;
        let (mut subnets, mut excluded) = (Vec::new(), Vec::new());
        for field in &fields[1..] {
            let (list, text) = match field.strip_prefix("exclude:") {
                Some(text) => (&mut excluded, text),
                None => (&mut subnets, field.as_str()),
            };
            list.push(network_of(text, 24, 64).map_err(|bad| {
                BadOption::new(bad.why, "give networks: those of interfaces are not looked up")
            })?);
        }
        if self.auth_zones.iter().any(|zone| zone.domain == domain) {
            return Err(BadOption::new("this zone is there already", "join both into one line"));
        }
        self.auth_zones.push(AuthZone { domain, subnets, excluded });
        Ok(())
    }

    pub(super) fn auth_server_option(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let name = domain_name(&fields[0])?;
        let mut server = AuthServer { name, interfaces: Vec::new(), addresses: Vec::new() };
        for field in fields[1..].iter().filter(|field| !field.is_empty()) {
            if let Ok(address) = field.parse() {
                server.addresses.push(address);
                continue;
            }
            let (name, v4, v6) = match field.rsplit_once('/') {
                Some((name, "4")) => (name, true, false),
                Some((name, "6")) => (name, false, true),
                _ => (field.as_str(), true, true),
            };
            server.interfaces.push(AuthInterface { name: name.to_owned(), v4, v6 });
        }
        self.auth_server = Some(server);
        Ok(())
    }

    pub(super) fn auth_soa_option(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let number = |at: usize, or: u32| match fields.get(at).map(String::as_str) {
            None | Some("") => Ok(or),
            Some(text) => text.parse().map_err(|_| {
                BadOption::new(
                    format!("{text:?} is no number"),
                    "write serial,hostmaster,refresh,retry,expiry",
                )
            }),
        };
        let default = AuthSoa::default();
        let hostmaster = match fields.get(1).filter(|name| !name.is_empty()) {
            // An address of mail stands as a name in SOA.
            Some(name) => Some(domain_name(&name.replacen('@', ".", 1))?),
            None => None,
        };
        self.auth_soa = AuthSoa {
            serial: number(0, default.serial)?,
            hostmaster,
            refresh: number(2, default.refresh)?,
            retry: number(3, default.retry)?,
            expiry: number(4, default.expiry)?,
        };
        Ok(())
    }
}

const SYNTH: &str = "write synth-domain=domain,10.0.0.0/24,prefix-";

/// `network/length` or `first,last`, and how many fields that took.
fn range(fields: &[String]) -> Result<(Range, usize), BadOption> {
    let missing = || BadOption::new("has no range of addresses", SYNTH);
    let first = fields.first().ok_or_else(missing)?;
    if first.contains('/') {
        return Ok((network_of(first, 32, 128)?.into(), 1));
    }
    let first = ip(first)?;
    let Some(last) = fields.get(1).and_then(|last| last.parse::<IpAddr>().ok()) else {
        return Ok((Range { first, last: first }, 1));
    };
    if first.is_ipv4() != last.is_ipv4() || last < first {
        return Err(BadOption::new(
            format!("{first} to {last} is no range"),
            "give the lower address first, both of one family",
        ));
    }
    Ok((Range { first, last }, 2))
}
