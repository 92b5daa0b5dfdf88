//! PriorityClasses: a value is for life.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::object;
use serde_json::Value;

use super::value::text;
use super::{immutable, one_of};

const HIGHEST: i64 = 1_000_000_000;
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Everything wrong with a priority class.
pub fn check(request: &Request<'_>, class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let value = class["value"].as_i64().unwrap_or(0);
    let name = object::name(class);
    if name.starts_with("system-") {
        if !SYSTEM.contains(&(name, value)) {
            let why = "priority class names with 'system-' prefix are reserved for system use only";
            errors.push(FieldError::forbidden(&FieldPath::new("metadata.name"), why));
        }
    } else if value > HIGHEST {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(FieldError::forbidden(&FieldPath::new("value"), why));
    }
    let path = FieldPath::new("preemptionPolicy");
    let policies = ["Never", "PreemptLowerPriority"];
    errors.extend(one_of(&path, text(&class["preemptionPolicy"]), &policies));
    if let Some(old) = request.old {
        if old["value"].as_i64().unwrap_or(0) != value {
            let why = "may not be changed in an update.";
            errors.push(FieldError::forbidden(&FieldPath::new("value"), why));
        }
        errors.extend(immutable(&path, &class["preemptionPolicy"], &old["preemptionPolicy"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    const GROUP: &str = "scheduling.k8s.io";

    #[test]
    fn values_are_judged_and_stay() {
        let class = |name: &str, value: i64| json!({"metadata": {"name": name}, "value": value});
        let old = created(GROUP, "PriorityClass", class("a", 1));
        assert_eq!(old["preemptionPolicy"], "PreemptLowerPriority");
        let cases = [
            (Some(&old), class("a", 2), "value: Forbidden: may not be changed in an update."),
            (
                None,
                class("a", HIGHEST + 1),
                "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
            ),
            (
                None,
                class("system-x", 1),
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only",
            ),
        ];
        for (old, new, wanted) in cases {
            assert_eq!(lines(&admit(GROUP, "PriorityClass", old, new)), [wanted]);
        }
        assert!(
            admit(GROUP, "PriorityClass", None, class("system-node-critical", 2_000_001_000))
                .is_ok()
        );
    }
}
