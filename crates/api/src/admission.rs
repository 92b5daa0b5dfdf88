//! What all admission rules do alike: read the spec, collect what is wrong, answer.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// So many warnings are told; nobody reads more, and clients cut them off.
const MOST_WARNINGS: usize = 20;

/// What rules found: errors refuse the object, warnings are only told.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
}

impl Findings {
    /// A warning about one field.
    pub fn warn(&mut self, path: &FieldPath, text: impl AsRef<str>) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(format!("{path}: {}", text.as_ref()));
        }
    }

    /// The value at `path` breaks a rule.
    pub fn invalid(&mut self, path: &FieldPath, value: impl Into<Value>, why: impl Into<String>) {
        self.errors.push(FieldError::invalid(path, value, why));
    }

    /// 422 with all errors, or the warnings.
    pub fn answer(self, request: &Request<'_>) -> ApiResult<Vec<String>> {
        if self.errors.is_empty() {
            Ok(self.warnings)
        } else {
            Err(ApiError::invalid(&request.kind.group_kind(), request.name, &self.errors))
        }
    }
}

/// Reads `spec` into its type. The schema was checked before, so failing here is rare; it is
/// answered like any other invalid field.
pub(crate) fn spec<T: DeserializeOwned>(request: &Request<'_>, object: &Value) -> ApiResult<T> {
    T::deserialize(&object["spec"]).map_err(|error| {
        let error = FieldError::invalid(&FieldPath::new("spec"), "object", error.to_string());
        ApiError::invalid(&request.kind.group_kind(), request.name, &[error])
    })
}

/// Whether an update leaves `spec` alone. Labels, finalizers and status of an object must stay
/// writable even when the rules, or the objects it depends on, have changed since it was accepted.
pub(crate) fn keeps_spec(request: &Request<'_>, object: &Value) -> bool {
    request.old.is_some_and(|old| old["spec"] == object["spec"])
}

/// The namespace for texts; empty for an object outside of any.
pub(crate) fn namespace<'a>(request: &Request<'a>) -> &'a str {
    request.namespace.unwrap_or_default()
}
