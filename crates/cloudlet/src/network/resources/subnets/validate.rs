//! What a subnet has to be, in the order in which Neutron looks.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::{SUBNET, net};
use crate::network::check::Checked;
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resources::ports::PORT;
use crate::object::Object;
use crate::state::{State, Tx};

/// Most name servers of a subnet (`max_dns_nameservers`).
const NAMESERVERS: usize = 5;
/// Most routes of a subnet (`max_subnet_host_routes`).
const ROUTES: usize = 20;

/// Whether ports make their addresses themselves (EUI-64).
pub fn is_automatic(subnet: &Object) -> bool {
    let automatic = |mode: &str| mode == "slaac" || mode == "dhcpv6-stateless";
    automatic(subnet.text("ipv6_address_mode")) || automatic(subnet.text("ipv6_ra_mode"))
}

/// Checks a new subnet, or one as it would be after an update of `(before, given)`.
pub fn subnet(
    tx: &Tx<'_>,
    subnet: &Object,
    update: Option<(&Object, &Object)>,
) -> Result<(), Fault> {
    let version = subnet.number("ip_version").unwrap_or(4);
    let given = |name: &str| update.is_none_or(|(_, given)| given.has(name));
    let net = net(subnet);
    if let Some(net) = net {
        of_version(version, net.addr(), &net.to_string(), "cidr")?;
        dhcp(version, net, subnet, update.map(|(before, _)| before))?;
    }
    if given("gateway_ip") {
        gateway(tx, version, net, subnet, update.map(|(before, _)| before))?;
    }
    if given("dns_nameservers") {
        nameservers(version, subnet, update.is_some())?;
    }
    if given("host_routes") {
        routes(version, subnet, update.is_some())?;
    }
    modes(version, net, subnet, update)
}

fn of_version(version: i64, address: IpAddr, shown: &str, name: &str) -> Result<(), Fault> {
    if address.is_ipv4() == (version == 4) {
        return Ok(());
    }
    Err(Fault::input(format!("{name} '{shown}' does not match the ip_version '{version}'")))
}

fn dhcp(version: i64, net: IpNet, subnet: &Object, before: Option<&Object>) -> Result<(), Fault> {
    if version == 6 && net.network().is_unspecified() {
        return Err(Fault::input("IPv6 subnet '::' is not supported"));
    }
    if !subnet.flag("enable_dhcp") || before.is_some_and(|before| before.flag("enable_dhcp")) {
        return Ok(());
    }
    let longest = if version == 4 { 30 } else { 126 };
    if net.prefix_len() > longest {
        return Err(Fault::input(
            "Subnet has a prefix length that is incompatible with DHCP service enabled",
        ));
    }
    if net.network().is_multicast() {
        return Err(Fault::input("Multicast IP subnet is not supported if enable_dhcp is True"));
    }
    if net.network().is_loopback() {
        return Err(Fault::input("Loopback IP subnet is not supported if enable_dhcp is True"));
    }
    if version == 4 && net.network().is_unspecified() {
        return Err(Fault::input(
            "First IP '0.0.0.0' of network is not supported if enable_dhcp is True.",
        ));
    }
    Ok(())
}

fn gateway(
    tx: &Tx<'_>,
    version: i64,
    net: Option<IpNet>,
    subnet: &Object,
    before: Option<&Object>,
) -> Result<(), Fault> {
    if let Some(text) = subnet.some_text("gateway_ip")
        && let Ok(address) = text.parse::<IpAddr>()
    {
        of_version(version, address, text, "gateway_ip")?;
        let edge = |net: IpNet| {
            address.is_ipv4() && (address == net.network() || address == net.broadcast())
        };
        if net.is_some_and(|net| net.contains(&address) && edge(net)) {
            return Err(Fault::input("Gateway is not valid on subnet"));
        }
    }
    let Some(before) = before else { return Ok(()) };
    if subnet.get("gateway_ip") == before.get("gateway_ip") {
        return Ok(());
    }
    let Some(held) = before.some_text("gateway_ip") else { return Ok(()) };
    let key = format!("{}/{held}", before.id());
    let router = |port: &Object| port.text("device_owner").starts_with("network:router_interface");
    if let Some(port) = tx.find(PORT.kind, "ip", &key).find(router) {
        return Err(Fault::conflict(
            "GatewayIpInUse",
            format!(
                "Current gateway ip {held} already in use by port {}. Unable to update.",
                port.id()
            ),
        ));
    }
    Ok(())
}

/// What messages call the subnet: one that is not there yet has no id to tell.
fn called(subnet: &Object, there: bool) -> &str {
    if there { subnet.id() } else { "new subnet" }
}

fn nameservers(version: i64, subnet: &Object, there: bool) -> Result<(), Fault> {
    let servers: Vec<&str> = subnet.texts("dns_nameservers").collect();
    if servers.len() > NAMESERVERS {
        return Err(Fault::bad(
            "DNSNameServersExhausted",
            format!(
                "Unable to complete operation for {}. The number of DNS nameservers exceeds the \
                 limit {NAMESERVERS}.",
                called(subnet, there)
            ),
        ));
    }
    for server in servers {
        if let Ok(address) = server.parse() {
            of_version(version, address, server, "dns_nameserver")?;
        }
    }
    Ok(())
}

fn routes(version: i64, subnet: &Object, there: bool) -> Result<(), Fault> {
    let routes = subnet.list("host_routes");
    if routes.len() > ROUTES {
        return Err(Fault::bad(
            "HostRoutesExhausted",
            format!(
                "Unable to complete operation for {}. The number of host routes exceeds the limit \
                 {ROUTES}.",
                called(subnet, there)
            ),
        ));
    }
    for route in routes {
        let text = |name: &str| route.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Ok(hop) = text("nexthop").parse() {
            of_version(version, hop, text("nexthop"), "nexthop")?;
        }
        if let Ok(net) = text("destination").parse::<IpNet>() {
            of_version(version, net.addr(), text("destination"), "destination")?;
        }
    }
    Ok(())
}

fn modes(
    version: i64,
    net: Option<IpNet>,
    subnet: &Object,
    update: Option<(&Object, &Object)>,
) -> Result<(), Fault> {
    let (ra, address) = (subnet.some_text("ipv6_ra_mode"), subnet.some_text("ipv6_address_mode"));
    if version == 4 {
        for (mode, name) in [(ra, "ipv6_ra_mode"), (address, "ipv6_address_mode")] {
            if mode.is_some() {
                return Err(Fault::input(format!("{name} is not valid when ip_version is 4")));
            }
        }
        return Ok(());
    }
    let any = ra.is_some() || address.is_some();
    if let Some((_, given)) = update {
        if given.has("enable_dhcp") && !given.flag("enable_dhcp") && any {
            return Err(Fault::input("Cannot disable enable_dhcp with ipv6 attributes set"));
        }
        return Ok(());
    }
    if any && !subnet.flag("enable_dhcp") {
        return Err(Fault::input(
            "ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False",
        ));
    }
    if let (Some(ra), Some(address)) = (ra, address)
        && ra != address
    {
        return Err(Fault::input(format!(
            "ipv6_ra_mode set to '{ra}' with ipv6_address_mode set to '{address}' is not valid. If \
             both attributes are set, they must be the same value"
        )));
    }
    if any && is_automatic(subnet) && net.is_some_and(|net| net.prefix_len() != 64) {
        return Err(Fault::input(format!(
            "Invalid CIDR {} for IPv6 address mode. OpenStack uses the EUI-64 address format, which \
             requires the prefix to be /64",
            subnet.text("cidr")
        )));
    }
    Ok(())
}

/// Whether no other subnet of the network has addresses of this one.
pub fn alone(state: &State, network: &Object, wanted: IpNet) -> Result<(), Fault> {
    if wanted.prefix_len() == 0 {
        return Err(Fault::input("0 is not allowed as CIDR prefix length"));
    }
    let overlaps = |subnet: &Object| {
        net(subnet).is_some_and(|net| net.contains(&wanted) || wanted.contains(&net))
    };
    if state.find(SUBNET.kind, "network_id", network.id()).any(|subnet| overlaps(&subnet)) {
        return Err(Fault::input(format!(
            "Requested subnet with cidr: {wanted} for network: {} overlaps with another subnet",
            network.id()
        )));
    }
    Ok(())
}

/// `service_types`: device owners, by their beginning.
pub fn service_types(value: &Value) -> Checked {
    let falsy = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if falsy {
        return Ok(Value::Array(Vec::new()));
    }
    let Some(items) = value.as_array() else {
        return Err(Fault::request("Subnet service types must be a list.").into());
    };
    for item in items {
        let shown = python::str(item);
        let Some(text) = item.as_str() else {
            let message = format!("Subnet service type {shown} is not a string.");
            return Err(Fault::bad("InvalidInputSubnetServiceType", message).into());
        };
        if !["network:", "compute:", "baremetal:", "trunk:"].iter().any(|p| text.starts_with(p)) {
            let message =
                format!("Subnet service type {shown} does not correspond to a valid device owner.");
            return Err(Fault::bad("InvalidSubnetServiceType", message).into());
        }
    }
    Ok(value.clone())
}
