//! A link from the kernel's message.

use netlink_packet_route::link::{
    InfoData, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};

use super::{Far, Link, LinkIndex, LinkKind, OperState, Port};
use crate::mac::MacAddr;
use crate::name::IfName;

pub(crate) fn link(message: &LinkMessage) -> Link {
    let flags = message.header.flags;
    let mut kind: Option<InfoKind> = None;
    let mut data: Option<&InfoData> = None;
    let (mut lower, mut elsewhere) = (None, None);
    let mut link = Link {
        index: LinkIndex(message.header.index),
        name: IfName::from_kernel(""),
        alias: None,
        kind: LinkKind::Physical,
        mtu: 0,
        mac: None,
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        promiscuous: flags.contains(LinkFlags::Promisc),
        broadcast: flags.contains(LinkFlags::Broadcast),
        no_arp: flags.contains(LinkFlags::Noarp),
        state: OperState::Unknown,
        master: None,
        port: None,
        parent: None,
        peer: None,
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = IfName::from_kernel(name),
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias.clone()),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::Address(bytes) => link.mac = MacAddr::from_bytes(bytes),
            LinkAttribute::OperState(state) => link.state = oper_state(*state),
            LinkAttribute::Controller(index) => link.master = Some(LinkIndex(*index)),
            LinkAttribute::Link(index) => lower = Some(LinkIndex(*index)),
            LinkAttribute::LinkNetNsId(id) => elsewhere = Some(*id),
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    match info {
                        LinkInfo::Kind(word) => kind = Some(word.clone()),
                        LinkInfo::Data(found) => data = Some(found),
                        LinkInfo::PortData(found) => link.port = Port::decode(found),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    link.kind = match &kind {
        Some(kind) => LinkKind::from_wire(kind, data),
        None if flags.contains(LinkFlags::Loopback) => LinkKind::Loopback,
        None => LinkKind::Physical,
    };
    if let LinkKind::Vxlan(_) = link.kind {
        // A vxlan says itself what it stands on.
        lower = lower.or_else(|| vxlan_parent(data?));
    }
    // Index 0 is a link in a namespace that is gone.
    let far = lower.filter(|index| index.0 != 0).map(|index| Far { index, namespace: elsewhere });
    match link.kind {
        LinkKind::Veth => link.peer = far,
        _ => link.parent = far,
    }
    link
}

fn vxlan_parent(data: &InfoData) -> Option<LinkIndex> {
    use netlink_packet_route::link::InfoVxlan;
    let InfoData::Vxlan(data) = data else { return None };
    data.iter().find_map(|attribute| match attribute {
        InfoVxlan::Link(index) => Some(LinkIndex(*index)),
        _ => None,
    })
}

fn oper_state(state: State) -> OperState {
    match state {
        State::NotPresent => OperState::NotPresent,
        State::Down => OperState::Down,
        State::LowerLayerDown => OperState::LowerLayerDown,
        State::Testing => OperState::Testing,
        State::Dormant => OperState::Dormant,
        State::Up => OperState::Up,
        State::Other(other) => OperState::Other(other),
        _ => OperState::Unknown,
    }
}
