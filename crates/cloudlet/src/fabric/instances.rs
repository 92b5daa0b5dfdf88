//! Instances and their ports.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use landbridge_fabric::{Child, Fixed, Instance, Port};
use serde_json::Value;

use super::{fixed, guard, mac, mtu, routes};
use crate::compute::nics;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::ports::PORT;
use crate::network::resources::trunks::TRUNK_KIND;
use crate::object::Object;
use crate::state::State;

/// The port that answers DHCP where Neutron has one.
const DHCP_OWNER: &str = "network:dhcp";

/// A server with all its ports; nothing where one of them cannot be read.
pub fn instance(state: &State, server: &Object) -> Option<Instance> {
    let mut held: Vec<Object> = nics::of(state, server.id()).collect();
    // The oldest first: one that is attached later comes later.
    held.sort_by(|a, b| (a.text("created_at"), a.id()).cmp(&(b.text("created_at"), b.id())));
    let mut ports = Vec::new();
    for port in &held {
        ports.push(planned(state, port, None)?);
    }
    for port in &held {
        children(state, port, &mut ports);
    }
    Some(Instance { id: server.id().to_owned(), name: server.text("name").to_owned(), ports })
}

/// The children of the trunk that the port may be the parent of.
fn children(state: &State, parent: &Object, ports: &mut Vec<Port>) {
    let trunks = state.find(&TRUNK_KIND, "port_id", parent.id());
    for trunk in trunks.filter(|trunk| trunk.flag("admin_state_up")) {
        for child in trunk.list("sub_ports") {
            let id = child.get("port_id").and_then(Value::as_str).unwrap_or_default();
            let vlan = child.get("segmentation_id").and_then(Value::as_u64);
            let vlan = vlan.and_then(|vlan| u16::try_from(vlan).ok());
            let Some((port, vlan)) = state.get(PORT.kind, id).zip(vlan) else { continue };
            let place = Child { parent: parent.id().to_owned(), vlan };
            ports.extend(planned(state, &port, Some(place)));
        }
    }
}

fn planned(state: &State, port: &Object, child: Option<Child>) -> Option<Port> {
    let network = state.get(NETWORK.kind, port.text("network_id"))?;
    let mut addresses: Vec<Fixed> = Vec::new();
    let mut resolvers: Vec<IpAddr> = Vec::new();
    for entry in port.list("fixed_ips") {
        let (address, subnet) = fixed(state, entry)?;
        let gateway = subnet.some_text("gateway_ip").and_then(|ip| ip.parse().ok());
        // With OVN a port has one address by DHCP; the rest is configured by whoever made the image.
        let first = addresses.iter().all(|fixed| fixed.dhcp.is_none());
        let dhcp = if first && subnet.flag("enable_dhcp") {
            server_address(state, &subnet, gateway)
        } else {
            None
        };
        addresses.push(Fixed { address, gateway, routes: routes(&subnet, "host_routes"), dhcp });
        for resolver in subnet.texts("dns_nameservers").filter_map(|ip| ip.parse().ok()) {
            if !resolvers.contains(&resolver) {
                resolvers.push(resolver);
            }
        }
    }
    Some(Port {
        id: port.id().to_owned(),
        network: network.id().to_owned(),
        mac: mac(port)?,
        mtu: mtu(&network),
        up: port.flag("admin_state_up") && network.flag("admin_state_up"),
        fixed: addresses,
        resolvers,
        child,
        security: port.flag("port_security_enabled").then(|| guard::security(state, port)),
    })
}

/// Who says to be the DHCP server of an IPv4 subnet: its gateway, as with OVN; else the port that Neutron has for it; else
/// the subnet's first address.
fn server_address(state: &State, subnet: &Object, gateway: Option<IpAddr>) -> Option<Ipv4Addr> {
    let IpNet::V4(cidr) = subnet.text("cidr").parse().ok()? else { return None };
    if let Some(IpAddr::V4(gateway)) = gateway {
        return Some(gateway);
    }
    let ports = state.find(PORT.kind, "subnet_id", subnet.id());
    let of_dhcp = ports.filter(|port| port.text("device_owner") == DHCP_OWNER).find_map(|port| {
        let own =
            |entry: &&Value| entry.get("subnet_id").and_then(Value::as_str) == Some(subnet.id());
        let entry = port.list("fixed_ips").iter().find(own)?;
        entry.get("ip_address").and_then(Value::as_str)?.parse().ok()
    });
    of_dhcp.or_else(|| cidr.hosts().next())
}
