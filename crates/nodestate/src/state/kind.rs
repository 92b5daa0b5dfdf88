//! What an interface is, in nmstate's words.

use landbridge_linux::link::{Bond, Bridge, Macvlan, MacvlanMode, Vlan, VlanProtocol, Vxlan};
use landbridge_linux::{IfName, LinkKind};
use serde::{Deserialize, Serialize};

/// What an interface is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Loopback,
    /// Hardware, or a link whose other end is in another namespace: it cannot be made here.
    Ethernet,
    Veth {
        peer: IfName,
    },
    /// A VLAN, be it of the kernel's own kind or a wire that stands for one.
    Vlan {
        base: IfName,
        id: u16,
        protocol: VlanProtocol,
    },
    Bridge(Bridge),
    Bond(Bond),
    Vrf {
        table: u32,
    },
    Dummy,
    Macvlan {
        base: IfName,
        mode: MacvlanMode,
    },
    Vxlan {
        base: Option<IfName>,
        options: Vxlan,
    },
    /// What this program shows but neither makes nor changes.
    Other(String),
}

impl Kind {
    /// nmstate's word for it.
    pub fn word(&self) -> &str {
        match self {
            Self::Loopback => "loopback",
            Self::Ethernet => "ethernet",
            Self::Veth { .. } => "veth",
            Self::Vlan { .. } => "vlan",
            Self::Bridge(_) => "linux-bridge",
            Self::Bond(_) => "bond",
            Self::Vrf { .. } => "vrf",
            Self::Dummy => "dummy",
            Self::Macvlan { .. } => "mac-vlan",
            Self::Vxlan { .. } => "vxlan",
            Self::Other(word) => word,
        }
    }

    /// The interface it stands on.
    pub fn parent(&self) -> Option<&IfName> {
        match self {
            Self::Vlan { base, .. } | Self::Macvlan { base, .. } => Some(base),
            Self::Vxlan { base, .. } => base.as_ref(),
            _ => None,
        }
    }

    /// Whether this program makes and deletes it.
    pub fn is_virtual(&self) -> bool {
        !matches!(self, Self::Loopback | Self::Ethernet | Self::Other(_))
    }

    /// Whether it can be turned into the other one while it is there.
    pub fn turns_into(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Bridge(_), Self::Bridge(_)) => true,
            // Only a bond without ports changes its mode, and most options depend on it.
            (Self::Bond(here), Self::Bond(wanted)) => {
                wanted.mode.is_none() || here.mode == wanted.mode
            }
            (Self::Vxlan { base: here, .. }, Self::Vxlan { base: wanted, .. })
                if here != wanted =>
            {
                false
            }
            (Self::Macvlan { base: here, .. }, Self::Macvlan { base: wanted, .. })
                if here != wanted =>
            {
                false
            }
            (Self::Vxlan { .. }, Self::Vxlan { .. })
            | (Self::Macvlan { .. }, Self::Macvlan { .. }) => {
                self.link_kind().turns_into(&wanted.link_kind())
            }
            (here, wanted) => here == wanted,
        }
    }

    /// The options that are not as wanted, or nothing.
    pub fn missing(&self, wanted: &Self) -> Option<LinkKind> {
        self.link_kind().missing(&wanted.link_kind())
    }

    /// The kernel's kind.
    pub fn link_kind(&self) -> LinkKind {
        match self {
            Self::Loopback => LinkKind::Loopback,
            Self::Ethernet => LinkKind::Physical,
            Self::Veth { .. } => LinkKind::Veth,
            Self::Vlan { id, protocol, .. } => {
                LinkKind::Vlan(Vlan { id: *id, protocol: *protocol })
            }
            Self::Bridge(options) => LinkKind::Bridge(options.clone()),
            Self::Bond(options) => LinkKind::Bond(options.clone()),
            Self::Vrf { table } => LinkKind::Vrf { table: *table },
            Self::Dummy => LinkKind::Dummy,
            Self::Macvlan { mode, .. } => LinkKind::Macvlan(Macvlan { mode: *mode }),
            Self::Vxlan { options, .. } => LinkKind::Vxlan(options.clone()),
            Self::Other(word) => LinkKind::Other(word.clone()),
        }
    }
}
