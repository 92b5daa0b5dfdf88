//! What all kinds with a pod template share: selector, template, numbers.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::names::{label_value, qualified_name};
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{is_empty, text};
use super::{label_selector, not_negative, one_of, pod_spec};

/// Defaults inside `spec.template`.
pub fn template_defaults(kind: &str, object: &mut Value) -> ApiResult<()> {
    match object.pointer_mut("/spec/template/spec") {
        Some(spec) => pod_spec::defaults(kind, spec),
        None => Ok(()),
    }
}

/// What is wrong with `spec.selector`. Upstream names `kind` when it is empty.
pub fn check_selector(object: &Value, kind: &str) -> Vec<FieldError> {
    let path = FieldPath::new("spec.selector");
    let selector = &object["spec"]["selector"];
    if selector.is_null() {
        return vec![FieldError::required(&path, "")];
    }
    let mut errors = label_selector::check(&path, selector);
    if label_selector::is_empty(selector) {
        let why = format!("empty selector is invalid for {kind}");
        errors.push(FieldError::invalid(&path, selector.clone(), why));
    }
    errors
}

/// What is wrong with `spec.template`, which the selector must select.
pub fn check_template(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let path = FieldPath::new("spec.template");
    let labels = &spec["template"]["metadata"]["labels"];
    let mut errors = Vec::new();
    if !label_selector::is_empty(&spec["selector"])
        && !label_selector::matches(&spec["selector"], labels)
    {
        let why = "`selector` does not match template `labels`";
        let at = path.child("metadata.labels");
        let shown =
            if labels.is_null() { Value::Object(serde_json::Map::new()) } else { labels.clone() };
        errors.push(FieldError::invalid(&at, shown, why));
    }
    errors.extend(check_labels(&path.child("labels"), labels));
    errors.extend(pod_spec::check(&path.child("spec"), &spec["template"]["spec"]));
    errors
}

fn check_labels(path: &FieldPath, labels: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        let wrong = qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path, key.as_str(), why)));
        let wrong = label_value(text(value)).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path, value.clone(), why)));
    }
    errors
}

/// What is wrong with a template whose pods are meant to run for ever.
pub fn check_runs_always(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"]["template"]["spec"];
    let path = FieldPath::new("spec.template.spec");
    let mut errors = Vec::new();
    let policy = text(&spec["restartPolicy"]);
    errors.extend(one_of(&path.child("restartPolicy"), policy, &["Always"]));
    if !is_empty(&spec["activeDeadlineSeconds"]) {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(&path.child("activeDeadlineSeconds"), why));
    }
    errors
}

/// What is wrong with numbers that may not be negative.
pub fn check_numbers(object: &Value, fields: &[&str]) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    fields.iter().filter_map(|f| not_negative(&path.child(f), &object["spec"][*f])).collect()
}
