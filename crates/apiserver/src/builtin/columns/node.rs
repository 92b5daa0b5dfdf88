//! Nodes.

use std::collections::BTreeSet;

use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age};
use serde_json::Value;

use super::read::{NONE, condition, join, list, text, text_or};

const UNKNOWN: &str = "<unknown>";

pub(super) fn columns() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Status", "Whether the node is ready and takes pods."),
        Column::new("Roles", "What the node is for."),
        Column::age(),
        Column::new("Version", "Version of the node agent."),
        Column::new("Internal-IP", "Address inside the cluster.").wide(),
        Column::new("External-IP", "Address outside the cluster.").wide(),
        Column::new("OS-Image", "Operating system.").wide(),
        Column::new("Kernel-Version", "Version of the kernel.").wide(),
        Column::new("Container-Runtime", "Container runtime and its version.").wide(),
    ];
    Columns::Computed(columns, |it, now| {
        let info = &it["status"]["nodeInfo"];
        vec![
            object::name(it).into(),
            status(it).into(),
            roles(it).into(),
            age(it, now).into(),
            text(&info["kubeletVersion"]).into(),
            address(it, "InternalIP").into(),
            address(it, "ExternalIP").into(),
            text_or(&info["osImage"], UNKNOWN).into(),
            text_or(&info["kernelVersion"], UNKNOWN).into(),
            text_or(&info["containerRuntimeVersion"], UNKNOWN).into(),
        ]
    })
}

fn status(node: &Value) -> String {
    let ready = match condition(node, "Ready") {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = node["spec"]["unschedulable"] == true;
    format!("{ready}{}", if closed { ",SchedulingDisabled" } else { "" })
}

/// Roles stand in label keys (`node-role.kubernetes.io/ROLE`) or in one older label's value.
fn roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in object::labels(node).into_iter().flatten() {
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => roles.insert(role),
            None if key == "kubernetes.io/role" => roles.insert(text(value)),
            None => continue,
        };
    }
    roles.remove("");
    if roles.is_empty() { NONE.to_owned() } else { join(roles, ",") }
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let addresses = list(&node["status"]["addresses"]);
    let found = addresses.iter().find(|address| address["type"] == kind);
    found.map_or(NONE, |address| text(&address["address"]))
}
