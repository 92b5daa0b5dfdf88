//! The `scale` subresource: the replica count of any kind that has one.
//!
//! A Scale is a view. It is read from the object, written into it, and its owners are the object's.

use std::sync::{Arc, LazyLock};

use landbridge_machinery::apply::{ApplyRequest, ManagedFields, SCALE_API_VERSION, apply as merge};
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::object;
use landbridge_machinery::patch as patches;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use super::ownership::Writer;
use super::{ATTEMPTS, Outcome, PutError, apply, gave_up, update};
use crate::builtin::schemas::{Shapes, full_name};
use crate::call::Call;
use crate::meta::Entry;
use crate::registry::{Resource, ScalePaths};
use crate::{convert, decode, negotiate};

/// The tests compile it; should that fail nevertheless, anything is a Scale.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let compiled = Shapes::new().compile(&full_name("autoscaling.v1.Scale"));
    compiled.unwrap_or_else(|_| Schema::any())
});

/// The Scale of a stored object.
pub fn read(call: &Call<'_>, entry: &Arc<Entry>) -> ApiResult<Value> {
    let paths = paths(call)?;
    let object = convert::value(&call.resource, call.version(), entry);
    Ok(scale_of(&object, &paths))
}

/// What a request wants of the Scale.
enum Wish {
    /// PUT: to be this.
    Replace(Value),
    /// PATCH: to be changed so.
    Patch(Value),
    /// PATCH: to follow this configuration, as far as the client has an opinion.
    Apply(Value),
}

/// Changes the replica count: PUT of a Scale, or a patch of one.
pub async fn write(call: &mut Call<'_>, bytes: &[u8], is_patch: bool) -> ApiResult<Value> {
    let paths = paths(call)?;
    let wish = wish(call, bytes, is_patch)?;
    let said = call.warnings.len();
    for _ in 0..ATTEMPTS {
        let snapshot = call.server.store.snapshot();
        let Some(entry) = snapshot.get(&call.key()).cloned() else { return Err(call.not_found()) };
        let mut object = convert::value(&call.resource, call.version(), &entry);
        let before = scale_of(&object, &paths);
        let owned = matches!(wish, Wish::Apply(_));
        let wanted = match &wish {
            Wish::Replace(scale) => scale.clone(),
            Wish::Patch(patch) => patched(call, &before, patch)?,
            Wish::Apply(config) => applied(call, before, config, &mut object)?,
        };
        let given = object::resource_version(&wanted);
        if !given.is_empty() && given != entry.revision.to_string() {
            return gave_up(&call.resource, call.name());
        }
        if !object::uid(&wanted).is_empty() {
            object::set_meta(&mut object, "uid", object::uid(&wanted));
        }
        set(&mut object, &paths.spec_replicas, replicas(call, &wanted)?.into());
        match update::replace(call, &entry, object, owned).await {
            Ok(Outcome::Stored(entry)) => return read(call, &entry),
            Ok(Outcome::Shown(mut object)) => {
                convert::from_storage(&call.resource, call.version(), &mut object)?;
                return Ok(scale_of(&object, &paths));
            }
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) => call.warnings.truncate(said),
        }
    }
    gave_up(&call.resource, call.name())
}

fn wish(call: &mut Call<'_>, bytes: &[u8], is_patch: bool) -> ApiResult<Wish> {
    let body = match negotiate::content_type(call.headers) {
        apply::MEDIA_TYPE if is_patch => return configuration(call, bytes).map(Wish::Apply),
        landbridge_protobuf::CONTENT_TYPE => decode::protobuf(bytes)?,
        _ => serde_json::from_slice(bytes)
            .map_err(|e| ApiError::bad_request(format!("the body is not valid JSON: {e}")))?,
    };
    Ok(if is_patch { Wish::Patch(body) } else { Wish::Replace(body) })
}

/// A Scale as an applier sends it.
fn configuration(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    apply::named(call)?;
    let decode::Parsed { value: mut config, complaints } = decode::yaml(bytes)?;
    if !config.is_object() || !matches!(config["metadata"], Value::Null | Value::Object(_)) {
        return Err(ApiError::bad_request("the configuration is no Scale"));
    }
    // Another apiVersion is refused with the rest of the configuration.
    let kind = config["kind"].as_str().unwrap_or_default();
    if kind != "Scale" && config["apiVersion"] == SCALE_API_VERSION {
        return Err(ApiError::bad_request(format!(
            "the kind in the data ({kind}) does not match the expected kind (Scale)"
        )));
    }
    if config["apiVersion"] == SCALE_API_VERSION {
        decode::check_types(&SCHEMA, call, &config)?;
        decode::drop_unknown_to(&SCHEMA, call, &mut config, complaints)?;
    }
    apply::place(call, &mut config)?;
    Ok(config)
}

/// The Scale after an apply. The owners it has then go into the object.
fn applied(
    call: &Call<'_>,
    mut before: Value,
    config: &Value,
    object: &mut Value,
) -> ApiResult<Value> {
    let resource = &call.resource;
    let replicas = |api_version: &str| replicas_path(resource, api_version);
    let owners = ManagedFields::of(object);
    owners.scale_view(&replicas).write(&mut before);
    let writer = Writer::of_scale(call);
    let request = ApplyRequest {
        live: Some(&before),
        config,
        force: call.query.force,
        write: writer.write(&SCHEMA),
    };
    let after = merge(request).map_err(apply::blame_the_client)?;
    let version = resource.api_version(&call.version().name);
    owners.scale_merged(&ManagedFields::of(&after), &replicas, &version).write(object);
    Ok(after)
}

/// Where a version of a resource keeps its replica count.
fn replicas_path(resource: &Resource, api_version: &str) -> Option<String> {
    let version = resource.versions.iter().find(|v| resource.api_version(&v.name) == api_version);
    version?.scale.as_ref().map(|paths| paths.spec_replicas.clone())
}

/// The count a Scale asks for; none is none.
fn replicas(call: &Call<'_>, scale: &Value) -> ApiResult<i64> {
    let value = &scale["spec"]["replicas"];
    if value.is_null() {
        return Ok(0);
    }
    value.as_i64().filter(|n| (0..=i64::from(i32::MAX)).contains(n)).ok_or_else(|| {
        let path = FieldPath::new("spec.replicas");
        let error = FieldError::invalid(&path, value.clone(), "must be greater than or equal to 0");
        ApiError::invalid(&GroupKind::new("autoscaling", "Scale"), call.name(), &[error])
    })
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
            &[
                "application/json-patch+json",
                "application/merge-patch+json",
                apply::MEDIA_TYPE,
                "application/strategic-merge-patch+json",
            ],
        )),
    }
}

fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let selector = paths.label_selector.as_deref().map(|path| selector_text(get(object, path)));
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": SCALE_API_VERSION,
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
