//! Merge patch (RFC 7386).

use serde_json::{Map, Value};

/// Applies an RFC 7386 patch: objects merge, `null` deletes, everything else replaces.
pub fn merge_patch(document: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *document = patch.clone();
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Value::Object(document) = document else { return };
    for (key, value) in patch {
        if value.is_null() {
            document.remove(key);
        } else {
            merge_patch(document.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}
