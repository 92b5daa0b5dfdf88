//! vlan: a tagged interface on a master.

use landbridge_addr::net::VlanId;
use serde::Deserialize;

use super::{BadPlugin, keys, mtu};
use crate::config::Input;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// What it hangs on.
    pub master: String,
    /// Whether the master is inside the container.
    pub link_in_container: bool,
    /// Its tag; `None` for the priority tag 0.
    pub id: Option<VlanId>,
    /// Its MTU; 0 for the master's.
    pub mtu: u32,
    /// Which plugin gives addresses; empty for none.
    pub ipam: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    master: String,
    vlan_id: i64,
    mtu: i64,
    link_in_container: bool,
}

impl Vlan {
    /// Reads the configuration.
    pub fn read(input: &Input) -> Result<Self, BadPlugin> {
        let keys: Keys = keys("vlan", input)?;
        if keys.master.is_empty() {
            return Err(BadPlugin::NoMaster);
        }
        Ok(Self {
            master: keys.master,
            link_in_container: keys.link_in_container,
            id: VlanId::parse(keys.vlan_id).map_err(|_| BadPlugin::Vlan(keys.vlan_id))?,
            mtu: mtu(keys.mtu)?,
            ipam: input.ipam_kind()?,
        })
    }
}
