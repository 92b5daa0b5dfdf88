//! Which services would get which virtual address: the rules of allocation, tried on the sources.
//!
//! Services that have an address come first, then those that ask for one in particular, then the
//! others; of each the first by name. A cluster serves them as they come, so an address that nobody
//! asks for may turn out another.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use landbridge_addr::net::Family;
use landbridge_vips::asked::Families;
use landbridge_vips::{Allocator, Asked, Config, Namespace, Port, Sharing, converge};
use serde::Serialize;
use serde_json::Value;

use crate::facts::{Exposure, Facts, Sources};

/// A virtual address, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualAddress {
    /// The address.
    pub address: IpAddr,
    /// The pool it is of.
    pub pool: String,
    /// The key under which it is shared, if it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing_key: Option<String>,
    /// Who uses it.
    pub services: Vec<Balanced>,
}

/// A service behind a virtual address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Balanced {
    /// `namespace/name`.
    pub service: String,
    /// `TCP/80`.
    pub ports: Vec<String>,
}

/// A service that would stay without an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// `namespace/name`.
    pub service: String,
    /// `TCP/80`.
    pub ports: Vec<String>,
    /// Why.
    pub why: String,
}

/// Tries it. Nothing comes of it when there are no pools, or when they do not fit together.
pub(crate) fn preview(
    facts: &Facts<'_>,
    sources: &Sources<'_>,
) -> (Vec<VirtualAddress>, Vec<Pending>) {
    let Some(config) = config(facts, sources) else { return Default::default() };
    let mut allocator = Allocator::default();
    allocator.configure(config);
    let mut asking = asking(facts, sources);
    asking.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut found: BTreeMap<IpAddr, VirtualAddress> = BTreeMap::new();
    let mut pending = Vec::new();
    for (_, asked) in asking {
        let outcome = converge(&mut allocator, &asked, &[]);
        let service = asked.name.to_string();
        let ports: Vec<String> = asked.ports.iter().map(text).collect();
        let Some(given) = outcome.given else {
            let why = outcome.said.last().map_or_else(String::new, |said| said.note.clone());
            pending.push(Pending { service, ports, why: bare(&why) });
            continue;
        };
        for address in given.addresses {
            allocator.occupy(address, &asked.name, &asked.sharing, &asked.ports);
            let key = Some(asked.sharing.key.clone()).filter(|key| !key.is_empty());
            let entry = found.entry(address).or_insert_with(|| VirtualAddress {
                address,
                pool: given.pool.to_string(),
                sharing_key: key,
                services: Vec::new(),
            });
            entry.services.push(Balanced { service: service.clone(), ports: ports.clone() });
        }
    }
    let mut found: Vec<VirtualAddress> = found.into_values().collect();
    for address in &mut found {
        address.services.sort_by(|a, b| a.service.cmp(&b.service));
    }
    (found, pending)
}

/// Without who it is about: that stands beside it.
fn bare(why: &str) -> String {
    match why.strip_prefix("Failed to allocate IP for ").and_then(|rest| rest.split_once(": ")) {
        Some((_, reason)) => reason.to_owned(),
        None => why.to_owned(),
    }
}

fn text(port: &Port) -> String {
    format!("{}/{}", port.protocol, port.number)
}

pub(crate) fn config(facts: &Facts<'_>, sources: &Sources<'_>) -> Option<Config> {
    let namespaces: Vec<Namespace> = sources
        .list
        .iter()
        .filter(|source| source.object.kind == "Namespace")
        .map(|source| Namespace { name: source.object.name.clone(), labels: labels(source.value) })
        .collect();
    let pools =
        facts.pools.iter().map(|pool| (pool.name, &sources.list[pool.source].value["spec"]));
    let config = Config::read(pools, &namespaces).ok()?;
    (!config.is_empty()).then_some(config)
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
}

/// Everybody who asks, with the order in which they are served. Of several objects that describe one
/// service the first counts.
fn asking(facts: &Facts<'_>, sources: &Sources<'_>) -> Vec<((u8, String), Asked)> {
    let mut seen = HashSet::new();
    let balanced = facts.exposures.iter().filter(|exposure| exposure.load_balancer);
    balanced
        .filter(|exposure| seen.insert((exposure.namespace, exposure.service.as_str())))
        .map(|exposure| {
            let value = sources.list[exposure.source].value;
            let asked = asked(exposure, value);
            let has = !value["status"]["loadBalancer"]["ingress"].is_null();
            let names = asked.addresses.as_ref().is_ok_and(|list| !list.is_empty());
            let turn = if has { 0 } else { u8::from(!names) + 1 };
            ((turn, asked.name.to_string()), asked)
        })
        .collect()
}

/// The rules' view of a service.
pub(crate) fn asked(exposure: &Exposure<'_>, value: &Value) -> Asked {
    let texts: Vec<&str> = exposure.wish.addresses.iter().map(|text| text.value).collect();
    let list = texts.join(",");
    let addresses = landbridge_vips::asked::addresses(Some(&list), None);
    let is_service = value["kind"] == "Service";
    let spec = &value["spec"];
    let families = families(spec, addresses.as_deref().unwrap_or_default());
    let mut ports = exposure.ports.clone();
    ports.sort_unstable();
    ports.dedup();
    Asked {
        name: format!("{}/{}", exposure.namespace, exposure.service).into(),
        namespace: exposure.namespace.into(),
        labels: if is_service { labels(value) } else { BTreeMap::new() },
        families: Ok(families),
        pool: exposure.wish.pool.as_ref().map(|pool| pool.value.to_owned()),
        addresses,
        sharing: Sharing {
            key: exposure.wish.sharing_key.unwrap_or_default().to_owned(),
            backend: if is_service { backend(spec) } else { String::new() },
        },
        ports,
    }
}

/// The pods behind a Service whose traffic stays on the node it arrives at.
pub(crate) fn backend(spec: &Value) -> String {
    if spec["externalTrafficPolicy"] != "Local" {
        return String::new();
    }
    let selector = spec["selector"].as_object().into_iter().flatten();
    let parts: Vec<String> =
        selector.map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect();
    parts.join(",")
}

/// Manifests name no cluster IPs: the addresses that are asked for tell the families, or the policy.
fn families(spec: &Value, addresses: &[IpAddr]) -> Families {
    match addresses {
        [one] => return Families::One(Family::of(*one)),
        [_, _] => return Families::Both,
        _ => {}
    }
    let first = if spec["ipFamilies"][0] == "IPv6" { Family::V6 } else { Family::V4 };
    match spec["ipFamilyPolicy"].as_str() {
        Some("RequireDualStack") => Families::Both,
        Some("PreferDualStack") => Families::Rather(first),
        _ => Families::One(first),
    }
}
