//! So many pods, and which go first.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use landbridge_controllers::mirror::Key;
use serde_json::json;

use crate::action::{Decision, Kind, Notice, Verb};
use crate::labels::Labels;
use crate::pods::{self, Owner};
use crate::template::{self, Hash};
use crate::world::{World, controller, key_of, uid};

/// What is to be done for a ReplicaSet; at most `room` pods are made or deleted at once.
pub fn decide(world: &World, key: &Key, now: Timestamp, room: usize) -> Decision {
    let mut decision = Decision::default();
    let Some(set) = world.replica_set(key) else { return decision };
    let Some(spec) = &set.spec else { return decision };
    let owner = Owner { kind: Kind::ReplicaSet, meta: &set.metadata, selector: &spec.selector };
    owner.claim_pods(world, &mut decision);
    let claims = !decision.actions.is_empty();
    let pods: Vec<&Arc<Pod>> =
        world.pods_of(uid(&set.metadata)).filter(|pod| pods::is_active(pod)).collect();
    // Who belongs to whom is settled first: then one can count.
    if !claims && set.metadata.deletion_timestamp.is_none() {
        scale(world, set, &owner, &pods, room, &mut decision);
    }
    status(set, &pods, now, &mut decision);
    decision
}

fn scale(
    world: &World,
    set: &ReplicaSet,
    owner: &Owner<'_>,
    pods: &[&Arc<Pod>],
    room: usize,
    decision: &mut Decision,
) {
    let Some(spec) = &set.spec else { return };
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let notice = |reason, note| Notice {
        kind: Kind::ReplicaSet,
        key: key_of(&set.metadata),
        uid: uid(&set.metadata).to_owned(),
        warning: false,
        reason,
        note,
    };
    if pods.len() < wanted {
        let template = spec.template.clone().unwrap_or_default();
        // Whoever sees the same pods makes the same names.
        let me = uid(&set.metadata);
        let mut seen: Vec<&str> = world.pods_of(me).map(|pod| uid(&pod.metadata)).collect();
        seen.sort_unstable();
        let seed = Hash::default().with(me).with(world.last_gone(me));
        let seed = seen.iter().fold(seed, |seed, uid| seed.with(uid));
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let candidates = (0..2 * wanted).map(|number| {
            let name = template::generated_name(name, seed.with(&number.to_string()));
            Key::new(namespace, &name)
        });
        let names = candidates.filter(|key| world.pod(key).is_none());
        for key in names.take((wanted - pods.len()).min(room)) {
            let pod = template::pod(owner, &template, &key.name);
            let action = decision.push(Kind::Pod, &key, Verb::Create(json!(pod)));
            let note = format!("Created pod: {}", key.name);
            action.notice = Some(notice("SuccessfulCreate", note));
        }
    } else {
        for pod in victims(world, set, pods, pods.len() - wanted).into_iter().take(room) {
            let key = key_of(&pod.metadata);
            let action = decision.push(Kind::Pod, &key, pods::delete(pod, false));
            let note = format!("Deleted pod: {}", key.name);
            action.notice = Some(notice("SuccessfulDelete", note));
        }
    }
}

fn victims<'a>(
    world: &World,
    set: &ReplicaSet,
    pods: &[&'a Arc<Pod>],
    count: usize,
) -> Vec<&'a Pod> {
    if count == 0 {
        return Vec::new();
    }
    // Nodes where pods of the same Deployment crowd give some up first.
    let mut crowds: HashMap<&str, usize> = HashMap::new();
    let siblings: Vec<&Arc<ReplicaSet>> = match controller(&set.metadata) {
        Some(owner) => world.sets_of(&owner.uid).collect(),
        None => Vec::new(),
    };
    let related = siblings.iter().filter(|sibling| sibling.metadata.uid != set.metadata.uid);
    let related = related.flat_map(|sibling| world.pods_of(uid(&sibling.metadata)));
    for pod in related.filter(|pod| pods::is_active(pod)).chain(pods.iter().copied()) {
        if let Some(node) = world.node_of(pod) {
            *crowds.entry(node).or_default() += 1;
        }
    }
    let crowd = |pod| world.node_of(pod).and_then(|node| crowds.get(node)).copied().unwrap_or(0);
    let mut ranked: Vec<(&'a Pod, usize)> = pods.iter().map(|pod| (&***pod, crowd(pod))).collect();
    ranked.sort_by(|a, b| pods::victims_first(*a, *b));
    ranked.into_iter().take(count).map(|(pod, _)| pod).collect()
}

fn status(set: &ReplicaSet, pods: &[&Arc<Pod>], now: Timestamp, decision: &mut Decision) {
    let Some(spec) = &set.spec else { return };
    let template = spec.template.as_ref().and_then(|t| t.metadata.as_ref());
    let wanted: Option<&Labels> = template.and_then(|meta| meta.labels.as_ref());
    let labelled = |pod: &&&Arc<Pod>| {
        let labels = pod.metadata.labels.as_ref();
        wanted.into_iter().flatten().all(|(key, value)| pods::has_label(labels, key, value))
    };
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let mut available = 0;
    for pod in pods {
        available += i32::from(pods::is_available(pod, min_ready, now, Some(&mut *decision)));
    }
    let status = json!({
        "replicas": pods.len(),
        "fullyLabeledReplicas": pods.iter().filter(labelled).count(),
        "readyReplicas": pods.iter().filter(|pod| pods::is_ready(pod)).count(),
        "availableReplicas": available,
        "observedGeneration": set.metadata.generation.unwrap_or(0),
    });
    let before = set.status.as_ref().map(|status| json!(status));
    decision.actions.extend(pods::status_if_new(Kind::ReplicaSet, &set.metadata, before, &status));
}
