//! A node for every pod.
//!
//! ```text
//!  pods without a node ─▶ [`fit`]: which nodes take it ─▶ the emptiest ─▶ bind
//!                            └─ none ─▶ condition PodScheduled, Event
//! ```
//!
//! One look serves all waiting pods, the most important first, then the oldest. What each look needs
//! to know of pods that have a node is summed up once, so a thousand pods cost a thousand steps,
//! not a million.

mod fit;
mod terms;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use self::fit::{Amounts, Port};
use self::terms::Terms;
use crate::action::{Decision, Kind, Notice, Verb};
use crate::placement;
use crate::pods::{self, whole_seconds};
use crate::world::{World, controller, key_of, uid};

/// Pods that name another scheduler are none of ours.
const NAME: &str = "default-scheduler";
/// So many pods are bound in one go.
const AT_ONCE: usize = 256;

/// A node, and what its pods take.
struct Place<'a> {
    name: &'a str,
    node: &'a Arc<Node>,
    /// What the node offers.
    offered: Amounts,
    used: Amounts,
    ports: Vec<Port>,
    pods: usize,
    /// How many pods of each controller.
    families: HashMap<String, usize>,
}

/// What is to be done for all pods that have no node.
pub fn decide(world: &World, now: Timestamp) -> Decision {
    let mut decision = Decision::default();
    let mut waiting: Vec<&Arc<Pod>> = world.unscheduled().filter(|pod| is_ours(pod)).collect();
    if waiting.is_empty() {
        return decision;
    }
    waiting.sort_by_cached_key(|pod| {
        let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
        let created = pod.metadata.creation_timestamp.clone();
        (std::cmp::Reverse(priority), created, key_of(&pod.metadata))
    });
    let mut places: Vec<Place<'_>> = world.nodes().into_iter().map(Place::new).collect();
    let by_name: HashMap<&str, usize> =
        places.iter().enumerate().map(|(at, place)| (place.name, at)).collect();
    let mut terms = Terms::default();
    for pod in world.pods().filter(|pod| !pods::is_over(pod)) {
        if let Some(at) = world.node_of(pod).and_then(|node| by_name.get(node)) {
            places[*at].take(pod);
            terms.place(pod, places[*at].node);
        }
    }
    let mut bound = 0;
    for pod in waiting {
        if bound == AT_ONCE {
            break; // the answers bring us back
        }
        match choose(pod, &places, &mut terms) {
            Ok(at) => {
                places[at].take(pod);
                terms.place(pod, places[at].node);
                bind(pod, places[at].name, &mut decision);
                bound += 1;
            }
            Err(reasons) => refuse(pod, &explain(places.len(), &reasons), now, &mut decision),
        }
    }
    decision
}

fn is_ours(pod: &Pod) -> bool {
    let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
    let gated = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
    pods::is_active(pod)
        && scheduler.is_none_or(|name| name == NAME)
        && gated.is_none_or(Vec::is_empty)
}

impl<'a> Place<'a> {
    fn new(node: &'a Arc<Node>) -> Self {
        Self {
            name: node.metadata.name.as_deref().unwrap_or_default(),
            node,
            offered: fit::offered(node),
            used: Amounts::new(),
            ports: Vec::new(),
            pods: 0,
            families: HashMap::new(),
        }
    }

    fn take(&mut self, pod: &Pod) {
        self.pods += 1;
        if let Some(spec) = &pod.spec {
            for (name, amount) in fit::requests(spec) {
                *self.used.entry(name).or_default() += amount;
            }
            self.ports.extend(fit::host_ports(spec));
        }
        if let Some(owner) = controller(&pod.metadata) {
            *self.families.entry(owner.uid.clone()).or_default() += 1;
        }
    }
}

/// How often each reason kept a node out.
type Reasons = BTreeMap<String, usize>;

/// The best node, or why none takes it.
fn choose(pod: &Pod, places: &[Place<'_>], terms: &mut Terms) -> Result<usize, Reasons> {
    let mut reasons = Reasons::new();
    let Some(spec) = &pod.spec else { return Err(reasons) };
    let requests = fit::requests(spec);
    let ports = fit::host_ports(spec);
    let family = controller(&pod.metadata).map(|owner| owner.uid.as_str());
    let mut rules = terms.rules_for(pod, places.iter().map(|place| place.node));
    let mut best: Option<(usize, (usize, usize, &str))> = None;
    for (at, place) in places.iter().enumerate() {
        if let Some(reason) = static_reason(spec, place.node) {
            *reasons.entry(reason).or_default() += 1;
            continue;
        }
        let mut found = fit::lacking(place, &requests, &ports);
        if found.is_empty() {
            found.extend(rules.reason(place.node));
        }
        if !found.is_empty() {
            for reason in found {
                *reasons.entry(reason).or_default() += 1;
            }
            continue;
        }
        let siblings = family.and_then(|family| place.families.get(family)).copied().unwrap_or(0);
        let score = (siblings, place.pods, place.name);
        if best.is_none_or(|(_, lowest)| score < lowest) {
            best = Some((at, score));
        }
    }
    best.map(|(at, _)| at).ok_or(reasons)
}

/// What keeps a pod off a node whatever else runs there.
fn static_reason(spec: &PodSpec, node: &Node) -> Option<String> {
    let tolerations = placement::tolerations(spec);
    let closed = k8s_openapi::api::core::v1::Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Default::default()
    };
    let strict = ["NoSchedule", "NoExecute"];
    let closed = std::slice::from_ref(&closed);
    if placement::is_closed(node) && placement::untolerated(closed, tolerations, &strict).is_some()
    {
        return Some("node(s) were unschedulable".to_owned());
    }
    if let Some(taint) = placement::untolerated(placement::taints(node), tolerations, &strict) {
        let value = taint.value.as_deref().unwrap_or_default();
        return Some(format!("node(s) had untolerated taint {{{}: {value}}}", taint.key));
    }
    if !placement::selects(spec, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    // A node that never reported has no taint yet; DaemonSets go there all the same.
    let patient = tolerations.iter().any(|toleration| {
        let key = toleration.key.as_deref().unwrap_or_default();
        (key.is_empty() || key == "node.kubernetes.io/not-ready")
            && toleration.operator.as_deref() == Some("Exists")
            && toleration.toleration_seconds.is_none()
    });
    if !placement::is_ready(node) && !patient {
        return Some("node(s) were not ready".to_owned());
    }
    None
}

/// Upstream's sentence.
fn explain(nodes: usize, reasons: &Reasons) -> String {
    if nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    let mut list: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    list.sort();
    format!("0/{nodes} nodes are available: {}.", list.join(", "))
}

fn notice(pod: &Pod, warning: bool, reason: &'static str, note: String) -> Notice {
    Notice {
        kind: Kind::Pod,
        key: key_of(&pod.metadata),
        uid: uid(&pod.metadata).to_owned(),
        warning,
        reason,
        note,
    }
}

fn bind(pod: &Pod, node: &str, decision: &mut Decision) {
    let key = key_of(&pod.metadata);
    let note = format!("Successfully assigned {key} to {node}");
    let verb = Verb::Bind { uid: uid(&pod.metadata).to_owned(), node: node.to_owned() };
    decision.push(Kind::Pod, &key, verb).notice = Some(notice(pod, false, "Scheduled", note));
}

/// Says why, once for every new reason.
fn refuse(pod: &Pod, message: &str, now: Timestamp, decision: &mut Decision) {
    let old = pods::condition(pod, "PodScheduled");
    if old.is_some_and(|old| old.status == "False" && old.message.as_deref() == Some(message)) {
        return;
    }
    let since = old.filter(|old| old.status == "False");
    let since = since.and_then(|old| old.last_transition_time.clone());
    let condition = PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("Unschedulable".to_owned()),
        message: Some(message.to_owned()),
        last_transition_time: Some(since.unwrap_or(Time(whole_seconds(now)))),
        ..PodCondition::default()
    };
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone());
    let mut conditions = conditions.unwrap_or_default();
    conditions.retain(|condition| condition.type_ != "PodScheduled");
    conditions.push(condition);
    let patch = json!({
        "metadata": {
            "uid": uid(&pod.metadata), "resourceVersion": pod.metadata.resource_version,
        },
        "status": {"conditions": conditions},
    });
    let action = decision.push(Kind::Pod, &key_of(&pod.metadata), Verb::PatchStatus(patch));
    action.notice = Some(notice(pod, true, "FailedScheduling", message.to_owned()));
}
