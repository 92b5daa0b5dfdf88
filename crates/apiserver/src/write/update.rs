//! PUT, and the common second half of PATCH: a new state for an object that exists.

use std::sync::Arc;

use landbridge_machinery::apply::{keep_times, track_update};
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::Expect;
use serde_json::Value;

use super::ownership::Writer;
use super::{
    ATTEMPTS, Outcome, PutError, carry_over, create, differs, gave_up, grace, put, remove,
    wish_changed,
};
use crate::call::Call;
use crate::meta::{self, Entry};
use crate::{access, admission, convert, decode};

/// Replaces the object by the one in the body.
pub async fn update(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<(Outcome, bool)> {
    let object = decode::object(call, bytes)?;
    let name = object::name(&object);
    if !name.is_empty() && name != call.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name()
        )));
    }
    let namespace = object::namespace(&object);
    if call.resource.namespaced && !namespace.is_empty() && Some(namespace) != call.namespace() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let given = object::resource_version(&object).to_owned();
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&call.key()).cloned() else {
            if call.resource.strategy.create_on_update
                && call.target.subresource.is_none()
                && given.is_empty()
            {
                access::may_create(call)?;
                let mut object = object;
                object::set_meta(&mut object, "name", call.name().to_owned());
                return create::create_object(call, object, false)
                    .await
                    .map(|outcome| (outcome, true));
            }
            return Err(call.not_found());
        };
        if given.is_empty() && !call.resource.strategy.unconditional_update {
            let error = FieldError::invalid(
                &FieldPath::new("metadata.resourceVersion"),
                0,
                "must be specified for an update",
            );
            return Err(ApiError::invalid(&call.resource.group_kind(), call.name(), &[error]));
        }
        match replace(call, &entry, object.clone(), false).await {
            Err(PutError::Lost) if given.is_empty() => {}
            Err(PutError::Lost) => return gave_up(&call.resource, call.name()),
            Err(PutError::Refused(error)) => return Err(error),
            Ok(outcome) => return Ok((outcome, false)),
        }
    }
    gave_up(&call.resource, call.name())
}

/// Puts `object` (in the client's version) in the place of `entry`; `owned` when its managed fields
/// are right already.
pub async fn replace(
    call: &mut Call<'_>,
    entry: &Arc<Entry>,
    object: Value,
    owned: bool,
) -> Result<Outcome, PutError> {
    let resource = Arc::clone(&call.resource);
    let version = &resource.versions[call.version];
    let old = meta::parse(entry);
    preconditions(call, &object, entry, &old).map_err(PutError::Refused)?;
    let live = convert::value(&resource, version, entry);
    let mut new = within_endpoint(call, &live, object);
    carry_over(&live, &mut new);
    if !owned {
        track_update(Some(&live), &mut new, &Writer::of(call).write(&version.schema));
    }
    if call.version != resource.storage && resource.strategy.enforce_schema {
        let errors = admission::check_schema(call, version, &new, Some(&live));
        if !errors.is_empty() {
            let error = ApiError::invalid(&resource.group_kind(), call.name(), &errors);
            return Err(PutError::Refused(error));
        }
    }
    convert::to_storage(&resource, version, &mut new).map_err(PutError::Refused)?;
    admission::admit(call, &mut new, Some(&old)).map_err(PutError::Refused)?;
    crate::crd::check_schemas(&resource, &new, Some(&old)).map_err(PutError::Refused)?;
    let claim =
        call.server.addresses.claim(&resource, &mut new, Some(&old)).map_err(PutError::Refused)?;
    if resource.strategy.generation && wish_changed(&resource, &old, &new) {
        object::set_meta(&mut new, "generation", object::generation(&old) + 1);
    }
    if call.query.dry_run {
        object::set_meta(&mut new, "resourceVersion", entry.revision.to_string());
        return Ok(Outcome::Shown(new));
    }
    keep_times(&old, &mut new);
    if !differs(&old, &new) {
        return Ok(Outcome::Stored(Arc::clone(entry)));
    }
    if deletion_complete(&new) {
        let gone = remove(call.server, &resource, entry).await?;
        object::set_meta(&mut new, "resourceVersion", gone.revision.to_string());
        return Ok(Outcome::Shown(new));
    }
    let stored =
        put(call.server, entry.key.to_string(), Expect::Revision(entry.revision), new).await?;
    claim.keep();
    Ok(Outcome::Stored(stored))
}

/// Each endpoint writes its part of the object; the rest stays what it is.
fn within_endpoint(call: &Call<'_>, live: &Value, mut object: Value) -> Value {
    match call.target.subresource.as_deref() {
        Some("status") if call.resource.strategy.status_with_metadata => {
            with_status_and_notes_of(live, &object)
        }
        Some("status") => with_status_of(live, &object),
        Some("finalize") => with_finalizers_of(live, &object),
        _ if call.resource.group.is_empty() && call.resource.kind == "Namespace" => {
            // What a namespace waits for is said through `finalize` only.
            keep_status(live, &mut object);
            object["spec"] = live["spec"].clone();
            object
        }
        _ => {
            if call.version().status {
                keep_status(live, &mut object);
            }
            object
        }
    }
}

/// The last finalizer is gone and nobody needs more time: the object goes.
pub fn deletion_complete(object: &Value) -> bool {
    let namespace_content = object["kind"] == "Namespace"
        && object["apiVersion"] == "v1"
        && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    object::is_terminating(object)
        && object::finalizers(object).is_empty()
        && grace::is_over(object)
        && !namespace_content
}

fn preconditions(call: &Call<'_>, object: &Value, entry: &Entry, old: &Value) -> ApiResult<()> {
    let resource = call.resource.group_resource();
    let given = object::resource_version(object);
    if !given.is_empty() && given != entry.revision.to_string() {
        return Err(ApiError::stale(&resource, call.name()));
    }
    let uid = object::uid(object);
    if !uid.is_empty() && uid != object::uid(old) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        );
        return Err(ApiError::conflict(&resource, call.name(), &why));
    }
    Ok(())
}

/// The main endpoint does not touch the status.
fn keep_status(old: &Value, new: &mut Value) {
    let Some(fields) = new.as_object_mut() else { return };
    match old.get("status") {
        Some(status) => fields.insert("status".into(), status.clone()),
        None => fields.remove("status"),
    };
}

/// The finalize endpoint of namespaces touches `spec.finalizers` only.
fn with_finalizers_of(old: &Value, new: &Value) -> Value {
    let mut out = old.clone();
    out["spec"]["finalizers"] = match &new["spec"]["finalizers"] {
        Value::Array(list) => Value::Array(list.clone()),
        _ => Value::Array(Vec::new()),
    };
    out
}

/// Who reports the status of a pod, a node or a Service may leave notes with it: networks do so, and
/// MetalLB.
fn with_status_and_notes_of(old: &Value, new: &Value) -> Value {
    let mut out = with_status_of(old, new);
    for field in ["labels", "annotations", "finalizers"] {
        match &new["metadata"][field] {
            Value::Null => object::clear_meta(&mut out, field),
            value => object::set_meta(&mut out, field, value.clone()),
        }
    }
    out
}

/// The status endpoint touches nothing else.
fn with_status_of(old: &Value, new: &Value) -> Value {
    let mut out = old.clone();
    if let Some(fields) = out.as_object_mut() {
        match new.get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    out
}
