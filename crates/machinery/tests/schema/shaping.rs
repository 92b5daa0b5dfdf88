//! Pruning, defaults and nulls.

use landbridge_machinery::schema::{NodeRef, Schema};
use serde_json::{Value, json};

use super::{compiled, resource};

fn pruned(schema: &Schema, mut value: Value) -> (Value, Vec<String>) {
    let expected = schema.unknown_fields(&value);
    let unknown = schema.prune(&mut value);
    assert_eq!(unknown, expected);
    (value, unknown)
}

#[test]
fn unknown_fields_go_and_are_named() {
    let schema = resource(json!({"type": "object", "properties": {
        "networks": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "string"}}}},
        "bare": {"type": "object"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object"}}},
        "open": {"x-kubernetes-preserve-unknown-fields": true},
        "any": {"type": "object", "additionalProperties": true},
        "text": {"type": "string"},
    }}));
    let (value, unknown) = pruned(
        &schema,
        json!({"apiVersion": "v1", "kind": "K", "oops": {"a": 1}, "spec": {
            "networks": [{"name": "a", "foo": 1}, {"name": "b"}, "wrong type"],
            "labels": {"k": {"v": "x", "w": "y"}},
            "bare": {"a": 1},
            "free": {"a": {"b": 1}, "known": {"c": 1}},
            "open": [{"x": 1}],
            "any": {"a": {"b": 1}},
            "text": {"wrong": "type"},
        }}),
    );
    assert_eq!(
        value,
        json!({"apiVersion": "v1", "kind": "K", "spec": {
            "networks": [{"name": "a"}, {"name": "b"}, "wrong type"],
            "labels": {"k": {"v": "x"}},
            "bare": {},
            "free": {"a": {"b": 1}, "known": {}},
            "open": [{"x": 1}],
            "any": {"a": {"b": 1}},
            "text": {"wrong": "type"},
        }})
    );
    assert_eq!(
        unknown,
        ["oops", "spec.bare.a", "spec.free.known.c", "spec.labels.k.w", "spec.networks[0].foo"]
    );
}

#[test]
fn metadata_is_known_without_being_declared() {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    let closed = json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}});
    let schema = resource(json!({"type": "object", "properties": {"e": embedded, "c": closed}}));
    let metadata = json!({
        "name": "n", "generateName": "g", "namespace": "ns", "selfLink": "l", "uid": "u", "resourceVersion": "1",
        "generation": 1, "creationTimestamp": null, "deletionTimestamp": null, "deletionGracePeriodSeconds": 1,
        "labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["f"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true, "blockOwnerDeletion": true}],
        "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": null, "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}, "subresource": "status"}],
    });
    let sound = json!({"metadata": metadata, "spec": {"e": {"metadata": metadata, "any": 1}, "c": {"metadata": metadata}}});
    assert_eq!(pruned(&schema, sound.clone()), (sound.clone(), vec![]));
    let mut odd = sound.clone();
    odd["metadata"]["foo"] = 1.into();
    odd["metadata"]["ownerReferences"][0]["bar"] = 1.into();
    odd["spec"]["e"]["metadata"]["foo"] = 1.into();
    odd["spec"]["c"]["foo"] = 1.into();
    let unknown =
        ["metadata.foo", "metadata.ownerReferences[0].bar", "spec.c.foo", "spec.e.metadata.foo"];
    assert_eq!(pruned(&schema, odd), (sound, unknown.map(str::to_owned).to_vec()));
}

#[test]
fn any_takes_everything() {
    let schema = Schema::any();
    let value = json!({"a": [{"b": null}]});
    assert_eq!(pruned(&schema, value.clone()), (value.clone(), vec![]));
    assert!(
        schema.validate(&value, None).is_empty() && schema.validate(&json!(null), None).is_empty()
    );
    assert!(!schema.has_defaults());
}

#[test]
fn defaults_fill_what_is_absent() {
    let schema = resource(json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "n": {"type": "string", "nullable": true, "default": "x"},
        "deep": {"type": "object", "default": {"p": 1}, "properties": {"p": {"type": "integer"}, "q": {"type": "integer", "default": 2}}},
        "shallow": {"type": "object", "properties": {"q": {"type": "integer", "default": 2}}},
        "list": {"type": "array", "items": {"type": "object", "default": {}, "properties": {"q": {"type": "integer", "default": 2}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"q": {"type": "integer", "default": 2}}}},
    }}));
    assert!(schema.has_defaults());
    let cases = [
        // No parent, no defaults.
        (json!({}), json!({})),
        (json!({"spec": {}}), json!({"spec": {"a": "x", "n": "x", "deep": {"p": 1, "q": 2}}})),
        (
            json!({"spec": {"a": null, "n": null, "deep": {"q": 3}, "shallow": {}, "list": [{}, null, {"q": 1}], "map": {"k": {}}}}),
            json!({"spec": {"a": "x", "n": null, "deep": {"q": 3}, "shallow": {"q": 2}, "list": [{"q": 2}, {"q": 2}, {"q": 1}], "map": {"k": {"q": 2}}}}),
        ),
        (json!({"spec": "wrong type"}), json!({"spec": "wrong type"})),
    ];
    for (mut value, expected) in cases {
        schema.apply_defaults(&mut value);
        assert_eq!(value, expected);
    }
}

#[test]
fn nulls_go_where_they_may_not_stand() {
    let schema = resource(json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "n": {"type": "string", "nullable": true},
        "d": {"type": "string", "default": "x"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}));
    let mut value = json!({"metadata": {"creationTimestamp": null, "name": "x"}, "spec": {
        "a": null, "n": null, "d": null, "list": [null], "map": {"k": null, "l": "m"}, "free": {"x": null}, "unknown": null}});
    schema.prune_nulls(&mut value);
    assert_eq!(
        value,
        json!({"metadata": {"name": "x"}, "spec": {"n": null, "d": null, "list": [null], "map": {"l": "m"}, "free": {"x": null}, "unknown": null}})
    );
}

#[test]
fn a_cursor_walks_the_schema() {
    let schema = compiled(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "description": "what you want",
        "x-kubernetes-validations": [{"rule": "self.a > 0"}], "x-kubernetes-map-type": "atomic", "required": ["a"],
        "properties": {
            "a": {"type": "integer", "default": 1, "enum": [1, 2]},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "boolean", "nullable": true}},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
            "port": {"x-kubernetes-int-or-string": true},
        }}}}),
    );
    let spec = schema.root().property("spec").expect("spec");
    assert_eq!(
        (spec.type_name(), spec.description(), spec.map_type()),
        (Some("object"), "what you want", Some("atomic"))
    );
    assert_eq!(
        (spec.validations(), spec.required()),
        (&[json!({"rule": "self.a > 0"})][..], &["a".to_owned()][..])
    );
    assert_eq!(
        spec.properties().map(|(name, _)| name).collect::<Vec<_>>(),
        ["a", "free", "list", "map", "port"]
    );
    let a = spec.property("a").expect("a");
    assert_eq!(
        (a.default_value(), a.allowed_values()),
        (Some(&json!(1)), &[json!(1), json!(2)][..])
    );
    let list = spec.property("list").expect("list");
    assert_eq!((list.list_type(), list.list_map_keys()), (Some("map"), &["k".to_owned()][..]));
    assert_eq!(
        list.items().and_then(|i| i.property("k")).and_then(NodeRef::type_name),
        Some("string")
    );
    let map = spec.property("map").expect("map");
    assert!(
        map.additional().is_some_and(NodeRef::is_nullable)
            && map.field("x").is_some()
            && map.property("x").is_none()
    );
    assert!(spec.property("free").is_some_and(NodeRef::is_preserve_unknown));
    assert!(spec.property("port").is_some_and(NodeRef::is_int_or_string));
    // Metadata is there for patches, too.
    let finalizers = schema
        .root()
        .property("metadata")
        .and_then(|m| m.property("finalizers"))
        .expect("finalizers");
    assert_eq!((finalizers.patch_strategy(), finalizers.list_type()), (Some("merge"), Some("set")));
}
