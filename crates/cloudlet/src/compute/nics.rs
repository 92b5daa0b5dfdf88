//! The ports of servers. A port that Nova made for a server goes with it; one that was given stays.

use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::caller::Caller;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::ports::PORT;
use crate::network::resources::rbac::{self, SHARED};
use crate::network::resources::routers::{change_port, elevated, remove_port};
use crate::network::resources::security_groups::GROUP;
use crate::network::{quota, standard};
use crate::object::Object;
use crate::state::{State, Tx};

/// One of the `networks` of a new server, or an interface to attach.
pub enum Nic {
    /// A port that is there.
    Port(String),
    /// A port to be made on the network, with this address or any.
    Network(String, Option<String>),
}

/// What `networks` asks for; `None` where Nova shall find a network itself.
pub fn wanted(value: Option<&Value>) -> Result<Option<Vec<Nic>>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text == "none" => Ok(Some(Vec::new())),
        Some(Value::String(text)) if text == "auto" => Ok(None),
        Some(Value::Array(items)) if items.is_empty() => Ok(None),
        Some(Value::Array(items)) => items.iter().map(one).collect::<Result<_, _>>().map(Some),
        Some(_) => Err(Refusal::bad("Invalid input for field/attribute networks.")),
    }
}

fn one(item: &Value) -> Result<Nic, Refusal> {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("port"), text("uuid")) {
        (Some(port), _) => Ok(Nic::Port(port)),
        (None, Some(network)) => Ok(Nic::Network(network, text("fixed_ip"))),
        (None, None) => Err(Refusal::bad("Bad network format: missing 'uuid'")),
    }
}

/// The network of a server that names none: the project's only one.
pub fn found(state: &State, who: &Caller) -> Result<Vec<Nic>, Refusal> {
    let own = state.find(NETWORK.kind, "project_id", who.project());
    let ids: Vec<String> =
        own.filter(|network| !network.flag("router:external")).map(|n| n.id().to_owned()).collect();
    match ids.len() {
        0 => Ok(Vec::new()),
        1 => Ok(ids.into_iter().map(|id| Nic::Network(id, None)).collect()),
        _ => Err(Refusal::conflict(
            "Multiple possible networks found, use a Network ID to be more specific.",
        )),
    }
}

/// Gives the server a port; returns its id and whether it was made for it.
pub fn plug(
    tx: &mut Tx<'_>,
    who: &Caller,
    server: &Object,
    nic: &Nic,
    groups: &[String],
) -> Result<(String, bool), Refusal> {
    let owner = format!("compute:{}", server.text("availability_zone"));
    let device = json!({
        "device_id": server.id(), "device_owner": owner, "binding:host_id": server.text("host"),
    });
    let (mut port, made) = match nic {
        Nic::Port(id) => {
            let missing = |_| Refusal::bad(format!("Port {id} could not be found."));
            let port = PORT.seen(tx, who, id).map_err(missing)?;
            if !port.text("device_id").is_empty() {
                return Err(Refusal::conflict(format!("Port {id} is still in use.")));
            }
            (change_port(tx, &elevated(who), &port, device)?, false)
        }
        Nic::Network(id, address) => {
            let missing = |_| Refusal::bad(format!("Network {id} could not be found."));
            let network = NETWORK.seen(tx, who, id).map_err(missing)?;
            let shared = rbac::grants(tx, id, SHARED, who.project());
            if network.flag("router:external") && !shared && !who.is_admin() {
                return Err(Refusal::new(
                    403,
                    format!("It is not allowed to create an interface on external network {id}"),
                ));
            }
            let mut port = device;
            port["network_id"] = id.as_str().into();
            port["project_id"] = server.project().into();
            if let Some(address) = address {
                port["fixed_ips"] = json!([{"ip_address": address}]);
            }
            if !groups.is_empty() && network.flag("port_security_enabled") {
                port["security_groups"] = json!(groups);
            }
            let port = Object::from_value(port);
            quota::room(tx, &PORT, std::slice::from_ref(&port))?;
            (standard::create(tx, &elevated(who), &PORT, port)?, true)
        }
    };
    port.set("status", "ACTIVE");
    tx.put(PORT.kind, port.clone());
    Ok((port.id().to_owned(), made))
}

/// Takes a port from the server: one that was made for it goes.
pub fn unplug(tx: &mut Tx<'_>, who: &Caller, port: &Object, made: bool) -> Result<(), Refusal> {
    if made {
        return Ok(remove_port(tx, who, port)?);
    }
    let who = elevated(who);
    let free = json!({"device_id": "", "device_owner": "", "binding:host_id": ""});
    let mut port = change_port(tx, &who, port, free)?;
    port.set("status", "DOWN");
    tx.put(PORT.kind, port);
    Ok(())
}

/// The server's ports.
pub fn of<'a>(state: &'a State, server: &str) -> impl Iterator<Item = Object> + use<'a> {
    state.find(PORT.kind, "device_id", server)
}

/// The ids of security groups that are named by name or id.
pub fn groups(state: &State, who: &Caller, names: &[&str]) -> Result<Vec<String>, Refusal> {
    let find = |name: &&str| {
        let by_id = state.get(GROUP.kind, name).filter(|g| GROUP.rules.visible(state, who, g));
        let named =
            || state.find(GROUP.kind, "name", name).find(|group| group.project() == who.project());
        let found = by_id.or_else(named).map(|group| group.id().to_owned());
        found.ok_or_else(|| Refusal::bad(format!("Security group {name} not found.")))
    };
    // The default group is what a port gets without being told, and may not be there yet.
    names.iter().filter(|name| **name != "default").map(find).collect()
}
