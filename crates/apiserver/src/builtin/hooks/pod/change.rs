//! What of a pod may change once it exists: very little.

use landbridge_machinery::field::{FieldError, FieldPath};
use serde_json::Value;

use super::super::value::{items, items_mut, set, text};

const FORBIDDEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Everything wrong with the change from `old` to `new`, both specs.
pub fn check(path: &FieldPath, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for list in ["containers", "initContainers"] {
        if items(&old[list]).len() != items(&new[list]).len() {
            let why = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path.child(list), why));
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    errors.extend(check_deadline(path, old, new));
    errors.extend(check_gates(path, old, new));
    let after: Vec<Value> = items(&new["tolerations"]).iter().map(without_seconds).collect();
    if !items(&old["tolerations"]).iter().all(|t| after.contains(&without_seconds(t))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(&path.child("tolerations"), why));
    }
    let allowed = with_allowed_changes_undone(old, new);
    if allowed != *old {
        let why = format!("{FORBIDDEN}\n{}", differences(old, &allowed));
        errors.push(FieldError::forbidden(path, why));
    }
    errors
}

/// How long a taint is tolerated may change; which one it is may not.
fn without_seconds(toleration: &Value) -> Value {
    let mut toleration = toleration.clone();
    toleration.as_object_mut().and_then(|map| map.remove("tolerationSeconds"));
    toleration
}

fn check_deadline(path: &FieldPath, old: &Value, new: &Value) -> Option<FieldError> {
    let path = path.child("activeDeadlineSeconds");
    let before = old["activeDeadlineSeconds"].as_i64()?;
    match new["activeDeadlineSeconds"].as_i64() {
        None => {
            let why = "must not update from a positive integer to nil value";
            Some(FieldError::invalid(&path, Value::Null, why))
        }
        Some(after) if after > before => {
            let why = "must be less than or equal to previous value";
            Some(FieldError::invalid(&path, after, why))
        }
        Some(_) => None,
    }
}

fn check_gates(path: &FieldPath, old: &Value, new: &Value) -> Vec<FieldError> {
    let path = path.child("schedulingGates");
    let before = items(&old["schedulingGates"]);
    let gates = items(&new["schedulingGates"]).iter().enumerate();
    gates
        .filter(|(_, gate)| !before.contains(gate))
        .map(|(i, gate)| {
            let name = text(&gate["name"]);
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            FieldError::forbidden(&path.index(i).child("name"), why)
        })
        .collect()
}

/// The new spec with everything that may change put back.
fn with_allowed_changes_undone(old: &Value, new: &Value) -> Value {
    let mut undone = new.clone();
    for list in ["containers", "initContainers"] {
        for (before, after) in items(&old[list]).iter().zip(items_mut(&mut undone, &[list])) {
            set(after, "image", before["image"].clone());
        }
    }
    let mut put_back = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let grace = "terminationGracePeriodSeconds";
    if old[grace].as_i64().is_some_and(|s| s < 0) && new[grace] == 1 {
        put_back.push(grace);
    }
    for field in put_back {
        match old.get(field) {
            Some(before) => set(&mut undone, field, before.clone()),
            None => {
                undone.as_object_mut().and_then(|map| map.remove(field));
            }
        }
    }
    undone
}

/// One line per field of the spec that differs.
fn differences(old: &Value, new: &Value) -> String {
    let fields = [old, new].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
    let mut fields: Vec<_> = fields.filter(|f| old.get(f) != new.get(f)).collect();
    fields.sort();
    fields.dedup();
    let line = |f: &&String| format!("  spec.{f}: {} -> {}", old[f.as_str()], new[f.as_str()]);
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn little_may_change() {
        let old = json!({"hostname": "a", "nodeName": "n", "activeDeadlineSeconds": 10,
            "tolerations": [{"key": "x"}], "schedulingGates": [{"name": "g"}],
            "containers": [{"name": "c", "image": "i:1"}]});
        let change = |edit: fn(&mut Value)| {
            let mut new = old.clone();
            edit(&mut new);
            check(&FieldPath::new("spec"), &old, &new)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        let allowed: [fn(&mut Value); 6] = [
            |_| {},
            |s| s["containers"][0]["image"] = "i:2".into(),
            |s| s["activeDeadlineSeconds"] = 5.into(),
            |s| s["tolerations"] = json!([{"key": "y"}, {"key": "x"}]),
            |s| s["tolerations"] = json!([{"key": "x", "tolerationSeconds": 5}]),
            |s| s["schedulingGates"] = json!([]),
        ];
        for edit in allowed {
            assert_eq!(change(edit), Vec::<String>::new());
        }
        let refused: [(fn(&mut Value), &str); 7] = [
            (
                |s| s["hostname"] = "b".into(),
                "spec: Forbidden: pod updates may not change fields other than",
            ),
            (
                |s| s["containers"][0]["command"] = json!(["x"]),
                "spec: Forbidden: pod updates may not",
            ),
            (|s| s["nodeName"] = "m".into(), "spec: Forbidden: pod updates may not"),
            (
                |s| s["containers"] = json!([]),
                "spec.containers: Forbidden: pod updates may not add or remove",
            ),
            (
                |s| s["activeDeadlineSeconds"] = 11.into(),
                "spec.activeDeadlineSeconds: Invalid value: 11: must be less",
            ),
            (|s| s["tolerations"] = json!([]), "spec.tolerations: Forbidden: existing toleration"),
            (
                |s| s["schedulingGates"] = json!([{"name": "h"}]),
                "spec.schedulingGates[0].name: Forbidden: only deletion",
            ),
        ];
        for (edit, start) in refused {
            let found = change(edit);
            assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
        }
        assert!(change(refused[0].0)[0].ends_with("\n  spec.hostname: \"a\" -> \"b\""));
    }

    #[test]
    fn only_a_binding_gives_the_node() {
        let (old, new) = (json!({"containers": []}), json!({"containers": [], "nodeName": "n"}));
        let found = check(&FieldPath::new("spec"), &old, &new);
        assert!(
            found.len() == 1 && found[0].to_string().contains("spec.nodeName: null -> \"n\""),
            "{found:?}"
        );
    }
}
