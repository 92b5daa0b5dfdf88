//! IPSets as host names of their networks' DNS domains, for whoever asks for it.
//!
//! `landbridge.dev/publish-ipsets` on a DNSMasq says which networks: `true` for all, or their names.

use std::collections::{BTreeMap, HashSet};

use landbridge_machinery::object;
use serde_json::{Value, json};

use super::digest::digest;
use super::entries::folded;
use super::sources::{Source, names};
use crate::making::kinds::Kind;
use crate::making::world::World;

/// The annotation of a DNSMasq.
pub const ANNOTATION: &str = "landbridge.dev/publish-ipsets";
/// So many entries are in one DNSData; an object may not grow past 1 MiB.
const MOST: usize = 4000;
/// The service network on which a node is also known by its full name.
const CTLPLANE: &str = "ctlplane";

/// Which networks are asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// None.
    Nothing,
    /// All that have a domain.
    All,
    /// These, in lower case.
    Networks(Vec<String>),
}

/// Reads the annotation.
pub fn asked(server: &Value) -> Asked {
    match object::annotation(server, ANNOTATION).map(str::trim) {
        None | Some("" | "false") => Asked::Nothing,
        Some("true") => Asked::All,
        Some(list) => {
            Asked::Networks(list.split(',').map(|name| name.trim().to_ascii_lowercase()).collect())
        }
    }
}

/// Whether two states of an IPSet are published alike.
pub fn is_alike(before: Option<&Value>, after: Option<&Value>) -> bool {
    fn part(ipset: Option<&Value>) -> Option<[&Value; 2]> {
        let ipset = ipset.filter(|ipset| !object::is_terminating(ipset))?;
        Some([&ipset["status"]["reservations"], &ipset["metadata"]["labels"]])
    }
    part(before) == part(after)
}

/// What is published.
#[derive(Debug, Default, PartialEq)]
pub struct Published {
    /// Name of the DNSData, and its `spec.hosts`.
    pub data: BTreeMap<String, Vec<Value>>,
    /// What could not be published, and why.
    pub faults: Vec<String>,
}

/// What is published for a name server. Names that another source has are not published again: a
/// node set has a DNSData of its own.
pub fn published(world: &World, server: &Value, sources: &[Source<'_>]) -> Published {
    let mut found = Published::default();
    let asked = asked(server);
    if asked == Asked::Nothing {
        return found;
    }
    let base = format!("{}-ipsets", object::name(server));
    let others = sources.iter().filter(|source| !source.is_derived);
    let known: HashSet<_> = others.flat_map(names).map(folded).collect();
    let mut hosts: Vec<(&str, Value)> = Vec::new();
    let mut wanted: Vec<&str> = match &asked {
        Asked::Networks(list) => list.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let mut without: BTreeMap<&str, usize> = BTreeMap::new();
    for ipset in world.list(Kind::IPSet, object::namespace(server)) {
        if object::is_terminating(ipset) {
            continue;
        }
        let name = object::name(ipset);
        for reservation in ipset["status"]["reservations"].as_array().into_iter().flatten() {
            let part = |field: &str| reservation[field].as_str().unwrap_or_default();
            let (network, service) = (part("network"), part("serviceNetwork"));
            if let Asked::Networks(list) = &asked {
                let is_it = |asked: &str| {
                    network.eq_ignore_ascii_case(asked) || service.eq_ignore_ascii_case(asked)
                };
                wanted.retain(|asked| !is_it(asked));
                if !list.iter().any(|asked| is_it(asked)) {
                    continue;
                }
            }
            let domain = part("dnsDomain");
            if domain.is_empty() {
                *without.entry(network).or_default() += 1;
                continue;
            }
            let mut names = names_of(ipset, service, domain);
            names.retain(|name| !known.contains(&folded(name)));
            if !names.is_empty() {
                hosts.push((name, json!({"ip": part("address"), "hostnames": names})));
            }
        }
    }
    for (network, count) in without {
        found.faults.push(format!(
            "network {network} has no dnsDomain in the NetConfig, so its addresses of {count} IPSets get no names"
        ));
    }
    for network in wanted {
        found.faults.push(format!(
            "annotation {ANNOTATION} names {network:?}, and no IPSet has an address there"
        ));
    }
    found.data = distributed(&base, hosts);
    found
}

/// The names of one address: under the domain of the network, and on the control plane's network the
/// full name of a node that has one.
fn names_of(ipset: &Value, service: &str, domain: &str) -> Vec<String> {
    let full = object::name(ipset);
    let short = full.split('.').next().unwrap_or(full);
    let mut names = vec![format!("{short}.{domain}")];
    // What follows the dot of a pod's IPSet is an interface.
    let is_pod = ipset["metadata"]["labels"].get("landbridge.dev/attachment").is_some();
    if service.eq_ignore_ascii_case(CTLPLANE) && full != short && !is_pod && names[0] != full {
        names.push(full.to_owned());
    }
    names
}

/// Puts the entries into as many DNSData as needed. Who is in which does not depend on the others, as long
/// as their number stays about the same.
fn distributed(base: &str, hosts: Vec<(&str, Value)>) -> BTreeMap<String, Vec<Value>> {
    let count = hosts.len().div_ceil(MOST).max(1);
    // Not all are equally full.
    let count = if count == 1 { 1 } else { (count * 2).next_power_of_two() };
    let mut data: BTreeMap<String, Vec<Value>> = BTreeMap::from([(base.to_owned(), Vec::new())]);
    for (name, host) in hosts {
        let bucket = match count {
            1 => 0,
            _ => digest([name]).bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % count),
        };
        let name = if bucket == 0 { base.to_owned() } else { format!("{base}-{bucket}") };
        data.entry(name).or_default().push(host);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_says_which_networks() {
        let server = |value: Value| json!({"metadata": {"annotations": {ANNOTATION: value}}});
        assert_eq!(asked(&json!({})), Asked::Nothing);
        assert_eq!(asked(&server("false".into())), Asked::Nothing);
        assert_eq!(asked(&server("true".into())), Asked::All);
        let list = Asked::Networks(vec!["internalapi".to_owned(), "tenant".to_owned()]);
        assert_eq!(asked(&server("InternalApi, tenant".into())), list);
    }

    #[test]
    fn many_are_distributed_and_mostly_stay_where_they_are() {
        let names: Vec<String> = (0..20_000).map(|n| format!("compute-{n}")).collect();
        let hosts = |count: usize| {
            names[..count].iter().map(|name| (&**name, Value::from(&**name))).collect()
        };
        assert_eq!(distributed("dns-ipsets", hosts(MOST)).len(), 1);
        let many = distributed("dns-ipsets", hosts(19_999));
        assert_eq!(many.values().map(Vec::len).sum::<usize>(), 19_999);
        assert!(many.values().all(|hosts| hosts.len() < 2 * MOST), "none grows too large");
        let one_more = distributed("dns-ipsets", hosts(20_000));
        let changed = many.iter().filter(|(name, hosts)| one_more[*name] != **hosts);
        assert_eq!(changed.count(), 1);
    }
}
