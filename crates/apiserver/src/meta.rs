//! What the server remembers of each stored object beside its bytes, so that lists, selectors and
//! garbage collection need not parse it again.

use landbridge_machinery::object;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The metadata kept parsed in memory for every object.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Summary {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.labels`.
    pub labels: Option<Map<String, Value>>,
    /// `metadata.ownerReferences`, shortened to what garbage collection needs.
    pub owner_references: Vec<Owner>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// Set while the object is being deleted.
    pub deletion_timestamp: Option<String>,
    /// Seconds somebody was given to end it.
    pub deletion_grace_period_seconds: Option<i64>,
}

/// One owner reference.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Owner {
    /// `apiVersion` of the owner.
    pub api_version: String,
    /// `kind` of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// uid of the owner: the name alone is not enough, it may be a later namesake.
    pub uid: String,
    /// The owner's foreground deletion waits for this object.
    pub block_owner_deletion: Option<bool>,
}

#[derive(Deserialize, Default)]
struct OnlyMetadata {
    #[serde(default)]
    metadata: Summary,
}

impl landbridge_store::Meta for Summary {
    fn decode(_key: &str, value: &[u8]) -> Self {
        serde_json::from_slice::<OnlyMetadata>(value).unwrap_or_default().metadata
    }
}

impl Summary {
    /// Whether deletion has begun.
    pub fn terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether somebody was given time to end it, and has not yet.
    pub fn ending(&self) -> bool {
        self.terminating() && self.deletion_grace_period_seconds.is_some_and(|s| s > 0)
    }
}

/// One stored object.
pub type Entry = landbridge_store::Entry<Summary>;
/// All objects at one revision.
pub type Snapshot = landbridge_store::Snapshot<Summary>;
/// The store of the server.
pub type Store = landbridge_store::Store<Summary>;

/// The object as a value. Stored bytes were written by us; were they unreadable, the caller gets
/// `Null` and every accessor finds nothing, rather than a panic.
pub fn parse(entry: &Entry) -> Value {
    serde_json::from_slice(&entry.value).unwrap_or(Value::Null)
}

/// Serialises an object so that the store can stamp its revision into `metadata.resourceVersion`.
pub fn encode(mut value: Value) -> landbridge_store::Template {
    object::clear_meta(&mut value, "resourceVersion");
    let mut bytes = Vec::with_capacity(1024);
    let mut revision_at = None;
    bytes.push(b'{');
    if let Value::Object(fields) = &value {
        for (position, (key, field)) in fields.iter().enumerate() {
            if position > 0 {
                bytes.push(b',');
            }
            write_json(&mut bytes, key);
            bytes.push(b':');
            match field {
                Value::Object(meta) if key == "metadata" => {
                    bytes.extend_from_slice(br#"{"resourceVersion":""#);
                    revision_at = Some(bytes.len());
                    bytes.push(b'"');
                    for (key, field) in meta {
                        bytes.push(b',');
                        write_json(&mut bytes, key);
                        bytes.push(b':');
                        write_json(&mut bytes, field);
                    }
                    bytes.push(b'}');
                }
                other => write_json(&mut bytes, other),
            }
        }
    }
    bytes.push(b'}');
    landbridge_store::Template { bytes, revision_at }
}

/// Values and strings always serialise; writing to memory cannot fail.
fn write_json(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_stamp_goes_into_the_metadata_of_the_object_itself() {
        let object = json!({
            "apiVersion": "v1", "kind": "X",
            "data": {"metadata": {"resourceVersion": ""}},
            "metadata": {"name": "a", "resourceVersion": "7"},
        });
        let template = encode(object);
        let mut bytes = template.bytes;
        let at = template.revision_at.expect("offset");
        bytes.splice(at..at, *b"42");
        let back: Value = serde_json::from_slice(&bytes).expect("json");
        assert_eq!(back["metadata"]["resourceVersion"], "42");
        assert_eq!(back["data"]["metadata"]["resourceVersion"], "");
        assert_eq!(back["metadata"]["name"], "a");
    }
}
