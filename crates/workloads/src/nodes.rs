//! Addresses for nodes, silent nodes, pods that must leave.
//!
//! ```text
//!  lease renewed, or report          ─▶ heard
//!  not heard for a while             ─▶ Ready=Unknown, taints unreachable
//!  Ready=False                       ─▶ taints not-ready
//!  heard again                       ─▶ Ready=True, taints gone
//!  NoExecute taint, pod lets it be   ─▶ nothing, or deletion after tolerationSeconds
//!  node gone from the API            ─▶ its pods are deleted at once
//! ```

mod cidrs;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

pub use self::cidrs::decide as decide_cidrs;
use crate::action::{Decision, Guard, Kind, Notice, Verb};
use crate::placement;
use crate::pods::{self, whole_seconds};
use crate::settings::Settings;
use crate::world::{World, key_of, uid};

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Reason of a condition that this module wrote.
const SILENT: &str = "NodeStatusUnknown";
const NEVER_HEARD: &str = "NodeStatusNeverUpdated";
/// What a node reports about itself; all of it is unknown when it is silent.
const REPORTED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What is to be done for a node, or for the pods of one that is gone.
pub fn decide(world: &World, name: &str, now: Timestamp, settings: &Settings) -> Decision {
    let mut decision = Decision::default();
    let Some(node) = world.node(name) else {
        bury(world, name, now, settings, &mut decision);
        return decision;
    };
    let grace = SignedDuration::try_from(settings.node_grace).unwrap_or(SignedDuration::MAX);
    let heard = world.heard(name).unwrap_or(now);
    let until = heard.checked_add(grace).unwrap_or(Timestamp::MAX);
    let silent = until <= now;
    if !silent {
        decision.wake_at(until);
    }
    let ready = status(node, silent, now, &mut decision);
    taint(node, ready, now, &mut decision);
    evict(world, node, now, &mut decision);
    decision
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Yes,
    No,
    Unknown,
}

fn conditions(node: &Node) -> &[NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

/// Writes what the silence of a node, or its end, means; says how ready it is now.
fn status(node: &Node, silent: bool, now: Timestamp, decision: &mut Decision) -> Ready {
    let ready = conditions(node).iter().find(|condition| condition.type_ == "Ready");
    let state = match ready.map(|ready| ready.status.as_str()) {
        Some("True") => Ready::Yes,
        Some("False") => Ready::No,
        _ => Ready::Unknown,
    };
    let ours =
        ready.is_some_and(|ready| matches!(ready.reason.as_deref(), Some(SILENT | NEVER_HEARD)));
    if silent && !(state == Ready::Unknown && ours) {
        let patched: Vec<NodeCondition> = unknown(node, now);
        patch_status(node, &patched, "NodeNotReady", decision);
        return Ready::Unknown;
    }
    let heard_again = !silent && state == Ready::Unknown && ours;
    // One that never reported must do so itself: nobody knows whether it works.
    if heard_again && ready.and_then(|ready| ready.reason.as_deref()) == Some(SILENT) {
        let mut patched = conditions(node).to_vec();
        for condition in patched.iter_mut().filter(|c| c.reason.as_deref() == Some(SILENT)) {
            let is_ready = condition.type_ == "Ready";
            let status = if is_ready { "True" } else { "False" };
            status.clone_into(&mut condition.status);
            condition.reason =
                Some(if is_ready { "KubeletReady" } else { "NodeIsHeardAgain" }.to_owned());
            condition.message = Some("The node renews its lease again.".to_owned());
            condition.last_transition_time = Some(Time(whole_seconds(now)));
        }
        patch_status(node, &patched, "NodeReady", decision);
        return Ready::Yes;
    }
    state
}

/// The conditions of a silent node.
fn unknown(node: &Node, now: Timestamp) -> Vec<NodeCondition> {
    let mut patched = conditions(node).to_vec();
    for name in REPORTED {
        match patched.iter_mut().find(|condition| condition.type_ == name) {
            Some(condition) => {
                if condition.status != "Unknown" {
                    condition.last_transition_time = Some(Time(whole_seconds(now)));
                }
                "Unknown".clone_into(&mut condition.status);
                condition.reason = Some(SILENT.to_owned());
                condition.message = Some("Kubelet stopped posting node status.".to_owned());
            }
            None if name == "Ready" => patched.push(NodeCondition {
                type_: name.to_owned(),
                status: "Unknown".to_owned(),
                reason: Some(NEVER_HEARD.to_owned()),
                message: Some("Kubelet never posted node status.".to_owned()),
                last_transition_time: Some(Time(whole_seconds(now))),
                ..NodeCondition::default()
            }),
            None => {}
        }
    }
    patched
}

fn patch_status(
    node: &Node,
    conditions: &[NodeCondition],
    reason: &'static str,
    decision: &mut Decision,
) {
    let key = key_of(&node.metadata);
    // Only at the revision that was seen: a report that comes in between wins.
    let patch = json!({
        "metadata": {
            "uid": uid(&node.metadata), "resourceVersion": node.metadata.resource_version,
        },
        "status": {"conditions": conditions},
    });
    let notice = Notice {
        kind: Kind::Node,
        key: key.clone(),
        uid: uid(&node.metadata).to_owned(),
        warning: false,
        reason,
        note: format!("Node {} status is now: {reason}", key.name),
    };
    decision.push(Kind::Node, &key, Verb::PatchStatus(patch)).notice = Some(notice);
}

/// Brings the taints of a node in line with how ready it is.
fn taint(node: &Node, ready: Ready, now: Timestamp, decision: &mut Decision) {
    if decision.actions.iter().any(|action| action.kind == Kind::Node) {
        return; // first the status: the taints follow from what it has become
    }
    let wanted = match ready {
        Ready::Yes => None,
        Ready::No => Some(NOT_READY),
        Ready::Unknown => Some(UNREACHABLE),
    };
    let before = placement::taints(node);
    let mut after: Vec<Taint> = before
        .iter()
        .filter(|taint| {
            !matches!(taint.key.as_str(), NOT_READY | UNREACHABLE)
                || wanted == Some(taint.key.as_str())
        })
        .cloned()
        .collect();
    for effect in ["NoSchedule", "NoExecute"] {
        let Some(key) = wanted else { break };
        if !after.iter().any(|taint| taint.key == key && taint.effect == effect) {
            after.push(Taint {
                key: key.to_owned(),
                effect: effect.to_owned(),
                time_added: (effect == "NoExecute").then_some(Time(whole_seconds(now))),
                ..Taint::default()
            });
        }
    }
    if after == before {
        return;
    }
    let patch = json!({
        "metadata": {
            "uid": uid(&node.metadata), "resourceVersion": node.metadata.resource_version,
        },
        "spec": {"taints": if after.is_empty() { Value::Null } else { json!(after) }},
    });
    decision.push(Kind::Node, &key_of(&node.metadata), Verb::Patch(patch));
}

/// Deletes pods that do not put up with the taints of their node, or not any longer.
fn evict(world: &World, node: &Node, now: Timestamp, decision: &mut Decision) {
    let strict: Vec<&Taint> =
        placement::taints(node).iter().filter(|taint| taint.effect == "NoExecute").collect();
    if strict.is_empty() {
        return;
    }
    let name = node.metadata.name.as_deref().unwrap_or_default();
    for pod in world.pods_on(name).filter(|pod| !pods::is_leaving(pod)) {
        let Some(until) = stays_until(pod, &strict, now) else { continue };
        if until > now {
            decision.wake_at(until);
            continue;
        }
        let key = key_of(&pod.metadata);
        let notice = Notice {
            kind: Kind::Pod,
            key: key.clone(),
            uid: uid(&pod.metadata).to_owned(),
            warning: false,
            reason: "TaintManagerEviction",
            note: format!("Marking for deletion Pod {key}"),
        };
        decision.push(Kind::Pod, &key, pods::delete(pod, false)).notice = Some(notice);
    }
}

/// How long a pod puts up with these taints; None: for ever.
fn stays_until(pod: &Pod, taints: &[&Taint], now: Timestamp) -> Option<Timestamp> {
    let tolerations = pod.spec.as_ref().map(placement::tolerations).unwrap_or_default();
    let mut until: Option<Timestamp> = None;
    for taint in taints {
        let since = taint.time_added.as_ref().map_or(now, |time| time.0);
        let mut covering = tolerations
            .iter()
            .filter(|toleration| placement::tolerates(toleration, taint))
            .peekable();
        if covering.peek().is_none() {
            return Some(now);
        }
        let shortest = covering.filter_map(|toleration| toleration.toleration_seconds).min();
        if let Some(seconds) = shortest {
            let wait = SignedDuration::from_secs(seconds.max(0));
            let end = since.checked_add(wait).unwrap_or(Timestamp::MAX);
            until = Some(until.map_or(end, |until| until.min(end)));
        }
    }
    until
}

/// Deletes the pods of a node that is gone. The API is asked again before each deletion.
fn bury(world: &World, name: &str, now: Timestamp, settings: &Settings, decision: &mut Decision) {
    let pods: Vec<&Arc<Pod>> = world.pods_on(name).collect();
    if pods.is_empty() {
        return;
    }
    let grace = SignedDuration::try_from(settings.gone_grace).unwrap_or(SignedDuration::ZERO);
    let since = world.absent_since(name).unwrap_or(now);
    let at = since.checked_add(grace).unwrap_or(now);
    if at > now {
        decision.wake_at(at);
        return;
    }
    for pod in pods {
        let action = decision.push(Kind::Pod, &key_of(&pod.metadata), pods::delete(pod, true));
        action.guard = Some(Guard::Gone(Kind::Node, Key::new("", name)));
    }
}

/// Removes a pod that is being deleted and was never given a node: nobody else would.
pub fn decide_lost(world: &World, key: &Key) -> Decision {
    let mut decision = Decision::default();
    let lost = |pod: &&Arc<Pod>| pods::is_leaving(pod) && world.node_of(pod).is_none();
    if let Some(pod) = world.pod(key).filter(lost) {
        let held = pod.metadata.finalizers.as_ref().is_some_and(|list| !list.is_empty());
        if !held {
            decision.push(Kind::Pod, key, pods::delete(pod, true));
        }
    }
    decision
}
