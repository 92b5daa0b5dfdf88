//! The workload of a part: what runs its pods, and how far it is.

use landbridge_machinery::object;
use serde_json::{Value, json};

use super::attachments::NETWORKS;
use super::expose::selector;
use super::kinds::Kind;
use super::parts::{Part, Runs};
use super::plan::{Context, Wanted};

/// Pods that carry this keep their addresses wherever they are attached.
const STICKY: &str = "landbridge.dev/sticky";
/// In a lab images are not run; on a cluster the name says what is missing.
const NO_IMAGE: &str = "landbridge-lab";

/// Parts of a workload that are as said, or not there.
const WHOLE: &[&str] = &[
    "/spec/template/metadata/annotations",
    "/spec/template/metadata/labels",
    "/spec/template/spec/nodeSelector",
];

impl Runs {
    /// The kind.
    pub fn kind(self) -> Kind {
        match self {
            Self::Deployment => Kind::Deployment,
            Self::StatefulSet => Kind::StatefulSet,
            Self::DaemonSet => Kind::DaemonSet,
        }
    }
}

/// The object that runs a part's pods.
pub fn workload(context: &Context<'_>, part: &Part<'_>, networks: &str) -> Wanted {
    let labels = selector(part);
    let mut annotations = json!({NETWORKS: networks});
    if part.is_sticky {
        annotations[STICKY] = "true".into();
    }
    let ports: Vec<Value> = part
        .ports
        .iter()
        .map(|port| {
            json!({"name": port.name, "containerPort": port.number, "protocol": port.protocol})
        })
        .collect();
    let image = part.image.as_str().filter(|image| !image.is_empty());
    let image = image.map_or_else(|| format!("{NO_IMAGE}/{}", part.name), str::to_owned);
    let mut container = json!({"name": part.name, "image": image});
    if !ports.is_empty() {
        container["ports"] = ports.into();
    }
    if !part.env.is_empty() {
        container["env"] = part.env.iter().map(variable).collect();
    }
    let beside = part.beside.iter().map(|name| json!({"name": name, "image": image}));
    let containers: Vec<Value> = [container.clone()].into_iter().chain(beside).collect();
    let mut pod = json!({"containers": containers});
    if let Some(nodes) = nodes_for(context, part) {
        pod["nodeSelector"] = nodes.clone();
    }
    let mut spec = json!({
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
    });
    match part.runs {
        Runs::Deployment => spec["replicas"] = part.replicas.into(),
        Runs::StatefulSet => {
            spec["replicas"] = part.replicas.into();
            let headless = part.offers.iter().find(|offer| offer.is_headless);
            let service = headless.or(part.offers.first()).map_or(&part.name, |o| &o.service);
            spec["serviceName"] = service.as_str().into();
            spec["podManagementPolicy"] = "Parallel".into();
        }
        Runs::DaemonSet => {}
    }
    let kind = part.runs.kind();
    let mut object = context.object(kind, &part.name, spec);
    object["metadata"]["labels"] = selector(part);
    Wanted { kind, object, whole: WHOLE }
}

fn variable((name, value): &(String, Option<String>)) -> Value {
    match value {
        Some(value) => json!({"name": name, "value": value}),
        None => json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
    }
}

/// The part's own choice of nodes, else that of the service, else that of the control plane. An
/// empty one is a choice, too.
fn nodes_for<'a>(context: &Context<'a>, part: &Part<'a>) -> Option<&'a Value> {
    let plane = context.plane().map(|plane| &plane["spec"]["nodeSelector"]);
    let choices = [Some(part.node_selector), Some(&context.spec()["nodeSelector"]), plane];
    choices.into_iter().flatten().find(|choice| choice.is_object())
}

/// How far a workload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Pods that are ready.
    pub ready: i64,
    /// Whether all that are wanted are, in their newest form.
    pub is_complete: bool,
}

/// Reads the status of a workload.
pub fn running(live: &Value) -> Running {
    let status = &live["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let is_current = count("observedGeneration") >= object::generation(live);
    if live["kind"] == "DaemonSet" {
        let wanted = count("desiredNumberScheduled");
        let is_updated = count("updatedNumberScheduled") >= wanted;
        let ready = count("numberReady");
        return Running { ready, is_complete: is_current && is_updated && ready >= wanted };
    }
    let wanted = live["spec"]["replicas"].as_i64().unwrap_or(1);
    let (ready, updated) = (count("readyReplicas"), count("updatedReplicas"));
    Running { ready, is_complete: is_current && updated >= wanted && ready >= wanted }
}
