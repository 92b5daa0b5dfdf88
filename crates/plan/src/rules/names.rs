//! Names: letter case, host names that look misspelt, and host names of another network.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use landbridge_api::foreign::At;

use super::{MOST_PLACES, View};
use crate::codes;
use crate::facts::Subnet;
use crate::finding::{Finding, Mark};
use crate::spelling;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    letter_case(view, found);
    host_names(view, found);
    host_addresses(view, found);
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
        for (name, _) in &data.names {
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
            for name in names.iter().take(MOST_PLACES) {
                let role = format!("{label} is no network");
                finding = finding.at(&Mark::new(data.source, &name.place), role);
            }
            found.push(finding.help(format!("did you mean {meant}?")));
        }
    }
}

/// A host name and its address.
type Host<'v> = (&'v At<&'v str>, &'v At<IpAddr>);

/// Host names that name a network in whose prefix their address is not.
fn host_addresses(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut networks: HashMap<(&str, String), Vec<&Subnet<'_>>> = HashMap::new();
    for subnet in &view.facts.subnets {
        let network = subnet.network.to_lowercase();
        if network != subnet.service {
            networks.entry((subnet.namespace, subnet.service.clone())).or_default().push(subnet);
        }
        networks.entry((subnet.namespace, network)).or_default().push(subnet);
    }
    for data in &view.facts.host_names {
        let mut odd: BTreeMap<String, Vec<Host<'_>>> = BTreeMap::new();
        for (name, address) in &data.names {
            let Some((label, address)) = name.value.split('.').nth(1).zip(address.as_ref()) else {
                continue;
            };
            let key = (data.namespace, label.to_lowercase());
            let Some(subnets) = networks.get(&key) else { continue };
            // One family may be planned elsewhere.
            let mut known = subnets
                .iter()
                .map(|subnet| subnet.cidr.value)
                .filter(|cidr| cidr.bounds().0.is_ipv4() == address.value.is_ipv4())
                .peekable();
            if known.peek().is_some() && !known.any(|cidr| cidr.contains(address.value)) {
                odd.entry(key.1).or_default().push((name, address));
            }
        }
        for (label, hosts) in odd {
            let Some((name, address)) = hosts.first() else { continue };
            let subnets = networks.get(&(data.namespace, label)).map_or(&[][..], Vec::as_slice);
            let Some(subnet) = subnets.first() else { continue };
            let more = match hosts.len() {
                1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            let message = format!(
                "{}{more}: {} is not in {}, the prefix of network {}",
                name.value, address.value, subnet.cidr.value, subnet.network
            );
            let mut finding = Finding::new(&codes::HOST_ADDRESS, message);
            for (name, address) in hosts.iter().take(MOST_PLACES) {
                let mark = Mark::new(data.source, &address.place);
                finding = finding.at(&mark, format!("address of {}", name.value));
            }
            for subnet in subnets.iter().take(MOST_PLACES) {
                let mark = Mark::new(subnet.source, &subnet.cidr.place);
                finding = finding.at(&mark, format!("{} here", subnet.cidr.value));
            }
            found.push(finding.help("correct the address, or the prefix of the network"));
        }
    }
}
