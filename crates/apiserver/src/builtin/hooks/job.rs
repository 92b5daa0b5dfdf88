//! Jobs: the selector is made by the server, and hardly anything changes afterwards.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::{Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{is_empty, map_at, set_default, text};
use super::{immutable, label_selector, one_of, workload};

const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

/// Numbers that depend on each other, and a selector nobody else uses. The job has its uid by now.
pub fn mutate(request: &Request<'_>, job: &mut Value) -> ApiResult<()> {
    workload::template_defaults("Job", job)?;
    let spec = &job["spec"];
    let alone = spec["completions"].is_null() && spec["parallelism"].is_null();
    let per_index = spec["backoffLimitPerIndex"].is_number();
    let policy = spec["podFailurePolicy"].is_object();
    if let Some(spec) = map_at(job, &["spec"]) {
        if alone {
            spec.insert("completions".into(), 1.into());
        }
        set_default(spec, "parallelism", 1);
        set_default(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
        let replace = if policy { "Failed" } else { "TerminatingOrFailed" };
        set_default(spec, "podReplacementPolicy", replace);
    }
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    if is_empty(&job["metadata"]["labels"]) && !is_empty(&labels) {
        object::set_meta(job, "labels", labels);
    }
    if request.operation == Operation::Create && job["spec"]["manualSelector"] != true {
        make_selector(job);
    }
    Ok(())
}

fn make_selector(job: &mut Value) {
    let (uid, name) = (object::uid(job).to_owned(), object::name(job).to_owned());
    if uid.is_empty() {
        return;
    }
    if let Some(labels) = map_at(job, &["spec", "template", "metadata", "labels"]) {
        for key in UID_LABELS {
            set_default(labels, key, uid.as_str());
        }
        for key in NAME_LABELS {
            set_default(labels, key, name.as_str());
        }
    }
    if let Some(wanted) = map_at(job, &["spec", "selector", "matchLabels"]) {
        set_default(wanted, UID_LABELS[1], uid);
    }
}

/// Everything wrong with a job.
pub fn check(request: &Request<'_>, job: &Value) -> Vec<FieldError> {
    let spec = &job["spec"];
    let path = FieldPath::new("spec");
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    let mut errors = workload::check_numbers(job, &numbers);
    let selector = path.child("selector");
    if spec["selector"].is_null() {
        errors.push(FieldError::required(&selector, ""));
    } else {
        errors.extend(label_selector::check(&selector, &spec["selector"]));
    }
    let mode = text(&spec["completionMode"]);
    errors.extend(one_of(&path.child("completionMode"), mode, &["NonIndexed", "Indexed"]));
    if mode == "Indexed" && spec["completions"].is_null() {
        let why = "when completion mode is Indexed";
        errors.push(FieldError::required(&path.child("completions"), format!("required {why}")));
    }
    errors.extend(workload::check_template(job));
    errors.extend(check_restart(spec, &path.child("template.spec.restartPolicy")));
    if let Some(old) = request.old {
        errors.extend(check_change(&old["spec"], spec, &path));
    }
    errors
}

fn check_restart(spec: &Value, path: &FieldPath) -> Option<FieldError> {
    match text(&spec["template"]["spec"]["restartPolicy"]) {
        "Always" => Some(FieldError::required(path, r#"valid values: "OnFailure", "Never""#)),
        policy => one_of(path, policy, &["OnFailure", "Never"]),
    }
}

fn check_change(old: &Value, new: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut fields =
        vec!["selector", "template", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"];
    // An indexed job may grow or shrink together with its parallelism.
    let elastic =
        text(&new["completionMode"]) == "Indexed" && new["completions"] == new["parallelism"];
    if !elastic {
        fields.push("completions");
    }
    fields.iter().filter_map(|f| immutable(&path.child(f), &new[*f], &old[*f])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    fn job(extra: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
        }});
        for (key, value) in extra.as_object().expect("map") {
            object["spec"][key] = value.clone();
        }
        object
    }

    #[test]
    fn the_server_makes_the_selector() {
        let object = created("batch", "Job", job(json!({})));
        let spec = &object["spec"];
        assert_eq!(
            spec["selector"],
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(labels["controller-uid"], "u");
        assert_eq!(labels["batch.kubernetes.io/job-name"], "a");
        assert_eq!(object["metadata"]["labels"], json!({"app": "x"}));
        let by_hand =
            job(json!({"manualSelector": true, "selector": {"matchLabels": {"app": "x"}}}));
        let by_hand = created("batch", "Job", by_hand);
        assert_eq!(by_hand["spec"]["selector"], json!({"matchLabels": {"app": "x"}}));
    }

    #[test]
    fn numbers_depend_on_each_other() {
        let number =
            |extra: Value, field: &str| created("batch", "Job", job(extra))["spec"][field].clone();
        assert_eq!(number(json!({}), "completions"), 1);
        assert_eq!(number(json!({}), "backoffLimit"), 6);
        assert_eq!(number(json!({"parallelism": 2}), "completions"), Value::Null);
        assert_eq!(number(json!({"completions": 2}), "parallelism"), 1);
        let indexed =
            json!({"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1});
        assert_eq!(number(indexed, "backoffLimit"), i32::MAX);
    }

    #[test]
    fn pods_of_a_job_end() {
        let mut object = job(json!({}));
        object["spec"]["template"]["spec"]["restartPolicy"] = Value::Null;
        object["spec"]["template"]["spec"].as_object_mut().expect("map").remove("restartPolicy");
        assert_eq!(
            lines(&admit("batch", "Job", None, object)),
            [
                r#"spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#
            ]
        );
    }

    #[test]
    fn the_template_stays() {
        let old = created("batch", "Job", job(json!({})));
        let mut new = old.clone();
        new["spec"]["template"]["spec"]["containers"][0]["image"] = "j".into();
        let found = lines(&admit("batch", "Job", Some(&old), new));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("spec.template: Invalid value: "), "{found:?}");
        assert!(found[0].ends_with(": field is immutable"));
        let mut resumed = old.clone();
        resumed["spec"]["parallelism"] = 0.into();
        assert!(admit("batch", "Job", Some(&old), resumed).is_ok());
    }
}
