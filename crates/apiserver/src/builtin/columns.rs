//! What `kubectl get` shows of the built-in kinds: the columns users know from a real cluster.
//!
//! Headings, types and order are upstream's. The server always sends the wide columns too; kubectl
//! hides those with a priority. A cell never fails: what is absent reads as upstream's placeholder.

mod config;
mod event;
mod network;
mod node;
mod pod;
mod policy;
mod read;
#[cfg(test)]
mod tests;
mod workload;

use landbridge_machinery::table::Columns;

/// The columns of a built-in kind; `None` when it has no others than name and age.
pub fn for_kind(group: &str, kind: &str) -> Option<Columns> {
    let columns = match (group, kind) {
        ("", "Namespace") => config::namespace(),
        ("", "ConfigMap") => config::config_map(),
        ("", "Secret") => config::secret(),
        ("", "ServiceAccount") => config::service_account(),
        ("", "Service") => network::service(),
        ("", "Endpoints") => network::endpoints(),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(),
        ("", "Node") => node::columns(),
        ("", "Pod") => pod::columns(),
        ("" | "events.k8s.io", "Event") => event::columns(),
        ("coordination.k8s.io", "Lease") => config::lease(),
        ("apps", "Deployment") => workload::deployment(),
        ("apps", "ReplicaSet") => workload::replica_set(),
        ("apps", "DaemonSet") => workload::daemon_set(),
        ("apps", "StatefulSet") => workload::stateful_set(),
        ("apps", "ControllerRevision") => workload::controller_revision(),
        ("batch", "Job") => workload::job(),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
        | ("apiextensions.k8s.io", "CustomResourceDefinition") => policy::created_at(),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            policy::role_binding()
        }
        ("scheduling.k8s.io", "PriorityClass") => policy::priority_class(),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => policy::webhook_configuration(),
        _ => return None,
    };
    Some(columns)
}
