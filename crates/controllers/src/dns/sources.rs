//! The ConfigMaps that one name server answers from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use landbridge_machinery::object;
use serde_json::Value;

use super::entries::{self, folded};
use crate::making::kinds::Kind;
use crate::making::world::{HOSTS_LABEL, World, controller};

/// A ConfigMap with the label.
#[derive(Clone, Copy, Debug)]
pub struct Source<'w> {
    /// Its name.
    pub name: &'w str,
    /// The hosts file in it: under its own name, as upstream mounts it.
    pub text: Option<&'w str>,
    /// Whether it was made of a DNSData, whose conditions say what is wrong with it.
    pub is_from_data: bool,
    /// Whether that DNSData was made for a name server: it says what others said before.
    pub is_derived: bool,
}

/// The sources of a namespace with one value of the label, by name.
pub fn selected<'w>(world: &'w World, namespace: &str, label: &str) -> Vec<Source<'w>> {
    let maps = world.list(Kind::ConfigMap, namespace);
    maps.filter(|map| map["metadata"]["labels"][HOSTS_LABEL] == *label)
        .map(|map| {
            let name = object::name(map);
            let owner = controller(map).filter(|owner| owner["kind"] == "DNSData");
            let data = owner
                .and_then(|owner| world.get(Kind::DNSData, namespace, owner["name"].as_str()?));
            let made_for = data.and_then(|data| controller(data));
            Source {
                name,
                text: map["data"].get(name).and_then(Value::as_str),
                is_from_data: owner.is_some(),
                is_derived: made_for.is_some_and(|server| server["kind"] == "DNSMasq"),
            }
        })
        .collect()
}

/// What is wrong with sources that somebody made by hand.
pub fn faults(sources: &[Source<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| !source.is_from_data) {
        let name = source.name;
        let Some(text) = source.text else {
            faults.push(format!(
                "ConfigMap {name} has no key {name}: names are read from the key that is called like the ConfigMap"
            ));
            continue;
        };
        let own = entries::faults(entries::of_text(text), false);
        faults.extend(own.into_iter().map(|fault| format!("ConfigMap {name}, {fault}")));
    }
    faults
}

/// The addresses of a name, by source.
type Addresses<'a> = BTreeMap<&'a str, BTreeSet<IpAddr>>;

/// Names that have one address in one source and another in another.
pub fn contradictions(sources: &[Source<'_>]) -> Vec<String> {
    // Most names are in one source only, and there are many: what is in several is found first.
    let mut first: HashMap<_, usize> = HashMap::new();
    let mut shared = HashSet::new();
    for (at, source) in sources.iter().enumerate() {
        for name in names(source) {
            let name = folded(name);
            match first.get(&name) {
                Some(other) if *other != at => {
                    shared.insert(name);
                }
                Some(_) => {}
                None => {
                    first.insert(name, at);
                }
            }
        }
    }
    if shared.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<(String, bool), Addresses<'_>> = BTreeMap::new();
    for source in sources {
        for entry in entries::of_text(source.text.unwrap_or_default()) {
            let Ok(ip) = entry.ip.parse::<IpAddr>() else { continue };
            for name in entry.names.into_iter().map(folded) {
                if shared.contains(&name) {
                    let by_source = found.entry((name.into_owned(), ip.is_ipv4())).or_default();
                    by_source.entry(source.name).or_default().insert(ip);
                }
            }
        }
    }
    found
        .into_iter()
        .filter_map(|((name, _), addresses)| {
            let mut sets = addresses.values();
            let one = sets.next()?;
            if sets.all(|other| other == one) {
                return None;
            }
            let each: Vec<String> = addresses
                .iter()
                .map(|(source, ips)| {
                    let ips: Vec<String> = ips.iter().map(IpAddr::to_string).collect();
                    format!("{} in ConfigMap {source}", ips.join(", "))
                })
                .collect();
            Some(format!("{name} is {}: all are answered", each.join(" and ")))
        })
        .collect()
}

/// All names of a source, as they are written.
pub fn names<'w>(source: &Source<'w>) -> impl Iterator<Item = &'w str> + use<'w> {
    entries::of_text(source.text.unwrap_or_default()).flat_map(|entry| entry.names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source<'a>(name: &'a str, text: &'a str, is_from_data: bool) -> Source<'a> {
        Source { name, text: Some(text), is_from_data, is_derived: false }
    }

    #[test]
    fn equal_entries_do_not_contradict_each_other() {
        let sample = "172.17.0.80 glance.svc keystone.svc\n172.17.0.81 both\n172.17.0.82 both\n";
        let registered = "172.17.0.80 Glance.svc\nfd00::80 glance.svc\n";
        let sources = [source("allhosts", sample, true), source("dns-svc", registered, true)];
        assert_eq!(contradictions(&sources), [""; 0]);
        let third = source("mine", "172.17.0.90 keystone.svc. other\nhost-ip glance.svc\n", false);
        assert_eq!(
            contradictions(&[sources[0], sources[1], third]),
            [
                "keystone.svc is 172.17.0.80 in ConfigMap allhosts and 172.17.0.90 in ConfigMap mine: all are answered"
            ]
        );
    }

    #[test]
    fn only_what_was_made_by_hand_is_judged_here() {
        let bad = "host-ip-1 a\n10.0.0.1 b b\n";
        let keyless = Source { name: "k", text: None, is_from_data: false, is_derived: false };
        assert_eq!(
            faults(&[source("data", bad, true), source("mine", bad, false), keyless]),
            [
                r#"ConfigMap mine, line 1: "host-ip-1" is not an IP address, so a is not answered"#,
                "ConfigMap mine, line 2: b has 10.0.0.1 already by line 2",
                "ConfigMap k has no key k: names are read from the key that is called like the ConfigMap",
            ]
        );
    }
}
