//! Every field that the API itself shows, of every object, is changed behind the controller's back by whoever may, and
//! every object deleted: it comes back in one pass, or it is told.
//!
//! Which fields there are is what the server shows, so that none is forgotten: a field that comes with a new Neutron
//! fails here until somebody has decided about it.

use std::collections::{BTreeMap, BTreeSet};

use landbridge_controllers::octavia::pass::{Ended, pass};
use landbridge_openstack::{Call, Method, Service};
use serde_json::{Map, Value, json};

use crate::observed::{objects, observed};
use crate::place::{Place, run};
use crate::scene::{keep, owner, seed};
use crate::servers::settle;
use crate::sim::COLLECTIONS;

/// Nobody declares these: what Neutron chose is as good as what somebody else chose. The way back to the controllers
/// follows the address of the router's port.
const ANY_IS_RIGHT: [(&str, &str); 7] = [
    ("networks", "mtu"),
    ("ports", "mac_address"),
    ("ports", "fixed_ips"),
    // Where a port is, and how it is doing there, is found out by whoever carries its packets.
    ("ports", "binding:host_id"),
    ("ports", "data_plane_status"),
    // Clouds have their own ways of carrying routers.
    ("routers", "distributed"),
    ("routers", "ha"),
];

/// Other values than this one, the likelier first. The server says which of them may be.
fn others(field: &str, value: &Value, object: &Value) -> Vec<Value> {
    let mut others = match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) => vec![json!(number.as_i64().unwrap() - 1), json!(1)],
        Value::Object(map) if map.is_empty() => vec![json!({"x": "y"})],
        Value::Object(_) => vec![json!({}), Value::Null],
        Value::Array(list) if !list.is_empty() => vec![json!([])],
        _ => Vec::new(),
    };
    let free = |last: u8| {
        format!(
            "{}{last}",
            if object["cidr"] == "172.24.0.0/16" { "172.24.0." } else { "172.23.0." }
        )
    };
    match field {
        "allocation_pools" => others.push(json!([{"start": free(80), "end": free(90)}])),
        "allowed_address_pairs" => others.push(json!([{"ip_address": "10.9.9.9"}])),
        "binding:vnic_type" => others.push(json!("direct")),
        "dns_domain" => others.push(json!("example.org.")),
        "dns_nameservers" => others.push(json!(["192.0.2.53"])),
        "external_gateway_info" => {
            let mut info = value.clone();
            info["enable_snat"] = true.into();
            others.push(info.clone());
            info["external_fixed_ips"][0]["ip_address"] = "172.23.0.151".into();
            others.push(info);
        }
        "extra_dhcp_opts" => others.push(json!([{"opt_name": "mtu", "opt_value": "1400"}])),
        "gateway_ip" => others.push(json!(free(3))),
        "host_routes" => others.push(json!([{"destination": "10.9.0.0/16", "nexthop": free(2)}])),
        "mac_address" => others.push(json!("fa:16:3e:00:00:01")),
        "mtu" => others.push(json!(1400)),
        "numa_affinity_policy" => others.push(json!("preferred")),
        "routes" => others.push(json!([{"destination": "10.9.0.0/16", "nexthop": "172.24.0.9"}])),
        "service_types" => others.push(json!(["compute:nova"])),
        "tags" => others.push(json!(["theirs"])),
        "target_tenant" | "target_project" => others.push(json!("*")),
        _ => {}
    }
    if value.is_string() || value.is_null() {
        others.extend([
            json!("changed"),
            json!("fa163e00-0000-4000-8000-000000000001"),
            json!(true),
        ]);
    }
    others
}

/// How it stands with one field of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Nobody may change it.
    Fixed,
    Mended,
    Told,
    /// It may be as it is.
    Left,
}

struct Story<'p> {
    place: &'p Place,
    expected: Vec<String>,
    found: BTreeMap<(String, String), BTreeSet<Outcome>>,
}

impl Story<'_> {
    fn note(&mut self, collection: &str, field: &str, outcome: Outcome) {
        let key = (collection.to_owned(), field.to_owned());
        self.found.entry(key).or_default().insert(outcome);
    }

    /// One change of somebody else's, and what becomes of it.
    async fn change(
        &mut self,
        collection: &str,
        singular: &str,
        object: &Value,
        field: &str,
        value: Value,
    ) -> bool {
        let id = object["id"].as_str().unwrap();
        let path = format!("/{collection}/{id}");
        let asked = if field == "tags" {
            self.place.ask(Method::PUT, &format!("{path}/tags"), Some(json!({"tags": value}))).await
        } else {
            let body = json!({singular: {field: value}});
            self.place.ask(Method::PUT, &path, Some(body)).await
        };
        if asked.is_err() {
            return false;
        }
        let shown = self.place.ask(Method::GET, &path, None).await.unwrap();
        if shown[singular][field] == object[field] {
            return false; // taken, and nothing came of it
        }
        let what =
            format!("{}: {collection} {} {field} = {value}", self.place.name, object["name"]);
        let ended = pass(&self.place.client, &owner(), &keep(&seed())).await;
        if field == "tags" {
            return self.retagged(&what, collection, object, &ended).await;
        }
        match ended {
            Ended::Done(_) => {
                let have = observed(self.place).await;
                if have == self.expected {
                    self.note(collection, field, Outcome::Mended);
                } else {
                    self.left(&what, collection, field, &have);
                    // Others may depend on it.
                    let body = json!({singular: {field: object[field]}});
                    let _ = self.place.ask(Method::PUT, &path, Some(body)).await;
                    settle(self.place, &keep(&seed())).await;
                    self.expected = observed(self.place).await;
                }
            }
            Ended::Short { why, .. } => {
                // Who has the port is told by name.
                let is_told =
                    why.contains(field) || (field == "device_id" && why.contains("is in use by"));
                assert!(is_told, "{what}: {why}");
                assert!(
                    ["put ", "delete", "free "].iter().any(|remedy| why.contains(remedy)),
                    "{what}: {why}"
                );
                self.note(collection, field, Outcome::Told);
                let body = json!({singular: {field: object[field]}});
                self.place.put(&path, body).await;
                settle(self.place, &keep(&seed())).await;
            }
        }
        true
    }

    /// Who takes all marks away makes it nobody's: it is found by its name again, and marked as adopted. It was made here,
    /// which the next one wants to know.
    async fn retagged(
        &mut self,
        what: &str,
        collection: &str,
        object: &Value,
        ended: &Ended,
    ) -> bool {
        assert!(matches!(ended, Ended::Done(_)), "{what}: {ended:?}");
        let have = observed(self.place).await;
        assert_eq!(without_tags(&have), without_tags(&self.expected), "{what}");
        let path = format!("/{collection}/{}", object["id"].as_str().unwrap());
        let shown = self.place.ask(Method::GET, &format!("{path}/tags"), None).await.unwrap();
        let is_marked = shown["tags"].to_string().contains(owner().tag());
        // Routers, ports and rules carry none of ours.
        let carries_marks = object["tags"].to_string().contains(owner().tag());
        assert_eq!(is_marked, carries_marks, "{what}: {shown}");
        self.note(collection, "tags", if is_marked { Outcome::Mended } else { Outcome::Left });
        self.place.put(&format!("{path}/tags"), json!({"tags": object["tags"]})).await;
        settle(self.place, &keep(&seed())).await;
        assert_eq!(observed(self.place).await, self.expected, "{what}");
        true
    }

    /// What is not as before may be so only where that is said above.
    fn left(&mut self, what: &str, collection: &str, field: &str, have: &[String]) {
        let may_be = ANY_IS_RIGHT.contains(&(collection, field));
        let differ = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|line| !b.contains(line)).cloned().collect()
        };
        let (more, less) = (differ(have, &self.expected), differ(&self.expected, have));
        assert!(may_be, "{what} stays:\n{more:#?}\ninstead of\n{less:#?}");
        self.note(collection, field, Outcome::Left);
    }
}

async fn every_field(place: &Place) {
    settle(place, &keep(&seed())).await;
    let mut story = Story { place, expected: observed(place).await, found: BTreeMap::new() };
    let mut rules = BTreeSet::new();
    'objects: for ((collection, id), object) in objects(place).await {
        // Rules are many and alike, and a real Neutron takes its time: there one for each direction does.
        let is_another =
            collection != "security-group-rules" || rules.insert(object["direction"].to_string());
        if !is_another && !place.has_nova {
            continue;
        }
        let (_, singular) = COLLECTIONS.into_iter().find(|(name, _)| *name == collection).unwrap();
        let path = format!("/{collection}/{id}");
        let shown = place.ask(Method::GET, &path, None).await.unwrap()[singular].clone();
        let mut fields: Vec<(&String, &Value)> = shown.as_object().unwrap().iter().collect();
        // A rule that says something else about itself is made anew.
        fields.sort_by_key(|(field, _)| *field == "description");
        for (field, value) in fields {
            let mut is_changed = false;
            let mut now = shown.clone();
            for other in others(field, value, &shown) {
                if story.change(collection, singular, &now, field, other).await {
                    is_changed = true;
                    let Ok(found) = place.ask(Method::GET, &path, None).await else {
                        continue 'objects;
                    };
                    now = found[singular].clone();
                }
            }
            if !is_changed {
                story.note(collection, field, Outcome::Fixed);
            }
        }
    }
    quotas(place, &mut story).await;
    for (what, outcomes) in &story.found {
        println!("{}: {what:?} {outcomes:?}", place.name);
    }
    let is = |collection: &str, field: &str, outcome: Outcome| {
        let key = (collection.to_owned(), field.to_owned());
        let have = story.found.get(&key);
        assert!(
            have.is_some_and(|have| have.contains(&outcome)),
            "{collection} {field}: {have:?}, not {outcome:?}"
        );
    };
    for (collection, fields) in MENDED {
        for field in *fields {
            is(collection, field, Outcome::Mended);
        }
    }
    is("networks", "mtu", Outcome::Left);
}

/// What is put back on both servers, at least.
const MENDED: &[(&str, &[&str])] = &[
    (
        "networks",
        &["admin_state_up", "description", "name", "port_security_enabled", "shared", "tags"],
    ),
    (
        "subnets",
        &[
            "allocation_pools",
            "description",
            "dns_nameservers",
            "enable_dhcp",
            "gateway_ip",
            "host_routes",
            "name",
            "service_types",
            "tags",
        ],
    ),
    (
        "ports",
        &[
            "admin_state_up",
            "allowed_address_pairs",
            "description",
            "extra_dhcp_opts",
            "name",
            "security_groups",
            "binding:vnic_type",
        ],
    ),
    ("routers", &["admin_state_up", "description", "external_gateway_info", "name", "routes"]),
    ("security-groups", &["description", "name", "stateful", "tags"]),
    ("quotas", &["port", "security_group", "security_group_rule"]),
];

async fn quotas(place: &Place, story: &mut Story<'_>) {
    let project = place.project("service").await;
    for name in ["port", "security_group", "security_group_rule"] {
        place.put(&format!("/quotas/{project}"), json!({"quota": {name: 499}})).await;
        settle(place, &keep(&seed())).await;
        assert_eq!(observed(place).await, story.expected, "{}: quota {name}", place.name);
        story.note("quotas", name, Outcome::Mended);
    }
    if place.has_nova {
        for name in landbridge_controllers::octavia::compute::QUOTAS {
            let body = json!({"quota_set": {name: 7}});
            let call = Call::put(Service::Compute, format!("/os-quota-sets/{project}"), body);
            place.client.call(call).await.unwrap();
            settle(place, &keep(&seed())).await;
            assert_eq!(
                observed(place).await,
                story.expected,
                "{}: Nova's quota {name}",
                place.name
            );
        }
    }
}

/// Takes an object away whatever is on it, as somebody does who knows how.
async fn force_away(place: &Place, collection: &str, object: &Value) {
    let id = object["id"].as_str().unwrap();
    let ports = place.all_of("ports").await;
    for port in &ports {
        let is_on_it = match collection {
            "networks" => port["network_id"] == id,
            "subnets" => {
                port["fixed_ips"].as_array().unwrap().iter().any(|ip| ip["subnet_id"] == id)
            }
            "routers" => port["device_id"] == id,
            "ports" => port["id"] == id,
            "security-groups" => {
                let mut groups = port["security_groups"].as_array().unwrap().clone();
                let before = groups.len();
                groups.retain(|group| group != id);
                if groups.len() < before {
                    let path = format!("/ports/{}", port["id"].as_str().unwrap());
                    place.put(&path, json!({"port": {"security_groups": groups}})).await;
                }
                false
            }
            _ => false,
        };
        if !is_on_it {
            continue;
        }
        let (own, router) = (port["id"].as_str().unwrap(), port["device_id"].as_str().unwrap());
        match port["device_owner"].as_str().unwrap() {
            "network:router_interface" => {
                let path = format!("/routers/{router}/remove_router_interface");
                place.put(&path, json!({"port_id": own})).await;
            }
            "network:router_gateway" => {
                let body = json!({"router": {"external_gateway_info": {}}});
                place.put(&format!("/routers/{router}"), body).await;
            }
            _ => {}
        }
    }
    // Neutron lets nobody out who has a router there.
    if collection == "rbac-policies" {
        for router in place.all_of("routers").await {
            if router["external_gateway_info"]["network_id"] == object["object_id"] {
                let path = format!("/routers/{}", router["id"].as_str().unwrap());
                place.put(&path, json!({"router": {"external_gateway_info": {}}})).await;
            }
        }
    }
    let gone = place.ask(Method::DELETE, &format!("/{collection}/{id}"), None).await;
    assert!(
        gone.is_ok() || gone.as_ref().is_err_and(landbridge_openstack::Error::is_gone),
        "{collection} {id}: {gone:?}"
    );
}

async fn every_object(place: &Place) {
    settle(place, &keep(&seed())).await;
    let expected = observed(place).await;
    let mut names: Vec<(&str, Value)> = Vec::new();
    for ((collection, _), object) in objects(place).await {
        // Rules are told apart by what they say.
        let name = if collection == "security-group-rules" || collection == "rbac-policies" {
            let mut telling = Map::new();
            for field in ["description", "direction", "ethertype", "security_group_id", "action"] {
                telling.insert(field.to_owned(), object[field].clone());
            }
            Value::Object(telling)
        } else {
            object["name"].clone()
        };
        names.push((collection, name));
    }
    assert!(names.len() >= 30, "{names:?}");
    for (collection, name) in names {
        let all = place.all_of(collection).await;
        let is_it = |object: &&Value| match &name {
            Value::Object(telling) => telling.iter().all(|(field, value)| object[field] == *value),
            name => object["name"] == *name,
        };
        // A group that was made anew has rules of its own.
        let Some(object) = all.iter().find(is_it) else { continue };
        force_away(place, collection, object).await;
        settle(place, &keep(&seed())).await;
        crate::scene::assert_same(
            &observed(place).await,
            &expected,
            &format!("{}: {collection} {name}", place.name),
        );
    }
}

fn without_tags(lines: &[String]) -> Vec<String> {
    let strip = |line: &String| {
        let (kind, value) = line.split_once(' ').unwrap();
        let mut value: Value = serde_json::from_str(value).unwrap();
        value.as_object_mut().unwrap().remove("tags");
        format!("{kind} {value}")
    };
    lines.iter().map(strip).collect()
}

#[test]
fn every_field_that_is_shown() {
    run(every_field(&Place::embedded()));
}

#[test]
fn every_object_that_is_there() {
    run(every_object(&Place::embedded()));
}

mod real {
    use super::{every_field, every_object};
    use crate::servers::on_real_ones;

    #[test]
    fn every_field_on_a_real_keystone_and_neutron() {
        on_real_ones(&every_field);
    }

    #[test]
    fn every_object_on_a_real_keystone_and_neutron() {
        on_real_ones(&every_object);
    }
}
