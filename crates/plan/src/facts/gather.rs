//! From sources to facts: each kind to its reader.

use std::collections::{BTreeSet, HashMap, HashSet};

use landbridge_api::foreign::{
    Trouble, cni, metallb, neutron, nmstate, openstack, service, whereabouts,
};
use landbridge_api::network;
use landbridge_machinery::object;
use serde_json::Value;

use super::network as own;
use super::{
    Advertisement, Attachment, Exposure, Facts, PodAddress, Policy, Pool, Sources, Wanted,
};
use crate::finding::Mark;
use crate::source::{Options, Source};

impl<'a> Sources<'a> {
    /// Finds out which namespace each source is in, and which ones a later one replaces.
    pub fn new(list: &'a [Source<'a>], options: &'a Options) -> Self {
        let own =
            options.namespace.as_deref().or_else(|| only_namespace(list)).unwrap_or("default");
        let namespaces: Vec<&str> = list
            .iter()
            .map(|source| {
                let named = source.object.namespace.as_str();
                if named.is_empty() && is_namespaced(source) { own } else { named }
            })
            .collect();
        let mut last = HashMap::new();
        let mut replaced_by = HashMap::new();
        for (i, source) in list.iter().enumerate() {
            let object = &source.object;
            if object.name.is_empty() {
                continue;
            }
            let key = (object.group(), object.kind.as_str(), namespaces[i], object.name.as_str());
            if let Some(earlier) = last.insert(key, i)
                && !(is_excerpt(source) && is_excerpt(&list[earlier]))
            {
                replaced_by.insert(earlier, i);
            }
        }
        Self { list, namespaces, replaced_by }
    }
}

/// The namespace that all OpenStack objects and attachments that name one are in.
fn only_namespace<'a>(list: &'a [Source<'a>]) -> Option<&'a str> {
    let named = list.iter().filter(|source| {
        let group = source.object.group();
        openstack::is_group(group) || group == cni::GROUP
    });
    let all: BTreeSet<&str> =
        named.map(|source| source.object.namespace.as_str()).filter(|n| !n.is_empty()).collect();
    all.first().copied().filter(|_| all.len() == 1)
}

/// Whether the source shows a part of a service: such parts add up. The kinds that are the plan
/// itself do not: a network that is there twice is two networks.
fn is_excerpt(source: &Source<'_>) -> bool {
    let group = source.object.group();
    source.partial && openstack::is_group(group) && group != network::GROUP
}

fn is_namespaced(source: &Source<'_>) -> bool {
    let group = source.object.group();
    openstack::is_group(group)
        || group == cni::GROUP
        || (group.is_empty() && source.object.kind == "Service")
}

/// Reads all sources.
pub(crate) fn gather<'a>(sources: &Sources<'a>) -> Facts<'a> {
    let mut facts = Facts::default();
    let present = owners(sources);
    for (at, source) in sources.effective() {
        let mut trouble = Trouble::default();
        let namespace = sources.namespaces[at];
        read(&mut facts, at, source, namespace, &present, &mut trouble);
        facts.troubles.extend(trouble.0.into_iter().map(|note| (at, note)));
    }
    for at in sources.replaced_by.keys() {
        let source = &sources.list[*at];
        if source.object.group() == nmstate::GROUP && source.object.kind == nmstate::KIND {
            let wants = nmstate::read(source.value, &mut Trouble::default());
            facts.replaced_policies.push(Policy { source: *at, name: &source.object.name, wants });
        }
    }
    facts
}

type Owner<'a> = (&'a str, &'a str, &'a str);

/// All objects by kind, namespace and name, as owner references name them.
fn owners<'a>(sources: &Sources<'a>) -> HashSet<Owner<'a>> {
    let refs = sources.effective().map(|(at, source)| {
        (source.object.kind.as_str(), sources.namespaces[at], source.object.name.as_str())
    });
    refs.collect()
}

/// Whether the object was made from another one that is here, too, and so only repeats it.
fn is_derived(value: &Value, namespace: &str, present: &HashSet<Owner<'_>>) -> bool {
    object::owner_references(value).iter().any(|owner| {
        let part = |field: &str| owner[field].as_str().unwrap_or_default();
        present.contains(&(part("kind"), namespace, part("name")))
    })
}

fn read<'a>(
    facts: &mut Facts<'a>,
    at: usize,
    source: &'a Source<'a>,
    namespace: &'a str,
    present: &HashSet<Owner<'_>>,
    trouble: &mut Trouble,
) {
    let (value, name) = (source.value, source.object.name.as_str());
    match (source.object.group(), source.object.kind.as_str()) {
        (network::GROUP, "NetConfig") => own::netconfig(facts, at, value, namespace),
        (network::GROUP, "IPSet") => own::ipset(facts, at, value, namespace, name),
        (network::GROUP, "Reservation") => own::reservation(facts, at, value, namespace, name),
        (network::GROUP, "DNSData") => own::dnsdata(facts, at, value, namespace),
        (cni::GROUP, cni::KIND) => {
            facts.attachment_names.push((namespace, name));
            let conf = cni::read(value, trouble);
            let attachment = conf.map(|conf| Attachment { source: at, namespace, name, conf });
            facts.attachments.extend(attachment);
        }
        (whereabouts::GROUP, whereabouts::KIND) => {
            let Some(pool) = whereabouts::read(value, trouble) else { return };
            let prefix = pool.range.value;
            facts.pod_addresses.extend(pool.allocations.into_iter().map(|(address, pod)| {
                PodAddress {
                    mark: Mark::new(at, &address.place),
                    prefix,
                    address: address.value,
                    pod,
                }
            }));
        }
        (nmstate::GROUP, nmstate::KIND) => {
            let wants = nmstate::read(value, trouble);
            facts.policies.push(Policy { source: at, name, wants });
        }
        (metallb::GROUP, "IPAddressPool") => {
            let metallb::IPAddressPool { ranges, avoid_buggy_ips } = metallb::pool(value, trouble);
            facts.pools.push(Pool { source: at, name, ranges, avoid_buggy_ips });
        }
        (metallb::GROUP, "L2Advertisement") => {
            let l2 = metallb::l2_advertisement(value, trouble);
            facts.advertisements.push(Advertisement { source: at, l2 });
        }
        (metallb::GROUP, "BGPAdvertisement") => facts.bgp = true,
        ("", "Service") if !is_derived(value, namespace, present) => {
            let exposure = service::read(value, trouble);
            facts.exposures.extend(exposure.map(|found| exposed(at, namespace, found)));
        }
        (group, _) if openstack::is_group(group) => {
            // What is wrong with our own kinds, their schema says.
            let mut ignored = Trouble::default();
            let trouble = if group == network::GROUP { &mut ignored } else { trouble };
            let found = openstack::read(value, trouble);
            if !is_derived(value, namespace, present) {
                let exposed =
                    found.exposures.into_iter().map(|found| exposed(at, namespace, found));
                facts.exposures.extend(exposed);
                let wanted = found.attachments.into_iter();
                facts.wanted.extend(wanted.map(|name| Wanted { source: at, namespace, name }));
            }
            let mappings = found.nic_mappings.into_iter();
            facts.nic_mappings.extend(mappings.map(|(net, nic)| (namespace, net, nic.value)));
        }
        ("", "") => facts.neutron.extend(neutron::read(value, trouble).map(|found| (at, found))),
        _ => {}
    }
}

fn exposed<'a>(at: usize, namespace: &'a str, found: openstack::Exposure<'a>) -> Exposure<'a> {
    let openstack::Exposure { service, ports, wish, load_balancer } = found;
    Exposure { source: at, namespace, service, ports, wish, load_balancer }
}
