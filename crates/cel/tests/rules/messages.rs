//! What is said when a rule is broken.

use serde_json::{Value, json};

use crate::support::{errors, object, resource};

fn spec(rule: &Value) -> Value {
    let properties = json!({
        "min": {"type": "integer"}, "max": {"type": "integer"}, "name": {"type": "string"},
        "by": {"type": "object", "additionalProperties": {"type": "string"}},
    });
    resource(&object(&properties, &json!([rule])))
}

#[test]
fn by_field() {
    let rule = "self.max >= self.min";
    let long = format!("'{}'", "x".repeat(6000));
    for (more, text) in [
        (json!({}), r#"spec: Invalid value: "object": failed rule: self.max >= self.min"#),
        (json!({"message": " too small "}), r#"spec: Invalid value: "object": too small"#),
        (
            json!({"messageExpression": "'max must be at least ' + string(self.min)"}),
            r#"spec: Invalid value: "object": max must be at least 5"#,
        ),
        (
            json!({"messageExpression": "'%d < %d'.format([self.max, self.min])", "message": "unused"}),
            r#"spec: Invalid value: "object": 1 < 5"#,
        ),
        // What cannot be said falls back to the message, or to the rule.
        (
            json!({"messageExpression": "self.name", "message": "the message"}),
            r#"spec: Invalid value: "object": the message"#,
        ),
        (
            json!({"messageExpression": "' '"}),
            r#"spec: Invalid value: "object": failed rule: self.max >= self.min"#,
        ),
        (
            json!({"messageExpression": "'two\\nlines'", "message": "one line"}),
            r#"spec: Invalid value: "object": one line"#,
        ),
        (
            json!({"messageExpression": long, "message": "short"}),
            r#"spec: Invalid value: "object": short"#,
        ),
        (json!({"fieldPath": ".max", "message": "m"}), r#"spec.max: Invalid value: "object": m"#),
        (
            json!({"fieldPath": "['max']", "message": "m"}),
            r#"spec.max: Invalid value: "object": m"#,
        ),
        (
            json!({"fieldPath": ".by.key", "message": "m"}),
            r#"spec.by[key]: Invalid value: "object": m"#,
        ),
        (json!({"reason": "FieldValueForbidden", "message": "m"}), "spec: Forbidden: m"),
        (
            json!({"reason": "FieldValueRequired", "fieldPath": ".name", "message": "m"}),
            "spec.name: Required value: m",
        ),
        (
            json!({"reason": "FieldValueDuplicate", "message": "m"}),
            r#"spec: Duplicate value: "object""#,
        ),
        (
            json!({"reason": "FieldValueInvalid", "message": "m"}),
            r#"spec: Invalid value: "object": m"#,
        ),
    ] {
        let mut rule = json!({"rule": rule});
        for (key, value) in more.as_object().unwrap() {
            rule[key] = value.clone();
        }
        let value = json!({"spec": {"min": 5, "max": 1}});
        assert_eq!(errors(&spec(&rule), &value, None), [text], "{rule}");
    }
}
