//! Links as messages to the kernel.

use std::os::fd::AsRawFd;

use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoVeth, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

use super::{LinkChange, LinkKind, Master, NewLink, Select};
use crate::namespace::Namespace;

/// A message that names a link.
pub(super) fn select(link: Select<'_>) -> LinkMessage {
    let mut message = LinkMessage::default();
    match link {
        Select::Index(index) => message.header.index = index.0,
        Select::Name(name) => {
            message.attributes.push(LinkAttribute::IfName(name.as_str().to_owned()));
        }
    }
    message
}

/// A link to be made, in another namespace where one is given.
pub(super) fn new(link: &NewLink, namespace: Option<&Namespace>) -> LinkMessage {
    let mut message = end(link, namespace);
    if let Some((kind, data)) = link.kind.wire() {
        let data = match (data, link.parent) {
            // A new bridge has none, and a kernel that knows none refuses to be told so.
            (Some(InfoData::Bridge(mut data)), _) => {
                data.retain(|option| *option != InfoBridge::VlanFiltering(false));
                Some(InfoData::Bridge(data))
            }
            (Some(InfoData::Vxlan(mut data)), Some(parent)) => {
                data.push(InfoVxlan::Link(parent.0));
                Some(InfoData::Vxlan(data))
            }
            (data, _) => data,
        };
        let info = std::iter::once(LinkInfo::Kind(kind)).chain(data.map(LinkInfo::Data));
        message.attributes.push(LinkAttribute::LinkInfo(info.collect()));
    }
    message
}

/// A pair of links, the second in another namespace where one is given.
pub(super) fn pair(link: &NewLink, peer: &NewLink, namespace: Option<&Namespace>) -> LinkMessage {
    let mut message = end(link, None);
    let peer = NewLink { up: false, ..peer.clone() };
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(netlink_packet_route::link::InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(end(&peer, namespace)))),
    ]));
    message
}

/// All of a link but its kind.
fn end(link: &NewLink, namespace: Option<&Namespace>) -> LinkMessage {
    let mut message = LinkMessage::default();
    if link.up {
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
    }
    let parent = link.parent.filter(|_| !matches!(link.kind, LinkKind::Vxlan(_)));
    message.attributes = [
        Some(LinkAttribute::IfName(link.name.as_str().to_owned())),
        link.mtu.map(LinkAttribute::Mtu),
        link.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())),
        parent.map(|index| LinkAttribute::Link(index.0)),
        // A master is of this namespace; the kernel looks for it in the new link's.
        link.master.filter(|_| namespace.is_none()).map(|index| LinkAttribute::Controller(index.0)),
        namespace.map(|namespace| LinkAttribute::NetNsFd(namespace.as_raw_fd())),
    ]
    .into_iter()
    .flatten()
    .collect();
    message
}

/// Changes to a link.
pub(super) fn change(link: Select<'_>, change: &LinkChange) -> LinkMessage {
    let mut message = select(link);
    if let Some(up) = change.up {
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    }
    if let Some(on) = change.promiscuous {
        message.header.change_mask |= LinkFlags::Promisc;
        message.header.flags.set(LinkFlags::Promisc, on);
    }
    let master = change.master.map(|master| match master {
        Master::None => 0,
        Master::Link(index) => index.0,
    });
    message.attributes.extend(
        [
            change.mtu.map(LinkAttribute::Mtu),
            change.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())),
            change.alias.clone().map(LinkAttribute::IfAlias),
            master.map(LinkAttribute::Controller),
        ]
        .into_iter()
        .flatten(),
    );
    message
}

/// Options of a link's kind.
pub(super) fn options(link: Select<'_>, kind: &LinkKind) -> LinkMessage {
    let mut message = select(link);
    if let Some((kind, data)) = kind.wire() {
        let info = std::iter::once(LinkInfo::Kind(kind)).chain(data.map(LinkInfo::Data));
        message.attributes.push(LinkAttribute::LinkInfo(info.collect()));
    }
    message
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
    use netlink_packet_route::RouteNetlinkMessage;

    use super::*;
    use crate::link::{
        Bond, BondMode, Bridge, HashPolicy, LacpRate, LinkIndex, Macvlan, MacvlanMode, Vlan,
        VlanProtocol, Vxlan, decode,
    };
    use crate::name::IfName;

    fn over_the_wire(message: LinkMessage) -> LinkMessage {
        let payload = NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(message));
        let mut packet = NetlinkMessage::new(NetlinkHeader::default(), payload);
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes).unwrap();
        match read.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    /// For the kinds that not every kernel has, this is all that can be tested everywhere.
    #[test]
    fn every_kind_survives_the_wire() {
        let bond = |mode, lacp_rate| {
            LinkKind::Bond(Bond {
                mode: Some(mode),
                miimon_ms: Some(100),
                up_delay_ms: Some(200),
                down_delay_ms: Some(300),
                min_links: Some(1),
                hash_policy: Some(HashPolicy::Layer34),
                lacp_rate,
            })
        };
        let bridge = Bridge {
            stp: Some(true),
            vlan_filtering: Some(true),
            vlan_default_pvid: Some(7),
            multicast_snooping: Some(false),
            ageing_centiseconds: Some(30_000),
            forward_delay_centiseconds: Some(400),
            hello_time_centiseconds: Some(200),
            max_age_centiseconds: Some(2000),
            priority: Some(4096),
            group_forward_mask: Some(0x4000),
        };
        for kind in [
            LinkKind::Veth,
            LinkKind::Dummy,
            LinkKind::Vrf { table: 70_000 },
            LinkKind::Vlan(Vlan { id: 20, protocol: VlanProtocol::Customer }),
            LinkKind::Vlan(Vlan { id: 4094, protocol: VlanProtocol::Service }),
            LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Passthru }),
            LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Source }),
            LinkKind::Bridge(bridge),
            bond(BondMode::Lacp, Some(LacpRate::Fast)),
            bond(BondMode::ActiveBackup, None),
            LinkKind::Vxlan(Vxlan { id: 0x00ab_cdef, port: Some(4789), ..Vxlan::default() }),
        ] {
            let wanted = NewLink::new(IfName::new("x").unwrap(), kind.clone()).on(LinkIndex(7));
            let seen = decode(&over_the_wire(new(&wanted, None)));
            assert_eq!(seen.kind, kind);
            assert_eq!(
                seen.parent.or(seen.peer).map(|far| far.index),
                Some(LinkIndex(7)),
                "{kind}"
            );
        }
    }
}
