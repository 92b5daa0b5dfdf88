//! Node policies: one address for many, and two policies for one interface.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use landbridge_api::foreign::nmstate::Interface;
use landbridge_api::foreign::{Node, Place};

use super::{MOST_PLACES, View};
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

/// All addresses of a policy have the same cause, so they are one finding.
fn one_for_all(policy: &Policy<'_>, found: &mut Vec<Finding>) {
    let place = if policy.wants.selector.is_empty() { "spec" } else { "spec.nodeSelector" };
    let given: Vec<_> = policy
        .wants
        .interfaces
        .iter()
        .filter(|interface| !interface.absent)
        .flat_map(|interface| interface.addresses.iter().map(move |address| (interface, address)))
        .collect();
    if given.is_empty() {
        return;
    }
    let texts = given
        .iter()
        .map(|(interface, address)| format!("{} on {}", address.value.0, interface.name.value));
    let message =
        format!("every node that policy {} selects gets {}", policy.name, listed(texts.collect()));
    let mut finding = Finding::new(&codes::ONE_FOR_ALL, message);
    for (_, address) in given.iter().take(MOST_PLACES) {
        finding = finding.at(&Mark::new(policy.source, &address.place), "one address");
    }
    finding = finding.at(&Mark::new(policy.source, &Place::new(place)), "several nodes");
    found.push(finding.help("write one policy per node, selected by kubernetes.io/hostname"));
}

/// `a`, `a and b`, `a, b, c and 4 more`.
fn listed(mut texts: Vec<String>) -> String {
    const SHOWN: usize = 3;
    let last = match texts.len() {
        0 | 1 => return texts.concat(),
        count if count > SHOWN + 1 => {
            texts.truncate(SHOWN);
            format!("{} more", count - SHOWN)
        }
        _ => texts.pop().unwrap_or_default(),
    };
    format!("{} and {last}", texts.join(", "))
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
    // A policy that disagrees with many others, or about many interfaces, is one finding.
    let mut by_policy: BTreeMap<usize, Vec<Difference<'_, '_>>> = BTreeMap::new();
    for (name, entries) in by_name {
        let mut told: HashSet<(usize, usize)> = HashSet::new();
        let mut compare = |a, b, told: &mut HashSet<_>| {
            if let Some(found) = compare(name, a, b)
                && told.insert((found.a.source, found.b.source))
            {
                by_policy.entry(found.a.source).or_default().push(found);
            }
        };
        let mut by_host: HashMap<&str, Entry<'_, '_>> = HashMap::new();
        let mut wide: Option<Entry<'_, '_>> = None;
        for entry in entries.iter().filter(|(policy, _)| policy.wants.hostname().is_none()) {
            match wide {
                Some(first) => compare(first, *entry, &mut told),
                None => wide = Some(*entry),
            }
        }
        for entry in &entries {
            let Some(host) = entry.0.wants.hostname() else { continue };
            match by_host.get(host) {
                Some(first) => compare(*first, *entry, &mut told),
                None => {
                    by_host.insert(host, *entry);
                }
            }
            if let Some(wide) = wide {
                compare(wide, *entry, &mut told);
            }
        }
        other_vlans(name, &entries, &told, found);
    }
    found.extend(by_policy.into_values().filter_map(|differences| contradicting(&differences)));
}

/// A property of an interface that two policies set differently.
struct Difference<'v, 'a> {
    interface: &'v str,
    a: &'v Policy<'a>,
    b: &'v Policy<'a>,
    here: Place,
    there: Place,
}

fn compare<'v, 'a>(
    interface: &'v str,
    (a, one): Entry<'v, 'a>,
    (b, other): Entry<'v, 'a>,
) -> Option<Difference<'v, 'a>> {
    if exclusive(a, b) {
        return None;
    }
    let (here, there) = difference(&node(one), &node(other), 0)?;
    Some(Difference { interface, a, b, here, there })
}

fn contradicting(differences: &[Difference<'_, '_>]) -> Option<Finding> {
    let Difference { a, b, .. } = differences.first()?;
    let others: BTreeSet<&str> = differences.iter().map(|found| found.b.name).collect();
    let interfaces: BTreeSet<&str> = differences.iter().map(|found| found.interface).collect();
    let more = match others.len() {
        0 | 1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    let policies = if a.source == b.source {
        format!("policy {} sets", a.name)
    } else {
        format!("policies {} and {}{more} set", a.name, b.name)
    };
    let word = if interfaces.len() == 1 { "interface" } else { "interfaces" };
    let interfaces = listed(interfaces.into_iter().map(str::to_owned).collect());
    let message = format!("{policies} {word} {interfaces} differently");
    let mut finding = Finding::new(&codes::CONTRADICTING, message);
    for Difference { b, here, there, .. } in differences.iter().take(MOST_PLACES) {
        finding = finding
            .at(&Mark::new(b.source, there), format!("in policy {}", b.name))
            .at(&Mark::new(a.source, here), format!("in policy {}", a.name));
    }
    Some(
        finding.help(
            "put all of an interface into one policy, or make the selectors exclude each other",
        ),
    )
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
    // When the first one is the odd one, all others say the same: that is one finding.
    let mut by_vlan: BTreeMap<i64, Vec<(&Policy<'_>, &Place)>> = BTreeMap::new();
    for (policy, interface) in entries {
        let Some((_, id)) = &interface.vlan else { continue };
        let Some((other, vlan, _)) = first else {
            first = Some((policy, id.value, &id.place));
            continue;
        };
        if vlan != id.value && !told.contains(&(other.source, policy.source)) {
            by_vlan.entry(id.value).or_default().push((policy, &id.place));
        }
    }
    for ((id, policies), (other, vlan, place)) in by_vlan.iter().zip(first.iter().cycle()) {
        let Some((policy, _)) = policies.first() else { continue };
        let more = match policies.len() {
            1 => String::new(),
            more => format!(" (and {} more)", more - 1),
        };
        let message = format!(
            "interface {name} is VLAN {id} in policy {}{more} and VLAN {vlan} in policy {}",
            policy.name, other.name
        );
        let mut finding = Finding::new(&codes::OTHER_VLAN, message);
        for (policy, place) in policies.iter().take(MOST_PLACES) {
            finding = finding.at(&Mark::new(policy.source, place), format!("VLAN {id} here"));
        }
        finding = finding.at(&Mark::new(other.source, place), format!("VLAN {vlan} here"));
        found.push(finding.help("use one VLAN, or different names"));
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
