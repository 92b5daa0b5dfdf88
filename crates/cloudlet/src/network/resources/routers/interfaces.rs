//! A router's interfaces: ports on the subnets that it joins.

use ipnet::IpNet;
use serde_json::{Value, json};

use super::{INTERFACE, ROUTER, change_port, elevated, remove_port, routes};
use crate::caller::Caller;
use crate::network::check::{self, Wrong};
use crate::network::fault::Fault;
use crate::network::resources::floating_ips;
use crate::network::resources::ports::PORT;
use crate::network::resources::rbac::{self, SHARED};
use crate::network::resources::subnets::{self, SUBNET};
use crate::network::standard;
use crate::object::Object;
use crate::state::Tx;

/// The router's ports, its gateway among them.
pub fn of<'a>(tx: &'a Tx<'_>, router: &str) -> impl Iterator<Item = Object> + use<'a> {
    tx.find(PORT.kind, "device_id", router)
}

/// `add_router_interface`
pub fn add(tx: &mut Tx<'_>, who: &Caller, router: &Object, body: &Value) -> Result<Value, Fault> {
    let (port, subnet) = named(body)?;
    let (port, subnets) = match (port, subnet) {
        (Some(_), Some(_)) => {
            return Err(bad("Cannot specify both subnet-id and port-id"));
        }
        (Some(id), None) => by_port(tx, who, router, id)?,
        (None, Some(id)) => by_subnet(tx, who, router, id)?,
        (None, None) => return Err(bad("Either subnet_id or port_id must be specified")),
    };
    standard::touch(tx, &ROUTER, router.id());
    Ok(told(router, &port, &subnets))
}

/// `remove_router_interface`
pub fn remove(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &Object,
    body: &Value,
) -> Result<Value, Fault> {
    let (port, subnet) = named(body)?;
    let own: Vec<Object> =
        of(tx, router.id()).filter(|port| port.text("device_owner") == INTERFACE).collect();
    let (port, subnets) = match (port, subnet) {
        (Some(id), subnet) => {
            let Some(port) = own.into_iter().find(|port| port.id() == id) else {
                return Err(Fault::not_found(
                    "RouterInterfaceNotFound",
                    format!("Router {} does not have an interface with id {id}", router.id()),
                ));
            };
            let subnets = subnets_of(tx, &port);
            if let Some(subnet) = subnet.filter(|id| !subnets.iter().any(|held| held.id() == *id)) {
                return Err(Fault::bad(
                    "SubnetMismatchForPort",
                    format!("Subnet on port {id} does not match the requested subnet {subnet}."),
                ));
            }
            for subnet in &subnets {
                unused(tx, router, subnet)?;
            }
            remove_port(tx, who, &port)?;
            (port, subnets)
        }
        (None, Some(id)) => {
            let subnet = SUBNET.seen(tx, who, id)?;
            if own.iter().any(|port| port.text("network_id") == subnet.text("network_id")) {
                unused(tx, router, &subnet)?;
            }
            let on = |port: &Object| subnets_of(tx, port).iter().any(|held| held.id() == id);
            let Some(port) = own.into_iter().find(on) else {
                return Err(Fault::not_found(
                    "RouterInterfaceNotFoundForSubnet",
                    format!("Router {} has no interface on subnet {id}", router.id()),
                ));
            };
            leave(tx, who, &port, id)?;
            (port, vec![subnet])
        }
        (None, None) => return Err(bad("Either subnet_id or port_id must be specified")),
    };
    standard::touch(tx, &ROUTER, router.id());
    Ok(told(router, &port, &subnets))
}

/// Takes the port off one subnet; the last takes the port with it.
fn leave(tx: &mut Tx<'_>, who: &Caller, port: &Object, subnet: &str) -> Result<(), Fault> {
    let of_subnet = |fixed: &&Value| fixed.get("subnet_id").and_then(Value::as_str) == Some(subnet);
    let rest: Vec<Value> =
        port.list("fixed_ips").iter().filter(|fixed| !of_subnet(fixed)).cloned().collect();
    if rest.is_empty() {
        return remove_port(tx, who, port);
    }
    change_port(tx, &elevated(who), port, json!({"fixed_ips": rest})).map(|_| ())
}

/// The ids that the body names.
fn named(body: &Value) -> Result<(Option<&str>, Option<&str>), Fault> {
    let id = |name: &str| match body.get(name) {
        None => Ok(None),
        Some(value) => match check::uuid(value) {
            Ok(()) => Ok(value.as_str()),
            Err(Wrong::Reason(reason)) => Err(bad(reason)),
            Err(Wrong::Fault(fault)) => Err(fault),
        },
    };
    Ok((id("port_id")?, id("subnet_id")?))
}

fn by_port(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &Object,
    id: &str,
) -> Result<(Object, Vec<Object>), Fault> {
    let port = PORT.seen(tx, who, id)?;
    if !port.text("device_id").is_empty() {
        return Err(in_use(&port));
    }
    if port.list("fixed_ips").is_empty() {
        return Err(bad("Router port must have at least one fixed IP"));
    }
    let subnets = subnets_of(tx, &port);
    no_overlap(tx, router.id(), &subnets)?;
    let four = |subnet: &&Object| subnet.number("ip_version") == Some(4);
    if subnets.iter().filter(four).count() > 1 {
        return Err(bad("Cannot have multiple IPv4 subnets on router port"));
    }
    let given = json!({"device_id": router.id(), "device_owner": INTERFACE});
    let port = change_port(tx, who, &port, given)?;
    Ok((port, subnets))
}

fn by_subnet(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &Object,
    id: &str,
) -> Result<(Object, Vec<Object>), Fault> {
    let subnet = SUBNET.seen(tx, who, id)?;
    let Some(gateway) = subnet.some_text("gateway_ip") else {
        return Err(bad("Subnet for router interface must have a gateway IP"));
    };
    let shared = || rbac::entry(tx, subnet.text("network_id"), SHARED, who.project()).is_some();
    if !who.is_admin() && subnet.project() != who.project() && !shared() {
        return Err(bad(format!(
            "Cannot add interface to router because subnet {id} is not owned by project making the \
             request"
        )));
    }
    no_overlap(tx, router.id(), std::slice::from_ref(&subnet))?;
    let fixed = json!({"subnet_id": id, "ip_address": gateway});
    let (who, network) = (elevated(who), subnet.text("network_id"));
    // One port carries all IPv6 prefixes of a network.
    let same = |port: &Object| {
        port.text("network_id") == network
            && port.text("device_owner") == INTERFACE
            && subnets_of(tx, port).iter().any(|held| held.number("ip_version") == Some(6))
    };
    let six = subnet.number("ip_version") == Some(6);
    let held = of(tx, router.id()).find(same).filter(|_| six);
    let port = if let Some(port) = held {
        let mut all = port.list("fixed_ips").to_vec();
        all.push(fixed);
        change_port(tx, &who, &port, json!({"fixed_ips": all}))?
    } else {
        let port = json!({
            "project_id": router.project(), "network_id": network, "fixed_ips": [fixed],
            "admin_state_up": true, "device_id": router.id(), "device_owner": INTERFACE,
            "name": "",
        });
        standard::create(tx, &who, &PORT, Object::from_value(port))?
    };
    Ok((port, vec![subnet]))
}

/// A router is on a subnet once, and its subnets do not overlap.
pub fn no_overlap(tx: &Tx<'_>, router: &str, new: &[Object]) -> Result<(), Fault> {
    for port in of(tx, router) {
        let gateway = port.text("device_owner") == super::GATEWAY;
        let held = subnets_of(tx, &port);
        for subnet in &held {
            if new.iter().any(|new| new.id() == subnet.id()) {
                return Err(bad(format!("Router already has a port on subnet {}", subnet.id())));
            }
        }
        let held = if gateway {
            tx.find(SUBNET.kind, "network_id", port.text("network_id")).collect()
        } else {
            held
        };
        for (old, new) in held.iter().flat_map(|old| new.iter().map(move |new| (old, new))) {
            overlap(old, new)?;
        }
    }
    Ok(())
}

fn overlap(old: &Object, new: &Object) -> Result<(), Fault> {
    let (Some(a), Some(b)) = (subnets::net(old), subnets::net(new)) else { return Ok(()) };
    let disjoint = |a: &IpNet, b: &IpNet| !a.contains(b) && !b.contains(a);
    if old.id() == new.id() || disjoint(&a, &b) {
        return Ok(());
    }
    Err(bad(format!(
        "Cidr {b} of subnet {} overlaps with cidr {a} of subnet {}",
        new.id(),
        old.id()
    )))
}

/// Neither floating IPs nor routes need the interface.
fn unused(tx: &Tx<'_>, router: &Object, subnet: &Object) -> Result<(), Fault> {
    let net = subnets::net(subnet);
    let inside = |address: &str| {
        let address = address.parse().ok();
        net.zip(address)
            .is_some_and(|(net, address): (IpNet, std::net::IpAddr)| net.contains(&address))
    };
    let refused = |kind, what| {
        Fault::conflict(
            kind,
            format!(
                "Router interface for subnet {} on router {} cannot be deleted, as it is required \
                 by one or more {what}.",
                subnet.id(),
                router.id()
            ),
        )
    };
    let mut floating = floating_ips::of_router(tx, router.id());
    if floating.any(|ip| inside(ip.text("fixed_ip_address"))) {
        return Err(refused("RouterInterfaceInUseByFloatingIP", "floating IPs"));
    }
    if router.list("routes").iter().any(|route| inside(routes::hop(route))) {
        return Err(refused("RouterInterfaceInUseByRoute", "routes"));
    }
    Ok(())
}

fn subnets_of(tx: &Tx<'_>, port: &Object) -> Vec<Object> {
    let ids = port.list("fixed_ips").iter().filter_map(|fixed| fixed.get("subnet_id")?.as_str());
    ids.filter_map(|id| tx.get(SUBNET.kind, id)).collect()
}

fn told(router: &Object, port: &Object, subnets: &[Object]) -> Value {
    let ids: Vec<&str> = subnets.iter().map(Object::id).collect();
    json!({
        "id": router.id(), "project_id": port.project(), "port_id": port.id(),
        "network_id": port.text("network_id"), "subnet_id": ids.first(), "subnet_ids": ids,
    })
}

/// The 409 of a port that belongs to a device.
pub fn in_use(port: &Object) -> Fault {
    Fault::conflict(
        "PortInUse",
        format!(
            "Unable to complete operation on port {} for network {}. Port already has an attached \
             device {}.",
            port.id(),
            port.text("network_id"),
            port.text("device_id")
        ),
    )
}

fn bad(message: impl std::fmt::Display) -> Fault {
    Fault::bad_resource("router", message)
}
