//! What makes a NetConfig invalid by itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use landbridge_machinery::field::FieldPath;
use regex::Regex;

use super::{AllocationRange, NetConfigSpec, Network, Route, Subnet};
use crate::admission::Findings;
use crate::net::{Cidr, NotAMember};
use crate::network::unique::Taken;

/// A domain of two labels or more, the last one of letters. `None` can only be a mistake in the
/// pattern, which a test would see.
static DOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}$").ok()
});

/// Checks the whole spec.
pub(super) fn check(spec: &NetConfigSpec, findings: &mut Findings) {
    let path = FieldPath::new("spec").child("networks");
    let mut names = Taken::default();
    let mut domains = Taken::default();
    let mut prefixes = HashMap::new();
    for (i, network) in spec.networks.iter().enumerate() {
        let path = path.index(i);
        names.claim_name(&network.name, &path, findings);
        domain(&mut domains, network.dns_domain.as_deref(), &path, findings);
        subnets(network, &path, &mut prefixes, findings);
    }
}

fn subnets(
    network: &Network,
    path: &FieldPath,
    prefixes: &mut HashMap<String, FieldPath>,
    findings: &mut Findings,
) {
    let path = path.child("subnets");
    let mut names = Taken::default();
    let mut domains = Taken::default();
    for (j, subnet) in network.subnets.iter().enumerate() {
        let path = path.index(j);
        names.claim_name(&subnet.name, &path, findings);
        if let Err(why) = subnet.vlan_id() {
            findings.invalid(&path.child("vlan"), subnet.vlan, why.to_string());
        }
        domain(&mut domains, subnet.dns_domain.as_deref(), &path, findings);
        let cidr_path = path.child("cidr");
        let Some(cidr) = prefix(&subnet.cidr, &cidr_path, findings) else { continue };
        // One prefix on two VLANs could not be told apart by anything that routes.
        if let Some(first) = prefixes.get(&cidr.prefix().to_string()) {
            let why = format!("CIDR {} already in use at {first}", subnet.cidr);
            findings.invalid(&cidr_path, subnet.cidr.as_str(), why);
        } else {
            prefixes.insert(cidr.prefix().to_string(), cidr_path);
        }
        addresses(subnet, cidr, &path, findings);
    }
}

/// Everything in a subnet that has to fit its prefix.
fn addresses(subnet: &Subnet, cidr: Cidr, path: &FieldPath, findings: &mut Findings) {
    if let Some(gateway) = &subnet.gateway {
        member(cidr, gateway, &path.child("gateway"), findings);
    }
    for (k, range) in subnet.allocation_ranges.iter().enumerate() {
        allocation_range(range, cidr, &path.child("allocationRanges").index(k), findings);
    }
    for (k, address) in subnet.exclude_addresses.iter().enumerate() {
        member(cidr, address, &path.child("excludeAddresses").index(k), findings);
    }
    for (k, Route { destination, nexthop }) in subnet.routes.iter().enumerate() {
        let path = path.child("routes").index(k);
        prefix(destination, &path.child("destination"), findings);
        member(cidr, nexthop, &path.child("nexthop"), findings);
    }
}

fn allocation_range(
    range: &AllocationRange,
    cidr: Cidr,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let ends = [("start", range.start.as_str()), ("end", range.end.as_str())]
        .map(|(field, text)| (path.child(field), text, cidr.member(text)));
    let (mut readable, mut one_family) = (true, true);
    for (path, text, member) in &ends {
        match member {
            Err(why @ NotAMember::NotAnAddress) => {
                readable = false;
                findings.invalid(path, *text, why.to_string());
            }
            Err(NotAMember::OtherFamily) => one_family = false,
            _ => {}
        }
    }
    if !readable {
        return;
    }
    if !one_family {
        let value = format!("{}-{}", range.start, range.end);
        findings.invalid(path, value, NotAMember::OtherFamily.to_string());
        return;
    }
    for (path, text, member) in &ends {
        if let Err(why) = member {
            findings.invalid(path, *text, why.to_string());
        }
    }
    // A range of one address is allowed; only the wrong order is not.
    if range.first() > range.last() {
        let why = format!("Start address: {} > End address {}", range.start, range.end);
        for (path, text, _) in &ends {
            findings.invalid(path, *text, why.as_str());
        }
    }
}

fn member(cidr: Cidr, text: &str, path: &FieldPath, findings: &mut Findings) {
    if let Err(why) = cidr.member(text) {
        findings.invalid(path, text, why.to_string());
    }
}

fn prefix(text: &str, path: &FieldPath, findings: &mut Findings) -> Option<Cidr> {
    let cidr = text.parse().ok();
    if cidr.is_none() {
        findings.invalid(path, text, format!("IP address prefix (CIDR) {text}"));
    }
    cidr
}

/// The spelling of both texts is upstream's.
fn domain(taken: &mut Taken, name: Option<&str>, path: &FieldPath, findings: &mut Findings) {
    let (Some(name), path) = (name, path.child("dnsDomain")) else { return };
    if DOMAIN.as_ref().is_some_and(|domain| !domain.is_match(name)) {
        findings.invalid(&path, name, format!("DNSDoman name {name} is not valid"));
    }
    if let Some(place) = taken.claim(name, &path) {
        let why = format!("DNSDoman name {name} already in use at {place}, must be uniq");
        findings.invalid(&path, name, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_pattern_is_one() {
        assert!(DOMAIN.is_some());
    }
}
