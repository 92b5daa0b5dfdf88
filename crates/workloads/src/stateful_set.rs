//! Pods with an identity, one after the other.
//!
//! A pod that is made anew follows the template of now; below a partition, that of the current
//! revision. Claims are ignored: a lab has no storage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::Pod;
use landbridge_controllers::mirror::Key;
use serde_json::json;

use crate::action::{Decision, Kind, Notice, Verb};
use crate::history::{self, REVISION};
use crate::pods::{self, Owner};
use crate::template;
use crate::world::{World, controller, key_of, uid};

const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

struct View<'a> {
    set: &'a StatefulSet,
    spec: &'a StatefulSetSpec,
    owner: &'a Owner<'a>,
    /// By ordinal.
    pods: BTreeMap<i32, &'a Arc<Pod>>,
    /// Ordinals that should be there.
    first: i32,
    end: i32,
    /// The revision of the template of now.
    update: String,
    min_ready: i32,
    now: Timestamp,
}

/// The number at the end of a pod's name, if the name is the set's.
fn ordinal(set: &str, pod: &str) -> Option<i32> {
    let number = pod.strip_prefix(set)?.strip_prefix('-')?;
    let ordinal: i32 = number.parse().ok()?;
    (ordinal >= 0 && ordinal.to_string() == number).then_some(ordinal)
}

/// What is to be done for a StatefulSet; at most `room` pods are made or deleted at once.
pub fn decide(world: &World, key: &Key, now: Timestamp, room: usize) -> Decision {
    let mut decision = Decision::default();
    let Some(set) = world.stateful_set(key) else { return decision };
    let Some(spec) = &set.spec else { return decision };
    let owner = Owner { kind: Kind::StatefulSet, meta: &set.metadata, selector: &spec.selector };
    claim(world, &owner, &mut decision);
    let claims = !decision.actions.is_empty();
    let collisions = set.status.as_ref().and_then(|status| status.collision_count);
    let recorded = history::record(world, &owner, &spec.template, collisions, &mut decision);
    let named = world.pods_of(uid(&set.metadata)).filter_map(|pod| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        Some((ordinal(&key.name, name)?, pod))
    });
    let first = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0).max(0);
    let view = View {
        set,
        spec,
        owner: &owner,
        pods: named.collect(),
        first,
        end: first.saturating_add(spec.replicas.unwrap_or(1).max(0)),
        update: recorded.name.clone(),
        min_ready: spec.min_ready_seconds.unwrap_or(0),
        now,
    };
    if !claims && recorded.kept && set.metadata.deletion_timestamp.is_none() {
        if spec.pod_management_policy.as_deref() == Some("Parallel") {
            view.parallel(world, room, &mut decision);
        } else {
            view.ordered(world, &mut decision);
        }
        view.forget_old(world, &mut decision);
    }
    view.report(&mut decision);
    decision
}

/// Only pods with the name of the set and a number are taken.
fn claim(world: &World, owner: &Owner<'_>, decision: &mut Decision) {
    let name = owner.meta.name.as_deref().unwrap_or_default();
    owner.claim_pods(world, decision);
    decision.actions.retain(|action| ordinal(name, &action.key.name).is_some());
}

impl View<'_> {
    fn name(&self, ordinal: i32) -> String {
        format!("{}-{ordinal}", self.set.metadata.name.as_deref().unwrap_or_default())
    }

    fn key(&self, ordinal: i32) -> Key {
        Key::new(self.set.metadata.namespace.as_deref().unwrap_or_default(), &self.name(ordinal))
    }

    fn is_available(&self, pod: &Pod, decision: &mut Decision) -> bool {
        pods::phase(pod) == "Running"
            && pods::is_available(pod, self.min_ready, self.now, Some(decision))
    }

    /// Ordinals that should not be there, the highest first.
    fn condemned(&self) -> impl Iterator<Item = (i32, &Arc<Pod>)> {
        let beyond = self.pods.iter().rev().map(|(ordinal, pod)| (*ordinal, *pod));
        beyond.filter(|(ordinal, _)| !(self.first..self.end).contains(ordinal))
    }

    /// One pod at a time: each waits until those before it work.
    fn ordered(&self, world: &World, decision: &mut Decision) {
        for ordinal in self.first..self.end {
            match self.pods.get(&ordinal) {
                None => return self.create(world, ordinal, decision),
                Some(pod) if pods::is_leaving(pod) => return,
                Some(pod) if pods::is_over(pod) => return self.delete(pod, decision),
                Some(pod) if !self.is_available(pod, decision) => {
                    return self.replace_broken(ordinal, pod, decision);
                }
                Some(_) => {}
            }
        }
        if let Some((_, pod)) = self.condemned().next() {
            if !pods::is_leaving(pod) {
                self.delete(pod, decision);
            }
            return;
        }
        self.roll(decision);
    }

    /// A pod that does not work and is of an old template is replaced: waiting for it would be
    /// waiting for ever when the new template is the repair.
    fn replace_broken(&self, ordinal: i32, pod: &Pod, decision: &mut Decision) {
        if self.is_rolled(ordinal) && !self.is_updated(pod) && !pods::is_ready(pod) {
            self.delete(pod, decision);
        }
    }

    /// All at once; only a rolling update goes one by one.
    fn parallel(&self, world: &World, room: usize, decision: &mut Decision) {
        let before = decision.actions.len();
        for ordinal in self.first..self.end {
            if decision.actions.len() - before >= room {
                return;
            }
            match self.pods.get(&ordinal) {
                None => self.create(world, ordinal, decision),
                Some(pod) if pods::is_over(pod) && !pods::is_leaving(pod) => {
                    self.delete(pod, decision);
                }
                Some(_) => {}
            }
        }
        let left = room.saturating_sub(decision.actions.len() - before);
        for (_, pod) in self.condemned().filter(|(_, pod)| !pods::is_leaving(pod)).take(left) {
            self.delete(pod, decision);
        }
        if decision.actions.len() == before {
            self.roll(decision);
        }
    }

    /// Revisions that no pod has any more.
    fn forget_old(&self, world: &World, decision: &mut Decision) {
        let labels = self.pods.values().filter_map(|pod| pod.metadata.labels.as_ref());
        let mut used: BTreeSet<&str> =
            labels.filter_map(|labels| labels.get(REVISION)).map(String::as_str).collect();
        used.insert(&self.update);
        used.extend(self.current());
        history::clean_up(world, self.owner, self.spec.revision_history_limit, &used, decision);
    }

    /// The revision before the one of now, if there was one.
    fn current(&self) -> Option<&str> {
        let current = self.set.status.as_ref()?.current_revision.as_deref()?;
        Some(current).filter(|revision| !revision.is_empty())
    }

    fn partition(&self) -> Option<i32> {
        let strategy = self.spec.update_strategy.as_ref();
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return None;
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        Some(rolling.and_then(|rolling| rolling.partition).unwrap_or(0).max(0))
    }

    /// Whether a rolling update may touch this ordinal.
    fn is_rolled(&self, ordinal: i32) -> bool {
        let partition = self.partition();
        partition.is_some_and(|partition| ordinal >= self.first.saturating_add(partition))
    }

    fn is_updated(&self, pod: &Pod) -> bool {
        pods::has_label(pod.metadata.labels.as_ref(), REVISION, &self.update)
    }

    /// From the highest ordinal down: one old pod goes, once all above it work.
    fn roll(&self, decision: &mut Decision) {
        for ordinal in (self.first..self.end).rev().filter(|ordinal| self.is_rolled(*ordinal)) {
            let Some(pod) = self.pods.get(&ordinal) else { return };
            if pods::is_leaving(pod) {
                return;
            }
            if !self.is_updated(pod) {
                return self.delete(pod, decision);
            }
            if !self.is_available(pod, decision) {
                return;
            }
        }
    }

    fn notice(&self, warning: bool, reason: &'static str, note: String) -> Notice {
        Notice {
            kind: Kind::StatefulSet,
            key: key_of(&self.set.metadata),
            uid: uid(&self.set.metadata).to_owned(),
            warning,
            reason,
            note,
        }
    }

    fn delete(&self, pod: &Pod, decision: &mut Decision) {
        let key = key_of(&pod.metadata);
        let set = self.set.metadata.name.as_deref().unwrap_or_default();
        let note = format!("delete Pod {} in StatefulSet {set} successful", key.name);
        let action = decision.push(Kind::Pod, &key, pods::delete(pod, false));
        action.notice = Some(self.notice(false, "SuccessfulDelete", note));
    }

    fn create(&self, world: &World, ordinal: i32, decision: &mut Decision) {
        let key = self.key(ordinal);
        let set = self.set.metadata.name.as_deref().unwrap_or_default();
        if let Some(other) = world.pod(&key) {
            // Its end, or somebody who releases it, wakes us.
            if controller(&other.metadata).is_none_or(|o| o.uid != uid(&self.set.metadata)) {
                let name = &key.name;
                let note = format!(
                    "create Pod {name} in StatefulSet {set} failed: a pod of that name exists and is not controlled by this StatefulSet; delete it, or give it the labels of the selector"
                );
                decision.notices.push(self.notice(true, "FailedCreate", note));
            }
            return;
        }
        let old = self.current().filter(|_| {
            self.partition().is_some_and(|partition| ordinal < self.first.saturating_add(partition))
        });
        let old = old.and_then(|old| Some((old, history::template_of(world, self.owner, old)?)));
        let (revision, template) = match &old {
            Some((revision, template)) => (*revision, template),
            None => (self.update.as_str(), &self.spec.template),
        };
        let mut pod = template::pod(self.owner, template, &key.name);
        for (label, value) in [
            (POD_NAME, &*key.name),
            (POD_INDEX, ordinal.to_string().as_str()),
            (REVISION, revision),
        ] {
            template::label(&mut pod.metadata.labels, label, value);
        }
        if let Some(spec) = &mut pod.spec {
            spec.hostname = Some(key.name.to_string());
            spec.subdomain = self.spec.service_name.clone().filter(|name| !name.is_empty());
        }
        let note = format!("create Pod {} in StatefulSet {set} successful", key.name);
        let action = decision.push(Kind::Pod, &key, Verb::Create(json!(pod)));
        action.notice = Some(self.notice(false, "SuccessfulCreate", note));
    }

    fn report(&self, decision: &mut Decision) {
        let mut current = self.current().map(str::to_owned);
        let members: Vec<&Pod> = self.pods.values().map(|pod| &***pod).collect();
        let alive = |pod: &&&Pod| !pods::is_leaving(pod);
        let ready = members
            .iter()
            .filter(|pod| pods::phase(pod) == "Running" && pods::is_ready(pod))
            .count();
        let mut available = 0;
        for pod in &members {
            available += usize::from(self.is_available(pod, decision));
        }
        let updated = members.iter().filter(alive).filter(|pod| self.is_updated(pod)).count();
        let wanted = usize::try_from(self.end - self.first).unwrap_or(0);
        let done = updated == wanted && ready == wanted && members.len() == wanted;
        if current.is_none() || (done && self.partition().is_some()) {
            current = Some(self.update.clone());
        }
        let current = current.unwrap_or_default();
        let is_current =
            |pod: &&&Pod| pods::has_label(pod.metadata.labels.as_ref(), REVISION, &current);
        let status = json!({
            "observedGeneration": self.set.metadata.generation.unwrap_or(0),
            "replicas": members.len(),
            "readyReplicas": ready,
            "availableReplicas": available,
            "currentReplicas": members.iter().filter(alive).filter(is_current).count(),
            "updatedReplicas": updated,
            "currentRevision": current,
            "updateRevision": self.update,
        });
        let before = self.set.status.as_ref().map(|status| json!(status));
        let meta = &self.set.metadata;
        decision.actions.extend(pods::status_if_new(Kind::StatefulSet, meta, before, &status));
    }
}

#[cfg(test)]
mod tests {
    use super::ordinal;

    #[test]
    fn ordinals() {
        for (pod, number) in [
            ("web-0", Some(0)),
            ("web-12", Some(12)),
            ("web-01", None),
            ("web--1", None),
            ("web-", None),
            ("web-x", None),
            ("website-0", None),
            ("web-+1", None),
        ] {
            assert_eq!(ordinal("web", pod), number, "{pod}");
        }
    }
}
