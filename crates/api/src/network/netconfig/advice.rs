//! What is allowed in a NetConfig but is probably not meant.
//!
//! None of this is checked upstream, so an object that works there must stay acceptable here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

use landbridge_machinery::field::FieldPath;

use super::{NetConfigSpec, Subnet};
use crate::admission::Findings;
use crate::net::{self, Cidr, Family, Range};

/// What Linux gives an Ethernet interface at least and at most.
const MTU: std::ops::RangeInclusive<i64> = 68..=65_535;
/// Smallest packet every IPv6 link must carry (RFC 8200, section 5).
const IPV6_MINIMUM_MTU: i64 = 1280;

/// Warns about a spec that has passed the rules.
pub(super) fn check(spec: &NetConfigSpec, findings: &mut Findings) {
    let path = FieldPath::new("spec").child("networks");
    let mut vlans = HashMap::new();
    let mut service_networks = HashMap::new();
    let mut prefixes = Vec::new();
    for (i, network) in spec.networks.iter().enumerate() {
        let path = path.index(i);
        mtu(network.mtu, network.subnets.iter().filter_map(Subnet::prefix), &path, findings);
        if let Some(service) = &network.service_network
            && let Some(other) = service_networks.insert(service, &network.name)
        {
            let text = format!("{service} is also the service network of {other}");
            findings.warn(&path.child("serviceNetwork"), text);
        }
        for (j, subnet) in network.subnets.iter().enumerate() {
            let path = path.child("subnets").index(j);
            if subnet.vlan == Some(0) {
                let text = "0 means an untagged network; leave vlan out to say so";
                findings.warn(&path.child("vlan"), text);
            }
            if let Ok(Some(vlan)) = subnet.vlan_id() {
                let (first, name) = *vlans.entry(vlan).or_insert((i, &network.name));
                if first != i {
                    let text = format!("{vlan} is also the VLAN of network {name}");
                    findings.warn(&path.child("vlan"), text);
                }
            }
            if let Some(cidr) = subnet.prefix() {
                prefixes.push((path.child("cidr"), cidr));
                addresses(subnet, cidr, &path, findings);
            }
        }
    }
    let ranges = prefixes.iter().map(|(path, cidr)| (Range::from(*cidr), (path, cidr)));
    for ((_, wide), (path, narrow)) in net::overlaps(ranges) {
        findings.warn(path, format!("{narrow} overlaps {wide}"));
    }
}

fn mtu(mtu: i64, prefixes: impl Iterator<Item = Cidr>, path: &FieldPath, findings: &mut Findings) {
    let path = path.child("mtu");
    if !MTU.contains(&mtu) {
        findings.warn(&path, format!("no interface takes an MTU of {mtu} (68 to 65535)"));
    } else if mtu < IPV6_MINIMUM_MTU && prefixes.into_iter().any(|c| c.family() == Family::V6) {
        findings.warn(&path, format!("IPv6 needs an MTU of 1280 or more, this is {mtu}"));
    }
}

fn addresses(subnet: &Subnet, cidr: Cidr, path: &FieldPath, findings: &mut Findings) {
    if cidr.has_host_bits() {
        let text = format!("{cidr} has bits set beyond the prefix; {} is meant", cidr.prefix());
        findings.warn(&path.child("cidr"), text);
    }
    let gateway: Option<IpAddr> = subnet.gateway.as_ref().and_then(|text| text.parse().ok());
    if let Some(what) = gateway.and_then(|gateway| cidr.special(gateway)) {
        findings.warn(&path.child("gateway"), format!("this is the {what} of {cidr}"));
    }
    let excluded: HashSet<IpAddr> =
        subnet.exclude_addresses.iter().filter_map(|text| text.parse().ok()).collect();
    let next_hops = subnet.routes.iter().filter_map(|route| route.nexthop.parse().ok());
    let mut routers: BTreeMap<IpAddr, &str> = next_hops.map(|hop| (hop, "next hop")).collect();
    routers.extend(gateway.map(|gateway| (gateway, "gateway")));
    routers.retain(|router, _| !excluded.contains(router));
    let mut ranges = Vec::new();
    for (k, range) in subnet.allocation_ranges.iter().enumerate() {
        let path = path.child("allocationRanges").index(k);
        let ends = range.first().zip(range.last());
        let Some(range) = ends.and_then(|(a, b)| Range::new(a, b)) else { continue };
        if range.first() == range.last() {
            let text = "a range of one address is refused by the upstream infra-operator";
            findings.warn(&path, text);
        }
        for (router, what) in routers.range(range.first()..=range.last()).take(3) {
            findings.warn(&path, format!("holds the {what} {router}; exclude it"));
        }
        for end in [range.first(), range.last()] {
            if let Some(what) = cidr.special(end).filter(|_| !excluded.contains(&end)) {
                findings.warn(&path, format!("holds the {what} {end}"));
            }
        }
        ranges.push((range, k));
    }
    for (first, second) in net::overlaps(ranges) {
        let path = path.child("allocationRanges");
        findings.warn(&path.index(second), format!("overlaps {}", path.index(first)));
    }
    for (k, route) in subnet.routes.iter().enumerate() {
        let destination = route.destination.parse::<Cidr>();
        if destination.is_ok_and(|destination| destination.family() != cidr.family()) {
            let path = path.child("routes").index(k).child("destination");
            findings.warn(&path, "is of another family than the subnet and its next hop");
        }
    }
}
