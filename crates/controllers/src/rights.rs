//! What the controllers may do, and no more.

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};

use crate::{Settings, memberkey};

/// Name of role and binding.
const NAME: &str = "landbridge:controllers";
/// The same for the Secret of a cloud.
const CLOUD: &str = "landbridge:cloud";
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

/// What control planes need besides. Only whoever acts on them gets it.
const CONTROL_PLANE_RIGHTS: &[(&str, &[&str], &[&str])] = &[
    (
        "core.openstack.org",
        &["openstackcontrolplanes", "openstackcontrolplanes/status"],
        &["patch"],
    ),
    ("core.openstack.org", &["openstackcontrolplanes/finalizers"], &["update"]),
    ("route.openshift.io", &["routes"], WRITE),
    ("", &["services"], WRITE),
    ("apps", &["deployments", "statefulsets", "daemonsets"], WRITE),
    ("k8s.cni.cncf.io", &["network-attachment-definitions"], WRITE),
    ("network.openstack.org", &["dnsdata", "dnsmasqs"], WRITE),
    ("keystone.openstack.org", &["keystoneendpoints", "keystoneservices"], WRITE),
    // Whoever registers them holds them until they are taken out again, and says how they are doing.
    (
        "keystone.openstack.org",
        &[
            "keystoneendpoints",
            "keystoneservices",
            "keystoneendpoints/status",
            "keystoneservices/status",
        ],
        &["patch"],
    ),
    // Addresses of Octavia's pods, by node: the record, and the label by which others announce them.
    ("", &["configmaps"], &["create", "patch"]),
    ("", &["pods"], &["patch"]),
];

/// What names need besides.
const NAMES_RIGHTS: &[(&str, &[&str], &[&str])] = &[
    (
        "network.openstack.org",
        &["dnsmasqs", "dnsmasqs/status", "dnsdata", "dnsdata/status"],
        &["patch"],
    ),
    ("network.openstack.org", &["dnsmasqs/finalizers", "dnsdata/finalizers"], &["update"]),
    ("network.openstack.org", &["dnsdata"], WRITE),
    ("topology.openstack.org", &["topologies"], &[]),
    ("", &["configmaps", "services", "serviceaccounts"], WRITE),
    ("apps", &["deployments"], WRITE),
    ("rbac.authorization.k8s.io", &["roles", "rolebindings"], WRITE),
];

/// What is made here may be made, changed and taken away.
const WRITE: &[&str] = &["create", "update", "delete"];

/// The role.
pub fn role(settings: &Settings) -> ClusterRole {
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
    // The key of members, and no other Secret; names cannot limit what is created.
    let only = |rule: PolicyRule, name: &str| PolicyRule {
        resource_names: Some(vec![name.to_owned()]),
        ..rule
    };
    rules.push(only(rule("", &["secrets"], strings(&["get", "update"])), memberkey::SECRET));
    rules.push(only(rule("", &["namespaces"], strings(&["get"])), memberkey::NAMESPACE));
    rules.push(rule("", &["secrets", "namespaces"], strings(&["create"])));
    if settings.control_planes {
        let fixed = CONTROL_PLANE_RIGHTS.iter();
        rules.extend(fixed.map(|(group, resources, verbs)| {
            rule(group, resources, strings(&[READ, verbs].concat()))
        }));
        for kind in landbridge_api::foreign::controlplane::KINDS {
            let verbs = strings(&[READ, WRITE, &["patch"]].concat());
            rules.push(rule(kind.group, &[kind.plural], verbs));
            let status = format!("{}/status", kind.plural);
            rules.push(rule(kind.group, &[&status], strings(&["get", "patch"])));
            let finalizers = format!("{}/finalizers", kind.plural);
            rules.push(rule(kind.group, &[&finalizers], strings(&["update"])));
        }
    }
    if settings.dns.is_on {
        let fixed = NAMES_RIGHTS.iter();
        rules.extend(fixed.map(|(group, resources, verbs)| {
            rule(group, resources, strings(&[READ, verbs].concat()))
        }));
        // Only who has a right may give it: pods of the first generation run as root.
        let resources = ["securitycontextconstraints"];
        let as_root = rule("security.openshift.io", &resources, strings(&["use"]));
        rules.push(only(as_root, "anyuid"));
    }
    rules.push(rule("events.k8s.io", &["events"], strings(&["create", "patch"])));
    // About pods, as Multus writes them.
    rules.push(rule("", &["events"], strings(&["create", "patch"])));
    let mut role = ClusterRole { rules: Some(rules), ..ClusterRole::default() };
    role.metadata.name = Some(NAME.to_owned());
    role
}

/// What reading the Secret of a cloud takes: that one, in its namespace, and nothing else.
pub fn cloud_role(namespace: &str, secret: &str) -> Role {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["secrets".to_owned()]),
        resource_names: Some(vec![secret.to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let mut role = Role { rules: Some(vec![rule]), ..Role::default() };
    role.metadata.name = Some(CLOUD.to_owned());
    role.metadata.namespace = Some(namespace.to_owned());
    role
}

fn reference(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn subject(user: &str) -> Subject {
    Subject {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: "User".to_owned(),
        name: user.to_owned(),
        namespace: None,
    }
}

/// Gives the role to a user.
fn binding(user: &str) -> ClusterRoleBinding {
    let mut binding = ClusterRoleBinding {
        role_ref: reference("ClusterRole", NAME),
        subjects: Some(vec![subject(user)]),
        ..ClusterRoleBinding::default()
    };
    binding.metadata.name = Some(NAME.to_owned());
    binding
}

/// Writes role and binding, with the client of somebody who may.
pub async fn grant(client: &Client, user: &str, settings: &Settings) -> kube::Result<()> {
    let params = PatchParams::apply("landbridge").force();
    let (role, binding) = (role(settings), binding(user));
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.patch(&role.name_any(), &params, &Patch::Apply(&role)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    bindings.patch(&binding.name_any(), &params, &Patch::Apply(&binding)).await?;
    if let Some((namespace, secret)) = &settings.cloud_secret {
        let role = cloud_role(namespace, secret);
        let mut binding = RoleBinding {
            role_ref: reference("Role", CLOUD),
            subjects: Some(vec![subject(user)]),
            ..RoleBinding::default()
        };
        binding.metadata = role.metadata.clone();
        let roles: Api<Role> = Api::namespaced(client.clone(), namespace);
        roles.patch(CLOUD, &params, &Patch::Apply(&role)).await?;
        let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), namespace);
        bindings.patch(CLOUD, &params, &Patch::Apply(&binding)).await?;
    }
    Ok(())
}
