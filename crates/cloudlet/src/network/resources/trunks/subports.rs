//! The children of a trunk.

use serde_json::{Value, json};

use super::{enabled, free, parent_in_use, put_children, segment, shown};
use crate::caller::Caller;
use crate::network::check::{self, Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resources::ports::PORT;
use crate::network::resources::routers::in_use;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::Tx;

/// The highest VLAN.
const VLANS: i64 = 4094;

/// The port of a child.
pub fn port_of(child: &Value) -> &str {
    child.get("port_id").and_then(Value::as_str).unwrap_or_default()
}

/// `sub_ports`: ports, each with a VLAN of its own or with what its network has.
pub fn check(value: &Value) -> Checked {
    let Some(items) = value.as_array() else {
        return Wrong::reason(format!(
            "Invalid data format for subports: '{}' is not a list",
            python::str(value)
        ));
    };
    let (mut ports, mut segments) = (Vec::new(), Vec::new());
    for item in items {
        let known = ["port_id", "segmentation_id", "segmentation_type"];
        let strange =
            item.as_object().is_none_or(|map| map.keys().any(|k| !known.contains(&k.as_str())));
        if strange {
            let shown = python::str(item);
            return Wrong::reason(format!("Invalid data format for subports: '{shown}'"));
        }
        let id = item.get("port_id").unwrap_or(&Value::Null);
        if check::uuid(id).is_err() {
            return Wrong::reason("A valid port UUID must be specified");
        }
        if ports.contains(&id) {
            let shown = python::str(id);
            return Wrong::reason(format!("Invalid data: port '{shown}' is named twice"));
        }
        ports.push(id);
        let (kind, number) = (item.get("segmentation_type"), item.get("segmentation_id"));
        if kind.and_then(Value::as_str) == Some("inherit") {
            continue;
        }
        let (Some(kind), Some(number)) = (kind, number) else {
            return Wrong::reason(format!(
                "Invalid subport details '{}': missing segmentation information. Must specify both \
                 segmentation_id and segmentation_type",
                python::repr(item)
            ));
        };
        if segments.contains(&(kind, number)) {
            return Wrong::reason(format!(
                "Segmentation ID '{}' for '{}' is not unique",
                python::str(number),
                python::str(id)
            ));
        }
        segments.push((kind, number));
    }
    Ok(value.clone())
}

/// The children as they are kept, once each is there, free, and on a segment that a trunk can carry.
pub fn resolved(
    tx: &Tx<'_>,
    who: &Caller,
    trunk: &Object,
    items: &[Value],
) -> Result<Vec<Value>, Fault> {
    let mut kept = Vec::new();
    for item in items {
        let port = PORT.seen(tx, who, port_of(item))?;
        let (kind, number) = match item.get("segmentation_type").and_then(Value::as_str) {
            Some("inherit") => segment(tx, &port),
            Some(kind) => {
                (kind.to_owned(), item.get("segmentation_id").cloned().unwrap_or_default())
            }
            None => (String::new(), Value::Null),
        };
        if kind != "vlan" {
            return Err(Fault::input(format!("Unknown segmentation_type '{kind}'")));
        }
        let Some(vlan) = python::int(&number) else {
            return Err(Fault::input(format!(
                "Invalid subport details: segmentation_id '{}' is not an integer",
                python::str(&number)
            )));
        };
        if !(1..=VLANS).contains(&vlan) {
            return Err(Fault::input(format!("Segmentation ID '{vlan}' is not in range")));
        }
        if port.id() == trunk.text("port_id") {
            return Err(parent_in_use(port.id()));
        }
        free(tx, &port)?;
        if !port.text("device_id").is_empty() {
            return Err(in_use(&port));
        }
        kept.push(json!({
            "port_id": port.id(), "segmentation_type": kind, "segmentation_id": vlan,
        }));
    }
    Ok(kept)
}

/// `add_subports` and `remove_subports`
pub fn change(
    tx: &mut Tx<'_>,
    who: &Caller,
    trunk: &Object,
    body: &Value,
    action: &str,
) -> Result<Value, Fault> {
    let Some(given) = body.get("sub_ports") else {
        return Err(Fault::request("Body contains invalid data"));
    };
    let adds = action == "add_subports";
    if !Who::Member.includes(tx, who, trunk) {
        return Err(refused(action, trunk));
    }
    let input = |wrong| match wrong {
        Wrong::Reason(reason) => Fault::input(reason),
        Wrong::Fault(fault) => fault,
    };
    if adds {
        check(given).map_err(input)?;
        enabled(trunk)?;
    }
    let items = given.as_array().cloned().unwrap_or_default();
    let held = trunk.list("sub_ports");
    let children = if adds {
        let new = resolved(tx, who, trunk, &items)?;
        for child in &new {
            let same = |held: &&Value| held.get("segmentation_id") == child.get("segmentation_id");
            if let Some(other) = held.iter().find(same) {
                return Err(Fault::conflict(
                    "DuplicateSubPort",
                    format!(
                        "segmentation_type vlan and segmentation_id {} already in use on trunk {}.",
                        python::str(&other["segmentation_id"]),
                        trunk.id()
                    ),
                ));
            }
        }
        held.iter().cloned().chain(new).collect()
    } else {
        for item in &items {
            check::uuid(item.get("port_id").unwrap_or(&Value::Null))
                .map_err(|_| Fault::input("A valid port UUID must be specified"))?;
        }
        enabled(trunk)?;
        let is_there = |item: &&Value| held.iter().any(|child| port_of(child) == port_of(item));
        if let Some(item) = items.iter().find(|item| !is_there(item)) {
            return Err(Fault::not_found(
                "SubPortNotFound",
                format!("SubPort {} on trunk {} could not be found.", port_of(item), trunk.id()),
            ));
        }
        let goes = |child: &&Value| items.iter().any(|item| port_of(item) == port_of(child));
        held.iter().filter(|child| !goes(child)).cloned().collect()
    };
    let trunk = put_children(tx, trunk, children);
    Ok(shown(tx, who, trunk))
}

/// Neutron's refusal names the members of every child that the trunk has.
fn refused(action: &str, trunk: &Object) -> Fault {
    let rule = format!("rule:{action}");
    let count = trunk.list("sub_ports").len();
    let members = ["port_id", "segmentation_type", "segmentation_id"];
    let parts: Vec<String> = (0..count)
        .flat_map(|_| members.map(|member| format!("{rule}:sub_ports:{member}")))
        .collect();
    Fault::policy(format!("({rule} and ({rule}:sub_ports and ({})))", parts.join(" and ")))
}
