//! bridge: a pair of interfaces, one end in the container, the other on a bridge of the host.

use std::collections::BTreeSet;

use landbridge_addr::net::VlanId;
use serde::Deserialize;

use super::{BadPlugin, keys, mac, mac_of, mtu};
use crate::args::Args;
use crate::config::Input;

/// What rewrites the addresses of outgoing packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasqueradeBackend {
    /// iptables.
    Iptables,
    /// nftables.
    Nftables,
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The bridge, made when there is none.
    pub bridge: String,
    /// Whether the bridge has an address of the subnet.
    pub is_gateway: bool,
    /// Whether the default route leads through it.
    pub is_default_gateway: bool,
    /// Whether another address of the bridge gives way.
    pub force_address: bool,
    /// Whether outgoing packets get the host's address.
    pub masquerade: bool,
    /// With what; `None` to look for what there is.
    pub masquerade_backend: Option<MasqueradeBackend>,
    /// The MTU of the pair, and of a bridge that is made; 0 for the kernel's.
    pub mtu: u32,
    /// Whether a packet may leave by the port it came from.
    pub hairpin: bool,
    /// Whether the bridge listens to everything.
    pub promiscuous: bool,
    /// The VLAN of untagged packets.
    pub vlan: Option<VlanId>,
    /// The VLANs of tagged packets, in order; `None` without a trunk.
    pub trunk: Option<Vec<VlanId>>,
    /// Whether VLAN 1 stays. Not by default since v1.8.0 of the peers' plugin.
    pub preserve_default_vlan: bool,
    /// Whether packets with another hardware address are dropped.
    pub mac_spoof_check: bool,
    /// Whether duplicates of IPv6 addresses are looked for.
    pub duplicate_address_detection: bool,
    /// Whether the container's end stays down.
    pub disable_container_interface: bool,
    /// Whether ports of the bridge do not see each other.
    pub port_isolation: bool,
    /// The hardware address of the container's end, where one is asked for.
    pub mac: Option<String>,
    /// Which plugin gives addresses; empty for none.
    pub ipam: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    bridge: Option<String>,
    is_gateway: bool,
    is_default_gateway: bool,
    force_address: bool,
    ip_masq: bool,
    ip_masq_backend: String,
    mtu: i64,
    hairpin_mode: bool,
    promisc_mode: bool,
    vlan: i64,
    vlan_trunk: Option<Vec<Trunk>>,
    preserve_default_vlan: bool,
    macspoofchk: bool,
    enabledad: bool,
    disable_container_interface: bool,
    port_isolation: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Trunk {
    #[serde(rename = "minID")]
    min: Option<i64>,
    #[serde(rename = "maxID")]
    max: Option<i64>,
    id: Option<i64>,
}

impl Bridge {
    /// Reads the configuration. What the runtime asks for goes before `args.cni`, and that before
    /// the pod's arguments.
    pub fn read(input: &Input, args: &Args) -> Result<Self, BadPlugin> {
        let keys: Keys = keys("bridge", input)?;
        if keys.hairpin_mode && keys.promisc_mode {
            return Err(BadPlugin::HairpinAndPromisc);
        }
        let ipam = input.ipam_kind()?;
        if keys.disable_container_interface && !ipam.is_empty() {
            return Err(BadPlugin::IpamWithoutInterface);
        }
        let masquerade_backend = match keys.ip_masq_backend.as_str() {
            "" => None,
            "iptables" => Some(MasqueradeBackend::Iptables),
            "nftables" => Some(MasqueradeBackend::Nftables),
            _ => return Err(BadPlugin::MasqueradeBackend(keys.ip_masq_backend)),
        };
        let asked = input.cni_args.get("mac").and_then(serde_json::Value::as_str);
        Ok(Self {
            bridge: keys.bridge.unwrap_or_else(|| "cni0".to_owned()),
            is_gateway: keys.is_gateway || keys.is_default_gateway,
            is_default_gateway: keys.is_default_gateway,
            force_address: keys.force_address,
            masquerade: keys.ip_masq,
            masquerade_backend,
            mtu: mtu(keys.mtu)?,
            hairpin: keys.hairpin_mode,
            promiscuous: keys.promisc_mode,
            vlan: VlanId::parse(keys.vlan).map_err(|_| BadPlugin::Vlan(keys.vlan))?,
            trunk: keys.vlan_trunk.as_deref().map(trunk).transpose()?,
            preserve_default_vlan: keys.preserve_default_vlan,
            mac_spoof_check: keys.macspoofchk,
            duplicate_address_detection: keys.enabledad,
            disable_container_interface: keys.disable_container_interface,
            port_isolation: keys.port_isolation,
            mac: mac(&[Some(&input.runtime.mac), asked, mac_of(args)])?,
            ipam,
        })
    }

    /// Whether the bridge tells VLANs apart.
    pub fn filters_vlans(&self) -> bool {
        self.vlan.is_some() || self.trunk.is_some()
    }
}

/// The VLANs a trunk lists.
fn trunk(items: &[Trunk]) -> Result<Vec<VlanId>, BadPlugin> {
    let id = |number: i64, wrong| match VlanId::parse(number) {
        Ok(Some(id)) => Ok(id),
        _ => Err(BadPlugin::Trunk(wrong)),
    };
    let mut found = BTreeSet::new();
    for item in items {
        match (item.min, item.max) {
            (Some(min), Some(max)) => {
                id(min, "incorrect trunk minID parameter")?;
                id(max, "incorrect trunk maxID parameter")?;
                if max < min {
                    let wrong = "minID is greater than maxID in trunk parameter";
                    return Err(BadPlugin::Trunk(wrong));
                }
                found.extend(min..=max);
            }
            (None, Some(_)) => {
                let wrong = "minID and maxID should be configured simultaneously, minID is missing";
                return Err(BadPlugin::Trunk(wrong));
            }
            (Some(_), None) => {
                let wrong = "minID and maxID should be configured simultaneously, maxID is missing";
                return Err(BadPlugin::Trunk(wrong));
            }
            (None, None) => {}
        }
        if let Some(number) = item.id {
            id(number, "incorrect trunk id parameter")?;
            found.insert(number);
        }
    }
    found.into_iter().map(|number| id(number, "incorrect trunk id parameter")).collect()
}
