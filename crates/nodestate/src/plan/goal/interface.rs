//! One interface as it is to be.

use landbridge_linux::IfName;
use landbridge_linux::link::{Bond, Bridge, MacvlanMode, VlanProtocol, Vxlan};
use landbridge_linux::route::Family;

use crate::desired::{Ipv4Wish, Ipv6Wish, KindWish, VxlanWish, Wish};
use crate::dhcp::Request;
use crate::error::Fault;
use crate::state::{Interface, IpAddress, Kind};

/// What the interface is to be, from what is wanted and what is there.
pub(super) fn kind(wish: &Wish, found: Option<&Kind>) -> Result<Kind, Fault> {
    if let Some(found) = found {
        same_type(wish, found)?;
    }
    let at = |key: &str| format!("{}.{key}", wish.place);
    let needed = |key: &str| Fault::new(at(key), "it is needed to make the interface");
    let named = |name: &Option<IfName>, old: Option<&IfName>, key: &str| {
        name.clone().or(old.cloned()).ok_or_else(|| needed(key))
    };
    Ok(match (&wish.kind, found) {
        (None | Some(KindWish::Ethernet | KindWish::Veth { peer: None }), Some(found)) => {
            found.clone()
        }
        (None, None) => {
            let why = "no interface of this name exists: give its type to have it made";
            return Err(Fault::new(at("type"), why));
        }
        (Some(KindWish::Ethernet | KindWish::Loopback), None) => {
            let why = "the node has no such interface: check the name on this node";
            return Err(Fault::new(&wish.place, why));
        }
        (Some(KindWish::Loopback), Some(_)) => Kind::Loopback,
        (Some(KindWish::Dummy), _) => Kind::Dummy,
        (Some(KindWish::Veth { peer: None }), None) => return Err(needed("veth.peer")),
        (Some(KindWish::Veth { peer: Some(peer) }), found) => {
            if *peer == wish.name {
                return Err(Fault::new(at("veth.peer"), "the two ends need two names"));
            }
            let wanted = Kind::Veth { peer: peer.clone() };
            if found.is_some_and(|found| *found != wanted) {
                let why = format!("{} ends elsewhere: make it absent first", wish.name);
                return Err(Fault::new(at("veth.peer"), why));
            }
            wanted
        }
        (Some(KindWish::Vlan(vlan)), found) => {
            let old = match found {
                Some(Kind::Vlan { base, id, protocol }) => Some((base, *id, *protocol)),
                _ => None,
            };
            Kind::Vlan {
                base: named(&vlan.base, old.map(|old| old.0), "vlan.base-iface")?,
                id: vlan.id.or(old.map(|old| old.1)).ok_or_else(|| needed("vlan.id"))?,
                protocol: vlan.protocol.or(old.map(|old| old.2)).unwrap_or(VlanProtocol::Customer),
            }
        }
        (Some(KindWish::Bridge(bridge)), found) => {
            let old = match found {
                Some(Kind::Bridge(options)) => options.clone(),
                _ => Bridge::default(),
            };
            Kind::Bridge(over_bridge(&bridge.options, &old))
        }
        (Some(KindWish::Bond(bond)), found) => match found {
            Some(Kind::Bond(old)) => Kind::Bond(over_bond(&bond.options, old.clone())),
            _ if bond.options.mode.is_none() => return Err(needed("link-aggregation.mode")),
            _ => Kind::Bond(bond.options.clone()),
        },
        (Some(KindWish::Vrf { table, .. }), found) => {
            let old = match found {
                Some(Kind::Vrf { table }) => Some(*table),
                _ => None,
            };
            let table = (*table).or(old).ok_or_else(|| needed("vrf.route-table-id"))?;
            Kind::Vrf { table }
        }
        (Some(KindWish::Macvlan { base, mode }), found) => {
            let old = match found {
                Some(Kind::Macvlan { base, mode }) => Some((base, *mode)),
                _ => None,
            };
            Kind::Macvlan {
                base: named(base, old.map(|old| old.0), "mac-vlan.base-iface")?,
                mode: mode.or(old.map(|old| old.1)).unwrap_or(MacvlanMode::Bridge),
            }
        }
        (Some(KindWish::Vxlan(wanted)), found) => {
            vxlan(wanted, found).ok_or_else(|| needed("vxlan.id"))?
        }
    })
}

/// A veth is as good as hardware, for nmstate and for us.
pub(super) fn same_type(wish: &Wish, found: &Kind) -> Result<(), Fault> {
    let word = match &wish.kind {
        None => return Ok(()),
        Some(KindWish::Ethernet) => "ethernet",
        Some(KindWish::Loopback) => "loopback",
        Some(KindWish::Dummy) => "dummy",
        Some(KindWish::Veth { .. }) => "veth",
        Some(KindWish::Vlan(_)) => "vlan",
        Some(KindWish::Bridge(_)) => "linux-bridge",
        Some(KindWish::Bond(_)) => "bond",
        Some(KindWish::Vrf { .. }) => "vrf",
        Some(KindWish::Macvlan { .. }) => "mac-vlan",
        Some(KindWish::Vxlan(_)) => "vxlan",
    };
    let alike = ["ethernet", "veth"];
    if word == found.word() || alike.contains(&word) && alike.contains(&found.word()) {
        return Ok(());
    }
    let why = format!(
        "the node has {} as {}, not as {word}: choose another name, or make that one absent first",
        wish.name,
        found.word()
    );
    Err(Fault::new(format!("{}.type", wish.place), why))
}

fn over_bridge(wanted: &Bridge, old: &Bridge) -> Bridge {
    Bridge {
        stp: wanted.stp.or(old.stp),
        vlan_filtering: wanted.vlan_filtering.or(old.vlan_filtering),
        vlan_default_pvid: wanted.vlan_default_pvid.or(old.vlan_default_pvid),
        multicast_snooping: wanted.multicast_snooping.or(old.multicast_snooping),
        ageing_centiseconds: wanted.ageing_centiseconds.or(old.ageing_centiseconds),
        forward_delay_centiseconds: wanted
            .forward_delay_centiseconds
            .or(old.forward_delay_centiseconds),
        hello_time_centiseconds: wanted.hello_time_centiseconds.or(old.hello_time_centiseconds),
        max_age_centiseconds: wanted.max_age_centiseconds.or(old.max_age_centiseconds),
        priority: wanted.priority.or(old.priority),
        group_forward_mask: wanted.group_forward_mask.or(old.group_forward_mask),
    }
}

fn over_bond(wanted: &Bond, old: Bond) -> Bond {
    let mode = wanted.mode.or(old.mode);
    // Options of another mode mean nothing in the new one.
    let old = if mode == old.mode { old } else { Bond::default() };
    Bond {
        mode,
        miimon_ms: wanted.miimon_ms.or(old.miimon_ms),
        up_delay_ms: wanted.up_delay_ms.or(old.up_delay_ms),
        down_delay_ms: wanted.down_delay_ms.or(old.down_delay_ms),
        min_links: wanted.min_links.or(old.min_links),
        hash_policy: wanted.hash_policy.or(old.hash_policy),
        lacp_rate: wanted.lacp_rate.or(old.lacp_rate),
    }
}

fn vxlan(wanted: &VxlanWish, found: Option<&Kind>) -> Option<Kind> {
    let (base, old) = match found {
        Some(Kind::Vxlan { base, options }) => (base.clone(), options.clone()),
        _ => (None, Vxlan { id: wanted.id?, port: Some(8472), ..Vxlan::default() }),
    };
    let options = Vxlan {
        id: wanted.id.unwrap_or(old.id),
        port: wanted.port.or(old.port),
        local: wanted.local.or(old.local),
        remote: wanted.remote.or(old.remote),
        learning: wanted.learning.or(old.learning),
        ..old
    };
    Some(Kind::Vxlan { base: wanted.base.clone().or(base), options })
}

/// All but kind and controller.
pub(super) fn properties(wish: &Wish, link: &mut Interface) -> Result<(), Fault> {
    if let Some(mtu) = wish.mtu {
        link.mtu = mtu;
    }
    link.mac = wish.mac.or(link.mac);
    if let Some(text) = &wish.description {
        link.description = Some(text.clone()).filter(|text| !text.is_empty());
    }
    link.promiscuous = wish.promiscuous.unwrap_or(link.promiscuous);
    if let Some(ip) = &wish.ipv4 {
        ipv4(ip, link);
    }
    if let Some(ip) = &wish.ipv6 {
        ipv6(ip, link);
    }
    if link.ipv6.enabled && wish.mtu.is_some_and(|mtu| mtu < 1280) {
        let why = "IPv6 needs at least 1280: raise it, or set ipv6.enabled to false";
        return Err(Fault::new(format!("{}.mtu", wish.place), why));
    }
    Ok(())
}

fn ipv4(wish: &Ipv4Wish, link: &mut Interface) {
    if wish.enabled == Some(false) {
        // The loopback's own addresses are not configuration.
        let own = link.kind == Kind::Loopback;
        link.ipv4.addresses.retain(|address| own && address.net.addr().is_loopback());
    } else if let Some(nets) = &wish.addresses {
        link.ipv4.addresses = replaced(&link.ipv4.addresses, nets, &link.kind);
    }
    link.ipv4.forwarding = wish.forwarding.unwrap_or(link.ipv4.forwarding);
}

fn ipv6(wish: &Ipv6Wish, link: &mut Interface) {
    link.ipv6.enabled = wish.enabled.unwrap_or(link.ipv6.enabled);
    if !link.ipv6.enabled {
        link.ipv6.addresses.clear();
    } else if let Some(nets) = &wish.addresses {
        link.ipv6.addresses = replaced(&link.ipv6.addresses, nets, &link.kind);
    }
    link.ipv6.forwarding = wish.forwarding.unwrap_or(link.ipv6.forwarding);
    link.ipv6.accept_ra = match wish.autoconf {
        // A node that forwards believes routers only when told so twice.
        Some(true) if link.ipv6.accept_ra == 0 => 1 + u8::from(link.ipv6.forwarding),
        Some(false) => 0,
        _ => link.ipv6.accept_ra,
    };
}

/// The list is what is fixed; what came by itself stays unless the list names it.
fn replaced(have: &[IpAddress], nets: &[ipnet::IpNet], kind: &Kind) -> Vec<IpAddress> {
    let own = |address: &&IpAddress| *kind == Kind::Loopback && address.net.addr().is_loopback();
    let kept = have
        .iter()
        .filter(|address| !nets.contains(&address.net) && (address.automatic || own(address)));
    let listed = nets.iter().map(|net| {
        let found = have.iter().find(|address| address.net == *net);
        IpAddress { automatic: false, ..found.copied().unwrap_or(IpAddress::fixed(*net)) }
    });
    kept.copied().chain(listed).collect()
}

/// Who asks a DHCP server.
pub(super) fn dhcp(wish: &Wish, requests: &mut Vec<Request>) {
    let mut put = |family, enabled: Option<bool>, on: Option<bool>, auto: &crate::desired::Auto| {
        let place = requests
            .iter()
            .position(|request| request.link == wish.name && request.family == family);
        let runs = on.unwrap_or(place.is_some()) && enabled != Some(false);
        let mut request = match place {
            Some(place) => requests.remove(place),
            None => Request::new(wish.name.clone(), family),
        };
        request.dns = auto.dns.unwrap_or(request.dns);
        request.gateway = auto.gateway.unwrap_or(request.gateway);
        request.routes = auto.routes.unwrap_or(request.routes);
        request.table = auto.table.or(request.table);
        request.metric = auto.metric.or(request.metric);
        request.client_id = auto.client_id.clone().or(request.client_id);
        if runs {
            requests.push(request);
        }
    };
    if let Some(ip) = &wish.ipv4 {
        put(Family::Ipv4, ip.enabled, ip.dhcp, &ip.auto);
    }
    if let Some(ip) = &wish.ipv6 {
        put(Family::Ipv6, ip.enabled, ip.dhcp, &ip.auto);
    }
}
