//! The value of a path as a cell, as upstream's table of custom resources converts it.

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::age::since;

/// The cell of a column of type `kind`; `null` when the value does not fit the type.
pub(super) fn of(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("string", value) => text(value).into(),
        ("integer", Value::Number(number)) => integer(number),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(timestamp)) => since(timestamp, now).into(),
        _ => Value::Null,
    }
}

/// Texts stand without quotes, everything else as compact JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Fractions are cut off, as Go's conversion does.
fn integer(number: &Number) -> Value {
    if number.is_i64() || number.is_u64() {
        return Value::Number(number.clone());
    }
    #[expect(clippy::cast_possible_truncation, reason = "cutting off is the purpose")]
    number.as_f64().map_or(Value::Null, |float| Value::from(float as i64))
}
