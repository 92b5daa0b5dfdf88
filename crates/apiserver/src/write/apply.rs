//! Server-side apply: PATCH with a partial object that is somebody's whole opinion.

use landbridge_machinery::apply::{ApplyRequest, apply as merge};
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::ownership::Writer;
use super::{ATTEMPTS, Outcome, PutError, create, gave_up, update};
use crate::call::Call;
use crate::query::invalid_option;
use crate::{access, convert, decode};

/// Content type of an apply; JSON is YAML.
pub const MEDIA_TYPE: &str = "application/apply-patch+yaml";

/// Applies the configuration in the body; creates the object when it is not there. Says whether
/// it did.
pub async fn apply(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<(Outcome, bool)> {
    named(call)?;
    let decode::Parsed { value: mut config, complaints } = decode::yaml(bytes)?;
    if !config.is_object() {
        return Err(decode::cannot_be_handled(call, "the configuration is no object"));
    }
    decode::check_kind(call, &mut config)?;
    decode::drop_unknown(call, &mut config, complaints)?;
    place(call, &mut config)?;
    let said = call.warnings.len();
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let entry = snapshot.get(&call.key()).cloned();
        if entry.is_none() && call.target.subresource.is_some() {
            return Err(call.not_found());
        }
        let shown = entry.as_ref().map(|e| convert::value(&call.resource, call.version(), e));
        let writer = Writer::of(call);
        let request = ApplyRequest {
            live: shown.as_ref(),
            config: &config,
            force: call.query.force,
            write: writer.write(&call.version().schema),
        };
        let mut object = merge(request).map_err(blame_the_client)?;
        decode::conform(call, &mut object, Vec::new())?;
        let Some(entry) = entry else {
            match first(call, object).await {
                // Somebody else created it in between: apply to that.
                Err(error) if error.reason == "AlreadyExists" => continue,
                other => return other.map(|outcome| (outcome, true)),
            }
        };
        match update::replace(call, &entry, object, true).await {
            Ok(outcome) => return Ok((outcome, false)),
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => call.warnings.truncate(said),
        }
    }
    gave_up(&call.resource, call.name())
}

/// An applier has to say who it is.
pub(super) fn named(call: &Call<'_>) -> ApiResult<()> {
    if !call.query.field_manager.is_empty() {
        return Ok(());
    }
    let error =
        FieldError::required(&FieldPath::new("fieldManager"), "is required for apply patch");
    Err(invalid_option("PatchOptions", error))
}

/// Upstream answers 500 for a configuration that does not fit the schema; it is the client's to mend.
pub(super) fn blame_the_client(error: ApiError) -> ApiError {
    if error.code == 500 { ApiError::bad_request(error.message) } else { error }
}

/// Name and namespace are those of the path.
pub(super) fn place(call: &Call<'_>, config: &mut Value) -> ApiResult<()> {
    let name = object::name(config);
    if !name.is_empty() && name != call.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name()
        )));
    }
    object::set_meta(config, "name", call.name());
    let namespace = object::namespace(config);
    match call.namespace() {
        Some(wanted) if !namespace.is_empty() && namespace != wanted => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        Some(wanted) => {
            object::set_meta(config, "namespace", wanted);
            Ok(())
        }
        None => {
            object::clear_meta(config, "namespace");
            Ok(())
        }
    }
}

/// The object is not there yet.
async fn first(call: &mut Call<'_>, mut object: Value) -> ApiResult<Outcome> {
    let uid = object::uid(&object);
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(ApiError::conflict(&call.resource.group_resource(), call.name(), &why));
    }
    if !object::resource_version(&object).is_empty() {
        return Err(call.not_found());
    }
    access::may_create(call)?;
    if call.version().status {
        object.as_object_mut().map(|fields| fields.remove("status"));
    }
    create::create_object(call, object, true).await
}
