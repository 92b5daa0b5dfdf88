//! Webhook configurations, validating and mutating.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::NameRule;
use serde_json::Value;

use super::value::{is_empty, items, text, texts};
use super::{label_selector, name_errors, one_of, port};

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];

/// Everything wrong with a configuration.
pub fn check(request: &Request<'_>, configuration: &Value) -> Vec<FieldError> {
    let mutating = request.kind.kind == "MutatingWebhookConfiguration";
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (i, hook) in items(&configuration["webhooks"]).iter().enumerate() {
        let path = FieldPath::new("webhooks").index(i);
        errors.extend(check_hook(&path, hook));
        if mutating {
            let policy = text(&hook["reinvocationPolicy"]);
            let path = path.child("reinvocationPolicy");
            errors.extend(one_of(&path, policy, &["IfNeeded", "Never"]));
        }
        let name = text(&hook["name"]);
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
    }
    errors
}

fn check_hook(path: &FieldPath, hook: &Value) -> Vec<FieldError> {
    let mut errors = check_name(&path.child("name"), text(&hook["name"]));
    for (i, rule) in items(&hook["rules"]).iter().enumerate() {
        errors.extend(check_rule(&path.child("rules").index(i), rule));
    }
    let policy = text(&hook["failurePolicy"]);
    errors.extend(one_of(&path.child("failurePolicy"), policy, &["Fail", "Ignore"]));
    let policy = text(&hook["matchPolicy"]);
    errors.extend(one_of(&path.child("matchPolicy"), policy, &["Equivalent", "Exact"]));
    let effects = path.child("sideEffects");
    match text(&hook["sideEffects"]) {
        "" => {
            let why = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
            errors.push(FieldError::required(&effects, why));
        }
        given => errors.extend(one_of(&effects, given, SIDE_EFFECTS)),
    }
    if let Some(seconds) = hook["timeoutSeconds"].as_i64().filter(|s| !(1..=30).contains(s)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&path.child("timeoutSeconds"), seconds, why));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        errors.extend(label_selector::check(&path.child(selector), &hook[selector]));
    }
    errors.extend(check_client(&path.child("clientConfig"), &hook["clientConfig"]));
    errors.extend(check_versions(
        &path.child("admissionReviewVersions"),
        &hook["admissionReviewVersions"],
    ));
    errors
}

fn check_name(path: &FieldPath, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let errors = name_errors(path, name, NameRule::Subdomain);
    if errors.is_empty() && name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        return vec![FieldError::invalid(path, name, why)];
    }
    errors
}

fn check_rule(path: &FieldPath, rule: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, what) in
        [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
    {
        let path = path.child(field);
        if is_empty(&rule[field]) {
            errors.push(FieldError::required(&path, ""));
        }
        if items(&rule[field]).len() > 1 && texts(&rule[field]).any(|t| t == "*") {
            let why = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(&path, rule[field].clone(), why));
        }
    }
    if is_empty(&rule["resources"]) {
        errors.push(FieldError::required(&path.child("resources"), ""));
    }
    for (i, operation) in texts(&rule["operations"]).enumerate() {
        errors.extend(one_of(&path.child("operations").index(i), operation, OPERATIONS));
    }
    let scope = text(&rule["scope"]);
    errors.extend(one_of(&path.child("scope"), scope, &["*", "Cluster", "Namespaced"]));
    errors
}

/// What is wrong with how a webhook is reached; CRD conversion uses it as well.
pub(super) fn check_client(path: &FieldPath, client: &Value) -> Vec<FieldError> {
    let (url, service) = (text(&client["url"]), &client["service"]);
    if url.is_empty() != service.is_object() {
        return vec![FieldError::required(path, "exactly one of url or service is required")];
    }
    let mut errors = Vec::new();
    if !url.is_empty() {
        if !url.starts_with("https://") {
            let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
            errors.push(FieldError::invalid(&path.child("url"), url, why));
        }
        return errors;
    }
    let path = path.child("service");
    for field in ["name", "namespace"] {
        if is_empty(&service[field]) {
            let why = format!("service {field} is required");
            errors.push(FieldError::required(&path.child(field), why));
        }
    }
    if let Some(number) = service["port"].as_i64() {
        errors.extend(port::number(&path.child("port"), number).map(|mut error| {
            error.detail = format!("port is not valid: {}", error.detail);
            error
        }));
    }
    let at = text(&service["path"]);
    if !at.is_empty() && !at.starts_with('/') {
        let why = "must start with a '/'";
        errors.push(FieldError::invalid(&path.child("path"), at, why));
    }
    errors
}

fn check_versions(path: &FieldPath, versions: &Value) -> Vec<FieldError> {
    let known = REVIEW_VERSIONS.join(", ");
    if is_empty(versions) {
        return vec![FieldError::required(path, format!("must specify one of {known}"))];
    }
    if !texts(versions).any(|v| REVIEW_VERSIONS.contains(&v)) {
        let why = format!("must include at least one of {known}");
        return vec![FieldError::invalid(path, versions.clone(), why)];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    const GROUP: &str = "admissionregistration.k8s.io";
    const KIND: &str = "ValidatingWebhookConfiguration";

    fn configuration(extra: Value) -> Value {
        let mut hook = json!({"name": "a.example.com", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "s", "namespace": "n"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
        for (key, value) in extra.as_object().expect("map") {
            hook[key] = value.clone();
        }
        json!({"metadata": {"name": "a"}, "webhooks": [hook]})
    }

    #[test]
    fn defaults() {
        let hook =
            created(GROUP, "MutatingWebhookConfiguration", configuration(json!({})))["webhooks"][0]
                .clone();
        assert_eq!(hook["failurePolicy"], "Fail");
        assert_eq!(hook["matchPolicy"], "Equivalent");
        assert_eq!(hook["timeoutSeconds"], 10);
        assert_eq!(hook["reinvocationPolicy"], "Never");
        assert_eq!(hook["namespaceSelector"], json!({}));
        assert_eq!(hook["rules"][0]["scope"], "*");
        assert_eq!(hook["clientConfig"]["service"]["port"], 443);
    }

    #[test]
    fn wrong_webhooks_are_explained() {
        let cases = [
            (
                json!({"name": "a"}),
                r#"name: Invalid value: "a": should be a domain with at least three segments separated by dots"#,
            ),
            (
                json!({"sideEffects": null}),
                "sideEffects: Required value: must specify one of None, NoneOnDryRun",
            ),
            (
                json!({"sideEffects": "Some"}),
                r#"sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun""#,
            ),
            (
                json!({"admissionReviewVersions": []}),
                "admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ),
            (
                json!({"admissionReviewVersions": ["v2"]}),
                r#"admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1"#,
            ),
            (
                json!({"clientConfig": {}}),
                "clientConfig: Required value: exactly one of url or service is required",
            ),
            (
                json!({"clientConfig": {"url": "http://x"}}),
                r#"clientConfig.url: Invalid value: "http://x": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#,
            ),
            (
                json!({"timeoutSeconds": 31}),
                "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ),
            (
                json!({"rules": [{"operations": ["*", "CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]}),
                r#"rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations"#,
            ),
        ];
        for (extra, wanted) in cases {
            let found = lines(&admit(GROUP, KIND, None, configuration(extra)));
            assert_eq!(found, [format!("webhooks[0].{wanted}")]);
        }
    }
}
