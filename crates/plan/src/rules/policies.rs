//! Node policies: one address for many, and two policies for one interface.

use std::collections::{BTreeMap, HashMap, HashSet};

use landbridge_api::foreign::nmstate::Interface;
use landbridge_api::foreign::{Node, Place};

use super::View;
use crate::codes;
use crate::facts::Policy;
use crate::finding::{Finding, Mark};

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    for policy in &view.facts.policies {
        if policy.wants.hostname().is_none() {
            one_for_all(policy, found);
        }
    }
    contradictions(view, found);
    dropped(view, found);
}

fn one_for_all(policy: &Policy<'_>, found: &mut Vec<Finding>) {
    let place = if policy.wants.selector.is_empty() { "spec" } else { "spec.nodeSelector" };
    for interface in policy.wants.interfaces.iter().filter(|interface| !interface.absent) {
        for address in &interface.addresses {
            let message = format!(
                "every node that policy {} selects gets {} on {}",
                policy.name, address.value.0, interface.name.value
            );
            found.push(
                Finding::new(&codes::ONE_FOR_ALL, message)
                    .at(&Mark::new(policy.source, &address.place), "one address")
                    .at(&Mark::new(policy.source, &Place::new(place)), "several nodes")
                    .help("write one policy per node, selected by kubernetes.io/hostname"),
            );
        }
    }
}

type Entry<'v, 'a> = (&'v Policy<'a>, &'v Interface<'a>);

/// Policies that may select one node and set one property differently. Each is compared with the
/// first of its node and the first that selects many, so that many policies stay cheap.
fn contradictions(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut by_name: BTreeMap<&str, Vec<Entry<'_, '_>>> = BTreeMap::new();
    for policy in &view.facts.policies {
        for interface in &policy.wants.interfaces {
            by_name.entry(interface.name.value).or_default().push((policy, interface));
        }
    }
    for (name, entries) in by_name {
        let mut told: HashSet<(usize, usize)> = HashSet::new();
        let mut by_host: HashMap<&str, Entry<'_, '_>> = HashMap::new();
        let mut wide: Option<Entry<'_, '_>> = None;
        for entry in entries.iter().filter(|(policy, _)| policy.wants.hostname().is_none()) {
            match wide {
                Some(first) => compare(name, first, *entry, &mut told, found),
                None => wide = Some(*entry),
            }
        }
        for entry in &entries {
            let Some(host) = entry.0.wants.hostname() else { continue };
            match by_host.get(host) {
                Some(first) => compare(name, *first, *entry, &mut told, found),
                None => {
                    by_host.insert(host, *entry);
                }
            }
            if let Some(wide) = wide {
                compare(name, wide, *entry, &mut told, found);
            }
        }
        other_vlans(name, &entries, &told, found);
    }
}

fn compare(
    name: &str,
    a: Entry<'_, '_>,
    b: Entry<'_, '_>,
    told: &mut HashSet<(usize, usize)>,
    found: &mut Vec<Finding>,
) {
    if exclusive(a.0, b.0) {
        return;
    }
    let (one, other) = (node(a.1), node(b.1));
    let Some((here, there)) = difference(&one, &other, 0) else { return };
    if !told.insert((a.0.source, b.0.source)) {
        return;
    }
    let policies = if a.0.source == b.0.source {
        format!("policy {} sets", a.0.name)
    } else {
        format!("policies {} and {} set", a.0.name, b.0.name)
    };
    let message = format!("{policies} interface {name} differently");
    found.push(
        Finding::new(&codes::CONTRADICTING, message)
            .at(&Mark::new(b.0.source, &there), format!("in policy {}", b.0.name))
            .at(&Mark::new(a.0.source, &here), format!("in policy {}", a.0.name))
            .help(
                "put all of an interface into one policy, or make the selectors exclude each other",
            ),
    );
}

fn node<'a>(interface: &Interface<'a>) -> Node<'a> {
    Node { value: interface.value, place: interface.place.clone() }
}

/// Whether no node can be selected by both: they want different values of one label.
fn exclusive(a: &Policy<'_>, b: &Policy<'_>) -> bool {
    a.wants.selector.iter().any(|(key, value)| {
        b.wants.selector.iter().any(|(other, wanted)| key == other && value != wanted)
    })
}

/// The first property that both set, to different values. What only one of them sets is no
/// contradiction: the rest of an interface is left as it is.
fn difference(a: &Node<'_>, b: &Node<'_>, depth: usize) -> Option<(Place, Place)> {
    if a.value == b.value || depth > 32 {
        return None;
    }
    if !(a.value.is_object() && b.value.is_object()) {
        return Some((a.place.clone(), b.place.clone()));
    }
    a.entries()
        .filter(|(key, _)| !matches!(*key, "description" | "profile-name"))
        .find_map(|(key, a)| difference(&a, &b.get(key)?, depth + 1))
}

/// Policies for different nodes that give one name to different VLANs.
fn other_vlans(
    name: &str,
    entries: &[Entry<'_, '_>],
    told: &HashSet<(usize, usize)>,
    found: &mut Vec<Finding>,
) {
    let mut first: Option<(&Policy<'_>, i64, &Place)> = None;
    for (policy, interface) in entries {
        let Some((_, id)) = &interface.vlan else { continue };
        let Some((other, vlan, place)) = first else {
            first = Some((policy, id.value, &id.place));
            continue;
        };
        if vlan == id.value || told.contains(&(other.source, policy.source)) {
            continue;
        }
        let message = format!(
            "interface {name} is VLAN {} in policy {} and VLAN {vlan} in policy {}",
            id.value, policy.name, other.name
        );
        found.push(
            Finding::new(&codes::OTHER_VLAN, message)
                .at(&Mark::new(policy.source, &id.place), format!("VLAN {} here", id.value))
                .at(&Mark::new(other.source, place), format!("VLAN {vlan} here"))
                .help("use one VLAN, or different names"),
        );
    }
}

/// Policies given again with fewer interfaces.
fn dropped(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let later: HashMap<&str, &Policy<'_>> =
        view.facts.policies.iter().map(|policy| (policy.name, policy)).collect();
    let mut earlier: Vec<_> = view.facts.replaced_policies.iter().collect();
    earlier.sort_by_key(|policy| policy.source);
    for earlier in earlier {
        let Some(later) = later.get(earlier.name) else { continue };
        let kept: HashSet<&str> =
            later.wants.interfaces.iter().map(|interface| interface.name.value).collect();
        let lost: Vec<&Interface<'_>> = earlier
            .wants
            .interfaces
            .iter()
            .filter(|interface| !kept.contains(interface.name.value))
            .collect();
        if lost.is_empty() {
            continue;
        }
        let names: Vec<&str> = lost.iter().map(|interface| interface.name.value).collect();
        let message =
            format!("policy {} is given again without {}", earlier.name, names.join(", "));
        let place = Place::new("spec.desiredState.interfaces");
        let mut finding = Finding::new(&codes::DROPPED, message)
            .at(&Mark::new(later.source, &place), "this list replaces the earlier one");
        for interface in lost {
            let mark = Mark::new(earlier.source, &interface.place);
            finding = finding.at(&mark, format!("{} is lost", interface.name.value));
        }
        found.push(finding.help("repeat all interfaces in the later one"));
    }
}
