//! DaemonSets.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{map_at, set_default, text};
use super::{immutable, one_of, workload};

/// A rolling update replaces one pod at a time.
pub fn mutate(_: &Request<'_>, set: &mut Value) -> ApiResult<()> {
    workload::template_defaults("DaemonSet", set)?;
    if text(&set["spec"]["updateStrategy"]["type"]) == "RollingUpdate"
        && let Some(rolling) = map_at(set, &["spec", "updateStrategy", "rollingUpdate"])
    {
        set_default(rolling, "maxUnavailable", 1);
        set_default(rolling, "maxSurge", 0);
    }
    Ok(())
}

/// Everything wrong with a daemon set.
pub fn check(request: &Request<'_>, set: &Value) -> Vec<FieldError> {
    let mut errors = workload::check_selector(set, "daemonset");
    errors.extend(workload::check_template(set));
    errors.extend(workload::check_runs_always(set));
    errors.extend(workload::check_numbers(set, &["minReadySeconds", "revisionHistoryLimit"]));
    let kind = text(&set["spec"]["updateStrategy"]["type"]);
    let path = FieldPath::new("spec.updateStrategy.type");
    errors.extend(one_of(&path, kind, &["RollingUpdate", "OnDelete"]));
    if let Some(old) = request.old {
        let path = FieldPath::new("spec.selector");
        errors.extend(immutable(&path, &set["spec"]["selector"], &old["spec"]["selector"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};

    #[test]
    fn a_daemon_set_rolls_one_by_one() {
        let object = |strategy: &str| {
            json!({"metadata": {"name": "a"}, "spec": {
                "selector": {"matchLabels": {"app": "x"}}, "updateStrategy": {"type": strategy},
                "template": {"metadata": {"labels": {"app": "x"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
        };
        let set = created("apps", "DaemonSet", object("OnDelete"));
        assert_eq!(set["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
        let set = created("apps", "DaemonSet", object("RollingUpdate"));
        assert_eq!(
            set["spec"]["updateStrategy"]["rollingUpdate"],
            json!({"maxUnavailable": 1, "maxSurge": 0})
        );
        assert_eq!(lines(&admit("apps", "DaemonSet", None, object("Never"))).len(), 1);
    }
}
