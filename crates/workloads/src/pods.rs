//! What one wants to know of a pod.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use crate::action::{Action, Decision, Guard, Kind, Verb};
use crate::labels::{Labels, owns};
use crate::world::{World, key_of, uid};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Lower goes first when there are too many.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The node it is bound to.
pub fn node(pod: &Pod) -> Option<&str> {
    let name = pod.spec.as_ref()?.node_name.as_deref()?;
    Some(name).filter(|name| !name.is_empty())
}

/// Its phase; a new pod is pending.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

/// Whether it has ended, well or not.
pub fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether it is being deleted.
pub fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether it works or may come to work.
pub fn is_active(pod: &Pod) -> bool {
    !is_over(pod) && !is_leaving(pod)
}

/// One of its conditions.
pub fn condition<'a>(pod: &'a Pod, name: &str) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.as_ref()?.conditions.as_deref()?.iter();
    conditions.find(|condition| condition.type_ == name)
}

/// Since when it is ready; without a time: for ever.
pub fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|condition| condition.status == "True")?;
    Some(ready.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0))
}

/// Whether it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Whether it is ready for so many seconds, or when it will be if it stays ready.
pub fn available_at(pod: &Pod, min_ready: i32) -> Option<Timestamp> {
    let since = ready_since(pod)?;
    if min_ready <= 0 {
        return Some(Timestamp::MIN);
    }
    Some(since.checked_add(SignedDuration::from_secs(i64::from(min_ready))).unwrap_or(since))
}

/// Whether it is available now; if it will be later, the decision wakes then.
pub fn is_available(
    pod: &Pod,
    min_ready: i32,
    now: Timestamp,
    decision: Option<&mut Decision>,
) -> bool {
    match available_at(pod, min_ready) {
        None => false,
        Some(at) if at <= now => true,
        Some(at) => {
            if let Some(decision) = decision {
                decision.wake_at(at);
            }
            false
        }
    }
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.iter().flat_map(|s| s.container_statuses.iter().flatten());
    statuses.map(|status| status.restart_count).max().unwrap_or(0)
}

fn cost(pod: &Pod) -> i32 {
    let annotation = pod.metadata.annotations.as_ref().and_then(|a| a.get(DELETION_COST));
    annotation.and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

/// Who goes first when there are too many: upstream's order. `crowd` is how many related pods are
/// on the same node.
pub fn victims_first(a: (&Pod, usize), b: (&Pod, usize)) -> Ordering {
    let rank = |pod: &Pod| match phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let ((a, crowd_a), (b, crowd_b)) = (a, b);
    (node(a).is_some().cmp(&node(b).is_some()))
        .then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| is_ready(a).cmp(&is_ready(b)))
        .then_with(|| cost(a).cmp(&cost(b)))
        .then_with(|| crowd_b.cmp(&crowd_a))
        .then_with(|| ready_since(b).cmp(&ready_since(a)))
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| created(b).cmp(&created(a)))
        .then_with(|| a.metadata.name.cmp(&b.metadata.name))
}

/// The owner of pods, as far as it matters to who belongs to whom.
pub struct Owner<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its metadata.
    pub meta: &'a ObjectMeta,
    /// What it selects.
    pub selector: &'a LabelSelector,
}

impl Owner<'_> {
    /// How objects refer to it.
    pub fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.kind.api_version().to_owned(),
            kind: self.kind.name().to_owned(),
            name: self.meta.name.clone().unwrap_or_default(),
            uid: uid(self.meta).to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Takes what it selects and nobody controls, lets go what it does not select any more. Nobody
    /// who is going away himself takes or lets go anything.
    pub fn claim(&self, kind: Kind, meta: &ObjectMeta, decision: &mut Decision) {
        let leaving = |meta: &ObjectMeta| meta.deletion_timestamp.is_some();
        if leaving(self.meta) || leaving(meta) {
            return;
        }
        let mine = crate::world::controller(meta).is_some_and(|owner| owner.uid == uid(self.meta));
        let selected = owns(self.selector, meta.labels.as_ref());
        if mine == selected {
            return;
        }
        let mut owners: Vec<OwnerReference> = meta.owner_references.clone().unwrap_or_default();
        owners.retain(|owner| owner.uid != uid(self.meta));
        let owner = key_of(self.meta);
        let guard = selected.then(|| Guard::Alive(self.kind, owner, uid(self.meta).to_owned()));
        if selected {
            owners.push(self.reference());
        }
        let patch = Verb::Patch(json!({"metadata": {
            "uid": uid(meta), "resourceVersion": meta.resource_version, "ownerReferences": owners,
        }}));
        let action = decision.push(kind, &key_of(meta), patch);
        action.guard = guard;
    }

    /// [`claim`](Self::claim) for its pods and all that nobody controls.
    pub fn claim_pods(&self, world: &World, decision: &mut Decision) {
        let namespace = self.meta.namespace.as_deref().unwrap_or_default();
        for pod in world.pods_of(uid(self.meta)) {
            self.claim(Kind::Pod, &pod.metadata, decision);
        }
        for pod in world.orphan_pods(namespace).filter(|pod| is_active(pod)) {
            if owns(self.selector, pod.metadata.labels.as_ref()) {
                self.claim(Kind::Pod, &pod.metadata, decision);
            }
        }
    }
}

/// Deletes this very pod.
pub fn delete(pod: &Pod, now: bool) -> Verb {
    Verb::Delete { uid: uid(&pod.metadata).to_owned(), now }
}

/// An action that writes a status, if it is not so already.
pub fn status_if_new(
    kind: Kind,
    meta: &ObjectMeta,
    before: Option<Value>,
    after: &Value,
) -> Option<Action> {
    let before = before.unwrap_or(Value::Null);
    let same = after.as_object().is_some_and(|fields| {
        fields.iter().all(|(field, value)| {
            let old = &before[field];
            old == value || (old.is_null() && (*value == 0 || *value == json!([])))
        })
    });
    let patch = json!({"metadata": {"uid": uid(meta)}, "status": after});
    (!same).then(|| Action {
        kind,
        key: key_of(meta),
        verb: Verb::PatchStatus(patch),
        guard: None,
        notice: None,
    })
}

/// Whether labels hold one of that value.
pub fn has_label(labels: Option<&Labels>, key: &str, value: &str) -> bool {
    labels.and_then(|labels| labels.get(key)).is_some_and(|found| found == value)
}

/// Kubernetes tells times by the second; finer ones would never compare equal.
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
