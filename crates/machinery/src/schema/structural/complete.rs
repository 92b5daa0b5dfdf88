//! Every field a value validation speaks of must also be specified outside of value validations.
//!
//! As upstream has it, the search starts at the root's own `allOf`, `anyOf`, `oneOf` and `not` and
//! goes down from there; those of inner schemas are not compared. Being stricter would refuse CRDs
//! that real clusters accept.

use serde_json::{Map, Value};

use super::super::MAX_DEPTH;
use crate::field::{FieldError, FieldPath};

/// Everything that is missing.
pub(super) fn run(schema: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Value::Object(schema) = schema {
        junctors(schema, schema, path, path, 0, &mut errors);
    }
    errors
}

/// `v` judges what `s` shapes.
fn junctors(
    v: &Map<String, Value>,
    s: &Map<String, Value>,
    s_path: &FieldPath,
    v_path: &FieldPath,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    if depth > MAX_DEPTH {
        return; // The other checks have complained about it.
    }
    if let Some(not) = v.get("not") {
        nested(not, Some(s), s_path, &v_path.child("not"), depth, errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let list = v.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, choice) in list.iter().enumerate() {
            nested(choice, Some(s), s_path, &v_path.child(key).index(i), depth, errors);
        }
    }
}

fn nested(
    v: &Value,
    s: Option<&Map<String, Value>>,
    s_path: &FieldPath,
    v_path: &FieldPath,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    let Value::Object(v) = v else { return };
    let Some(s) = s else {
        errors.push(FieldError::required(s_path, format!("because it is defined in {v_path}")));
        return;
    };
    junctors(v, s, s_path, v_path, depth + 1, errors);
    if let Some(items) = v.get("items") {
        let inside = s.get("items").and_then(Value::as_object);
        let (s_path, v_path) = (s_path.child("items"), v_path.child("items"));
        nested(items, inside, &s_path, &v_path, depth + 1, errors);
    }
    for (name, property) in v.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let inside = s.get("properties").and_then(|p| p.get(name)).and_then(Value::as_object);
        let s_path = s_path.child("properties").key(name);
        let v_path = v_path.child("properties").key(name);
        nested(property, inside, &s_path, &v_path, depth + 1, errors);
    }
}
