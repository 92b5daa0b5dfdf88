//! Walking a path through a value.

use serde_json::Value;

use super::{Step, filter};

/// Everything `steps` lead to from `root`.
pub(super) fn walk<'a>(steps: &[Step], root: &'a Value) -> Vec<&'a Value> {
    let mut reached = vec![root];
    for step in steps {
        let mut next = Vec::new();
        for value in reached {
            take(step, value, &mut next);
        }
        reached = next;
    }
    reached
}

fn take<'a>(step: &Step, value: &'a Value, out: &mut Vec<&'a Value>) {
    match step {
        Step::Field(name) => out.extend(value.get(name)),
        Step::Wildcard => children(value, out),
        Step::Index(index) => {
            let list = elements(value);
            out.extend(position(*index, list.len()).and_then(|at| list.get(at)));
        }
        Step::Slice(start, end) => out.extend(slice(elements(value), *start, *end)),
        Step::Union(choices) => choices.iter().for_each(|choice| take(choice, value, out)),
        Step::Filter(condition) => {
            out.extend(elements(value).iter().filter(|element| filter::holds(condition, element)));
        }
        Step::Recursive => descend(value, out),
    }
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn children<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    match value {
        Value::Array(list) => out.extend(list),
        Value::Object(map) => out.extend(map.values()),
        _ => {}
    }
}

fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    let mut below = Vec::new();
    children(value, &mut below);
    if !below.is_empty() {
        out.push(value);
        for child in below {
            descend(child, out);
        }
    }
}

/// Where an index points in a list of `length`; `None` before its beginning.
fn position(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index.unsigned_abs()) {
        Ok(distance) if index < 0 => length.checked_sub(distance),
        Ok(distance) => Some(distance),
        Err(_) => None,
    }
}

/// Bounds beyond the list are moved to its ends.
fn slice(list: &[Value], start: Option<i64>, end: Option<i64>) -> &[Value] {
    let clip = |bound: i64| {
        position(bound, list.len())
            .unwrap_or(if bound < 0 { 0 } else { list.len() })
            .min(list.len())
    };
    let (start, end) = (start.map_or(0, clip), end.map_or(list.len(), clip));
    list.get(start..end).unwrap_or_default()
}
