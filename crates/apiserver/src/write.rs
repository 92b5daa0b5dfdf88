//! Everything that changes an object. Each operation reads a snapshot, computes the new state as a
//! value and hands it to the store with the revision it was computed from; when somebody else was
//! faster, it starts over or says so.

pub mod apply;
pub mod binding;
pub mod create;
pub mod delete;
pub mod eviction;
pub mod grace;
mod ownership;
pub mod patch;
pub mod scale;
pub mod update;

use std::sync::Arc;

use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::{Expect, Op, WriteError};
use serde_json::{Map, Value, json};

use crate::chance;
use crate::meta::{self, Entry, Summary};
use crate::registry::Resource;
use crate::server::Inner;

/// How often an operation without a precondition starts over before it gives up. Each lost race is
/// somebody else's success, so this many mean hundreds of writers on one object.
const ATTEMPTS: usize = 1000;

/// What became of a write.
pub enum Outcome {
    /// It is stored (or was already so).
    Stored(Arc<Entry>),
    /// It is not in the store: a dry run, or it went with its last finalizer. In the stored version.
    Shown(Value),
}

/// Why a put did not happen.
pub enum PutError {
    /// Somebody else wrote first.
    Lost,
    /// Refused for good.
    Refused(ApiError),
}

/// Stores one object.
async fn put(
    server: &Inner,
    key: String,
    expect: Expect,
    value: Value,
) -> Result<Arc<Entry>, PutError> {
    let op = Op::Put { key, expect, value: meta::encode(value) };
    match server.store.write(vec![op]).await {
        Ok(written) => {
            written.into_iter().next().map(|w| w.entry).ok_or_else(|| {
                PutError::Refused(ApiError::internal("the store acknowledged nothing"))
            })
        }
        Err(WriteError::Conflict { .. }) => Err(PutError::Lost),
        Err(other) => Err(PutError::Refused(store_error(&other))),
    }
}

/// Removes one object as it is.
async fn remove(
    server: &Inner,
    resource: &Resource,
    entry: &Arc<Entry>,
) -> Result<Arc<Entry>, PutError> {
    remove_as(server, resource, entry, meta::parse(entry)).await
}

/// Removes one object; `last`, its last state, goes to the watchers with the revision of the
/// deletion.
async fn remove_as(
    server: &Inner,
    resource: &Resource,
    entry: &Arc<Entry>,
    last: Value,
) -> Result<Arc<Entry>, PutError> {
    let op = Op::Delete {
        key: entry.key.to_string(),
        expect: Expect::Revision(entry.revision),
        value: Some(meta::encode(last.clone())),
    };
    match server.store.write(vec![op]).await {
        Ok(written) => {
            server.addresses.release(resource, &last);
            Ok(written.into_iter().next().map_or_else(|| Arc::clone(entry), |w| w.entry))
        }
        Err(WriteError::Conflict { .. }) => Err(PutError::Lost),
        Err(other) => Err(PutError::Refused(store_error(&other))),
    }
}

/// Changes the metadata of an object on behalf of the server itself, past admission. `change`
/// says whether there is anything to write. An object that thereby loses its last finalizer goes.
pub async fn modify(
    server: &Inner,
    resource: &Resource,
    key: &str,
    change: impl Fn(&mut Value) -> bool,
) -> ApiResult<()> {
    for _ in 0..ATTEMPTS {
        let snapshot = server.store.snapshot();
        let Some(entry) = snapshot.get(key) else { return Ok(()) };
        let mut object = meta::parse(entry);
        if !change(&mut object) {
            return Ok(());
        }
        drop_empty(&mut object);
        let done = if update::deletion_complete(&object) {
            remove(server, resource, entry).await
        } else {
            put(server, key.to_owned(), Expect::Revision(entry.revision), object).await
        };
        match done {
            Ok(_) => return Ok(()),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => {}
        }
    }
    gave_up(resource, key)
}

/// What the client hears when the store cannot keep a write.
fn store_error(error: &WriteError<Summary>) -> ApiError {
    match error {
        WriteError::TooLarge { limit, .. } => ApiError::too_large(*limit),
        WriteError::BadKey { .. } | WriteError::BadTemplate { .. } => {
            ApiError::bad_request(error.to_string())
        }
        WriteError::Closed => ApiError::unavailable(error.to_string()),
        _ => ApiError::internal(error),
    }
}

/// `metadata.generation` counts changes of what the user wants: everything but metadata and,
/// where it is reported separately, status.
fn wish_changed(resource: &Resource, old: &Value, new: &Value) -> bool {
    let status_apart = resource.storage_version().status;
    let wish = |object: &Value| -> Vec<(String, Value)> {
        object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "metadata" && !(status_apart && *key == "status"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    wish(old) != wish(new)
}

/// Carries over what clients cannot change, and drops what they may not say.
fn carry_over(old: &Value, new: &mut Value) {
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "namespace",
        "name",
        "generateName",
    ] {
        match &old["metadata"][field] {
            Value::Null => object::clear_meta(new, field),
            value => object::set_meta(new, field, value.clone()),
        }
    }
    object::clear_meta(new, "selfLink");
    drop_empty(new);
}

/// Empty maps and lists in the metadata say nothing and are not kept, as Go's `omitempty` does.
fn drop_empty(object: &mut Value) {
    let Some(meta) = object::meta_mut(object) else { return };
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match meta.get(field) {
            Some(Value::Null) => true,
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            _ => false,
        };
        if empty {
            meta.remove(field);
        }
    }
}

/// Writes a condition into the status of an object. Its time stays while its status does.
fn set_condition(object: &mut Value, kind: &str, reason: &str, message: &str) {
    if !object["status"].is_object() {
        object["status"] = Value::Object(Map::new());
    }
    let conditions = &mut object["status"]["conditions"];
    let mut list = conditions.as_array().cloned().unwrap_or_default();
    let old = list.iter().position(|condition| condition["type"] == kind);
    let since = old.map(|at| &list[at]).filter(|condition| condition["status"] == "True");
    let since =
        since.map_or_else(|| chance::timestamp().into(), |c| c["lastTransitionTime"].clone());
    let mut new =
        json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": since});
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            new[field] = text.into();
        }
    }
    match old {
        Some(at) => list[at] = new,
        None => list.push(new),
    }
    *conditions = list.into();
}

/// The two objects differ in more than the revision they carry.
fn differs(old: &Value, new: &Value) -> bool {
    let strip = |object: &Value| {
        let mut object = object.clone();
        object::clear_meta(&mut object, "resourceVersion");
        object
    };
    strip(old) != strip(new)
}

/// A server's answer when a write kept losing races.
fn gave_up<T>(resource: &Resource, name: &str) -> ApiResult<T> {
    Err(ApiError::stale(&resource.group_resource(), name))
}
