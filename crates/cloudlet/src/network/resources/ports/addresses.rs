//! The addresses of a port: which it asks for, which it gets.
//!
//! Without `fixed_ips` a port gets one IPv4 address, one of DHCPv6, and one it makes itself (EUI-64) on
//! every subnet where ports do that. With a list it gets those, and still the ones it makes itself.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use serde_json::{Value, json};

use super::{PORT, is_router_interface};
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::resources::subnets::{self, SUBNET};
use crate::network::standard;
use crate::object::Object;
use crate::state::Tx;

/// One address that is wanted: from any of these subnets, this one or any.
struct Wanted {
    subnets: Vec<Object>,
    address: Option<IpAddr>,
}

/// Gives a new port its addresses.
pub fn allocate(tx: &mut Tx<'_>, who: &Caller, port: &mut Object) -> Result<(), Fault> {
    let subnets = candidates(tx, port)?;
    let asked = port.has("fixed_ips");
    let mut wanted = Vec::new();
    if asked {
        for fixed in port.list("fixed_ips") {
            wanted.extend(one(tx, who, port, &subnets, fixed)?);
        }
    } else {
        let is_four = |subnet: &&Object| subnet.number("ip_version") == Some(4);
        let four: Vec<Object> = subnets.iter().filter(is_four).cloned().collect();
        let six: Vec<Object> = subnets
            .iter()
            .filter(|subnet| !is_four(subnet) && !subnets::is_automatic(subnet))
            .cloned()
            .collect();
        for subnets in [four, six] {
            if !subnets.is_empty() {
                wanted.push(Wanted { subnets, address: None });
            }
        }
    }
    let named: Vec<String> = taken_subnets(&wanted);
    wanted.extend(automatic(port, &subnets, &named));
    let none = asked && port.list("fixed_ips").is_empty();
    let got = take(tx, port, wanted)?;
    port.set("ip_allocation", if none { "none" } else { "immediate" });
    port.set("fixed_ips", got);
    Ok(())
}

/// Changes the addresses of a port to those given: what it has of them it keeps.
pub fn update(
    tx: &mut Tx<'_>,
    who: &Caller,
    before: &Object,
    given: &Object,
    port: &mut Object,
) -> Result<(), Fault> {
    let mut held: Vec<Value> = before.list("fixed_ips").to_vec();
    let text =
        |fixed: &Value, name: &str| fixed.get(name).and_then(Value::as_str).map(str::to_owned);
    let (mut kept, mut added) = (Vec::new(), Vec::new());
    let mut later = Vec::new();
    for fixed in given.list("fixed_ips") {
        let Some(ip) = text(fixed, "ip_address") else {
            later.push(fixed.clone());
            continue;
        };
        let same = |old: &Value| text(old, "ip_address").is_some_and(|held| equal(&held, &ip));
        match held.iter().position(same) {
            Some(at) => kept.push(held.swap_remove(at)),
            None => added.push(fixed.clone()),
        }
    }
    for fixed in later {
        let of = |old: &Value| text(old, "subnet_id") == text(&fixed, "subnet_id");
        match held.iter().position(of) {
            Some(at) => kept.push(held.swap_remove(at)),
            None => added.push(fixed),
        }
    }
    // Addresses a port makes itself stay for as long as it is on the network.
    let owner = port.text("device_owner").to_owned();
    let stays = |fixed: &Value| {
        let subnet = text(fixed, "subnet_id").and_then(|id| tx.get(SUBNET.kind, &id));
        !is_router_interface(&owner) && subnet.is_some_and(|s| subnets::is_automatic(&s))
    };
    let (automatic, gone): (Vec<Value>, Vec<Value>) = held.into_iter().partition(stays);
    kept.extend(automatic);
    let subnets = candidates(tx, port)?;
    let mut wanted = Vec::new();
    for fixed in &added {
        wanted.extend(one(tx, who, port, &subnets, fixed)?);
    }
    release(tx, &gone);
    let mut fixed = kept;
    // An address that was just let go may be asked for again in the same call: on another subnet.
    let gone_keys: Vec<String> = gone.iter().filter_map(key).collect();
    fixed.extend(take_but(tx, port, wanted, &gone_keys)?);
    port.set("fixed_ips", fixed);
    Ok(())
}

/// Gives addresses back.
pub fn release(tx: &mut Tx<'_>, fixed: &[Value]) {
    for fixed in fixed {
        let text = |name: &str| fixed.get(name).and_then(Value::as_str);
        if let (Some(subnet), Some(address)) =
            (text("subnet_id"), text("ip_address").and_then(|ip| ip.parse().ok()))
        {
            tx.pools.release(subnet, address);
        }
    }
}

/// Ports that are there when a subnet comes on which ports make their own addresses.
pub fn join_automatic(tx: &mut Tx<'_>, _who: &Caller, subnet: &Object) -> Result<(), Fault> {
    if !subnets::is_automatic(subnet) {
        return Ok(());
    }
    let ports: Vec<Object> = tx.find(PORT.kind, "network_id", subnet.text("network_id")).collect();
    for mut port in ports {
        let owner = port.text("device_owner");
        if owner.starts_with("network:router") || owner.starts_with("network:ha_router") {
            continue;
        }
        let wanted = automatic(&port, std::slice::from_ref(subnet), &[]);
        let got = take(tx, &port, wanted)?;
        let mut fixed = port.list("fixed_ips").to_vec();
        fixed.extend(got);
        port.set("fixed_ips", fixed);
        standard::replace(tx, &PORT, port);
    }
    Ok(())
}

/// The subnets that a port of this owner may be on; those made for such owners first.
fn candidates(tx: &Tx<'_>, port: &Object) -> Result<Vec<Object>, Fault> {
    let all: Vec<Object> = tx.find(SUBNET.kind, "network_id", port.text("network_id")).collect();
    let owner = port.text("device_owner");
    let fits = |subnet: &Object| {
        let types: Vec<&str> = subnet.texts("service_types").collect();
        types.is_empty() || types.contains(&owner)
    };
    let network_has_some = !all.is_empty();
    let mut fitting: Vec<Object> = all.into_iter().filter(fits).collect();
    if fitting.is_empty() && network_has_some {
        return Err(Fault::conflict(
            "IpAddressGenerationFailureNoMatchingSubnet",
            format!(
                "No valid service subnet for the given device owner, network {}, service type \
                 {owner}.",
                port.text("network_id")
            ),
        ));
    }
    fitting.sort_by_key(|subnet| subnet.list("service_types").is_empty());
    Ok(fitting)
}

/// What one of `fixed_ips` asks for; `None` for an address the port will make itself.
fn one(
    tx: &Tx<'_>,
    who: &Caller,
    port: &Object,
    subnets: &[Object],
    fixed: &Value,
) -> Result<Option<Wanted>, Fault> {
    if subnets.is_empty() {
        return Err(Fault::input("IP allocation requires subnets for network"));
    }
    let text = |name: &str| fixed.get(name).and_then(Value::as_str);
    let address: Option<IpAddr> = text("ip_address").and_then(|ip| ip.parse().ok());
    let shown = text("ip_address").unwrap_or_default();
    let owner = port.text("device_owner");
    let subnet = match (text("subnet_id"), address) {
        (Some(id), _) => {
            let Some(subnet) = subnets.iter().find(|subnet| subnet.id() == id) else {
                SUBNET.seen(tx, who, id)?;
                return Err(Fault::input(format!(
                    "Failed to create port on network {}, because fixed_ips included invalid subnet \
                     {id}",
                    port.text("network_id")
                )));
            };
            if address.is_some_and(|address| !usable(subnet, address, owner)) {
                return Err(Fault::bad(
                    "InvalidIpForSubnet",
                    format!("IP address {shown} is not a valid IP for the specified subnet."),
                ));
            }
            subnet
        }
        (None, Some(address)) => {
            let Some(subnet) = subnets.iter().find(|subnet| usable(subnet, address, owner)) else {
                return Err(Fault::bad(
                    "InvalidIpForNetwork",
                    format!(
                        "IP address {shown} is not a valid IP for any of the subnets on the \
                         specified network."
                    ),
                ));
            };
            subnet
        }
        (None, None) => return Err(Fault::input("IP allocation requires subnet_id or ip_address")),
    };
    let own = subnets::is_automatic(subnet) && !is_router_interface(owner);
    match address {
        None if own => Ok(None),
        Some(address) if own && eui64(subnet, port.text("mac_address")) != Some(address) => {
            Err(Fault::bad(
                "AllocationOnAutoAddressSubnet",
                format!(
                    "IPv6 address {shown} cannot be directly assigned to a port on subnet {} as the \
                     subnet is configured for automatic addresses",
                    subnet.id()
                ),
            ))
        }
        address => Ok(Some(Wanted { subnets: vec![subnet.clone()], address })),
    }
}

/// Whether the address is in the subnet and neither of its edges.
fn usable(subnet: &Object, address: IpAddr, owner: &str) -> bool {
    let Some(net) = subnets::net(subnet) else { return false };
    if !net.contains(&address) {
        return false;
    }
    match net {
        IpNet::V4(_) => address != net.network() && address != net.broadcast(),
        IpNet::V6(_) => {
            owner.is_empty() || owner.starts_with("network:") || address != net.network()
        }
    }
}

/// The addresses that the port makes itself, but for subnets named already.
fn automatic(port: &Object, subnets: &[Object], named: &[String]) -> Vec<Wanted> {
    let owner = port.text("device_owner");
    if is_router_interface(owner) || owner == "network:router_centralized_snat" {
        return Vec::new();
    }
    let own = |subnet: &&Object| {
        subnets::is_automatic(subnet) && !named.iter().any(|id| id == subnet.id())
    };
    let mac = port.text("mac_address");
    subnets
        .iter()
        .filter(own)
        .filter_map(|subnet| {
            let address = eui64(subnet, mac)?;
            Some(Wanted { subnets: vec![subnet.clone()], address: Some(address) })
        })
        .collect()
}

fn taken_subnets(wanted: &[Wanted]) -> Vec<String> {
    let with_address = wanted.iter().filter(|wanted| wanted.address.is_some());
    with_address.flat_map(|w| w.subnets.iter().map(|s| s.id().to_owned())).collect()
}

/// The address that a MAC address makes in a /64 (RFC 4291, appendix A).
fn eui64(subnet: &Object, mac: &str) -> Option<IpAddr> {
    let IpNet::V6(net) = subnets::net(subnet)? else { return None };
    let mut bytes = [0_u8; 6];
    for (byte, pair) in bytes.iter_mut().zip(mac.split(':')) {
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    let [first, second, third, fourth, fifth, sixth] = bytes;
    let low = u64::from_be_bytes([first ^ 2, second, third, 0xff, 0xfe, fourth, fifth, sixth]);
    Some(Ipv6Addr::from(u128::from(net.network()) | u128::from(low)).into())
}

fn take(tx: &mut Tx<'_>, port: &Object, wanted: Vec<Wanted>) -> Result<Vec<Value>, Fault> {
    take_but(tx, port, wanted, &[])
}

/// Takes what is wanted; addresses asked for by name first, so that no other takes them.
/// `own` are `subnet/address` that this very port is letting go.
fn take_but(
    tx: &mut Tx<'_>,
    port: &Object,
    mut wanted: Vec<Wanted>,
    own: &[String],
) -> Result<Vec<Value>, Fault> {
    wanted.sort_by_key(|wanted| wanted.address.is_none());
    let mut got: Vec<Value> = Vec::new();
    for one in wanted {
        let (subnet, address) = match one.address {
            Some(address) => {
                let Some(subnet) = one.subnets.first() else { continue };
                named(tx, subnet, address, own, &got)?;
                (subnet.id().to_owned(), address)
            }
            None => any(tx, port, &one.subnets)?,
        };
        got.push(json!({"subnet_id": subnet, "ip_address": address.to_string()}));
    }
    Ok(got)
}

/// Takes this address.
fn named(
    tx: &mut Tx<'_>,
    subnet: &Object,
    address: IpAddr,
    own: &[String],
    got: &[Value],
) -> Result<(), Fault> {
    let wanted = format!("{}/{address}", subnet.id());
    let held = tx.find_ids(PORT.kind, "ip", &wanted).next().is_some() && !own.contains(&wanted);
    if held || got.iter().any(|fixed| key(fixed).as_deref() == Some(wanted.as_str())) {
        return Err(Fault::conflict(
            "IpAddressAlreadyAllocated",
            format!("IP address {address} already allocated in subnet {}", subnet.id()),
        ));
    }
    ready(tx, subnet);
    tx.pools.take(subnet.id(), address);
    Ok(())
}

/// Takes the lowest free address of the first subnet that has one.
fn any(tx: &mut Tx<'_>, port: &Object, subnets: &[Object]) -> Result<(String, IpAddr), Fault> {
    for subnet in subnets {
        ready(tx, subnet);
        if let Some(address) = tx.pools.lowest(subnet.id()) {
            tx.pools.take(subnet.id(), address);
            return Ok((subnet.id().to_owned(), address));
        }
    }
    Err(Fault::conflict(
        "IpAddressGenerationFailure",
        format!("No more IP addresses available on network {}.", port.text("network_id")),
    ))
}

/// Makes sure that it is known what of the subnet is free.
fn ready(tx: &mut Tx<'_>, subnet: &Object) {
    if !tx.pools.knows(subnet.id()) {
        let pool = subnets::free(tx, subnet);
        tx.pools.learn(subnet.id(), pool);
    }
}

fn key(fixed: &Value) -> Option<String> {
    let text = |name: &str| fixed.get(name).and_then(Value::as_str);
    Some(format!("{}/{}", text("subnet_id")?, text("ip_address")?))
}

fn equal(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<IpAddr>().ok();
    a == b || number(a).is_some_and(|address| number(b) == Some(address))
}
