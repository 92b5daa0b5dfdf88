//! FieldsV1: sets of fields as JSON.
//!
//! A member is a key with an empty map; a key with a filled map leads to members below it, and is a
//! member itself when it holds `.`:
//!
//! ```text
//! {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}      .metadata.labels, .metadata.labels.app
//! {"f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}  .ports[port=80], .ports[port=80].name
//! ```

use serde_json::{Map, Value};

use super::element::{Malformed, PathElement};
use super::set::{Branch, FieldSet};

impl FieldSet {
    /// Writes FieldsV1. Keys are in the order of their texts, as in every JSON map here.
    pub fn to_json(&self) -> Value {
        Value::Object(encode(self, false))
    }

    /// Reads FieldsV1.
    pub fn from_json(json: &Value) -> Result<Self, Malformed> {
        decode(json).map(|branch| branch.below)
    }
}

fn encode(set: &FieldSet, member: bool) -> Map<String, Value> {
    let mut out = Map::new();
    if member && !set.is_empty() {
        out.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for (element, branch) in &set.branches {
        out.insert(element.text(), Value::Object(encode(&branch.below, branch.member)));
    }
    out
}

fn decode(json: &Value) -> Result<Branch, Malformed> {
    let map = match json {
        Value::Object(map) => map,
        Value::Null => return Ok(Branch::leaf()),
        _ => return Err(Malformed),
    };
    let mut branch = Branch::default();
    for (key, value) in map {
        if key == "." {
            branch.member = true;
        } else if let Some(element) = PathElement::parse(key)? {
            branch.below.attach(element, decode(value)?);
        }
    }
    // A key that leads nowhere stands for itself.
    branch.member |= branch.below.is_empty();
    Ok(branch)
}
