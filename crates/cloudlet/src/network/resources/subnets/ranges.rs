//! Gateways and allocation pools of a subnet.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::RangeSet;
use landbridge_addr::net::Range;
use landbridge_addr::number::{predecessor, successor};
use serde_json::{Value, json};

use crate::network::fault::Fault;
use crate::network::python;
use crate::object::Object;

/// The first and the last address that ports may have: without network and broadcast address.
pub fn bounds(net: IpNet) -> (IpAddr, IpAddr) {
    let (first, last) = (net.network(), net.broadcast());
    match net {
        IpNet::V4(net) if net.prefix_len() > 30 => (first, last),
        IpNet::V4(_) => (successor(first).unwrap_or(first), predecessor(last).unwrap_or(last)),
        IpNet::V6(net) if net.prefix_len() == 128 => (first, last),
        IpNet::V6(_) => (successor(first).unwrap_or(first), last),
    }
}

/// Everything but the gateway.
pub fn default_pools(net: IpNet, gateway: Option<IpAddr>) -> Vec<Range> {
    let (first, last) = bounds(net);
    let mut all = RangeSet::new();
    all.extend(Range::new(first, last));
    if let Some(gateway) = gateway {
        all.remove(gateway);
    }
    all.ranges().collect()
}

/// A range as Neutron writes it.
pub fn shown(range: Range) -> String {
    format!("{}-{}", range.first(), range.last())
}

fn values(ranges: &[Range]) -> Value {
    let value = |range: &Range| json!({"start": range.first().to_string(), "end": range.last().to_string()});
    ranges.iter().map(value).collect()
}

/// Gateway and pools of a new subnet.
pub fn complete(subnet: &mut Object, net: IpNet) -> Result<(), Fault> {
    if !subnet.has("gateway_ip") {
        let first = net.network();
        let gateway = if first.is_ipv4() { successor(first).unwrap_or(first) } else { first };
        subnet.set("gateway_ip", gateway.to_string());
    }
    let gateway = subnet.some_text("gateway_ip").and_then(|text| text.parse().ok());
    let ranges = if subnet.list("allocation_pools").is_empty() {
        default_pools(net, gateway)
    } else {
        let ranges = given(subnet.list("allocation_pools"))?;
        inside(&ranges, net)?;
        clear_of(&ranges, gateway)?;
        ranges
    };
    subnet.set("allocation_pools", values(&ranges));
    Ok(())
}

/// Gateway and pools of a changed subnet.
pub fn update(before: &Object, changes: &Object, subnet: &mut Object) -> Result<(), Fault> {
    let Some(net) = super::net(before) else { return Ok(()) };
    if changes.has("allocation_pools") {
        let ranges = given(changes.list("allocation_pools"))?;
        inside(&ranges, net)?;
        subnet.set("allocation_pools", values(&ranges));
    }
    let moved = subnet.get("gateway_ip") != before.get("gateway_ip");
    if moved || changes.has("allocation_pools") {
        let gateway = subnet.some_text("gateway_ip").and_then(|text| text.parse().ok());
        clear_of(&super::pools(subnet), gateway)?;
    }
    Ok(())
}

fn given(pools: &[Value]) -> Result<Vec<Range>, Fault> {
    let one = |pool: &Value| {
        let ip = |end: &str| pool.get(end)?.as_str()?.parse::<IpAddr>().ok();
        ip("start").zip(ip("end")).and_then(|(start, end)| Range::new(start, end)).ok_or_else(
            || {
                let shown = python::repr(pool);
                Fault::bad(
                    "InvalidAllocationPool",
                    format!("The allocation pool {shown} is not valid."),
                )
            },
        )
    };
    pools.iter().map(one).collect()
}

fn inside(ranges: &[Range], net: IpNet) -> Result<(), Fault> {
    let (first, last) = bounds(net);
    for range in ranges {
        if range.first().is_ipv4() != first.is_ipv4() {
            return Err(Fault::bad(
                "InvalidAllocationPool",
                format!("The allocation pool {} is not valid.", shown(*range)),
            ));
        }
        if range.first() < first || range.last() > last {
            return Err(Fault::bad(
                "OutOfBoundsAllocationPool",
                format!(
                    "The allocation pool {} spans beyond the subnet cidr {net}.",
                    shown(*range)
                ),
            ));
        }
    }
    for (at, left) in ranges.iter().enumerate() {
        if let Some(right) = ranges[at + 1..].iter().find(|right| left.intersect(right).is_some()) {
            return Err(Fault::conflict(
                "OverlappingAllocationPools",
                format!(
                    "Found overlapping allocation pools: {} {} for subnet {net}.",
                    shown(*left),
                    shown(*right)
                ),
            ));
        }
    }
    Ok(())
}

fn clear_of(ranges: &[Range], gateway: Option<IpAddr>) -> Result<(), Fault> {
    let Some(gateway) = gateway else { return Ok(()) };
    match ranges.iter().find(|range| range.contains(gateway)) {
        Some(range) => Err(Fault::conflict(
            "GatewayConflictWithAllocationPools",
            format!("Gateway ip {gateway} conflicts with allocation pool {}.", shown(*range)),
        )),
        None => Ok(()),
    }
}
