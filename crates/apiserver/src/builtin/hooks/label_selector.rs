//! Label selectors as objects hold them: `matchLabels` and `matchExpressions`.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::names;
use serde_json::Value;

use super::value::{items, text, texts};

/// Whether the selector has no requirement, so that it selects everything.
pub fn is_empty(selector: &Value) -> bool {
    super::value::is_empty(&selector["matchLabels"])
        && super::value::is_empty(&selector["matchExpressions"])
}

/// Whether it selects an object with these labels.
pub fn matches(selector: &Value, labels: &Value) -> bool {
    let equal = selector["matchLabels"]
        .as_object()
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    equal && items(&selector["matchExpressions"]).iter().all(|e| expression(e, labels))
}

fn expression(expression: &Value, labels: &Value) -> bool {
    let label = labels.get(text(&expression["key"])).and_then(Value::as_str);
    let listed = label.is_some_and(|label| texts(&expression["values"]).any(|v| v == label));
    match text(&expression["operator"]) {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => false,
    }
}

/// What is wrong with a selector; nothing when it is absent.
pub fn check(path: &FieldPath, selector: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let labels = path.child("matchLabels");
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let value = text(value);
        errors.extend(
            names::qualified_name(key)
                .into_iter()
                .map(|why| FieldError::invalid(&labels, key.as_str(), why)),
        );
        errors.extend(
            names::label_value(value)
                .into_iter()
                .map(|why| FieldError::invalid(&labels, value, why)),
        );
    }
    for (i, expression) in items(&selector["matchExpressions"]).iter().enumerate() {
        errors.extend(check_expression(&path.child("matchExpressions").index(i), expression));
    }
    errors
}

fn check_expression(path: &FieldPath, expression: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let no_values = items(&expression["values"]).is_empty();
    match text(&expression["operator"]) {
        "In" | "NotIn" if no_values => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(&path.child("values"), why));
        }
        "Exists" | "DoesNotExist" if !no_values => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&path.child("values"), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let why = "not a valid selector operator";
            errors.push(FieldError::invalid(&path.child("operator"), other, why));
        }
    }
    let key = text(&expression["key"]);
    errors.extend(
        names::qualified_name(key)
            .into_iter()
            .map(|why| FieldError::invalid(&path.child("key"), key, why)),
    );
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selects_by_labels_and_expressions() {
        let labels = json!({"app": "web", "tier": "front"});
        let cases = [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["web"]}]}),
                true,
            ),
            (json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), true),
            (json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}), false),
            (json!({"matchExpressions": [{"key": "tier", "operator": "Is"}]}), false),
        ];
        for (selector, wanted) in cases {
            assert_eq!(matches(&selector, &labels), wanted, "{selector}");
        }
    }

    #[test]
    fn wrong_selectors_are_explained() {
        let selector = json!({"matchLabels": {"a b": "c d"}, "matchExpressions": [
            {"key": "k", "operator": "In"},
            {"key": "k", "operator": "Exists", "values": ["v"]},
            {"key": "k", "operator": "Is"},
        ]});
        let errors: Vec<_> =
            check(&FieldPath::new("s"), &selector).iter().map(|e| e.path.to_string()).collect();
        assert_eq!(
            errors,
            [
                "s.matchLabels",
                "s.matchLabels",
                "s.matchExpressions[0].values",
                "s.matchExpressions[1].values",
                "s.matchExpressions[2].operator",
            ]
        );
    }
}
