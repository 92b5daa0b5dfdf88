//! VLAN numbers that disagree.

use std::collections::{HashMap, HashSet};

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::segments::Join;
use crate::wires::{Wire, Wires};

pub(super) fn check<'v>(view: &View<'v, '_>, wires: &mut Wires<'v>, found: &mut Vec<Finding>) {
    let tags = wires.tags();
    let mut written: HashMap<Wire, Mark> = HashMap::new();
    let mut untagged: HashSet<Wire> = HashSet::new();
    for (policy, roots) in view.facts.policies.iter().zip(&view.segments.interfaces) {
        for (interface, root) in policy.wants.interfaces.iter().zip(roots) {
            match &interface.vlan {
                Some((_, id)) => {
                    written.entry(*root).or_insert_with(|| Mark::new(policy.source, &id.place));
                }
                None if !tags.contains_key(root) => {
                    untagged.insert(*root);
                }
                None => {}
            }
        }
    }
    let mut told = HashSet::new();
    for (subnet, (root, join)) in view.facts.subnets.iter().zip(&view.segments.subnets) {
        if matches!(join, Join::Vlan | Join::Alone) {
            continue;
        }
        let there = tags.get(root).map_or(&[][..], Vec::as_slice);
        let agrees = match subnet.vlan {
            Some(vlan) => {
                there.iter().any(|(_, id)| *id == vlan)
                    || (there.is_empty() && !untagged.contains(root))
            }
            None => there.is_empty(),
        };
        if agrees || !told.insert((subnet.source, subnet.number, subnet.vlan)) {
            continue;
        }
        let says = subnet.vlan.map_or("untagged".to_owned(), |vlan| format!("VLAN {vlan}"));
        let is = there
            .first()
            .map_or("untagged".to_owned(), |(base, id)| format!("VLAN {id} on {base}"));
        let what = match join {
            Join::Name(at) => format!("attachment {}", view.facts.attachments[*at].name),
            _ => format!("the interface with prefix {}", subnet.cidr.value),
        };
        let message =
            format!("network {} is {says} in the NetConfig, but {what} is {is}", subnet.network);
        let mut finding = Finding::new(&codes::VLAN, message)
            .at(&Mark::new(subnet.source, &subnet.vlan_place), format!("{says} here"));
        if let Join::Name(at) = join
            && let attachment = &view.facts.attachments[*at]
            && let Some(interface) = attachment.conf.interface()
        {
            let mark = Mark::new(attachment.source, &interface.place);
            finding = finding.at(&mark, format!("leads to {}, {is}", interface.value));
        }
        if let Some(mark) = written.get(root) {
            finding = finding.at(mark, format!("{is} here"));
        }
        found.push(finding.help("decide which number is right, and correct the other"));
    }
}
