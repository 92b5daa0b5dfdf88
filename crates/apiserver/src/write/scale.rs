//! The `scale` subresource: the replica count of any kind that has one.

use std::sync::Arc;

use landbridge_machinery::object;
use landbridge_machinery::patch as patches;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use super::{ATTEMPTS, Outcome, PutError, gave_up, update};
use crate::call::Call;
use crate::meta::Entry;
use crate::registry::ScalePaths;
use crate::{convert, decode, negotiate};

/// The Scale of a stored object.
pub fn read(call: &Call<'_>, entry: &Arc<Entry>) -> ApiResult<Value> {
    let paths = paths(call)?;
    let object = convert::value(&call.resource, call.version(), entry);
    Ok(scale_of(&object, &paths))
}

/// Changes the replica count: PUT of a Scale, or a patch of one.
pub async fn write(call: &mut Call<'_>, bytes: &[u8], is_patch: bool) -> ApiResult<Value> {
    let paths = paths(call)?;
    let body: Value = match negotiate::content_type(call.headers) {
        landbridge_protobuf::CONTENT_TYPE => decode::protobuf(bytes)?,
        _ => serde_json::from_slice(bytes)
            .map_err(|e| ApiError::bad_request(format!("the body is not valid JSON: {e}")))?,
    };
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&call.key()).cloned() else { return Err(call.not_found()) };
        let mut object = convert::value(&call.resource, call.version(), &entry);
        let before = scale_of(&object, &paths);
        let wanted = if is_patch { patched(call, &before, &body)? } else { body.clone() };
        let given = object::resource_version(&wanted).to_owned();
        if !given.is_empty() && given != entry.revision.to_string() {
            return gave_up(&call.resource, call.name());
        }
        let replicas = match &wanted["spec"]["replicas"] {
            Value::Null => 0,
            value => value.as_i64().filter(|n| (0..=i64::from(i32::MAX)).contains(n)).ok_or_else(|| {
                ApiError::new(422, "Invalid", format!("Scale.autoscaling {:?} is invalid: spec.replicas: Invalid value: {value}: must be greater than or equal to 0", call.name()))
            })?,
        };
        set(&mut object, &paths.spec_replicas, replicas.into());
        match update::replace(call, &entry, object, false).await {
            Ok(Outcome::Stored(entry)) => return read(call, &entry),
            Ok(Outcome::Shown(object)) => return Ok(scale_of(&object, &paths)),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => {}
        }
    }
    gave_up(&call.resource, call.name())
}

fn paths(call: &Call<'_>) -> ApiResult<ScalePaths> {
    call.version().scale.clone().ok_or_else(ApiError::no_such_path)
}

fn patched(call: &Call<'_>, before: &Value, patch: &Value) -> ApiResult<Value> {
    match negotiate::content_type(call.headers) {
        "application/json-patch+json" => patches::json_patch(before, patch),
        // A Scale has no lists to merge, so both kinds of merge patch mean the same.
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            let mut after = before.clone();
            patches::merge_patch(&mut after, patch);
            Ok(after)
        }
        other => Err(ApiError::unsupported_media_type(
            other,
            &["application/json-patch+json", "application/merge-patch+json"],
        )),
    }
}

fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let selector = paths.label_selector.as_deref().map(|path| selector_text(get(object, path)));
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": object::name(object),
            "namespace": object::namespace(object),
            "uid": object::uid(object),
            "resourceVersion": object::resource_version(object),
            "creationTimestamp": object["metadata"]["creationTimestamp"],
        },
        "spec": {"replicas": get(object, &paths.spec_replicas).as_i64().unwrap_or(0)},
        "status": {"replicas": get(object, &paths.status_replicas).as_i64().unwrap_or(0)},
    });
    if let Some(selector) = selector.filter(|s| !s.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// Custom kinds keep the selector as text, built-in ones as an object.
fn selector_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => landbridge_machinery::selector::LabelSelector::from_object(value)
            .map(|selector| selector.to_string())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

fn get<'a>(object: &'a Value, dotted: &str) -> &'a Value {
    dotted.split('.').filter(|part| !part.is_empty()).fold(object, |value, part| &value[part])
}

fn set(object: &mut Value, dotted: &str, new: Value) {
    let mut place = object;
    for part in dotted.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = new;
}
