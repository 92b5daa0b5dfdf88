//! What a scalar means.
//!
//! kubectl turns YAML into JSON with go-yaml's version 2, so a plain `on` is `true`, `010` is eight and
//! `1_000` is a thousand. A tool that read them otherwise would check something else than what
//! gets applied. Timestamps stay strings there, and numbers in base 60 are strings, as here.

use std::borrow::Cow;

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

/// The JSON value of a scalar. `written` is false for a value that is not there at all (`key:`).
pub(super) fn resolve(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
    written: bool,
) -> Value {
    if !written {
        return Value::Null;
    }
    match tag.and_then(Tag::core_suffix) {
        Some("null") => return Value::Null,
        Some("int" | "float" | "bool") => {
            return plain(&text).unwrap_or_else(|| Value::String(text.into_owned()));
        }
        _ => {}
    }
    if !matches!(style, ScalarStyle::Plain) || tag.is_some() {
        return Value::String(text.into_owned());
    }
    if matches!(&*text, "..." | "…") {
        return Value::Null;
    }
    plain(&text).unwrap_or_else(|| Value::String(text.into_owned()))
}

/// The meaning of a plain scalar, if it is not simply a text.
fn plain(text: &str) -> Option<Value> {
    // Most scalars are names; one look at the first byte settles it.
    match text.as_bytes().first()? {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text).map(Value::Number),
        b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'o' | b'O' => word(text),
        _ => None,
    }
}

fn word(text: &str) -> Option<Value> {
    match text {
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" | "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            Some(Value::Bool(true))
        }
        "false" | "False" | "FALSE" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            Some(Value::Bool(false))
        }
        _ => None,
    }
}

fn number(text: &str) -> Option<Number> {
    // Addresses, dates and identifiers begin with digits too.
    if text.bytes().any(|b| {
        !(b.is_ascii_hexdigit()
            || matches!(b, b'+' | b'-' | b'.' | b'_' | b'x' | b'o' | b'X' | b'O'))
    }) {
        return None;
    }
    let digits = text.replace('_', "");
    integer(&digits)
        .or_else(|| if is_float(&digits) { Number::from_f64(digits.parse().ok()?) } else { None })
}

fn integer(text: &str) -> Option<Number> {
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (radix, digits) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, magnitude.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, magnitude.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, magnitude.get(2..)?),
        [b'0', _, ..] => (8, magnitude.get(1..)?),
        _ => (10, magnitude),
    };
    // `from_str_radix` would accept a second sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let value = if negative { -value } else { value };
    i64::try_from(value).map(Number::from).or_else(|_| u64::try_from(value).map(Number::from)).ok()
}

/// go-yaml's shape of a float: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", after)) => digits(after),
        Some((before, after)) => digits(before) && (after.is_empty() || digits(after)),
        None => digits(mantissa),
    };
    mantissa_ok
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_as_kubectl_reads_them() {
        for (text, value) in [
            ("20", json!(20)),
            ("-1", json!(-1)),
            ("+7", json!(7)),
            ("010", json!(8)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("0o17", json!(15)),
            ("1_000", json!(1000)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("089", json!(89.0)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("12e3", json!(12000.0)),
            ("1e400", json!("1e400")),
            ("true", json!(true)),
            ("on", json!(true)),
            ("No", json!(false)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("null", json!(null)),
            ("no", json!(false)),
            ("n", json!(false)),
            ("OFF", json!(false)),
            ("Yes", json!(true)),
            ("False", json!(false)),
            ("172.17.0.10", json!("172.17.0.10")),
            ("10.0", json!(10.0)),
            ("10.0.0.0/24", json!("10.0.0.0/24")),
            ("12:34:56", json!("12:34:56")),
            ("2023-05-25", json!("2023-05-25")),
            ("321ff535-7d59", json!("321ff535-7d59")),
            ("+-1", json!("+-1")),
            ("-", json!("-")),
            ("0x", json!("0x")),
            (".", json!(".")),
            (".inf", json!(".inf")),
            ("yesterday", json!("yesterday")),
            ("...", json!(null)),
        ] {
            assert_eq!(
                resolve(Cow::Borrowed(text), ScalarStyle::Plain, None, true),
                value,
                "{text}"
            );
        }
    }

    #[test]
    fn quotes_and_tags_decide() {
        let quoted = |style| resolve(Cow::Borrowed("20"), style, None, true);
        assert_eq!(quoted(ScalarStyle::SingleQuoted), json!("20"));
        assert_eq!(quoted(ScalarStyle::Literal), json!("20"));
        assert_eq!(resolve(Cow::Borrowed("~"), ScalarStyle::Plain, None, false), json!(null));
        let tagged = |suffix| {
            resolve(
                Cow::Borrowed("20"),
                ScalarStyle::Plain,
                Some(&Tag::new("tag:yaml.org,2002:", suffix)),
                true,
            )
        };
        assert_eq!(tagged("str"), json!("20"));
        assert_eq!(tagged("int"), json!(20));
    }
}
