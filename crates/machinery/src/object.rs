//! Reading and writing the metadata of an untyped object.
//!
//! Reads never fail: a field that is absent or of the wrong type is simply not there; the schema
//! check has said so before.

use serde_json::{Map, Value};

use crate::gvk::GroupVersionKind;

/// `metadata.name`, or the empty string.
pub fn name(object: &Value) -> &str {
    meta_str(object, "name")
}

/// `metadata.namespace`, or the empty string.
pub fn namespace(object: &Value) -> &str {
    meta_str(object, "namespace")
}

/// `metadata.uid`, or the empty string.
pub fn uid(object: &Value) -> &str {
    meta_str(object, "uid")
}

/// `metadata.resourceVersion`, or the empty string.
pub fn resource_version(object: &Value) -> &str {
    meta_str(object, "resourceVersion")
}

/// `metadata.generation`, or 0.
pub fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

/// Whether deletion has begun.
pub fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// A text field of the metadata, or the empty string.
pub fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// `metadata.labels`.
pub fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object["metadata"]["labels"].as_object()
}

/// One annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// `metadata.finalizers`, in order.
pub fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"]
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// `metadata.ownerReferences`.
pub fn owner_references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

/// The kind the object says it is.
pub fn kind(object: &Value) -> Option<GroupVersionKind> {
    GroupVersionKind::parse(object["apiVersion"].as_str()?, object["kind"].as_str()?)
}

/// The metadata map, made when it is absent. `None` when the object is no JSON object, or its
/// metadata is something else.
pub fn meta_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()))
        .as_object_mut()
}

/// Sets one field of the metadata.
pub fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(meta) = meta_mut(object) {
        meta.insert(field.to_owned(), value.into());
    }
}

/// Removes one field of the metadata.
pub fn clear_meta(object: &mut Value, field: &str) {
    if let Some(meta) = meta_mut(object) {
        meta.remove(field);
    }
}
