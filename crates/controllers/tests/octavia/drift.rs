//! Every field of every object is changed behind our back, and every object deleted: it comes back, or is reported.

use serde_json::{Value, json};

use crate::scene::{ideal, keep, once, settle, zones};
use crate::sim::Sim;
use landbridge_controllers::octavia::pass::Ended;

/// What Neutron itself decides, or nobody can change: by field.
const NEUTRONS: [&str; 9] = [
    "id",
    "created_at",
    "revision_number",
    "status",
    "mac_address",
    "tenant_id",
    "project_id",
    // Which networks allow how large packets is the cloud's business; so is where a router's own port is.
    "mtu",
    "network_id",
];

/// Objects that Neutron makes for others.
fn is_neutrons(kind: &str, object: &Value) -> bool {
    kind == "ports" && object["device_owner"] == "network:router_gateway"
}

/// Something else than it was.
fn other(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::Null | Value::String(_) => json!("changed"),
        Value::Array(list) if list.is_empty() => json!(["changed"]),
        Value::Array(_) => json!([]),
        Value::Object(_) => Value::Null,
    }
}

#[test]
fn every_field() {
    let design = zones();
    let expected = ideal(&design);
    let model = Sim::new();
    settle(&model, &keep(&design));
    let all = model.with(|state| state.objects.clone());
    let (mut mended, mut reported) = (0, Vec::new());
    for ((kind, id), object) in &all {
        if is_neutrons(kind, object) {
            continue;
        }
        for field in object.as_object().unwrap().keys() {
            if NEUTRONS.contains(&field.as_str()) || is_fixed(kind, field, object) {
                continue;
            }
            let sim = Sim::new();
            settle(&sim, &keep(&design));
            let key = (*kind, id.clone());
            sim.with(|state| {
                let object = state.objects.get_mut(&key).unwrap();
                let new = other(&object[field]);
                object[field] = new;
            });
            match once(&sim, &keep(&design)) {
                Ended::Done(_) => {
                    if is_harmless(kind, field, object) {
                        continue;
                    }
                    // Who wipes all tags makes it nobody's: it is adopted, and marked so.
                    let (have, wanted) = if field == "tags" {
                        (without_tags(&sim.shape()), without_tags(&expected))
                    } else {
                        (sim.shape(), expected.clone())
                    };
                    assert_eq!(have, wanted, "{kind} {} {field}", object["name"]);
                    mended += 1;
                }
                Ended::Short { why, .. } => reported.push(format!("{kind} {field}: {why}")),
            }
        }
    }
    assert!(mended > 200, "{mended}");
    // All that cannot be changed says so, with its name.
    for text in &reported {
        let (what, why) = text.split_once(": ").unwrap();
        let (_, field) = what.split_once(' ').unwrap();
        let is_told = why.contains(field)
            || (field.starts_with("device") && why.contains("is in use by"))
            || (field == "ip_version" && why.contains("ip_version"));
        assert!(is_told, "{text}");
    }
    let fields: std::collections::BTreeSet<&str> =
        reported.iter().filter_map(|text| text.split(": ").next()).collect();
    assert_eq!(
        fields.into_iter().collect::<Vec<_>>(),
        [
            "networks availability_zone_hints",
            "networks provider:network_type",
            "networks provider:physical_network",
            "ports device_id",
            "routers availability_zone_hints",
            "subnets cidr",
            "subnets ip_version",
        ]
    );
}

/// What Neutron never changes, whoever asks: these come and go as a whole.
fn is_fixed(kind: &str, field: &str, object: &Value) -> bool {
    match kind {
        "security-group-rules" => {
            object["direction"] == "egress" || matches!(field, "direction" | "security_group_id")
        }
        "rbac-policies" => field != "target_tenant",
        _ => false,
    }
}

/// What may be as it is.
fn is_harmless(kind: &str, field: &str, object: &Value) -> bool {
    match (kind, field) {
        // Tags of others on what carries none of ours; what IPv4 does not have; what follows from policies.
        ("security-group-rules", "name" | "tags")
        | ("ports" | "routers", "tags")
        | ("subnets", "ipv6_address_mode" | "ipv6_ra_mode")
        | ("security-groups", "shared") => true,
        // How a network of amphorae is carried is Neutron's choice.
        ("networks", "provider:network_type" | "provider:physical_network") => {
            object["name"] != "octavia-provider-net"
        }
        _ => false,
    }
}

fn without_tags(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let (kind, value) = line.split_once(' ').unwrap();
        let mut value: Value = serde_json::from_str(value).unwrap();
        value.as_object_mut().unwrap().remove("tags");
        format!("{kind} {value}\n")
    });
    lines.collect()
}

/// Every object vanishes, with what cannot be without it.
#[test]
fn every_object() {
    let design = zones();
    let expected = ideal(&design);
    let model = Sim::new();
    settle(&model, &keep(&design));
    let all = model.with(|state| state.objects.clone());
    for ((kind, id), object) in &all {
        if is_neutrons(kind, object) {
            continue;
        }
        let sim = Sim::new();
        settle(&sim, &keep(&design));
        sim.with(|state| {
            state.objects.remove(&(*kind, id.clone()));
            // Whoever deletes by force takes along what hangs on it.
            loop {
                let ids: Vec<String> = state.objects.keys().map(|(_, id)| id.clone()).collect();
                let is_there = |value: &Value| {
                    value
                        .as_str()
                        .is_none_or(|id| id.is_empty() || ids.iter().any(|known| known == id))
                };
                let hangs = |object: &Value| {
                    ["network_id", "security_group_id", "object_id"]
                        .iter()
                        .any(|field| !is_there(&object[*field]))
                        || (object["device_owner"] == "network:router_gateway"
                            && !is_there(&object["device_id"]))
                };
                let before = state.objects.len();
                state.objects.retain(|_, object| !hangs(object));
                for object in state.objects.values_mut() {
                    let view = object.clone();
                    if !is_there(&view["device_id"]) {
                        object["device_id"] = "".into();
                        object["device_owner"] = "".into();
                    }
                    if let Some(ips) = object.get_mut("fixed_ips").and_then(Value::as_array_mut) {
                        ips.retain(|ip| is_there(&ip["subnet_id"]));
                    }
                    if let Some(groups) =
                        object.get_mut("security_groups").and_then(Value::as_array_mut)
                    {
                        groups.retain(is_there);
                    }
                    if !is_there(&view["external_gateway_info"]["network_id"]) {
                        object["external_gateway_info"] = Value::Null;
                    }
                }
                if state.objects.len() == before {
                    break;
                }
            }
        });
        settle(&sim, &keep(&design));
        assert_eq!(sim.shape(), expected, "{kind} {}", object["name"]);
    }
}

/// Others add what nobody asked for.
#[test]
fn what_is_added() {
    let design = zones();
    let expected = ideal(&design);
    let sim = Sim::new();
    settle(&sim, &keep(&design));
    let group = sim.named("security-groups", "lb-mgmt-sec-grp")["id"].clone();
    sim.create(
        "security_group_rule",
        json!({"security_group_id": group, "direction": "ingress", "ethertype": "IPv4"}),
    );
    let provider = sim.named("networks", "octavia-provider-net")["id"].clone();
    sim.create(
        "rbac_policy",
        json!({"object_id": provider, "object_type": "network", "action": "access_as_external",
        "target_tenant": "*", "project_id": "p-admin"}),
    );
    settle(&sim, &keep(&design));
    assert_eq!(sim.shape(), expected);
    // Tags of others stay.
    let path = format!("/networks/{}/tags/theirs", provider.as_str().unwrap());
    sim.admin(&http::Method::PUT, &path, Value::Null).unwrap();
    settle(&sim, &keep(&design));
    let tags = sim.named("networks", "octavia-provider-net")["tags"].to_string();
    assert!(tags.contains("theirs"), "{tags}");
}
