//! Numbers of templates, and how many old ones are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use serde_json::json;

use super::{DESIRED, MAXIMUM, REVISION, View, action, annotation, replicas};
use crate::action::{Decision, Kind, Verb};
use crate::world::{key_of, uid};

const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// What a ReplicaSet does not take over from its Deployment.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
];

fn of(set: &ReplicaSet) -> i64 {
    annotation(set, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The highest number given so far.
pub(super) fn highest(sets: &[&Arc<ReplicaSet>]) -> i64 {
    sets.iter().map(|set| of(set)).max().unwrap_or(0)
}

/// What a ReplicaSet takes over from its Deployment.
pub(super) fn inherited(view: &View<'_>) -> BTreeMap<String, String> {
    let annotations = view.deployment.metadata.annotations.iter().flatten();
    annotations
        .filter(|(key, _)| !OWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The ReplicaSet of the template of now has the highest number, which the Deployment tells.
/// Whether it was so.
pub(super) fn keep(view: &View<'_>, decision: &mut Decision) -> bool {
    let Some(new) = view.new else { return true };
    let before = of(new);
    let mut number = highest(&view.old) + 1;
    if before >= number {
        number = before;
    }
    let mut annotations = inherited(view);
    annotations.retain(|key, value| annotation(new, key) != Some(value));
    if number != before {
        annotations.insert(REVISION.to_owned(), number.to_string());
        if before > 0 {
            let mut history: Vec<String> = annotation(new, HISTORY)
                .map(|list| list.split(',').map(str::to_owned).collect())
                .unwrap_or_default();
            history.push(before.to_string());
            annotations.insert(HISTORY.to_owned(), history.join(","));
        }
    }
    let min_ready = view.spec.min_ready_seconds.unwrap_or(0);
    let set_min_ready = new.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    let kept = annotations.is_empty() && min_ready == set_min_ready;
    if !kept {
        let patch = json!({
            "metadata": {
                "uid": uid(&new.metadata), "resourceVersion": new.metadata.resource_version,
                "annotations": annotations,
            },
            "spec": {"minReadySeconds": min_ready},
        });
        decision.actions.push(action(new, Verb::Patch(patch), None));
    }
    let meta = &view.deployment.metadata;
    let told = meta.annotations.as_ref().and_then(|annotations| annotations.get(REVISION));
    if told.is_none_or(|told| *told != number.to_string()) {
        let patch = json!({"metadata": {
            "uid": uid(meta), "annotations": {REVISION: number.to_string()},
        }});
        decision.push(Kind::Deployment, &key_of(meta), Verb::Patch(patch));
    }
    kept
}

/// Deletes the oldest empty ReplicaSets beyond the history limit.
pub(super) fn clean_up(view: &View<'_>, decision: &mut Decision) {
    let limit = usize::try_from(view.spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
    let mut empty: Vec<&Arc<ReplicaSet>> = view
        .old
        .iter()
        .copied()
        .filter(|set| set.metadata.deletion_timestamp.is_none() && replicas(set) == 0)
        .collect();
    empty.sort_by_key(|set| of(set));
    let surplus = empty.len().saturating_sub(limit);
    for set in empty.into_iter().take(surplus) {
        // One that still has pods, or was not looked at since it was emptied, stays for now.
        let settled = set.status.as_ref().is_some_and(|status| {
            status.replicas == 0 && status.observed_generation >= set.metadata.generation
        });
        if settled {
            let verb = Verb::Delete { uid: uid(&set.metadata).to_owned(), now: false };
            decision.actions.push(action(set, verb, None));
        }
    }
}
