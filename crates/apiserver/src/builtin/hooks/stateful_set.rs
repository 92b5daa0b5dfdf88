//! StatefulSets.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use super::value::{is_empty, items_mut, map_at, set, set_default, text};
use super::{one_of, workload};

const CHANGEABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const FORBIDDEN: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// A rolling update begins at the first pod; claims say what they are.
pub fn mutate(_: &Request<'_>, stateful_set: &mut Value) -> ApiResult<()> {
    workload::template_defaults("StatefulSet", stateful_set)?;
    let strategy = stateful_set["spec"]["updateStrategy"].clone();
    if is_empty(&strategy["type"]) {
        set_rolling(stateful_set);
    } else if text(&strategy["type"]) == "RollingUpdate"
        && strategy["rollingUpdate"].is_object()
        && let Some(rolling) = map_at(stateful_set, &["spec", "updateStrategy", "rollingUpdate"])
    {
        set_default(rolling, "partition", 0);
    }
    for claim in items_mut(stateful_set, &["spec", "volumeClaimTemplates"]) {
        set(claim, "apiVersion", "v1");
        set(claim, "kind", "PersistentVolumeClaim");
    }
    Ok(())
}

fn set_rolling(stateful_set: &mut Value) {
    if let Some(strategy) = map_at(stateful_set, &["spec", "updateStrategy"]) {
        strategy.insert("type".into(), "RollingUpdate".into());
    }
    if let Some(rolling) = map_at(stateful_set, &["spec", "updateStrategy", "rollingUpdate"]) {
        set_default(rolling, "partition", 0);
    }
}

/// Everything wrong with a stateful set.
pub fn check(request: &Request<'_>, stateful_set: &Value) -> Vec<FieldError> {
    let spec = &stateful_set["spec"];
    let path = FieldPath::new("spec");
    let mut errors = Vec::new();
    let policies = ["OrderedReady", "Parallel"];
    let policy = text(&spec["podManagementPolicy"]);
    errors.extend(one_of(&path.child("podManagementPolicy"), policy, &policies));
    let kind = text(&spec["updateStrategy"]["type"]);
    let strategy = path.child("updateStrategy");
    errors.extend(one_of(&strategy.child("type"), kind, &["RollingUpdate", "OnDelete"]));
    if kind == "OnDelete" && spec["updateStrategy"]["rollingUpdate"].is_object() {
        let why = "only allowed for updateStrategy 'RollingUpdate'";
        let given = spec["updateStrategy"]["rollingUpdate"].clone();
        errors.push(FieldError::invalid(&strategy.child("rollingUpdate"), given, why));
    }
    let numbers = ["replicas", "minReadySeconds", "revisionHistoryLimit"];
    errors.extend(workload::check_numbers(stateful_set, &numbers));
    errors.extend(workload::check_selector(stateful_set, "statefulset"));
    errors.extend(workload::check_template(stateful_set));
    errors.extend(workload::check_runs_always(stateful_set));
    if request.old.is_some_and(|old| without_changeable(old) != without_changeable(stateful_set)) {
        errors.push(FieldError::forbidden(&path, FORBIDDEN));
    }
    errors
}

fn without_changeable(stateful_set: &Value) -> Value {
    let mut spec = stateful_set["spec"].as_object().cloned().unwrap_or_default();
    spec.retain(|field, value| !CHANGEABLE.contains(&field.as_str()) && !is_empty(value));
    json!(spec)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{admit, created, lines};
    use super::*;

    fn stateful_set(extra: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a"}, "spec": {
            "serviceName": "s", "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }});
        for (key, value) in extra.as_object().expect("map") {
            object["spec"][key] = value.clone();
        }
        object
    }

    #[test]
    fn defaults() {
        let object = stateful_set(
            json!({"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {}}]}),
        );
        let spec = &created("apps", "StatefulSet", object)["spec"];
        assert_eq!(
            spec["updateStrategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
        );
        assert_eq!(spec["podManagementPolicy"], "OrderedReady");
        assert_eq!(
            spec["persistentVolumeClaimRetentionPolicy"],
            json!({"whenDeleted": "Retain", "whenScaled": "Retain"})
        );
        assert_eq!(
            spec["volumeClaimTemplates"][0],
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"},
                "spec": {"volumeMode": "Filesystem", "resources": {}}, "status": {"phase": "Pending"}})
        );
        let plain = stateful_set(json!({"updateStrategy": {"type": "RollingUpdate"}}));
        assert_eq!(
            created("apps", "StatefulSet", plain)["spec"]["updateStrategy"],
            json!({"type": "RollingUpdate"})
        );
    }

    #[test]
    fn little_may_change() {
        let old = created("apps", "StatefulSet", stateful_set(json!({})));
        let scaled = stateful_set(json!({"replicas": 3}));
        assert!(admit("apps", "StatefulSet", Some(&old), scaled).is_ok());
        let renamed = stateful_set(json!({"serviceName": "t"}));
        let found = lines(&admit("apps", "StatefulSet", Some(&old), renamed));
        assert!(
            found.len() == 1
                && found[0].starts_with("spec: Forbidden: updates to statefulset spec")
        );
    }
}
