//! Kinds that make pods.

use jiff::Timestamp;
use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age, human_duration, since};
use serde_json::Value;

use super::read::{
    NONE, container_cells, container_columns, is_true, labels, number, selector, text,
};

/// A heading with a number below it.
fn integer(name: &str, description: &str) -> Column {
    Column::new(name, description).with_kind("integer")
}

/// Name, `special` columns, age and the wide ones about containers.
fn with_containers(special: Vec<Column>, selector: bool) -> Vec<Column> {
    let mut columns = vec![Column::name()];
    columns.extend(special);
    columns.push(Column::age());
    columns.extend(container_columns());
    if selector {
        columns.push(Column::new("Selector", "Labels of the pods it looks after.").wide());
    }
    columns
}

/// Upstream's defaulting makes one replica of none given.
fn replicas(it: &Value) -> i64 {
    it["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn ready_of_wanted(it: &Value) -> Value {
    format!("{}/{}", number(&it["status"]["readyReplicas"]), replicas(it)).into()
}

pub(super) fn controller_revision() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Controller", "Whose past this is."),
        integer("Revision", "Which of its states."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        let owner = object::owner_references(it).iter().find(|o| o["controller"] == true);
        let controller = owner.map_or_else(
            || NONE.to_owned(),
            |owner| {
                let kind = text(&owner["kind"]).to_lowercase();
                let group = text(&owner["apiVersion"]).split_once('/').map_or("", |(g, _)| g);
                let dot = if group.is_empty() { "" } else { "." };
                format!("{kind}{dot}{group}/{}", text(&owner["name"]))
            },
        );
        vec![
            object::name(it).into(),
            controller.into(),
            number(&it["revision"]).into(),
            age(it, now).into(),
        ]
    })
}

pub(super) fn deployment() -> Columns {
    let special = vec![
        Column::new("Ready", "Pods that are ready, of those wanted."),
        Column::new("Up-to-date", "Pods made from the latest template."),
        Column::new("Available", "Pods that have been ready long enough."),
    ];
    Columns::Computed(with_containers(special, true), |it, now| {
        let status = &it["status"];
        let mut cells = vec![
            object::name(it).into(),
            ready_of_wanted(it),
            number(&status["updatedReplicas"]).into(),
            number(&status["availableReplicas"]).into(),
            age(it, now).into(),
        ];
        cells.extend(container_cells(it));
        cells.push(selector(&it["spec"]["selector"]).into());
        cells
    })
}

pub(super) fn replica_set() -> Columns {
    let special = vec![
        integer("Desired", "Pods wanted."),
        integer("Current", "Pods there are."),
        integer("Ready", "Pods that are ready."),
    ];
    Columns::Computed(with_containers(special, true), |it, now| {
        let status = &it["status"];
        let mut cells = vec![
            object::name(it).into(),
            replicas(it).into(),
            number(&status["replicas"]).into(),
            number(&status["readyReplicas"]).into(),
            age(it, now).into(),
        ];
        cells.extend(container_cells(it));
        cells.push(selector(&it["spec"]["selector"]).into());
        cells
    })
}

pub(super) fn daemon_set() -> Columns {
    let special = vec![
        integer("Desired", "Nodes that should run the pod."),
        integer("Current", "Nodes that run at least one such pod."),
        integer("Ready", "Nodes where it is ready."),
        integer("Up-to-date", "Nodes that run the latest template."),
        integer("Available", "Nodes where it has been ready long enough."),
        Column::new("Node Selector", "Labels of the nodes that run the pod."),
    ];
    Columns::Computed(with_containers(special, true), |it, now| {
        let counts = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let mut cells = vec![object::name(it).into()];
        cells.extend(counts.map(|field| Value::from(number(&it["status"][field]))));
        cells.push(labels(&it["spec"]["template"]["spec"]["nodeSelector"]).into());
        cells.push(age(it, now).into());
        cells.extend(container_cells(it));
        cells.push(selector(&it["spec"]["selector"]).into());
        cells
    })
}

pub(super) fn stateful_set() -> Columns {
    let special = vec![Column::new("Ready", "Pods that are ready, of those wanted.")];
    Columns::Computed(with_containers(special, false), |it, now| {
        let mut cells = vec![object::name(it).into(), ready_of_wanted(it), age(it, now).into()];
        cells.extend(container_cells(it));
        cells
    })
}

pub(super) fn job() -> Columns {
    let special = vec![
        Column::new("Status", "How the job is doing, in one word."),
        Column::new("Completions", "Pods that succeeded, of those wanted."),
        Column::new("Duration", "How long the job has taken."),
    ];
    Columns::Computed(with_containers(special, true), |it, now| {
        let mut cells = vec![
            object::name(it).into(),
            job_status(it).into(),
            completions(it).into(),
            job_duration(it, now).into(),
            age(it, now).into(),
        ];
        cells.extend(container_cells(it));
        cells.push(selector(&it["spec"]["selector"]).into());
        cells
    })
}

fn job_status(job: &Value) -> &'static str {
    if is_true(job, "Complete") {
        "Complete"
    } else if is_true(job, "Failed") {
        "Failed"
    } else if object::is_terminating(job) {
        "Terminating"
    } else if is_true(job, "Suspended") {
        "Suspended"
    } else if is_true(job, "FailureTarget") {
        "FailureTarget"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = number(&job["status"]["succeeded"]);
    match (job["spec"]["completions"].as_i64(), number(&job["spec"]["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel @ 2..) => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// From start to end, or to now; nothing before the start.
fn job_duration(job: &Value, now: Timestamp) -> String {
    let (start, end) = (text(&job["status"]["startTime"]), text(&job["status"]["completionTime"]));
    if start.is_empty() {
        return String::new();
    }
    match (start.parse::<Timestamp>(), end.parse::<Timestamp>()) {
        (Ok(start), Ok(end)) => human_duration(end.duration_since(start).as_secs()),
        _ => since(start, now),
    }
}
