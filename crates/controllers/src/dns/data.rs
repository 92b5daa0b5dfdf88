//! DNSData: the ConfigMap with its names.
//!
//! One line for each entry, in the order of the spec: the address, then its names in their order.
//! Nothing is merged: the form is upstream's, byte for byte.

use landbridge_api::condition::{Conditions, Severity};
use landbridge_machinery::object;
use serde_json::{Value, json};

use super::digest::digest;
use super::entries::{self, Entry};
use crate::endpoints::service::{ERROR, conditions};
use crate::making::kinds::Kind;
use crate::making::plan::{Context, Notice, Plan, Standing, Wanted};
use crate::making::world::{HOSTS_LABEL, OWNER_LABELS, controller};

/// The condition about entries that are not answered as written.
pub const ENTRIES: &str = "EntriesReady";
/// The reason of Events about them.
pub const BAD_ENTRY: &str = "BadEntry";

/// Plans for a DNSData.
pub fn plan(context: &Context<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut said = Conditions::default();
    let text = text(entries::of_data(context.spec()));
    let name = context.name().to_ascii_lowercase();
    let hash = digest([&*label(context.spec()), &*text]);
    let type_ = "ServiceConfigReady";
    let error = |why: &str| format!("Service config create error occurred {why}");
    match (context.standing(Kind::ConfigMap, &name), context.error(Kind::ConfigMap, &name)) {
        (Standing::Taken(why), _) => said.bad(type_, Severity::Warning, ERROR, error(&why)),
        (_, Some(why)) => said.bad(type_, Severity::Warning, ERROR, error(why)),
        (Standing::Absent, None) => said.unknown(type_, "Service config create not started"),
        // Upstream says so here, and not that the ConfigMap is complete.
        (Standing::Ours(_), None) => said.good(type_, "Input data complete"),
    }
    let mut labels = owner_labels(context);
    labels[HOSTS_LABEL] = label(context.spec()).into();
    plan.wanted.push(config_map(context, &name, labels, json!({context.name(): text})));
    // Whoever generates entries gives one name several addresses on purpose: OVN does.
    let is_generated = controller(context.owner).is_some();
    let faults = entries::faults(entries::of_data(context.spec()), is_generated);
    if let Some(text) = entries::summary("Not everything is answered as written", &faults) {
        said.aside(ENTRIES, Severity::Warning, ERROR, text.clone());
        plan.notices.push(Notice { reason: BAD_ENTRY, note: text });
    }
    let list = conditions(context.owner, said, context.now);
    plan.status.insert("conditions".to_owned(), json!(list));
    plan.status.insert("hash".to_owned(), hash.into());
    let generation = object::generation(context.owner);
    plan.status.insert("observedGeneration".to_owned(), generation.into());
    plan
}

/// The hosts file of some entries.
pub fn text<'a>(entries: impl Iterator<Item = Entry<'a>>) -> String {
    let mut text = String::new();
    for mut entry in entries.filter(|entry| !entry.breaks_lines()) {
        entry.names.sort_unstable();
        text.push_str(entry.ip);
        for name in entry.names {
            text.push(' ');
            text.push_str(name);
        }
        text.push('\n');
    }
    text
}

/// The value that brings names and name servers together.
pub fn label(spec: &Value) -> String {
    spec["dnsDataLabelSelectorValue"].as_str().unwrap_or("dnsdata").to_ascii_lowercase()
}

/// Labels that say for whom a ConfigMap was made.
pub fn owner_labels(context: &Context<'_>) -> Value {
    let key = |field: &str| format!("{OWNER_LABELS}{field}");
    let name = label_value(context.name());
    json!({key("uid"): context.uid(), key("namespace"): context.namespace(), key("name"): name})
}

/// Names may be longer than values of labels; what is cut off is missed by nobody, what is refused is.
fn label_value(name: &str) -> &str {
    let cut = name.get(..63).unwrap_or(name);
    cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// A ConfigMap that belongs to the object.
pub fn config_map(context: &Context<'_>, name: &str, labels: Value, data: Value) -> Wanted {
    let mut object = context.object(Kind::ConfigMap, name, Value::Null);
    object["metadata"]["labels"] = labels;
    object["data"] = data;
    Wanted { kind: Kind::ConfigMap, object, whole: &["/data"] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_upstreams_byte_for_byte() {
        let spec = json!({"hosts": [
            {"ip": "172.17.0.80", "hostnames": ["b.example", "a.example", "B.example"]},
            {"ip": "host-ip-1", "hostnames": ["host1"]},
            {"ip": "10.0.0.1", "hostnames": []},
            {"ip": "172.17.0.80", "hostnames": ["a.example", "a.example"]},
            {"ip": "10.0.0.2", "hostnames": ["x\n10.0.0.9 evil"]},
        ]});
        let expected = "172.17.0.80 B.example a.example b.example\nhost-ip-1 host1\n10.0.0.1\n\
            172.17.0.80 a.example a.example\n";
        assert_eq!(text(entries::of_data(&spec)), expected);
        assert_eq!(text(entries::of_data(&json!({}))), "");
    }

    #[test]
    fn long_names_become_values_of_labels() {
        assert_eq!(label_value("allhosts"), "allhosts");
        let long = format!("{}.{}", "a".repeat(62), "b".repeat(80));
        assert_eq!(label_value(&long), "a".repeat(62));
    }
}
