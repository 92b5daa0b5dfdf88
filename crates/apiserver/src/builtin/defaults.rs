//! Defaults that hold wherever a field is absent, as rows of a table.
//!
//! Upstream keeps them in defaulting functions. Those that depend on another field (a rolling
//! update only gets numbers when the strategy is a rolling update) are in the hooks of the kind.
//! `{}` stands where Go has a struct that is never absent, so its own defaults apply as well; such
//! zero values are filled in by [`zeros`](super::zeros), all others by the compiled schema.

use serde_json::Value;

use super::schemas::{Definitions, property};

/// A definition, its field, and the default as JSON.
pub type Default = (&'static str, &'static str, &'static str);

/// Writes all defaults into the definitions.
pub fn inject(definitions: &mut Definitions) {
    for (definition, field, default) in DEFAULTS {
        let Ok(default) = serde_json::from_str::<Value>(default) else { continue };
        if let Some(schema) = property(definitions, definition, field) {
            schema.insert("default".into(), default);
        }
    }
}

/// All unconditional defaults of the built-in kinds.
pub const DEFAULTS: &[Default] = &[
    // Structs that are never absent.
    ("core.v1.Namespace", "spec", "{}"),
    ("core.v1.Namespace", "status", "{}"),
    ("core.v1.Service", "spec", "{}"),
    ("core.v1.Service", "status", "{}"),
    ("core.v1.ServiceStatus", "loadBalancer", "{}"),
    ("core.v1.Node", "spec", "{}"),
    ("core.v1.Node", "status", "{}"),
    ("core.v1.Pod", "spec", "{}"),
    ("core.v1.Pod", "status", "{}"),
    ("core.v1.PodTemplateSpec", "metadata", "{}"),
    ("core.v1.PodTemplateSpec", "spec", "{}"),
    ("core.v1.Event", "source", "{}"),
    ("coordination.v1.Lease", "spec", "{}"),
    ("apps.v1.Deployment", "spec", "{}"),
    ("apps.v1.Deployment", "status", "{}"),
    ("apps.v1.DeploymentSpec", "strategy", "{}"),
    ("apps.v1.DeploymentSpec", "template", "{}"),
    ("apps.v1.ReplicaSet", "spec", "{}"),
    ("apps.v1.ReplicaSet", "status", "{}"),
    ("apps.v1.DaemonSet", "spec", "{}"),
    ("apps.v1.DaemonSet", "status", "{}"),
    ("apps.v1.DaemonSetSpec", "updateStrategy", "{}"),
    ("apps.v1.DaemonSetSpec", "template", "{}"),
    ("apps.v1.StatefulSet", "spec", "{}"),
    ("apps.v1.StatefulSet", "status", "{}"),
    ("apps.v1.StatefulSetSpec", "updateStrategy", "{}"),
    ("apps.v1.StatefulSetSpec", "template", "{}"),
    ("batch.v1.Job", "spec", "{}"),
    ("batch.v1.Job", "status", "{}"),
    ("batch.v1.JobSpec", "template", "{}"),
    ("networking.v1.NetworkPolicy", "spec", "{}"),
    ("networking.v1.NetworkPolicySpec", "podSelector", "{}"),
    // Texts and numbers Go always writes.
    ("core.v1.Event", "reportingComponent", r#""""#),
    ("core.v1.Event", "reportingInstance", r#""""#),
    ("apps.v1.ReplicaSetStatus", "replicas", "0"),
    ("apps.v1.StatefulSetStatus", "replicas", "0"),
    ("apps.v1.StatefulSetStatus", "availableReplicas", "0"),
    ("apps.v1.DaemonSetStatus", "currentNumberScheduled", "0"),
    ("apps.v1.DaemonSetStatus", "desiredNumberScheduled", "0"),
    ("apps.v1.DaemonSetStatus", "numberMisscheduled", "0"),
    ("apps.v1.DaemonSetStatus", "numberReady", "0"),
    // core
    ("core.v1.Secret", "type", r#""Opaque""#),
    ("core.v1.NamespaceStatus", "phase", r#""Active""#),
    ("core.v1.ServiceSpec", "type", r#""ClusterIP""#),
    ("core.v1.ServiceSpec", "sessionAffinity", r#""None""#),
    ("core.v1.ServicePort", "protocol", r#""TCP""#),
    ("core.v1.EndpointPort", "protocol", r#""TCP""#),
    // pods
    ("core.v1.PodSpec", "restartPolicy", r#""Always""#),
    ("core.v1.PodSpec", "dnsPolicy", r#""ClusterFirst""#),
    ("core.v1.PodSpec", "schedulerName", r#""default-scheduler""#),
    ("core.v1.PodSpec", "terminationGracePeriodSeconds", "30"),
    ("core.v1.PodSpec", "securityContext", "{}"),
    ("core.v1.Container", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.Container", "terminationMessagePolicy", r#""File""#),
    ("core.v1.Container", "resources", "{}"),
    ("core.v1.EphemeralContainer", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.EphemeralContainer", "terminationMessagePolicy", r#""File""#),
    ("core.v1.EphemeralContainer", "resources", "{}"),
    ("core.v1.ContainerPort", "protocol", r#""TCP""#),
    ("core.v1.Probe", "timeoutSeconds", "1"),
    ("core.v1.Probe", "periodSeconds", "10"),
    ("core.v1.Probe", "successThreshold", "1"),
    ("core.v1.Probe", "failureThreshold", "3"),
    ("core.v1.HTTPGetAction", "path", r#""/""#),
    ("core.v1.HTTPGetAction", "scheme", r#""HTTP""#),
    ("core.v1.GRPCAction", "service", r#""""#),
    ("core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    // volumes
    ("core.v1.SecretVolumeSource", "defaultMode", "420"),
    ("core.v1.ConfigMapVolumeSource", "defaultMode", "420"),
    ("core.v1.DownwardAPIVolumeSource", "defaultMode", "420"),
    ("core.v1.ProjectedVolumeSource", "defaultMode", "420"),
    ("core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("core.v1.HostPathVolumeSource", "type", r#""""#),
    ("core.v1.ISCSIVolumeSource", "iscsiInterface", r#""default""#),
    ("core.v1.RBDVolumeSource", "pool", r#""rbd""#),
    ("core.v1.RBDVolumeSource", "user", r#""admin""#),
    ("core.v1.RBDVolumeSource", "keyring", r#""/etc/ceph/keyring""#),
    ("core.v1.AzureDiskVolumeSource", "cachingMode", r#""ReadWrite""#),
    ("core.v1.AzureDiskVolumeSource", "kind", r#""Shared""#),
    ("core.v1.AzureDiskVolumeSource", "fsType", r#""ext4""#),
    ("core.v1.AzureDiskVolumeSource", "readOnly", "false"),
    ("core.v1.ScaleIOVolumeSource", "storageMode", r#""ThinProvisioned""#),
    ("core.v1.ScaleIOVolumeSource", "fsType", r#""xfs""#),
    ("core.v1.PersistentVolumeClaim", "status", "{}"),
    ("core.v1.PersistentVolumeClaimStatus", "phase", r#""Pending""#),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("core.v1.PersistentVolumeClaimSpec", "resources", "{}"),
    // workloads
    ("apps.v1.DeploymentSpec", "replicas", "1"),
    ("apps.v1.DeploymentSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("apps.v1.DeploymentStrategy", "type", r#""RollingUpdate""#),
    ("apps.v1.ReplicaSetSpec", "replicas", "1"),
    ("apps.v1.DaemonSetSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.DaemonSetUpdateStrategy", "type", r#""RollingUpdate""#),
    ("apps.v1.StatefulSetSpec", "replicas", "1"),
    ("apps.v1.StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.StatefulSetSpec", "podManagementPolicy", r#""OrderedReady""#),
    ("apps.v1.StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", r#""Retain""#),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", r#""Retain""#),
    ("batch.v1.JobSpec", "completionMode", r#""NonIndexed""#),
    ("batch.v1.JobSpec", "suspend", "false"),
    ("batch.v1.PodFailurePolicyOnPodConditionsPattern", "status", r#""True""#),
    // networking
    ("networking.v1.NetworkPolicyPort", "protocol", r#""TCP""#),
    ("discovery.v1.EndpointPort", "name", r#""""#),
    ("discovery.v1.EndpointPort", "protocol", r#""TCP""#),
    // rbac: the subject's group depends on its kind, see the hook
    ("rbac.v1.RoleRef", "apiGroup", r#""rbac.authorization.k8s.io""#),
    ("scheduling.v1.PriorityClass", "preemptionPolicy", r#""PreemptLowerPriority""#),
    // extension
    ("admissionregistration.v1.ValidatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.ValidatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.ValidatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.MutatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.MutatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.MutatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", r#""Never""#),
    ("admissionregistration.v1.RuleWithOperations", "scope", r#""*""#),
    ("admissionregistration.v1.ServiceReference", "port", "443"),
    ("apiextensions.v1.CustomResourceDefinitionSpec", "conversion", r#"{"strategy":"None"}"#),
    ("apiextensions.v1.ServiceReference", "port", "443"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schemas::{Shapes, all as definitions, full_name};
    use super::*;

    #[test]
    fn every_row_names_a_field_and_is_json_of_its_type() {
        for (definition, field, default) in DEFAULTS {
            let schema = &definitions()[&full_name(definition)]["properties"][field];
            assert!(schema.is_object(), "{definition}.{field} does not exist");
            let value: Value = serde_json::from_str(default).expect(definition);
            assert_eq!(schema["default"], value, "{definition}.{field}");
            let kind = match &value {
                Value::String(_) => "string",
                Value::Number(_) => "integer",
                Value::Bool(_) => "boolean",
                _ => "object",
            };
            let declared = schema["type"].as_str().unwrap_or("object");
            assert_eq!(declared, kind, "{definition}.{field}");
        }
    }

    #[test]
    fn no_row_stands_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for (definition, field, _) in DEFAULTS {
            assert!(seen.insert((definition, field)), "{definition}.{field}");
        }
    }

    #[test]
    fn defaults_reach_nested_fields() {
        let cases = [
            (
                "core.v1.Service",
                json!({"spec": {"ports": [{"port": 80}]}}),
                json!({
                    "spec": {
                        "type": "ClusterIP", "sessionAffinity": "None",
                        "ports": [{"port": 80, "protocol": "TCP"}],
                    },
                }),
            ),
            (
                "batch.v1.Job",
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}),
                json!({
                    "spec": {
                        "completionMode": "NonIndexed",
                        "template": {"spec": {
                            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
                            "schedulerName": "default-scheduler",
                            "terminationGracePeriodSeconds": 30,
                            "containers": [{
                                "name": "c",
                                "terminationMessagePath": "/dev/termination-log",
                                "terminationMessagePolicy": "File",
                            }],
                        }},
                    },
                }),
            ),
            ("core.v1.ConfigMap", json!({}), json!({})),
        ];
        for (kind, mut object, wanted) in cases {
            Shapes::new().compile(&full_name(kind)).expect(kind).apply_defaults(&mut object);
            assert_eq!(object, wanted, "{kind}");
        }
    }
}
