//! Trunks: a parent port that carries other ports, each by a VLAN.

mod subports;

use serde_json::{Value, json};

use super::networks::NETWORK;
use super::ports::PORT;

use crate::caller::Caller;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

pub static TRUNK_KIND: Kind = Kind {
    name: "trunk",
    index: |trunk, keys| {
        keys.add("name", trunk.text("name"));
        keys.add("project_id", trunk.project());
        keys.add("port_id", trunk.text("port_id"));
        for child in trunk.list("sub_ports") {
            keys.add("sub_port", subports::port_of(child));
        }
    },
    blanks: &[
        ("description", Blank::Text),
        ("admin_state_up", Blank::True),
        ("status", Blank::Is("DOWN")),
        ("sub_ports", Blank::List),
        ("tags", Blank::List),
    ],
};

pub static TRUNK: Resource = Resource {
    kind: &TRUNK_KIND,
    single: "trunk",
    plural: "trunks",
    path: "trunks",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::open("admin_state_up", Check::Flag, Given::Flag(true)).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::once("port_id", Check::Uuid, Given::Required).key(),
        Attribute::shown("status").key(),
        Attribute::once("sub_ports", Check::With(subports::check), Given::List),
    ],
    not_found: ("TrunkNotFound", "Trunk {} could not be found."),
    indexed: &["name", "project_id", "port_id"],
    quota: Some("trunk"),
    standard: Standard::FULL,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Trunks,
};

struct Trunks;

impl Rules for Trunks {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut trunk: Object) -> Result<Object, Fault> {
        let port = PORT.seen(tx, who, trunk.text("port_id"))?;
        free(tx, &port)?;
        // What Neutron uses itself it also takes away itself.
        let bound =
            !port.text("device_id").is_empty() && port.text("binding:vif_type") != "unbound";
        if bound || port.text("device_owner").starts_with("network:") {
            return Err(parent_in_use(port.id()));
        }
        let children = subports::resolved(tx, who, &trunk, trunk.list("sub_ports"))?;
        trunk.set("sub_ports", children);
        trunk.set("status", "DOWN");
        Ok(trunk)
    }

    fn delete(&self, _tx: &mut Tx<'_>, _who: &Caller, trunk: &Object) -> Result<(), Fault> {
        enabled(trunk)
    }

    fn action(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        trunk: &Object,
        action: &str,
        body: &Value,
    ) -> Option<Result<Value, Fault>> {
        match (action, body.is_null()) {
            ("get_subports", true) => Some(Ok(json!({"sub_ports": trunk.list("sub_ports")}))),
            ("add_subports" | "remove_subports", true) | ("get_subports", false) => {
                Some(Err(Fault::method()))
            }
            ("add_subports" | "remove_subports", false) => {
                Some(subports::change(tx, who, trunk, body, action))
            }
            _ => None,
        }
    }
}

/// A trunk that is down is not changed.
fn enabled(trunk: &Object) -> Result<(), Fault> {
    if trunk.flag("admin_state_up") {
        return Ok(());
    }
    let message = format!("Trunk {} is currently disabled.", trunk.id());
    Err(Fault::conflict("TrunkDisabled", message))
}

/// The port belongs to no trunk, neither as its parent nor as one of its children.
fn free(tx: &Tx<'_>, port: &Object) -> Result<(), Fault> {
    if tx.find_ids(&TRUNK_KIND, "port_id", port.id()).next().is_some() {
        return Err(parent_in_use(port.id()));
    }
    if tx.find_ids(&TRUNK_KIND, "sub_port", port.id()).next().is_some() {
        let message = format!("Port {} is in use by another trunk.", port.id());
        return Err(Fault::conflict("TrunkPortInUse", message));
    }
    Ok(())
}

fn parent_in_use(port: &str) -> Fault {
    Fault::conflict(
        "ParentPortInUse",
        format!("Port {port} is currently in use and is not eligible for use as a parent port."),
    )
}

/// What kind of segment the port's network is, for children that take it over.
fn segment(tx: &Tx<'_>, port: &Object) -> (String, Value) {
    let network = tx.get(NETWORK.kind, port.text("network_id")).unwrap_or_default();
    let kind = network.text("provider:network_type").to_owned();
    (kind, network.get("provider:segmentation_id").clone())
}

/// Ports of a trunk stay for as long as it does.
pub fn port_may_go(tx: &Tx<'_>, _who: &Caller, port: &Object) -> Result<(), Fault> {
    for (index, kind, what) in [
        ("port_id", "PortInUseAsTrunkParent", "parent port"),
        ("sub_port", "PortInUseAsSubPort", "subport"),
    ] {
        if let Some(trunk) = tx.find_ids(&TRUNK_KIND, index, port.id()).next() {
            let message = format!("Port {} is currently a {what} for trunk {trunk}.", port.id());
            return Err(Fault::conflict(kind, message));
        }
    }
    Ok(())
}

/// A parent tells of its trunk.
pub fn port_shown(state: &State, port: &mut Object) {
    let Some(trunk) = state.find(&TRUNK_KIND, "port_id", port.id()).next() else { return };
    let children = trunk.list("sub_ports").iter().map(|child| {
        let mut child = child.clone();
        let mac = state.get(PORT.kind, subports::port_of(&child));
        if let (Some(port), Some(map)) = (mac, child.as_object_mut()) {
            map.insert("mac_address".to_owned(), port.get("mac_address").clone());
        }
        child
    });
    let children: Vec<Value> = children.collect();
    port.set("trunk_details", json!({"trunk_id": trunk.id(), "sub_ports": children}));
}

/// Writes the children of a trunk: no change that Neutron counts.
fn put_children(tx: &mut Tx<'_>, trunk: &Object, children: Vec<Value>) -> Object {
    let mut trunk = trunk.clone();
    trunk.set("sub_ports", children);
    trunk.set("updated_at", tx.timestamp());
    tx.put(&TRUNK_KIND, trunk.clone());
    trunk
}

/// Shown after a change of the children: without a name around it, as Neutron has it.
fn shown(tx: &Tx<'_>, who: &Caller, trunk: Object) -> Value {
    crate::network::frame::show(tx, tx.config, who, &TRUNK, trunk, &[])
}
