//! ReplicaSets.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::{immutable, workload};

/// Defaults of the template.
pub fn mutate(_: &Request<'_>, set: &mut Value) -> ApiResult<()> {
    workload::template_defaults("ReplicaSet", set)
}

/// Everything wrong with a replica set.
pub fn check(request: &Request<'_>, set: &Value) -> Vec<FieldError> {
    let mut errors = workload::check_numbers(set, &["replicas", "minReadySeconds"]);
    // Upstream says deployment here as well.
    errors.extend(workload::check_selector(set, "deployment"));
    errors.extend(workload::check_template(set));
    errors.extend(workload::check_runs_always(set));
    if let Some(old) = request.old {
        let path = FieldPath::new("spec.selector");
        errors.extend(immutable(&path, &set["spec"]["selector"], &old["spec"]["selector"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, lines};

    #[test]
    fn the_selector_is_needed() {
        let set = json!({"metadata": {"name": "a"}, "spec": {
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        assert_eq!(
            lines(&admit("apps", "ReplicaSet", None, set)),
            ["spec.selector: Required value"]
        );
    }
}
