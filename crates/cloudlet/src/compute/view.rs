//! What is shown of a server, by microversion and by who asks.

use serde_json::{Map, Value, json};

use super::{Call, flavors, nics};
use crate::network::resources::floating_ips::FLOATING_IP;
use crate::network::resources::networks::NETWORK;
use crate::network::resources::ports::PORT;
use crate::network::resources::security_groups::GROUP;
use crate::object::Object;
use crate::state::State;

/// Links to a server.
pub fn links(call: &Call<'_>, id: &str) -> Value {
    json!([
        {"rel": "self", "href": call.url(&format!("servers/{id}"))},
        {"rel": "bookmark", "href": format!("{}/servers/{id}", call.request.base)},
    ])
}

/// A server in full.
pub fn server(state: &State, call: &Call<'_>, server: &Object) -> Value {
    let flavor = Object::from_value(server.get("flavor").clone());
    let image = match server.some_text("image") {
        None => json!(""),
        Some(id) => json!({"id": id, "links": [
            {"rel": "bookmark", "href": format!("{}/images/{id}", call.request.base)}]}),
    };
    let mut shown = json!({
        "id": server.id(), "name": server.text("name"), "status": server.text("status"),
        "tenant_id": server.project(), "user_id": server.text("user_id"),
        "metadata": server.get("metadata"), "hostId": server.text("host_id"),
        "image": image, "flavor": flavors::reference(call, &flavor),
        "created": server.get("created"), "updated": server.get("updated"),
        "addresses": addresses(state, server.id()), "accessIPv4": "", "accessIPv6": "",
        "links": links(call, server.id()), "OS-DCF:diskConfig": "MANUAL", "progress": 0,
        "OS-EXT-AZ:availability_zone": server.text("availability_zone"),
        "config_drive": if server.flag("config_drive") { "True" } else { "" },
        "key_name": server.get("key_name"),
        "OS-SRV-USG:launched_at": server.get("launched_at"), "OS-SRV-USG:terminated_at": null,
        "OS-EXT-STS:task_state": null, "OS-EXT-STS:vm_state": vm_state(server),
        "OS-EXT-STS:power_state": power_state(server),
        "os-extended-volumes:volumes_attached": [],
    });
    if let Some(map) = shown.as_object_mut() {
        let groups = groups(state, server.id());
        if !groups.is_empty() {
            map.insert("security_groups".to_owned(), groups.into());
        }
        by_version(call, server, map);
    }
    shown
}

fn by_version(call: &Call<'_>, server: &Object, map: &mut Map<String, Value>) {
    let admin = call.who.is_admin();
    let mut add = |name: &str, value: Value| map.insert(name.to_owned(), value);
    if admin {
        add("OS-EXT-SRV-ATTR:host", server.get("host").clone());
        add("OS-EXT-SRV-ATTR:hypervisor_hostname", server.get("host").clone());
        let short = server.id().get(..8).unwrap_or_default();
        add("OS-EXT-SRV-ATTR:instance_name", format!("instance-{short}").into());
    }
    if call.micro.has(3) && (admin || call.micro.has(90)) {
        add("OS-EXT-SRV-ATTR:hostname", server.get("hostname").clone());
    }
    if call.micro.has(3) && admin {
        for (name, value) in [
            ("reservation_id", json!(format!("r-{}", server.id().get(..8).unwrap_or_default()))),
            ("launch_index", json!(0)),
            ("ramdisk_id", json!("")),
            ("kernel_id", json!("")),
            ("root_device_name", json!("/dev/vda")),
            ("user_data", server.get("user_data").clone()),
        ] {
            add(&format!("OS-EXT-SRV-ATTR:{name}"), value);
        }
    }
    for (since, name, value) in [
        (9, "locked", json!(server.flag("locked"))),
        (19, "description", server.get("description").clone()),
        (26, "tags", server.get("tags").clone()),
        (63, "trusted_image_certificates", Value::Null),
        (71, "server_groups", json!([])),
        (73, "locked_reason", Value::Null),
        (96, "pinned_availability_zone", Value::Null),
    ] {
        if call.micro.has(since) {
            add(name, value);
        }
    }
    if call.micro.has(16) && admin {
        add("host_status", "UP".into());
    }
}

/// The addresses by the names of their networks, with the floating ones that stand for them.
fn addresses(state: &State, server: &str) -> Value {
    let mut by_network: Map<String, Value> = Map::new();
    for port in nics::of(state, server) {
        let network = state.get(NETWORK.kind, port.text("network_id")).unwrap_or_default();
        let mac = port.text("mac_address");
        let entry = |address: &str, kind: &str| {
            json!({
                "version": if address.contains(':') { 6 } else { 4 }, "addr": address,
                "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac,
            })
        };
        let mut all: Vec<Value> = Vec::new();
        for fixed in port.list("fixed_ips") {
            let address = fixed.get("ip_address").and_then(Value::as_str).unwrap_or_default();
            all.push(entry(address, "fixed"));
        }
        for floating in state.find(FLOATING_IP.kind, "port_id", port.id()) {
            all.push(entry(floating.text("floating_ip_address"), "floating"));
        }
        let held = by_network.entry(network.text("name")).or_insert_with(|| json!([]));
        if let Some(list) = held.as_array_mut() {
            list.extend(all);
        }
    }
    Value::Object(by_network)
}

/// The names of the security groups of the server's ports.
pub fn groups(state: &State, server: &str) -> Vec<Value> {
    let mut ids: Vec<String> = Vec::new();
    for port in nics::of(state, server) {
        ids.extend(port.texts("security_groups").map(str::to_owned));
    }
    ids.sort_unstable();
    ids.dedup();
    let group = |id: &String| state.get(GROUP.kind, id);
    ids.iter().filter_map(group).map(|group| json!({"name": group.text("name")})).collect()
}

/// A port as `os-interface` shows it.
pub fn interface(state: &State, id: &str) -> Value {
    let port = state.get(PORT.kind, id).unwrap_or_default();
    json!({
        "port_id": port.id(), "net_id": port.text("network_id"), "mac_addr": port.text("mac_address"),
        "port_state": port.text("status"), "fixed_ips": port.list("fixed_ips"),
    })
}

fn vm_state(server: &Object) -> &'static str {
    match server.text("status") {
        "SHUTOFF" => "stopped",
        "PAUSED" => "paused",
        "SUSPENDED" => "suspended",
        "ERROR" => "error",
        _ => "active",
    }
}

fn power_state(server: &Object) -> u8 {
    match server.text("status") {
        "SHUTOFF" | "SUSPENDED" => 4,
        "PAUSED" => 3,
        "ERROR" => 0,
        _ => 1,
    }
}
