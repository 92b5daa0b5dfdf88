//! What Neutron gives to objects that say nothing about it. What was made so is kept so; what this Neutron does not show is
//! not looked at.
//!
//! Left out is what Neutron or those who run it find out by themselves: the MTU, the address and the MAC of a port, where it
//! is bound, what its data plane reports, and how a router is carried.

use serde_json::{Map, Value, json};

use super::seen::Thing;

/// Of every network.
pub fn network() -> Map<String, Value> {
    map(
        json!({"shared": false, "port_security_enabled": true, "is_default": false, "dns_domain": "",
        "qos_policy_id": null}),
    )
}

/// Of every subnet.
pub fn subnet() -> Map<String, Value> {
    map(
        json!({"enable_dhcp": true, "dns_nameservers": [], "service_types": [], "dns_publish_fixed_ip": false}),
    )
}

/// Of every router.
pub fn router() -> Map<String, Value> {
    map(json!({"description": "", "admin_state_up": true, "routes": [], "enable_ndp_proxy": null}))
}

/// Of this port.
pub fn port(port: Option<&Thing>) -> Map<String, Value> {
    let mut fields = map(json!({
        "description": "", "admin_state_up": true, "port_security_enabled": true, "allowed_address_pairs": [],
        "binding:profile": {}, "dns_name": "", "dns_domain": "", "qos_policy_id": null,
        "numa_affinity_policy": null,
    }));
    // An option goes only when it is named without a value.
    let options = port.into_iter().flat_map(|port| port.list("extra_dhcp_opts"));
    let without: Vec<Value> = options
        .map(|option| {
            json!({"opt_name": option["opt_name"], "ip_version": option["ip_version"], "opt_value": null})
        })
        .collect();
    fields.insert("extra_dhcp_opts".to_owned(), without.into());
    fields
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
