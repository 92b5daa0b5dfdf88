//! The way out: one port on an external network, and whether addresses are translated there.

use serde_json::{Value, json};

use super::{GATEWAY, change_port, elevated, interfaces, remove_port};
use crate::caller::Caller;
use crate::network::check::{self, Check, Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resources::floating_ips;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::ports::PORT;
use crate::network::resources::subnets::SUBNET;
use crate::network::standard;
use crate::object::Object;
use crate::state::{State, Tx};

/// `external_gateway_info`: nothing, or `{network_id, enable_snat, external_fixed_ips}`.
pub fn check(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let Some(map) = value.as_object() else {
        return Wrong::reason(format!("'{}' is not a dictionary", python::str(value)));
    };
    if map.is_empty() {
        return Ok(Value::Null);
    }
    let keys: Vec<&str> = map.keys().map(String::as_str).collect();
    if !map.contains_key("network_id") {
        return Wrong::reason(format!(
            "Validation of dictionary's keys failed. Expected keys: {} Provided keys: {}",
            python::set(&["network_id"]),
            python::set(&keys)
        ));
    }
    let known = ["network_id", "enable_snat", "external_fixed_ips"];
    let unknown: Vec<&str> = keys.into_iter().filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        return Wrong::reason(format!("Unexpected keys supplied: {}", unknown.join(", ")));
    }
    let mut kept = map.clone();
    check::uuid(&map["network_id"])?;
    if let Some(snat) = map.get("enable_snat") {
        kept.insert("enable_snat".to_owned(), check::flag(snat)?);
    }
    if let Some(fixed) = map.get("external_fixed_ips").filter(|fixed| !fixed.is_null()) {
        kept.insert("external_fixed_ips".to_owned(), Check::FixedIps.run(fixed)?);
    }
    Ok(Value::Object(kept))
}

/// What is shown of it: nothing without one.
pub fn info(state: &State, router: &Object) -> Value {
    let port = router.some_text("gw_port_id").and_then(|id| state.get(PORT.kind, id));
    port.map_or(Value::Null, |port| {
        json!({
            "network_id": port.text("network_id"),
            "enable_snat": router.flag("enable_snat"),
            "external_fixed_ips": port.list("fixed_ips"),
        })
    })
}

/// Makes the gateway what is asked for. Returns how many changes of the router Neutron counts.
pub fn change(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &mut Object,
    info: &Value,
) -> Result<usize, Fault> {
    let held = router.some_text("gw_port_id").and_then(|id| tx.get(PORT.kind, id));
    if info.is_null() {
        let Some(port) = held else { return Ok(0) };
        close(tx, who, router, &port)?;
        let changes = 2 + usize::from(!router.flag("enable_snat"));
        router.set("enable_snat", true);
        return Ok(changes);
    }
    let snat = info.get("enable_snat").and_then(Value::as_bool).unwrap_or(true);
    let mut changes = usize::from(snat != router.flag("enable_snat"));
    router.set("enable_snat", snat);
    let id = info.get("network_id").and_then(Value::as_str).unwrap_or_default();
    let network = NETWORK.seen(tx, who, id)?;
    if !network.flag("router:external") {
        let message = format!("Network {id} is not an external network");
        return Err(Fault::bad_resource("router", message));
    }
    let fixed = info.get("external_fixed_ips").filter(|fixed| !fixed.is_null());
    match held {
        Some(port) if port.text("network_id") == id => {
            if let Some(fixed) = fixed {
                change_port(tx, &elevated(who), &port, json!({"fixed_ips": fixed}))?;
            }
        }
        held => {
            if let Some(port) = held {
                close(tx, who, router, &port)?;
            }
            open(tx, who, router, id, fixed)?;
            changes += 1;
        }
    }
    Ok(changes)
}

fn open(
    tx: &mut Tx<'_>,
    who: &Caller,
    router: &mut Object,
    network: &str,
    fixed: Option<&Value>,
) -> Result<(), Fault> {
    let subnets: Vec<Object> = tx.find(SUBNET.kind, "network_id", network).collect();
    interfaces::no_overlap(tx, router.id(), &subnets)?;
    // It belongs to nobody: the owner of the router is not shown the port.
    let mut port = json!({
        "network_id": network, "device_id": router.id(), "device_owner": GATEWAY,
        "project_id": "", "admin_state_up": true, "name": "",
    });
    if let (Some(fixed), Some(map)) = (fixed, port.as_object_mut()) {
        map.insert("fixed_ips".to_owned(), fixed.clone());
    }
    let port = standard::create(tx, &elevated(who), &PORT, Object::from_value(port))?;
    router.set("gw_port_id", port.id());
    Ok(())
}

fn close(tx: &mut Tx<'_>, who: &Caller, router: &mut Object, port: &Object) -> Result<(), Fault> {
    if floating_ips::of_router(tx, router.id()).next().is_some() {
        return Err(Fault::conflict(
            "RouterExternalGatewayInUseByFloatingIp",
            format!(
                "Gateway cannot be updated for router {}, since a gateway to external network {} is \
                 required by one or more floating IPs.",
                router.id(),
                port.text("network_id")
            ),
        ));
    }
    remove_port(tx, who, port)?;
    router.set("gw_port_id", Value::Null);
    Ok(())
}
