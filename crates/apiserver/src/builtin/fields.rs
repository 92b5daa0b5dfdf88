//! What field selectors compare, where it is no plain path into the stored object.

use landbridge_machinery::selector::field_value;
use serde_json::Value;

/// The value of a selectable field; absent fields read as their zero value, as upstream's do.
pub fn value(group: &str, kind: &str, field: &str, object: &Value) -> String {
    match (group, kind, field) {
        ("", "Event", "source") => {
            let component = at(object, "source.component");
            if component.is_empty() { at(object, "reportingComponent") } else { component }
        }
        ("", "Node", "spec.unschedulable") | ("", "Pod", "spec.hostNetwork") => {
            or(at(object, field), "false")
        }
        ("batch", "Job", "status.successful") => or(at(object, "status.succeeded"), "0"),
        ("apps", "ReplicaSet", "status.replicas") => or(at(object, field), "0"),
        ("", "Namespace", "name") => at(object, "metadata.name"),
        _ => at(object, field),
    }
}

fn at(object: &Value, path: &str) -> String {
    field_value(object, path).into_owned()
}

fn or(text: String, zero: &str) -> String {
    if text.is_empty() { zero.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectable_values() {
        let cases = [
            (
                "",
                "Event",
                "source",
                json!({"source": {"component": "c"}, "reportingComponent": "r"}),
                "c",
            ),
            ("", "Event", "source", json!({"source": {}, "reportingComponent": "r"}), "r"),
            ("", "Event", "involvedObject.name", json!({"involvedObject": {"name": "n"}}), "n"),
            ("", "Node", "spec.unschedulable", json!({}), "false"),
            ("", "Node", "spec.unschedulable", json!({"spec": {"unschedulable": true}}), "true"),
            ("batch", "Job", "status.successful", json!({"status": {"succeeded": 2}}), "2"),
            ("apps", "ReplicaSet", "status.replicas", json!({}), "0"),
            ("", "Namespace", "name", json!({"metadata": {"name": "n"}}), "n"),
            ("", "Pod", "status.phase", json!({}), ""),
        ];
        for (group, kind, field, object, wanted) in cases {
            assert_eq!(value(group, kind, field, &object), wanted, "{kind} {field}");
        }
    }
}
