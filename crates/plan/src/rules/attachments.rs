//! Attachments: wanted ones that do not exist, and interfaces that nobody makes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use landbridge_api::foreign::Place;

use super::{MOST_PLACES, View};
use crate::codes::{self, Code};
use crate::facts::Wanted;
use crate::finding::{Finding, Mark};
use crate::spelling;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    wanted(view, found);
    bounds(view, found);
    if !view.facts.policies.is_empty() {
        interfaces(view, found);
    }
}

fn wanted(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let facts = view.facts;
    if facts.attachment_names.is_empty() && !view.options.complete {
        return;
    }
    let mut there: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for (namespace, name) in &facts.attachment_names {
        there.entry(*namespace).or_default().insert(*name);
    }
    // OVN makes attachments for its physical networks by itself.
    for (namespace, physical, _) in &facts.nic_mappings {
        there.entry(*namespace).or_default().insert(*physical);
    }
    let none = BTreeSet::new();
    // An object that wants it in many places is told once.
    let mut missing: BTreeMap<(usize, &str), Vec<&Wanted<'_>>> = BTreeMap::new();
    for wanted in &facts.wanted {
        let names = there.get(wanted.namespace).unwrap_or(&none);
        if !names.contains(wanted.name.value) {
            missing.entry((wanted.source, wanted.name.value)).or_default().push(wanted);
        }
    }
    for ((source, name), places) in missing {
        let namespace = view.sources.namespaces[source];
        let names = there.get(namespace).unwrap_or(&none);
        let elsewhere = there.iter().filter(|(_, names)| names.contains(name));
        let elsewhere = elsewhere.map(|(namespace, _)| *namespace).min();
        let help = match (spelling::meant(name, names.iter().copied()), elsewhere) {
            (Some(meant), _) => format!("did you mean {meant}?"),
            (None, Some(other)) => {
                format!("there is one in namespace {other}, but it has to be in {namespace}")
            }
            (None, None) => {
                format!("create a NetworkAttachmentDefinition {name} in namespace {namespace}")
            }
        };
        let mut message =
            format!("there is no NetworkAttachmentDefinition {name} in namespace {namespace}");
        if places.len() > 1 {
            write!(message, ", wanted in {} places", places.len()).unwrap_or_default();
        }
        let mut finding = Finding::new(&codes::NO_ATTACHMENT, message);
        for wanted in places.iter().take(MOST_PLACES) {
            finding = finding.at(&Mark::new(source, &wanted.name.place), "wanted here");
        }
        found.push(finding.help(help));
    }
}

fn bounds(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    for attachment in &view.facts.attachments {
        for range in &attachment.conf.ipam.ranges {
            for bound in &range.ignored {
                let message = format!(
                    "whereabouts ignores {} in attachment {} and hands out {}",
                    bound.value, attachment.name, range.range
                );
                found.push(
                    Finding::new(&codes::IGNORED_BOUND, message)
                        .at(&Mark::new(attachment.source, &bound.place), "ignored")
                        .at(&Mark::new(attachment.source, &range.prefix.place), "the prefix")
                        .help("let it lie between the first and the last usable address, start before end"),
                );
            }
        }
    }
}

fn interfaces(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut made: HashSet<&str> = HashSet::new();
    for interface in view.facts.policies.iter().flat_map(|policy| &policy.wants.interfaces) {
        if interface.absent {
            continue;
        }
        made.insert(interface.name.value);
        made.extend(interface.vlan.as_ref().map(|(base, _)| base.value));
        made.extend(interface.ports.iter().map(|port| port.value));
    }
    let mut names: Vec<&str> = made.iter().copied().collect();
    names.sort_unstable();
    let mut missing =
        |code: &'static Code, name: &str, source: usize, place: &Place, who: String| {
            if made.contains(name) {
                return;
            }
            let message = format!("no node policy makes interface {name}, which {who} uses");
            let help = match spelling::meant(name, names.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "correct the name, or add the interface to the node policies".to_owned(),
            };
            let finding = Finding::new(code, message).at(&Mark::new(source, place), "named here");
            found.push(finding.help(help));
        };
    for attachment in &view.facts.attachments {
        let Some(interface) = attachment.conf.interface() else { continue };
        let who = format!("attachment {}", attachment.name);
        missing(&codes::NO_INTERFACE, &interface.value, attachment.source, &interface.place, who);
    }
    for advertisement in &view.facts.advertisements {
        for interface in &advertisement.l2.interfaces {
            let object = &view.sources.list[advertisement.source].object;
            let code = &codes::NO_ANNOUNCING_INTERFACE;
            let who = format!("L2Advertisement {}", object.name);
            missing(code, interface.value, advertisement.source, &interface.place, who);
        }
    }
}
