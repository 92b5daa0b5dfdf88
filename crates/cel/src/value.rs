//! From JSON to CEL, with the types the schema gives.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use chrono::{DateTime, NaiveDate, TimeDelta};
use kube_cel::cel;
use landbridge_machinery::schema::NodeRef;
use serde_json::{Map, Number, Value};

use crate::names;

/// A value at a place the schema knows.
pub fn typed(value: &Value, node: NodeRef<'_>) -> cel::Value {
    match value {
        Value::Number(number) if node.type_name() == Some("number") => {
            cel::Value::Float(number.as_f64().unwrap_or(f64::NAN))
        }
        Value::String(text) if !node.is_int_or_string() => string(text, node.format()),
        Value::Array(list) => match node.items() {
            Some(items) => {
                cel::Value::List(Arc::new(list.iter().map(|v| typed(v, items)).collect()))
            }
            None => plain(value),
        },
        Value::Object(fields) => object(fields, node),
        _ => plain(value),
    }
}

fn object(fields: &Map<String, Value>, node: NodeRef<'_>) -> cel::Value {
    if let Some(values) = node.additional() {
        // Keys of maps are data and are seen as they are.
        return map(fields.iter().map(|(key, value)| (key.clone(), typed(value, values))));
    }
    if node.takes_any_key() {
        return map(fields.iter().map(|(key, value)| (key.clone(), plain(value))));
    }
    map(fields.iter().filter_map(|(name, value)| {
        Some((names::escape(name)?, typed(value, node.property(name)?)))
    }))
}

fn map(entries: impl Iterator<Item = (String, cel::Value)>) -> cel::Value {
    let map: HashMap<_, _> =
        entries.map(|(key, value)| (cel::objects::Key::String(Arc::new(key)), value)).collect();
    cel::Value::Map(cel::objects::Map { map: Arc::new(map) })
}

/// A value nothing is known about.
fn plain(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => integer(number),
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(list) => cel::Value::List(Arc::new(list.iter().map(plain).collect())),
        Value::Object(fields) => map(fields.iter().map(|(key, value)| (key.clone(), plain(value)))),
    }
}

/// `3.0` is an integer in JSON, so it is one here.
#[allow(clippy::cast_possible_truncation)] // within the range of i64, and without a fraction
fn integer(number: &Number) -> cel::Value {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if let Some(number) = number.as_i64() {
        return cel::Value::Int(number);
    }
    match number.as_f64() {
        Some(number) if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) => {
            cel::Value::Int(number as i64)
        }
        number => cel::Value::Float(number.unwrap_or(f64::NAN)),
    }
}

/// Texts of some formats have types of their own.
fn string(text: &str, format: Option<&str>) -> cel::Value {
    let special = match format {
        Some("date-time") => DateTime::parse_from_rfc3339(text).ok().map(cel::Value::Timestamp),
        Some("date") => NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .ok()
            .and_then(|date| date.and_hms_opt(0, 0, 0))
            .map(|time| cel::Value::Timestamp(time.and_utc().fixed_offset())),
        Some("duration") => duration(text).map(cel::Value::Duration),
        Some("byte") => base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()
            .map(|bytes| cel::Value::Bytes(Arc::new(bytes))),
        _ => None,
    };
    special.unwrap_or_else(|| cel::Value::String(Arc::new(text.to_owned())))
}

/// A duration as Go writes it: `1h30m`, `-1.5s`.
#[allow(clippy::cast_possible_truncation)] // a float as large as that saturates
fn duration(text: &str) -> Option<TimeDelta> {
    let (mut rest, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1.0),
        None => (text.strip_prefix('+').unwrap_or(text), 1.0),
    };
    if rest == "0" {
        return Some(TimeDelta::zero());
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let units = [
            ("ms", 1e6),
            ("us", 1e3),
            ("µs", 1e3),
            ("μs", 1e3),
            ("ns", 1.0),
            ("h", 3.6e12),
            ("m", 6e10),
            ("s", 1e9),
        ];
        let (name, unit) = units.into_iter().find(|(name, _)| rest.starts_with(name))?;
        nanos += number * unit;
        rest = &rest[name.len()..];
    }
    (!text.is_empty()).then(|| TimeDelta::nanoseconds((sign * nanos) as i64))
}

/// About how many bytes a value takes.
pub fn size(value: &Value) -> usize {
    const EACH: usize = 16;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, v)| key.len() + size(v)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
