//! The kinds of links, and what is particular to each.
//!
//! An option of a kind is `None` where the kernel's default is meant (in a wish) or where the
//! kernel does not tell (in what it shows).

use std::fmt;

use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoVlan, InfoVrf, MacVlanMode, VlanProtocol as WireProtocol,
};
use serde::{Deserialize, Serialize};

use super::{Bond, Bridge, Vxlan};

/// What a link is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkKind {
    Loopback,
    /// Hardware, or what the kernel shows as such.
    Physical,
    Veth,
    Bridge(Bridge),
    Vlan(Vlan),
    Macvlan(Macvlan),
    Dummy,
    Bond(Bond),
    Vxlan(Vxlan),
    Vrf {
        table: u32,
    },
    /// A kind this crate lists and deletes but does not make.
    Other(String),
}

/// A VLAN of another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vlan {
    /// 0 to 4094; the kernel takes 0, which marks frames with a priority and no VLAN.
    pub id: u16,
    pub protocol: VlanProtocol,
}

/// The tag's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VlanProtocol {
    /// 802.1Q
    #[default]
    Customer,
    /// 802.1ad
    Service,
}

/// A second face of another link, with a MAC of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Macvlan {
    pub mode: MacvlanMode,
}

/// Who reaches whom among the macvlans of one parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MacvlanMode {
    Private,
    Vepa,
    #[default]
    Bridge,
    Passthru,
    Source,
}

impl LinkKind {
    /// The kernel's word for it.
    pub fn word(&self) -> &str {
        match self {
            Self::Loopback => "loopback",
            Self::Physical => "physical",
            Self::Veth => "veth",
            Self::Bridge(_) => "bridge",
            Self::Vlan(_) => "vlan",
            Self::Macvlan(_) => "macvlan",
            Self::Dummy => "dummy",
            Self::Bond(_) => "bond",
            Self::Vxlan(_) => "vxlan",
            Self::Vrf { .. } => "vrf",
            Self::Other(word) => word,
        }
    }

    /// Whether a link of this kind can be turned into the other one by changing options.
    pub fn turns_into(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Vlan(here), Self::Vlan(wanted)) => here == wanted,
            (Self::Vrf { table: here }, Self::Vrf { table: wanted }) => here == wanted,
            (Self::Vxlan(here), Self::Vxlan(wanted)) => here.turns_into(wanted),
            // The kernel leaves and enters passthru only when a macvlan is made.
            (Self::Macvlan(here), Self::Macvlan(wanted)) => {
                let through = |macvlan: &Macvlan| macvlan.mode == MacvlanMode::Passthru;
                through(here) == through(wanted)
            }
            (here, wanted) => here.word() == wanted.word(),
        }
    }

    /// What of the wish is not so here, or nothing.
    pub fn missing(&self, wanted: &Self) -> Option<Self> {
        match (self, wanted) {
            (Self::Bridge(here), Self::Bridge(wanted)) => here.missing(wanted).map(Self::Bridge),
            (Self::Bond(here), Self::Bond(wanted)) => here.missing(wanted).map(Self::Bond),
            (Self::Vxlan(here), Self::Vxlan(wanted)) => here.missing(wanted).map(Self::Vxlan),
            (Self::Macvlan(here), Self::Macvlan(wanted)) => {
                (here != wanted).then_some(Self::Macvlan(*wanted))
            }
            _ => None,
        }
    }

    /// Only what a link has to be made with; the rest can be set when it is there.
    pub(crate) fn bare(&self) -> Self {
        match self {
            Self::Bridge(_) => Self::Bridge(Bridge::default()),
            Self::Bond(bond) => Self::Bond(Bond { mode: bond.mode, ..Bond::default() }),
            other => other.clone(),
        }
    }

    /// The kind on the wire; nothing for what nobody makes.
    pub(super) fn wire(&self) -> Option<(InfoKind, Option<InfoData>)> {
        Some(match self {
            Self::Loopback | Self::Physical | Self::Other(_) => return None,
            Self::Veth => (InfoKind::Veth, None),
            Self::Dummy => (InfoKind::Dummy, None),
            Self::Bridge(bridge) => (InfoKind::Bridge, Some(InfoData::Bridge(bridge.encode()))),
            Self::Bond(bond) => (InfoKind::Bond, Some(InfoData::Bond(bond.encode()))),
            Self::Vxlan(vxlan) => (InfoKind::Vxlan, Some(InfoData::Vxlan(vxlan.encode()))),
            Self::Vrf { table } => {
                (InfoKind::Vrf, Some(InfoData::Vrf(vec![InfoVrf::TableId(*table)])))
            }
            Self::Vlan(vlan) => {
                let protocol = match vlan.protocol {
                    VlanProtocol::Customer => WireProtocol::Ieee8021Q,
                    VlanProtocol::Service => WireProtocol::Ieee8021Ad,
                };
                let data = vec![InfoVlan::Id(vlan.id), InfoVlan::Protocol(protocol)];
                (InfoKind::Vlan, Some(InfoData::Vlan(data)))
            }
            Self::Macvlan(macvlan) => {
                let mode = match macvlan.mode {
                    MacvlanMode::Private => MacVlanMode::Private,
                    MacvlanMode::Vepa => MacVlanMode::Vepa,
                    MacvlanMode::Bridge => MacVlanMode::Bridge,
                    MacvlanMode::Passthru => MacVlanMode::Passthrough,
                    MacvlanMode::Source => MacVlanMode::Source,
                };
                (InfoKind::MacVlan, Some(InfoData::MacVlan(vec![InfoMacVlan::Mode(mode)])))
            }
        })
    }

    /// The kind from the wire.
    pub(super) fn from_wire(kind: &InfoKind, data: Option<&InfoData>) -> Self {
        match (kind, data) {
            (InfoKind::Veth, _) => Self::Veth,
            (InfoKind::Dummy, _) => Self::Dummy,
            (InfoKind::Bridge, Some(InfoData::Bridge(data))) => Self::Bridge(Bridge::decode(data)),
            (InfoKind::Bond, Some(InfoData::Bond(data))) => Self::Bond(Bond::decode(data)),
            (InfoKind::Vxlan, Some(InfoData::Vxlan(data))) => Self::Vxlan(Vxlan::decode(data)),
            (InfoKind::Vrf, Some(InfoData::Vrf(data))) => {
                let table = data.iter().find_map(|attribute| match attribute {
                    InfoVrf::TableId(table) => Some(*table),
                    _ => None,
                });
                Self::Vrf { table: table.unwrap_or_default() }
            }
            (InfoKind::Vlan, Some(InfoData::Vlan(data))) => Self::Vlan(decode_vlan(data)),
            (InfoKind::MacVlan, Some(InfoData::MacVlan(data))) => {
                Self::Macvlan(decode_macvlan(data))
            }
            (other, _) => Self::Other(other.to_string()),
        }
    }
}

fn decode_vlan(data: &[InfoVlan]) -> Vlan {
    let mut vlan = Vlan { id: 0, protocol: VlanProtocol::Customer };
    for attribute in data {
        match attribute {
            InfoVlan::Id(id) => vlan.id = *id,
            InfoVlan::Protocol(WireProtocol::Ieee8021Ad) => vlan.protocol = VlanProtocol::Service,
            _ => {}
        }
    }
    vlan
}

fn decode_macvlan(data: &[InfoMacVlan]) -> Macvlan {
    let mode = data.iter().find_map(|attribute| match attribute {
        InfoMacVlan::Mode(MacVlanMode::Private) => Some(MacvlanMode::Private),
        InfoMacVlan::Mode(MacVlanMode::Vepa) => Some(MacvlanMode::Vepa),
        InfoMacVlan::Mode(MacVlanMode::Bridge) => Some(MacvlanMode::Bridge),
        InfoMacVlan::Mode(MacVlanMode::Passthrough) => Some(MacvlanMode::Passthru),
        InfoMacVlan::Mode(MacVlanMode::Source) => Some(MacvlanMode::Source),
        _ => None,
    });
    Macvlan { mode: mode.unwrap_or_default() }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vlan(vlan) => write!(f, "vlan {}", vlan.id),
            Self::Macvlan(macvlan) => {
                write!(f, "macvlan {}", format!("{:?}", macvlan.mode).to_lowercase())
            }
            Self::Vxlan(vxlan) => write!(f, "vxlan {}", vxlan.id),
            Self::Vrf { table } => write!(f, "vrf table {table}"),
            other => f.write_str(other.word()),
        }
    }
}
