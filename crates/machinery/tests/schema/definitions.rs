//! Built-in kinds: OpenAPI definitions, read with good will.

use std::collections::BTreeMap;

use landbridge_machinery::schema::Schema;
use serde_json::{Value, json};

use super::texts;

fn schema(root: &str, definitions: Value) -> Result<Schema, String> {
    let Value::Object(definitions) = definitions else { panic!("a map") };
    let definitions: BTreeMap<String, Value> = definitions.into_iter().collect();
    Schema::from_definitions(root, &definitions)
}

fn kind() -> Schema {
    schema(
        "Kind",
        json!({
            "Kind": {"type": "object", "required": ["spec"], "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}, "description": "the metadata"},
                "spec": {"$ref": "#/definitions/Spec"},
            }},
            "Meta": {"type": "object", "properties": {"name": {"type": "string", "default": ""}, "created": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}}},
            "Spec": {"type": "object", "properties": {
                "replicas": {"type": "integer", "format": "int32"},
                "cpu": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "port": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
                "old": {"type": "string", "format": "int-or-string"},
                "raw": {"$ref": "#/components/schemas/Raw"},
                "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
                "child": {"$ref": "#/components/schemas/Spec"},
                "children": {"type": "array", "items": {"$ref": "#/components/schemas/Spec"}, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "n"},
                "strategy": {"allOf": [{"$ref": "#/components/schemas/Strategy"}], "x-kubernetes-patch-strategy": "retainKeys"},
                "maybe": {"anyOf": [{"$ref": "#/components/schemas/Strategy"}, {"type": "null"}]},
                "maybe3": {"anyOf": [{"$ref": "#/components/schemas/Strategy"}, {"enum": [null], "nullable": true}]},
                "text": {"type": ["string", "null"]},
                "protocol": {"type": "string", "default": "TCP"},
                "pattern": {"type": "string", "pattern": "("},
            }},
            "Strategy": {"type": "object", "description": "how", "properties": {"type": {"type": "string"}}},
            "Raw": {"type": "object"},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
            "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
        }),
    )
    .expect("schema")
}

#[test]
fn types_are_checked_through_references_and_recursion() {
    let schema = kind();
    let sound = json!({"metadata": {"name": "x", "created": "2024-01-01T00:00:00Z"}, "spec": {
        "replicas": 1, "cpu": "100m", "port": "http", "old": 5, "raw": {"a": [1]}, "data": {"k": "YQ=="},
        "child": {"child": {"cpu": 1.5, "port": 80}}, "children": [{"replicas": 2}], "strategy": {"type": "x"},
        "maybe": {"type": "x"}, "maybe3": null, "text": "x"}});
    assert_eq!(texts(&schema.type_errors(&sound)), [""; 0]);
    assert_eq!(texts(&schema.validate(&sound, None)), [""; 0]);
    let wrong = json!({"metadata": {"created": 1}, "spec": {
        "child": {"child": {"cpu": true, "port": 1.5}}, "children": [{"replicas": "1"}], "data": {"k": 1},
        "maybe": {"type": 1}, "strategy": [], "text": 1}});
    let paths: Vec<String> =
        schema.type_errors(&wrong).iter().map(|e| e.path.to_string()).collect();
    assert_eq!(
        paths,
        [
            "metadata.created",
            "spec.child.child.cpu",
            "spec.child.child.port",
            "spec.children[0].replicas",
            "spec.data.k",
            "spec.maybe.type",
            "spec.strategy",
            "spec.text",
        ]
    );
    assert_eq!(
        schema.type_errors(&json!({"spec": {"replicas": "1"}}))[0].to_string(),
        r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#
    );
}

#[test]
fn type_errors_look_at_nothing_else() {
    assert!(kind().type_errors(&json!({})).is_empty());
    assert_eq!(texts(&kind().validate(&json!({}), None)), ["spec: Required value"]);
}

#[test]
fn null_is_absent_as_in_go() {
    let schema = kind();
    let mut value = json!({"metadata": {"created": null}, "spec": {"replicas": null, "cpu": null, "children": null, "child": {"text": null}, "raw": {"x": null}}});
    assert!(schema.type_errors(&value).is_empty());
    schema.prune_nulls(&mut value);
    assert_eq!(value, json!({"metadata": {}, "spec": {"child": {}, "raw": {"x": null}}}));
}

#[test]
fn unknown_fields_are_found_but_raw_json_is_left_alone() {
    let schema = kind();
    let value = json!({"metadata": {"x": 1}, "spec": {"raw": {"any": {"thing": 1}}, "child": {"y": 1}, "maybe": {"z": 1}}, "status": {}});
    assert_eq!(
        schema.unknown_fields(&value),
        ["metadata.x", "spec.child.y", "spec.maybe.z", "status"]
    );
}

#[test]
fn zero_values_are_no_defaults() {
    let schema = kind();
    assert!(schema.has_defaults());
    let mut value = json!({"spec": {"child": {"protocol": null}}});
    schema.apply_defaults(&mut value);
    assert_eq!(value, json!({"spec": {"child": {"protocol": "TCP"}, "protocol": "TCP"}}));
}

#[test]
fn siblings_of_a_reference_count() {
    let schema = kind();
    let root = schema.root();
    let metadata = root.property("metadata").expect("metadata");
    assert_eq!((metadata.description(), metadata.type_name()), ("the metadata", Some("object")));
    let spec = root.property("spec").expect("spec");
    let strategy = spec.property("strategy").expect("strategy");
    assert_eq!((strategy.patch_strategy(), strategy.description()), (Some("retainKeys"), "how"));
    let children = spec.property("children").expect("children");
    assert_eq!((children.patch_strategy(), children.patch_merge_key()), (Some("merge"), Some("n")));
    assert!(children.items().and_then(|i| i.property("children")).is_some());
    assert!(
        spec.property("maybe").is_some_and(|m| m.is_nullable() && m.property("type").is_some())
    );
}

#[test]
fn dangling_and_empty_references_are_refused() {
    assert!(schema("X", json!({})).expect_err("missing").contains("no such definition"));
    let dangling = json!({"X": {"type": "object", "properties": {"y": {"$ref": "#/$defs/Y"}}}});
    let error = schema("X", dangling).expect_err("dangling");
    assert_eq!(error, r#"X.properties[y]: Not found: "Y": no such definition"#);
    let circle =
        json!({"X": {"$ref": "#/$defs/Y"}, "Y": {"$ref": "#/$defs/X", "description": "d"}});
    assert_eq!(
        schema("X", circle).expect_err("circle"),
        "a definition refers to nothing but itself"
    );
}
