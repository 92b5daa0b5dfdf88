//! PATCH: a change described by its difference.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::object;
use landbridge_machinery::patch;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::{ATTEMPTS, Outcome, PutError, apply, gave_up, update};
use crate::call::Call;
use crate::{convert, decode, negotiate};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Applies the patch in the body.
pub async fn patch(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Outcome> {
    let kind = negotiate::content_type(call.headers).to_owned();
    let custom = call.resource.crd_uid.is_some();
    if ![JSON_PATCH, MERGE_PATCH, STRATEGIC].contains(&kind.as_str())
        || (custom && kind == STRATEGIC)
    {
        let all = [JSON_PATCH, MERGE_PATCH, apply::MEDIA_TYPE, STRATEGIC];
        let accepted = if custom { &all[..3] } else { &all };
        return Err(ApiError::unsupported_media_type(&kind, accepted));
    }
    let patch: Value = serde_json::from_slice(bytes)
        .map_err(|e| ApiError::bad_request(format!("error decoding patch: {e}")))?;
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&call.key()).cloned() else { return Err(call.not_found()) };
        let before = convert::value(&call.resource, call.version(), &entry);
        let mut object = patched(call, &kind, &before, &patch)?;
        immutable(call, &before, &object)?;
        let pinned = object::resource_version(&object) != entry.revision.to_string();
        if pinned {
            // The patch itself names a revision, and it is not this one.
            return Err(ApiError::stale(&call.resource.group_resource(), call.name()));
        }
        decode::conform(call, &mut object, Vec::new())
            .map_err(|error| not_conforming(&patch, &error))?;
        match update::replace(call, &entry, object, false).await {
            Ok(outcome) => return Ok(outcome),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => call.warnings.clear(),
        }
    }
    gave_up(&call.resource, call.name())
}

fn patched(call: &Call<'_>, kind: &str, before: &Value, patch: &Value) -> ApiResult<Value> {
    match kind {
        JSON_PATCH => patch::json_patch(before, patch),
        MERGE_PATCH => {
            if !patch.is_object() {
                return Err(ApiError::bad_request(
                    "error decoding patch: a merge patch is a JSON object",
                ));
            }
            let mut object = before.clone();
            patch::merge_patch(&mut object, patch);
            Ok(object)
        }
        _ => {
            let mut object = before.clone();
            patch::strategic(&mut object, patch, &call.version().schema)?;
            Ok(object)
        }
    }
}

/// The patch is well formed, but what it makes of the object is not.
fn not_conforming(patch: &Value, error: &ApiError) -> ApiError {
    let cause =
        FieldError::invalid(&FieldPath::new("patch"), patch.to_string(), error.message.as_str());
    ApiError::invalid(&GroupKind::new("", ""), "", &[cause])
}

/// A patch cannot turn an object into another one.
fn immutable(call: &Call<'_>, before: &Value, after: &Value) -> ApiResult<()> {
    if !after.is_object() || !after["metadata"].is_object() {
        return Err(ApiError::bad_request("the patch leaves no object with metadata"));
    }
    for field in ["apiVersion", "kind"] {
        if before[field] != after[field] {
            return Err(decode::cannot_be_handled(
                call,
                &format!("the patch must not change {field}"),
            ));
        }
    }
    let (was, is) = (object::name(before), object::name(after));
    if was != is {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({is}) does not match the name on the URL ({was})"
        )));
    }
    if object::namespace(before) != object::namespace(after) {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}
