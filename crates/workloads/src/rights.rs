//! What the controllers may do, and no more.

use k8s_openapi::api::rbac::v1::PolicyRule;

const READ: &[&str] = &["get", "list", "watch"];

/// One line per group: which resources, and what may be done to them besides reading.
const RIGHTS: &[(&str, &[&str], &[&str])] = &[
    ("apps", &["deployments", "statefulsets", "daemonsets"], &["patch"]),
    (
        "apps",
        &["deployments/status", "replicasets/status", "statefulsets/status", "daemonsets/status"],
        &["patch"],
    ),
    // Owners that block deletion may be set only by whoever may finalize them.
    (
        "apps",
        &[
            "deployments/finalizers",
            "replicasets/finalizers",
            "statefulsets/finalizers",
            "daemonsets/finalizers",
        ],
        &["update"],
    ),
    ("apps", &["replicasets", "controllerrevisions"], &["create", "patch", "delete"]),
    ("", &["pods"], &["create", "patch", "delete"]),
    ("", &["pods/status"], &["patch"]),
    ("", &["pods/binding"], &["create"]),
    ("", &["nodes", "nodes/status"], &["patch"]),
    ("coordination.k8s.io", &["leases"], &[]),
    ("", &["services"], &[]),
    ("", &["services/finalizers"], &["update"]),
    ("discovery.k8s.io", &["endpointslices"], &["create", "patch", "delete"]),
];

/// The rules of a role that lets [`run`](crate::run) do its work.
pub fn rights() -> Vec<PolicyRule> {
    let strings = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let rule = |group: &str, resources: &[&str], verbs: Vec<String>| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(strings(resources)),
        verbs,
        ..PolicyRule::default()
    };
    let mut rules: Vec<PolicyRule> = RIGHTS
        .iter()
        .map(|(group, resources, verbs)| rule(group, resources, strings(&[READ, verbs].concat())))
        .collect();
    rules.push(rule("events.k8s.io", &["events"], strings(&["create", "patch"])));
    rules
}
