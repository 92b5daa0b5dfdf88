//! What must not change in an IPSet once it was accepted: its addresses are in use.
//!
//! Networks may be added and put in another order.

use std::net::IpAddr;

use landbridge_machinery::field::FieldPath;

use super::{IPSetNetwork, IPSetSpec};
use crate::admission::Findings;

/// Compares by exact names. Paths are those of the new object; of the old one where the network
/// is gone from the new one.
pub(super) fn check(old: &IPSetSpec, new: &IPSetSpec, findings: &mut Findings) {
    let path = FieldPath::new("spec").child("networks");
    for (i, was) in old.networks.iter().enumerate() {
        if let Some(at) = new.networks.iter().position(|now| now.name == was.name) {
            network(was, &new.networks[at], &path.index(at), findings);
        } else {
            let why = format!("network {} removed", was.name);
            findings.invalid(&path.index(i).child("name"), was.name.as_str(), why);
        }
    }
}

fn network(old: &IPSetNetwork, new: &IPSetNetwork, path: &FieldPath, findings: &mut Findings) {
    if old.subnet_name != new.subnet_name {
        let (was, now) = (&old.subnet_name, &new.subnet_name);
        let why = format!("subnet within a network must not change ({was}/{now})");
        findings.invalid(&path.child("subnetName"), now.as_str(), why);
    }
    if !same_address(old.fixed_ip.as_deref(), new.fixed_ip.as_deref()) {
        findings.invalid(
            &path.child("fixedIP"),
            new.fixed_ip.clone().unwrap_or_default(),
            "fixedIP must not change",
        );
    }
    // Absent and false are the same wish.
    let wanted = new.wants_default_route();
    if old.wants_default_route() != wanted {
        findings.invalid(&path.child("defaultRoute"), wanted, "defaultRoute must not change");
    }
}

/// Two spellings of one address are no change.
fn same_address(old: Option<&str>, new: Option<&str>) -> bool {
    let value = |text: Option<&str>| text.and_then(|text| text.parse::<IpAddr>().ok());
    old == new || (value(old).is_some() && value(old) == value(new))
}
