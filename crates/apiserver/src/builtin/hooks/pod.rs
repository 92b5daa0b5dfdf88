//! Pods. Nothing runs them, but they look and behave as if something might.

mod change;
mod qos;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::{GroupKind, GroupResource};
use landbridge_machinery::hooks::{Operation, Request};
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Map, Value, json};

use super::pod_spec;
use super::value::{is_empty, items, items_mut, map_at, set, set_default, text};

/// Seconds a pod stays on a node that is not ready or not reachable.
const TOLERATED_SECONDS: u32 = 300;
const UNHEALTHY_TAINTS: [&str; 2] =
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Fills in what defaulting functions and admission plugins would.
pub fn mutate(request: &Request<'_>, pod: &mut Value) -> ApiResult<()> {
    let Some(spec) = pod.get_mut("spec") else { return Ok(()) };
    pod_spec::defaults("Pod", spec)?;
    requests_follow_limits(spec);
    if let Some(spec) = map_at(spec, &[]) {
        set_default(spec, "enableServiceLinks", true);
    }
    if spec["hostNetwork"] == true {
        host_ports_follow_container_ports(spec);
    }
    if request.operation == Operation::Create {
        admit(request, spec)?;
        pod_spec::defaults("Pod", spec)?;
        let quality = qos::class(spec);
        if let Some(status) = map_at(pod, &["status"]) {
            set_default(status, "phase", "Pending");
            set_default(status, "qosClass", quality);
        }
    }
    Ok(())
}

fn requests_follow_limits(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in items_mut(spec, &[list]) {
            let Some(limits) = container["resources"]["limits"].as_object().cloned() else {
                continue;
            };
            if let Some(requests) = map_at(container, &["resources", "requests"]) {
                for (name, amount) in limits {
                    requests.entry(name).or_insert(amount);
                }
            }
        }
    }
}

fn host_ports_follow_container_ports(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in items_mut(spec, &[list]) {
            for port in items_mut(container, &["ports"]) {
                if port["hostPort"].as_i64().unwrap_or(0) == 0 {
                    let number = port["containerPort"].clone();
                    set(port, "hostPort", number);
                }
            }
        }
    }
}

/// What admission plugins do to a new pod: service account, tolerations, priority.
fn admit(request: &Request<'_>, spec: &mut Value) -> ApiResult<()> {
    tolerate_unhealthy_nodes(spec);
    let class = text(&spec["priorityClassName"]).to_owned();
    let Some(spec) = map_at(spec, &[]) else { return Ok(()) };
    set_default(spec, "serviceAccountName", "default");
    prioritise(request, spec, &class)
}

fn tolerate_unhealthy_nodes(spec: &mut Value) {
    for taint in UNHEALTHY_TAINTS {
        let tolerated = |t: &Value| {
            let (key, effect) = (text(&t["key"]), text(&t["effect"]));
            (key == taint || key.is_empty()) && matches!(effect, "" | "NoExecute")
        };
        let mut tolerations = items(&spec["tolerations"]).to_vec();
        if !tolerations.iter().any(tolerated) {
            tolerations.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": TOLERATED_SECONDS,
            }));
            set(spec, "tolerations", tolerations);
        }
    }
}

fn prioritise(request: &Request<'_>, spec: &mut Map<String, Value>, class: &str) -> ApiResult<()> {
    let (mut priority, mut preemption) = (json!(0), json!("PreemptLowerPriority"));
    match class {
        "" => {}
        "system-cluster-critical" => priority = json!(2_000_000_000),
        "system-node-critical" => priority = json!(2_000_001_000),
        name => {
            let kind = GroupKind::new("scheduling.k8s.io", "PriorityClass");
            let Some(class) = request.objects.get(&kind, None, name) else {
                let why = format!("no PriorityClass with name {name} was found");
                return Err(ApiError::forbidden(
                    &GroupResource::new("", "pods"),
                    request.name,
                    &why,
                ));
            };
            priority = class["value"].clone();
            if !is_empty(&class["preemptionPolicy"]) {
                preemption = class["preemptionPolicy"].clone();
            }
        }
    }
    set_default(spec, "priority", priority);
    set_default(spec, "preemptionPolicy", preemption);
    Ok(())
}

/// Everything wrong with a pod, or with how it changes.
pub fn check(request: &Request<'_>, pod: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = pod_spec::check(&path, &pod["spec"]);
    if let Some(old) = request.old {
        errors.extend(change::check(&path, &old["spec"], &pod["spec"]));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Known, admit, admit_with, created, lines};
    use super::*;

    fn pod(spec: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec})
    }

    #[test]
    fn a_new_pod_is_complete() {
        let pod = created(
            "",
            "Pod",
            pod(json!({"hostNetwork": true, "volumes": [{"name": "v"}],
                "containers": [{"name": "c", "image": "nginx",
                    "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": 1}}}]})),
        );
        let spec = &pod["spec"];
        assert_eq!(spec["serviceAccountName"], "default");
        assert_eq!(spec["serviceAccount"], "default");
        assert_eq!(spec["enableServiceLinks"], true);
        assert_eq!(spec["priority"], 0);
        assert_eq!(spec["tolerations"].as_array().map(Vec::len), Some(2));
        assert_eq!(spec["volumes"][0], json!({"name": "v", "emptyDir": {}}));
        let container = &spec["containers"][0];
        assert_eq!(container["imagePullPolicy"], "Always");
        assert_eq!(container["resources"]["requests"], json!({"cpu": "1"}));
        assert_eq!(container["ports"][0]["hostPort"], 80);
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
    }

    #[test]
    fn wrong_pods_are_explained() {
        let container = |extra: Value| {
            let mut container = json!({"name": "c", "image": "i:1"});
            for (key, value) in extra.as_object().expect("map") {
                container[key] = value.clone();
            }
            json!({"containers": [container]})
        };
        let cases = [
            (json!({}), vec!["spec.containers: Required value"]),
            (
                json!({"containers": [{"name": "c"}]}),
                vec!["spec.containers[0].image: Required value"],
            ),
            (
                json!({"containers": [{"image": "i"}]}),
                vec!["spec.containers[0].name: Required value"],
            ),
            (
                json!({"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}),
                vec![r#"spec.containers[1].name: Duplicate value: "c""#],
            ),
            (
                json!({"restartPolicy": "Perhaps", "containers": [{"name": "c", "image": "i"}]}),
                vec![
                    r#"spec.restartPolicy: Unsupported value: "Perhaps": supported values: "Always", "OnFailure", "Never""#,
                ],
            ),
            (
                container(json!({"ports": [{"containerPort": 70000}]})),
                vec![
                    "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                ],
            ),
            (
                container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
                vec![r#"spec.containers[0].volumeMounts[0].name: Not found: "v""#],
            ),
            (
                container(
                    json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1500m"}}}),
                ),
                vec![
                    r#"spec.containers[0].resources.requests: Invalid value: "1500m": must be less than or equal to cpu limit of 1"#,
                ],
            ),
            (
                container(json!({"imagePullPolicy": "Sometimes"})),
                vec![
                    r#"spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never""#,
                ],
            ),
        ];
        for (spec, wanted) in cases {
            assert_eq!(lines(&admit("", "Pod", None, pod(spec.clone()))), wanted, "{spec}");
        }
    }

    #[test]
    fn the_priority_class_gives_the_priority() {
        let spec =
            json!({"priorityClassName": "high", "containers": [{"name": "c", "image": "i"}]});
        let known = Known::of([
            json!({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}),
        ]);
        let admitted = admit_with("", "Pod", None, pod(spec.clone()), &known).expect("admitted");
        assert_eq!(admitted["spec"]["priority"], 1000);
        let refused = admit("", "Pod", None, pod(spec)).expect_err("unknown class");
        assert_eq!(
            refused.message,
            r#"pods "a" is forbidden: no PriorityClass with name high was found"#
        );
    }
}
