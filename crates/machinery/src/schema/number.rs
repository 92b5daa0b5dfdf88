//! Comparing JSON numbers without losing digits.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The number as an integer, also when it is written `1.0`.
pub(super) fn integer(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Some(value.into());
    }
    let value = number.as_f64()?;
    // Beyond 2^53 a float no longer names one integer.
    #[allow(clippy::cast_possible_truncation)]
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i128)
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Which of two numbers is larger; `None` only for what is not a number.
pub(super) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => float(left).partial_cmp(&float(right)),
    }
}

/// Whether `value` is `factor` times some integer.
pub(super) fn is_multiple(value: &Number, factor: &Number) -> bool {
    match (integer(value), integer(factor)) {
        (_, Some(0)) => false,
        (Some(value), Some(factor)) => value % factor == 0,
        _ => {
            // Decimal fractions are not exact in binary (0.3 / 0.1), so allow a hair's breadth.
            let quotient = float(value) / float(factor);
            (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
        }
    }
}

/// Whether two values are the same, with numbers compared by value.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(left, right) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, l)| right.get(key).is_some_and(|r| same(l, r)))
        }
        _ => left == right,
    }
}
