//! What the controllers may do, and no more.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};

/// Name of role and binding.
const NAME: &str = "landbridge:controllers";
/// Whoever runs the controllers in the same process as the API.
pub const USER: &str = "system:landbridge";

const READ: &[&str] = &["get", "list", "watch"];

/// One line per group: which resources, and what may be done to them besides reading.
const RIGHTS: &[(&str, &[&str], &[&str])] = &[
    ("network.openstack.org", &["netconfigs"], &[]),
    ("network.openstack.org", &["ipsets", "ipsets/status"], &["patch"]),
    // Owners that block deletion may be set only by whoever may finalize them.
    ("network.openstack.org", &["ipsets/finalizers"], &["update"]),
    ("network.openstack.org", &["reservations"], &["create", "patch"]),
    ("landbridge.dev", &["addressblocks"], &["create", "patch", "delete"]),
    // What was recorded for pods that are gone is collected.
    ("network.openstack.org", &["ipsets"], &["delete"]),
    (
        "whereabouts.cni.cncf.io",
        &["ippools", "overlappingrangeipreservations"],
        &["patch", "delete"],
    ),
    ("k8s.cni.cncf.io", &["network-attachment-definitions"], &[]),
    // Which wire an attachment is on, and which addresses nodes have.
    (
        "nmstate.io",
        &["nodenetworkconfigurationpolicies", "nodenetworkconfigurationenactments"],
        &[],
    ),
    // Virtual addresses, and what people are told about pools.
    ("", &["services", "services/status"], &["patch"]),
    ("", &["namespaces"], &[]),
    ("metallb.io", &["ipaddresspools", "l2advertisements"], &[]),
    ("metallb.io", &["ipaddresspools/status"], &["patch"]),
    ("metallb.io", &["configurationstates", "configurationstates/status"], &["create", "patch"]),
    ("apps", &["statefulsets", "daemonsets"], &[]),
    ("", &["pods", "nodes"], &[]),
];

/// The role.
pub fn role() -> ClusterRole {
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
    // About pods, as Multus writes them.
    rules.push(rule("", &["events"], strings(&["create", "patch"])));
    let mut role = ClusterRole { rules: Some(rules), ..ClusterRole::default() };
    role.metadata.name = Some(NAME.to_owned());
    role
}

/// Gives the role to a user.
fn binding(user: &str) -> ClusterRoleBinding {
    let mut binding = ClusterRoleBinding {
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "ClusterRole".to_owned(),
            name: NAME.to_owned(),
        },
        subjects: Some(vec![Subject {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "User".to_owned(),
            name: user.to_owned(),
            namespace: None,
        }]),
        ..ClusterRoleBinding::default()
    };
    binding.metadata.name = Some(NAME.to_owned());
    binding
}

/// Writes role and binding, with the client of somebody who may.
pub async fn grant(client: &Client, user: &str) -> kube::Result<()> {
    let params = PatchParams::apply("landbridge").force();
    let (role, binding) = (role(), binding(user));
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.patch(&role.name_any(), &params, &Patch::Apply(&role)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    bindings.patch(&binding.name_any(), &params, &Patch::Apply(&binding)).await?;
    Ok(())
}
