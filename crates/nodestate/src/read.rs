//! Reading a node's network.

use std::collections::HashMap;

use landbridge_linux::link::{BridgeVlan, Far, VlanProtocol};
use landbridge_linux::route::{Family, RouteKind, table};
use landbridge_linux::sysctl::Conf;
use landbridge_linux::{
    Address, Handle, IfName, Link, LinkIndex, LinkKind, Result, Route, Sysctl, Sysctls,
};

use crate::dhcp::Dhcp;
use crate::state::{
    BridgePort, Fresh, Hostname, Interface, IpAddress, Ipv4, Ipv6, Kind, State, is_configured,
};
use crate::wires;

/// Says which interfaces are somebody else's.
pub type Foreign = dyn Fn(&IfName, &Link) -> bool + Send + Sync;

/// The node's end of a pod's link: a veth with its other end elsewhere and a name that programs give.
pub fn is_of_a_pod(name: &IfName, link: &Link) -> bool {
    let away = link.peer.is_none_or(|peer| peer.namespace.is_some());
    link.kind == LinkKind::Veth && away && name.as_str().starts_with("veth")
}

/// Everything netlink, sysctls and DHCP know; resolver and host name are files and come later.
pub(crate) fn network(net: &Handle, dhcp: &dyn Dhcp, foreign: &Foreign) -> Result<State> {
    let links = net.links()?;
    let names: HashMap<LinkIndex, IfName> =
        links.iter().map(|link| (link.index, link.name.clone())).collect();
    let called = |index: &LinkIndex| names.get(index).cloned();
    let vlans = if links.iter().any(|link| matches!(link.kind, LinkKind::Bridge(_))) {
        net.bridge_vlans()?
    } else {
        HashMap::new()
    };
    let addresses = net.addresses()?;
    let (fresh, settings) = settings(net, &links)?;
    let mut state = State { fresh, dhcp: dhcp.running(), ..State::default() };
    for (link, settings) in links.iter().zip(settings) {
        let mut interface = interface(link, called, settings);
        interface.foreign = foreign(&link.name, link);
        if let Some(port) = &mut interface.port {
            port.vlans = ranges(vlans.get(&link.index).map_or(&[][..], Vec::as_slice));
        }
        for address in addresses.iter().filter(|address| address.link == link.index) {
            let list = match address.net.addr() {
                std::net::IpAddr::V4(_) => &mut interface.ipv4.addresses,
                std::net::IpAddr::V6(_) => &mut interface.ipv6.addresses,
            };
            list.push(ip_address(address));
        }
        // The order of IPv4 says which is first; that of IPv6 only which came last.
        interface.ipv6.addresses.sort_by_key(|address| address.net);
        state.interfaces.insert(link.name.clone(), interface);
    }
    let shown = |route: &Route| {
        let multicast = route.destination.addr().is_multicast();
        // A VRF's table also holds what the kernel keeps in the local one elsewhere.
        let own =
            matches!(route.kind, RouteKind::Local | RouteKind::Broadcast | RouteKind::Anycast);
        route.table != table::LOCAL && !multicast && !own
    };
    let routes = net.routes()?;
    state.routes = routes
        .iter()
        .filter(|route| shown(route))
        .filter_map(|route| route.map_links(called))
        .collect();
    // The kernel's own order of its routes says nothing, and comparing is easier with one.
    state.routes.sort_by_cached_key(|route| (!is_configured(route), route.to_string()));
    state.rules = net.rules()?;
    Ok(state)
}

/// The kernel joins what is alike only within one dump; so do we.
fn ranges(vlans: &[BridgeVlan]) -> Vec<BridgeVlan> {
    let mut vlans = vlans.to_vec();
    vlans.sort();
    vlans
}

fn ip_address(address: &Address) -> IpAddress {
    let link_local =
        matches!(address.net.addr(), std::net::IpAddr::V6(ip) if ip.is_unicast_link_local());
    let given = address.origin != landbridge_linux::address::Origin::User;
    let own = address.ip().is_loopback();
    IpAddress {
        net: address.net,
        automatic: !own && (link_local || given || address.valid_seconds.is_some()),
        secondary: address.flags.secondary,
    }
}

fn interface(
    link: &Link,
    called: impl Fn(&LinkIndex) -> Option<IfName>,
    settings: Settings,
) -> Interface {
    let here = |far: Option<Far>| {
        far.filter(|far| far.namespace.is_none()).and_then(|far| called(&far.index))
    };
    let (wire, description) = wires::parse_alias(link.alias.as_deref().unwrap_or_default());
    let other = || Kind::Other(link.kind.word().to_owned());
    let kind = match (&link.kind, wire) {
        (LinkKind::Veth, Some(wire)) => {
            Kind::Vlan { base: wire.base, id: wire.id, protocol: wire.protocol }
        }
        (LinkKind::Loopback, _) => Kind::Loopback,
        (LinkKind::Physical, _) => Kind::Ethernet,
        (LinkKind::Veth, None) => {
            here(link.peer).map_or(Kind::Ethernet, |peer| Kind::Veth { peer })
        }
        (LinkKind::Bridge(options), _) => Kind::Bridge(options.clone()),
        (LinkKind::Bond(options), _) => Kind::Bond(options.clone()),
        (LinkKind::Vrf { table }, _) => Kind::Vrf { table: *table },
        (LinkKind::Dummy, _) => Kind::Dummy,
        (LinkKind::Vlan(vlan), _) => here(link.parent).map_or_else(other, |base| {
            let protocol: VlanProtocol = vlan.protocol;
            Kind::Vlan { base, id: vlan.id, protocol }
        }),
        (LinkKind::Macvlan(macvlan), _) => {
            here(link.parent).map_or_else(other, |base| Kind::Macvlan { base, mode: macvlan.mode })
        }
        (LinkKind::Vxlan(options), _) => {
            Kind::Vxlan { base: here(link.parent), options: options.clone() }
        }
        (LinkKind::Other(_), _) => other(),
    };
    let controller = link.master.as_ref().and_then(&called);
    Interface {
        mtu: link.mtu,
        mac: link.mac.filter(|_| kind != Kind::Loopback),
        up: link.up,
        carrier: link.carrier,
        description: description.map(str::to_owned),
        promiscuous: link.promiscuous,
        port: link.port.map(|options| BridgePort { options, vlans: Vec::new() }),
        controller,
        ipv4: Ipv4 { addresses: Vec::new(), forwarding: settings.ipv4_forwarding },
        ipv6: Ipv6 {
            enabled: settings.ipv6_enabled,
            addresses: Vec::new(),
            forwarding: settings.ipv6_forwarding,
            accept_ra: settings.accept_ra,
        },
        foreign: false,
        kind,
    }
}

type Settings = Fresh;

/// The settings of new links and of each link, in one visit.
fn settings(net: &Handle, links: &[Link]) -> Result<(Fresh, Vec<Settings>)> {
    let mut names = of(Conf::Default)?.to_vec();
    for link in links {
        names.extend(of(Conf::Link(&link.name))?);
    }
    let values = Sysctls::of(net.namespace()).read_many(&names)?;
    let mut read = values.chunks_exact(4).map(|values| {
        let number = |at: usize| values[at].as_deref().and_then(|text| text.parse::<u8>().ok());
        Settings {
            ipv4_forwarding: number(0) == Some(1),
            ipv6_forwarding: number(1) == Some(1),
            accept_ra: number(2).unwrap_or(0),
            // Without the setting there is no IPv6 at all.
            ipv6_enabled: number(3) == Some(0),
        }
    });
    let fresh = read.next().unwrap_or_default();
    Ok((fresh, read.collect()))
}

fn of(conf: Conf<'_>) -> Result<[Sysctl; 4]> {
    Ok([
        Sysctl::ipv4(conf, "forwarding")?,
        Sysctl::ipv6(conf, "forwarding")?,
        Sysctl::accept_ra(conf),
        Sysctl::disable_ipv6(conf),
    ])
}

/// The name the kernel knows, and the one in a file.
pub(crate) fn hostname(file: Option<String>) -> Hostname {
    let running = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let config = file.and_then(|text| text.lines().next().map(|line| line.trim().to_owned()));
    Hostname { running, config: config.filter(|name| !name.is_empty()) }
}

/// The family of a destination, in nmstate's words.
pub(crate) fn family_word(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ipv4",
        Family::Ipv6 => "ipv6",
    }
}
