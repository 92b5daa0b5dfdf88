//! What is told about announcing: which ServiceL2Status objects are to be there, which events are to
//! be said, and the state of the configuration. As plans, so that nothing is written twice.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use kube::ResourceExt as _;
use landbridge_api::foreign::metallb::objects::ServiceL2Status;
use landbridge_l2::interfaces::Where;
use serde_json::{Value, json};

use super::plan::{Name, Plan, PlannedService, World};

/// Names the node on an object.
pub const NODE: &str = "metallb.io/node";
/// Names the Service on an object.
pub const SERVICE: &str = "metallb.io/service-name";
/// Names its namespace.
pub const SERVICE_NAMESPACE: &str = "metallb.io/service-namespace";

/// A ServiceL2Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenStatus {
    /// Who wrote it.
    pub node: String,
    /// About which Service.
    pub service: Name,
    /// The interfaces it names.
    pub interfaces: BTreeSet<String>,
    /// Whether its status was written at all.
    pub complete: bool,
}

impl SeenStatus {
    /// Reads one; nothing where it is not written by a speaker.
    pub fn of(object: &ServiceL2Status) -> Option<Self> {
        let label = |name: &str| object.labels().get(name).cloned();
        let interfaces = object.status["interfaces"].as_array().into_iter().flatten();
        Some(Self {
            node: label(NODE)?,
            service: (label(SERVICE_NAMESPACE)?, label(SERVICE)?),
            interfaces: interfaces.filter_map(|i| i["name"].as_str().map(str::to_owned)).collect(),
            complete: object.status["node"].is_string(),
        })
    }
}

/// A write of a ServiceL2Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A new one.
    Create(Name, BTreeSet<String>),
    /// Another status.
    Update(String, Name, BTreeSet<String>),
    /// Away with it.
    Delete(String),
}

/// Services that are announced from here, each with the interfaces it is limited to.
pub fn announced(plan: &Plan, held: &BTreeMap<IpAddr, bool>) -> BTreeMap<Name, BTreeSet<String>> {
    let works = held.iter().filter(|(_, works)| **works).map(|(key, _)| key);
    let units = works.filter_map(|key| plan.units.get(key));
    let names = |service: &PlannedService| match &service.wheres {
        Some(Where::Named(names)) => names.clone(),
        _ => BTreeSet::new(),
    };
    units
        .flat_map(|unit| unit.services.iter())
        .map(|(name, service)| (name.clone(), names(service)))
        .collect()
}

/// What is to be written so that the objects tell who announces what: the one who does removes
/// what others said before, and who does not removes its own.
pub fn writes(
    node: &str,
    announced: &BTreeMap<Name, BTreeSet<String>>,
    known: &BTreeMap<String, SeenStatus>,
) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut told = BTreeSet::new();
    for (object, status) in known {
        let wanted = announced.get(&status.service);
        match (status.node == node, wanted) {
            (true, Some(interfaces)) if told.insert(&status.service) => {
                if !status.complete || status.interfaces != *interfaces {
                    let (service, names) = (status.service.clone(), interfaces.clone());
                    writes.push(Write::Update(object.clone(), service, names));
                }
            }
            (true, _) | (false, Some(_)) => writes.push(Write::Delete(object.clone())),
            (false, None) => {}
        }
    }
    let new = announced.iter().filter(|(service, _)| !told.contains(service));
    writes.extend(new.map(|(service, names)| Write::Create(service.clone(), names.clone())));
    writes
}

/// A new object, without its status.
pub fn object(node: &str, node_uid: &str, service: &Name) -> Value {
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": node, "uid": node_uid}]);
    json!({
        "apiVersion": "metallb.io/v1beta1",
        "kind": "ServiceL2Status",
        "metadata": {
            "generateName": "l2-",
            "labels": {NODE: node, SERVICE: service.1, SERVICE_NAMESPACE: service.0},
            "ownerReferences": if node_uid.is_empty() { json!([]) } else { owner },
        },
    })
}

/// Its status.
pub fn status(node: &str, service: &Name, interfaces: &BTreeSet<String>) -> Value {
    let interfaces: Vec<Value> = interfaces.iter().map(|name| json!({"name": name})).collect();
    json!({"status": {
        "node": node,
        "serviceName": service.1,
        "serviceNamespace": service.0,
        "interfaces": interfaces,
    }})
}

/// Something to be said about a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// The Service.
    pub service: Name,
    /// Whether it is a warning.
    pub warning: bool,
    /// In one word.
    pub reason: &'static str,
    /// In a sentence.
    pub note: String,
}

/// What is said when the Services announced from here change; `told` remembers it.
pub fn sayings(
    node: &str,
    plan: &Plan,
    held: &BTreeMap<IpAddr, bool>,
    told: &mut BTreeMap<Name, bool>,
) -> Vec<Saying> {
    let mut now = BTreeMap::new();
    let mut said = Vec::new();
    for (key, works) in held {
        for service in plan.units.get(key).into_iter().flat_map(|unit| unit.services.keys()) {
            now.insert(service.clone(), *works);
            if told.get(service) == Some(works) {
                continue;
            }
            let (reason, note) = if *works {
                let note = format!("announcing from node {node:?} with protocol \"layer2\"");
                ("nodeAssigned", note)
            } else {
                let ip = key.to_string();
                let note = format!(
                    "the interfaces specified by LB IP {ip:?} doesn't exist in assigned node \
                     {node:?} with protocol \"layer2\""
                );
                ("announceFailed", note)
            };
            said.push(Saying { service: service.clone(), warning: !works, reason, note });
        }
    }
    *told = now;
    said
}

/// What is wrong with the configuration, in one text; nothing where all is fine.
pub fn trouble(world: &World, excluded: Option<&str>) -> Option<String> {
    let read = world.advertisements.iter().filter_map(|(name, read)| {
        read.as_ref().err().map(|why| format!("L2Advertisement {name}: {why}"))
    });
    let texts: Vec<String> =
        read.chain(excluded.map(|why| format!("interfaces to exclude: {why}"))).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// The status of this node's ConfigurationState.
pub fn configuration(trouble: Option<&str>, now: &str) -> Value {
    let (result, status, reason) = match trouble {
        None => ("Valid", "True", "Reconciled"),
        Some(_) => ("Invalid", "False", "ConfigurationError"),
    };
    let message = trouble.map(|text| format!("configuration error: {text}")).unwrap_or_default();
    json!({
        "result": result,
        "errorSummary": trouble.unwrap_or_default(),
        "conditions": [{
            "type": "configReconcilerValid",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
        }],
    })
}
