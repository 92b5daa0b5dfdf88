//! Events. Those of `events.k8s.io` are judged more strictly, in the words of the stored form.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::{Operation, Request};
use landbridge_machinery::names::qualified_name;
use landbridge_machinery::object;
use serde_json::Value;

use super::super::events;
use super::immutable;
use super::value::{is_empty, text};

const LIMITS: [(&str, usize); 4] =
    [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)];
/// What may not change through the newer API, beside the series.
const FIXED: [&str; 13] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
];

/// Everything wrong with an event, whichever shape it is in.
pub fn check(request: &Request<'_>, event: &Value) -> Vec<FieldError> {
    let event = &events::as_core(event);
    let mut errors = check_basics(event);
    if request.kind.group != events::GROUP {
        return errors;
    }
    match request.old {
        Some(old) => {
            let old = &events::as_core(old);
            if event["series"] != old["series"] {
                errors.extend(check_series(event));
            }
            errors.extend(FIXED.iter().filter_map(|f| immutable(&shown(f), &event[*f], &old[*f])));
        }
        None if request.operation == Operation::Create => {
            errors.extend(check_series(event));
            errors.extend(check_new(event));
        }
        None => {}
    }
    errors
}

/// Upstream's internal name of a field, which is what its errors say.
fn shown(field: &str) -> FieldPath {
    FieldPath::new(if field == "reportingComponent" { "reportingController" } else { field })
}

fn check_basics(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = object::namespace(event);
    let involved = text(&event["involvedObject"]["namespace"]);
    let modern = !is_empty(&event["eventTime"]);
    let agrees = match (involved, modern) {
        ("", true) => matches!(namespace, "default" | "kube-system"),
        ("", false) => matches!(namespace, "" | "default"),
        (_, true) => true,
        (_, false) => involved == namespace,
    };
    if !agrees {
        let path = FieldPath::new("involvedObject.namespace");
        errors.push(FieldError::invalid(&path, involved, "does not match event.namespace"));
    }
    if !modern {
        return errors;
    }
    let reporter = text(&event["reportingComponent"]);
    let path = FieldPath::new("reportingController");
    if reporter.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    let wrong = qualified_name(reporter).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(&path, reporter, why)));
    for (field, limit) in LIMITS {
        let path = FieldPath::new(field);
        let length = text(&event[field]).len();
        if length == 0 && field != "message" {
            errors.push(FieldError::required(&path, ""));
        }
        if length > limit {
            let why = format!("can have at most {limit} characters");
            errors.push(FieldError::invalid(&path, "", why));
        }
    }
    errors
}

fn check_series(event: &Value) -> Vec<FieldError> {
    let series = &event["series"];
    let mut errors = Vec::new();
    if !series.is_object() {
        return errors;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        errors.push(FieldError::invalid(
            &FieldPath::new("series.count"),
            "",
            "should be at least 2",
        ));
    }
    if is_empty(&series["lastObservedTime"]) {
        errors.push(FieldError::required(&FieldPath::new("series.lastObservedTime"), ""));
    }
    errors
}

fn check_new(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_empty(&event["eventTime"]) {
        errors.push(FieldError::required(&FieldPath::new("eventTime"), ""));
    }
    let kind = text(&event["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        let why = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid(&FieldPath::new("type"), "", why));
    }
    let set = |field: &str| match &event[field] {
        Value::Number(count) => count.as_i64() != Some(0),
        other => !is_empty(other),
    };
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if set(field) {
            errors.push(FieldError::invalid(&FieldPath::new(field), "", "needs to be unset"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};

    #[test]
    fn the_namespace_agrees_with_the_object() {
        let event = |namespace: &str, involved: &str| {
            json!({"metadata": {"name": "a", "namespace": namespace},
                "involvedObject": {"namespace": involved}})
        };
        for (namespace, involved, good) in
            [("n", "n", true), ("default", "", true), ("n", "", false), ("n", "m", false)]
        {
            let found = lines(&admit("", "Event", None, event(namespace, involved)));
            let line = format!(
                "involvedObject.namespace: Invalid value: {involved:?}: does not match event.namespace"
            );
            assert_eq!(found, if good { vec![] } else { vec![line] }, "{namespace} {involved}");
        }
    }

    #[test]
    fn new_events_are_complete() {
        let complete = json!({"metadata": {"name": "a", "namespace": "n"}, "type": "Normal",
            "regarding": {"namespace": "n"}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c", "reportingInstance": "c-0",
            "action": "Do", "reason": "Done"});
        assert_eq!(lines(&admit("events.k8s.io", "Event", None, complete.clone())), [""; 0]);
        let mut bare =
            json!({"metadata": {"name": "a", "namespace": "n"}, "regarding": {"namespace": "n"}});
        assert_eq!(
            lines(&admit("events.k8s.io", "Event", None, bare.clone())),
            ["eventTime: Required value", r#"type: Invalid value: "": has invalid value: "#]
        );
        bare["type"] = "Normal".into();
        bare["deprecatedCount"] = 3.into();
        assert_eq!(
            lines(&admit("events.k8s.io", "Event", None, bare)),
            ["eventTime: Required value", r#"count: Invalid value: "": needs to be unset"#]
        );
        let stored = created("events.k8s.io", "Event", complete);
        assert_eq!(stored["source"], json!({}), "stored in the older shape");
        let mut again = stored.clone();
        again["series"] = json!({"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"});
        again["reason"] = "Other".into();
        assert_eq!(
            lines(&admit("events.k8s.io", "Event", Some(&stored), again)),
            [
                r#"series.count: Invalid value: "": should be at least 2"#,
                r#"reason: Invalid value: "Other": field is immutable"#,
            ]
        );
    }
}
