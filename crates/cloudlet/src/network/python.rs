//! Values as Python prints them: Neutron's messages show what was sent in its own words.

use serde_json::Value;

/// `str(value)`: a text as it is, everything else as [`repr`] has it.
pub fn str(value: &Value) -> String {
    value.as_str().map_or_else(|| repr(value), str::to_owned)
}

/// `repr(value)`.
pub fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let members =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), repr(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `repr` of a set of texts, in the order given: Python's own has none.
pub fn set(items: &[&str]) -> String {
    format!("{{{}}}", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

/// `repr` of a tuple of texts.
pub fn tuple(items: &[&str]) -> String {
    let listed = items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", ");
    if items.len() == 1 { format!("({listed},)") } else { format!("({listed})") }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// `bool_from_string(value, strict=True)`.
pub fn truth(value: &Value) -> Option<bool> {
    let text = match value {
        Value::Bool(flag) => return Some(*flag),
        other => str(other).trim().to_lowercase(),
    };
    match text.as_str() {
        "1" | "t" | "true" | "on" | "y" | "yes" => Some(true),
        "0" | "f" | "false" | "off" | "n" | "no" => Some(false),
        _ => None,
    }
}

/// `int(value)`.
pub fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(flag) => Some(i64::from(*flag)),
        #[allow(clippy::cast_possible_truncation)] // towards zero, as Python does
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|f| f.abs() < 9e18).map(|float| float as i64)),
        Value::String(text) => text.trim().replace('_', "").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_as_python_prints_them() {
        for (value, shown) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!("a"), "a"),
            (json!(1.5), "1.5"),
            (json!(["a", 1, null]), "['a', 1, None]"),
            (json!({"a": "it's"}), r#"{'a': "it's"}"#),
            (json!(["a\n'\""]), r#"['a\n\'"']"#),
        ] {
            assert_eq!(str(&value), shown);
        }
        assert_eq!(
            (truth(&json!("Yes")), truth(&json!(0)), truth(&json!("x"))),
            (Some(true), Some(false), None)
        );
        assert_eq!(
            (int(&json!("12")), int(&json!(true)), int(&json!("1.5"))),
            (Some(12), Some(1), None)
        );
        assert_eq!(int(&json!(1e300)), None);
    }
}
