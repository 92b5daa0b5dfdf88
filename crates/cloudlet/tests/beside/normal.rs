//! An answer without what differs each time: ids, times, MACs, chosen addresses, order.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::calls::{Call, Kept, Story};

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Those headers that are compared, lower case.
    pub headers: Vec<(String, String)>,
    /// The body: JSON, a text where it is none, `Null` where there is nothing.
    pub body: Value,
}

/// An answer as it is recorded and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plain {
    /// The call's name.
    pub call: String,
    /// Who made it, and its line, for who reads the recording.
    pub line: String,
    /// The status.
    pub status: u16,
    /// The headers that matter.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// The body.
    pub body: Value,
}

/// The headers that are compared, and whether their value is.
pub const HEADERS: [(&str, bool); 4] =
    [("www-authenticate", true), ("x-subject-token", false), ("location", true), ("vary", true)];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b[0-9a-f]{32}\b", "<hex>"),
        (r"\bfa:16:3e(:[0-9a-f]{2}){3}\b", "<mac>"),
        // An address in the memory of Neutron, which it shows with the name of a function.
        (r"-\d+ failed with", "-<number> failed with"),
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "<time>"),
    ];
    patterns.map(|(text, name)| (Regex::new(text).expect("a pattern"), name)).into()
});

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]{1,4}(:[0-9a-f]{0,4}){2,7})\b")
        .expect("a pattern")
});

static SET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{('[^':]*'(?:, '[^':]*')*)\}").expect("a pattern"));

/// Where answers have addresses.
const ADDRESSES: [&str; 3] = ["ip_address", "floating_ip_address", "fixed_ip_address"];

/// A body without ranges, the ends of which may be chosen like all the rest of them.
fn without_ranges(body: &Value) -> Value {
    match body {
        Value::Array(items) => items.iter().map(without_ranges).collect(),
        Value::Object(map) => {
            let rest = map.iter().filter(|(key, _)| *key != "allocation_pools");
            rest.map(|(key, value)| (key.clone(), without_ranges(value))).collect()
        }
        other => other.clone(),
    }
}

/// What turns answers of one server into plain ones, over one story.
pub struct Normal {
    /// Addresses that are compared as they are.
    certain: BTreeSet<String>,
    /// Addresses that the server chose.
    chosen: BTreeSet<String>,
    /// Roots of the services' URLs, and what stands for them.
    roots: Vec<(String, &'static str)>,
}

impl Normal {
    /// For one story on a server with these roots of identity and network.
    pub fn new(story: &Story, identity: &str, network: &str) -> Self {
        let mut certain: BTreeSet<String> = story.certain.iter().cloned().collect();
        for call in &story.calls {
            let body = call.body.as_ref().map(without_ranges).unwrap_or_default().to_string();
            for text in [&call.line, &body] {
                certain.extend(ADDRESS.find_iter(text).map(|found| found.as_str().to_owned()));
            }
        }
        let roots = vec![(identity.to_owned(), "<identity>"), (network.to_owned(), "<network>")];
        Self { certain, chosen: BTreeSet::new(), roots }
    }

    /// The plain form of an answer; `kept` already has what this call kept.
    pub fn plain(&mut self, call: &Call, answer: &Answer, kept: &Kept) -> Plain {
        self.notice(&answer.body);
        let mut names: Vec<(&str, String)> = kept
            .iter()
            .filter_map(|(name, value)| Some((value.as_str()?, format!("<{name}>"))))
            // Short ones are words that may stand anywhere.
            .filter(|(value, _)| value.len() >= 20)
            .collect();
        names.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let mut body = self.value(&answer.body, &names);
        settle(&mut body, !call.ordered);
        let headers = answer.headers.iter().map(|(name, value)| {
            let compared = HEADERS.iter().any(|(known, whole)| known == name && *whole);
            let value = if compared { self.text(value, &names) } else { "<there>".to_owned() };
            (name.clone(), value.into())
        });
        Plain {
            call: call.name.clone(),
            line: format!("{}: {}", call.user, call.line),
            status: answer.status,
            headers: headers.collect(),
            body,
        }
    }

    /// Notes the addresses that the server chose.
    fn notice(&mut self, body: &Value) {
        match body {
            Value::Object(map) => {
                for (key, value) in map {
                    match value.as_str() {
                        Some(text) if ADDRESSES.contains(&key.as_str()) => {
                            if !self.certain.contains(text) && !text.contains('/') {
                                self.chosen.insert(text.to_owned());
                            }
                        }
                        _ => self.notice(value),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.notice(item)),
            _ => {}
        }
    }

    fn value(&self, value: &Value, names: &[(&str, String)]) -> Value {
        match value {
            Value::String(text) => self.text(text, names).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item, names)).collect(),
            Value::Object(map) => {
                let mut out: Map<String, Value> = Map::new();
                for (key, value) in map {
                    // Where Neutron forgets to hide the number of a row in a table of its database.
                    if key == "standard_attr_id" {
                        continue;
                    }
                    let value = match (key.as_str(), value.as_str()) {
                        ("message", Some(text)) => self.message(text, names).into(),
                        (key, Some(text))
                            if ADDRESSES.contains(&key) && self.chosen.contains(text) =>
                        {
                            "<address>".into()
                        }
                        ("audit_ids", _) => "<random>".into(),
                        _ => self.value(value, names),
                    };
                    out.insert(self.text(key, names), value);
                }
                // The number of a tunnel is the server's choice.
                let tunnel = ["vxlan", "geneve", "gre"].map(Value::from);
                if tunnel.contains(&out.get("provider:network_type").cloned().unwrap_or_default()) {
                    out.insert("provider:segmentation_id".to_owned(), "<chosen>".into());
                }
                Value::Object(out)
            }
            other => other.clone(),
        }
    }

    /// In a message every address that no call names is chosen.
    fn message(&self, text: &str, names: &[(&str, String)]) -> String {
        let text = self.text(text, names);
        let known = |found: &regex::Captures<'_>| {
            let chosen = !self.certain.contains(&found[0]);
            if chosen { "<address>".to_owned() } else { found[0].to_owned() }
        };
        let text = ADDRESS.replace_all(&text, known);
        // A set of Python has another order in every process.
        let sorted = |found: &regex::Captures<'_>| {
            let mut items: Vec<&str> = found[1].split(", ").collect();
            items.sort_unstable();
            format!("{{{}}}", items.join(", "))
        };
        SET.replace_all(&text, sorted).into_owned()
    }

    fn text(&self, text: &str, names: &[(&str, String)]) -> String {
        let mut text = text.to_owned();
        for (root, name) in &self.roots {
            text = text.replace(root, name);
        }
        for (value, name) in names {
            text = text.replace(value, name);
        }
        for (pattern, name) in PATTERNS.iter() {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        text
    }
}

/// Sorts lists by the text of their items; the outermost only where its order does not matter.
fn settle(body: &mut Value, outermost: bool) {
    match body {
        Value::Object(map) => {
            for value in map.values_mut() {
                match value {
                    Value::Array(items) if !outermost => {
                        for item in items.iter_mut() {
                            settle(item, true);
                        }
                    }
                    other => settle(other, true),
                }
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                settle(item, true);
            }
            items.sort_by_cached_key(ToString::to_string);
        }
        _ => {}
    }
}
