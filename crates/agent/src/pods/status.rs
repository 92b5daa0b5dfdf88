//! The status of a pod, as its node reports it.

use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use super::desired::{Container, Desired};
use super::machine::{InitFailure, Machine};
use super::record::{Exit, Record, Stage};
use super::run::{Probes, Run, Running};

/// A node's condition of a pod: type, whether it holds, reason and message where it does not.
struct Condition(&'static str, bool, &'static str, String);

/// What the node knows of a pod: fields for a strategic merge patch of its status.
///
/// Fields and conditions of others are not in it. Times are kept from the Pod as long as what they
/// are about stays the same, so that a status that says nothing new is equal to the last one.
pub fn status(
    now: Timestamp,
    pod: &Pod,
    desired: &Desired,
    machine: &Machine,
    node: &[IpAddr],
) -> Value {
    let record = machine.record();
    let sandbox = record.filter(|record| record.stage == Stage::Ready);
    let known = pod.status.clone().unwrap_or_default();
    let containers: Vec<Value> = desired
        .containers
        .iter()
        .enumerate()
        .map(|(index, container)| container_status(now, index, container, pod, machine))
        .collect();
    let ready = |container: &&Value| container["ready"] != true;
    let unready: Vec<&str> =
        containers.iter().filter(ready).filter_map(|c| c["name"].as_str()).collect();
    let phase = phase(machine, &containers, known.phase.as_deref());
    let started = known.start_time.map_or(now, |time| time.0);

    let mut status = Map::new();
    status.insert("phase".into(), phase.into());
    status.insert("startTime".into(), time(started));
    if let Some(first) = node.first() {
        status.insert("hostIP".into(), first.to_string().into());
        status.insert("hostIPs".into(), replaced(node));
    }
    let addresses = match sandbox {
        Some(Record { netns: None, .. }) => node,
        Some(record) => &record.addresses,
        None => &[],
    };
    // A pod that ends keeps the addresses it had in its status, as it does on other nodes.
    if let Some(first) = addresses.first() {
        status.insert("podIP".into(), first.to_string().into());
        status.insert("podIPs".into(), replaced(addresses));
    }
    if let Some(generation) = pod.metadata.generation {
        status.insert("observedGeneration".into(), generation.into());
    }
    let done = matches!(phase, "Succeeded" | "Failed");
    let waiting = if done {
        ("PodCompleted", String::new())
    } else {
        ("ContainersNotReady", format!("containers with unready status: [{}]", unready.join(" ")))
    };
    let all_ready = unready.is_empty() && !done;
    let gates = gates_open(pod);
    let ready = match &gates {
        _ if !all_ready => Condition("Ready", false, waiting.0, waiting.1.clone()),
        Err(missing) => Condition("Ready", false, "ReadinessGatesNotReady", missing.clone()),
        Ok(()) => Condition("Ready", true, "", String::new()),
    };
    let conditions = [
        Condition("PodReadyToStartContainers", sandbox.is_some(), "", String::new()),
        match machine.init_failure() {
            Some((failure, _)) => Condition(
                "Initialized",
                false,
                "ContainersNotInitialized",
                format!("containers with incomplete status: [{}]", failure.container),
            ),
            None => {
                Condition("Initialized", true, if done { waiting.0 } else { "" }, String::new())
            }
        },
        ready,
        Condition("ContainersReady", all_ready, waiting.0, waiting.1),
        Condition("PodScheduled", true, "", String::new()),
    ];
    let conditions = conditions.into_iter().map(|condition| condition.print(now, pod)).collect();
    status.insert("conditions".into(), Value::Array(conditions));
    status.insert("containerStatuses".into(), Value::Array(containers));
    let init = init_statuses(started, pod, record, machine.init_failure());
    if !init.is_empty() {
        status.insert("initContainerStatuses".into(), Value::Array(init));
    }
    Value::Object(status)
}

impl Condition {
    fn print(self, now: Timestamp, pod: &Pod) -> Value {
        let Self(kind, holds, reason, message) = self;
        let status = if holds { "True" } else { "False" };
        let known = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let known = known.into_iter().find(|known| known.type_ == kind && known.status == status);
        let since = known.and_then(|known| known.last_transition_time.as_ref());
        let mut condition = json!({
            "type": kind,
            "status": status,
            "lastTransitionTime": time(since.map_or(now, |time| time.0)),
        });
        // What is not said here would stay as it was.
        let text = |text: &str| {
            if holds || text.is_empty() { Value::Null } else { text.into() }
        };
        condition["reason"] =
            if kind == "Initialized" && !reason.is_empty() { reason.into() } else { text(reason) };
        condition["message"] = text(&message);
        condition
    }
}

/// Whether the conditions that others write for this pod hold.
fn gates_open(pod: &Pod) -> Result<(), String> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let holds = |kind: &str| {
        let mut all = conditions.into_iter().flatten();
        all.any(|condition| condition.type_ == kind && condition.status == "True")
    };
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let closed: Vec<&str> =
        gates.map(|gate| gate.condition_type.as_str()).filter(|kind| !holds(kind)).collect();
    match closed.as_slice() {
        [] => Ok(()),
        closed => Err(format!("the readiness gates {closed:?} are not true")),
    }
}

fn phase(machine: &Machine, containers: &[Value], known: Option<&str>) -> &'static str {
    match (machine.finished(), known) {
        (Some(exit), _) if exit.code == Some(0) => "Succeeded",
        (Some(_), _) | (None, Some("Failed")) => "Failed",
        (None, Some("Succeeded")) => "Succeeded",
        // Once it ran, it is running until it ends, also while its process is started again.
        (None, Some("Running")) => "Running",
        (None, _) => {
            let begun = |container: &Value| container["state"]["waiting"].is_null();
            if containers.iter().all(begun) { "Running" } else { "Pending" }
        }
    }
}

fn container_status(
    now: Timestamp,
    index: usize,
    container: &Container,
    pod: &Pod,
    machine: &Machine,
) -> Value {
    let record = machine.record();
    let id = record.map(|record| container_id(record, index));
    let last = record.and_then(|record| record.last_exit);
    let ready_stage = record.is_some_and(|record| record.stage == Stage::Ready);
    let (mut started, mut ready) = (false, false);
    let state = match machine.run() {
        Run::Running(running) => {
            if let Some((reason, message)) = waits(running, container) {
                waiting(reason, message)
            } else {
                let probes = running.containers.get(index);
                started = probes.is_some_and(Probes::started);
                ready = ready_stage && probes.is_some_and(Probes::ready);
                json!({"running": {"startedAt": time(running.process.started)}})
            }
        }
        _ if machine.finished().is_some() || !ready_stage && last.is_some() => {
            terminated(machine.finished().or(last), id.as_deref())
        }
        Run::Stopped { .. } if machine.init_failure().is_some() => {
            waiting("PodInitializing", String::new())
        }
        Run::Stopped { .. } if machine.backing_off(now) => waiting(
            "CrashLoopBackOff",
            format!(
                "back-off restarting failed container={} pod={}",
                container.name,
                machine.identity()
            ),
        ),
        // A pod that is over keeps what was said of its containers.
        _ => known_end(pod, &container.name)
            .unwrap_or_else(|| waiting("ContainerCreating", String::new())),
    };
    let running = state.get("terminated").is_none();
    let mut status = json!({
        "name": container.name,
        "image": container.image,
        "imageID": format!("landbridge://not-run/{}", container.image),
        "restartCount": record.map_or_else(|| known_restarts(pod, &container.name), |r| r.restarts),
        "ready": ready,
        "started": started,
        "state": state,
    });
    if let Some(id) = id {
        status["containerID"] = format!("landbridge://{id}").into();
    }
    if let Some(exit) = last.filter(|_| running) {
        status["lastState"] = terminated(Some(exit), None);
    }
    status
}

/// Why a container of a running process is not running itself.
fn waits(running: &Running, container: &Container) -> Option<(&'static str, String)> {
    let Some(problems) = &running.problems else {
        return Some(("ContainerCreating", String::new()));
    };
    let own: Vec<String> = problems
        .iter()
        .filter(|problem| problem.container == container.name)
        .map(|p| format!("port {}/{}: {}", p.port.number, p.port.protocol.as_str(), p.why))
        .collect();
    (!own.is_empty()).then(|| ("PortNotAvailable", own.join("; ")))
}

fn waiting(reason: &str, message: String) -> Value {
    let mut waiting = json!({"reason": reason});
    if !message.is_empty() {
        waiting["message"] = message.into();
    }
    json!({"waiting": waiting})
}

fn terminated(exit: Option<Exit>, id: Option<&str>) -> Value {
    let Some(exit) = exit else { return waiting("ContainerCreating", String::new()) };
    let code = exit.code.unwrap_or(137);
    let reason = match exit.code {
        None => "ContainerStatusUnknown",
        Some(0) => "Completed",
        Some(_) => "Error",
    };
    let mut terminated = json!({
        "exitCode": code,
        "reason": reason,
        "startedAt": time(exit.started),
        "finishedAt": time(exit.at),
    });
    if let Some(id) = id {
        terminated["containerID"] = format!("landbridge://{id}").into();
    }
    json!({"terminated": terminated})
}

fn known_end(pod: &Pod, name: &str) -> Option<Value> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let state = statuses.iter().find(|status| status.name == name)?.state.as_ref()?;
    let terminated = state.terminated.as_ref()?;
    Some(json!({"terminated": serde_json::to_value(terminated).ok()?}))
}

fn known_restarts(pod: &Pod, name: &str) -> u32 {
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let known = statuses.into_iter().find(|status| status.name == name);
    known.and_then(|known| u32::try_from(known.restart_count).ok()).unwrap_or(0)
}

/// Images are not run, so there is nothing an init container could do: it is done. One that tries a name
/// server's options may have failed; those behind it wait.
fn init_statuses(
    started: Timestamp,
    pod: &Pod,
    record: Option<&Record>,
    failure: Option<&(InitFailure, u32)>,
) -> Vec<Value> {
    let all = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let failed_at =
        failure.and_then(|(failure, _)| all.into_iter().position(|c| c.name == failure.container));
    let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let status = |(index, container): (usize, &k8s_openapi::api::core::v1::Container)| {
        let image = container.image.clone().unwrap_or_default();
        let id = record.map_or_else(String::new, |record| container_id(record, 0x8000 + index));
        let failed = failure.filter(|_| failed_at == Some(index));
        let state = if let Some((InitFailure { container, .. }, _)) = failed {
            let pod = pod.metadata.name.as_deref().unwrap_or_default();
            waiting(
                "CrashLoopBackOff",
                format!("back-off restarting failed container={container} pod={pod}"),
            )
        } else if failed_at.is_some_and(|at| at < index) {
            waiting("PodInitializing", String::new())
        } else if container.restart_policy.as_deref() == Some("Always") {
            json!({"running": {"startedAt": time(started)}})
        } else {
            json!({"terminated": {
                "exitCode": 0,
                "reason": "Completed",
                "startedAt": time(started),
                "finishedAt": time(started),
            }})
        };
        let mut status = json!({
            "name": container.name,
            "image": image,
            "imageID": format!("landbridge://not-run/{image}"),
            "restartCount": failed.map_or(0, |(_, count)| count - 1),
            "ready": state.get("waiting").is_none(),
            "started": state.get("running").is_some(),
            "state": state,
        });
        if !id.is_empty() {
            status["containerID"] = format!("landbridge://{id}").into();
        }
        if let Some((failure, _)) = failed {
            status["lastState"] = json!({"terminated": {
                "exitCode": failure.code,
                "reason": "Error",
                "message": failure.words,
                "startedAt": time(failure.at),
                "finishedAt": time(failure.at),
            }});
        }
        status
    };
    containers.into_iter().enumerate().map(status).collect()
}

/// The name of a container: that of its sandbox, but for the end, which counts it and its starts.
fn container_id(record: &Record, index: usize) -> String {
    let sandbox: String = record.sandbox.chars().take(52).collect();
    format!("{sandbox}{index:04x}{:08x}", record.restarts)
}

/// A list of addresses that takes the place of the one before.
fn replaced(addresses: &[IpAddr]) -> Value {
    let own = addresses.iter().map(|ip| json!({"ip": ip.to_string()}));
    [json!({"$patch": "replace"})].into_iter().chain(own).collect()
}

/// As Kubernetes writes it: in seconds.
fn time(time: Timestamp) -> Value {
    let seconds = Timestamp::from_second(time.as_second()).unwrap_or(time);
    seconds.to_string().into()
}
