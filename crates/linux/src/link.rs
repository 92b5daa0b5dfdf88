//! Links: what they are, and what is wanted of them.

mod bond;
mod bridge;
mod decode;
mod encode;
mod ensure;
mod fine;
mod kind;
mod lean;
mod leave;
mod ops;
mod options;
mod port;
mod vlans;
mod vxlan;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::bond::{Bond, BondMode, HashPolicy, LacpRate};
pub use self::bridge::Bridge;
pub(crate) use self::decode::link as decode;
pub use self::fine::Fine;
pub use self::kind::{LinkKind, Macvlan, MacvlanMode, Vlan, VlanProtocol};
pub(crate) use self::lean::lean;
pub use self::leave::Leaving;
pub use self::port::Port;
pub use self::vlans::BridgeVlan;
pub use self::vxlan::Vxlan;

use crate::mac::MacAddr;
use crate::name::IfName;

/// The number of a link: unique in its namespace, and not given again soon after it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkIndex(pub u32);

impl fmt::Display for LinkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A link as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub index: LinkIndex,
    pub name: IfName,
    /// A free text that travels with the link; a place to say who made it.
    pub alias: Option<String>,
    pub kind: LinkKind,
    pub mtu: u32,
    /// Nothing where the link layer is not Ethernet.
    pub mac: Option<MacAddr>,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether something is at the other end.
    pub carrier: bool,
    /// Whether it was told to take frames for everybody.
    pub promiscuous: bool,
    /// Whether everybody on it can be addressed at once.
    pub broadcast: bool,
    /// Whether addresses are not asked for on it.
    pub no_arp: bool,
    pub state: OperState,
    /// The bridge, bond or VRF it belongs to.
    pub master: Option<LinkIndex>,
    /// What it is like as a port of a bridge; nothing where it is none.
    pub port: Option<Port>,
    /// The link it stands on (VLAN, macvlan, vxlan).
    pub parent: Option<Far>,
    /// The other end of a veth pair.
    pub peer: Option<Far>,
}

/// A link that may be in another namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Far {
    pub index: LinkIndex,
    /// This namespace's number for the other one; nothing where it is the same.
    pub namespace: Option<i32>,
}

/// Whether packets pass, in the words of RFC 2863.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperState {
    Unknown,
    NotPresent,
    Down,
    LowerLayerDown,
    Testing,
    Dormant,
    Up,
    Other(u8),
}

/// A link to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLink {
    pub name: IfName,
    pub kind: LinkKind,
    pub alias: Option<String>,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddr>,
    pub master: Option<LinkIndex>,
    pub parent: Option<LinkIndex>,
    pub up: bool,
}

impl NewLink {
    /// A link with the kernel's defaults, down.
    pub fn new(name: IfName, kind: LinkKind) -> Self {
        Self {
            name,
            kind,
            alias: None,
            mtu: None,
            mac: None,
            master: None,
            parent: None,
            up: false,
        }
    }

    #[must_use]
    pub fn on(self, parent: LinkIndex) -> Self {
        Self { parent: Some(parent), ..self }
    }

    #[must_use]
    pub fn in_master(self, master: LinkIndex) -> Self {
        Self { master: Some(master), ..self }
    }

    #[must_use]
    pub fn with_mtu(self, mtu: u32) -> Self {
        Self { mtu: Some(mtu), ..self }
    }

    #[must_use]
    pub fn with_mac(self, mac: MacAddr) -> Self {
        Self { mac: Some(mac), ..self }
    }

    #[must_use]
    pub fn with_alias(self, alias: impl Into<String>) -> Self {
        Self { alias: Some(alias.into()), ..self }
    }

    #[must_use]
    pub fn up(self) -> Self {
        Self { up: true, ..self }
    }
}

/// What is to change on a link; nothing is to stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkChange {
    pub mtu: Option<u32>,
    pub mac: Option<MacAddr>,
    pub up: Option<bool>,
    /// An empty text takes the alias away.
    pub alias: Option<String>,
    pub master: Option<Master>,
    pub promiscuous: Option<bool>,
}

/// Where a link is to belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    None,
    Link(LinkIndex),
}

impl LinkChange {
    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A link, by its number or its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select<'a> {
    Index(LinkIndex),
    Name(&'a IfName),
}

impl fmt::Display for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl From<LinkIndex> for Select<'_> {
    fn from(index: LinkIndex) -> Self {
        Self::Index(index)
    }
}

impl<'a> From<&'a IfName> for Select<'a> {
    fn from(name: &'a IfName) -> Self {
        Self::Name(name)
    }
}

impl From<&Link> for Select<'_> {
    fn from(link: &Link) -> Self {
        Self::Index(link.index)
    }
}
