//! What the status of IPSets says about networks, beside what the NetConfig says.

use std::collections::{BTreeMap, HashMap};

use landbridge_api::foreign::Place;
use serde_json::Value;

use super::{MOST_PLACES, View};
use crate::codes;
use crate::facts::{Held, Subnet};
use crate::finding::{Finding, Mark};

/// Fields of a reservation that repeat the NetConfig.
const FIELDS: [&str; 4] = ["cidr", "vlan", "mtu", "gateway"];

/// An address that was given, where its status differs, and what it says there.
type Odd<'v> = (&'v Held<'v>, Place, String);

/// IPSets that were given something else than the NetConfig says: by subnet and field, so that a
/// change that a thousand nodes have not seen is one finding.
pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let mut by_name: HashMap<(&str, String, &str), usize> = HashMap::new();
    for (at, subnet) in view.facts.subnets.iter().enumerate() {
        by_name.insert((subnet.namespace, subnet.network.to_lowercase(), subnet.name), at);
    }
    let mut odd: BTreeMap<(usize, usize), Vec<Odd<'_>>> = BTreeMap::new();
    for held in &view.facts.held {
        let Some(given) = &held.given else { continue };
        let key = (held.namespace, held.network.to_lowercase(), held.subnet);
        let Some(at) = by_name.get(&key) else { continue };
        for (number, field) in FIELDS.iter().enumerate() {
            let Some(said) = given.value.get(field).and_then(text) else { continue };
            let planned = planned(&view.facts.subnets[*at], field);
            if planned.is_some_and(|(planned, _)| !is_same(field, &planned, &said)) {
                let place = given.place.child(field);
                odd.entry((*at, number)).or_default().push((held, place, said));
            }
        }
    }
    for ((at, number), sets) in odd {
        let (subnet, field) = (&view.facts.subnets[at], FIELDS[number]);
        let Some((planned, place)) = planned(subnet, field) else { continue };
        let Some((first, _, said)) = sets.first() else { continue };
        let more = match sets.len() {
            1 => String::new(),
            more => format!(" (and {} more)", more - 1),
        };
        let message = format!(
            "IPSet {}/{}{more} was given {field} {said} on network {}, but the NetConfig says {planned}",
            first.namespace, first.holder, subnet.network
        );
        let mut finding = Finding::new(&codes::STATUS, message);
        for (held, place, said) in sets.iter().take(MOST_PLACES) {
            finding =
                finding.at(&Mark::new(held.mark.source, place), format!("{said} in the status"));
        }
        finding = finding.at(&Mark::new(subnet.source, &place), format!("{planned} here"));
        found.push(finding.help(
            "when the NetConfig is right, have the status written again and the nodes set up anew",
        ));
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What the NetConfig says, and where.
fn planned(subnet: &Subnet<'_>, field: &str) -> Option<(String, Place)> {
    Some(match field {
        "cidr" => (subnet.cidr.value.to_string(), subnet.cidr.place.clone()),
        "vlan" => (subnet.vlan?.to_string(), subnet.vlan_place.clone()),
        "mtu" => (subnet.mtu.value.to_string(), subnet.mtu.place.clone()),
        _ => {
            let gateway = subnet.gateway?;
            let router = subnet.routers.iter().find(|router| router.value == gateway)?;
            (gateway.to_string(), router.place.clone())
        }
    })
}

/// Addresses may be written in several ways.
fn is_same(field: &str, planned: &str, said: &str) -> bool {
    match field {
        "gateway" => said.parse::<std::net::IpAddr>().is_ok_and(|said| said.to_string() == planned),
        "cidr" => {
            let parse = said.parse::<landbridge_api::net::Cidr>();
            parse.is_ok_and(|said| said.to_string() == planned)
        }
        _ => planned == said,
    }
}
