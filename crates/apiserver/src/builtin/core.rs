//! Kinds of the core group, and the two small groups beside it: events and leases.

use landbridge_machinery::names::NameRule;

use super::entry::{ALL, CLUSTER, Entry, NAMESPACED};
use super::hooks::{
    Rules, config_map, endpoints, event, lease, namespace, node, pod, secret, service,
};

/// One row per kind.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: "Namespace",
        plural: "namespaces",
        definition: "core.v1.Namespace",
        short_names: &["ns"],
        names: NameRule::Label,
        status: true,
        selectable: &["status.phase", "name"],
        rules: Rules { mutate: namespace::mutate, ..Rules::NONE },
        ..CLUSTER
    },
    Entry {
        kind: "ConfigMap",
        plural: "configmaps",
        definition: "core.v1.ConfigMap",
        short_names: &["cm"],
        rules: Rules { mutate: config_map::mutate, check: config_map::check },
        ..NAMESPACED
    },
    Entry {
        kind: "Secret",
        plural: "secrets",
        definition: "core.v1.Secret",
        selectable: &["type"],
        rules: Rules { mutate: secret::mutate, check: secret::check },
        ..NAMESPACED
    },
    Entry {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        definition: "core.v1.ServiceAccount",
        short_names: &["sa"],
        ..NAMESPACED
    },
    Entry {
        kind: "Service",
        plural: "services",
        definition: "core.v1.Service",
        short_names: &["svc"],
        categories: ALL,
        names: NameRule::Label1035,
        create_on_update: true,
        status: true,
        status_with_metadata: true,
        selectable: &["spec.clusterIP", "spec.type"],
        rules: Rules { mutate: service::mutate, check: service::check },
        ..NAMESPACED
    },
    Entry {
        kind: "Endpoints",
        plural: "endpoints",
        definition: "core.v1.Endpoints",
        short_names: &["ep"],
        create_on_update: true,
        rules: Rules { check: endpoints::check, ..Rules::NONE },
        ..NAMESPACED
    },
    Entry {
        kind: "Node",
        plural: "nodes",
        definition: "core.v1.Node",
        short_names: &["no"],
        status: true,
        status_with_metadata: true,
        selectable: &["spec.unschedulable"],
        rules: Rules { mutate: node::mutate, check: node::check },
        ..CLUSTER
    },
    Entry {
        kind: "Pod",
        plural: "pods",
        definition: "core.v1.Pod",
        short_names: &["po"],
        categories: ALL,
        generation: true,
        graceful: true,
        status: true,
        status_with_metadata: true,
        selectable: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        rules: Rules { mutate: pod::mutate, check: pod::check },
        ..NAMESPACED
    },
    Entry {
        kind: "Binding",
        plural: "bindings",
        definition: "core.v1.Binding",
        virtual_only: true,
        ..NAMESPACED
    },
    Entry {
        kind: "Event",
        plural: "events",
        definition: "core.v1.Event",
        short_names: &["ev"],
        create_on_update: true,
        selectable: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        rules: Rules { check: event::check, ..Rules::NONE },
        ..NAMESPACED
    },
    Entry {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        definition: "events.v1.Event",
        short_names: &["ev"],
        create_on_update: true,
        stored_in: Some(""),
        stored_definition: Some("core.v1.Event"),
        selectable: &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        rules: Rules { check: event::check, ..Rules::NONE },
        ..NAMESPACED
    },
    Entry {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        definition: "coordination.v1.Lease",
        create_on_update: true,
        unconditional_update: false,
        rules: Rules { check: lease::check, ..Rules::NONE },
        ..NAMESPACED
    },
];
