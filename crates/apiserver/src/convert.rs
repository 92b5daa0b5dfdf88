//! Between the version a client speaks and the version that is stored.

use std::sync::Arc;

use bytes::Bytes;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::builtin::events;
use crate::meta::{self, Entry};
use crate::registry::{Resource, Version};

/// Turns an object from one version of its kind into another.
pub fn convert(resource: &Resource, object: &mut Value, from: &str, to: &str) -> ApiResult<()> {
    if from == to {
        return Ok(());
    }
    resource.hooks.convert(object, from, to).map_err(|why| {
        ApiError::internal(format!(
            "conversion of {} from {from} to {to} failed: {why}",
            resource.kind
        ))
    })?;
    object["apiVersion"] = resource.api_version(to).into();
    Ok(())
}

/// From the version of the request to the form that is stored.
pub fn to_storage(resource: &Resource, version: &Version, object: &mut Value) -> ApiResult<()> {
    if resource.group == events::GROUP {
        events::to_core(object);
        return Ok(());
    }
    convert(resource, object, &version.name, &resource.storage_version().name)
}

/// From the form that is stored to the version of the request.
pub fn from_storage(resource: &Resource, version: &Version, object: &mut Value) -> ApiResult<()> {
    if resource.group == events::GROUP {
        events::to_events(object);
        return Ok(());
    }
    convert(resource, object, &resource.storage_version().name, &version.name)
}

/// Whether the stored bytes are what a client of this version should read.
pub fn verbatim(resource: &Resource, version: &Version, revision: u64) -> bool {
    resource.storage_version().name == version.name
        && resource.group != events::GROUP
        && (revision >= resource.schema_revision || !version.schema.has_defaults())
}

/// The object as a client of this version reads it.
pub fn value(resource: &Resource, version: &Version, entry: &Entry) -> Value {
    let mut object = meta::parse(entry);
    if !verbatim(resource, version, entry.revision) {
        // A stored object that a conversion cannot handle is shown as stored rather than hidden.
        if let Err(error) = from_storage(resource, version, &mut object) {
            tracing::warn!(key = %entry.key, %error, "showing the stored version");
        }
        version.schema.apply_defaults(&mut object);
    }
    object
}

/// The same, serialised; costs nothing when the stored bytes will do.
pub fn bytes(resource: &Resource, version: &Version, entry: &Arc<Entry>) -> Bytes {
    if verbatim(resource, version, entry.revision) {
        entry.value.clone()
    } else {
        serde_json::to_vec(&value(resource, version, entry)).unwrap_or_default().into()
    }
}
