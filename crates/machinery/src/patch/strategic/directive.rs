//! The directives of a strategic merge patch.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::bad;
use crate::field::FieldPath;
use crate::status::ApiResult;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
pub(super) const SET_ORDER: &str = "$setElementOrder/";

/// Whether a key is a directive, not a field.
pub(super) fn is(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || key.starts_with(DELETE_FROM) || key.starts_with(SET_ORDER)
}

/// What `$patch` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patching {
    Merge,
    Replace,
    Delete,
}

impl Patching {
    pub(super) fn of(patch: &Map<String, Value>, at: &FieldPath) -> ApiResult<Self> {
        match patch.get(PATCH) {
            None => Ok(Self::Merge),
            Some(Value::String(word)) if word == "merge" => Ok(Self::Merge),
            Some(Value::String(word)) if word == "replace" => Ok(Self::Replace),
            Some(Value::String(word)) if word == "delete" => Ok(Self::Delete),
            Some(other) => {
                let map = Value::Object(patch.clone());
                Err(bad(at, format!("unknown patch type: {other} in map: {map}")))
            }
        }
    }
}

/// `$retainKeys`: all other keys go. What the patch sets must be among those that stay.
pub(super) fn retain_keys(
    document: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    at: &FieldPath,
) -> ApiResult<()> {
    let Some(keep) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(keep) = keep else {
        return Err(bad(at, "invalid patch format of retainKeys"));
    };
    let keep: HashSet<&str> = keep.iter().filter_map(Value::as_str).collect();
    let keeps = |key: &str| keep.contains(key);
    for (key, value) in patch {
        if !value.is_null() && !is(key) && !keeps(key) {
            return Err(bad(&at.child(key), "invalid patch format of retainKeys"));
        }
    }
    document.retain(|key, _| keeps(key));
    Ok(())
}

/// `$deleteFromPrimitiveList`: these elements go.
pub(super) fn delete_from(
    document: &mut Map<String, Value>,
    field: &str,
    gone: &Value,
    at: &FieldPath,
) -> ApiResult<()> {
    let Value::Array(gone) = gone else {
        return Err(bad(at, "invalid patch format of primitive list"));
    };
    let gone: HashSet<String> = gone.iter().map(ToString::to_string).collect();
    match document.get_mut(field) {
        Some(Value::Array(list)) => list.retain(|value| !gone.contains(&value.to_string())),
        Some(_) => return Err(bad(at, "elements can only be deleted from a list")),
        None => {}
    }
    Ok(())
}

/// A list taken over whole, with directives removed wherever they stand in it.
pub(super) fn stripped_list(list: &[Value]) -> Value {
    list.iter().filter(|value| value.get(PATCH).is_none()).map(stripped).collect()
}

fn stripped(value: &Value) -> Value {
    match value {
        Value::Array(list) => stripped_list(list),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !is(key))
            .map(|(key, value)| (key.clone(), stripped(value)))
            .collect(),
        scalar => scalar.clone(),
    }
}
