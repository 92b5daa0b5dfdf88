//! Port security: with it a port has security groups and only its own addresses, without it neither
//! groups nor pairs.

use serde_json::{Value, json};

use super::is_trusted;
use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::resources::security_groups;
use crate::object::Object;
use crate::state::Tx;

/// Decides about a new port: it is as guarded as it asks for, or as its network is.
pub fn create(
    tx: &mut Tx<'_>,
    who: &Caller,
    network: &Object,
    port: &mut Object,
) -> Result<(), Fault> {
    let trusted = is_trusted(port);
    let guarded = if trusted {
        false
    } else if port.has("port_security_enabled") {
        port.flag("port_security_enabled")
    } else {
        network.flag("port_security_enabled")
    };
    port.set("port_security_enabled", guarded);
    let pairs = !port.list("allowed_address_pairs").is_empty();
    if pairs && !guarded {
        return Err(pairs_need_security());
    }
    let asked = port.has("security_groups");
    if trusted {
        port.set("security_groups", json!([]));
        return Ok(());
    }
    if guarded && !asked {
        let project = port.project().to_owned();
        let group = security_groups::default_of(tx, who, &project);
        port.set("security_groups", group.into_iter().collect::<Vec<_>>());
    } else if !guarded && !port.list("security_groups").is_empty() {
        return Err(groups_need_security());
    }
    if !port.has("security_groups") {
        port.set("security_groups", json!([]));
    }
    known(tx, who, port)
}

/// Decides about a change.
pub fn update(
    tx: &mut Tx<'_>,
    who: &Caller,
    before: &Object,
    given: &Object,
    port: &mut Object,
) -> Result<(), Fault> {
    if !port.flag("port_security_enabled") {
        let changed = given.has("allowed_address_pairs")
            || given.has("security_groups")
            || before.flag("port_security_enabled");
        if !changed {
            return Ok(());
        }
        if !port.list("allowed_address_pairs").is_empty() {
            return Err(pairs_need_security());
        }
        if given.has("security_groups") && !given.list("security_groups").is_empty() {
            return Err(groups_need_security());
        }
        if !port.list("security_groups").is_empty() {
            return Err(Fault::conflict(
                "PortSecurityPortHasSecurityGroup",
                "Port has security group associated. Cannot disable port security or IP address \
                 until security group is removed.",
            ));
        }
        return Ok(());
    }
    if given.has("security_groups") {
        known(tx, who, port)?;
    }
    Ok(())
}

/// Every group is there, and may be used by the port's project.
fn known(tx: &Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
    let groups = crate::network::RESOURCES.iter().find(|r| r.single == "security_group");
    let missing = |id: &&str| {
        let group = groups.and_then(|groups| tx.get(groups.kind, id));
        !group.is_some_and(|group| {
            who.is_admin()
                || group.project() == port.project()
                || crate::network::resources::rbac::grants(
                    tx,
                    id,
                    crate::network::resources::rbac::SHARED,
                    port.project(),
                )
        })
    };
    let missing: Vec<&str> =
        port.list("security_groups").iter().filter_map(Value::as_str).filter(missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Fault::not_found(
        "SecurityGroupNotFound",
        format!("Security group {} does not exist", missing.join(", ")),
    ))
}

fn pairs_need_security() -> Fault {
    Fault::conflict(
        "AddressPairAndPortSecurityRequired",
        "Port Security must be enabled in order to have allowed address pairs on a port.",
    )
}

fn groups_need_security() -> Fault {
    Fault::bad(
        "PortSecurityAndIPRequiredForSecurityGroups",
        "Port security must be enabled and port must have an IP address in order to use security \
         groups.",
    )
}
