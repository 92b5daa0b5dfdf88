//! A namespace's network written down, compared and brought back.
//!
//! ```text
//!  take ─► Checkpoint ─┐
//!                      ├─► Plan::between(now, wanted) ─► steps, printable ─► restore runs them
//!  take ─► Checkpoint ─┘         ▲                                                  │
//!                                └───────────── look again after each phase ────────┘
//! ```
//!
//! Links are named by name, so that a link made anew is the same one. What the kernel makes by itself
//! from an address or a link is never deleted, and put back only when the kernel did not; what ends
//! by itself (a router's addresses and routes) is left to whoever renews it.
//! Sysctls, neighbours and traffic control are not part of a checkpoint.

mod addresses;
mod links;
mod matching;
mod plan;
mod restore;
mod routes;

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use self::plan::{Phase, Plan, Step};
pub use self::restore::{Left, Report};

use crate::address::{Address, Origin};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::link::{Far, Link, LinkIndex, LinkKind};
use crate::mac::MacAddr;
use crate::name::IfName;
use crate::route::{Family, Protocol, Route, RouteKind, table};
use crate::rule::Rule;

/// The version of what [`Checkpoint`] serialises to.
pub const VERSION: u32 = 1;

/// The network of a namespace at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub version: u32,
    /// The boot and the namespace it was taken in: only there do numbers of links mean anything.
    pub world: World,
    pub links: Vec<SavedLink>,
    pub addresses: Vec<Address<IfName>>,
    pub routes: Vec<Route<IfName>>,
    pub rules: Vec<Rule>,
}

/// Where numbers of links are comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    pub boot: String,
    pub namespace: u64,
}

/// A link as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedLink {
    pub index: LinkIndex,
    pub name: IfName,
    pub alias: Option<String>,
    pub kind: LinkKind,
    pub mtu: u32,
    pub mac: Option<MacAddr>,
    pub up: bool,
    pub master: Option<IfName>,
    pub parent: Option<Lower>,
    pub peer: Option<Lower>,
}

/// The link another one stands on or ends at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lower {
    Here(IfName),
    /// In another namespace.
    Away,
}

impl SavedLink {
    /// Why this namespace alone cannot make the link again; nothing where it can.
    pub fn why_not_made(&self) -> Option<&'static str> {
        match (&self.kind, &self.parent, &self.peer) {
            (LinkKind::Loopback, ..) => Some("a loopback comes with its namespace"),
            (LinkKind::Physical, ..) => Some("it is hardware, or was moved here"),
            (LinkKind::Other(_), ..) => Some("links of its kind are not made by this program"),
            (_, Some(Lower::Away), _) => Some("its parent is in another namespace"),
            (LinkKind::Veth, _, Some(Lower::Here(_))) => None,
            (LinkKind::Veth, ..) => Some("its other end is in another namespace"),
            _ => None,
        }
    }
}

impl Handle {
    /// Writes down the namespace's network.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        let links = self.links()?;
        let names: HashMap<LinkIndex, IfName> =
            links.iter().map(|link| (link.index, link.name.clone())).collect();
        let called = |index: &LinkIndex| names.get(index).cloned();
        // What stands on a link that came after the links were read is left out.
        let addresses = self.addresses()?;
        let addresses = addresses.iter().filter_map(|address| save_address(address, called));
        let routes = self.routes()?;
        let routes = routes.iter().filter(|route| is_kept(route));
        Ok(Checkpoint {
            version: VERSION,
            world: World { boot: boot_id()?, namespace: self.namespace().identity()?.inode() },
            links: links.iter().map(|link| save_link(link, called)).collect(),
            addresses: addresses.collect(),
            routes: routes.filter_map(|route| route.map_links(called)).collect(),
            rules: self.rules()?,
        })
    }
}

fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    std::fs::read_to_string(path)
        .map(|text| text.trim_end().to_owned())
        .map_err(|source| Error::File { path: path.to_owned(), source })
}

fn save_link(link: &Link, called: impl Fn(&LinkIndex) -> Option<IfName>) -> SavedLink {
    let lower = |far: &Far| match far.namespace {
        None => called(&far.index).map_or(Lower::Away, Lower::Here),
        Some(_) => Lower::Away,
    };
    SavedLink {
        index: link.index,
        name: link.name.clone(),
        alias: link.alias.clone(),
        kind: link.kind.clone(),
        mtu: link.mtu,
        // A loopback can be given a MAC, but never its zeros back; nothing looks at it.
        mac: link.mac.filter(|_| link.kind != LinkKind::Loopback),
        up: link.up,
        master: link.master.as_ref().and_then(&called),
        parent: link.parent.as_ref().map(lower),
        peer: link.peer.as_ref().map(lower),
    }
}

fn save_address(
    address: &Address,
    called: impl Fn(&LinkIndex) -> Option<IfName>,
) -> Option<Address<IfName>> {
    let name = called(&address.link)?;
    // A router's addresses come again by themselves.
    if address.origin == Origin::Router {
        return None;
    }
    let mut saved = address.on(name);
    // The kernel labels an IPv4 address with the link's name unless told otherwise.
    saved.label = saved.label.filter(|label| label != saved.link.as_str());
    Some(saved)
}

/// Whether a route can be put back.
fn is_kept(route: &Route) -> bool {
    let passing = route.expires || matches!(route.protocol, Protocol::RA | Protocol::REDIRECT);
    // The kernel adds these when an IPv6 address has passed its check for doubles, and takes away
    // only those it added itself. With a VRF they are in its table.
    let address =
        matches!(route.kind, RouteKind::Local | RouteKind::Anycast | RouteKind::Multicast);
    let own = route.family() == Family::Ipv6
        && (route.table == table::LOCAL || address)
        && route.protocol == Protocol::KERNEL;
    !passing && !own
}
