//! What each plugin's configuration says, with the peers' defaults and refusals.
//!
//! Reading a configuration looks at nothing but the configuration: whether the master exists or
//! how large its MTU is, is for the caller to find out.

mod bridge;
mod dhcp;
mod host_device;
mod host_local;
mod ipvlan;
mod macvlan;
mod static_ipam;
mod tuning;
mod vlan;

use serde::de::DeserializeOwned;
use thiserror::Error;

pub use self::bridge::{Bridge, MasqueradeBackend};
pub use self::dhcp::{Dhcp, DhcpProvide, DhcpRequest};
pub use self::host_device::{Device, HostDevice};
pub use self::host_local::{HostLocal, LocalRange};
pub use self::ipvlan::{Ipvlan, IpvlanMode};
pub use self::macvlan::{Macvlan, MacvlanMode};
pub use self::static_ipam::{BadAddresses, FixedAddress, StaticIpam};
pub use self::tuning::Tuning;
pub use self::vlan::Vlan;
use crate::args::Args;
use crate::config::{BadNetwork, Input};
use crate::error::{Code, Coded};
use crate::json;
use crate::names;

/// Where the interface a new one hangs on comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Master {
    /// This one.
    Named(String),
    /// The one that the default route leads through.
    OfDefaultRoute,
}

/// The plugin's own keys.
fn keys<T: DeserializeOwned>(plugin: &'static str, input: &Input) -> Result<T, BadPlugin> {
    json::typed(&input.keys).map_err(|source| BadPlugin::Json { plugin, source })
}

/// An MTU as configurations write it; 0 and absent leave it to the kernel.
fn mtu(value: i64) -> Result<u32, BadPlugin> {
    u32::try_from(value).map_err(|_| BadPlugin::Mtu { mtu: value, master: None })
}

/// The first of these that is there, when it is a hardware address.
fn mac(candidates: &[Option<&str>]) -> Result<Option<String>, BadPlugin> {
    match candidates.iter().flatten().find(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) if names::mac_length(text).is_some() => Ok(Some((*text).to_owned())),
        Some(text) => Err(BadPlugin::Mac((*text).to_owned())),
    }
}

/// Where `MAC=` stands that a pod asked for.
fn mac_of(args: &Args) -> Option<&str> {
    args.get("MAC")
}

/// Whether an interface may have this MTU on a master with that one.
pub fn check_mtu(mtu: u32, master: u32) -> Result<(), BadPlugin> {
    if mtu <= master {
        return Ok(());
    }
    Err(BadPlugin::Mtu { mtu: mtu.into(), master: Some(master) })
}

/// Why a plugin's configuration is refused.
#[derive(Debug, Error)]
pub enum BadPlugin {
    /// Keys of the wrong form.
    #[error("{plugin}: failed to load netconf: {source}")]
    Json {
        /// Which plugin.
        plugin: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// What all plugins have in common is wrong.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// A mode the kernel does not have.
    #[error("unknown {plugin} mode: {mode:?}")]
    Mode {
        /// Which plugin.
        plugin: &'static str,
        /// Its mode.
        mode: String,
    },
    /// Below 0, or above the master's.
    #[error("invalid MTU {mtu}, must be [0, {}]", master.map_or_else(
        || "the master's MTU".to_owned(), |master| format!("master MTU({master})")))]
    Mtu {
        /// What was asked for.
        mtu: i64,
        /// The master's.
        master: Option<u32>,
    },
    /// No VLAN has this number.
    #[error("invalid VLAN ID {0} (must be between 0 and 4094)")]
    Vlan(i64),
    /// The VLANs of a trunk make no sense.
    #[error("{0}")]
    Trunk(&'static str),
    /// Two ways to send a packet back.
    #[error("cannot set hairpin mode and promiscuous mode at the same time")]
    HairpinAndPromisc,
    /// Addresses for an interface that is not made.
    #[error("cannot use IPAM when DisableContainerInterface flag is set")]
    IpamWithoutInterface,
    /// Neither iptables nor nftables.
    #[error("unknown ipMasqBackend {0:?} (must be iptables or nftables)")]
    MasqueradeBackend(String),
    /// A VLAN needs something to be on.
    #[error(
        "\"master\" field is required. It specifies the host interface name to create the VLAN for"
    )]
    NoMaster,
    /// The plugin before made more than one interface, or none.
    #[error("chained master failure. PrevResult lacks a single named interface")]
    ChainedMaster,
    /// No device is named.
    #[error("specify either \"device\", \"hwaddr\", \"kernelpath\" or \"pciBusID\"")]
    NoDevice,
    /// A path that is no device.
    #[error("kernel device path {0:?} must be absolute and begin with /sys/devices/")]
    KernelPath(String),
    /// A plugin that only changes things has nothing to change.
    #[error("Required prevResult missing")]
    NoPrevious,
    /// A setting that is not of the network.
    #[error("invalid net sysctl key: {0:?}")]
    Sysctl(String),
    /// No hardware address.
    #[error("invalid args {0} for MAC addr: address {0}: invalid MAC address")]
    Mac(String),
    /// The plugin cannot do without addresses.
    #[error("{0} needs an \"ipam\" section")]
    NoIpam(&'static str),
}

impl Coded for BadPlugin {
    fn code(&self) -> Code {
        match self {
            Self::Json { .. } => Code::DECODING_FAILURE,
            Self::Network(error) => error.code(),
            _ => Code::INVALID_CONFIG,
        }
    }
}
