//! Whether what an IPSet asks for exists and can be given.

use std::net::IpAddr;

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::hooks::Request;

use super::{IPSetNetwork, IPSetSpec};
use crate::admission::Findings;
use crate::ledger::Claim;
use crate::net::{Cidr, Family};
use crate::network::held;
use crate::network::netconfig::TheNetConfig;
use crate::network::unique::Taken;
use crate::network::{NetConfigSpec, Network, Subnet};

/// Checks the request against the NetConfig, and (as advice) against what others hold. Entries
/// that were accepted `before` are not asked again whether their address is still free to give.
pub(super) fn check(
    spec: &IPSetSpec,
    netconfig: &TheNetConfig,
    before: &[IPSetNetwork],
    request: &Request<'_>,
    findings: &mut Findings,
) {
    let path = FieldPath::new("spec").child("networks");
    let mut names = Taken::default();
    let mut default_routes = Vec::new();
    for (i, wanted) in spec.networks.iter().enumerate() {
        let path = path.index(i);
        names.claim_name(&wanted.name, &path, findings);
        let found = find(wanted, &netconfig.spec, &path, findings);
        let Some((network, subnet)) = found else { continue };
        let Some(cidr) = subnet.prefix() else { continue };
        let fixed_ip = fixed_ip(wanted, cidr, &path, findings);
        if let Some(address) = fixed_ip.filter(|_| !before.contains(wanted)) {
            obtainable(address, (subnet, cidr), &path, findings);
            let other = held::by_another(request, netconfig, (network, subnet), address);
            if let Some(other) = other {
                taken(&other, address, request, &path, findings);
            }
        }
        if wanted.wants_default_route() {
            default_route(subnet, cidr.family(), &mut default_routes, &path, findings);
        }
    }
}

fn find<'a>(
    wanted: &IPSetNetwork,
    netconfig: &'a NetConfigSpec,
    path: &FieldPath,
    findings: &mut Findings,
) -> Option<(&'a Network, &'a Subnet)> {
    let IPSetNetwork { name, subnet_name, .. } = wanted;
    let Some(network) = netconfig.network(name) else {
        let why = format!("network {name} not in NetConfig");
        findings.invalid(&path.child("name"), name.as_str(), why);
        return None;
    };
    let subnet = network.subnet(subnet_name);
    if subnet.is_none() {
        let why = format!("subnet {subnet_name} not in network {name} of the NetConfig");
        findings.invalid(&path.child("subnetName"), subnet_name.as_str(), why);
    }
    Some((network, subnet?))
}

fn fixed_ip(
    wanted: &IPSetNetwork,
    cidr: Cidr,
    path: &FieldPath,
    findings: &mut Findings,
) -> Option<IpAddr> {
    let text = wanted.fixed_ip.as_deref()?;
    cidr.member(text)
        .map_err(|why| findings.invalid(&path.child("fixedIP"), text, why.to_string()))
        .ok()
}

/// Whether the controller could give the address.
fn obtainable(
    address: IpAddr,
    (subnet, cidr): (&Subnet, Cidr),
    path: &FieldPath,
    findings: &mut Findings,
) {
    let path = path.child("fixedIP");
    let is = |text: &String| text.parse() == Ok(address);
    if subnet.exclude_addresses.iter().any(is) {
        let why = format!("FixedIP {address} is in ExcludeAddresses");
        findings.invalid(&path, address.to_string(), why);
        return;
    }
    if subnet.gateway.as_ref().is_some_and(is) {
        findings.warn(&path, format!("{address} is the gateway of subnet {}", subnet.name));
    }
    if let Some(what) = cidr.special(address) {
        findings.warn(&path, format!("{address} is the {what} of {cidr}"));
    }
}

/// Somebody has the address. Nobody can mean one address for two who both insist on it; otherwise
/// it may be free by the time the controller looks, and only the controller's claim counts.
fn taken(
    other: &Claim,
    address: IpAddr,
    request: &Request<'_>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let path = path.child("fixedIP");
    if other.fixed && held::is_alive(request, other) {
        let why = format!("is the fixedIP of {other} already; ask for another one, or for none");
        findings.invalid(&path, address.to_string(), why);
    } else {
        findings.warn(&path, format!("{address} already reserved for {other}"));
    }
}

fn default_route(
    subnet: &Subnet,
    family: Family,
    seen: &mut Vec<Family>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let path = path.child("defaultRoute");
    if seen.contains(&family) {
        let why = format!("{family} defaultRoute can only be requested on a singe network");
        findings.invalid(&path, true, why);
    }
    seen.push(family);
    if subnet.gateway.is_none() {
        let name = &subnet.name;
        let why = format!("defaultRoute requested, but not configured for subnet {name}");
        findings.invalid(&path, true, why);
    }
}
