//! Pruning: what the schema does not know, is not kept.

use serde_json::Value;

use super::node::{Additional, NodeId, Type};
use super::trail::Trail;
use super::{MAX_DEPTH, Schema};

/// Removes unknown fields of a whole object; returns where they were.
pub(super) fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { schema, whole_object: true, unknown: Vec::new() };
    pruner.walk(schema.root, value, &Trail::Top, 0);
    pruner.unknown
}

/// Removes unknown fields of a part of an object that is shaped by `id`.
pub(super) fn below(schema: &Schema, id: NodeId, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { schema, whole_object: false, unknown: Vec::new() };
    pruner.walk(id, value, &Trail::Top, 0);
    pruner.unknown
}

struct Pruner<'a> {
    schema: &'a Schema,
    /// The top is a resource, whose type and metadata always stay.
    whole_object: bool,
    unknown: Vec<String>,
}

impl Pruner<'_> {
    fn walk(&mut self, id: NodeId, value: &mut Value, trail: &Trail<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let node = self.schema.node(id);
        match value {
            Value::Object(map) if node.may_be_object() => {
                let mut unknown = Vec::new();
                for (key, value) in map.iter_mut() {
                    let trail = Trail::Key(trail, key);
                    if let Some(id) = node.below(key) {
                        self.walk(id, value, &trail, depth + 1);
                        continue;
                    }
                    let stays = node.extensions.preserve_unknown
                        || node.additional == Additional::Any
                        || (self.whole_object && depth == 0 && is_implicit(key));
                    if !stays {
                        self.unknown.push(trail.path().as_str().to_owned());
                        unknown.push(key.clone());
                    }
                }
                for key in unknown {
                    map.remove(&key);
                }
            }
            Value::Array(list) if matches!(node.kind, None | Some(Type::Array)) => {
                let Some(id) = node.items else { return };
                for (i, value) in list.iter_mut().enumerate() {
                    self.walk(id, value, &Trail::Index(trail, i), depth + 1);
                }
            }
            _ => {}
        }
    }
}

fn is_implicit(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}
