//! What a path leads to as a cell, as upstream's table of custom resources converts it.
//!
//! Upstream shows the first result only, however many there are. Here a text column shows all of
//! them, separated by commas: `.status.reservations[*].address` is meant that way.

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::age::since;

/// The cell of a column of type `kind`; `null` when there is nothing that fits the type.
pub(super) fn of(kind: &str, found: &[&Value], now: Timestamp) -> Value {
    match (kind, found) {
        (_, []) => Value::Null,
        ("string", [_, _, ..]) => {
            let texts: Vec<_> =
                found.iter().filter(|value| !value.is_null()).map(|value| text(value)).collect();
            if texts.is_empty() { Value::Null } else { texts.join(",").into() }
        }
        (_, [first, ..]) => one(kind, first, now),
    }
}

fn one(kind: &str, value: &Value, now: Timestamp) -> Value {
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
