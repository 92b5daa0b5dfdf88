//! The shape of a lab: which switches and nodes there are, and how they are cabled.
//!
//! A shape is read from YAML ([`file`]) and is valid from then on: every name is one the kernel and
//! Kubernetes take, every NIC leads to a switch that exists, no MAC or address is there twice. The
//! shapes that have a name ([`builtin`]) are files of the same format, so each is an example, too.

pub mod builtin;
mod check;
pub mod file;
pub(crate) mod mac;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use landbridge_linux::{IfName, MacAddr};
use serde::{Deserialize, Serialize};

pub use self::check::Mistake;

/// A lab has at most this many nodes.
pub const MAX_NODES: usize = 64;
/// A node has at most this many NICs.
pub const MAX_NICS: usize = 16;
/// A lab has at most this many switches.
pub const MAX_SWITCHES: usize = 64;
/// A switch has at most this many cables: the kernel's bridge takes no more.
pub const MAX_PORTS: usize = 1023;
/// What a switch carries where its shape does not say: what data centre switches do.
pub const SWITCH_MTU: u32 = 9216;

/// A lab as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub switches: Vec<Switch>,
    pub nodes: Vec<Node>,
}

/// One virtual switch: a segment of Ethernet, and one more for each VLAN on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub name: String,
    /// What the switch's side of the network has: the gateway of the nodes, the DHCP server.
    pub addresses: Vec<IpNet>,
    /// The largest packet it passes on.
    pub mtu: u32,
    pub dhcp: Option<Dhcp>,
}

/// The addresses a DHCP server on the switch gives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp {
    /// The server's own address, one of the switch's.
    pub server: Ipv4Addr,
    pub prefix_len: u8,
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
    /// The default gateway it hands out.
    pub router: Option<Ipv4Addr>,
    pub lease_seconds: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A node of the Kubernetes cluster.
    Kubernetes,
    /// A machine beside it, as OpenStack's compute nodes are.
    Host,
}

/// One virtual node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub kind: Kind,
    /// Its Node object's labels, those of its roles among them.
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub nics: Vec<Nic>,
}

/// A taint of a Node object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: Effect,
}

/// What a taint does to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// One NIC of a node, with its cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    pub name: IfName,
    /// The switch, by its place in the shape.
    pub switch: usize,
    pub mtu: u32,
    pub mac: MacAddr,
    /// What the node has from boot on; everything else is up to its agent.
    pub addresses: Vec<IpNet>,
    /// Default gateways, at most one of each family.
    pub gateways: Vec<IpAddr>,
}

impl Effect {
    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

impl Shape {
    /// The node of that name, with its place.
    pub fn node(&self, name: &str) -> Option<(usize, &Node)> {
        self.nodes.iter().enumerate().find(|(_, node)| node.name == name)
    }

    /// Every node that has a static address, for `/etc/hosts`.
    pub fn hosts(&self) -> impl Iterator<Item = (IpAddr, &str)> {
        self.nodes.iter().flat_map(|node| {
            let addresses = node.nics.iter().flat_map(|nic| &nic.addresses);
            addresses.map(|net| (net.addr(), node.name.as_str()))
        })
    }
}

impl Node {
    /// The NIC of that name, with its place.
    pub fn nic(&self, name: &str) -> Option<(usize, &Nic)> {
        self.nics.iter().enumerate().find(|(_, nic)| nic.name.as_str() == name)
    }
}
