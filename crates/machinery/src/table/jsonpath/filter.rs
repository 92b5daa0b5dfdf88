//! Conditions: which elements `[?(…)]` keeps.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Comparison, Filter, Operand, eval};

/// Whether an element satisfies the condition.
pub(super) fn holds(condition: &Filter, element: &Value) -> bool {
    match condition {
        Filter::Exists(operand) => !values(operand, element).is_empty(),
        Filter::Compare(left, comparison, right) => {
            let (left, right) = (values(left, element), values(right, element));
            match (left.as_slice(), right.as_slice()) {
                ([left], [right]) => compare(left, *comparison, right),
                // Nothing, or several things at once, compare with nothing.
                _ => false,
            }
        }
    }
}

fn values<'a>(operand: &'a Operand, element: &'a Value) -> Vec<&'a Value> {
    match operand {
        Operand::Path(steps) => eval::walk(steps, element),
        Operand::Literal(value) => vec![value],
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => numbers(left, right),
        (Value::Bool(left), Value::Bool(right)) => {
            // Booleans are equal or not, but none is less than the other.
            let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
            equality.then(|| left.cmp(right))
        }
        _ => None,
    };
    order.is_some_and(|order| match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

/// Integers exactly, everything else as floating point.
fn numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
