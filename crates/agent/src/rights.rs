//! What agents may do besides what every node may (its own Node, lease, pods and events).

use k8s_openapi::api::rbac::v1::PolicyRule;

const READ: &[&str] = &["get", "list", "watch"];

/// One line per group: which resources, and what may be done to them.
const NODE: &[(&str, &[&str], &[&str])] = &[
    ("", &["nodes", "pods", "namespaces"], READ),
    // What is behind Services.
    ("", &["services"], READ),
    ("discovery.k8s.io", &["endpointslices"], READ),
    ("route.openshift.io", &["routes"], READ),
    // The annotation that tells a pod's networks.
    ("", &["pods/status"], &["patch", "update"]),
    ("apps", &["statefulsets", "daemonsets", "replicasets"], &["get"]),
    ("k8s.cni.cncf.io", &["network-attachment-definitions"], READ),
    (
        "whereabouts.cni.cncf.io",
        &["ippools", "overlappingrangeipreservations"],
        &["get", "list", "watch", "create", "update", "patch", "delete"],
    ),
    ("network.openstack.org", &["ipsets"], &["get", "list", "watch", "create", "patch", "delete"]),
    ("network.openstack.org", &["netconfigs", "reservations"], READ),
    // What pods have of a NetConfig's addresses is claimed where IPSets look.
    (
        "landbridge.dev",
        &["addressblocks"],
        &["get", "list", "watch", "create", "update", "patch", "delete"],
    ),
    ("nmstate.io", &["nodenetworkconfigurationpolicies"], READ),
    ("nmstate.io", &["nodenetworkconfigurationpolicies/status"], &["get", "patch", "update"]),
    ("nmstate.io", &["nodenetworkconfigurationenactments", "nodenetworkstates"], READ),
    // Announcing: what there is to announce, and who does.
    ("", &["services"], READ),
    ("discovery.k8s.io", &["endpointslices"], READ),
    ("metallb.io", &["ipaddresspools", "l2advertisements"], READ),
    ("metallb.io", &["servicel2statuses"], &["get", "list", "watch", "create", "delete"]),
    ("metallb.io", &["configurationstates"], &["get", "list", "watch", "create", "patch"]),
    ("metallb.io", &["servicel2statuses/status", "configurationstates/status"], &["patch"]),
    ("events.k8s.io", &["events"], &["create", "patch", "update"]),
    ("", &["events"], &["create", "patch", "update"]),
];

/// What the agent of a lab node does besides, as part of the cluster: its names.
const LAB: &[(&str, &[&str], &[&str])] = &[
    ("", &["services"], &["create", "patch"]),
    ("discovery.k8s.io", &["endpointslices"], &["create", "patch"]),
    // Who else is asked for names, and what name servers in pods read.
    ("", &["configmaps"], READ),
];

/// Kinds with objects of their own for each node: which of them are a node's, the API decides.
pub const PER_NODE: &[(&str, &str)] =
    &[("nmstate.io", "nodenetworkstates"), ("nmstate.io", "nodenetworkconfigurationenactments")];

/// The rules of agents on Kubernetes nodes.
pub fn node() -> Vec<PolicyRule> {
    let general = NODE.iter().map(|(group, resources, verbs)| rule(group, resources, verbs, &[]));
    let named = [
        // The key of members and the list of excluded interfaces, and no other of their kinds.
        rule("", &["secrets"], &["get"], &[landbridge_controllers::memberkey::SECRET]),
        rule("", &["configmaps"], &["get"], &["metallb-excludel2"]),
    ];
    general.chain(named).collect()
}

/// The rules of agents on nodes of a lab.
pub fn lab() -> Vec<PolicyRule> {
    let more = LAB.iter().map(|(group, resources, verbs)| rule(group, resources, verbs, &[]));
    node().into_iter().chain(more).collect()
}

/// The rules of the agent on a host that is no Kubernetes node: the IPSet of its name, and no other.
pub fn host(name: &str) -> Vec<PolicyRule> {
    vec![
        rule("network.openstack.org", &["ipsets"], READ, &[name]),
        // Where the name servers are.
        rule("network.openstack.org", &["dnsmasqs"], READ, &[]),
        rule("", &["events"], &["create", "patch", "update"], &[]),
    ]
}

fn rule(group: &str, resources: &[&str], verbs: &[&str], names: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}
