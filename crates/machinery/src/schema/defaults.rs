//! Filling in what is absent, and dropping `null` where it may not stand.

use serde_json::Value;

use super::node::{Additional, Node, NodeId};
use super::{MAX_DEPTH, Schema};

/// Applies defaults to a whole object.
pub(super) fn apply(schema: &Schema, value: &mut Value) {
    if schema.has_defaults {
        fill(schema, schema.root, value, 0);
    }
}

/// Applies defaults to a part of an object that is shaped by `id`.
pub(super) fn below(schema: &Schema, id: NodeId, value: &mut Value) {
    fill(schema, id, value, 0);
}

fn fill(schema: &Schema, id: NodeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let node = schema.node(id);
    match value {
        Value::Object(map) if node.may_be_object() => {
            for (name, id) in &node.properties {
                let property = schema.node(*id);
                let Some(default) = &property.default else { continue };
                if map.get(name).is_none_or(|value| value.is_null() && property.refuses_null()) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (key, value) in map.iter_mut() {
                let Some(id) = node.below(key) else { continue };
                replace_null(schema.node(id), value);
                fill(schema, id, value, depth + 1);
            }
        }
        Value::Array(list) => {
            let Some(id) = node.items else { return };
            for value in list {
                replace_null(schema.node(id), value);
                fill(schema, id, value, depth + 1);
            }
        }
        _ => {}
    }
}

fn replace_null(node: &Node, value: &mut Value) {
    if let Some(default) = node.default.as_ref().filter(|_| value.is_null() && node.refuses_null())
    {
        *value = default.clone();
    }
}

/// Drops `null` from fields that may not be null and have no default. List elements stay: to drop
/// one would move all that follow.
pub(super) fn prune_nulls(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, schema.root, value, 0);
}

/// A list or a map with free keys that holds nothing; an empty struct (`emptyDir: {}`) is a choice.
fn is_empty(node: &Node, value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty() && matches!(node.additional, Additional::Node(_)),
        _ => false,
    }
}

fn drop_nulls(schema: &Schema, id: NodeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let node = schema.node(id);
    match value {
        Value::Object(map) if node.may_be_object() => {
            map.retain(|key, value| {
                let Some(id) = node.below(key) else { return true };
                let child = schema.node(id);
                if value.is_null() {
                    return !child.refuses_null() || child.default.is_some();
                }
                drop_nulls(schema, id, value, depth + 1);
                // Go's `omitempty`: an empty list or map of an optional field says nothing.
                let says_nothing = child.null_is_absent && is_empty(child, value);
                !says_nothing || node.rules.required.contains(key)
            });
        }
        Value::Array(list) => {
            let Some(id) = node.items else { return };
            for value in list {
                drop_nulls(schema, id, value, depth + 1);
            }
        }
        _ => {}
    }
}
