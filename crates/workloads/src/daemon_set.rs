//! One pod on every node that takes it.
//!
//! Every pod is bound to its node by affinity before there is a scheduler's decision, so it is
//! clear which node lacks one. Its name follows from the node and what was seen there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, Toleration};
use landbridge_controllers::mirror::Key;
use serde_json::json;

use crate::action::{Decision, Kind, Notice, Verb};
use crate::deployment::resolve;
use crate::history::{self, REVISION};
use crate::placement;
use crate::pods::{self, Owner};
use crate::template::{self, Hash};
use crate::world::{World, key_of, uid};

const GENERATION: &str = "pod-template-generation";
/// A pod that has failed stays at least so long after its creation: one that fails at once is not
/// made anew in a circle.
const FAILED_STAYS: SignedDuration = SignedDuration::from_secs(1);

/// What every pod of a DaemonSet puts up with.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const HOST_NETWORK_TOLERATED: (&str, &str) =
    ("node.kubernetes.io/network-unavailable", "NoSchedule");

struct View<'a> {
    world: &'a World,
    set: &'a DaemonSet,
    spec: &'a DaemonSetSpec,
    owner: &'a Owner<'a>,
    /// The spec of every pod, but for the node.
    pod_spec: PodSpec,
    hash: String,
    now: Timestamp,
}

#[derive(Default)]
struct Counts {
    desired: usize,
    current: usize,
    misscheduled: usize,
    ready: usize,
    updated: usize,
    available: usize,
}

/// What is to be done for a DaemonSet; at most `room` pods are made or deleted at once.
pub fn decide(world: &World, key: &Key, now: Timestamp, room: usize) -> Decision {
    let mut decision = Decision::default();
    let Some(set) = world.daemon_set(key) else { return decision };
    let Some(spec) = &set.spec else { return decision };
    let owner = Owner { kind: Kind::DaemonSet, meta: &set.metadata, selector: &spec.selector };
    owner.claim_pods(world, &mut decision);
    let claims = !decision.actions.is_empty();
    let collisions = set.status.as_ref().and_then(|status| status.collision_count);
    let recorded = history::record(world, &owner, &spec.template, collisions, &mut decision);
    let view = View {
        world,
        set,
        spec,
        owner: &owner,
        pod_spec: pod_spec(spec),
        hash: recorded.hash().to_owned(),
        now,
    };
    let nodes = world.nodes();
    let by_node = view.by_node();
    if !claims && recorded.kept && set.metadata.deletion_timestamp.is_none() {
        let mut pods = Decision::default();
        view.place(&nodes, &by_node, &mut pods);
        if pods.actions.is_empty() {
            view.roll(&nodes, &by_node, &mut pods);
        }
        pods.actions.truncate(room);
        decision.actions.append(&mut pods.actions);
        if let Some(wake) = pods.wake {
            decision.wake_at(wake);
        }
        let pods = by_node.values().flatten();
        let labels = pods.filter_map(|pod| pod.metadata.labels.as_ref());
        let mut used: BTreeSet<&str> =
            labels.filter_map(|labels| labels.get(REVISION)).map(String::as_str).collect();
        used.insert(&view.hash);
        history::clean_up(world, &owner, spec.revision_history_limit, &used, &mut decision);
    }
    view.report(&nodes, &by_node, &mut decision);
    decision
}

/// The template's spec with what every pod of a DaemonSet puts up with.
fn pod_spec(spec: &DaemonSetSpec) -> PodSpec {
    let mut pod = spec.template.spec.clone().unwrap_or_default();
    let host = (pod.host_network == Some(true)).then_some(HOST_NETWORK_TOLERATED);
    let tolerations = pod.tolerations.get_or_insert_default();
    for (key, effect) in TOLERATED.into_iter().chain(host) {
        let toleration = Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    pod
}

/// The node a pod is meant for: where it runs, or where its affinity says.
fn meant_for(pod: &Pod) -> Option<&str> {
    pods::node(pod).or_else(|| {
        let terms = &placement::required(pod.spec.as_ref()?)?.node_selector_terms;
        let field = terms.first()?.match_fields.as_ref()?.first()?;
        field.values.as_ref()?.first().map(String::as_str)
    })
}

/// Replaces all required node affinity by the name of the node.
fn bind_to(spec: &mut PodSpec, node: &str) {
    let term = json!([{"matchFields":
        [{"key": "metadata.name", "operator": "In", "values": [node]}]}]);
    let terms = serde_json::from_value(term).unwrap_or_default();
    let affinity = spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    affinity
        .required_during_scheduling_ignored_during_execution
        .get_or_insert_default()
        .node_selector_terms = terms;
}

type ByNode<'a> = BTreeMap<&'a str, Vec<&'a Arc<Pod>>>;

impl<'a> View<'a> {
    /// Its pods by the node they are meant for, oldest first.
    fn by_node(&self) -> ByNode<'a> {
        let mut by_node: ByNode<'a> = BTreeMap::new();
        for pod in self.world.pods_of(uid(&self.set.metadata)) {
            by_node.entry(meant_for(pod).unwrap_or_default()).or_default().push(pod);
        }
        for pods in by_node.values_mut() {
            pods.sort_by_key(|pod| {
                // Who runs goes before who waits for a node.
                let unbound = pods::node(pod).is_none();
                (unbound, pod.metadata.creation_timestamp.clone(), pod.metadata.name.clone())
            });
        }
        by_node
    }

    /// Whether a node should have a pod, and whether one that is there may stay.
    fn wants(&self, node: &Node) -> (bool, bool) {
        if !placement::selects(&self.pod_spec, node) {
            return (false, false);
        }
        let taints = placement::taints(node);
        let tolerations = placement::tolerations(&self.pod_spec);
        let refuses = |effects| placement::untolerated(taints, tolerations, effects).is_some();
        (!refuses(&["NoSchedule", "NoExecute"]), !refuses(&["NoExecute"]))
    }

    /// Makes what is missing, deletes what is too much.
    fn place(&self, nodes: &[&'a Arc<Node>], by_node: &ByNode<'a>, decision: &mut Decision) {
        let mut known: HashMap<&str, (bool, bool)> = HashMap::new();
        for node in nodes {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let wants = self.wants(node);
            known.insert(name, wants);
            let here = by_node.get(name).map(Vec::as_slice).unwrap_or_default();
            let mut alive = Vec::new();
            for pod in here.iter().filter(|pod| !pods::is_leaving(pod)) {
                if pods::is_over(pod) {
                    self.delete_failed(pod, decision);
                } else {
                    alive.push(*pod);
                }
            }
            // One that ends or leaves still takes the place.
            let (start, stay) = wants;
            if start && here.is_empty() {
                self.create(name, decision);
            }
            let keep = usize::from(start || stay);
            for pod in alive.into_iter().skip(keep) {
                self.delete(pod, decision);
            }
        }
        for (node, pods) in by_node {
            if !known.contains_key(node) {
                for pod in pods.iter().filter(|pod| !pods::is_leaving(pod)) {
                    self.delete(pod, decision);
                }
            }
        }
    }

    fn delete_failed(&self, pod: &Pod, decision: &mut Decision) {
        let created = pod.metadata.creation_timestamp.as_ref().map_or(self.now, |time| time.0);
        let at = created.checked_add(FAILED_STAYS).unwrap_or(created);
        if at <= self.now {
            self.delete(pod, decision);
        } else {
            decision.wake_at(at);
        }
    }

    /// Replaces pods of old templates, as many at once as may be unavailable.
    fn roll(&self, nodes: &[&'a Arc<Node>], by_node: &ByNode<'a>, decision: &mut Decision) {
        let strategy = self.spec.update_strategy.as_ref();
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let wanted: Vec<&str> = nodes
            .iter()
            .filter(|node| self.wants(node).0)
            .filter_map(|node| node.metadata.name.as_deref())
            .collect();
        let count = i32::try_from(wanted.len()).unwrap_or(i32::MAX);
        let limit = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let limit = limit.map_or(1, |limit| resolve(Some(limit), "", count, true)).max(1);
        let mut lacking = 0;
        let (mut broken, mut working) = (Vec::new(), Vec::new());
        for node in wanted {
            let pod =
                by_node.get(node).and_then(|pods| pods.iter().find(|pod| pods::is_active(pod)));
            let Some(pod) = pod else {
                lacking += 1;
                continue;
            };
            let available = self.is_available(pod, decision);
            lacking += i32::from(!available);
            if !self.is_updated(pod) {
                if available { working.push(pod) } else { broken.push(pod) }
            }
        }
        let room = usize::try_from(limit - lacking).unwrap_or(0);
        // Those that do not work anyway cost nothing.
        for pod in broken.into_iter().chain(working.into_iter().take(room)) {
            self.delete(pod, decision);
        }
    }

    fn is_updated(&self, pod: &Pod) -> bool {
        pods::has_label(pod.metadata.labels.as_ref(), REVISION, &self.hash)
    }

    fn is_available(&self, pod: &Pod, decision: &mut Decision) -> bool {
        let min_ready = self.spec.min_ready_seconds.unwrap_or(0);
        pods::is_available(pod, min_ready, self.now, Some(decision))
    }

    fn notice(&self, reason: &'static str, note: String) -> Notice {
        Notice {
            kind: Kind::DaemonSet,
            key: key_of(&self.set.metadata),
            uid: uid(&self.set.metadata).to_owned(),
            warning: false,
            reason,
            note,
        }
    }

    fn delete(&self, pod: &Pod, decision: &mut Decision) {
        let key = key_of(&pod.metadata);
        let notice = self.notice("SuccessfulDelete", format!("Deleted pod: {}", key.name));
        decision.push(Kind::Pod, &key, pods::delete(pod, false)).notice = Some(notice);
    }

    fn create(&self, node: &str, decision: &mut Decision) {
        let set = self.set.metadata.name.as_deref().unwrap_or_default();
        let me = uid(&self.set.metadata);
        let seed = Hash::default().with(me).with(node).with(self.world.last_gone(me));
        let namespace = self.set.metadata.namespace.as_deref().unwrap_or_default();
        let mut candidates = (0..100).map(|number: i32| {
            let name = template::generated_name(set, seed.with(&number.to_string()));
            Key::new(namespace, &name)
        });
        let Some(key) = candidates.find(|key| self.world.pod(key).is_none()) else { return };
        let mut pod = template::pod(self.owner, &self.spec.template, &key.name);
        let mut spec = self.pod_spec.clone();
        bind_to(&mut spec, node);
        pod.spec = Some(spec);
        template::label(&mut pod.metadata.labels, REVISION, &self.hash);
        let generation = self.set.metadata.generation.unwrap_or(0).to_string();
        template::label(&mut pod.metadata.labels, GENERATION, &generation);
        let notice = self.notice("SuccessfulCreate", format!("Created pod: {}", key.name));
        decision.push(Kind::Pod, &key, Verb::Create(json!(pod))).notice = Some(notice);
    }

    fn report(&self, nodes: &[&'a Arc<Node>], by_node: &ByNode<'a>, decision: &mut Decision) {
        let mut counts = Counts::default();
        for node in nodes {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let pods = by_node.get(name).map(Vec::as_slice).unwrap_or_default();
            let (start, _) = self.wants(node);
            if !start {
                counts.misscheduled += usize::from(!pods.is_empty());
                continue;
            }
            counts.desired += 1;
            counts.current += usize::from(!pods.is_empty());
            let Some(pod) = pods.iter().find(|pod| pods::is_active(pod)) else { continue };
            counts.updated += usize::from(self.is_updated(pod));
            counts.ready += usize::from(pods::is_ready(pod));
            counts.available += usize::from(self.is_available(pod, decision));
        }
        let status = json!({
            "observedGeneration": self.set.metadata.generation.unwrap_or(0),
            "currentNumberScheduled": counts.current,
            "desiredNumberScheduled": counts.desired,
            "numberMisscheduled": counts.misscheduled,
            "numberReady": counts.ready,
            "updatedNumberScheduled": counts.updated,
            "numberAvailable": counts.available,
            "numberUnavailable": counts.desired - counts.available,
        });
        let before = self.set.status.as_ref().map(|status| json!(status));
        let meta = &self.set.metadata;
        decision.actions.extend(pods::status_if_new(Kind::DaemonSet, meta, before, &status));
    }
}
