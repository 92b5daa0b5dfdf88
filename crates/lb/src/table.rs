//! What is to go where.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// What is balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// In lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Which backends are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// All of them.
    #[default]
    Cluster,
    /// Those on this node, and the client's address is kept.
    Local,
}

/// One port of one Service in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Of letters, digits, `-`, `.`, `/`: names chains, and is what people read.
    pub name: String,
    /// What is balanced.
    pub protocol: Protocol,
    /// The port at every address but the node's.
    pub port: u16,
    /// The address inside the cluster.
    pub cluster_ip: Option<IpAddr>,
    /// Addresses that a load balancer gave.
    pub balanced: BTreeSet<IpAddr>,
    /// Other addresses from outside.
    pub external: BTreeSet<IpAddr>,
    /// The port at the node's own addresses.
    pub node_port: Option<u16>,
    /// Who may use [`balanced`](Self::balanced) addresses; empty: everybody.
    pub sources: Vec<IpNet>,
    /// For clients inside.
    pub inside: Reach,
    /// For clients outside.
    pub outside: Reach,
    /// For so many seconds a client stays with its backend.
    pub affinity: Option<u32>,
    /// Backends anywhere.
    pub anywhere: BTreeSet<SocketAddr>,
    /// Backends on this node.
    pub here: BTreeSet<SocketAddr>,
    /// Whether this is about IPv4.
    pub ipv4: bool,
}

/// What happens to a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// One of these gets it.
    Of(&'a BTreeSet<SocketAddr>),
    /// There is nobody anywhere: the client is told at once.
    Refuse,
    /// There is somebody, but not on this node: whoever sent it here is to try elsewhere.
    Drop,
}

impl Port {
    /// A port with neither addresses nor backends.
    pub fn new(name: &str, protocol: Protocol, port: u16, ipv4: bool) -> Self {
        Self {
            name: name.to_owned(),
            protocol,
            port,
            cluster_ip: None,
            balanced: BTreeSet::new(),
            external: BTreeSet::new(),
            node_port: None,
            sources: Vec::new(),
            inside: Reach::Cluster,
            outside: Reach::Cluster,
            affinity: None,
            anywhere: BTreeSet::new(),
            here: BTreeSet::new(),
            ipv4,
        }
    }

    /// Who answers clients that come with this policy.
    pub fn choice(&self, reach: Reach) -> Choice<'_> {
        let backends = match reach {
            Reach::Cluster => &self.anywhere,
            Reach::Local => &self.here,
        };
        if !backends.is_empty() {
            Choice::Of(backends)
        } else if self.anywhere.is_empty() && self.here.is_empty() {
            Choice::Refuse
        } else {
            Choice::Drop
        }
    }

    /// Addresses that clients outside use.
    pub fn outer_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.balanced.union(&self.external).copied()
    }

    /// All addresses, with their ports; without the node's own.
    pub fn frontends(&self) -> impl Iterator<Item = SocketAddr> {
        let all = self.cluster_ip.into_iter().chain(self.outer_addresses());
        all.map(|ip| SocketAddr::new(ip, self.port))
    }
}

/// All ports, by name. Of two that claim one address and port the first wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    ports: Vec<Port>,
}

impl Table {
    /// Puts ports in order. Of two with one name and family, only the first stays.
    pub fn new(mut ports: Vec<Port>) -> Self {
        let place = |port: &Port| (port.name.clone(), !port.ipv4);
        ports.sort_by_cached_key(place);
        ports.dedup_by(|later, earlier| (&later.name, later.ipv4) == (&earlier.name, earlier.ipv4));
        Self { ports }
    }

    /// All ports, by name.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Who stands behind an address and port now.
    pub fn backends(&self, protocol: Protocol, frontend: SocketAddr) -> BTreeSet<SocketAddr> {
        let of =
            |port: &&Port| port.protocol == protocol && port.frontends().any(|own| own == frontend);
        let found = self.ports.iter().find(of);
        found.map(|port| port.anywhere.union(&port.here).copied().collect()).unwrap_or_default()
    }
}
