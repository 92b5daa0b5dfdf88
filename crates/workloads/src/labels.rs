//! Label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Labels as objects carry them.
pub type Labels = BTreeMap<String, String>;

/// Whether a selector selects these labels. An empty selector selects everything.
pub fn selects(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
    let plain = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.iter().flatten();
    plain.into_iter().all(|(key, wanted)| value(key) == Some(wanted))
        && expressions.into_iter().all(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            requirement(&expression.operator, value(&expression.key), values)
        })
}

/// As [`selects`], but an empty selector selects nothing: so it is for the owners of pods.
pub fn owns(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let empty = selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty);
    !empty && selects(selector, labels)
}

/// One expression, of a label selector or a node selector. What nobody knows never holds.
pub fn requirement(operator: &str, value: Option<&str>, values: &[String]) -> bool {
    let listed = |value: &str| values.iter().any(|wanted| wanted == value);
    let compared = |holds: fn(i64, i64) -> bool| {
        let number = value.and_then(|value| value.parse().ok());
        let limit = values.first().and_then(|limit| limit.parse().ok());
        number.zip(limit).is_some_and(|(number, limit)| holds(number, limit))
    };
    match operator {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(|number, limit| number > limit),
        "Lt" => compared(|number, limit| number < limit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let values = |list: &[&str]| list.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>();
        for (operator, value, list, holds) in [
            ("In", Some("a"), &["a", "b"][..], true),
            ("In", Some("c"), &["a", "b"], false),
            ("In", None, &["a"], false),
            ("NotIn", None, &["a"], true),
            ("NotIn", Some("a"), &["a"], false),
            ("Exists", Some(""), &[], true),
            ("Exists", None, &[], false),
            ("DoesNotExist", None, &[], true),
            ("Gt", Some("5"), &["4"], true),
            ("Gt", Some("4"), &["4"], false),
            ("Lt", Some("3"), &["4"], true),
            ("Lt", Some("x"), &["4"], false),
            ("Near", Some("x"), &["x"], false),
        ] {
            let found = requirement(operator, value, &values(list));
            assert_eq!(found, holds, "{operator} {value:?} {list:?}");
        }
    }

    #[test]
    fn an_empty_selector_owns_nothing() {
        assert!(selects(&LabelSelector::default(), None));
        assert!(!owns(&LabelSelector::default(), None));
    }
}
