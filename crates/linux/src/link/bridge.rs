//! Options of a bridge.

use netlink_packet_route::link::{BridgeStpState, InfoBridge};
use serde::{Deserialize, Serialize};

use super::options::options;

/// Options of a bridge. Times are the kernel's hundredths of a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bridge {
    pub stp: Option<bool>,
    pub vlan_filtering: Option<bool>,
    pub vlan_default_pvid: Option<u16>,
    pub multicast_snooping: Option<bool>,
    pub ageing_centiseconds: Option<u32>,
    pub forward_delay_centiseconds: Option<u32>,
    pub hello_time_centiseconds: Option<u32>,
    pub max_age_centiseconds: Option<u32>,
    pub priority: Option<u16>,
    pub group_forward_mask: Option<u16>,
}

options!(Bridge {
    stp,
    vlan_filtering,
    vlan_default_pvid,
    multicast_snooping,
    priority,
    group_forward_mask,
} times {
    ageing_centiseconds,
    forward_delay_centiseconds,
    hello_time_centiseconds,
    max_age_centiseconds,
});

impl Bridge {
    pub(super) fn encode(&self) -> Vec<InfoBridge> {
        let stp = |on| if on { BridgeStpState::KernelStp } else { BridgeStpState::Disabled };
        // Spanning tree last: its checks on the times look at the times of this request.
        [
            self.vlan_default_pvid.map(InfoBridge::VlanDefaultPvid),
            self.vlan_filtering.map(InfoBridge::VlanFiltering),
            self.multicast_snooping.map(InfoBridge::MulticastSnooping),
            self.ageing_centiseconds.map(InfoBridge::AgeingTime),
            self.forward_delay_centiseconds.map(InfoBridge::ForwardDelay),
            self.hello_time_centiseconds.map(InfoBridge::HelloTime),
            self.max_age_centiseconds.map(InfoBridge::MaxAge),
            self.priority.map(InfoBridge::Priority),
            self.group_forward_mask.map(InfoBridge::GroupFwdMask),
            self.stp.map(|on| InfoBridge::StpState(stp(on))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(super) fn decode(data: &[InfoBridge]) -> Self {
        let mut bridge = Self::default();
        for attribute in data {
            match attribute {
                InfoBridge::StpState(state) => {
                    bridge.stp = Some(*state != BridgeStpState::Disabled);
                }
                InfoBridge::VlanFiltering(on) => bridge.vlan_filtering = Some(*on),
                InfoBridge::VlanDefaultPvid(vid) => bridge.vlan_default_pvid = Some(*vid),
                InfoBridge::MulticastSnooping(on) => bridge.multicast_snooping = Some(*on),
                InfoBridge::AgeingTime(time) => bridge.ageing_centiseconds = Some(*time),
                InfoBridge::ForwardDelay(time) => bridge.forward_delay_centiseconds = Some(*time),
                InfoBridge::HelloTime(time) => bridge.hello_time_centiseconds = Some(*time),
                InfoBridge::MaxAge(time) => bridge.max_age_centiseconds = Some(*time),
                InfoBridge::Priority(priority) => bridge.priority = Some(*priority),
                InfoBridge::GroupFwdMask(mask) => bridge.group_forward_mask = Some(*mask),
                _ => {}
            }
        }
        bridge
    }
}
