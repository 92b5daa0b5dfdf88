//! Ports: a MAC address and some addresses on a network, and who may use them.

mod addresses;
mod checks;
mod guard;
mod table;

use serde_json::{Value, json};

pub use self::addresses::{join_automatic, release};
pub use self::table::{PORT, PORT_KIND};
use super::dns;
use super::networks::{self, NETWORK};
use crate::caller::Caller;
use crate::config::Config;
use crate::network::fault::Fault;
use crate::network::hooks;
use crate::network::resource::Rules;
use crate::object::Object;
use crate::state::{State, Tx};

/// How often a MAC address is drawn before all of them are taken for taken.
const DRAWS: usize = 16;

/// Owners of ports that join networks to routers.
pub fn is_router_interface(owner: &str) -> bool {
    matches!(
        owner,
        "network:router_interface"
            | "network:router_interface_distributed"
            | "network:ha_router_replicated_interface"
    )
}

/// Whether Neutron itself owns the port: it is not guarded.
pub fn is_trusted(port: &Object) -> bool {
    port.text("device_owner").starts_with("network:")
}

struct Ports;

/// Ports of routers are up where routers are made of what is said.
fn wire(config: &Config, port: &mut Object) {
    let ours = port.text("device_owner").starts_with("network:router_");
    if config.network.is_wired && ours && port.text("status") != "ACTIVE" {
        port.set("status", "ACTIVE");
        // OVN tells that it is up once it is there: that counts as a change of its own.
        if let Some(revision) = port.number("revision_number") {
            port.set("revision_number", revision + 1);
        }
    }
}

impl Rules for Ports {
    fn parent(&self, state: &State, who: &Caller, port: &Object) -> Result<(), Fault> {
        NETWORK.seen(state, who, port.text("network_id")).map(|_| ())
    }

    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut port: Object) -> Result<Object, Fault> {
        let network = NETWORK.seen(tx, who, port.text("network_id"))?;
        if !port.has("status") {
            port.set("status", "DOWN");
        }
        wire(tx.config, &mut port);
        if !tx.config.network.extensions.contains("tag-ports-during-bulk-creation") {
            port.set("tags", json!([]));
        }
        checks::device(tx, who, &port)?;
        mac(tx, &mut port)?;
        addresses::allocate(tx, who, &mut port)?;
        guard::create(tx, who, &network, &mut port)?;
        checks::complete(&mut port);
        bind(&mut port);
        Ok(port)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        before: &Object,
        given: &Object,
        mut port: Object,
    ) -> Result<Object, Fault> {
        if given.has("device_owner") || given.has("device_id") {
            checks::device(tx, who, &port)?;
            wire(tx.config, &mut port);
        }
        if port.text("mac_address") != before.text("mac_address") {
            checks::mac_change(tx, before, &port)?;
        }
        if given.has("fixed_ips") {
            addresses::update(tx, who, before, given, &mut port)?;
        }
        guard::update(tx, who, before, given, &mut port)?;
        checks::merge(before, given, &mut port);
        if given.has("binding:host_id") || given.has("binding:vnic_type") {
            bind(&mut port);
        }
        Ok(port)
    }

    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
        for may in hooks::PORT_MAY_GO {
            may(tx, who, port)?;
        }
        forget(tx, who, port)
    }

    fn present(&self, state: &State, config: &Config, _who: &Caller, port: &mut Object) {
        port.set("dns_assignment", dns::assignment(config, port));
        for shown in hooks::PORT_SHOWN {
            shown(state, port);
        }
    }

    fn visible(&self, state: &State, who: &Caller, port: &Object) -> bool {
        who.is_admin()
            || who.has_role("service")
            || who.is_reader_of(port.project())
            || networks::owns_network(state, who, port, "reader")
    }

    fn counts(&self, name: &str) -> bool {
        !self.counts_late(name)
    }

    fn counts_late(&self, name: &str) -> bool {
        // Neutron keeps it in a table of its own, which it writes once the answer is made.
        name == "binding:vnic_type"
    }

    fn select(&self, _state: &State, port: &Object, name: &str, values: &[&str]) -> Option<bool> {
        match name {
            // A beginning, as Neutron takes it: `fixed_ips=ip_address_substr=10.0`.
            "fixed_ips" if values.iter().any(|value| value.starts_with("ip_address_substr=")) => {
                let parts = values.iter().filter_map(|v| v.strip_prefix("ip_address_substr="));
                let has = |part: &str| {
                    port.list("fixed_ips")
                        .iter()
                        .filter_map(|fixed| fixed.get("ip_address").and_then(Value::as_str))
                        .any(|ip| ip.contains(part))
                };
                Some(parts.into_iter().any(has))
            }
            _ => None,
        }
    }
}

/// Removes a port whoever asks for it: a router its own, a network those of DHCP.
pub fn remove(tx: &mut Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
    forget(tx, who, port)?;
    tx.delete(PORT.kind, port.id());
    Ok(())
}

fn forget(tx: &mut Tx<'_>, who: &Caller, port: &Object) -> Result<(), Fault> {
    for goes in hooks::PORT_GOES {
        goes(tx, who, port)?;
    }
    release(tx, port.list("fixed_ips"));
    Ok(())
}

/// The MAC address asked for, if it is free, or a new one.
fn mac(tx: &mut Tx<'_>, port: &mut Object) -> Result<(), Fault> {
    let network = port.text("network_id").to_owned();
    if let Some(mac) = port.some_text("mac_address") {
        return checks::mac_free(tx, &network, mac);
    }
    for _ in 0..DRAWS {
        let mac = tx.chance.mac();
        if checks::mac_free(tx, &network, &mac).is_ok() {
            port.set("mac_address", mac);
            return Ok(());
        }
    }
    Err(Fault::new(
        503,
        "MacAddressGenerationFailure",
        format!("Unable to generate unique mac on network {network}."),
    ))
}

/// Where the port is plugged in: a host takes it as it comes.
fn bind(port: &mut Object) {
    let bound = port.some_text("binding:host_id").is_some();
    port.set("binding:vif_type", if bound { "ovs" } else { "unbound" });
    let details =
        if bound { json!({"port_filter": true, "connectivity": "l2"}) } else { json!({}) };
    port.set("binding:vif_details", details);
}
