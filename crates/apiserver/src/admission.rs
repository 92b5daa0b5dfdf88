//! Between a well-formed object and the store: what the kind itself says about it.

use landbridge_machinery::field::FieldError;
use landbridge_machinery::hooks::{self, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::call::Call;
use crate::registry::Version;
use crate::{access, metadata};

/// Runs the kind's defaults and rules over an object in its stored version.
pub fn admit(call: &mut Call<'_>, object: &mut Value, old: Option<&Value>) -> ApiResult<()> {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let resource = std::sync::Arc::clone(&call.resource);
    let kind = resource.gvk(&resource.storage_version().name);
    let objects = call.objects();
    let namespace = call.namespace().map(str::to_owned);
    let name = object::name(object).to_owned();
    let request = Request {
        operation,
        kind: &kind,
        namespace: namespace.as_deref(),
        name: &name,
        old,
        user: &call.identity.user,
        dry_run: call.query.dry_run,
        objects: &objects,
    };
    // Webhooks are not asked about status; the rules of built-in kinds always hold.
    let asked = call.target.subresource.is_none() || resource.hooks.webhook_name().is_none();
    if asked {
        call.warnings.extend(resource.hooks.remark(&request, object));
        resource.hooks.mutate(&request, object).map_err(|error| wrap(call, error))?;
    }
    let mut errors = metadata::check(object, resource.strategy.names);
    if let Some(old) = old {
        errors.extend(metadata::check_update(object, old));
    }
    if resource.strategy.enforce_schema {
        let version = resource.storage_version();
        errors.extend(check_schema(call, version, object, old));
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid(&resource.group_kind(), &name, &errors));
    }
    if asked {
        let warnings =
            resource.hooks.validate(&request, object).map_err(|error| wrap(call, error))?;
        call.warnings.extend(warnings);
    }
    access::admit(call, object, old)
}

/// What a version's schema and its rules say. Rules are asked about objects of the right shape only.
pub fn check_schema(
    call: &mut Call<'_>,
    version: &Version,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let errors = version.schema.validate(object, old);
    match &version.rules {
        Some(rules) if errors.is_empty() => {
            let found = rules.validate(object, old);
            call.warnings.extend(found.warnings);
            found.errors
        }
        _ => errors,
    }
}

/// Asks the kind whether an object may go.
pub fn admit_delete(call: &mut Call<'_>, old: &Value) -> ApiResult<()> {
    let resource = std::sync::Arc::clone(&call.resource);
    let kind = resource.gvk(&resource.storage_version().name);
    let objects = call.objects();
    let namespace = object::namespace(old).to_owned();
    let request = Request {
        operation: Operation::Delete,
        kind: &kind,
        namespace: Some(namespace.as_str()).filter(|n| !n.is_empty()),
        name: object::name(old),
        old: Some(old),
        user: &call.identity.user,
        dry_run: call.query.dry_run,
        objects: &objects,
    };
    let warnings = resource.hooks.validate(&request, old).map_err(|error| wrap(call, error))?;
    call.warnings.extend(warnings);
    Ok(())
}

fn wrap(call: &Call<'_>, error: ApiError) -> ApiError {
    match call.resource.hooks.webhook_name() {
        Some(webhook) => hooks::denied_by(webhook, error),
        None => error,
    }
}
