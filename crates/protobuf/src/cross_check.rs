//! Holds the table against the OpenAPI schemas of Kubernetes, as k8s-openapi has them.
//!
//! Both come from Kubernetes by different ways: the table from its protobuf definitions, the schemas
//! from its OpenAPI document. So a name, a type or a field that is wrong or missing shows here.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{
    admissionregistration::v1 as admissionregistration, apps::v1 as apps,
    authentication::v1 as authentication, authorization::v1 as authorization, autoscaling,
    batch::v1 as batch, certificates::v1 as certificates, coordination::v1 as coordination,
    core::v1 as core, discovery::v1 as discovery, events::v1 as events,
    networking::v1 as networking, node::v1 as node, policy::v1 as policy, rbac::v1 as rbac,
    scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::table::{self, Field, Kind, Many, Message, Shape};

/// Fields that came after the version of the schemas.
const NEWER: &[&str] = &[
    "apiextensions.v1.CustomResourceDefinitionCondition.observedGeneration",
    "apiextensions.v1.CustomResourceDefinitionStatus.observedGeneration",
    "core.v1.NodeStatus.declaredFeatures",
    "core.v1.PodCertificateProjection.userAnnotations",
    "core.v1.PodSpec.workloadRef",
    "core.v1.PodStatus.allocatedResources",
    "core.v1.PodStatus.resources",
    "storage.v1.CSIDriverSpec.serviceAccountTokenInSecrets",
];

macro_rules! schemas {
    ($($kind:ty),* $(,)?) => {{
        let mut generator = SchemaGenerator::default();
        $(generator.subschema_for::<$kind>();)*
        generator.take_definitions(true)
    }};
}

/// The schema of every message, by the table's names.
fn schemas() -> BTreeMap<String, Value> {
    let definitions = schemas![
        admissionregistration::MutatingWebhookConfiguration,
        admissionregistration::ValidatingAdmissionPolicy,
        admissionregistration::ValidatingAdmissionPolicyBinding,
        admissionregistration::ValidatingWebhookConfiguration,
        apiextensions::CustomResourceDefinition,
        apps::ControllerRevision,
        apps::DaemonSet,
        apps::Deployment,
        apps::ReplicaSet,
        apps::StatefulSet,
        authentication::SelfSubjectReview,
        authentication::TokenRequest,
        authentication::TokenReview,
        authorization::LocalSubjectAccessReview,
        authorization::SelfSubjectAccessReview,
        authorization::SelfSubjectRulesReview,
        authorization::SubjectAccessReview,
        autoscaling::v1::HorizontalPodAutoscaler,
        autoscaling::v1::Scale,
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::CronJob,
        batch::Job,
        certificates::CertificateSigningRequest,
        coordination::Lease,
        core::Binding,
        core::ConfigMap,
        core::Endpoints,
        core::Event,
        core::LimitRange,
        core::Namespace,
        core::Node,
        core::PersistentVolume,
        core::PersistentVolumeClaim,
        core::Pod,
        core::PodTemplate,
        core::ReplicationController,
        core::ResourceQuota,
        core::Secret,
        core::Service,
        core::ServiceAccount,
        discovery::EndpointSlice,
        events::Event,
        meta::DeleteOptions,
        meta::Status,
        networking::Ingress,
        networking::IngressClass,
        networking::NetworkPolicy,
        node::RuntimeClass,
        policy::Eviction,
        policy::PodDisruptionBudget,
        rbac::ClusterRole,
        rbac::ClusterRoleBinding,
        rbac::Role,
        rbac::RoleBinding,
        scheduling::PriorityClass,
        storage::CSIDriver,
        storage::CSINode,
        storage::StorageClass,
        storage::VolumeAttachment,
    ];
    let named = definitions.into_iter().map(|(name, schema)| {
        let mut words: Vec<&str> = name.rsplit('.').take(3).collect();
        words.reverse();
        (words.join("."), schema)
    });
    named.collect()
}

#[test]
fn names_and_types_are_those_of_the_schemas() {
    let schemas = schemas();
    let mut wrong = Vec::new();
    let mut checked = BTreeSet::new();
    for message in table::get().messages.iter().filter(|m| m.shape == Shape::Object) {
        let Some(properties) = schemas.get(message.name).and_then(|s| s.get("properties")) else {
            continue;
        };
        let properties = properties.as_object().unwrap();
        checked.insert(message.name);
        let fields = fields(message);
        for field in &fields {
            let full = format!("{}.{}", message.name, field.name);
            match properties.get(field.name) {
                Some(schema) if fits(field, schema) => {}
                Some(schema) => wrong.push(format!("{full}: {:?} but {schema}", field.kind)),
                None if NEWER.contains(&full.as_str()) => {}
                None => wrong.push(format!("{full}: not in the schema")),
            }
        }
        let has = |name: &str| fields.iter().any(|field| field.name == name);
        // Objects name their kind in the envelope, not in the message.
        let kind = |name: &str| name == "apiVersion" || name == "kind";
        for name in properties.keys().filter(|name| !has(name) && !kind(name)) {
            wrong.push(format!("{}.{name}: not in the table", message.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // What is not checked is inlined, or not in OpenAPI: no body that a server documents has it.
    let all = table::get().messages.iter().filter(|m| m.shape == Shape::Object);
    let unchecked: Vec<_> = all.map(|m| m.name).filter(|name| !checked.contains(name)).collect();
    assert_eq!(
        unchecked,
        [
            "admissionregistration.v1.Rule",
            "apiextensions.v1.CustomResourceSubresourceStatus",
            "core.v1.EphemeralContainerCommon",
            "core.v1.PersistentVolumeSource",
            "core.v1.ProbeHandler",
            "core.v1.VolumeSource",
            "core.v1.WorkloadReference",
            "meta.v1.CreateOptions",
            "meta.v1.PatchOptions",
            "meta.v1.UpdateOptions",
            "networking.v1.IngressRuleValue",
        ]
    );
}

#[test]
fn every_kind_has_a_message() {
    for (version, kind, message) in table::get().kinds() {
        assert!(message.ends_with(&format!(".{kind}")), "{version} {kind}");
        assert!(crate::knows(version, kind), "{version} {kind}");
    }
    assert!(crate::knows("apps/v1", "DeleteOptions"));
    assert!(!crate::knows("apps/v1", "Pod"));
}

/// The fields of a message, those of inlined messages included.
fn fields(message: &'static Message) -> Vec<&'static Field> {
    let inner = |field: &Field| match field.kind {
        Kind::Message(place) if field.inline => table::get().at(place),
        _ => None,
    };
    let each = message.fields.iter().map(|field| inner(field).map_or(vec![field], fields));
    each.flatten().collect()
}

/// Whether a field's type is the schema's.
fn fits(field: &Field, schema: &Value) -> bool {
    let wanted = schema["type"].as_str().unwrap_or_default();
    match field.many {
        Many::List => return wanted == "array",
        Many::Map => return wanted == "object" && schema.get("additionalProperties").is_some(),
        Many::One => {}
    }
    match field.kind {
        Kind::String => wanted == "string",
        Kind::Bytes => wanted == "string" && schema["format"] == "byte",
        Kind::Bool => wanted == "boolean",
        Kind::Int32 => wanted == "integer" && schema["format"] == "int32",
        Kind::Int64 => wanted == "integer" && schema["format"] == "int64",
        Kind::Double => wanted == "number",
        Kind::Message(place) => {
            let name = table::get().at(place).unwrap().name;
            let refers = |schema: &Value| {
                schema["$ref"].as_str().is_some_and(|r| r.ends_with(&format!(".{name}")))
            };
            let all = schema["allOf"].as_array().into_iter().flatten();
            refers(schema)
                || all.into_iter().any(refers)
                || table::get().at(place).unwrap().shape != Shape::Object
        }
    }
}
