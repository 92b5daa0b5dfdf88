//! What one node has to make.
//!
//! Everything is resolved: remote groups are addresses, subnets are prefixes, routes and resolvers. An
//! agent needs to know nothing but this, and two plans that are equal make the same node.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::mac::Mac;

/// The file of a plan in a node's directory.
pub const FILE: &str = "cloud.json";
/// A plan of ten thousand ports is a small part of it.
pub const MAX_BYTES: u64 = 64 << 20;

/// Everything of the cloud on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePlan {
    /// Grows with each plan that differs from the one before; the status says which was made.
    pub generation: u64,
    pub networks: Vec<Network>,
    pub instances: Vec<Instance>,
    pub routers: Vec<Router>,
}

/// A network that something on this node is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    pub id: String,
    pub name: String,
    pub mtu: u32,
    pub uplink: Uplink,
}

/// How the part of a network on this node is connected with the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Uplink {
    /// By a segment of the lab's switches that carries nothing else.
    Segment,
    /// By a link of the node.
    Physical {
        /// Neutron's name of the physical network.
        network: String,
        link: String,
        /// The VLAN on it; none is untagged.
        vlan: Option<u16>,
    },
    /// By nothing: no node knows a link for its physical network.
    Missing { network: String },
}

/// An instance that runs on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    pub id: String,
    pub name: String,
    /// In the order in which it gets them: eth0, eth1, …
    pub ports: Vec<Port>,
}

/// A port of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    pub id: String,
    pub network: String,
    pub mac: Mac,
    pub mtu: u32,
    /// Whether it is switched on.
    pub up: bool,
    pub fixed: Vec<Fixed>,
    pub resolvers: Vec<IpAddr>,
    /// A child of a trunk: the instance has it as this VLAN of another port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Child>,
    /// Nothing: the port may send and receive whatever it likes.
    pub security: Option<Security>,
}

/// Where a trunk has a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// The trunk's own port.
    pub parent: String,
    pub vlan: u16,
}

/// An address of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fixed {
    /// With the length of its subnet's prefix.
    pub address: IpNet,
    pub gateway: Option<IpAddr>,
    pub routes: Vec<HostRoute>,
    /// Who says to be the DHCP server; nothing where the instance is told the address otherwise.
    pub dhcp: Option<Ipv4Addr>,
}

/// A route besides that to the subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRoute {
    pub destination: IpNet,
    pub nexthop: IpAddr,
}

/// What a guarded port may send and receive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Security {
    /// Sources besides its own addresses.
    pub pairs: Vec<Pair>,
    /// Of all its security groups.
    pub rules: Vec<Rule>,
}

/// An address that may be a source, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    pub address: IpNet,
    pub mac: Mac,
}

/// Which way a rule is about, seen from the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    Ingress,
    Egress,
}

/// What a security group lets through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub direction: Direction,
    pub ipv6: bool,
    /// The number of the protocol; nothing is any.
    pub protocol: Option<u8>,
    /// Ports from and to; for ICMP, type and code.
    pub first: Option<u16>,
    pub last: Option<u16>,
    /// With whom; nothing is anybody, an empty list is nobody.
    pub remotes: Option<Vec<IpNet>>,
}

/// A router that stands on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Router {
    pub id: String,
    pub name: String,
    pub interfaces: Vec<Interface>,
    /// Default gateways, and the routes that it was given.
    pub routes: Vec<HostRoute>,
    /// The address that packets to the outside get; nothing where they keep theirs.
    pub snat: Option<Ipv4Addr>,
    pub floating: Vec<Floating>,
}

/// An interface of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    pub port: String,
    pub network: String,
    pub mac: Mac,
    pub mtu: u32,
    pub addresses: Vec<IpNet>,
    /// Whether it leads to the external network.
    pub outside: bool,
}

/// An address outside that stands for one inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Floating {
    pub outside: Ipv4Addr,
    pub inside: Ipv4Addr,
}

impl NodePlan {
    /// Whether there is nothing to make.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.instances.is_empty() && self.routers.is_empty()
    }

    /// Whether another plan makes the same node.
    pub fn makes_the_same(&self, other: &Self) -> bool {
        self.networks == other.networks
            && self.instances == other.instances
            && self.routers == other.routers
    }
}

impl Port {
    /// The address that DHCP gives, with who gives it: a port has one, as with OVN.
    pub fn leased(&self) -> Option<(&Fixed, Ipv4Addr)> {
        self.fixed.iter().find_map(|fixed| fixed.dhcp.map(|server| (fixed, server)))
    }
}
