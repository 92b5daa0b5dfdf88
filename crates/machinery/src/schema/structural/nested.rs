//! Value validations: what stands below `allOf`, `anyOf`, `oneOf` and `not` may judge a value but
//! not shape it.

use serde_json::{Map, Value, json};

use super::check::Check;
use crate::field::{FieldError, FieldPath};

/// Checks the value validations of a structural schema.
pub(super) fn value_validations(
    check: &mut Check,
    s: &Map<String, Value>,
    path: &FieldPath,
    depth: usize,
) {
    // `x-kubernetes-int-or-string` is usually accompanied by types in an `anyOf`, at the top or as
    // the first of an `allOf`. That is the one place types are allowed in.
    let skip_any = is_int_or_string(s.get("anyOf"));
    let skip_all_any =
        s.get("allOf").and_then(|all| all.get(0)).is_some_and(|s| is_int_or_string(s.get("anyOf")));
    junctors(check, s, path, depth, skip_any, skip_all_any);
}

fn is_int_or_string(any_of: Option<&Value>) -> bool {
    any_of.is_some_and(|any_of| *any_of == json!([{"type": "integer"}, {"type": "string"}]))
}

fn junctors(
    check: &mut Check,
    s: &Map<String, Value>,
    path: &FieldPath,
    depth: usize,
    skip_any: bool,
    skip_first_all_any: bool,
) {
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skip_any {
            continue;
        }
        let list = s.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, schema) in list.iter().enumerate() {
            let skip = key == "allOf" && i == 0 && skip_first_all_any;
            nested(check, schema, &path.child(key).index(i), depth + 1, skip);
        }
    }
    if let Some(not) = s.get("not") {
        nested(check, not, &path.child("not"), depth + 1, false);
    }
}

fn nested(check: &mut Check, schema: &Value, path: &FieldPath, depth: usize, skip_any: bool) {
    let Some(s) = check.map(schema, path, depth) else { return };
    check.keywords(s, path);
    junctors(check, s, path, depth, skip_any, false);
    if let Some(items) = s.get("items").filter(|items| !items.is_array()) {
        nested(check, items, &path.child("items"), depth + 1, false);
    }
    for (name, property) in s.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = path.child("properties").key(name);
        nested(check, property, &path, depth + 1, false);
        if name == "metadata" {
            let why = "must not be specified in a nested context";
            check.errors.push(FieldError::forbidden(&path, why));
        }
    }
    for (key, why) in SHAPING {
        if s.get(*key).is_some_and(says_something) {
            check.forbid(path, key, why);
        }
    }
}

/// Keywords that shape a value, and what upstream says about them here.
const SHAPING: &[(&str, &str)] = &[
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("externalDocs", "must be undefined to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

/// `nullable: false` or an empty text is the same as not saying it.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Object(_) => true,
    }
}
