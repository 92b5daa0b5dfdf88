//! `x-kubernetes-list-type`, `-list-map-keys` and `-map-type`.

use serde_json::{Map, Value};

use super::super::build::{flag, text, texts};
use super::check::Check;
use crate::field::{FieldError, FieldPath};

/// Checks how a list or a map says it is merged.
pub(super) fn check(check: &mut Check, s: &Map<String, Value>, path: &FieldPath) {
    topology(check, s, path, "x-kubernetes-map-type", "object", &["atomic", "granular"]);
    topology(check, s, path, "x-kubernetes-list-type", "array", &["atomic", "set", "map"]);
    let list_type = text(s, "x-kubernetes-list-type");
    if !texts(s, "x-kubernetes-list-map-keys").is_empty() {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type.as_deref() {
            Some("map") => {}
            Some(other) => check.invalid(path, "x-kubernetes-list-type", other, why),
            None => check.require(path, "x-kubernetes-list-type", why),
        }
    }
    let Some(Value::Object(items)) = s.get("items") else {
        if list_type.as_deref() == Some("map") && !s.contains_key("items") {
            check.require(path, "items", "must have a schema if x-kubernetes-list-type is map");
        }
        return;
    };
    match list_type.as_deref() {
        Some("map") => map_list(check, s, items, path),
        Some("set") => set_list(check, items, path),
        _ => return,
    }
    if flag(items, "nullable") {
        let why = format!(
            "cannot be nullable when x-kubernetes-list-type is {}",
            list_type.unwrap_or_default()
        );
        check.forbid(&path.child("items"), "nullable", &why);
    }
}

fn topology(
    check: &mut Check,
    s: &Map<String, Value>,
    path: &FieldPath,
    key: &str,
    needs: &str,
    known: &[&str],
) {
    let Some(value) = text(s, key) else { return };
    let why = format!("must be {needs} if {key} is specified");
    match text(s, "type").filter(|kind| !kind.is_empty()) {
        None => check.require(path, "type", &why),
        Some(kind) if kind != needs => check.invalid(path, "type", kind, &why),
        Some(_) => {}
    }
    if !known.contains(&value.as_str()) {
        check.errors.push(FieldError::not_supported(&path.child(key), value, known));
    }
}

/// Elements of a set are compared whole, so they must be atomic.
fn set_list(check: &mut Check, items: &Map<String, Value>, path: &FieldPath) {
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let path = path.child("items");
    match text(items, "type").as_deref() {
        Some("array") => {
            let list_type = text(items, "x-kubernetes-list-type");
            if list_type.as_deref().is_some_and(|list_type| list_type != "atomic") {
                check.invalid(&path, "x-kubernetes-list-type", list_type, why);
            }
        }
        Some("object") => {
            let map_type = text(items, "x-kubernetes-map-type");
            if map_type.as_deref() != Some("atomic") {
                check.invalid(&path, "x-kubernetes-map-type", map_type, why);
            }
        }
        _ => {}
    }
}

/// Elements of a map list are found by their keys, so every element must have them.
fn map_list(
    check: &mut Check,
    s: &Map<String, Value>,
    items: &Map<String, Value>,
    path: &FieldPath,
) {
    let key = "x-kubernetes-list-map-keys";
    let keys = texts(s, key);
    if keys.is_empty() {
        check.require(path, key, "must not be empty if x-kubernetes-list-type is map");
    }
    let items_path = path.child("items");
    let kind = text(items, "type").unwrap_or_default();
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        check.invalid(&items_path, "type", kind, why);
        return;
    }
    let required = texts(items, "required");
    for (i, name) in keys.iter().enumerate() {
        if keys[..i].contains(name) {
            check.invalid(path, key, keys.clone(), "must not contain duplicate entries");
        }
        let Some(Value::Object(property)) = items.get("properties").and_then(|p| p.get(name))
        else {
            check.invalid(path, key, keys.clone(), "entries must all be names of item properties");
            continue;
        };
        let path = items_path.child("properties").key(name);
        let kind = text(property, "type").unwrap_or_default();
        if kind == "array" || kind == "object" {
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            check.invalid(&path, "type", kind, why);
        }
        if !required.contains(name) && property.get("default").is_none_or(Value::is_null) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            check.require(&path, "default", why);
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            check.forbid(&path, "nullable", why);
        }
    }
}
