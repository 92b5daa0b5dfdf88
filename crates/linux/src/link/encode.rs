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
