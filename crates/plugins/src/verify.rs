//! CHECK: whether what a result says is still so.

use std::net::IpAddr;

use landbridge_cni::result::{CniResult, Interface, Ip, Route as Wanted};
use landbridge_linux::{IfName, Link};

use crate::call::Call;
use crate::failure::{Context, Outcome, internal};
use crate::pod::{Pod, wanted_name};

/// The result of the ADD that CHECK is about.
pub(crate) fn previous(call: &Call) -> Outcome<&CniResult> {
    call.input.previous.as_ref().ok_or_else(|| internal("Required prevResult missing"))
}

/// The container's interface as the result tells it: the one with the name asked for in a
/// sandbox, which has to be the namespace of this call.
pub(crate) fn container_interface<'a>(
    call: &Call,
    result: &'a CniResult,
) -> Outcome<&'a Interface> {
    let name = &call.environment.interface;
    let found = result
        .interfaces
        .iter()
        .find(|interface| interface.name == *name && !interface.sandbox.is_empty());
    let found = found.ok_or_else(|| {
        internal(format!("Container interface name missing in prevResult: {name}"))
    })?;
    let netns = call.environment.netns.as_deref().unwrap_or_default();
    if found.sandbox != netns {
        return Err(internal(format!(
            "Sandbox in prevResult {} doesn't match configured netns: {netns}",
            found.sandbox
        )));
    }
    Ok(found)
}

/// The link of that interface, of the kind expected and with the hardware address told.
pub(crate) fn container_link(pod: &Pod, told: &Interface, kind: &str) -> Outcome<Link> {
    let name = IfName::new(&told.name)
        .doing(|| format!("Container Interface name in prevResult: {:?}", told.name))?;
    let link = pod.net.link(&name).doing(|| format!("failed to lookup \"{name}\""))?;
    let link = link.ok_or_else(|| {
        internal(format!("Container Interface name in prevResult: {name} not found"))
    })?;
    if !kind.is_empty() && link.kind.word() != kind {
        return Err(internal(format!("Error: Container interface {name} not of type {kind}")));
    }
    let mac = link.mac.map(|mac| mac.to_string()).unwrap_or_default();
    if !told.mac.is_empty() && !told.mac.eq_ignore_ascii_case(&mac) {
        return Err(internal(format!(
            "Interface {name} Mac {} doesn't match container Mac: {mac}",
            told.mac
        )));
    }
    Ok(link)
}

/// Whether the addresses and routes of a result are there.
pub(crate) fn addresses_and_routes(pod: &Pod, call: &Call, result: &CniResult) -> Outcome<()> {
    let name = wanted_name(call)?;
    let link = pod.net.expect_link(&name).doing(|| format!("failed to lookup \"{name}\""))?;
    let there = pod.net.addresses_of(link.index).doing(|| format!("addresses of \"{name}\""))?;
    let of_link = |ip: &&Ip| {
        ip.interface.is_none_or(|place| {
            result.interfaces.get(place).is_none_or(|found| found.name == name.as_str())
        })
    };
    for ip in result.ips.iter().filter(of_link) {
        if !there.iter().any(|found| found.net == ip.address) {
            return Err(internal(format!(
                "Failed to match addr {} on interface {name}",
                ip.address
            )));
        }
    }
    let routes = pod.net.routes().doing(|| "routes of the container".to_owned())?;
    for wanted in &result.routes {
        let found = routes.iter().any(|route| {
            route.destination == wanted.dst.trunc()
                && wanted.table.is_none_or(|table| table == route.table)
                && leads_through(wanted, route.gateway, &route.multipath)
        });
        if !found {
            return Err(internal(format!(
                "Expected Route {} via {} not found in routing table",
                wanted.dst,
                wanted.gw.map_or("any gateway".to_owned(), |gateway| gateway.to_string())
            )));
        }
    }
    Ok(())
}

fn leads_through(
    wanted: &Wanted,
    gateway: Option<IpAddr>,
    hops: &[landbridge_linux::route::NextHop],
) -> bool {
    wanted.gw.is_none_or(|wanted| {
        gateway == Some(wanted) || hops.iter().any(|hop| hop.gateway == Some(wanted))
    })
}
