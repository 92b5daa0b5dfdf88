//! Who may do what, who may talk to whom, who goes first.

use landbridge_machinery::names::NameRule;

use super::entry::{CLUSTER, Entry, NAMESPACED};
use super::hooks::{Rules, endpoint_slice, network_policy, priority_class, rbac};

const RBAC: &str = "rbac.authorization.k8s.io";

const ROLE: Entry = Entry {
    group: RBAC,
    names: NameRule::PathSegment,
    create_on_update: true,
    rules: Rules { check: rbac::check_role, ..Rules::NONE },
    ..NAMESPACED
};

const BINDING: Entry =
    Entry { rules: Rules { mutate: rbac::mutate_binding, check: rbac::check_binding }, ..ROLE };

/// One row per kind.
pub(super) const ENTRIES: &[Entry] = &[
    Entry { kind: "Role", plural: "roles", definition: "rbac.v1.Role", ..ROLE },
    Entry {
        kind: "RoleBinding",
        plural: "rolebindings",
        definition: "rbac.v1.RoleBinding",
        ..BINDING
    },
    Entry {
        kind: "ClusterRole",
        plural: "clusterroles",
        definition: "rbac.v1.ClusterRole",
        namespaced: false,
        ..ROLE
    },
    Entry {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        definition: "rbac.v1.ClusterRoleBinding",
        namespaced: false,
        ..BINDING
    },
    Entry {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        plural: "networkpolicies",
        definition: "networking.v1.NetworkPolicy",
        short_names: &["netpol"],
        generation: true,
        rules: Rules { mutate: network_policy::mutate, check: network_policy::check },
        ..NAMESPACED
    },
    Entry {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        plural: "endpointslices",
        definition: "discovery.v1.EndpointSlice",
        generation: true,
        rules: Rules { check: endpoint_slice::check, ..Rules::NONE },
        ..NAMESPACED
    },
    Entry {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        plural: "priorityclasses",
        definition: "scheduling.v1.PriorityClass",
        short_names: &["pc"],
        generation: true,
        rules: Rules { check: priority_class::check, ..Rules::NONE },
        ..CLUSTER
    },
];
