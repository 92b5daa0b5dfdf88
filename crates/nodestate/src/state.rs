//! The network of a node as values, in nmstate's terms: what is, or what is to be.

mod kind;

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use landbridge_linux::link::{BridgeVlan, Port};
use landbridge_linux::route::{Family, Protocol, table};
use landbridge_linux::{IfName, MacAddr, Route, Rule};
use serde::{Deserialize, Serialize};

pub use self::kind::Kind;
use crate::dhcp;
use crate::resolver::Resolver;

/// Everything a desired state can speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub interfaces: BTreeMap<IfName, Interface>,
    /// All but the kernel's table of own addresses.
    pub routes: Vec<Route<IfName>>,
    pub rules: Vec<Rule>,
    pub resolver: Resolver,
    pub hostname: Hostname,
    /// What is configured by DHCP.
    pub dhcp: Vec<dhcp::Request>,
    /// What a new link starts with.
    pub fresh: Fresh,
}

/// The settings a new link starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fresh {
    pub ipv4_forwarding: bool,
    pub ipv6_enabled: bool,
    pub ipv6_forwarding: bool,
    pub accept_ra: u8,
}

impl Default for Fresh {
    fn default() -> Self {
        Self { ipv4_forwarding: false, ipv6_enabled: true, ipv6_forwarding: false, accept_ra: 1 }
    }
}

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    pub kind: Kind,
    /// 0 is whatever the kernel gives to a new link.
    pub mtu: u32,
    pub mac: Option<MacAddr>,
    pub up: bool,
    pub carrier: bool,
    pub description: Option<String>,
    pub promiscuous: bool,
    /// The bridge, bond or VRF it belongs to.
    pub controller: Option<IfName>,
    /// What it is like as a port of a bridge.
    pub port: Option<BridgePort>,
    pub ipv4: Ipv4,
    pub ipv6: Ipv6,
    /// Somebody else's, such as the node's end of a pod's link: not shown, and never taken out of a
    /// bridge because a list of ports does not name it.
    pub foreign: bool,
}

/// A link as a port of a bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgePort {
    pub options: Port,
    /// The VLANs let through; none where the kernel cannot filter them.
    pub vlans: Vec<BridgeVlan>,
}

/// IPv4 of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ipv4 {
    pub addresses: Vec<IpAddress>,
    pub forwarding: bool,
}

/// IPv6 of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ipv6 {
    pub enabled: bool,
    pub addresses: Vec<IpAddress>,
    pub forwarding: bool,
    /// Whether routers are believed: 0 no, 1 yes, 2 also while forwarding.
    pub accept_ra: u8,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IpAddress {
    pub net: IpNet,
    /// Came by itself: link-local, from a router, or with a time to live.
    pub automatic: bool,
    /// Not the first IPv4 address of its network; it goes when the first one goes.
    pub secondary: bool,
}

impl IpAddress {
    /// An address that stays until it is taken away.
    pub fn fixed(net: IpNet) -> Self {
        Self { net, automatic: false, secondary: false }
    }
}

/// The node's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hostname {
    pub running: String,
    /// As it will be after a boot; nothing where no file says so.
    pub config: Option<String>,
}

impl Interface {
    /// A link that is not there yet, with the kernel's choices.
    pub fn new(kind: Kind, fresh: Fresh) -> Self {
        Self {
            kind,
            mtu: 0,
            mac: None,
            up: false,
            carrier: false,
            description: None,
            promiscuous: false,
            controller: None,
            port: None,
            ipv4: Ipv4 { addresses: Vec::new(), forwarding: fresh.ipv4_forwarding },
            ipv6: Ipv6 {
                enabled: fresh.ipv6_enabled,
                addresses: Vec::new(),
                forwarding: fresh.ipv6_forwarding,
                accept_ra: fresh.accept_ra,
            },
            foreign: false,
        }
    }

    /// The addresses of a family.
    pub fn addresses(&self, family: Family) -> &[IpAddress] {
        match family {
            Family::Ipv4 => &self.ipv4.addresses,
            Family::Ipv6 => &self.ipv6.addresses,
        }
    }
}

impl State {
    /// The interfaces that belong to a bridge, bond or VRF.
    pub fn ports<'a>(&'a self, controller: &'a IfName) -> impl Iterator<Item = &'a IfName> {
        self.interfaces
            .iter()
            .filter(move |(_, link)| link.controller.as_ref() == Some(controller))
            .map(|(name, _)| name)
    }

    /// The interfaces, each after those it stands on and those that are its ports.
    pub fn lower_first(&self) -> Vec<&IfName> {
        self.ordered().0
    }

    /// An interface that stands on itself, by way of others.
    pub fn circle(&self) -> Option<&IfName> {
        self.ordered().1
    }

    fn ordered(&self) -> (Vec<&IfName>, Option<&IfName>) {
        let mut below: BTreeMap<&IfName, Vec<&IfName>> = BTreeMap::new();
        for (name, link) in &self.interfaces {
            below.entry(name).or_default().extend(link.kind.parent());
            if let Some(controller) = &link.controller {
                below.entry(controller).or_default().push(name);
            }
        }
        let mut walk = Walk { below, open: BTreeSet::new(), order: Vec::new(), circle: None };
        for name in self.interfaces.keys() {
            walk.visit(name);
        }
        walk.order.retain(|name| self.interfaces.contains_key(*name));
        (walk.order, walk.circle)
    }
}

/// Depth first; what is open and met again stands on itself.
struct Walk<'a> {
    below: BTreeMap<&'a IfName, Vec<&'a IfName>>,
    open: BTreeSet<&'a IfName>,
    order: Vec<&'a IfName>,
    circle: Option<&'a IfName>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, name: &'a IfName) {
        if self.open.contains(name) {
            self.circle = Some(name);
            return;
        }
        let Some(below) = self.below.remove(name) else { return };
        self.open.insert(name);
        for lower in below {
            self.visit(lower);
        }
        self.open.remove(name);
        self.order.push(name);
    }
}

/// Whether somebody configured a route, rather than the kernel, a router or a DHCP server.
pub fn is_configured(route: &Route<IfName>) -> bool {
    let by_itself = [Protocol::KERNEL, Protocol::RA, Protocol::REDIRECT, Protocol::DHCP];
    !by_itself.contains(&route.protocol) && !route.expires && route.table != table::LOCAL
}
