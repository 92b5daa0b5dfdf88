//! Security groups and their rules; and how many the project may have.

use landbridge_openstack::{Call, Service};
use serde_json::{Value, json};

use super::super::compare::is_same;
use super::super::names::{GROUPS, entries};
use super::super::seen::Thing;
use super::{Kind, Wanted, Work, map};

/// What tells one rule from another: none of it can be changed.
const TELLING: [&str; 8] = [
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "remote_address_group_id",
];

/// What amphorae may have: as many as they need.
const QUOTAS: [&str; 3] = ["port", "security_group", "security_group_rule"];

impl<'a> Work<'a> {
    /// The four groups, in the order of their table.
    pub(super) fn groups(&mut self, project: &str, admin: &str) -> Vec<Option<&'a Thing>> {
        let mut found = Vec::new();
        for (name, is_tenants, is_health) in GROUPS {
            let wanted = Wanted {
                kind: Kind::Group,
                name,
                project: Some(if is_tenants { project } else { admin }),
                new: map(json!({})),
                fields: map(json!({"description": "", "stateful": true})),
                fixed: map(json!({})),
            };
            let choice = self.tagged(&wanted, self.seen.groups.iter());
            if let Some(group) = choice.one {
                self.rules(group, name, is_health, choice.is_made);
            }
            found.push(choice.one);
        }
        found
    }

    fn rules(&mut self, group: &Thing, name: &str, is_health: bool, is_made: bool) {
        let wanted = rules(is_health);
        let have: Vec<&Value> = group.list("security_group_rules").collect();
        for rule in &wanted {
            if let Some(found) = have.iter().find(|other| is_rule(rule, other)) {
                // A group that was there before keeps the words of whoever made it.
                if is_made {
                    self.describe(found, rule, name);
                }
                continue;
            }
            let mut body = rule.clone();
            body["security_group_id"] = group.id().into();
            body["project_id"] = group.project().into();
            let title = format!(
                "let in {} {} ({}) by security group {name}",
                rule["protocol"].as_str().unwrap_or("anything"),
                rule["port_range_min"],
                rule["ethertype"].as_str().unwrap_or_default()
            );
            let body = json!({"security_group_rule": body});
            self.step(title, Call::post(Service::Network, "/security-group-rules", body));
        }
        // A group that was there before may let in what somebody else needs.
        for rule in have.iter().filter(|_| is_made) {
            let is_wanted = wanted.iter().any(|known| is_rule(known, rule));
            let id = rule["id"].as_str().filter(|_| rule["direction"] == "ingress" && !is_wanted);
            if let Some(id) = id {
                let title =
                    format!("take a rule that nobody asked for out of security group {name}");
                self.step(
                    title,
                    Call::delete(Service::Network, format!("/security-group-rules/{id}")),
                );
            }
        }
    }

    /// A rule that says something else about itself goes, and is made anew in the next round: Neutron has the call
    /// that would change the words, and breaks when it is made.
    fn describe(&mut self, have: &Value, wanted: &Value, group: &str) {
        let words = wanted["description"].as_str().unwrap_or_default();
        let id = have["id"].as_str().filter(|_| !is_same(&words.into(), &have["description"]));
        if let Some(id) = id {
            let title =
                format!("take out a rule of security group {group} that says something else");
            self.step(title, Call::delete(Service::Network, format!("/security-group-rules/{id}")));
        }
    }

    /// Amphorae are many, and each has ports.
    pub(super) fn quota(&mut self, project: &str) {
        let Some(quota) = &self.seen.quota else { return };
        let is_limited = |name: &&&str| quota.get(name).is_some_and(|have| *have != json!(-1));
        let limited: serde_json::Map<String, Value> =
            QUOTAS.iter().filter(is_limited).map(|name| ((*name).to_owned(), json!(-1))).collect();
        if !limited.is_empty() {
            let title = "let the project have as many ports and groups as it needs".to_owned();
            let body = json!({"quota": limited});
            self.step(title, Call::put(Service::Network, format!("/quotas/{project}"), body));
        }
    }
}

/// All rules of a group, with what they are for. Everything may go out, as Neutron makes it.
fn rules(is_health: bool) -> Vec<Value> {
    let families = ["IPv4", "IPv6"];
    let entries = entries(is_health).iter().flat_map(|entry| {
        families.map(|family| {
            json!({
                "direction": "ingress", "ethertype": family, "protocol": entry.protocol,
                "port_range_min": entry.port, "port_range_max": entry.port,
                "description": format!("{} {family} rule", entry.what),
            })
        })
    });
    let exits = families.map(|family| json!({"direction": "egress", "ethertype": family}));
    entries.chain(exits).collect()
}

fn is_rule(wanted: &Value, have: &Value) -> bool {
    TELLING.iter().all(|field| is_same(&wanted[field], &have[field]))
}
