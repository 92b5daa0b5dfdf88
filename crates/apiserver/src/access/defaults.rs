//! The roles and bindings every cluster begins with: upstream's, for the kinds served here.

use std::sync::Arc;

use landbridge_machinery::status::ApiResult;
use serde_json::{Map, Value, json};

use crate::bootstrap::ensure;
use crate::server::Inner;

const RBAC: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const ALL: &[&str] = &["*"];

/// Paths everybody may read who proved who he is.
const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// Writes what is missing, all at once: the store commits them together.
pub async fn write(server: &Arc<Inner>) -> ApiResult<()> {
    let roles = roles().into_iter().map(|role| ensure(server, RBAC, "clusterroles", None, role));
    futures::future::try_join_all(roles).await?;
    let bindings = bindings();
    let bindings = bindings
        .into_iter()
        .map(|binding| ensure(server, RBAC, "clusterrolebindings", None, binding));
    futures::future::try_join_all(bindings).await?;
    Ok(())
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn metadata(name: &str, more: &[&str]) -> Value {
    let mut labels = Map::new();
    labels.insert("kubernetes.io/bootstrapping".into(), "rbac-defaults".into());
    for aggregate in more {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregate}");
        labels.insert(label, "true".into());
    }
    json!({
        "name": name,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

fn role(name: &str, aggregate_to: &[&str], rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(name, aggregate_to),
        "rules": rules,
    })
}

/// A role that is the sum of all roles with the label of its name.
fn sum(name: &str, aggregate_to: &[&str]) -> Value {
    let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(name, aggregate_to),
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]},
        "rules": [],
    })
}

fn roles() -> Vec<Value> {
    let everything = [
        json!({"apiGroups": ALL, "resources": ALL, "verbs": ALL}),
        json!({"nonResourceURLs": ALL, "verbs": ALL}),
    ];
    let own_reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    vec![
        role("cluster-admin", &[], &everything),
        role("system:discovery", &[], &[json!({"nonResourceURLs": DISCOVERY, "verbs": ["get"]})]),
        role(
            "system:public-info-viewer",
            &[],
            &[json!({"nonResourceURLs": PUBLIC, "verbs": ["get"]})],
        ),
        role(
            "system:basic-user",
            &[],
            &[
                rule("authorization.k8s.io", &own_reviews, &["create"]),
                rule("authentication.k8s.io", &["selfsubjectreviews"], &["create"]),
            ],
        ),
        role(
            "system:auth-delegator",
            &[],
            &[
                rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
                rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
            ],
        ),
        sum("admin", &[]),
        sum("edit", &["admin"]),
        sum("view", &["edit"]),
        role("system:aggregate-to-admin", &["admin"], &admin_rules()),
        role("system:aggregate-to-edit", &["edit"], &edit_rules()),
        role("system:aggregate-to-view", &["view"], &view_rules()),
    ]
}

fn admin_rules() -> Vec<Value> {
    let verbs = [READ, WRITE].concat();
    vec![
        rule("authorization.k8s.io", &["localsubjectaccessreviews"], &["create"]),
        rule(RBAC, &["rolebindings", "roles"], &verbs),
    ]
}

const WORKLOADS: &[&str] = &[
    "daemonsets",
    "deployments",
    "deployments/scale",
    "replicasets",
    "replicasets/scale",
    "statefulsets",
    "statefulsets/scale",
];

fn edit_rules() -> Vec<Value> {
    vec![
        rule("", &["pods/attach", "pods/exec", "pods/portforward", "secrets"], READ),
        rule("", &["serviceaccounts"], &["impersonate"]),
        rule("", &["serviceaccounts/token"], &["create"]),
        rule(
            "",
            &[
                "configmaps",
                "endpoints",
                "events",
                "pods",
                "pods/attach",
                "pods/exec",
                "pods/portforward",
                "secrets",
                "serviceaccounts",
                "services",
            ],
            WRITE,
        ),
        rule("", &["pods/eviction"], &["create"]),
        rule("events.k8s.io", &["events"], WRITE),
        rule("apps", WORKLOADS, WRITE),
        rule("batch", &["jobs"], WRITE),
        rule("networking.k8s.io", &["networkpolicies"], WRITE),
        rule(
            "coordination.k8s.io",
            &["leases"],
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        ),
    ]
}

fn view_rules() -> Vec<Value> {
    let statuses: Vec<&str> =
        WORKLOADS.iter().copied().chain(APP_STATUSES.iter().copied()).collect();
    vec![
        rule(
            "",
            &[
                "bindings",
                "configmaps",
                "endpoints",
                "events",
                "namespaces",
                "namespaces/status",
                "pods",
                "pods/log",
                "pods/status",
                "serviceaccounts",
                "services",
                "services/status",
            ],
            READ,
        ),
        rule("discovery.k8s.io", &["endpointslices"], READ),
        rule("events.k8s.io", &["events"], READ),
        rule("apps", &statuses, READ),
        rule("apps", &["controllerrevisions"], READ),
        rule("batch", &["jobs", "jobs/status"], READ),
        rule("networking.k8s.io", &["networkpolicies"], READ),
    ]
}

const APP_STATUSES: &[&str] =
    &["daemonsets/status", "deployments/status", "replicasets/status", "statefulsets/status"];

fn bindings() -> Vec<Value> {
    let table: &[(&str, &[&str])] = &[
        ("cluster-admin", &["system:masters"]),
        ("system:discovery", &["system:authenticated"]),
        ("system:basic-user", &["system:authenticated"]),
        ("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    ];
    table.iter().map(|(role, groups)| binding(role, groups)).collect()
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subject = |group: &&str| json!({"kind": "Group", "apiGroup": RBAC, "name": group});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata(role, &[]),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
    })
}
