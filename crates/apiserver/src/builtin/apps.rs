//! Workloads: they are kept and judged; their controllers are clients like any other.

use super::entry::{ALL, Entry, NAMESPACED};
use super::hooks::{
    Rules, controller_revision, daemon_set, deployment, job, replica_set, stateful_set,
};

/// One row per kind.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        group: "apps",
        kind: "Deployment",
        plural: "deployments",
        definition: "apps.v1.Deployment",
        short_names: &["deploy"],
        categories: ALL,
        generation: true,
        status: true,
        scale: true,
        rules: Rules { mutate: deployment::mutate, check: deployment::check },
        ..NAMESPACED
    },
    Entry {
        group: "apps",
        kind: "ReplicaSet",
        plural: "replicasets",
        definition: "apps.v1.ReplicaSet",
        short_names: &["rs"],
        categories: ALL,
        generation: true,
        status: true,
        scale: true,
        selectable: &["status.replicas"],
        rules: Rules { mutate: replica_set::mutate, check: replica_set::check },
        ..NAMESPACED
    },
    Entry {
        group: "apps",
        kind: "DaemonSet",
        plural: "daemonsets",
        definition: "apps.v1.DaemonSet",
        short_names: &["ds"],
        categories: ALL,
        generation: true,
        status: true,
        rules: Rules { mutate: daemon_set::mutate, check: daemon_set::check },
        ..NAMESPACED
    },
    Entry {
        group: "apps",
        kind: "StatefulSet",
        plural: "statefulsets",
        definition: "apps.v1.StatefulSet",
        short_names: &["sts"],
        categories: ALL,
        generation: true,
        status: true,
        scale: true,
        rules: Rules { mutate: stateful_set::mutate, check: stateful_set::check },
        ..NAMESPACED
    },
    Entry {
        group: "apps",
        kind: "ControllerRevision",
        plural: "controllerrevisions",
        definition: "apps.v1.ControllerRevision",
        rules: Rules { check: controller_revision::check, ..Rules::NONE },
        ..NAMESPACED
    },
    Entry {
        group: "batch",
        kind: "Job",
        plural: "jobs",
        definition: "batch.v1.Job",
        categories: ALL,
        generation: true,
        status: true,
        selectable: &["status.successful"],
        rules: Rules { mutate: job::mutate, check: job::check },
        ..NAMESPACED
    },
];
