//! Routes.

mod ops;
pub mod table;
mod wire;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netlink_packet_route::AddressFamily;
use serde::{Deserialize, Serialize};

pub(crate) use self::wire::decode;

use crate::link::LinkIndex;
use crate::scope::Scope;

/// A route; links are named by number, or by name in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route<L = LinkIndex> {
    /// Where it leads to; `0.0.0.0/0` and `::/0` are everywhere.
    pub destination: IpNet,
    pub kind: RouteKind,
    /// Of either family: IPv4 may go through an IPv6 gateway.
    pub gateway: Option<IpAddr>,
    pub link: Option<L>,
    /// The ways, where there is more than one; gateway and link are empty then.
    pub multipath: Vec<NextHop<L>>,
    pub table: u32,
    /// The lowest wins; nothing is 0 for IPv4 and becomes 1024 for IPv6.
    pub metric: Option<u32>,
    /// The address our packets carry that way.
    pub source: Option<IpAddr>,
    pub scope: Scope,
    pub protocol: Protocol,
    /// The gateway is on the link even if no address there says so.
    pub onlink: bool,
    pub mtu: Option<u32>,
    /// Whether it ends by itself.
    pub expires: bool,
    /// Whether it has parts this crate does not model; such a route is kept but not made.
    pub partial: bool,
}

/// One of several ways of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextHop<L = LinkIndex> {
    pub gateway: Option<IpAddr>,
    pub link: L,
    /// 1 to 256.
    pub weight: u16,
    pub onlink: bool,
}

/// What a route does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouteKind {
    Unicast,
    Local,
    Broadcast,
    Anycast,
    Multicast,
    Blackhole,
    Unreachable,
    Prohibit,
    Throw,
    Other(u8),
}

/// Who made a route or a rule, as the kernel numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protocol(pub u8);

impl Protocol {
    pub const UNSPEC: Self = Self(0);
    /// An ICMP redirect.
    pub const REDIRECT: Self = Self(1);
    /// The kernel, from an address.
    pub const KERNEL: Self = Self(2);
    /// By hand or a boot script; iproute2's default.
    pub const BOOT: Self = Self(3);
    /// An administrator.
    pub const STATIC: Self = Self(4);
    /// A router's advertisement.
    pub const RA: Self = Self(9);
    pub const DHCP: Self = Self(16);
}

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    /// The family of a network.
    pub fn of(net: &IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::Ipv4,
            IpNet::V6(_) => Self::Ipv6,
        }
    }

    /// Everywhere.
    pub fn everywhere(self) -> IpNet {
        match self {
            Self::Ipv4 => Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
            Self::Ipv6 => Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    pub(crate) fn wire(self) -> AddressFamily {
        match self {
            Self::Ipv4 => AddressFamily::Inet,
            Self::Ipv6 => AddressFamily::Inet6,
        }
    }

    pub(crate) fn from_wire(family: AddressFamily) -> Option<Self> {
        match family {
            AddressFamily::Inet => Some(Self::Ipv4),
            AddressFamily::Inet6 => Some(Self::Ipv6),
            _ => None,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        })
    }
}

impl<L> Route<L> {
    fn plain(destination: IpNet) -> Self {
        Self {
            destination: destination.trunc(),
            kind: RouteKind::Unicast,
            gateway: None,
            link: None,
            multipath: Vec::new(),
            table: table::MAIN,
            metric: None,
            source: None,
            scope: Scope::Global,
            protocol: Protocol::STATIC,
            onlink: false,
            mtu: None,
            expires: false,
            partial: false,
        }
    }

    /// A route through a gateway.
    pub fn via(destination: IpNet, gateway: IpAddr) -> Self {
        Self { gateway: Some(gateway), ..Self::plain(destination) }
    }

    /// A route to what is on a link.
    pub fn dev(destination: IpNet, link: L) -> Self {
        // IPv6 knows no scope of routes.
        let scope = if destination.addr().is_ipv4() { Scope::Link } else { Scope::Global };
        Self { link: Some(link), scope, ..Self::plain(destination) }
    }

    /// A route that leads nowhere.
    pub fn blackhole(destination: IpNet) -> Self {
        Self { kind: RouteKind::Blackhole, ..Self::plain(destination) }
    }

    #[must_use]
    pub fn on(self, link: L) -> Self {
        Self { link: Some(link), ..self }
    }

    #[must_use]
    pub fn in_table(self, table: u32) -> Self {
        Self { table, ..self }
    }

    #[must_use]
    pub fn with_metric(self, metric: u32) -> Self {
        Self { metric: Some(metric), ..self }
    }

    #[must_use]
    pub fn with_source(self, source: IpAddr) -> Self {
        Self { source: Some(source), ..self }
    }

    /// The family of the destination.
    pub fn family(&self) -> Family {
        Family::of(&self.destination)
    }

    /// All links it leads through.
    pub fn links(&self) -> impl Iterator<Item = &L> {
        self.link.iter().chain(self.multipath.iter().map(|hop| &hop.link))
    }

    /// The same with links named otherwise; nothing where one has no other name.
    pub fn map_links<M>(&self, name: impl Fn(&L) -> Option<M>) -> Option<Route<M>> {
        let mut multipath = Vec::with_capacity(self.multipath.len());
        for hop in &self.multipath {
            let link = name(&hop.link)?;
            multipath.push(NextHop {
                gateway: hop.gateway,
                link,
                weight: hop.weight,
                onlink: hop.onlink,
            });
        }
        let link = match &self.link {
            Some(link) => Some(name(link)?),
            None => None,
        };
        Some(Route {
            destination: self.destination,
            kind: self.kind,
            gateway: self.gateway,
            link,
            multipath,
            table: self.table,
            metric: self.metric,
            source: self.source,
            scope: self.scope,
            protocol: self.protocol,
            onlink: self.onlink,
            mtu: self.mtu,
            expires: self.expires,
            partial: self.partial,
        })
    }
}

impl<L: fmt::Display> fmt::Display for Route<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != RouteKind::Unicast {
            write!(f, "{} ", format!("{:?}", self.kind).to_lowercase())?;
        }
        write!(f, "{}", self.destination)?;
        if let Some(gateway) = self.gateway {
            write!(f, " via {gateway}")?;
        }
        if let Some(link) = &self.link {
            write!(f, " dev {link}")?;
        }
        for hop in &self.multipath {
            f.write_str(" nexthop")?;
            if let Some(gateway) = hop.gateway {
                write!(f, " via {gateway}")?;
            }
            write!(f, " dev {} weight {}", hop.link, hop.weight)?;
        }
        if self.table != table::MAIN {
            write!(f, " table {}", table::word(self.table))?;
        }
        if let Some(metric) = self.metric {
            write!(f, " metric {metric}")?;
        }
        if let Some(source) = self.source {
            write!(f, " src {source}")?;
        }
        if self.onlink {
            f.write_str(" onlink")?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {mtu}")?;
        }
        Ok(())
    }
}
