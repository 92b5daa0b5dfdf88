//! One step of a path, and paths.
//!
//! Steps are ordered as upstream orders them (fields, keys, values, indexes), as that order decides
//! in which order conflicts are reported.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Number, Value};

/// How a child is found in what holds it.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a map: `f:name`.
    Field(String),
    /// An element of a keyed list, by its key fields in the order of their names:
    /// `k:{"name":"a"}`.
    Key(Vec<(String, Value)>),
    /// An element of a set, by its value: `v:"a"`.
    Value(Value),
    /// An element of a list, by its place: `i:0`. Read for completeness; we never write it.
    Index(i64),
}

impl PathElement {
    /// A field.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// An element of a keyed list.
    pub fn key(mut fields: Vec<(String, Value)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(fields)
    }

    /// As it stands in FieldsV1.
    pub fn text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let map: Map<String, Value> = fields.iter().cloned().collect();
                format!("k:{}", Value::Object(map))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads FieldsV1. `Ok(None)` for a type of step we do not know: a later version may, and
    /// upstream drops it likewise. `Err` for what cannot be read.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Malformed> {
        let (kind, rest) = match text.as_bytes() {
            [kind, b':', ..] => (*kind, &text[2..]),
            _ => return Err(Malformed),
        };
        Ok(Some(match kind {
            b'f' => Self::field(rest),
            b'k' => match serde_json::from_str(rest) {
                Ok(Value::Object(map)) => Self::key(map.into_iter().collect()),
                _ => return Err(Malformed),
            },
            b'v' => Self::Value(serde_json::from_str(rest).map_err(|_| Malformed)?),
            b'i' => Self::Index(rest.parse().map_err(|_| Malformed)?),
            _ => return Ok(None),
        }))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// FieldsV1 that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Key(a), Self::Key(b)) => in_turn(
                a.iter().map(|(name, value)| (name.as_str(), value)),
                b.iter().map(|(name, value)| (name.as_str(), value)),
            ),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}={value}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Where a field is, as conflicts name it: `.spec.containers[name="a"].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// Whether two values are the same; `1` and `1.0` are.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    compare(a, b) == Ordering::Equal
}

/// A total order over values. Numbers compare as numbers, kinds of values in upstream's order.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            in_turn(a.iter().map(|value| ("", value)), b.iter().map(|value| ("", value)))
        }
        (Value::Object(a), Value::Object(b)) => in_turn(
            a.iter().map(|(name, value)| (name.as_str(), value)),
            b.iter().map(|(name, value)| (name.as_str(), value)),
        ),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn numbers(a: &Number, b: &Number) -> Ordering {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// Compares two sequences of named values; the shorter one comes first.
fn in_turn<'a>(
    mut a: impl Iterator<Item = (&'a str, &'a Value)>,
    mut b: impl Iterator<Item = (&'a str, &'a Value)>,
) -> Ordering {
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => a.0.cmp(b.0).then_with(|| compare(a.1, b.1)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}
