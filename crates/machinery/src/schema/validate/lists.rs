//! Lists: sizes, elements, and those that are sets or maps at heart.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::Judge;
use crate::field::FieldError;
use crate::schema::Schema;
use crate::schema::node::Node;
use crate::schema::trail::Trail;

impl<'s> Judge<'s> {
    pub(super) fn list(
        &mut self,
        node: &'s Node,
        list: &[Value],
        old: Option<&Value>,
        trail: &Trail<'_>,
        depth: usize,
    ) {
        if !self.types_only {
            self.item_count(node, list, trail);
            if node.rules.unique_items && has_duplicates(list) {
                self.broken(trail, "", "shouldn't contain duplicates");
            }
        }
        let keyed = node.extensions.list_type.as_deref() == Some("map");
        // Only elements with keys can be recognised in the old list; places alone mean nothing.
        let old = match old {
            Some(Value::Array(old)) if keyed => by_keys(self.schema, node, old),
            _ => HashMap::new(),
        };
        for (i, value) in list.iter().enumerate() {
            let Some(id) = node.items else { break };
            let old = if old.is_empty() {
                None
            } else {
                keys_of(self.schema, node, value).and_then(|keys| old.get(&keys.to_string()))
            };
            self.value(id, value, old.copied(), &Trail::Index(trail, i), depth + 1);
        }
        if !self.types_only {
            self.duplicates(node, list, trail);
        }
    }

    fn duplicates(&mut self, node: &Node, list: &[Value], trail: &Trail<'_>) {
        let identity = |value: &Value| match node.extensions.list_type.as_deref() {
            Some("set") => Some(value.clone()),
            Some("map") => keys_of(self.schema, node, value),
            _ => None,
        };
        let mut seen = HashSet::new();
        let mut errors = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let Some(identity) = identity(value) else { continue };
            if !seen.insert(identity.to_string()) {
                errors.push(FieldError::duplicate(&trail.path().index(i), identity));
            }
        }
        self.errors.append(&mut errors);
    }
}

/// The elements of a keyed list by their keys; the first of equals counts.
fn by_keys<'a>(schema: &Schema, node: &Node, list: &'a [Value]) -> HashMap<String, &'a Value> {
    let mut found = HashMap::with_capacity(list.len());
    for value in list {
        if let Some(keys) = keys_of(schema, node, value) {
            found.entry(keys.to_string()).or_insert(value);
        }
    }
    found
}

/// The keys of an element as an object, with defaults for those it leaves out.
fn keys_of(schema: &Schema, node: &Node, element: &Value) -> Option<Value> {
    let element = element.as_object()?;
    let items = node.items.map(|id| schema.node(id));
    let default = |key: &String| {
        let id = items?.properties.get(key)?;
        schema.node(*id).default.as_ref()
    };
    let mut keys = Map::new();
    for key in &node.extensions.list_map_keys {
        if let Some(value) = element.get(key).or_else(|| default(key)) {
            keys.insert(key.clone(), value.clone());
        }
    }
    Some(Value::Object(keys))
}

fn has_duplicates(list: &[Value]) -> bool {
    let mut seen = HashSet::new();
    !list.iter().all(|value| seen.insert(value.to_string()))
}
