//! The `Status` object a server answers when it refuses, with upstream's reasons and wording.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::field::{self, FieldError};
use crate::gvk::{GroupKind, GroupResource};

/// A refusal: everything that goes into a `kind: Status` body.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason such as `NotFound`; empty where upstream has none.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// `details`; empty when there are none.
    pub details: Map<String, Value>,
    /// A token to go on with after an expired list.
    pub continuation: Option<String>,
}

/// What almost every operation of the API returns.
pub type ApiResult<T> = Result<T, ApiError>;

impl std::error::Error for ApiError {}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl ApiError {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Map::new(), continuation: None }
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: nobody we know.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 about one object.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {name:?} is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403 with a bare text, as a webhook that denies gives it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// 404 for one object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {name:?} not found")).about(resource, name)
    }

    /// 404 for a path no resource is served at.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// 406, naming what can be had.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        Self::new(
            406,
            "NotAcceptable",
            format!("only the following media types are accepted: {}", offered.join(", ")),
        )
    }

    /// 409 on create.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} {name:?} already exists"))
            .about(resource, name)
    }

    /// 409 on update or delete.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} {name:?}: {why}"),
        )
        .about(resource, name)
    }

    /// 409 because the client's copy is old.
    pub fn stale(resource: &GroupResource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 410: the revision asked for is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413.
    pub fn too_large(limit: usize) -> Self {
        Self::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// 415, naming what is understood.
    pub fn unsupported_media_type(got: &str, accepted: &[&str]) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format ({got:?}) - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 422: one cause per field.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !kind.group.is_empty() {
            details.insert("group".into(), kind.group.clone().into());
        }
        details.insert("kind".into(), kind.kind.clone().into());
        details.insert("causes".into(), errors.iter().map(FieldError::cause).collect());
        Self {
            code: 422,
            reason: "Invalid",
            message: format!("{kind} {name:?} is invalid: {}", field::join(errors)),
            details,
            continuation: None,
        }
    }

    /// 429: come back later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(retry_after_seconds)
    }

    /// 500: our fault.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// 503: not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 504: the revision asked for lies in the future.
    pub fn revision_in_future(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause =
            json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        let mut error = Self::new(504, "Timeout", message).retry_after(1);
        error.details.insert("causes".into(), json!([cause]));
        error
    }

    /// Says which object the refusal is about.
    #[must_use]
    pub fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        if !name.is_empty() {
            self.details.insert("name".into(), name.into());
        }
        if !resource.group.is_empty() {
            self.details.insert("group".into(), resource.group.clone().into());
        }
        self.details.insert("kind".into(), resource.resource.clone().into());
        self
    }

    /// Adds the uid of the object in question.
    #[must_use]
    pub fn with_uid(mut self, uid: &str) -> Self {
        self.details.insert("uid".into(), uid.into());
        self
    }

    fn retry_after(mut self, seconds: u32) -> Self {
        self.details.insert("retryAfterSeconds".into(), seconds.into());
        self
    }

    /// Seconds for the `Retry-After` header, when there is one.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.details.get("retryAfterSeconds").and_then(Value::as_u64)
    }

    /// The body.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(token) = &self.continuation {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_empty() {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}
