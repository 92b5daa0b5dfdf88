//! Quantities: `500m`, `1Gi`, `2`. Compared, never rewritten.

use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

/// The value in billionths. `None` when the text is no quantity, or too large to compare.
pub fn parse(text: &str) -> Option<i128> {
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let (negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let nanos = decimal(digits)?;
    let scaled = match scale(suffix)? {
        Scale::Times(factor) => nanos.checked_mul(factor)?,
        // Upstream rounds up what is finer than it can hold.
        Scale::Over(divisor) => (nanos + divisor - 1) / divisor,
    };
    Some(if negative { -scaled } else { scaled })
}

enum Scale {
    Times(i128),
    Over(i128),
}

fn scale(suffix: &str) -> Option<Scale> {
    let binary = |power: u32| Some(Scale::Times(1024_i128.pow(power)));
    let decimal = |power: u32| Some(Scale::Times(1000_i128.pow(power)));
    match suffix {
        "" => Some(Scale::Times(1)),
        "n" => Some(Scale::Over(1_000_000_000)),
        "u" => Some(Scale::Over(1_000_000)),
        "m" => Some(Scale::Over(1_000)),
        "k" => decimal(1),
        "M" => decimal(2),
        "G" => decimal(3),
        "T" => decimal(4),
        "P" => decimal(5),
        "E" => decimal(6),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => exponent(suffix.strip_prefix(['e', 'E'])?),
    }
}

fn exponent(text: &str) -> Option<Scale> {
    let power: i32 = text.parse().ok()?;
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    Some(if power < 0 { Scale::Over(factor) } else { Scale::Times(factor) })
}

/// Digits with at most one point, in billionths; finer digits are dropped.
fn decimal(digits: &str) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !plain(whole) || !plain(fraction) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let padded = format!("{fraction:0<9}");
    let fraction: i128 = padded.get(..9)?.parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Turns numbers into texts in a list of resources, and refuses what is no quantity, as upstream
/// does when it decodes the object.
pub fn normalise(kind: &str, resources: Option<&mut Value>) -> ApiResult<()> {
    let Some(map) = resources.and_then(Value::as_object_mut) else { return Ok(()) };
    for value in map.values_mut() {
        if value.is_number() {
            *value = Value::String(value.to_string());
        }
        if value.as_str().and_then(parse).is_none() {
            return Err(ApiError::bad_request(format!(
                "{kind} in version \"v1\" cannot be handled as a {kind}: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_compare() {
        let equal = [
            ("1", "1000m"),
            ("0.5", "500m"),
            ("1Ki", "1024"),
            ("1e3", "1k"),
            ("2E", "2e18"),
            (".5", "500m"),
        ];
        for (a, b) in equal {
            assert_eq!(parse(a).expect(a), parse(b).expect(b), "{a} {b}");
        }
        assert!(parse("1Gi") > parse("1G"));
        assert!(parse("-1") < parse("0"));
        for bad in ["", "x", "1Q", "1..2", "--1", "1 Gi", "."] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn numbers_become_texts() {
        let mut resources = serde_json::json!({"cpu": 2, "memory": "1Gi"});
        normalise("Pod", Some(&mut resources)).expect("quantities");
        assert_eq!(resources["cpu"], "2");
        resources["memory"] = "lots".into();
        let error = normalise("Pod", Some(&mut resources)).expect_err("no quantity");
        assert_eq!(error.code, 400);
    }
}
