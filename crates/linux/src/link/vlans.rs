//! VLANs that a bridge with VLAN filtering lets through at each port.

use std::collections::HashMap;

use netlink_packet_route::link::{
    AfSpecBridge, BridgeVlanInfo, BridgeVlanInfoFlags, LinkAttribute, LinkExtentMask, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::LinkIndex;
use crate::error::{Action, Attempt, Object, Result};
use crate::handle::Handle;

/// A range of VLANs at a port, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BridgeVlan {
    pub first: u16,
    pub last: u16,
    /// Frames that come in without a tag belong to it; only one VLAN of a port.
    pub pvid: bool,
    /// Frames go out without a tag.
    pub untagged: bool,
}

impl BridgeVlan {
    /// VLANs whose frames keep their tag.
    pub fn tagged(first: u16, last: u16) -> Self {
        Self { first, last, pvid: false, untagged: false }
    }

    /// The VLAN of frames without a tag.
    pub fn native(vid: u16) -> Self {
        Self { first: vid, last: vid, pvid: true, untagged: true }
    }
}

impl Handle {
    /// The VLANs at each port of each bridge, and at the bridges themselves; none on a kernel
    /// without VLAN filtering.
    pub fn bridge_vlans(&self) -> Result<HashMap<LinkIndex, Vec<BridgeVlan>>> {
        let mut message = LinkMessage::default();
        message.header.interface_family = AddressFamily::Bridge;
        let mask = vec![LinkExtentMask::BrvlanCompressed];
        message.attributes.push(LinkAttribute::ExtMask(mask));
        let answers = self.dump(&RouteNetlinkMessage::GetLink(message), Object::Link)?;
        let mut vlans: HashMap<LinkIndex, Vec<BridgeVlan>> = HashMap::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewLink(message) = answer else { continue };
            let found = decode(message);
            if !found.is_empty() {
                vlans.entry(LinkIndex(message.header.index)).or_default().extend(found);
            }
        }
        Ok(vlans)
    }

    /// Lets VLANs through at a port.
    pub fn add_bridge_vlan(&self, port: LinkIndex, vlan: BridgeVlan) -> Result<()> {
        let message = RouteNetlinkMessage::SetLink(encode(port, vlan));
        self.execute(message, 0, || self.attempt_vlan(Action::Create, port, vlan))
    }

    /// Stops VLANs at a port.
    pub fn delete_bridge_vlan(&self, port: LinkIndex, vlan: BridgeVlan) -> Result<()> {
        let message = RouteNetlinkMessage::DelLink(encode(port, vlan));
        self.execute(message, 0, || self.attempt_vlan(Action::Delete, port, vlan))
    }

    fn attempt_vlan(&self, action: Action, port: LinkIndex, vlan: BridgeVlan) -> Attempt {
        let subject =
            format!("{} (bridge VLANs {} to {})", self.called(port), vlan.first, vlan.last);
        Attempt::new(action, Object::Link, subject).of_kind("bridge")
    }
}

fn encode(port: LinkIndex, vlan: BridgeVlan) -> LinkMessage {
    let mut flags = BridgeVlanInfoFlags::empty();
    flags.set(BridgeVlanInfoFlags::Pvid, vlan.pvid);
    flags.set(BridgeVlanInfoFlags::Untagged, vlan.untagged);
    let info = |vid, more| AfSpecBridge::VlanInfo(BridgeVlanInfo { flags: flags | more, vid });
    let entries = if vlan.first == vlan.last {
        vec![info(vlan.first, BridgeVlanInfoFlags::empty())]
    } else {
        vec![
            info(vlan.first, BridgeVlanInfoFlags::RangeBegin),
            info(vlan.last, BridgeVlanInfoFlags::RangeEnd),
        ]
    };
    let mut message = LinkMessage::default();
    message.header.interface_family = AddressFamily::Bridge;
    message.header.index = port.0;
    message.attributes.push(LinkAttribute::AfSpecBridge(entries));
    message
}

fn decode(message: &LinkMessage) -> Vec<BridgeVlan> {
    let mut vlans = Vec::new();
    let mut first = None;
    for attribute in &message.attributes {
        let LinkAttribute::AfSpecBridge(entries) = attribute else { continue };
        for entry in entries {
            let AfSpecBridge::VlanInfo(info) = entry else { continue };
            if info.flags.contains(BridgeVlanInfoFlags::RangeBegin) {
                first = Some(info.vid);
                continue;
            }
            vlans.push(BridgeVlan {
                first: first.take().unwrap_or(info.vid),
                last: info.vid,
                pvid: info.flags.contains(BridgeVlanInfoFlags::Pvid),
                untagged: info.flags.contains(BridgeVlanInfoFlags::Untagged),
            });
        }
    }
    vlans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not every kernel filters VLANs; the messages are right everywhere.
    #[test]
    fn ranges_are_written_as_they_are_read() {
        for vlan in [BridgeVlan::native(1), BridgeVlan::tagged(2, 4094), BridgeVlan::tagged(7, 7)] {
            let message = encode(LinkIndex(3), vlan);
            assert_eq!(message.header.interface_family, AddressFamily::Bridge);
            assert_eq!(decode(&message), [vlan]);
        }
    }
}
