//! Routers: interfaces, gateway, routes, translation.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use landbridge_fabric::{Floating, HostRoute, Interface, Router};

use super::{fixed, mac, mtu, routes};
use crate::network::resources::floating_ips;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::ports::PORT;
use crate::network::resources::routers::{GATEWAY, INTERFACE};
use crate::object::Object;
use crate::state::State;

/// A router; nothing for one without any interface.
pub fn router(state: &State, router: &Object) -> Option<Router> {
    let mut ports: Vec<Object> = state
        .find(PORT.kind, "device_id", router.id())
        .filter(|port| [INTERFACE, GATEWAY].contains(&port.text("device_owner")))
        .filter(|port| port.flag("admin_state_up"))
        .collect();
    ports.sort_by(|a, b| a.id().cmp(b.id()));
    let interfaces: Vec<Interface> =
        ports.iter().filter_map(|port| interface(state, port)).collect();
    if interfaces.is_empty() {
        return None;
    }
    let outside = ports.iter().find(|port| port.text("device_owner") == GATEWAY);
    let mut ways: Vec<HostRoute> = outside.iter().flat_map(|port| gateways(state, port)).collect();
    ways.extend(routes(router, "routes"));
    let snat = outside.filter(|_| router.flag("enable_snat")).and_then(|port| {
        let all = port.list("fixed_ips").iter().filter_map(|entry| fixed(state, entry));
        all.into_iter().find_map(|(net, _)| match net {
            IpNet::V4(net) => Some(net.addr()),
            IpNet::V6(_) => None,
        })
    });
    let mut floating: Vec<Floating> = floating_ips::of_router(state, router.id())
        .filter_map(|ip| {
            Some(Floating {
                outside: ip.text("floating_ip_address").parse().ok()?,
                inside: ip.text("fixed_ip_address").parse().ok()?,
            })
        })
        .collect();
    floating.sort_unstable();
    Some(Router {
        id: router.id().to_owned(),
        name: router.text("name").to_owned(),
        interfaces,
        routes: ways,
        snat,
        floating,
    })
}

fn interface(state: &State, port: &Object) -> Option<Interface> {
    let network = state.get(NETWORK.kind, port.text("network_id"))?;
    let addresses = port.list("fixed_ips").iter().filter_map(|entry| fixed(state, entry));
    Some(Interface {
        port: port.id().to_owned(),
        network: network.id().to_owned(),
        mac: mac(port)?,
        mtu: mtu(&network),
        addresses: addresses.map(|(net, _)| net).collect(),
        outside: port.text("device_owner") == GATEWAY,
    })
}

/// Default routes, through the gateways of the external network's subnets.
fn gateways(state: &State, port: &Object) -> Vec<HostRoute> {
    let of = |(_, subnet): (IpNet, Object)| {
        let nexthop: IpAddr = subnet.some_text("gateway_ip")?.parse().ok()?;
        let destination = match nexthop {
            IpAddr::V4(_) => IpNet::from(Ipv4Net::default()),
            IpAddr::V6(_) => IpNet::from(Ipv6Net::default()),
        };
        Some(HostRoute { destination, nexthop })
    };
    port.list("fixed_ips").iter().filter_map(|entry| fixed(state, entry)).filter_map(of).collect()
}
