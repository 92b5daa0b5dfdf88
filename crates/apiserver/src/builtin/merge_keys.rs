//! How lists and maps merge, as rows of tables: what Go keeps in struct tags and markers.
//!
//! [`PATCH`] steers strategic merge patches; [`LISTS`] and [`ATOMIC`] steer server-side apply and
//! say which elements are the same. A list that is in no table is replaced as a whole, both ways.

use serde_json::Value;

use super::schemas::{Definitions, full_name, property};

/// A definition, its field, the patch strategy, and the merge key (empty where there is none).
pub type Patch = (&'static str, &'static str, &'static str, &'static str);

/// A definition, its list, the list type, and the keys of a list of type `map`.
pub type List = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Writes the extensions into the definitions.
pub fn inject(definitions: &mut Definitions) {
    for (definition, field, strategy, key) in PATCH {
        if let Some(schema) = property(definitions, definition, field) {
            schema.insert("x-kubernetes-patch-strategy".into(), (*strategy).into());
            if !key.is_empty() {
                schema.insert("x-kubernetes-patch-merge-key".into(), (*key).into());
            }
        }
    }
    for (definition, list, kind, keys) in LISTS {
        if let Some(schema) = property(definitions, definition, list) {
            schema.insert("x-kubernetes-list-type".into(), (*kind).into());
            if !keys.is_empty() {
                schema.insert("x-kubernetes-list-map-keys".into(), keys.to_vec().into());
            }
        }
    }
    for definition in ATOMIC {
        if let Some(schema) =
            definitions.get_mut(&full_name(definition)).and_then(Value::as_object_mut)
        {
            schema.insert("x-kubernetes-map-type".into(), "atomic".into());
        }
    }
}

/// Strategies of strategic merge patch.
pub const PATCH: &[Patch] = &[
    ("meta.v1.ObjectMeta", "finalizers", "merge", ""),
    ("meta.v1.ObjectMeta", "ownerReferences", "merge", "uid"),
    // pods
    ("core.v1.PodSpec", "containers", "merge", "name"),
    ("core.v1.PodSpec", "initContainers", "merge", "name"),
    ("core.v1.PodSpec", "ephemeralContainers", "merge", "name"),
    ("core.v1.PodSpec", "volumes", "merge,retainKeys", "name"),
    ("core.v1.PodSpec", "imagePullSecrets", "merge", "name"),
    ("core.v1.PodSpec", "hostAliases", "merge", "ip"),
    ("core.v1.PodSpec", "topologySpreadConstraints", "merge", "topologyKey"),
    ("core.v1.PodSpec", "schedulingGates", "merge", "name"),
    ("core.v1.PodSpec", "resourceClaims", "merge,retainKeys", "name"),
    ("core.v1.PodStatus", "conditions", "merge", "type"),
    ("core.v1.PodStatus", "podIPs", "merge", "ip"),
    ("core.v1.PodStatus", "hostIPs", "merge", "ip"),
    ("core.v1.PodStatus", "resourceClaimStatuses", "merge,retainKeys", "name"),
    ("core.v1.Container", "ports", "merge", "containerPort"),
    ("core.v1.Container", "env", "merge", "name"),
    ("core.v1.Container", "volumeMounts", "merge", "mountPath"),
    ("core.v1.Container", "volumeDevices", "merge", "devicePath"),
    ("core.v1.EphemeralContainer", "ports", "merge", "containerPort"),
    ("core.v1.EphemeralContainer", "env", "merge", "name"),
    ("core.v1.EphemeralContainer", "volumeMounts", "merge", "mountPath"),
    ("core.v1.EphemeralContainer", "volumeDevices", "merge", "devicePath"),
    ("core.v1.ContainerStatus", "volumeMounts", "merge", "mountPath"),
    ("core.v1.ContainerStatus", "allocatedResourcesStatus", "merge", "name"),
    // other core kinds
    ("core.v1.ServiceSpec", "ports", "merge", "port"),
    ("core.v1.ServiceStatus", "conditions", "merge", "type"),
    ("core.v1.ServiceAccount", "secrets", "merge", "name"),
    ("core.v1.NodeSpec", "podCIDRs", "merge", ""),
    ("core.v1.NodeStatus", "addresses", "merge", "type"),
    ("core.v1.NodeStatus", "conditions", "merge", "type"),
    ("core.v1.NamespaceStatus", "conditions", "merge", "type"),
    ("core.v1.PersistentVolumeClaimStatus", "conditions", "merge", "type"),
    // workloads
    ("apps.v1.DeploymentSpec", "strategy", "retainKeys", ""),
    ("apps.v1.DeploymentStatus", "conditions", "merge", "type"),
    ("apps.v1.ReplicaSetStatus", "conditions", "merge", "type"),
    ("apps.v1.DaemonSetStatus", "conditions", "merge", "type"),
    ("apps.v1.StatefulSetStatus", "conditions", "merge", "type"),
    ("batch.v1.JobStatus", "conditions", "merge", "type"),
    // extension
    ("admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks", "merge", "name"),
    ("admissionregistration.v1.MutatingWebhookConfiguration", "webhooks", "merge", "name"),
    ("admissionregistration.v1.ValidatingWebhook", "matchConditions", "merge", "name"),
    ("admissionregistration.v1.MutatingWebhook", "matchConditions", "merge", "name"),
    ("apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", "merge", "rule"),
];

/// Types of lists whose elements are merged one by one.
pub const LISTS: &[List] = &[
    ("meta.v1.ObjectMeta", "finalizers", "set", &[]),
    ("meta.v1.ObjectMeta", "ownerReferences", "map", &["uid"]),
    // pods
    ("core.v1.PodSpec", "containers", "map", &["name"]),
    ("core.v1.PodSpec", "initContainers", "map", &["name"]),
    ("core.v1.PodSpec", "ephemeralContainers", "map", &["name"]),
    ("core.v1.PodSpec", "volumes", "map", &["name"]),
    ("core.v1.PodSpec", "imagePullSecrets", "map", &["name"]),
    ("core.v1.PodSpec", "hostAliases", "map", &["ip"]),
    ("core.v1.PodSpec", "topologySpreadConstraints", "map", &["topologyKey", "whenUnsatisfiable"]),
    ("core.v1.PodSpec", "schedulingGates", "map", &["name"]),
    ("core.v1.PodSpec", "resourceClaims", "map", &["name"]),
    ("core.v1.PodSpec", "tolerations", "atomic", &[]),
    ("core.v1.PodSpec", "readinessGates", "atomic", &[]),
    ("core.v1.PodStatus", "conditions", "map", &["type"]),
    ("core.v1.PodStatus", "podIPs", "map", &["ip"]),
    ("core.v1.PodStatus", "hostIPs", "atomic", &[]),
    ("core.v1.PodStatus", "resourceClaimStatuses", "map", &["name"]),
    ("core.v1.PodStatus", "containerStatuses", "atomic", &[]),
    ("core.v1.PodStatus", "initContainerStatuses", "atomic", &[]),
    ("core.v1.PodStatus", "ephemeralContainerStatuses", "atomic", &[]),
    ("core.v1.Container", "ports", "map", &["containerPort", "protocol"]),
    ("core.v1.Container", "env", "map", &["name"]),
    ("core.v1.Container", "envFrom", "atomic", &[]),
    ("core.v1.Container", "volumeMounts", "map", &["mountPath"]),
    ("core.v1.Container", "volumeDevices", "map", &["devicePath"]),
    ("core.v1.Container", "command", "atomic", &[]),
    ("core.v1.Container", "args", "atomic", &[]),
    ("core.v1.EphemeralContainer", "ports", "map", &["containerPort", "protocol"]),
    ("core.v1.EphemeralContainer", "env", "map", &["name"]),
    ("core.v1.EphemeralContainer", "volumeMounts", "map", &["mountPath"]),
    ("core.v1.EphemeralContainer", "volumeDevices", "map", &["devicePath"]),
    ("core.v1.ContainerStatus", "volumeMounts", "map", &["mountPath"]),
    ("core.v1.ContainerStatus", "allocatedResourcesStatus", "map", &["name"]),
    ("core.v1.ResourceRequirements", "claims", "map", &["name"]),
    ("core.v1.ResourceStatus", "resources", "map", &["resourceID"]),
    // other core kinds
    ("core.v1.ServiceSpec", "ports", "map", &["port", "protocol"]),
    ("core.v1.ServiceSpec", "clusterIPs", "atomic", &[]),
    ("core.v1.ServiceSpec", "ipFamilies", "atomic", &[]),
    ("core.v1.ServiceSpec", "externalIPs", "atomic", &[]),
    ("core.v1.ServiceStatus", "conditions", "map", &["type"]),
    ("core.v1.LoadBalancerStatus", "ingress", "atomic", &[]),
    ("core.v1.ServiceAccount", "secrets", "map", &["name"]),
    ("core.v1.ServiceAccount", "imagePullSecrets", "atomic", &[]),
    ("core.v1.Endpoints", "subsets", "atomic", &[]),
    ("core.v1.NodeSpec", "podCIDRs", "set", &[]),
    ("core.v1.NodeSpec", "taints", "atomic", &[]),
    ("core.v1.NodeStatus", "addresses", "map", &["type"]),
    ("core.v1.NodeStatus", "conditions", "map", &["type"]),
    ("core.v1.NamespaceSpec", "finalizers", "atomic", &[]),
    ("core.v1.NamespaceStatus", "conditions", "map", &["type"]),
    ("core.v1.PersistentVolumeClaimStatus", "conditions", "map", &["type"]),
    // workloads
    ("apps.v1.DeploymentStatus", "conditions", "map", &["type"]),
    ("apps.v1.ReplicaSetStatus", "conditions", "map", &["type"]),
    ("apps.v1.DaemonSetStatus", "conditions", "map", &["type"]),
    ("apps.v1.StatefulSetStatus", "conditions", "map", &["type"]),
    ("apps.v1.StatefulSetSpec", "volumeClaimTemplates", "atomic", &[]),
    ("batch.v1.JobStatus", "conditions", "atomic", &[]),
    ("batch.v1.UncountedTerminatedPods", "failed", "set", &[]),
    ("batch.v1.UncountedTerminatedPods", "succeeded", "set", &[]),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", "values", "set", &[]),
    // networking
    ("discovery.v1.Endpoint", "addresses", "set", &[]),
    ("discovery.v1.EndpointSlice", "endpoints", "atomic", &[]),
    ("discovery.v1.EndpointSlice", "ports", "atomic", &[]),
    ("networking.v1.NetworkPolicySpec", "policyTypes", "atomic", &[]),
    // extension
    ("admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks", "map", &["name"]),
    ("admissionregistration.v1.MutatingWebhookConfiguration", "webhooks", "map", &["name"]),
    ("admissionregistration.v1.ValidatingWebhook", "matchConditions", "map", &["name"]),
    ("admissionregistration.v1.MutatingWebhook", "matchConditions", "map", &["name"]),
    ("apiextensions.v1.CustomResourceDefinitionStatus", "conditions", "map", &["type"]),
    ("apiextensions.v1.CustomResourceDefinitionSpec", "versions", "atomic", &[]),
    ("apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", "map", &["rule"]),
];

/// Definitions whose fields belong together: one owner has them all.
pub const ATOMIC: &[&str] = &[
    "meta.v1.LabelSelector",
    "core.v1.ConfigMapKeySelector",
    "core.v1.LocalObjectReference",
    "core.v1.NodeSelector",
    "core.v1.NodeSelectorTerm",
    "core.v1.ObjectFieldSelector",
    "core.v1.ObjectReference",
    "core.v1.ResourceFieldSelector",
    "core.v1.SecretKeySelector",
    "core.v1.TypedLocalObjectReference",
    "rbac.v1.RoleRef",
    "rbac.v1.Subject",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::schemas::all as definitions;
    use super::*;

    fn schema(definition: &str, field: &str) -> &'static Value {
        &definitions()[&full_name(definition)]["properties"][field]
    }

    /// The definition of the elements of a list.
    fn element(list: &Value) -> Option<&'static Value> {
        let name = list["items"]["$ref"].as_str()?.strip_prefix("#/components/schemas/")?;
        definitions().get(name)
    }

    #[test]
    fn every_row_names_a_field_and_keys_of_its_elements() {
        let patches = PATCH.iter().map(|(d, f, _, key)| (*d, *f, vec![*key]));
        let lists = LISTS.iter().map(|(d, f, _, keys)| (*d, *f, keys.to_vec()));
        for (definition, field, keys) in patches.chain(lists) {
            let list = schema(definition, field);
            assert!(list.is_object(), "{definition}.{field} does not exist");
            for key in keys.into_iter().filter(|key| !key.is_empty()) {
                let element = element(list).unwrap_or(&Value::Null);
                assert!(
                    element["properties"][key].is_object(),
                    "{definition}.{field}: elements have no {key}"
                );
            }
        }
        for definition in ATOMIC {
            assert!(definitions().contains_key(&full_name(definition)), "{definition}");
        }
    }

    #[test]
    fn merged_lists_are_keyed_alike_both_ways() {
        for (definition, field, strategy, key) in PATCH {
            let list = schema(definition, field);
            assert_eq!(list["x-kubernetes-patch-strategy"], *strategy, "{definition}.{field}");
            if key.is_empty() {
                continue;
            }
            assert_eq!(list["x-kubernetes-patch-merge-key"], *key, "{definition}.{field}");
            // Two lists are merged by patches but owned as a whole, upstream too.
            if ["JobStatus", "PodStatus"].iter().any(|d| definition.ends_with(d))
                && list["x-kubernetes-list-type"] == "atomic"
            {
                continue;
            }
            assert_eq!(list["x-kubernetes-list-map-keys"][0], *key, "{definition}.{field}");
        }
    }

    #[test]
    fn no_row_stands_twice() {
        let mut seen = BTreeSet::new();
        for (definition, field, _, _) in PATCH {
            assert!(seen.insert((definition, field)), "{definition}.{field}");
        }
        let mut seen = BTreeSet::new();
        for (definition, field, _, _) in LISTS {
            assert!(seen.insert((definition, field)), "{definition}.{field}");
        }
    }
}
