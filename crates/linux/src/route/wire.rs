//! Routes from and to the kernel's messages.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RoutePreference, RouteType, RouteVia,
};

use super::{Family, NextHop, Protocol, Route, RouteKind};
use crate::link::LinkIndex;

const KINDS: [(RouteKind, RouteType); 9] = [
    (RouteKind::Unicast, RouteType::Unicast),
    (RouteKind::Local, RouteType::Local),
    (RouteKind::Broadcast, RouteType::Broadcast),
    (RouteKind::Anycast, RouteType::Anycast),
    (RouteKind::Multicast, RouteType::Multicast),
    (RouteKind::Blackhole, RouteType::BlackHole),
    (RouteKind::Unreachable, RouteType::Unreachable),
    (RouteKind::Prohibit, RouteType::Prohibit),
    (RouteKind::Throw, RouteType::Throw),
];

pub(super) fn encode(route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    let family = route.family();
    let header = &mut message.header;
    header.address_family = family.wire();
    header.destination_prefix_length = route.destination.prefix_len();
    // Numbers past 255 stand only in the attribute.
    header.table = u8::try_from(route.table).unwrap_or(0);
    header.protocol = route.protocol.0.into();
    header.scope = u8::from(route.scope).into();
    header.kind = match route.kind {
        RouteKind::Other(number) => RouteType::from(number),
        kind => KINDS
            .iter()
            .find(|(ours, _)| *ours == kind)
            .map_or(RouteType::Unicast, |(_, wire)| *wire),
    };
    header.flags.set(RouteFlags::Onlink, route.onlink);
    let attributes = &mut message.attributes;
    attributes.push(RouteAttribute::Table(route.table));
    if route.destination.prefix_len() > 0 {
        attributes.push(RouteAttribute::Destination(address(route.destination.addr())));
    }
    attributes.extend(route.gateway.map(|gateway| towards(family, gateway)));
    attributes.extend(route.link.map(|link| RouteAttribute::Oif(link.0)));
    attributes.extend(route.metric.map(RouteAttribute::Priority));
    attributes.extend(route.source.map(|ip| RouteAttribute::PrefSource(address(ip))));
    attributes.extend(route.mtu.map(|mtu| RouteAttribute::Metrics(vec![RouteMetric::Mtu(mtu)])));
    if !route.multipath.is_empty() {
        let hops = route.multipath.iter().map(|hop| encode_hop(family, hop)).collect();
        attributes.push(RouteAttribute::MultiPath(hops));
    }
    message
}

fn encode_hop(family: Family, hop: &NextHop) -> RouteNextHop {
    let mut wire = RouteNextHop::default();
    wire.interface_index = hop.link.0;
    wire.hops = u8::try_from(hop.weight.saturating_sub(1)).unwrap_or(u8::MAX);
    wire.flags.set(RouteNextHopFlags::Onlink, hop.onlink);
    wire.attributes.extend(hop.gateway.map(|gateway| towards(family, gateway)));
    wire
}

/// A gateway of the route's own family, or of the other one.
fn towards(family: Family, gateway: IpAddr) -> RouteAttribute {
    match (family, gateway) {
        (Family::Ipv4, IpAddr::V6(ip)) => RouteAttribute::Via(RouteVia::Inet6(ip)),
        (Family::Ipv6, IpAddr::V4(ip)) => RouteAttribute::Via(RouteVia::Inet(ip)),
        _ => RouteAttribute::Gateway(address(gateway)),
    }
}

fn address(ip: IpAddr) -> RouteAddress {
    match ip {
        IpAddr::V4(ip) => RouteAddress::Inet(ip),
        IpAddr::V6(ip) => RouteAddress::Inet6(ip),
    }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}

fn gateway(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(address) => ip(address),
        RouteAttribute::Via(RouteVia::Inet(ip)) => Some((*ip).into()),
        RouteAttribute::Via(RouteVia::Inet6(ip)) => Some((*ip).into()),
        _ => None,
    }
}

/// A route; nothing for other families and for what the kernel merely remembers of one.
pub(crate) fn decode(message: &RouteMessage) -> Option<Route> {
    let header = &message.header;
    let family = Family::from_wire(header.address_family)?;
    if header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let mut destination = family.everywhere();
    let mut route = Route::plain(destination);
    route.table = u32::from(header.table);
    route.protocol = Protocol(u8::from(header.protocol));
    route.scope = u8::from(header.scope).into();
    route.onlink = header.flags.contains(RouteFlags::Onlink);
    route.partial = header.tos != 0 || header.source_prefix_length != 0;
    let kind = KINDS.iter().find(|(_, wire)| *wire == header.kind).map(|(ours, _)| *ours);
    route.kind = kind.unwrap_or(RouteKind::Other(u8::from(header.kind)));
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => {
                destination = IpNet::new(ip(address)?, header.destination_prefix_length).ok()?;
            }
            RouteAttribute::Gateway(_) | RouteAttribute::Via(_) => {
                route.gateway = gateway(attribute);
            }
            RouteAttribute::Oif(index) => route.link = Some(LinkIndex(*index)),
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::Priority(metric) => route.metric = Some(*metric),
            RouteAttribute::PrefSource(address) => route.source = ip(address),
            RouteAttribute::CacheInfo(info) => route.expires = info.expires != 0,
            RouteAttribute::MultiPath(hops) => {
                for hop in hops {
                    route.multipath.push(decode_hop(hop));
                    let known = |part: &RouteAttribute| gateway(part).is_some();
                    route.partial |= !hop.attributes.iter().all(known);
                }
            }
            RouteAttribute::Metrics(metrics) => {
                for metric in metrics {
                    match metric {
                        RouteMetric::Mtu(mtu) => route.mtu = Some(*mtu),
                        _ => route.partial = true,
                    }
                }
            }
            RouteAttribute::Preference(RoutePreference::Medium)
            | RouteAttribute::Expires(_)
            | RouteAttribute::MulticastExpires(_) => {}
            _ => route.partial = true,
        }
    }
    route.destination = destination;
    // A single way given as a list is still a single way.
    if let [hop] = &route.multipath[..] {
        (route.gateway, route.link) = (hop.gateway, Some(hop.link));
        route.onlink |= hop.onlink;
        route.multipath.clear();
    }
    Some(route)
}

fn decode_hop(hop: &RouteNextHop) -> NextHop {
    NextHop {
        gateway: hop.attributes.iter().find_map(gateway),
        link: LinkIndex(hop.interface_index),
        weight: u16::from(hop.hops) + 1,
        onlink: hop.flags.contains(RouteNextHopFlags::Onlink),
    }
}
