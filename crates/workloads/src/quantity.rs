//! Amounts of resources.

/// Thousandths of a unit, or `None` if it is no quantity.
pub fn milli(text: &str) -> Option<i128> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(_, c)| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-'))
        .map_or(text.len(), |(at, _)| at);
    let (number, suffix) = text.split_at(end);
    let (numerator, denominator): (i128, i128) = match suffix {
        "" => (1, 1),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => exponent(suffix)?,
    };
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.get(..fraction.len().min(9))?;
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(numerator)?.checked_mul(1000)?;
    let divisor = scale.checked_mul(denominator)?;
    // Upstream rounds up.
    let amount = scaled.checked_add(divisor - 1)?.checked_div(divisor)?;
    Some(if negative { -amount } else { amount })
}

fn exponent(suffix: &str) -> Option<(i128, i128)> {
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let factor = 10_i128.checked_pow(power.unsigned_abs().min(30))?;
    Some(if power < 0 { (1, factor) } else { (factor, 1) })
}

#[cfg(test)]
mod tests {
    use super::milli;

    #[test]
    fn quantities() {
        for (text, wanted) in [
            ("1", Some(1000)),
            ("100m", Some(100)),
            ("0.5", Some(500)),
            (".5", Some(500)),
            ("1.5Gi", Some(1_610_612_736_000)),
            ("1e3", Some(1_000_000)),
            ("1E", Some(1_000_000_000_000_000_000_000)),
            ("-1", Some(-1000)),
            ("1n", Some(1)),
            ("", None),
            ("x", None),
            ("1x", None),
            ("1.2.3", None),
        ] {
            assert_eq!(milli(text), wanted, "{text:?}");
        }
    }
}
