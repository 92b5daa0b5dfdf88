//! `components.schemas`: the kinds, their lists, and what they refer to.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::MetaDefinitions;
use crate::registry::{OpenApiSchemas, Resource};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// The scale subresource of every kind.
pub(super) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

const GVK: &str = "x-kubernetes-group-version-kind";
const REF: &str = "#/components/schemas/";

const API_VERSION_WORDS: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND_WORDS: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA_WORDS: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA_WORDS: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// Name of a definition of the meta package.
pub(super) fn meta(kind: &str) -> String {
    format!("{META}.{kind}")
}

/// A reference to a definition.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{REF}{name}")})
}

/// What one version of one kind is called inside the document.
pub(super) struct KindNames {
    /// Definition of the kind.
    pub root: String,
    /// Definition of its list.
    pub list: String,
    /// For operations: group, version and kind.
    pub gvk: Value,
}

impl KindNames {
    pub(super) fn new(resource: &Resource, version: &str, root: String) -> Self {
        let package = root.strip_suffix(resource.kind.as_str()).unwrap_or(&root);
        let list = format!("{package}{}", resource.list_kind);
        Self { list, gvk: gvk(&resource.group, version, &resource.kind), root }
    }
}

fn gvk(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

/// Definitions of a custom kind: its own schema with `apiVersion`, `kind` and `metadata` as
/// Kubernetes declares them. The definition is named after the reversed group.
pub fn crd_schemas(group: &str, version: &str, kind: &str, schema: &Value) -> OpenApiSchemas {
    let mut definition = schema.as_object().cloned().unwrap_or_default();
    definition.entry("type").or_insert_with(|| "object".into());
    let mut properties = match definition.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    properties.insert("apiVersion".into(), described("string", API_VERSION_WORDS));
    properties.insert("kind".into(), described("string", KIND_WORDS));
    properties.insert("metadata".into(), described_ref(&meta("ObjectMeta"), METADATA_WORDS));
    definition.insert("properties".into(), properties.into());
    definition.insert(GVK.into(), json!([gvk(group, version, kind)]));

    let root = format!("{}.{version}.{kind}", reversed(group));
    let definitions = BTreeMap::from([(root.clone(), Value::Object(definition))]);
    OpenApiSchemas { root, definitions }
}

/// Makes sure that a kind and its list are defined and say which kind they are.
pub(super) fn add_kind(
    definitions: &mut BTreeMap<String, Value>,
    names: &KindNames,
    resource: &Resource,
    version: &str,
) {
    let root = definitions.entry(names.root.clone()).or_insert_with(|| json!({"type": "object"}));
    mark(root, &names.gvk);
    if resource.strategy.virtual_only {
        return;
    }
    let list = definitions.entry(names.list.clone()).or_insert_with(|| {
        json!({
            "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": described("string", API_VERSION_WORDS),
                "kind": described("string", KIND_WORDS),
                "metadata": described_ref(&meta("ListMeta"), LIST_METADATA_WORDS),
                "items": {
                    "description": format!("List of {}.", resource.plural),
                    "type": "array",
                    "items": reference(&names.root),
                },
            },
        })
    });
    mark(list, &gvk(&resource.group, version, &resource.list_kind));
}

/// Adds a kind to those a definition stands for.
fn mark(definition: &mut Value, gvk: &Value) {
    let Some(definition) = definition.as_object_mut() else { return };
    let known = definition.entry(GVK).or_insert_with(|| json!([]));
    if let Some(list) = known.as_array_mut()
        && !list.contains(gvk)
    {
        list.push(gvk.clone());
    }
}

/// All definitions that the paths and the kinds refer to, directly or not. `own` is kept whole;
/// what no one defines is declared as any object, so that no reference leads nowhere.
pub(super) fn reachable(
    paths: &Map<String, Value>,
    own: BTreeMap<String, Value>,
    meta: &MetaDefinitions,
) -> BTreeMap<String, Value> {
    let mut wanted = Vec::new();
    for value in paths.values().chain(own.values()) {
        references(value, &mut wanted);
    }
    let mut found = own;
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let definition = meta
            .get(&name)
            .cloned()
            .or_else(|| scale_definition(&name))
            .unwrap_or_else(|| json!({"type": "object", "description": name}));
        references(&definition, &mut wanted);
        found.insert(name, definition);
    }
    found
}

fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().and_then(|text| text.strip_prefix(REF)) {
                    Some(name) if key == "$ref" => into.push(name.to_owned()),
                    _ => references(value, into),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// `autoscaling/v1 Scale` and its parts: custom kinds speak it without that group being served.
fn scale_definition(name: &str) -> Option<Value> {
    let part = |kind: &str| format!("io.k8s.api.autoscaling.v1.{kind}");
    let integer = |words: &str| json!({"type": "integer", "format": "int32", "description": words});
    let definition = match name.strip_prefix("io.k8s.api.autoscaling.v1.")? {
        "Scale" => json!({
            "description": "Scale represents a scaling request for a resource.",
            "type": "object",
            "properties": {
                "apiVersion": described("string", API_VERSION_WORDS),
                "kind": described("string", KIND_WORDS),
                "metadata": described_ref(&meta("ObjectMeta"), METADATA_WORDS),
                "spec": described_ref(&part("ScaleSpec"), "spec defines the behavior of the scale."),
                "status": described_ref(
                    &part("ScaleStatus"),
                    "status is the current status of the scale. Read-only.",
                ),
            },
            GVK: [gvk("autoscaling", "v1", "Scale")],
        }),
        "ScaleSpec" => json!({
            "description": "ScaleSpec describes the attributes of a scale subresource.",
            "type": "object",
            "properties": {
                "replicas": integer("replicas is the desired number of instances."),
            },
        }),
        "ScaleStatus" => json!({
            "description": "ScaleStatus represents the current status of a scale subresource.",
            "type": "object",
            "required": ["replicas"],
            "properties": {
                "replicas": integer("replicas is the actual number of observed instances."),
                "selector": described("string", "selector is the label query over the instances."),
            },
        }),
        _ => return None,
    };
    Some(definition)
}

fn described(kind: &str, words: &str) -> Value {
    json!({"type": kind, "description": words})
}

/// OpenAPI 3.0 ignores what stands beside a `$ref`; `allOf` lets it have a description.
fn described_ref(name: &str, words: &str) -> Value {
    json!({"description": words, "allOf": [reference(name)]})
}

/// `bench.landbridge.dev` becomes `dev.landbridge.bench`.
fn reversed(group: &str) -> String {
    group.rsplit('.').collect::<Vec<_>>().join(".")
}
