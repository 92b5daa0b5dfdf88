//! What Kubernetes says about one Octavia: what is to be in Neutron, which addresses nodes get, and what people
//! are told. A function of what was seen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::condition::{Condition, ConditionStatus, READY, Severity};
use landbridge_api::foreign::Node;
use landbridge_machinery::object;
use landbridge_plan::octavia::predictable::{self, Part};
use landbridge_plan::octavia::{Design, Fault, Side, attachment_name, design};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::pass::{Ended, Task};
use super::steps::Options;
use crate::making::world::controller;

/// The aspect of an Octavia that is told here.
pub const CONDITION: &str = "OctaviaManagementNetworkReady";
/// What keeps an Octavia until its networks are gone.
pub const FINALIZER: &str = "landbridge.dev/management-network";
/// `detach`: what was made stays when the Octavia goes.
pub const ON_DELETE: &str = "landbridge.dev/on-delete";
/// `true`: what Neutron cannot change is made anew.
pub const RECREATE: &str = "landbridge.dev/recreate";
/// Pods with an address of their own carry it, so that others can announce it.
pub const LABEL: &str = "predictableip";

const INITIAL: &str = "Octavia Management Network setup is not initialized";
const COMPLETED: &str = "Octavia Management Network setup completed";
const FAILED: &str = "Octavia Management Network setup error occured";

/// What of the cluster concerns one Octavia.
#[derive(Clone, Debug, Default)]
pub struct Around<'w> {
    /// Its attachment.
    pub attachment: Option<&'w Value>,
    /// All nodes.
    pub nodes: Vec<&'w Value>,
    /// The record of addresses.
    pub map: Option<&'w Value>,
    /// Pods of the namespace that belong to octavia.
    pub pods: Vec<&'w Value>,
}

/// What follows.
#[derive(Clone, Debug, Default)]
pub struct Assessment {
    /// What is to be in Neutron; `None` when that cannot be said.
    pub task: Option<Task>,
    /// What is wrong with the Octavia or its attachment.
    pub faults: Vec<Fault>,
    /// Writes that do not have to do with Neutron.
    pub writes: Vec<Write>,
    /// What is wrong with the addresses of nodes.
    pub shortage: Option<String>,
}

/// A write to Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// The finalizers of the Octavia: a merge patch that names the state it is for.
    Finalizers(Value),
    /// The record of addresses, new.
    CreateMap(Value),
    /// The record of addresses: a merge patch that names the state it is for.
    PatchMap(Value),
    /// A label of a pod.
    LabelPod {
        /// Its name.
        pod: String,
        /// A merge patch that names the pod it is for.
        patch: Value,
    },
}

/// Looks at an Octavia.
pub fn assess(octavia: &Value, around: &Around<'_>) -> Assessment {
    let mut found = Assessment::default();
    let finalizers = object::finalizers(octavia);
    let is_marked = finalizers.contains(&FINALIZER);
    if object::is_terminating(octavia) {
        if is_marked {
            let stays = annotation(octavia, ON_DELETE).is_some_and(|text| text == "detach");
            let is_unmanaged = octavia["spec"]["lbMgmtNetwork"]["manageLbMgmtNetworks"] == false;
            found.task = Some(if stays || is_unmanaged { Task::LetGo } else { Task::Remove });
        }
        return found;
    }
    let empty = json!({});
    let root = octavia.get("spec").filter(|spec| spec.is_object()).unwrap_or(&empty);
    let mut spec = Node::root(root);
    spec.place = landbridge_api::foreign::Place::new("spec");
    let outcome = design(&spec, around.attachment);
    found.faults = outcome.faults;
    let Some(design) = outcome.design else { return found };
    if !is_marked {
        let all: Vec<&str> = finalizers.into_iter().chain([FINALIZER]).collect();
        found.writes.push(Write::Finalizers(finalizers_patch(octavia, &all)));
        return found; // nothing is made before it is sure to be taken away again
    }
    addresses(octavia, &design, around, &mut found);
    let may_recreate = annotation(octavia, RECREATE).is_some_and(|text| text == "true");
    let options = Options { may_recreate, ..Options::default() };
    found.task = Some(Task::Keep(design.into(), options));
    found
}

/// Lets an Octavia go.
pub fn release(octavia: &Value) -> Value {
    let others: Vec<&str> =
        object::finalizers(octavia).into_iter().filter(|mark| *mark != FINALIZER).collect();
    finalizers_patch(octavia, &others)
}

fn finalizers_patch(octavia: &Value, finalizers: &[&str]) -> Value {
    json!({"metadata": {
        "resourceVersion": object::resource_version(octavia), "finalizers": finalizers,
    }})
}

fn annotation<'o>(octavia: &'o Value, name: &str) -> Option<&'o str> {
    object::annotation(octavia, name)
}

/// The attachment an Octavia is about.
pub fn attachment_of(octavia: &Value) -> &str {
    attachment_name(&octavia["spec"])
}

/// Addresses of nodes, and the labels that tell them.
fn addresses(octavia: &Value, design: &Design, around: &Around<'_>, found: &mut Assessment) {
    let spec = &octavia["spec"];
    let mut nodes = BTreeSet::new();
    for part in ["octaviaHealthManager", "octaviaRsyslog"] {
        let own = &spec[part]["nodeSelector"];
        let selector = if own.is_object() { own } else { &spec["nodeSelector"] };
        let fitting = around.nodes.iter().filter(|node| fits(selector, node));
        nodes.extend(fitting.map(|node| object::name(node).to_owned()));
    }
    if let Some(other) =
        around.map.and_then(controller).filter(|c| c["uid"] != object::uid(octavia))
    {
        let part = |field: &str| other[field].as_str().unwrap_or_default();
        found.shortage = Some(format!(
            "ConfigMap {} belongs to {} {}: the addresses of nodes stand there, and it is left alone",
            predictable::MAP,
            part("kind"),
            part("name")
        ));
        return;
    }
    let before: BTreeMap<String, String> =
        around.map.and_then(|map| BTreeMap::deserialize(&map["data"]).ok()).unwrap_or_default();
    let given = predictable::give(&nodes, &before, &design.predictable, design.gateway);
    if !given.without.is_empty() {
        found.shortage = Some(format!(
            "predictable IPs: out of available addresses: {} has {}, and {} nodes need {}; let nodeSelector \
             choose fewer nodes",
            design.predictable,
            design.predictable.len(),
            nodes.len(),
            given.map.len() + given.without.len(),
        ));
    }
    let data: BTreeMap<&str, String> =
        given.map.iter().map(|(key, ip)| (key.as_str(), ip.to_string())).collect();
    match around.map {
        None => found.writes.push(Write::CreateMap(new_map(octavia, &data))),
        Some(map) => {
            let mut patch: BTreeMap<&str, Value> =
                data.iter().map(|(key, ip)| (*key, ip.as_str().into())).collect();
            for key in before.keys().filter(|key| !data.contains_key(key.as_str())) {
                patch.insert(key, Value::Null);
            }
            patch.retain(|key, value| {
                before.get(*key).map_or(!value.is_null(), |known| *value != known.as_str())
            });
            if !patch.is_empty() {
                found.writes.push(Write::PatchMap(json!({
                    "metadata": {"resourceVersion": object::resource_version(map)}, "data": patch,
                })));
            }
        }
    }
    for pod in &around.pods {
        found.writes.extend(label(pod, &data));
    }
}

fn new_map(octavia: &Value, data: &BTreeMap<&str, String>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": predictable::MAP, "namespace": object::namespace(octavia),
            "ownerReferences": [{
                "apiVersion": "octavia.openstack.org/v1beta1", "kind": "Octavia",
                "name": object::name(octavia), "uid": object::uid(octavia),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "data": data,
    })
}

/// The label of a health manager's or rsyslog's pod.
fn label(pod: &Value, data: &BTreeMap<&str, String>) -> Option<Write> {
    let labels = &pod["metadata"]["labels"];
    let part = match labels["component"].as_str()? {
        "octavia-healthmanager" => Part::HealthManager,
        "octavia-rsyslog" => Part::Rsyslog,
        _ => return None,
    };
    let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())?;
    if object::is_terminating(pod) {
        return None;
    }
    let address = data.get(part.key(node).as_str())?;
    // A label takes no colons.
    let value = address.replace(':', "-");
    (labels[LABEL] != value.as_str()).then(|| Write::LabelPod {
        pod: object::name(pod).to_owned(),
        patch: json!({"metadata": {"uid": object::uid(pod), "labels": {LABEL: value}}}),
    })
}

fn fits(selector: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    selector
        .as_object()
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

/// What people are told, from what was found and how the last pass ended.
pub fn condition(
    octavia: &Value,
    found: &Assessment,
    last: Option<&Ended>,
    now: Timestamp,
) -> Condition {
    let bad = |severity, reason: &str, message: String| {
        (ConditionStatus::False, severity, reason.to_owned(), message)
    };
    let (status, severity, reason, message) = if let Some(first) = faults(octavia, &found.faults) {
        bad(Severity::Error, "Error", format!("{FAILED} {first}"))
    } else {
        match last {
            None => {
                (ConditionStatus::Unknown, Severity::None, "Init".to_owned(), INITIAL.to_owned())
            }
            Some(Ended::Short { why, is_passing, .. }) => {
                let severity = if *is_passing { Severity::Warning } else { Severity::Error };
                bad(severity, "Error", format!("{FAILED} {why}"))
            }
            Some(Ended::Done(done)) => {
                if let Some(shortage) = &found.shortage {
                    bad(Severity::Error, "Error", format!("{FAILED} {shortage}"))
                } else {
                    let note = done.note.iter().map(|note| format!("; {note}"));
                    let message = [COMPLETED.to_owned()].into_iter().chain(note).collect();
                    (ConditionStatus::True, Severity::None, READY.to_owned(), message)
                }
            }
        }
    };
    let seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let type_ = CONDITION.to_owned();
    Condition { type_, status, severity, last_transition_time: Time(seconds), reason, message }
}

fn faults(octavia: &Value, faults: &[Fault]) -> Option<String> {
    let text = |fault: &Fault| match fault.side {
        Side::Octavia => fault.to_string(),
        Side::Attachment => {
            format!("NetworkAttachmentDefinition {}: {fault}", attachment_of(octavia))
        }
    };
    let texts: Vec<String> = faults.iter().take(10).map(text).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// The patch of the status that tells it, unless it is told already. It names the state it is for, because others
/// tell other aspects in the same list.
pub fn status_patch(octavia: &Value, told: Condition) -> Option<Value> {
    let before = &octavia["status"]["conditions"];
    let mut list = Vec::<Condition>::deserialize(before).unwrap_or_default();
    match list.iter_mut().find(|known| known.type_ == CONDITION) {
        Some(known) if is_same(known, &told) => return None,
        Some(known) => *known = told,
        None => {
            let at =
                list.iter().position(|known| known.type_ != READY && *known.type_ > *CONDITION);
            list.insert(at.unwrap_or(list.len()), told);
        }
    }
    Some(json!({
        "metadata": {"resourceVersion": object::resource_version(octavia)},
        "status": {"conditions": list},
    }))
}

fn is_same(a: &Condition, b: &Condition) -> bool {
    (&a.status, &a.severity, &a.reason, &a.message)
        == (&b.status, &b.severity, &b.reason, &b.message)
}
