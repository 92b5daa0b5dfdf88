//! The CRDs, finished.
//!
//! What the derive macro makes is structural but differs from what Go's generator makes in two
//! ways that users notice. [`crds`] evens them out:
//!
//! - every `Option` is `nullable`, so an explicit `null` would be kept; upstream drops it. Only
//!   fields where `null` has a meaning of its own stay nullable.
//! - `spec` is required even where nothing in it is.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::ledger::AddressBlock;
use crate::network::{DNSData, DNSMasq, IPSet, NetConfig, Reservation};

/// Properties whose `null` differs from absent.
const NULLABLE: [&str; 1] = ["nodeSelector"];

/// Every CRD the embedded API serves: ours, and those that a real cluster has from their owners.
pub fn all_crds() -> Vec<CustomResourceDefinition> {
    let mut crds = crds();
    crds.extend(crate::foreign::crds::crds());
    crds
}

/// Every CRD that is ours to install, on any cluster.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        NetConfig::crd(),
        IPSet::crd(),
        Reservation::crd(),
        DNSMasq::crd(),
        DNSData::crd(),
        AddressBlock::crd(),
    ];
    for crd in &mut crds {
        finish(crd);
    }
    crds
}

fn finish(crd: &mut CustomResourceDefinition) {
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            schema.title = None;
            even_out(schema);
            spec_may_be_absent(schema);
        }
    }
}

/// Makes `spec` default to `{}` when nothing in it is required.
fn spec_may_be_absent(root: &mut JSONSchemaProps) {
    let Some(spec) = root.properties.as_mut().and_then(|p| p.get_mut("spec")) else { return };
    if spec.required.as_ref().is_none_or(Vec::is_empty) {
        spec.default = Some(JSON(json!({})));
        if let Some(required) = &mut root.required {
            required.retain(|name| name != "spec");
        }
        if root.required.as_ref().is_some_and(Vec::is_empty) {
            root.required = None;
        }
    }
}

pub(crate) fn even_out(schema: &mut JSONSchemaProps) {
    for (name, property) in schema.properties.iter_mut().flatten() {
        if !NULLABLE.contains(&name.as_str()) {
            property.nullable = None;
        }
        even_out(property);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => even_out(items),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(even_out),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        even_out(values);
    }
}

/// Schema of a moment. Kubernetes' own type brings a description that says nothing here.
pub(crate) fn timestamp(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}
