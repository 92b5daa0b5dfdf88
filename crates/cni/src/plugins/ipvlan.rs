//! ipvlan: an interface that shares its master's hardware address.

use serde::Deserialize;

use super::{BadPlugin, Master, keys, mtu};
use crate::config::Input;

/// On which layer packets are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpvlanMode {
    /// As on a switch.
    #[default]
    L2,
    /// As on a router.
    L3,
    /// As on a router that keeps track of connections.
    L3s,
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipvlan {
    /// What it hangs on: in a chain, the one interface the plugin before made.
    pub master: Master,
    /// Whether the master is inside the container.
    pub link_in_container: bool,
    /// Its mode.
    pub mode: IpvlanMode,
    /// Its MTU; 0 for the master's.
    pub mtu: u32,
    /// Which plugin gives addresses; empty when those of the previous result are taken.
    pub ipam: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    master: String,
    mode: String,
    mtu: i64,
    link_in_container: bool,
}

impl Ipvlan {
    /// Reads the configuration.
    pub fn read(input: &Input) -> Result<Self, BadPlugin> {
        let keys: Keys = keys("ipvlan", input)?;
        let mode = match keys.mode.as_str() {
            "" | "l2" => IpvlanMode::L2,
            "l3" => IpvlanMode::L3,
            "l3s" => IpvlanMode::L3s,
            _ => return Err(BadPlugin::Mode { plugin: "ipvlan", mode: keys.mode }),
        };
        let master = match (keys.master.as_str(), &input.previous) {
            ("", None) => Master::OfDefaultRoute,
            ("", Some(previous)) => match previous.interfaces.as_slice() {
                [one] if !one.name.is_empty() => Master::Named(one.name.clone()),
                _ => return Err(BadPlugin::ChainedMaster),
            },
            (name, _) => Master::Named(name.to_owned()),
        };
        let ipam = input.ipam_kind()?;
        let has_addresses = input.previous.as_ref().is_some_and(|found| !found.ips.is_empty());
        if ipam.is_empty() && !has_addresses {
            return Err(BadPlugin::NoIpam("ipvlan"));
        }
        let link_in_container = keys.link_in_container;
        Ok(Self { master, link_in_container, mode, mtu: mtu(keys.mtu)?, ipam })
    }
}
