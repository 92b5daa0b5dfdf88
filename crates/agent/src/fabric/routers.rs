//! Routers: interfaces, addresses, routes, and translation where it is wanted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ipnet::IpNet;
use landbridge_fabric::{HostRoute, Interface, Router, names, rules};
use landbridge_l2::packet::{Mac, arp, ndp};
use landbridge_linux::address::Origin;
use landbridge_linux::packet::Frames;
use landbridge_linux::route::Protocol;
use landbridge_linux::{
    Address, Ensured, Handle, IfName, Link, LinkChange, LinkIndex, MacAddr, PacketSocket, Route,
};

use super::nft;
use super::plugs::Plug;

/// What marks addresses and routes that the cloud gave, so that only those are taken away again.
const OURS: u8 = 76;

/// A router that has just come here is told of at every look, for so long: what leads to it may still be on its way, and
/// switches believe what they heard last.
const EAGER: Duration = Duration::from_mins(1);
/// Later, so often.
const CALM: Duration = Duration::from_mins(1);

/// What this process knows of a router.
#[derive(Debug)]
pub struct Known {
    /// The rules that stand; nothing: unknown.
    rules: Option<String>,
    since: Instant,
    told: Option<Instant>,
}

impl Known {
    /// Nothing yet.
    pub fn new(now: Instant) -> Self {
        Self { rules: None, since: now, told: None }
    }

    /// Whether neighbours are to be told where its addresses are, also of those that are not new.
    fn tells(&mut self, now: Instant) -> bool {
        let eager = now.duration_since(self.since) < EAGER;
        let tells = eager || self.told.is_none_or(|told| now.duration_since(told) >= CALM);
        if tells {
            self.told = Some(now);
        }
        tells
    }
}

/// Has a router with all it needs.
pub fn ensure(
    cloud: &Handle,
    net: &Handle,
    router: &Router,
    bridges: &HashMap<String, LinkIndex>,
    known: &mut Known,
) -> anyhow::Result<()> {
    // First the rules: nothing leaves untranslated that is to be translated.
    let text = rules::router(router);
    if known.rules.as_ref() != Some(&text) {
        known.rules = None;
        nft::run(net.namespace(), &text)?;
        known.rules = Some(text);
    }
    let tells = known.tells(Instant::now());
    let mut kept = Vec::new();
    for interface in &router.interfaces {
        let bridge = *bridges
            .get(&interface.network)
            .with_context(|| format!("network {} is not here", interface.network))?;
        let link = plug(cloud, net, interface, bridge)?;
        kept.push(link.index);
        let floating = router.floating.iter().filter(|_| interface.outside);
        let floating = floating.map(|it| IpNet::from(IpAddr::from(it.outside)));
        let wanted: Vec<IpNet> = interface.addresses.iter().copied().chain(floating).collect();
        let new = addresses(net, link.index, &wanted)?;
        announce(net, &link, interface, if tells { &wanted } else { &new });
    }
    for link in net.links()? {
        let ours = link.name.as_str().starts_with("qr-") || link.name.as_str().starts_with("qg-");
        if ours && !kept.contains(&link.index) {
            net.delete_link(link.index)?;
        }
    }
    routes(net, &router.routes, None, None)
}

fn plug(
    cloud: &Handle,
    net: &Handle,
    interface: &Interface,
    bridge: LinkIndex,
) -> anyhow::Result<Link> {
    let mac = MacAddr(interface.mac.0);
    let wanted = Plug { port: &interface.port, mac, mtu: interface.mtu, up: true, bridge };
    let name = names::interface(&interface.port, interface.outside);
    let plugged = wanted.ensure(cloud, net, |_| Ok(IfName::new(&name)?))?;
    let found = plugged.inside;
    let change = LinkChange {
        mac: (found.mac != Some(mac)).then_some(mac),
        mtu: (found.mtu != interface.mtu).then_some(interface.mtu),
        up: (!found.up).then_some(true),
        ..LinkChange::default()
    };
    net.change_link(&found, &change)?;
    Ok(found)
}

/// Has these addresses on a link, and of those that the cloud gave no others. Says which are new.
pub fn addresses(net: &Handle, link: LinkIndex, wanted: &[IpNet]) -> anyhow::Result<Vec<IpNet>> {
    for found in net.addresses_of(link)? {
        if found.origin == Origin::Other(OURS) && !wanted.contains(&found.net) {
            net.delete_address(&found)?;
        }
    }
    let mut new = Vec::new();
    for address in wanted {
        let mut given = Address::new(link, *address).without_dad();
        given.origin = Origin::Other(OURS);
        if net.ensure_address(&given)? == Ensured::Created {
            new.push(*address);
        }
    }
    Ok(new)
}

/// Has these routes, and of those that the cloud gave no others; on one link only, where one is named.
pub fn routes(
    net: &Handle,
    wanted: &[HostRoute],
    link: Option<LinkIndex>,
    metric: Option<u32>,
) -> anyhow::Result<()> {
    let made = |wanted: &HostRoute| {
        let mut route = Route::via(wanted.destination, wanted.nexthop);
        route.link = link;
        route.metric = metric;
        route.protocol = Protocol(OURS);
        route
    };
    let wanted: Vec<Route> = wanted.iter().map(made).collect();
    let same = |found: &Route, wanted: &Route| {
        (found.destination, found.gateway) == (wanted.destination, wanted.gateway)
    };
    for found in net.routes()? {
        let ours = found.protocol == Protocol(OURS) && (link.is_none() || found.link == link);
        if ours && !wanted.iter().any(|wanted| same(&found, wanted)) {
            net.delete_route(&found)?;
        }
    }
    let mut failed = Vec::new();
    for route in &wanted {
        // One next hop that cannot be reached is no reason to leave the others out.
        failed.extend(net.ensure_route(route).err().map(|error| error.to_string()));
    }
    anyhow::ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// Tells everybody on a network where addresses are now. What does not go out is asked for soon enough.
fn announce(net: &Handle, link: &Link, interface: &Interface, addresses: &[IpNet]) {
    if addresses.is_empty() {
        return;
    }
    let own = Mac(interface.mac.0);
    let send = || {
        let socket = PacketSocket::open(link.index, Frames::Arp)?;
        for address in addresses {
            match address.addr() {
                IpAddr::V4(ip) => {
                    for packet in arp::Arp::gratuitous(own, ip) {
                        socket.send(&packet.write())?;
                    }
                }
                IpAddr::V6(ip) => {
                    socket.send(&ndp::Advertisement::unsolicited(own, ip, ip).write())?;
                }
            }
        }
        Ok::<_, std::io::Error>(())
    };
    match net.namespace().visit(send) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, link = %link.name, "cannot announce addresses"),
        Err(error) => tracing::debug!(%error, link = %link.name, "cannot announce addresses"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_told_of_often_and_then_now_and_then() {
        let began = Instant::now();
        let mut known = Known::new(began);
        let mut tells = |seconds: u64| known.tells(began + Duration::from_secs(seconds));
        assert!(tells(0) && tells(3) && tells(59), "what leads to it may come later");
        assert!(!tells(61) && !tells(118));
        assert!(tells(120) && !tells(123), "once a minute");
    }
}
