//! POST: a new object.

use landbridge_machinery::apply::track_update;
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::Expect;
use serde_json::{Value, json};

use super::ownership::Writer;
use super::{Outcome, PutError, drop_empty, put};
use crate::call::Call;
use crate::namespaces;
use crate::{admission, chance, convert, decode};

/// How often a generated name that is taken is drawn again.
const NAME_ATTEMPTS: usize = 8;

/// Creates the object in the body.
pub async fn create(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Outcome> {
    let mut object = decode::object(call, bytes)?;
    if !object::resource_version(&object).is_empty() {
        return Err(ApiError::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    if call.version().status {
        object.as_object_mut().map(|fields| fields.remove("status"));
    }
    object::clear_meta(&mut object, "managedFields");
    create_object(call, object, false).await
}

/// Creates an object that was decoded already; `owned` when its managed fields are right.
pub async fn create_object(
    call: &mut Call<'_>,
    mut object: Value,
    owned: bool,
) -> ApiResult<Outcome> {
    place(call, &mut object)?;
    if !owned {
        track_update(None, &mut object, &Writer::of(call).write(&call.version().schema));
    }
    let (resource, version) = (std::sync::Arc::clone(&call.resource), call.version);
    if call.resource.terminating {
        return Err(ApiError::new(
            405,
            "MethodNotAllowed",
            "create not allowed while custom resource definition is terminating",
        ));
    }
    let before = object.clone();
    convert::to_storage(&resource, &resource.versions[version], &mut object)?;
    if version != resource.storage && resource.strategy.enforce_schema {
        // The client's version has a say before the stored version does.
        let errors = admission::check_schema(call, &resource.versions[version], &before, None);
        if !errors.is_empty() {
            return Err(ApiError::invalid(&resource.group_kind(), object::name(&before), &errors));
        }
    }
    let prefix = object::meta_str(&object, "generateName").to_owned();
    let generate = object::name(&object).is_empty() && !prefix.is_empty();
    for attempt in 0..NAME_ATTEMPTS {
        let mut candidate = object.clone();
        if generate {
            // With its suffix a generated name is a label (63 characters), as upstream keeps it.
            let stem: String = prefix.chars().take(58).collect();
            object::set_meta(&mut candidate, "name", format!("{stem}{}", chance::suffix()));
        }
        stamp(call, &mut candidate);
        admission::admit(call, &mut candidate, None)?;
        crate::crd::check_schemas(&resource, &candidate, None)?;
        let name = object::name(&candidate).to_owned();
        let claim = call.server.addresses.claim(&resource, &mut candidate, None)?;
        drop_empty(&mut candidate);
        if call.query.dry_run {
            if call.server.store.snapshot().get(&resource.key(call.namespace(), &name)).is_some() {
                return Err(ApiError::already_exists(&resource.group_resource(), &name));
            }
            return Ok(Outcome::Shown(candidate));
        }
        let key = resource.key(call.namespace(), &name);
        match put(call.server, key, Expect::Absent, candidate).await {
            Ok(entry) => {
                claim.keep();
                return Ok(Outcome::Stored(entry));
            }
            Err(PutError::Refused(error)) => return Err(error),
            Err(PutError::Lost) if generate && attempt + 1 < NAME_ATTEMPTS => {}
            Err(PutError::Lost) => {
                return Err(ApiError::already_exists(&resource.group_resource(), &name));
            }
        }
    }
    Err(ApiError::already_exists(&call.resource.group_resource(), &prefix))
}

/// Checks and completes name and namespace.
fn place(call: &Call<'_>, object: &mut Value) -> ApiResult<()> {
    let inside = object::namespace(object).to_owned();
    if !call.resource.namespaced {
        object::clear_meta(object, "namespace");
        return Ok(());
    }
    let Some(namespace) = call.namespace() else {
        return Err(ApiError::bad_request(format!(
            "{} is namespaced: create it below /namespaces/NAME/",
            call.resource.kind
        )));
    };
    if !inside.is_empty() && inside != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    object::set_meta(object, "namespace", namespace);
    namespaces::accepts_content(call, namespace, object::name(object))
}

/// What the server alone decides.
fn stamp(call: &Call<'_>, object: &mut Value) {
    for field in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
        object::clear_meta(object, field);
    }
    object::set_meta(object, "uid", chance::uid());
    object::set_meta(object, "creationTimestamp", chance::timestamp());
    if call.resource.strategy.generation {
        object::set_meta(object, "generation", 1);
    }
    if call.resource.group == "apiextensions.k8s.io" {
        // Instances must be gone before their definition is.
        let mut finalizers: Vec<Value> =
            object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let ours = json!(crate::crd::CLEANUP_FINALIZER);
        if !finalizers.contains(&ours) {
            finalizers.push(ours);
        }
        object::set_meta(object, "finalizers", finalizers);
    }
}
