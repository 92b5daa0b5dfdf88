//! Leases: the numbers make sense.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use serde_json::Value;

use super::not_negative;

/// Everything wrong with a lease.
pub fn check(_: &Request<'_>, lease: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = Vec::new();
    if let Some(seconds) = lease["spec"]["leaseDurationSeconds"].as_i64().filter(|s| *s <= 0) {
        let path = path.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than 0"));
    }
    let transitions = path.child("leaseTransitions");
    errors.extend(not_negative(&transitions, &lease["spec"]["leaseTransitions"]));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, lines};

    #[test]
    fn numbers_are_judged() {
        let lease = |seconds: i64, transitions: i64| {
            json!({"metadata": {"name": "a"},
                "spec": {"leaseDurationSeconds": seconds, "leaseTransitions": transitions}})
        };
        let group = "coordination.k8s.io";
        assert!(admit(group, "Lease", None, lease(15, 0)).is_ok());
        assert_eq!(
            lines(&admit(group, "Lease", None, lease(0, -1))),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }
}
