//! Pods in the states people ask about.

#![allow(clippy::needless_pass_by_value, reason = "json! makes values, not references")]

use serde_json::{Value, json};

use super::{check, table};

/// READY, STATUS and RESTARTS of a pod with two containers.
fn state(mut pod: Value) -> String {
    if pod["spec"]["containers"].is_null() {
        pod["spec"]["containers"] = json!([{"name": "web"}, {"name": "log"}]);
    }
    let (_, row) = table("", "Pod", pod);
    row.split(" | ").skip(1).take(3).collect::<Vec<_>>().join(" | ")
}

fn running(name: &str) -> Value {
    json!({"name": name, "ready": true, "started": true, "restartCount": 0,
           "state": {"running": {"startedAt": "2026-03-01T09:00:00Z"}}})
}

fn waiting(name: &str, reason: &str) -> Value {
    json!({"name": name, "ready": false, "restartCount": 0, "state": {"waiting": {"reason": reason}}})
}

fn ended(name: &str, terminated: Value) -> Value {
    json!({"name": name, "ready": false, "restartCount": 0, "state": {"terminated": terminated}})
}

fn restarted(mut container: Value, count: i64, finished: &str) -> Value {
    container["restartCount"] = count.into();
    container["lastState"] = json!({"terminated": {"exitCode": 1, "finishedAt": finished}});
    container
}

fn pod(phase: &str, containers: Value) -> Value {
    json!({"status": {"phase": phase, "containerStatuses": containers}})
}

#[test]
fn whole_rows() {
    let mut full = pod("Running", json!([running("web")]));
    full["spec"] = json!({
        "containers": [{"name": "web"}], "nodeName": "n1",
        "readinessGates": [{"conditionType": "a/ok"}, {"conditionType": "a/not"}],
    });
    full["status"]["podIPs"] = json!([{"ip": "10.1.0.7"}, {"ip": "fd00::7"}]);
    full["status"]["nominatedNodeName"] = "n2".into();
    full["status"]["conditions"] =
        json!([{"type": "a/ok", "status": "True"}, {"type": "a/not", "status": "False"}]);
    check(
        "",
        "Pod",
        "Name | Ready | Status | Restarts | Age | IP* | Node* | Nominated Node* | Readiness Gates*",
        &[
            (full, "x | 1/1 | Running | 0 | 3h | 10.1.0.7 | n1 | n2 | 1/2"),
            (
                json!({"spec": {"containers": [{}]}, "status": {"phase": "Pending"}}),
                "x | 0/1 | Pending | 0 | 3h | <none> | <none> | <none> | <none>",
            ),
        ],
    );
}

#[test]
fn containers_decide() {
    let crash = restarted(waiting("web", "CrashLoopBackOff"), 5, "2026-03-01T11:55:00Z");
    let twice = json!([
        restarted(running("web"), 2, "2026-03-01T11:00:00Z"),
        restarted(running("log"), 1, "2026-03-01T11:50:00Z"),
    ]);
    let mut no_record = running("web");
    no_record["restartCount"] = 3.into();
    let completed = ended("web", json!({"exitCode": 0, "reason": "Completed"}));
    let mut half_done = pod("Running", json!([completed, running("log")]));
    let mut half_ready = half_done.clone();
    half_ready["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    half_done["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    let evicted = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
    let gated = json!({"status": {"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"},
    ]}});
    let cases = [
        (pod("Running", json!([running("web"), running("log")])), "2/2 | Running | 0"),
        (pod("Running", json!([crash, running("log")])), "1/2 | CrashLoopBackOff | 5 (5m ago)"),
        (pod("Running", twice), "2/2 | Running | 3 (10m ago)"),
        (pod("Running", json!([no_record, running("log")])), "2/2 | Running | 3"),
        (
            // The first container has the last word.
            pod("Pending", json!([waiting("web", "ImagePullBackOff"), waiting("log", "X")])),
            "0/2 | ImagePullBackOff | 0",
        ),
        (half_done, "1/2 | NotReady | 0"),
        (half_ready, "1/2 | Running | 0"),
        (
            pod("Succeeded", json!([ended("web", json!({"exitCode": 0, "reason": "Completed"}))])),
            "0/2 | Completed | 0",
        ),
        (pod("Failed", json!([ended("web", json!({"exitCode": 3}))])), "0/2 | ExitCode:3 | 0"),
        (
            pod("Failed", json!([ended("web", json!({"exitCode": 137, "signal": 9}))])),
            "0/2 | Signal:9 | 0",
        ),
        (
            pod("Failed", json!([ended("web", json!({"exitCode": 137, "reason": "OOMKilled"}))])),
            "0/2 | OOMKilled | 0",
        ),
        (evicted, "0/2 | Evicted | 0"),
        (gated, "0/2 | SchedulingGated | 0"),
    ];
    for (pod, expected) in cases {
        assert_eq!(state(pod.clone()), expected, "{pod}");
    }
}

#[test]
fn init_containers_decide_before() {
    let with_init = |statuses: Value| {
        json!({
            "spec": {
                "containers": [{"name": "web"}],
                "initContainers": [{"name": "one"}, {"name": "two"}],
            },
            "status": {
                "phase": "Pending", "initContainerStatuses": statuses,
                "containerStatuses": [waiting("web", "PodInitializing")],
            },
        })
    };
    let done = ended("one", json!({"exitCode": 0, "reason": "Completed"}));
    let failing = restarted(
        ended("two", json!({"exitCode": 2, "reason": "Error"})),
        4,
        "2026-03-01T11:58:00Z",
    );
    let mut initialised = with_init(json!([done, waiting("two", "PodInitializing")]));
    initialised["status"]["conditions"] = json!([{"type": "Initialized", "status": "True"}]);
    initialised["status"]["containerStatuses"] = json!([running("web")]);
    let cases = [
        (
            with_init(json!([running("one"), waiting("two", "PodInitializing")])),
            "0/1 | Init:0/2 | 0",
        ),
        (with_init(json!([done, waiting("two", "PodInitializing")])), "0/1 | Init:1/2 | 0"),
        (
            with_init(json!([done, waiting("two", "ImagePullBackOff")])),
            "0/1 | Init:ImagePullBackOff | 0",
        ),
        (with_init(json!([done, failing])), "0/1 | Init:Error | 4 (2m ago)"),
        (with_init(json!([ended("one", json!({"exitCode": 9}))])), "0/1 | Init:ExitCode:9 | 0"),
        (
            with_init(json!([ended("one", json!({"exitCode": 9, "signal": 15}))])),
            "0/1 | Init:Signal:15 | 0",
        ),
        (with_init(json!([done, done])), "0/1 | PodInitializing | 0"),
        (initialised, "1/1 | Init:1/2 | 0"),
    ];
    for (pod, expected) in cases {
        assert_eq!(state(pod.clone()), expected, "{pod}");
    }
}

#[test]
fn sidecars_count_as_containers() {
    let sidecar = restarted(running("proxy"), 2, "2026-03-01T11:59:00Z");
    let init = restarted(
        ended("setup", json!({"exitCode": 0, "reason": "Completed"})),
        7,
        "2026-03-01T11:59:30Z",
    );
    let pod = json!({
        "spec": {
            "containers": [{"name": "web"}],
            "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
        },
        "status": {
            "phase": "Running", "initContainerStatuses": [init, sidecar],
            "containerStatuses": [running("web")],
        },
    });
    // Restarts of ordinary init containers are forgotten once the pod runs.
    assert_eq!(state(pod), "2/2 | Running | 2 (60s ago)");
}

#[test]
fn deletion_decides_last() {
    let mut going = pod("Running", json!([running("web"), running("log")]));
    going["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:10Z".into();
    assert_eq!(state(going.clone()), "2/2 | Terminating | 0");
    let mut lost = going.clone();
    lost["status"]["reason"] = "NodeLost".into();
    assert_eq!(state(lost), "2/2 | Unknown | 0");
    let mut done = going;
    done["status"]["phase"] = "Succeeded".into();
    done["status"]["containerStatuses"] =
        json!([ended("web", json!({"exitCode": 0, "reason": "Completed"}))]);
    assert_eq!(state(done), "0/2 | Completed | 0");
}
