//! Nodes: what they can hold, and what may not change once it is known.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::{label_value, qualified_name};
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{is_empty, items, map_at, text};
use super::{net, one_of, quantity};

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// What is not said to be allocatable is the whole capacity.
pub fn mutate(_: &Request<'_>, node: &mut Value) -> ApiResult<()> {
    let Some(status) = map_at(node, &["status"]) else { return Ok(()) };
    for list in ["capacity", "allocatable"] {
        quantity::normalise("Node", status.get_mut(list))?;
    }
    if let Some(capacity) = status.get("capacity").cloned().filter(|c| !c.is_null()) {
        status.entry("allocatable").or_insert(capacity);
    }
    Ok(())
}

/// Everything wrong with a node.
pub fn check(request: &Request<'_>, node: &Value) -> Vec<FieldError> {
    let spec = &node["spec"];
    let path = FieldPath::new("spec");
    let mut errors = check_taints(spec, &path.child("taints"));
    for (i, cidr) in items(&spec["podCIDRs"]).iter().enumerate() {
        errors.extend(net::cidr(&path.child("podCIDRs").index(i), text(cidr)).err());
    }
    let addresses = FieldPath::new("status.addresses");
    let mut seen = BTreeSet::new();
    for (i, address) in items(&node["status"]["addresses"]).iter().enumerate() {
        if !seen.insert((text(&address["type"]), text(&address["address"]))) {
            errors.push(FieldError::duplicate(&addresses.index(i), address.clone()));
        }
    }
    let Some(old) = request.old else { return errors };
    for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let before = &old["spec"][field];
        if !is_empty(before) && *before != spec[field] {
            let why = format!("node updates may not change {name} except from \"\" to valid");
            errors.push(FieldError::forbidden(&path.child(field), why));
        }
    }
    errors
}

fn check_taints(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (i, taint) in items(&spec["taints"]).iter().enumerate() {
        let path = path.index(i);
        let (key, value, effect) =
            (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
        let wrong = qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(&path.child("key"), key, why)));
        let wrong = label_value(value).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(&path.child("value"), value, why)));
        if effect.is_empty() {
            errors.push(FieldError::required(&path.child("effect"), ""));
        } else {
            errors.extend(one_of(&path.child("effect"), effect, EFFECTS));
        }
        if !seen.insert((key, effect)) {
            let mut duplicate = FieldError::duplicate(&path, taint.clone());
            duplicate.detail = "taints must be unique by key and effect pair".into();
            errors.push(duplicate);
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};

    #[test]
    fn everything_is_allocatable_unless_said() {
        let node = created(
            "",
            "Node",
            json!({"metadata": {"name": "a"}, "status": {"capacity": {"cpu": 4}}}),
        );
        assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
    }

    #[test]
    fn taints_and_changes_are_judged() {
        let node = json!({"metadata": {"name": "a"}, "spec": {"taints": [
            {"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"},
            {"key": "l"}, {"key": "m", "effect": "Never"},
        ]}});
        let found = lines(&admit("", "Node", None, node));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].ends_with("taints must be unique by key and effect pair"), "{found:?}");
        assert_eq!(found[1], "spec.taints[2].effect: Required value");
        let old = json!({"metadata": {"name": "a"}, "spec": {"providerID": "x://1"}});
        let new = json!({"metadata": {"name": "a"}, "spec": {"providerID": "x://2"}});
        assert_eq!(
            lines(&admit("", "Node", Some(&old), new)),
            [
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"
            ]
        );
    }
}
