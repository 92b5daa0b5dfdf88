//! Reading and writing untyped values without surprises.

use serde_json::{Map, Value};

/// A text, or the empty one.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of a list, or none.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The elements of a list of texts; others are passed over.
pub fn texts(value: &Value) -> impl Iterator<Item = &str> {
    items(value).iter().filter_map(Value::as_str)
}

/// Whether there is nothing: absent, or an empty text, list or map.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The map at a path, made where it is absent. `None` when something else is in the way.
pub fn map_at<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut here = value;
    for field in path {
        here = here.as_object_mut()?.entry(*field).or_insert_with(empty);
        if here.is_null() {
            *here = empty();
        }
    }
    here.as_object_mut()
}

/// The elements of the list at a path, or none.
pub fn items_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    let mut here = value;
    for field in path {
        match here.get_mut(*field) {
            Some(next) => here = next,
            None => return &mut [],
        }
    }
    here.as_array_mut().map_or(&mut [], Vec::as_mut_slice)
}

/// Sets a field of a map; anything else is left alone.
pub fn set(value: &mut Value, field: &str, new: impl Into<Value>) {
    if let Some(map) = value.as_object_mut() {
        map.insert(field.to_owned(), new.into());
    }
}

/// Sets a field that is absent or empty.
pub fn set_default(map: &mut Map<String, Value>, field: &str, default: impl Into<Value>) {
    match map.get(field) {
        Some(Value::Null) | None => {}
        Some(Value::String(text)) if text.is_empty() => {}
        Some(_) => return,
    }
    map.insert(field.to_owned(), default.into());
}

fn empty() -> Value {
    Value::Object(Map::new())
}
