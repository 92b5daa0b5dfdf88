//! Deployments.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{map_at, set_default, text};
use super::{immutable, one_of, workload};

/// A rolling update gets its numbers, a recreation none.
pub fn mutate(_: &Request<'_>, deployment: &mut Value) -> ApiResult<()> {
    workload::template_defaults("Deployment", deployment)?;
    if text(&deployment["spec"]["strategy"]["type"]) == "RollingUpdate"
        && let Some(rolling) = map_at(deployment, &["spec", "strategy", "rollingUpdate"])
    {
        set_default(rolling, "maxUnavailable", "25%");
        set_default(rolling, "maxSurge", "25%");
    }
    Ok(())
}

/// Everything wrong with a deployment.
pub fn check(request: &Request<'_>, deployment: &Value) -> Vec<FieldError> {
    let numbers =
        ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"];
    let mut errors = workload::check_numbers(deployment, &numbers);
    errors.extend(workload::check_selector(deployment, "deployment"));
    errors.extend(workload::check_template(deployment));
    errors.extend(workload::check_runs_always(deployment));
    errors.extend(check_strategy(&deployment["spec"]["strategy"]));
    let spec = &deployment["spec"];
    let deadline = spec["progressDeadlineSeconds"].as_i64();
    if deadline.is_some_and(|d| d <= spec["minReadySeconds"].as_i64().unwrap_or(0)) {
        let path = FieldPath::new("spec.progressDeadlineSeconds");
        errors.push(FieldError::invalid(&path, deadline, "must be greater than minReadySeconds"));
    }
    if let Some(old) = request.old {
        let path = FieldPath::new("spec.selector");
        errors.extend(immutable(&path, &spec["selector"], &old["spec"]["selector"]));
    }
    errors
}

fn check_strategy(strategy: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("spec.strategy");
    let kind = text(&strategy["type"]);
    if kind == "Recreate" && strategy["rollingUpdate"].is_object() {
        let why = "may not be specified when strategy `type` is 'Recreate'";
        return vec![FieldError::forbidden(&path.child("rollingUpdate"), why)];
    }
    one_of(&path.child("type"), kind, &["Recreate", "RollingUpdate"]).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    fn deployment(extra: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a"}, "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }});
        for (key, value) in extra.as_object().expect("map") {
            object["spec"][key] = value.clone();
        }
        object
    }

    #[test]
    fn strategies_get_their_numbers() {
        let rolling = created("apps", "Deployment", deployment(json!({})));
        assert_eq!(
            rolling["spec"]["strategy"],
            json!({"type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
        );
        assert_eq!(rolling["spec"]["replicas"], 1);
        assert_eq!(
            rolling["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"],
            "Always"
        );
        let partly = deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 1}}}));
        assert_eq!(
            created("apps", "Deployment", partly)["spec"]["strategy"]["rollingUpdate"],
            json!({"maxUnavailable": "25%", "maxSurge": 1})
        );
        let recreate =
            created("apps", "Deployment", deployment(json!({"strategy": {"type": "Recreate"}})));
        assert_eq!(recreate["spec"]["strategy"], json!({"type": "Recreate"}));
    }

    #[test]
    fn the_selector_selects_the_template_and_stays() {
        let cases = [
            (
                json!({"selector": {"matchLabels": {"app": "y"}}}),
                vec![
                    r#"spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`"#,
                ],
            ),
            (json!({"selector": null}), vec!["spec.selector: Required value"]),
            (
                json!({"selector": {}}),
                vec!["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
            ),
            (
                json!({"replicas": -1}),
                vec!["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
            ),
        ];
        for (extra, wanted) in cases {
            assert_eq!(lines(&admit("apps", "Deployment", None, deployment(extra))), wanted);
        }
        let old = created("apps", "Deployment", deployment(json!({})));
        let mut new = old.clone();
        new["spec"]["selector"]["matchLabels"]["app"] = "y".into();
        new["spec"]["template"]["metadata"]["labels"]["app"] = "y".into();
        assert_eq!(
            lines(&admit("apps", "Deployment", Some(&old), new)),
            [r#"spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable"#]
        );
    }

    #[test]
    fn pods_of_a_deployment_always_restart() {
        let mut object = deployment(json!({}));
        object["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
        assert_eq!(
            lines(&admit("apps", "Deployment", None, object)),
            [
                r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#
            ]
        );
    }
}
