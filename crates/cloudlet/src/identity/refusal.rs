//! What Keystone says when it refuses.

use http::StatusCode;
use serde_json::json;

use crate::request::Response;

/// A refusal: status and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The message.
    pub message: String,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// 400
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 401; why is nobody's business.
    pub fn unauthorized() -> Self {
        let message = "The request you have made requires authentication.";
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// 401: nobody proves anything that way.
    pub fn unknown_method() -> Self {
        let message = "Attempted to authenticate with an unsupported method.";
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// 403 by policy.
    pub fn forbidden(action: &str) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            format!("You are not authorized to perform the requested action: {action}."),
        )
    }

    /// 403 for another reason.
    pub fn not_now(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// 404 of a thing.
    pub fn missing(what: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("Could not find {what}: {id}."))
    }

    /// 404 of a path.
    pub fn no_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "The resource could not be found.")
    }

    /// 405
    pub fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "The method is not allowed for the requested URL.",
        )
    }

    /// 404 of a token.
    pub fn no_token(message: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// 400: something is not in the body.
    pub fn expecting(what: &str, place: &str) -> Self {
        Self::bad(format!(
            "Expecting to find {what} in {place}. The server could not comply with the request since \
             it is either malformed or otherwise incorrect. The client is assumed to be in error."
        ))
    }

    /// 409
    pub fn conflict(what: &str, details: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            format!("Conflict occurred attempting to store {what} - {details}."),
        )
    }

    /// The answer that carries it.
    pub fn response(&self) -> Response {
        let title = match self.status {
            StatusCode::UNAUTHORIZED => "Unauthorized",
            other => other.canonical_reason().unwrap_or("Error"),
        };
        let body = json!({"error": {
            "code": self.status.as_u16(), "title": title, "message": self.message,
        }});
        Response::json(self.status, &body)
    }
}
