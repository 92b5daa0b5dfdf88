//! macvlan: an interface with a hardware address of its own on a master.

use serde::Deserialize;

use super::{BadPlugin, Master, keys, mac, mac_of, mtu};
use crate::args::Args;
use crate::config::Input;

/// Who may talk to whom on one master.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MacvlanMode {
    /// All of them.
    #[default]
    Bridge,
    /// None of them.
    Private,
    /// All of them, by way of the switch.
    Vepa,
    /// There is only one.
    Passthru,
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macvlan {
    /// What it hangs on.
    pub master: Master,
    /// Whether the master is inside the container.
    pub link_in_container: bool,
    /// Its mode.
    pub mode: MacvlanMode,
    /// Its MTU; 0 for the master's.
    pub mtu: u32,
    /// Its hardware address, where one is asked for.
    pub mac: Option<String>,
    /// The length of the queue for broadcasts.
    pub broadcast_queue: u32,
    /// Which plugin gives addresses; empty for none.
    pub ipam: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    master: String,
    mode: String,
    mtu: i64,
    mac: String,
    link_in_container: bool,
    bcqueuelen: u32,
}

impl Macvlan {
    /// Reads the configuration. What the runtime asks for goes before what the pod's arguments
    /// ask for, and that before the configuration.
    pub fn read(input: &Input, args: &Args) -> Result<Self, BadPlugin> {
        let keys: Keys = keys("macvlan", input)?;
        let mode = match keys.mode.as_str() {
            "" | "bridge" => MacvlanMode::Bridge,
            "private" => MacvlanMode::Private,
            "vepa" => MacvlanMode::Vepa,
            "passthru" => MacvlanMode::Passthru,
            _ => return Err(BadPlugin::Mode { plugin: "macvlan", mode: keys.mode }),
        };
        Ok(Self {
            master: match keys.master {
                none if none.is_empty() => Master::OfDefaultRoute,
                name => Master::Named(name),
            },
            link_in_container: keys.link_in_container,
            mode,
            mtu: mtu(keys.mtu)?,
            mac: mac(&[Some(&input.runtime.mac), mac_of(args), Some(&keys.mac)])?,
            broadcast_queue: keys.bcqueuelen,
            ipam: input.ipam_kind()?,
        })
    }
}
