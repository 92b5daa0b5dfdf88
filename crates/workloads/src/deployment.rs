//! One ReplicaSet per template, and how to get from one to the next.
//!
//! ```text
//!  adopt ReplicaSets ─▶ one for the template ─▶ revision ─▶ scale ─▶ clean up
//!                                                  │
//!              replicas changed, or paused ─▶ [`proportion`]
//!              RollingUpdate, Recreate     ─▶ [`strategy`]
//! ```
//!
//! Every step is a write to one ReplicaSet at the resourceVersion that was seen, so a step that
//! follows from old news is refused.

mod proportion;
mod revision;
mod status;
mod strategy;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

use crate::action::{Action, Decision, Kind, Notice, Verb};
use crate::labels::owns;
use crate::pods::{self, Owner};
use crate::template;
use crate::world::{World, key_of, uid};

/// Distinguishes the pods of one ReplicaSet from those of another.
pub const HASH: &str = "pod-template-hash";
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";

/// A Deployment and its ReplicaSets.
pub(crate) struct View<'a> {
    world: &'a World,
    deployment: &'a Deployment,
    spec: &'a DeploymentSpec,
    /// The one for the template of now.
    new: Option<&'a Arc<ReplicaSet>>,
    /// All others, oldest first.
    old: Vec<&'a Arc<ReplicaSet>>,
}

/// What is to be done for a Deployment.
pub fn decide(world: &World, key: &Key, now: Timestamp) -> Decision {
    let mut decision = Decision::default();
    let Some(deployment) = world.deployment(key) else { return decision };
    let Some(spec) = &deployment.spec else { return decision };
    let owner =
        Owner { kind: Kind::Deployment, meta: &deployment.metadata, selector: &spec.selector };
    claim(world, &owner, &mut decision);
    let claims = !decision.actions.is_empty();
    let view = View::new(world, deployment, spec);
    if !claims && deployment.metadata.deletion_timestamp.is_none() {
        act(&view, &owner, &mut decision);
    }
    status::report(&view, now, &mut decision);
    decision
}

fn claim(world: &World, owner: &Owner<'_>, decision: &mut Decision) {
    for set in world.sets_of(uid(owner.meta)) {
        owner.claim(Kind::ReplicaSet, &set.metadata, decision);
    }
    let namespace = owner.meta.namespace.as_deref().unwrap_or_default();
    for set in world.orphan_sets(namespace) {
        if owns(owner.selector, set.metadata.labels.as_ref()) {
            owner.claim(Kind::ReplicaSet, &set.metadata, decision);
        }
    }
}

fn act(view: &View<'_>, owner: &Owner<'_>, decision: &mut Decision) {
    if view.is_paused() {
        revision::keep(view, decision);
        proportion::scale(view, decision);
        return;
    }
    if view.was_scaled() {
        revision::keep(view, decision);
        proportion::scale(view, decision);
        return;
    }
    match view.strategy() {
        "Recreate" => strategy::recreate(view, owner, decision),
        _ => strategy::roll(view, owner, decision),
    }
    if view.is_complete() {
        revision::clean_up(view, decision);
    }
}

/// The template without the mark of its ReplicaSet, with absent and empty labels the same.
fn bare(template: Option<&PodTemplateSpec>) -> PodTemplateSpec {
    let mut template = template.cloned().unwrap_or_default();
    let meta = template.metadata.get_or_insert_default();
    if let Some(labels) = &mut meta.labels {
        labels.remove(HASH);
    }
    meta.labels = meta.labels.take().filter(|labels| !labels.is_empty());
    meta.creation_timestamp = None;
    template
}

pub(crate) fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

fn annotation<'a>(set: &'a ReplicaSet, name: &str) -> Option<&'a str> {
    set.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// An absolute number, or a percentage of a whole.
pub fn resolve(value: Option<&IntOrString>, default: &str, whole: i32, up: bool) -> i32 {
    let percent = |text: &str| -> i32 {
        let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
        let product = i64::from(whole) * percent;
        let part = if up { (product + 99).div_euclid(100) } else { product.div_euclid(100) };
        i32::try_from(part).unwrap_or(i32::MAX)
    };
    match value {
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => percent(text),
        None => percent(default),
    }
    .max(0)
}

impl<'a> View<'a> {
    fn new(world: &'a World, deployment: &'a Deployment, spec: &'a DeploymentSpec) -> Self {
        let mut sets: Vec<&Arc<ReplicaSet>> = world.sets_of(uid(&deployment.metadata)).collect();
        sets.sort_by(|a, b| {
            let age = |set: &ReplicaSet| {
                let created = set.metadata.creation_timestamp.clone();
                (created, set.metadata.name.clone())
            };
            age(a).cmp(&age(b))
        });
        let wanted = bare(Some(&spec.template));
        let matches = |set: &&Arc<ReplicaSet>| {
            bare(set.spec.as_ref().and_then(|spec| spec.template.as_ref())) == wanted
                && set.metadata.deletion_timestamp.is_none()
        };
        let at = sets.iter().position(matches);
        let new = at.map(|at| sets.remove(at));
        Self { world, deployment, spec, new, old: sets }
    }

    fn wanted(&self) -> i32 {
        self.spec.replicas.unwrap_or(1).max(0)
    }

    fn is_paused(&self) -> bool {
        self.spec.paused == Some(true)
    }

    fn strategy(&self) -> &str {
        let strategy = self.spec.strategy.as_ref();
        strategy.and_then(|strategy| strategy.type_.as_deref()).unwrap_or("RollingUpdate")
    }

    /// maxSurge and maxUnavailable as numbers; never both zero.
    fn limits(&self) -> (i32, i32) {
        if self.strategy() == "Recreate" || self.wanted() == 0 {
            return (0, 0);
        }
        let rolling = self.spec.strategy.as_ref().and_then(|s| s.rolling_update.as_ref());
        let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
        let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let surge = resolve(surge, "25%", self.wanted(), true);
        let unavailable = resolve(unavailable, "25%", self.wanted(), false).min(self.wanted());
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    /// As many pods as may be there at once.
    fn maximum(&self) -> i32 {
        self.wanted().saturating_add(self.limits().0)
    }

    fn all(&self) -> impl Iterator<Item = &'a Arc<ReplicaSet>> {
        self.old.iter().copied().chain(self.new)
    }

    fn total(&self) -> i32 {
        self.all().map(|set| replicas(set)).sum()
    }

    /// How many pods there are or will be: a ReplicaSet that was told to shrink may not have done
    /// so yet.
    fn occupied(&self) -> i32 {
        let active = |set: &ReplicaSet| {
            let pods = self.world.pods_of(uid(&set.metadata));
            i32::try_from(pods.filter(|pod| pods::is_active(pod)).count()).unwrap_or(i32::MAX)
        };
        self.all().map(|set| replicas(set).max(active(set))).sum()
    }

    /// Whether a ReplicaSet with pods was last written for another number of replicas.
    fn was_scaled(&self) -> bool {
        let wanted = self.wanted();
        self.all().filter(|set| replicas(set) > 0).any(|set| {
            let desired = annotation(set, DESIRED).and_then(|text| text.parse::<i32>().ok());
            desired.is_some_and(|desired| desired != wanted)
        })
    }

    /// Whether all is as wished, and seen to be.
    fn is_complete(&self) -> bool {
        let wanted = self.wanted();
        let number = |value: Option<i32>| value.unwrap_or(0);
        self.deployment.status.as_ref().is_some_and(|status| {
            number(status.updated_replicas) == wanted
                && number(status.replicas) == wanted
                && number(status.available_replicas) == wanted
                && status.observed_generation >= self.deployment.metadata.generation
        })
    }

    /// A name for the ReplicaSet of the template of now, and the mark of its pods.
    fn new_name(&self) -> (String, String) {
        let collisions = self.deployment.status.as_ref().and_then(|s| s.collision_count);
        let hash = template::hash(&bare(Some(&self.spec.template)), collisions);
        let name = self.deployment.metadata.name.as_deref().unwrap_or_default();
        (format!("{name}-{hash}"), hash)
    }

    fn notice(&self, reason: &'static str, note: String) -> Notice {
        Notice {
            kind: Kind::Deployment,
            key: key_of(&self.deployment.metadata),
            uid: uid(&self.deployment.metadata).to_owned(),
            warning: false,
            reason,
            note,
        }
    }

    /// Another size for a ReplicaSet. Nothing if it has that size and was written for what is
    /// wished now.
    fn resize(&self, set: &ReplicaSet, size: i32) -> Option<Action> {
        let before = replicas(set);
        let sizes = [(DESIRED, self.wanted()), (MAXIMUM, self.maximum())];
        let noted = sizes.iter().all(|(name, number)| {
            annotation(set, name).is_some_and(|text| text == number.to_string())
        });
        if before == size && noted {
            return None;
        }
        let mut patch = json!({
            "metadata": {
                "uid": uid(&set.metadata),
                "resourceVersion": set.metadata.resource_version,
                "annotations": {DESIRED: self.wanted().to_string(),
                    MAXIMUM: self.maximum().to_string()},
            },
        });
        let mut notice = None;
        if before != size {
            patch["spec"] = json!({"replicas": size});
            let direction = if before < size { "up" } else { "down" };
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let note = format!("Scaled {direction} replica set {name} from {before} to {size}");
            notice = Some(self.notice("ScalingReplicaSet", note));
        }
        Some(action(set, Verb::Patch(patch), notice))
    }
}

fn action(set: &ReplicaSet, verb: Verb, notice: Option<Notice>) -> Action {
    Action { kind: Kind::ReplicaSet, key: key_of(&set.metadata), verb, guard: None, notice }
}

/// The ReplicaSet for a template that has none yet.
fn create(view: &View<'_>, owner: &Owner<'_>, size: i32, decision: &mut Decision) {
    let (name, hash) = view.new_name();
    let key = Key::new(view.deployment.metadata.namespace.as_deref().unwrap_or_default(), &name);
    if view.world.replica_set(&key).is_some() {
        // Somebody else's, or of another template with the same hash: the next hash.
        let status = view.deployment.status.as_ref();
        let count = status.and_then(|status| status.collision_count).unwrap_or(0) + 1;
        let patch = json!({
            "metadata": {"uid": uid(&view.deployment.metadata),
                "resourceVersion": view.deployment.metadata.resource_version},
            "status": {"collisionCount": count},
        });
        let key = key_of(&view.deployment.metadata);
        decision.push(Kind::Deployment, &key, Verb::PatchStatus(patch));
        return;
    }
    let mut spec_template = bare(Some(&view.spec.template));
    let meta = spec_template.metadata.get_or_insert_default();
    template::label(&mut meta.labels, HASH, &hash);
    let mut selector = view.spec.selector.clone();
    template::label(&mut selector.match_labels, HASH, &hash);
    let mut annotations = revision::inherited(view);
    annotations.insert(REVISION.to_owned(), (revision::highest(&view.old) + 1).to_string());
    annotations.insert(DESIRED.to_owned(), view.wanted().to_string());
    annotations.insert(MAXIMUM.to_owned(), view.maximum().to_string());
    let set: Value = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": view.deployment.metadata.namespace,
            "labels": meta.labels, "annotations": annotations,
            "ownerReferences": [owner.reference()],
        },
        "spec": {
            "replicas": size, "selector": selector, "template": spec_template,
            "minReadySeconds": view.spec.min_ready_seconds.unwrap_or(0),
        },
    });
    let note = format!("Scaled up replica set {name} from 0 to {size}");
    let notice = (size > 0).then(|| view.notice("ScalingReplicaSet", note));
    decision.push(Kind::ReplicaSet, &key, Verb::Create(set)).notice = notice;
}
