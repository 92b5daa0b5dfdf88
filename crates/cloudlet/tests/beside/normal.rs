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
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "<time>"),
    ];
    patterns.map(|(text, name)| (Regex::new(text).expect("a pattern"), name)).into()
});

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]{1,4}(:[0-9a-f]{0,4}){2,7})\b").expect("a pattern")
});

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
            let body = call.body.as_ref().map(ToString::to_string).unwrap_or_default();
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
                    let address = ["ip_address", "floating_ip_address", "fixed_ip_address"];
                    match value.as_str() {
                        Some(text) if address.contains(&key.as_str()) => {
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
                    out.insert(self.text(key, names), self.value(value, names));
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
        if !self.chosen.is_empty() {
            let known = |found: &regex::Captures<'_>| match self.chosen.contains(&found[0]) {
                true => "<address>".to_owned(),
                false => found[0].to_owned(),
            };
            text = ADDRESS.replace_all(&text, known).into_owned();
            // In names: host-10-0-0-5.
            for address in &self.chosen {
                text = text.replace(&format!("host-{}", address.replace(['.', ':'], "-")), "host-<address>");
            }
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
                        items.iter_mut().for_each(|item| settle(item, true));
                    }
                    other => settle(other, true),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| settle(item, true));
            items.sort_by_cached_key(ToString::to_string);
        }
        _ => {}
    }
}
