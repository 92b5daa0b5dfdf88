//! What must not change in a NetConfig while IPSets hold addresses from it.
//!
//! Everything else may: MTU, domains, gateways, routes, ranges, and new networks and subnets.
//! Addresses given before stay as they are.

use landbridge_machinery::field::FieldPath;

use super::{NetConfigSpec, Network, Subnet};
use crate::admission::Findings;

/// Compares by exact names. Paths are those of the new object; of the old one where the thing is
/// gone from the new one.
pub(super) fn check(old: &NetConfigSpec, new: &NetConfigSpec, findings: &mut Findings) {
    let path = FieldPath::new("spec").child("networks");
    for (i, was) in old.networks.iter().enumerate() {
        if let Some(at) = new.networks.iter().position(|network| network.name == was.name) {
            network(was, &new.networks[at], (&path.index(i), &path.index(at)), findings);
        } else {
            let why = format!("network {} removed", was.name);
            findings.invalid(&path.index(i).child("name"), was.name.as_str(), why);
        }
    }
}

fn network(
    old: &Network,
    new: &Network,
    (old_path, new_path): (&FieldPath, &FieldPath),
    findings: &mut Findings,
) {
    for (j, was) in old.subnets.iter().enumerate() {
        if let Some(at) = new.subnets.iter().position(|subnet| subnet.name == was.name) {
            subnet(was, &new.subnets[at], &new_path.child("subnets").index(at), findings);
        } else {
            let path = old_path.child("subnets").index(j).child("name");
            let why = format!("name of a subnet must not change - {}", was.name);
            findings.invalid(&path, was.name.as_str(), why);
        }
    }
}

fn subnet(old: &Subnet, new: &Subnet, path: &FieldPath, findings: &mut Findings) {
    // Another spelling of the same prefix is no change, so that host bits can be cleaned up.
    let same_prefix = old.prefix().is_some_and(|prefix| new.prefix() == Some(prefix));
    if !same_prefix && old.cidr != new.cidr {
        let why = format!("cidr of a subnet must not change - {}", old.cidr);
        findings.invalid(&path.child("cidr"), new.cidr.as_str(), why);
    }
    // 0 and absent both say "untagged".
    if old.vlan.unwrap_or(0) != new.vlan.unwrap_or(0) {
        let was = old.vlan.map(|vlan| vlan.to_string()).unwrap_or_default();
        let why = format!("vlan of a subnet must not change - {was}");
        findings.invalid(&path.child("vlan"), new.vlan, why);
    }
}
