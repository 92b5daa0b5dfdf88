//! Who needs a look when something changes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use landbridge_controllers::mirror::Key;

use super::Item;
use crate::endpoint_slices;
use crate::labels::owns;
use crate::placement;
use crate::pods;
use crate::world::{Changed, LEASES, World, controller};

/// Adds everybody whom the change concerns.
pub(super) fn concerned(world: &World, change: &Changed, items: &mut BTreeSet<Item>) {
    match change {
        Changed::Deployment(key) => {
            items.insert(Item::Deployment(key.clone()));
        }
        Changed::StatefulSet(key) => {
            items.insert(Item::StatefulSet(key.clone()));
        }
        Changed::DaemonSet(key) => {
            items.insert(Item::DaemonSet(key.clone()));
        }
        Changed::ReplicaSet(key, before, after) => {
            items.insert(Item::ReplicaSet(key.clone()));
            for set in [before, after].into_iter().flatten() {
                match controller(&set.metadata) {
                    Some(owner) => items.extend(item_of(owner, &key.namespace)),
                    None => adopters_of_set(world, key, &set.metadata, items),
                }
            }
        }
        Changed::Revision(key, before, after) => {
            for revision in [before, after].into_iter().flatten() {
                let owner = controller(&revision.metadata);
                items.extend(owner.and_then(|owner| item_of(owner, &key.namespace)));
            }
        }
        Changed::Pod(key, before, after) => {
            for pod in [before, after].into_iter().flatten() {
                pod_concerns(world, key, pod, after.is_none(), items);
                if endpoint_slices::facts(before.as_deref())
                    != endpoint_slices::facts(after.as_deref())
                {
                    items.extend(world.services_of(pod).cloned().map(Item::Service));
                }
            }
            let lost = |pod: &Pod| pods::is_leaving(pod) && pods::node(pod).is_none();
            if after.as_deref().is_some_and(lost) {
                items.insert(Item::Lost(key.clone()));
            }
            if world.unscheduled().next().is_some() {
                items.insert(Item::Schedule);
            }
        }
        Changed::Node(key, before, after) => {
            items.insert(Item::Node(key.name.clone()));
            items.insert(Item::Cidrs);
            if facts(before.as_deref()) != facts(after.as_deref()) {
                items.extend(world.daemon_sets().cloned().map(Item::DaemonSet));
                if world.unscheduled().next().is_some() {
                    items.insert(Item::Schedule);
                }
            }
        }
        Changed::Service(key) => {
            items.insert(Item::Service(key.clone()));
        }
        Changed::Slice(key, before, after) => {
            for slice in [before, after].into_iter().flatten() {
                let service = endpoint_slices::service_of(&slice.metadata);
                items.extend(service.map(|name| Item::Service(Key::new(&key.namespace, name))));
            }
        }
        Changed::Lease(key) => {
            if *key.namespace == *LEASES {
                items.insert(Item::Node(key.name.clone()));
            }
        }
    }
}

/// What about a node matters to pods. Its heartbeats do not.
fn facts(node: Option<&Node>) -> Option<impl PartialEq> {
    let node = node?;
    let status = node.status.as_ref();
    Some((
        node.metadata.uid.clone(),
        node.metadata.labels.clone(),
        placement::taints(node).to_vec(),
        placement::is_closed(node),
        placement::is_ready(node),
        status.and_then(|status| status.allocatable.clone()),
    ))
}

fn pod_concerns(world: &World, key: &Key, pod: &Pod, gone: bool, items: &mut BTreeSet<Item>) {
    match controller(&pod.metadata) {
        Some(owner) => {
            items.extend(item_of(owner, &key.namespace));
            // Recreate waits until the last pod is gone, which no ReplicaSet tells.
            if gone && owner.kind == "ReplicaSet" {
                let set = world.replica_set(&Key::new(&key.namespace, &owner.name));
                let owner = set.and_then(|set| controller(&set.metadata));
                items.extend(owner.and_then(|owner| item_of(owner, &key.namespace)));
            }
        }
        None => adopters_of_pod(world, key, pod, items),
    }
    if let Some(node) = pods::node(pod) {
        let strict = |node: &Node| placement::taints(node).iter().any(|t| t.effect == "NoExecute");
        if world.node(node).is_none_or(|node| strict(node)) {
            items.insert(Item::Node(node.into()));
        }
    }
    // A name that a StatefulSet waits for may have become free.
    if gone && let Some((set, _)) = key.name.rsplit_once('-') {
        items.insert(Item::StatefulSet(Key::new(&key.namespace, set)));
    }
}

fn item_of(owner: &OwnerReference, namespace: &str) -> Option<Item> {
    let key = Key::new(namespace, &owner.name);
    match owner.kind.as_str() {
        "Deployment" => Some(Item::Deployment(key)),
        "ReplicaSet" => Some(Item::ReplicaSet(key)),
        "StatefulSet" => Some(Item::StatefulSet(key)),
        "DaemonSet" => Some(Item::DaemonSet(key)),
        _ => None,
    }
}

fn adopters_of_pod(world: &World, key: &Key, pod: &Pod, items: &mut BTreeSet<Item>) {
    let labels = pod.metadata.labels.as_ref();
    if labels.is_none_or(std::collections::BTreeMap::is_empty) {
        return;
    }
    let all = world.adopters(&key.namespace);
    let selector = |set: &k8s_openapi::api::apps::v1::ReplicaSet| {
        set.spec.as_ref().is_some_and(|spec| owns(&spec.selector, labels))
    };
    let sets = all.replica_sets.iter().filter(|(_, set)| selector(set));
    items.extend(sets.map(|(key, _)| Item::ReplicaSet((*key).clone())));
    for (key, set) in all.stateful_sets {
        if set.spec.as_ref().is_some_and(|spec| owns(&spec.selector, labels)) {
            items.insert(Item::StatefulSet(key.clone()));
        }
    }
    for (key, set) in all.daemon_sets {
        if set.spec.as_ref().is_some_and(|spec| owns(&spec.selector, labels)) {
            items.insert(Item::DaemonSet(key.clone()));
        }
    }
}

fn adopters_of_set(world: &World, key: &Key, set: &ObjectMeta, items: &mut BTreeSet<Item>) {
    for (key, deployment) in world.adopters(&key.namespace).deployments {
        let spec = deployment.spec.as_ref();
        if spec.is_some_and(|spec| owns(&spec.selector, set.labels.as_ref())) {
            items.insert(Item::Deployment(key.clone()));
        }
    }
}
