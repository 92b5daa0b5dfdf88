//! ControllerRevisions: what a workload looked like once. That does not change any more.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use serde_json::Value;

use super::{immutable, not_negative};

/// Everything wrong with a revision.
pub fn check(request: &Request<'_>, revision: &Value) -> Vec<FieldError> {
    let data = FieldPath::new("data");
    let mut errors = Vec::new();
    if revision["data"].is_null() {
        errors.push(FieldError::required(&data, "data is mandatory"));
    }
    errors.extend(not_negative(&FieldPath::new("revision"), &revision["revision"]));
    if let Some(old) = request.old {
        errors.extend(immutable(&data, &revision["data"], &old["data"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{admit, created, lines};

    #[test]
    fn a_revision_keeps_its_data() {
        let object = |revision: i64, data: Value| json!({"metadata": {"name": "a"}, "revision": revision, "data": data});
        let old = created("apps", "ControllerRevision", object(1, json!({"spec": {"x": [1]}})));
        assert_eq!(old["data"], json!({"spec": {"x": [1]}}), "whatever it is");
        let again = object(2, old["data"].clone());
        assert!(admit("apps", "ControllerRevision", Some(&old), again).is_ok());
        assert_eq!(
            lines(&admit("apps", "ControllerRevision", Some(&old), object(-1, json!({})))),
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Invalid value: {}: field is immutable",
            ]
        );
        assert_eq!(
            lines(&admit("apps", "ControllerRevision", None, object(1, Value::Null))),
            ["data: Required value: data is mandatory"]
        );
    }
}
