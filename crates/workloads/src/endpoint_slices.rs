//! EndpointSlices: which pods stand behind a Service.
//!
//! A slice holds endpoints of one family with one set of ports, at most [`MOST`]. An endpoint stays in
//! the slice it is in, so that a pod that comes, goes or becomes ready costs one write. Slices that
//! somebody else made (another `managed-by`), and Services without a selector, are left alone.

mod wanted;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use landbridge_controllers::mirror::Key;
use serde_json::json;

pub use self::wanted::{Facts, facts};

use self::wanted::{Family, Group};
use crate::action::{Decision, Kind, Verb};
use crate::labels::Labels;
use crate::template::{Hash, generated_name};
use crate::world::{World, key_of, uid};

/// So many endpoints a slice holds, as upstream.
pub const MOST: usize = 100;
/// Whose endpoints a slice holds.
pub const SERVICE: &str = "kubernetes.io/service-name";
/// Who writes a slice.
pub const MANAGER: &str = "endpointslice.kubernetes.io/managed-by";
/// Us, in upstream's words: whoever looks for the slices of Services looks for this.
pub const OURS: &str = "endpointslice-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// The Service a slice says it is of.
pub fn service_of(meta: &ObjectMeta) -> Option<&str> {
    meta.labels.as_ref()?.get(SERVICE).map(String::as_str)
}

/// What is to be written for a Service.
pub fn decide(world: &World, key: &Key) -> Decision {
    let mut decision = Decision::default();
    let Some(service) = world.service(key) else { return decision };
    // Slices of a Service that goes are collected with it.
    if service.metadata.deletion_timestamp.is_some() {
        return decision;
    }
    let Some(mut groups) = wanted::groups(world, service) else { return decision };
    let labels = labels(service);
    for family in wanted::families(service) {
        let groups = groups.remove(&family).unwrap_or_default();
        let own = world.slices_of(key).filter(|slice| is_own(slice, service));
        let slices: Vec<&Arc<EndpointSlice>> =
            own.filter(|slice| slice.address_type == family.word()).collect();
        decide_family(world, service, &labels, family, groups, &slices, &mut decision);
    }
    // A family that the Service gave up.
    let given_up = |slice: &&Arc<EndpointSlice>| {
        is_own(slice, service)
            && !wanted::families(service).iter().any(|f| f.word() == slice.address_type)
    };
    for slice in world.slices_of(key).filter(given_up) {
        delete(slice, &mut decision);
    }
    decision
}

fn is_own(slice: &EndpointSlice, service: &Service) -> bool {
    let manager = slice.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGER));
    manager.is_some_and(|manager| manager == OURS)
        && slice.metadata.deletion_timestamp.is_none()
        && slice
            .metadata
            .owner_references
            .iter()
            .flatten()
            .any(|owner| owner.uid == uid(&service.metadata))
}

fn labels(service: &Service) -> Labels {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    labels.insert(SERVICE.to_owned(), service.metadata.name.clone().unwrap_or_default());
    labels.insert(MANAGER.to_owned(), OURS.to_owned());
    if wanted::is_headless(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels
}

fn decide_family(
    world: &World,
    service: &Service,
    labels: &Labels,
    family: Family,
    mut groups: Vec<Group>,
    slices: &[&Arc<EndpointSlice>],
    decision: &mut Decision,
) {
    if groups.is_empty() {
        // Upstream keeps one empty slice: whoever waits for the Service sees that there is nobody.
        groups.push(Group::default());
    }
    let mut left: Vec<&Arc<EndpointSlice>> = slices.to_vec();
    let mut filled: Vec<Filled<'_>> = Vec::new();
    for group in &groups {
        let fits = |slice: &&Arc<EndpointSlice>| ports_of(slice) == group.ports;
        let (mut fitting, others): (Vec<_>, Vec<_>) = left.into_iter().partition(fits);
        left = others;
        if fitting.is_empty() {
            // An empty slice says nothing about its ports: it may get others. So may any slice of a
            // Service that has lost all its endpoints.
            let free = |slice: &&Arc<EndpointSlice>| {
                slice.endpoints.is_empty() || group.endpoints.is_empty()
            };
            if let Some(at) = left.iter().position(free) {
                fitting.push(left.remove(at));
            }
        }
        filled.push(fill(group, &fitting));
    }
    for slice in left.into_iter().chain(filled.iter().flat_map(|filled| filled.gone.clone())) {
        delete(slice, decision);
    }
    let mut taken = HashSet::new();
    for draft in filled.into_iter().flat_map(|filled| filled.drafts) {
        if let Some(slice) = draft.slice {
            change(slice, labels, &draft, decision);
        } else {
            let key = new_name(world, service, family, &mut taken);
            create(&key, service, labels, family, draft, decision);
        }
    }
}

fn ports_of(slice: &EndpointSlice) -> Vec<EndpointPort> {
    slice.ports.clone().unwrap_or_default()
}

/// A slice as it is to be; without `slice`, a new one.
struct Draft<'a> {
    slice: Option<&'a Arc<EndpointSlice>>,
    ports: Vec<EndpointPort>,
    endpoints: Vec<Endpoint>,
}

/// The slices of one group as they are to be, and those that are empty now.
struct Filled<'a> {
    drafts: Vec<Draft<'a>>,
    gone: Vec<&'a Arc<EndpointSlice>>,
}

/// Puts the endpoints of a group into slices: first those that are there, where they are; then new
/// ones, into slices that are written anyway, then into the fullest with room, then into new slices.
fn fill<'a>(group: &Group, slices: &[&'a Arc<EndpointSlice>]) -> Filled<'a> {
    let mut wanted: BTreeMap<&str, &Endpoint> =
        group.endpoints.iter().map(|(id, endpoint)| (id.as_str(), endpoint)).collect();
    let mut drafts: Vec<Draft<'a>> = Vec::new();
    for slice in slices {
        let kept = slice.endpoints.iter().filter_map(|old| wanted.remove(wanted::id(old)));
        let endpoints: Vec<Endpoint> = kept.cloned().collect();
        drafts.push(Draft { slice: Some(slice), ports: group.ports.clone(), endpoints });
    }
    let mut new: Vec<Endpoint> = wanted.into_values().cloned().collect();
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by_key(|at| {
        let draft = &drafts[*at];
        (!differs(draft), std::cmp::Reverse(draft.endpoints.len()), *at)
    });
    for at in order {
        let endpoints = &mut drafts[at].endpoints;
        let room = MOST.saturating_sub(endpoints.len()).min(new.len());
        endpoints.extend(new.drain(..room));
    }
    while !new.is_empty() || drafts.is_empty() {
        let endpoints = new.drain(..new.len().min(MOST)).collect();
        drafts.push(Draft { slice: None, ports: group.ports.clone(), endpoints });
    }
    // Of a group without endpoints one slice stays; of any other, no empty one.
    let mut spare = group.endpoints.is_empty();
    let stays = |draft: &Draft<'a>| !draft.endpoints.is_empty() || std::mem::take(&mut spare);
    let (drafts, empty): (Vec<_>, Vec<_>) = drafts.into_iter().partition(stays);
    Filled { drafts, gone: empty.into_iter().filter_map(|draft| draft.slice).collect() }
}

fn differs(draft: &Draft<'_>) -> bool {
    draft.slice.is_none_or(|slice| slice.endpoints != draft.endpoints)
}

fn create(
    key: &Key,
    service: &Service,
    labels: &Labels,
    family: Family,
    draft: Draft<'_>,
    decision: &mut Decision,
) {
    let slice = EndpointSlice {
        metadata: ObjectMeta {
            name: Some(key.name.to_string()),
            namespace: service.metadata.namespace.clone(),
            generate_name: service.metadata.name.as_ref().map(|name| format!("{name}-")),
            labels: Some(labels.clone()),
            owner_references: Some(vec![owner(service)]),
            ..ObjectMeta::default()
        },
        address_type: family.word().to_owned(),
        endpoints: draft.endpoints,
        ports: Some(draft.ports),
    };
    decision.push(Kind::EndpointSlice, key, Verb::Create(json!(slice)));
}

fn change(slice: &EndpointSlice, labels: &Labels, draft: &Draft<'_>, decision: &mut Decision) {
    let mut patch = json!({"metadata": {
        "uid": uid(&slice.metadata),
        "resourceVersion": slice.metadata.resource_version,
    }});
    let new_labels = slice.metadata.labels.as_ref() != Some(labels);
    let new_ports = !draft.endpoints.is_empty() && ports_of(slice) != draft.ports;
    if !differs(draft) && !new_labels && !new_ports {
        return;
    }
    if differs(draft) {
        patch["endpoints"] = json!(draft.endpoints);
    }
    if new_ports {
        patch["ports"] = json!(draft.ports);
    }
    if new_labels {
        let mut all = json!(labels);
        for (name, _) in slice.metadata.labels.iter().flatten() {
            if !labels.contains_key(name) {
                all[name] = serde_json::Value::Null;
            }
        }
        patch["metadata"]["labels"] = all;
    }
    decision.push(Kind::EndpointSlice, &key_of(&slice.metadata), Verb::Patch(patch));
}

fn delete(slice: &EndpointSlice, decision: &mut Decision) {
    let verb = Verb::Delete { uid: uid(&slice.metadata).to_owned(), now: false };
    decision.push(Kind::EndpointSlice, &key_of(&slice.metadata), verb);
}

/// A name that is free. Whoever sees the same slices finds the same names: deciding again after a
/// crash makes no second slice.
fn new_name(world: &World, service: &Service, family: Family, taken: &mut HashSet<Key>) -> Key {
    let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let seed = Hash::default().with(uid(&service.metadata)).with(family.word());
    let mut number = 0_u32;
    loop {
        let key = Key::new(namespace, &generated_name(name, seed.with(&number.to_string())));
        number += 1;
        if world.slice(&key).is_none() && taken.insert(key.clone()) {
            return key;
        }
    }
}

fn owner(service: &Service) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Service".to_owned(),
        name: service.metadata.name.clone().unwrap_or_default(),
        uid: uid(&service.metadata).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
