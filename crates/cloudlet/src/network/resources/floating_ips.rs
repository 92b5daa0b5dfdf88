//! Floating IPs: an address of an external network that stands for an address of a port.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::networks::NETWORK;
use super::ports::PORT;
use super::routers::{GATEWAY, INTERFACE, elevated, in_service, remove_port};
use super::subnets::SUBNET;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

/// The owner of the port that holds the address.
const OWNER: &str = "network:floatingip";

pub static FLOATING_IP_KIND: Kind = Kind {
    name: "floatingip",
    index: |ip, keys| {
        keys.add("project_id", ip.project());
        keys.add("port_id", ip.text("port_id"));
        keys.add("router_id", ip.text("router_id"));
        keys.add("floating_network_id", ip.text("floating_network_id"));
        keys.add("floating_ip_address", ip.text("floating_ip_address"));
    },
    blanks: &[
        ("description", Blank::Text),
        ("port_id", Blank::Null),
        ("router_id", Blank::Null),
        ("fixed_ip_address", Blank::Null),
        ("status", Blank::Is("DOWN")),
        ("tags", Blank::List),
    ],
};

pub static FLOATING_IP: Resource = Resource {
    kind: &FLOATING_IP_KIND,
    single: "floatingip",
    plural: "floatingips",
    path: "floatingips",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::once("floating_ip_address", Check::IpOrNull, Given::Null)
            .key()
            .set_by(Who::Manager),
        Attribute::once("subnet_id", Check::UuidOrNull, Given::Null).hidden(),
        Attribute::once("floating_network_id", Check::Uuid, Given::Required).key(),
        Attribute::shown("router_id").key(),
        Attribute::open("port_id", Check::UuidOrNull, Given::Null).key(),
        Attribute::open("fixed_ip_address", Check::IpOrNull, Given::Null).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::shown("status").key(),
        Attribute::shown("port_details"),
    ],
    not_found: ("FloatingIPNotFound", "Floating IP {} could not be found"),
    indexed: &["project_id", "port_id", "router_id", "floating_network_id", "floating_ip_address"],
    quota: Some("floatingip"),
    standard: Standard::FULL,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &FloatingIps,
};

/// Those that go through the router.
pub fn of_router<'a>(state: &'a State, router: &str) -> impl Iterator<Item = Object> + use<'a> {
    state.find(&FLOATING_IP_KIND, "router_id", router)
}

struct FloatingIps;

impl Rules for FloatingIps {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut ip: Object) -> Result<Object, Fault> {
        let id = ip.text("floating_network_id").to_owned();
        let network = NETWORK.seen(tx, who, &id)?;
        if !network.flag("router:external") {
            return Err(bad(format!("Network {id} is not a valid external network")));
        }
        let four = |subnet: &Object| subnet.number("ip_version") == Some(4);
        if !tx.find(SUBNET.kind, "network_id", &id).any(|subnet| four(&subnet)) {
            return Err(bad(format!("Network {id} does not contain any IPv4 subnet")));
        }
        let address = address(tx, who, &ip)?;
        ip.remove("subnet_id");
        ip.set("floating_ip_address", address);
        ip.set("status", "DOWN");
        let given = ip.clone();
        associate(tx, who, None, &given, &mut ip)?;
        Ok(ip)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        before: &Object,
        given: &Object,
        mut ip: Object,
    ) -> Result<Object, Fault> {
        // As Neutron has it: whoever does not name the port lets it go.
        associate(tx, who, Some(before), given, &mut ip)?;
        Ok(ip)
    }

    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, ip: &Object) -> Result<(), Fault> {
        let ports: Vec<Object> = tx.find(PORT.kind, "device_id", ip.id()).collect();
        for port in ports.iter().filter(|port| port.text("device_owner") == OWNER) {
            remove_port(tx, who, port)?;
        }
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, _who: &Caller, ip: &mut Object) {
        let port = ip.some_text("port_id").and_then(|id| state.get(PORT.kind, id));
        let details = port.map(|port| {
            let names = [
                "name",
                "network_id",
                "mac_address",
                "admin_state_up",
                "status",
                "device_id",
                "device_owner",
            ];
            names.into_iter().map(|name| (name, port.get(name).clone())).collect::<Value>()
        });
        ip.set("port_details", details);
    }
}

/// Makes the port that holds the address, and returns the address.
fn address(tx: &mut Tx<'_>, who: &Caller, ip: &Object) -> Result<String, Fault> {
    let mut port = json!({
        "network_id": ip.text("floating_network_id"), "device_id": ip.id(), "device_owner": OWNER,
        "project_id": "", "admin_state_up": true, "name": "", "status": "N/A",
    });
    let fixed = match (ip.some_text("floating_ip_address"), ip.some_text("subnet_id")) {
        (Some(address), _) => Some(json!({"ip_address": address})),
        (None, Some(subnet)) => Some(json!({"subnet_id": subnet})),
        (None, None) => None,
    };
    if let (Some(fixed), Some(map)) = (fixed, port.as_object_mut()) {
        map.insert("fixed_ips".to_owned(), json!([fixed]));
    }
    let port = standard::create(tx, &elevated(who), &PORT, Object::from_value(port))?;
    standard::touch(tx, &PORT, port.id());
    match addresses(&port).find(|(address, _)| address.is_ipv4()) {
        Some((address, _)) => Ok(address.to_string()),
        None => Err(Fault::conflict(
            "ExternalIpAddressExhausted",
            format!(
                "Unable to find any IP address on external network {}.",
                ip.text("floating_network_id")
            ),
        )),
    }
}

/// The addresses of a port, with their subnets.
fn addresses(port: &Object) -> impl Iterator<Item = (IpAddr, &str)> {
    port.list("fixed_ips").iter().filter_map(|fixed| {
        let text = |name: &str| fixed.get(name).and_then(Value::as_str);
        Some((text("ip_address")?.parse().ok()?, text("subnet_id")?))
    })
}

/// Points the floating IP to what is given, or to nothing.
fn associate(
    tx: &Tx<'_>,
    who: &Caller,
    before: Option<&Object>,
    given: &Object,
    ip: &mut Object,
) -> Result<(), Fault> {
    let Some(id) = given.some_text("port_id") else {
        if given.some_text("fixed_ip_address").is_some() {
            return Err(bad("fixed_ip_address cannot be specified without a port_id"));
        }
        for name in ["port_id", "fixed_ip_address", "router_id"] {
            ip.set(name, Value::Null);
        }
        return Ok(());
    };
    let port = PORT.seen(tx, who, id)?;
    if port.project() != ip.project() && !who.is_admin() {
        return Err(bad(format!(
            "Cannot process floating IP association with Port {id}, since that port is owned by a \
             different project"
        )));
    }
    let (address, subnet) = inner(&port, given)?;
    let network = ip.text("floating_network_id");
    let router = router(tx, &port, &subnet, network)?;
    let same = before.is_some_and(|before| before.text("port_id") == id);
    let taken = tx.find(&FLOATING_IP_KIND, "port_id", id).any(|other| {
        other.id() != ip.id()
            && other.text("floating_network_id") == network
            && other.text("fixed_ip_address") == address
    });
    if taken && !same {
        return Err(Fault::conflict(
            "FloatingIPPortAlreadyAssociated",
            format!(
                "Cannot associate floating IP {} ({}) with port {id} using fixed IP {address}, as \
                 that fixed IP already has a floating IP on external network {network}.",
                ip.text("floating_ip_address"),
                ip.id()
            ),
        ));
    }
    ip.set("port_id", id);
    ip.set("fixed_ip_address", address);
    ip.set("router_id", router);
    Ok(())
}

/// The address of the port that is meant, and its subnet.
fn inner(port: &Object, given: &Object) -> Result<(String, String), Fault> {
    let id = port.id();
    if let Some(wanted) = given.some_text("fixed_ip_address") {
        let parsed: Option<IpAddr> = wanted.parse().ok();
        if parsed.is_some_and(|address| address.is_ipv6()) {
            return Err(bad(format!(
                "Cannot process floating IP association with {wanted}, since that is not an IPv4 \
                 address"
            )));
        }
        let found = addresses(port).find(|(address, _)| Some(*address) == parsed);
        return match found {
            Some((address, subnet)) => Ok((address.to_string(), subnet.to_owned())),
            None => Err(bad(format!("Port {id} does not have fixed ip {wanted}"))),
        };
    }
    let mut four = addresses(port).filter(|(address, _)| address.is_ipv4());
    match (four.next(), four.next()) {
        (None, _) => Err(bad(format!(
            "Cannot add floating IP to port {id} that has no fixed IPv4 addresses"
        ))),
        (Some((address, subnet)), None) => Ok((address.to_string(), subnet.to_owned())),
        (Some(_), Some(_)) => Err(bad(format!(
            "Port {id} has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address \
             when assigning a floating IP"
        ))),
    }
}

/// The router between the subnet and the external network; of several, the one that is the subnet's
/// gateway.
fn router(tx: &Tx<'_>, port: &Object, subnet: &str, external: &str) -> Result<String, Fault> {
    let gateway = tx.get(SUBNET.kind, subnet).map(|s| s.text("gateway_ip").to_owned());
    let leads_out = |router: &str| {
        tx.find(PORT.kind, "device_id", router)
            .any(|port| port.text("device_owner") == GATEWAY && port.text("network_id") == external)
    };
    let mut found: Option<String> = None;
    for interface in tx.find(PORT.kind, "subnet_id", subnet) {
        let router = interface.text("device_id");
        if interface.text("device_owner") != INTERFACE || !leads_out(router) {
            continue;
        }
        let is_gateway = addresses(&interface).any(|(a, _)| Some(a.to_string()) == gateway);
        if is_gateway {
            return Ok(router.to_owned());
        }
        found.get_or_insert_with(|| router.to_owned());
    }
    found.ok_or_else(|| {
        Fault::not_found(
            "ExternalGatewayForFloatingIPNotFound",
            format!(
                "External network {external} is not reachable from subnet {subnet}.  Therefore, \
                 cannot associate Port {} with a Floating IP.",
                port.id()
            ),
        )
    })
}

/// The port that holds an address goes with the floating IP, not by itself.
pub fn port_may_go(tx: &Tx<'_>, _who: &Caller, port: &Object) -> Result<(), Fault> {
    let held = tx.exists(&FLOATING_IP_KIND, port.text("device_id"));
    if port.text("device_owner") == OWNER && held { Err(in_service(port)) } else { Ok(()) }
}

/// A port that goes lets its floating IPs go.
pub fn port_goes(tx: &mut Tx<'_>, _who: &Caller, port: &Object) -> Result<(), Fault> {
    let held: Vec<Object> = tx.find(&FLOATING_IP_KIND, "port_id", port.id()).collect();
    for mut ip in held {
        for name in ["port_id", "fixed_ip_address", "router_id"] {
            ip.set(name, Value::Null);
        }
        standard::replace(tx, &FLOATING_IP, ip);
    }
    Ok(())
}

/// A network that goes takes the floating IPs with it that point to nothing.
pub fn drop_unused(tx: &mut Tx<'_>, who: &Caller, network: &str) -> Result<(), Fault> {
    let held: Vec<Object> = tx.find(&FLOATING_IP_KIND, "floating_network_id", network).collect();
    for ip in held.iter().filter(|ip| ip.some_text("port_id").is_none()) {
        FLOATING_IP.rules.delete(tx, who, ip)?;
        tx.delete(&FLOATING_IP_KIND, ip.id());
    }
    Ok(())
}

fn bad(message: impl std::fmt::Display) -> Fault {
    Fault::bad_resource("floatingip", message)
}
