//! What a node may do: work on what is its own, and read what its pods need.
//!
//! An identity is a node when its user is `system:node:NAME` and it belongs to `system:nodes`. The
//! table says what is allowed and to which objects; what it does not list, RBAC may still allow.
//! Names in bodies (a node creates *its own* Node) are checked by [`admit`].

use landbridge_machinery::object;
use landbridge_machinery::rbac::{Attributes, Decision};
use landbridge_machinery::selector::FieldSelector;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::subject;
use crate::call::Call;
use crate::meta::{self, Snapshot};
use crate::nodes::{NodeObjectName, NodeObjects};

const LEASES: &str = "kube-node-lease";
/// Labels only administrators set on nodes, so that workloads can rely on them.
const RESTRICTED_LABEL: &str = "node-restriction.kubernetes.io/";

/// Which objects a row is about.
#[derive(Clone, Copy)]
enum Which {
    /// All of them.
    Any,
    /// The one with the name of the node.
    OwnName,
    /// The one with the name of the node, in this namespace.
    OwnNameIn(&'static str),
    /// Everything in this namespace; [`admit`] looks at the name.
    In(&'static str),
    /// A pod that is bound to the node.
    BoundPod,
    /// The pods bound to the node, selected by `spec.nodeName`.
    BoundPods,
    /// What a pod bound to the node refers to.
    UsedByPod,
}

struct Row(&'static str, &'static str, &'static [&'static str], Which);

const READ: &[&str] = &["get", "list", "watch"];
const CHANGE: &[&str] = &["update", "patch"];
const STATUS: &[&str] = &["get", "update", "patch"];
const CREATE: &[&str] = &["create"];

/// Group, resource with subresource, verbs, objects. Kinds beyond Kubernetes' own of which a node
/// has objects are rows of the server's options: [`NodeObjects`].
const ROWS: &[Row] = &[
    Row("", "nodes", CREATE, Which::Any),
    Row("", "nodes", READ, Which::OwnName),
    Row("", "nodes", CHANGE, Which::OwnName),
    Row("", "nodes/status", STATUS, Which::OwnName),
    Row("coordination.k8s.io", "leases", CREATE, Which::In(LEASES)),
    Row(
        "coordination.k8s.io",
        "leases",
        &["get", "update", "patch", "delete"],
        Which::OwnNameIn(LEASES),
    ),
    Row("", "pods", &["get", "delete"], Which::BoundPod),
    Row("", "pods", &["list", "watch"], Which::BoundPods),
    Row("", "pods/status", STATUS, Which::BoundPod),
    Row("", "pods/eviction", CREATE, Which::BoundPod),
    Row("", "configmaps", READ, Which::UsedByPod),
    Row("", "secrets", READ, Which::UsedByPod),
    Row("", "serviceaccounts", &["get"], Which::UsedByPod),
    Row("", "serviceaccounts/token", CREATE, Which::UsedByPod),
    Row("", "services", READ, Which::Any),
    Row("", "events", &["create", "update", "patch"], Which::Any),
    Row("events.k8s.io", "events", &["create", "update", "patch"], Which::Any),
    Row("authentication.k8s.io", "tokenreviews", CREATE, Which::Any),
    Row("authorization.k8s.io", "subjectaccessreviews", CREATE, Which::Any),
    Row("authorization.k8s.io", "localsubjectaccessreviews", CREATE, Which::Any),
];

/// Allows what the table allows, and what `objects` says is the node's own.
pub fn decide(
    snapshot: &Snapshot,
    objects: &[NodeObjects],
    wanted: &Attributes<'_>,
    selector: &str,
) -> Decision {
    let Some(node) = subject::node(wanted.user, wanted.groups) else {
        return Decision::NoOpinion(String::new());
    };
    let mut known = false;
    if let Some(kind) = kind_of(objects, wanted.group, wanted.resource)
        && wanted.path.is_none()
        && may(kind, node, wanted)
    {
        return Decision::Allow(String::new());
    }
    for Row(group, resource, verbs, which) in ROWS {
        let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let matches = wanted.path.is_none()
            && (*group, resource, sub) == (wanted.group, wanted.resource, wanted.subresource)
            && verbs.contains(&wanted.verb);
        if !matches {
            continue;
        }
        known = true;
        if holds(*which, snapshot, node, wanted, selector) {
            return Decision::Allow(String::new());
        }
    }
    Decision::NoOpinion(if known {
        format!("no relationship found between node {node:?} and this object")
    } else {
        String::new()
    })
}

fn kind_of<'a>(objects: &'a [NodeObjects], group: &str, resource: &str) -> Option<&'a NodeObjects> {
    objects.iter().find(|kind| kind.group == group && kind.resource == resource)
}

/// What a node may do with a kind of which it has objects. New ones have no name in the path.
fn may(kind: &NodeObjects, node: &str, wanted: &Attributes<'_>) -> bool {
    let own = kind.owns(node, wanted.name);
    match (wanted.subresource, wanted.verb) {
        ("", "create") => own || wanted.name.is_empty(),
        ("", "get" | "list" | "watch" | "update" | "patch" | "delete")
        | ("status", "get" | "update" | "patch") => own,
        _ => false,
    }
}

fn holds(
    which: Which,
    snapshot: &Snapshot,
    node: &str,
    wanted: &Attributes<'_>,
    selector: &str,
) -> bool {
    match which {
        Which::Any => true,
        Which::OwnName => wanted.name == node,
        Which::OwnNameIn(namespace) => wanted.namespace == namespace && wanted.name == node,
        Which::In(namespace) => wanted.namespace == namespace,
        Which::BoundPod => is_bound(snapshot, wanted.namespace, wanted.name, node),
        Which::BoundPods => FieldSelector::parse(selector)
            .is_ok_and(|selector| selector.exact("spec.nodeName") == Some(node)),
        Which::UsedByPod => {
            !wanted.name.is_empty()
                && !wanted.namespace.is_empty()
                && pods(snapshot, wanted.namespace)
                    .any(|pod| bound_to(&pod, node) && uses(&pod, wanted.resource, wanted.name))
        }
    }
}

/// Whether a pod is bound to a node.
pub fn is_bound(snapshot: &Snapshot, namespace: &str, name: &str, node: &str) -> bool {
    let found = snapshot.get(&format!("/core/pods/{namespace}/{name}"));
    found.is_some_and(|entry| bound_to(&meta::parse(entry), node))
}

fn pods<'a>(snapshot: &'a Snapshot, namespace: &str) -> impl Iterator<Item = Value> + use<'a> {
    let prefix = format!("/core/pods/{namespace}/");
    let entries: Vec<Value> =
        snapshot.range(&prefix, None).map(|entry| meta::parse(entry)).collect();
    entries.into_iter()
}

fn bound_to(pod: &Value, node: &str) -> bool {
    pod["spec"]["nodeName"] == node
}

/// Whether a pod refers to a ConfigMap, Secret or ServiceAccount of its namespace.
fn uses(pod: &Value, resource: &str, name: &str) -> bool {
    let spec = &pod["spec"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    // Where each of the two is named: in volumes, in `env` and in `envFrom`.
    let (volume, volume_name, key_ref, from) = match resource {
        "serviceaccounts" => return spec["serviceAccountName"] == name,
        "secrets" => ("secret", "secretName", "secretKeyRef", "secretRef"),
        "configmaps" => ("configMap", "name", "configMapKeyRef", "configMapRef"),
        _ => return false,
    };
    let by_volume = list(&spec["volumes"]).iter().any(|v| {
        v[volume][volume_name] == name
            || list(&v["projected"]["sources"]).iter().any(|s| s[volume]["name"] == name)
    });
    let by_container = ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|field| list(&spec[field]))
        .any(|container| {
            list(&container["env"]).iter().any(|e| e["valueFrom"][key_ref]["name"] == name)
                || list(&container["envFrom"]).iter().any(|e| e[from]["name"] == name)
        });
    let by_pull = resource == "secrets"
        && list(&spec["imagePullSecrets"]).iter().any(|secret| secret["name"] == name);
    by_volume || by_container || by_pull
}

/// Judges what a node writes, where the path alone does not tell.
pub fn admit(call: &Call<'_>, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    let Some(node) = subject::node(&call.identity.user, &call.identity.groups) else {
        return Ok(());
    };
    let name = object::name(object);
    let refuse =
        |why: String| Err(ApiError::forbidden(&call.resource.group_resource(), name, &why));
    match (call.resource.group.as_str(), call.resource.plural.as_str()) {
        ("", "nodes") if name != node => {
            refuse(format!("node {node:?} is not allowed to modify node {name:?}"))
        }
        ("", "nodes") => {
            if restricted_labels(object) != old.map(restricted_labels).unwrap_or_default() {
                return refuse(format!(
                    "node {node:?} is not allowed to set or change labels with prefix {RESTRICTED_LABEL}"
                ));
            }
            let taints = |object: &Value| object["spec"]["taints"].clone();
            match old {
                Some(old) if taints(old) != taints(object) => {
                    refuse(format!("node {node:?} is not allowed to modify taints"))
                }
                _ => Ok(()),
            }
        }
        ("", "pods") => pod_change(node, object, old).map_or(Ok(()), refuse),
        (group, resource) => not_its_own(call, node, group, resource, name).map_or(Ok(()), refuse),
    }
}

/// Judges what a node deletes, whatever roles allow it.
pub fn admit_delete(call: &Call<'_>, old: &Value) -> ApiResult<()> {
    let Some(node) = subject::node(&call.identity.user, &call.identity.groups) else {
        return Ok(());
    };
    let name = object::name(old);
    let why = match (call.resource.group.as_str(), call.resource.plural.as_str()) {
        ("", "pods") if !bound_to(old, node) => {
            Some(format!("node {node:?} can only delete pods with spec.nodeName set to itself"))
        }
        (group, resource) => not_its_own(call, node, group, resource, name),
    };
    why.map_or(Ok(()), |why| Err(ApiError::forbidden(&call.resource.group_resource(), name, &why)))
}

/// Why a node may not write a pod so.
fn pod_change(node: &str, pod: &Value, old: Option<&Value>) -> Option<String> {
    match old {
        None => Some(format!("node {node:?} cannot create pods")),
        Some(old) if !bound_to(old, node) => Some(format!(
            "node {node:?} can only update pod status for pods with spec.nodeName set to itself"
        )),
        Some(old) if object::labels(old) != object::labels(pod) => {
            Some(format!("node {node:?} cannot update labels through pod status"))
        }
        Some(_) => None,
    }
}

/// Why a node may not write an object of a kind of which it has its own.
fn not_its_own(
    call: &Call<'_>,
    node: &str,
    group: &str,
    resource: &str,
    name: &str,
) -> Option<String> {
    if (group, resource) == ("coordination.k8s.io", "leases") {
        return (call.namespace() == Some(LEASES) && name != node).then(|| {
            format!(
                "node {node:?} can only access node lease with the same name as the requesting node"
            )
        });
    }
    let kind = kind_of(&call.server.node_objects, group, resource)?;
    let own = match kind.name {
        NodeObjectName::Exact => node.to_owned(),
        NodeObjectName::PrefixDot => format!("{node}.*"),
    };
    (!kind.owns(node, name)).then(|| {
        format!("node {node:?} can only write its own {resource}, which are named {own:?}")
    })
}

fn restricted_labels(object: &Value) -> Vec<(String, String)> {
    let labels = object::labels(object).into_iter().flatten();
    labels
        .filter(|(key, _)| key.starts_with(RESTRICTED_LABEL))
        .map(|(key, value)| (key.clone(), value.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pods_refer_to_objects() {
        let pod = json!({"spec": {
            "serviceAccountName": "sa",
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [
                {"secret": {"secretName": "s1"}}, {"configMap": {"name": "c1"}},
                {"projected": {"sources": [{"secret": {"name": "s2"}}, {"configMap": {"name": "c2"}}]}},
            ],
            "containers": [{
                "env": [{"valueFrom": {"secretKeyRef": {"name": "s3"}}}],
                "envFrom": [{"configMapRef": {"name": "c3"}}],
            }],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "s4"}}]}],
        }});
        for secret in ["pull", "s1", "s2", "s3", "s4"] {
            assert!(uses(&pod, "secrets", secret), "{secret}");
            assert!(!uses(&pod, "configmaps", secret), "{secret}");
        }
        for config in ["c1", "c2", "c3"] {
            assert!(uses(&pod, "configmaps", config), "{config}");
        }
        assert!(uses(&pod, "serviceaccounts", "sa"));
        assert!(!uses(&pod, "serviceaccounts", "other"));
        assert!(!uses(&pod, "nodes", "s1"));
    }
}
