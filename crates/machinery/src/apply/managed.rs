//! `metadata.managedFields`: who owns which fields.
//!
//! There is one entry per manager, operation and subresource, and for updates also per version. An
//! applier has one entry whatever versions it used: what it applied last replaces what it applied
//! before.

mod cap;

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::element::Malformed;
use super::set::FieldSet;
use crate::object;

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It applied them, and will remove them by applying without them.
    Apply,
    /// It wrote them in any other way.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields. Two entries of equal owners are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The field manager: a program such as `kubectl`.
    pub manager: String,
    /// How it came to own them.
    pub operation: Operation,
    /// The version it spoke. Empty for appliers, which are the same in all versions.
    version: String,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: String,
}

impl Owner {
    /// An owner. A manager without a name is `unknown`.
    pub fn new(
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: Option<&str>,
    ) -> Self {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        let version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            manager: manager.to_owned(),
            operation,
            version: version.to_owned(),
            subresource: subresource.unwrap_or_default().to_owned(),
        }
    }
}

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub owner: Owner,
    /// The version the fields are meant in.
    pub api_version: String,
    /// When the owner last changed something, RFC 3339.
    pub time: Option<String>,
    /// What.
    pub fields: FieldSet,
}

/// All entries of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// In no particular order; at most one per owner.
    pub entries: Vec<Entry>,
}

impl ManagedFields {
    /// The entries of an object. Like upstream we take all or nothing: with a single malformed
    /// entry among them none is believed.
    pub fn of(object: &Value) -> Self {
        Self::parse(&object["metadata"]["managedFields"]).unwrap_or_default()
    }

    /// Reads `metadata.managedFields`. Nothing at all is no entries.
    pub fn parse(json: &Value) -> Result<Self, Malformed> {
        let mut out = Self::default();
        match json {
            Value::Null => {}
            Value::Array(list) => {
                for entry in list {
                    out.put(parse_entry(entry)?);
                }
            }
            _ => return Err(Malformed),
        }
        Ok(out)
    }

    /// Writes the entries into an object in upstream's order; an object without entries has no
    /// `managedFields`.
    pub fn write(&self, object: &mut Value) {
        if self.entries.is_empty() {
            object::clear_meta(object, "managedFields");
        } else {
            object::set_meta(object, "managedFields", self.to_json());
        }
    }

    /// The value of `metadata.managedFields`.
    pub fn to_json(&self) -> Value {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by(|a, b| in_order(a, b));
        entries.into_iter().map(write_entry).collect()
    }

    /// The entry of an owner.
    pub fn get(&self, owner: &Owner) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.owner == *owner)
    }

    /// All owned fields.
    pub fn all_fields(&self) -> FieldSet {
        self.entries.iter().fold(FieldSet::new(), |all, entry| all.union(&entry.fields))
    }

    /// Adds an entry in the place of any other of the same owner.
    pub(super) fn put(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|old| old.owner == entry.owner) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    pub(super) fn remove(&mut self, owner: &Owner) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.owner == *owner)?;
        Some(self.entries.remove(at))
    }

    /// Whether both say the same, whatever the times.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self.entries.iter().all(|entry| {
                other.get(&entry.owner).is_some_and(|same| {
                    same.api_version == entry.api_version && same.fields == entry.fields
                })
            })
    }
}

fn parse_entry(json: &Value) -> Result<Entry, Malformed> {
    let text = |field: &str| json[field].as_str().unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(Malformed),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
        return Err(Malformed);
    }
    let mut owner = Owner::new("", operation, api_version, Some(text("subresource")));
    text("manager").clone_into(&mut owner.manager);
    Ok(Entry {
        owner,
        api_version: api_version.to_owned(),
        time: json["time"].as_str().filter(|time| seconds(time).is_some()).map(str::to_owned),
        fields: FieldSet::from_json(&json["fieldsV1"])?,
    })
}

fn write_entry(entry: &Entry) -> Value {
    let mut out = Map::new();
    out.insert("apiVersion".into(), entry.api_version.as_str().into());
    out.insert("fieldsType".into(), json!("FieldsV1"));
    out.insert("fieldsV1".into(), entry.fields.to_json());
    out.insert("manager".into(), entry.owner.manager.as_str().into());
    out.insert("operation".into(), entry.owner.operation.name().into());
    if !entry.owner.subresource.is_empty() {
        out.insert("subresource".into(), entry.owner.subresource.as_str().into());
    }
    if let Some(time) = &entry.time {
        out.insert("time".into(), time.as_str().into());
    }
    Value::Object(out)
}

fn seconds(time: &str) -> Option<i64> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

fn age(entry: &Entry) -> i64 {
    entry.time.as_deref().and_then(seconds).unwrap_or(0)
}

fn in_order(a: &Entry, b: &Entry) -> Ordering {
    let operation = a.owner.operation.cmp(&b.owner.operation);
    operation
        .then_with(|| age(a).cmp(&age(b)))
        .then_with(|| a.owner.manager.cmp(&b.owner.manager))
        .then_with(|| a.api_version.cmp(&b.api_version))
        .then_with(|| a.owner.subresource.cmp(&b.owner.subresource))
}
