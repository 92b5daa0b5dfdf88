//! Moving from client-side to server-side apply.
//!
//! `kubectl apply` without `--server-side` keeps what it applied in an annotation and owns fields
//! as an updater. When kubectl applies on the server for the first time, it would conflict with
//! itself; so a conflict about a field whose value is as the annotation says is none. As long as
//! the annotation is there it is kept current, so that users can go back.

use serde_json::{Map, Value};

use super::compare::Comparison;
use super::set::FieldSet;
use crate::object;
use crate::schema::Schema;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations together may have this many bytes.
const MOST_BYTES: usize = 256 * 1024;

/// The fields of a live object that are as client-side apply left them.
pub(super) fn untouched(live: &Value, schema: &Schema, api_version: &str) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(object::annotation(live, ANNOTATION)?).ok()?;
    if last["apiVersion"] != api_version {
        return None;
    }
    let change = Comparison::of(schema, &last, live);
    let fields = FieldSet::of(schema, &last);
    let fields = fields.difference(&change.modified).difference(&change.added);
    Some(fields.difference(&change.removed))
}

/// Brings the annotation in line with what was applied, if there is one.
pub(super) fn sync(result: &mut Value, config: &Value) {
    if object::annotation(result, ANNOTATION).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{config}\n");
    let Some(annotations) = annotations(result) else { return };
    annotations.remove(ANNOTATION);
    let others: usize =
        annotations.iter().map(|(name, text)| name.len() + text.as_str().map_or(0, str::len)).sum();
    if others + ANNOTATION.len() + text.len() <= MOST_BYTES {
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    }
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
