//! Names: letter case, and host names that look misspelt.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use landbridge_api::foreign::At;

use super::View;
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::spelling;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    letter_case(view, found);
    host_names(view, found);
}

/// Networks whose attachment or pool is spelled in other letters.
fn letter_case(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut others: HashMap<(Option<&str>, String), (&str, usize, &str)> = HashMap::new();
    for attachment in &view.facts.attachments {
        let key = (Some(attachment.namespace), attachment.name.to_lowercase());
        others.insert(key, (attachment.name, attachment.source, "attachment"));
    }
    for pool in &view.facts.pools {
        others.insert((None, pool.name.to_lowercase()), (pool.name, pool.source, "pool"));
    }
    let mut told = HashSet::new();
    for subnet in &view.facts.subnets {
        if subnet.service_given || !told.insert((subnet.source, subnet.number)) {
            continue;
        }
        let lower = subnet.network.to_lowercase();
        let attachment = others.get(&(Some(subnet.namespace), lower.clone()));
        let Some((name, source, what)) = attachment.or_else(|| others.get(&(None, lower))) else {
            continue;
        };
        if *name == subnet.network {
            continue;
        }
        let message = format!(
            "network {} and {what} {name} belong together only when letter case is ignored",
            subnet.network
        );
        let place = landbridge_api::foreign::Place::new("metadata.name");
        found.push(
            Finding::new(&codes::LETTER_CASE, message)
                .at(&Mark::new(subnet.source, &subnet.network_place), "spelled like this")
                .at(&Mark::new(*source, &place), "and like this")
                .help(format!("call the network {name}, or set serviceNetwork: {name}")),
        );
    }
}

/// Host names whose second label is almost the name of a network, when siblings use such names.
fn host_names(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut networks: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for subnet in &view.facts.subnets {
        let known = networks.entry(subnet.namespace).or_default();
        known.insert(subnet.service.clone());
        known.insert(subnet.network.to_lowercase());
    }
    for (namespace, name) in &view.facts.attachment_names {
        networks.entry(*namespace).or_default().insert(name.to_lowercase());
    }
    for data in &view.facts.host_names {
        let Some(known) = networks.get(data.namespace) else { continue };
        let mut odd: BTreeMap<(String, &str), Vec<&At<&str>>> = BTreeMap::new();
        let mut siblings = false;
        for name in &data.names {
            let Some(label) = name.value.split('.').nth(1) else { continue };
            let label = label.to_lowercase();
            if known.contains(&label) {
                siblings = true;
            } else if let Some(meant) = spelling::meant(&label, known.iter().map(String::as_str)) {
                odd.entry((label, meant)).or_default().push(name);
            }
        }
        if !siblings {
            continue;
        }
        for ((label, meant), names) in odd {
            let first = names.first().map_or("", |name| name.value);
            let message = match names.len() {
                1 => format!("{first}: there is no network {label}"),
                more => format!("{first} and {} more: there is no network {label}", more - 1),
            };
            let mut finding = Finding::new(&codes::HOST_NAME, message);
            for name in names.iter().take(10) {
                let role = format!("{label}: did you mean {meant}?");
                finding = finding.at(&Mark::new(data.source, &name.place), role);
            }
            found.push(finding.help(format!("{label}: did you mean {meant}?")));
        }
    }
}
