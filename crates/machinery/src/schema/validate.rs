//! Validation: everything wrong with a value, in upstream's words.
//!
//! The walk goes down value, schema and (when there is one) the old value together. Where old and
//! new are equal nothing is looked at: that is all there is to ratcheting.

mod choices;
mod lists;
mod rules;

use serde_json::{Map, Value};

use super::node::{Node, NodeId, Type};
use super::trail::Trail;
use super::{MAX_DEPTH, Schema, number};
use crate::field::{FieldError, Problem};

/// Judges a whole object.
pub(super) fn run(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut judge = Judge { schema, types_only: false, errors: Vec::new() };
    judge.value(schema.root, value, old, &Trail::Top, 0);
    judge.errors
}

/// Judges the types in a whole object.
pub(super) fn types(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut judge = Judge { schema, types_only: true, errors: Vec::new() };
    judge.value(schema.root, value, None, &Trail::Top, 0);
    judge.errors
}

/// Judges a part of an object that is shaped by `id`.
pub(super) fn below(schema: &Schema, id: NodeId, value: &Value) -> Vec<FieldError> {
    let mut judge = Judge { schema, types_only: false, errors: Vec::new() };
    judge.value(id, value, None, &Trail::Top, 0);
    judge.errors
}

struct Judge<'s> {
    schema: &'s Schema,
    types_only: bool,
    errors: Vec<FieldError>,
}

impl<'s> Judge<'s> {
    fn value(
        &mut self,
        id: NodeId,
        value: &Value,
        old: Option<&Value>,
        trail: &Trail<'_>,
        depth: usize,
    ) {
        if old == Some(value) {
            return;
        }
        if depth > MAX_DEPTH {
            let why = format!("must not be nested deeper than {MAX_DEPTH} levels");
            self.errors.push(FieldError::invalid(&trail.path(), "", why));
            return;
        }
        let node = self.schema.node(id);
        if let Some(expected) = wrong_type(node, value) {
            let path = trail.path();
            let actual = Type::name_of(value);
            let detail =
                format!("{} in body must be of type {expected}: {actual:?}", path.as_str());
            self.errors.push(FieldError::new(Problem::TypeInvalid, &path, actual, detail));
            return;
        }
        if !self.types_only {
            self.allowed(node, value, trail);
        }
        match value {
            Value::Null => return,
            Value::Object(map) => self.object(node, map, old, trail, depth),
            Value::Array(list) => self.list(node, list, old, trail, depth),
            Value::String(text) if !self.types_only => self.text(node, text, trail),
            Value::Number(number) if !self.types_only => self.number(node, number, trail),
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {}
        }
        if !self.types_only {
            self.choices(node, value, old, trail, depth);
        }
    }

    fn object(
        &mut self,
        node: &'s Node,
        map: &Map<String, Value>,
        old: Option<&Value>,
        trail: &Trail<'_>,
        depth: usize,
    ) {
        if !self.types_only {
            self.property_count(node, map, trail);
            for name in &node.rules.required {
                if !map.contains_key(name) {
                    self.errors.push(FieldError::required(&trail.path().child(name), ""));
                }
            }
            if node.extensions.embedded_resource {
                self.embedded(map, trail);
            }
        }
        let old = old.and_then(Value::as_object);
        for (key, value) in map {
            if let Some(id) = node.below(key) {
                let old = old.and_then(|old| old.get(key));
                self.value(id, value, old, &Trail::Key(trail, key), depth + 1);
            }
        }
    }

    /// An object inside an object must say what it is.
    fn embedded(&mut self, map: &Map<String, Value>, trail: &Trail<'_>) {
        for name in ["apiVersion", "kind"] {
            if map.get(name).is_none_or(|value| value == "") {
                let path = trail.path().child(name);
                self.errors.push(FieldError::required(&path, "must not be empty"));
            }
        }
    }

    /// Judges `value` on its own and returns the errors instead of keeping them.
    fn trial(&self, id: NodeId, value: &Value, trail: &Trail<'_>, depth: usize) -> Vec<FieldError> {
        let mut judge = Judge { schema: self.schema, types_only: false, errors: Vec::new() };
        judge.value(id, value, None, trail, depth);
        judge.errors
    }
}

/// The type a node asks for, when the value has another one.
fn wrong_type(node: &Node, value: &Value) -> Option<&'static str> {
    if value.is_null() && (node.nullable || node.null_is_absent) {
        return None;
    }
    if node.quantity {
        return (!value.is_string() && !value.is_number()).then_some("string");
    }
    let is_integer = || matches!(value, Value::Number(n) if number::integer(n).is_some());
    if node.extensions.int_or_string {
        return (!value.is_string() && !is_integer()).then_some("integer,string");
    }
    let kind = node.kind?;
    let fits = match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Integer => is_integer(),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
    };
    (!fits).then_some(kind.name())
}
