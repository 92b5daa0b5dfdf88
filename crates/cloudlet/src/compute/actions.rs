//! What is done to servers: start, stop and their like.

use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::servers::SERVER;
use super::{Call, nics};
use crate::network::resources::ports::PORT;
use crate::network::resources::routers::{change_port, elevated};
use crate::object::Object;
use crate::request::Response;
use crate::state::Tx;

/// The action, the states in which it can be done, and the state it leads to.
const MOVES: [(&str, &[&str], &str); 7] = [
    ("os-start", &["SHUTOFF"], "ACTIVE"),
    ("os-stop", &["ACTIVE", "ERROR"], "SHUTOFF"),
    ("pause", &["ACTIVE"], "PAUSED"),
    ("unpause", &["PAUSED"], "ACTIVE"),
    ("suspend", &["ACTIVE"], "SUSPENDED"),
    ("resume", &["SUSPENDED"], "ACTIVE"),
    ("reboot", &["ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "ERROR"], "ACTIVE"),
];

/// `POST /servers/{id}/action`
pub fn run(tx: &mut Tx<'_>, call: &Call<'_>, mut server: Object) -> Result<Response, Refusal> {
    let body = call.body()?;
    let (name, value) = match body.as_object().map(|map| (map.len(), map.iter().next())) {
        Some((1, Some((name, value)))) => (name.as_str(), value),
        _ => {
            return Err(Refusal::bad(
                "There is no such action: it has to be one member of the body",
            ));
        }
    };
    let locks = ["lock", "unlock"].contains(&name);
    if server.flag("locked") && !locks && !call.who.is_admin() {
        return Err(Refusal::conflict(format!("Instance {} is locked", server.id())));
    }
    if let Some((_, from, to)) = MOVES.iter().find(|(action, ..)| *action == name) {
        if !from.contains(&server.text("status")) {
            return Err(Refusal::conflict(format!(
                "Cannot '{}' instance {} while it is in vm_state {}",
                name.trim_start_matches("os-"),
                server.id(),
                server.text("status").to_lowercase()
            )));
        }
        server.set("status", *to);
        return Ok(done(tx, server));
    }
    match name {
        "lock" | "unlock" => {
            server.set("locked", name == "lock");
            Ok(done(tx, server))
        }
        "os-resetState" => {
            call.admin("os_compute_api:os-admin-actions:reset_state")?;
            let state = value.get("state").and_then(Value::as_str).unwrap_or("error");
            if !["active", "error"].contains(&state) {
                return Err(Refusal::bad("Invalid input for field/attribute state."));
            }
            server.set("status", state.to_uppercase());
            Ok(done(tx, server))
        }
        "os-getConsoleOutput" => Ok(Response::json(StatusCode::OK, &json!({"output": ""}))),
        "addSecurityGroup" | "removeSecurityGroup" => {
            let group = value.get("name").and_then(Value::as_str).unwrap_or_default();
            groups(tx, call, &server, group, name == "addSecurityGroup")?;
            Ok(done(tx, server))
        }
        _ => Err(Refusal::bad(format!("There is no such action: {name}"))),
    }
}

fn done(tx: &mut Tx<'_>, mut server: Object) -> Response {
    server.set("updated", tx.timestamp());
    tx.put(&SERVER, server);
    Response::empty(StatusCode::ACCEPTED)
}

/// Adds a group to all of the server's ports, or takes it from them.
fn groups(
    tx: &mut Tx<'_>,
    call: &Call<'_>,
    server: &Object,
    name: &str,
    adds: bool,
) -> Result<(), Refusal> {
    let Some(group) = nics::groups(tx, call.who, &[name])?.pop() else {
        return Err(Refusal::bad(format!("Security group {name} cannot be changed here")));
    };
    let ids: Vec<String> = nics::of(tx, server.id()).map(|port| port.id().to_owned()).collect();
    for id in ids {
        let Some(port) = tx.get(PORT.kind, &id) else { continue };
        let mut held: Vec<String> = port.texts("security_groups").map(str::to_owned).collect();
        held.retain(|one| *one != group);
        if adds {
            held.push(group.clone());
        }
        change_port(tx, &elevated(call.who), &port, json!({"security_groups": held}))?;
    }
    Ok(())
}
