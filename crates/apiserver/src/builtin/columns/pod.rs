//! Pods: the one word that says how a pod is doing.
//!
//! The word starts as the phase and is overridden by what is more telling, in upstream's order:
//!
//! ```text
//! phase → status.reason → scheduling gates → init containers → containers → deletion
//! ```

use jiff::Timestamp;
use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age, since};
use serde_json::Value;

use super::read::{NONE, is_true, list, number, text, text_or};

pub(super) fn columns() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Ready", "How many of the containers are ready."),
        Column::new("Status", "How the pod is doing, in one word."),
        Column::new("Restarts", "How often containers were restarted, and when last."),
        Column::age(),
        Column::new("IP", "Address of the pod.").wide(),
        Column::new("Node", "Where the pod runs.").wide(),
        Column::new("Nominated Node", "Where room is being made for the pod.").wide(),
        Column::new("Readiness Gates", "How many further conditions are met.").wide(),
    ];
    Columns::Computed(columns, cells)
}

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let summary = summarise(pod);
    let (spec, status) = (&pod["spec"], &pod["status"]);
    vec![
        object::name(pod).into(),
        format!("{}/{}", summary.ready, containers(spec)).into(),
        summary.reason.into(),
        summary.restarts.line(now).into(),
        age(pod, now).into(),
        text_or(&status["podIPs"][0]["ip"], text_or(&status["podIP"], NONE)).into(),
        text_or(&spec["nodeName"], NONE).into(),
        text_or(&status["nominatedNodeName"], NONE).into(),
        readiness_gates(pod).into(),
    ]
}

/// Restarts so far, and when the last run before one ended.
#[derive(Default)]
struct Restarts<'a> {
    count: i64,
    last: &'a str,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a Value) {
        self.count += number(&container["restartCount"]);
        let finished = text(&container["lastState"]["terminated"]["finishedAt"]);
        // Timestamps of one format and zone order like their texts.
        self.last = self.last.max(finished);
    }

    fn line(&self, now: Timestamp) -> String {
        if self.count == 0 || self.last.is_empty() {
            return self.count.to_string();
        }
        format!("{} ({} ago)", self.count, since(self.last, now))
    }
}

struct Summary<'a> {
    reason: String,
    ready: usize,
    restarts: Restarts<'a>,
}

fn summarise(pod: &Value) -> Summary<'_> {
    let status = &pod["status"];
    let phase = text(&status["phase"]);
    let gated = list(&status["conditions"]).iter().any(|condition| {
        condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
    });
    let reason = if gated { "SchedulingGated" } else { text_or(&status["reason"], phase) };

    let init = initialise(pod);
    let mut summary =
        Summary { reason: reason.to_owned(), ready: init.ready, restarts: init.restarts };
    let started = init.stuck.is_none() || is_true(pod, "Initialized");
    if let Some(stuck) = init.stuck {
        summary.reason = stuck;
    }
    if started {
        // From here on only sidecars and containers count.
        summary.restarts = init.sidecar_restarts;
        run(pod, &mut summary);
    }
    if object::is_terminating(pod) {
        if status["reason"] == "NodeLost" {
            summary.reason = "Unknown".into();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            summary.reason = "Terminating".into();
        }
    }
    summary
}

/// How far initialisation has come.
#[derive(Default)]
struct Initialisation<'a> {
    /// What it waits for; `None` when it is over.
    stuck: Option<String>,
    /// Sidecars that are ready.
    ready: usize,
    restarts: Restarts<'a>,
    sidecar_restarts: Restarts<'a>,
}

fn initialise(pod: &Value) -> Initialisation<'_> {
    let mut init = Initialisation::default();
    let declared = list(&pod["spec"]["initContainers"]);
    for (index, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let spec = declared.iter().find(|spec| spec["name"] == container["name"]);
        let sidecar = spec.is_some_and(is_sidecar);
        init.restarts.add(container);
        if sidecar {
            init.sidecar_restarts.add(container);
        }
        let ended = &container["state"]["terminated"];
        if ended.is_object() && number(&ended["exitCode"]) == 0 {
            continue;
        }
        if sidecar && container["started"] == true {
            init.ready += usize::from(container["ready"] == true);
            continue;
        }
        let waiting = text(&container["state"]["waiting"]["reason"]);
        let why = if ended.is_object() {
            end_reason(ended)
        } else if waiting.is_empty() || waiting == "PodInitializing" {
            format!("{index}/{}", declared.len())
        } else {
            waiting.to_owned()
        };
        init.stuck = Some(format!("Init:{why}"));
        break;
    }
    init
}

fn run<'a>(pod: &'a Value, summary: &mut Summary<'a>) {
    let mut running = false;
    // The first container has the last word.
    for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
        summary.restarts.add(container);
        let state = &container["state"];
        let waiting = text(&state["waiting"]["reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if state["terminated"].is_object() {
            summary.reason = end_reason(&state["terminated"]);
        } else if container["ready"] == true && state["running"].is_object() {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" && running {
        let ready = is_true(pod, "Ready");
        summary.reason = if ready { "Running" } else { "NotReady" }.into();
    }
}

/// Why a container ended.
fn end_reason(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Containers that are meant to run at the same time: sidecars count, other init containers do not.
fn containers(spec: &Value) -> usize {
    let sidecars = list(&spec["initContainers"]).iter().filter(|spec| is_sidecar(spec)).count();
    list(&spec["containers"]).len() + sidecars
}

fn is_sidecar(init_container: &Value) -> bool {
    init_container["restartPolicy"] == "Always"
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(pod, text(&gate["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}
