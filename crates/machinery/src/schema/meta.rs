//! What every resource has without saying so: `apiVersion`, `kind` and `metadata`.
//!
//! Schemas of custom resources leave metadata out (and may not describe it). We add it to the
//! compiled nodes, at the root and at embedded resources, so that every walk treats it like any
//! other field: it is type-checked, its unknown fields are pruned, patches know its merge keys.

use serde_json::{Value, json};

use super::build::Builder;
use super::node::{Node, NodeId, Type};
use crate::field::FieldPath;

/// Adds the implicit fields to `resource`, keeping what is declared about them.
pub(super) fn complete(builder: &mut Builder<'_>, resource: NodeId, object_meta: NodeId) {
    for name in ["apiVersion", "kind"] {
        if !builder.nodes[resource].properties.contains_key(name) {
            let text = Node { kind: Some(Type::String), ..Node::default() };
            let id = builder.add(text);
            builder.nodes[resource].properties.insert(name.to_owned(), id);
        }
    }
    let Some(declared) = builder.nodes[resource].properties.get("metadata").copied() else {
        builder.nodes[resource].properties.insert("metadata".to_owned(), object_meta);
        return;
    };
    for (name, id) in builder.nodes[object_meta].properties.clone() {
        builder.nodes[declared].properties.entry(name).or_insert(id);
    }
}

/// Compiles the schema of ObjectMeta. It mirrors a Go struct, hence `null` means "absent" in it
/// (generators like to write `creationTimestamp: null`).
pub(super) fn object_meta(builder: &mut Builder<'_>) -> NodeId {
    let first = builder.nodes.len();
    let id = builder.read(&schema(), &FieldPath::new("metadata"), 0);
    for node in &mut builder.nodes[first..] {
        node.null_is_absent = true;
    }
    id
}

fn schema() -> Value {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let time = || json!({"type": "string", "format": "date-time"});
    let flag = || json!({"type": "boolean"});
    let owner = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": text(), "kind": text(), "name": text(), "uid": text(),
            "controller": flag(), "blockOwnerDeletion": flag(),
        },
    });
    let managed = json!({
        "type": "object",
        "properties": {
            "manager": text(), "operation": text(), "apiVersion": text(), "time": time(),
            "fieldsType": text(), "subresource": text(),
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    json!({
        "type": "object",
        "properties": {
            "name": text(), "generateName": text(), "namespace": text(), "selfLink": text(),
            "uid": text(), "resourceVersion": text(),
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": time(), "deletionTimestamp": time(),
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": texts(), "annotations": texts(),
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            },
            "finalizers": {
                "type": "array", "items": text(),
                "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge",
            },
            "managedFields": {
                "type": "array", "items": managed, "x-kubernetes-list-type": "atomic",
            },
        },
    })
}
