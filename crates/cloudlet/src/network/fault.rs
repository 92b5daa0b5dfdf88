//! What Neutron says when it refuses: clients read the type, people the message, so both are its.

use http::StatusCode;
use serde_json::json;

use crate::request::Response;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The HTTP status.
    pub status: u16,
    /// The name of Neutron's exception.
    pub kind: String,
    /// Its message.
    pub message: String,
}

impl Fault {
    /// Any refusal.
    pub fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into() }
    }

    /// 400 of this type.
    pub fn bad(kind: &str, message: impl Into<String>) -> Self {
        Self::new(400, kind, message)
    }

    /// 404 of this type.
    pub fn not_found(kind: &str, message: impl Into<String>) -> Self {
        Self::new(404, kind, message)
    }

    /// 409 of this type.
    pub fn conflict(kind: &str, message: impl Into<String>) -> Self {
        Self::new(409, kind, message)
    }

    /// 400 `HTTPBadRequest`: what the frame says of bodies and queries.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(400, "HTTPBadRequest", message)
    }

    /// 400 `InvalidInput`.
    pub fn input(message: impl std::fmt::Display) -> Self {
        Self::new(400, "InvalidInput", format!("Invalid input for operation: {message}."))
    }

    /// 400 `BadRequest`, as the plugins raise it for a resource.
    pub fn bad_resource(resource: &str, message: impl std::fmt::Display) -> Self {
        Self::new(400, "BadRequest", format!("Bad {resource} request: {message}."))
    }

    /// 405: the path is there, the method is not.
    pub fn method() -> Self {
        Self::new(
            405,
            "HTTPMethodNotAllowed",
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        )
    }

    /// 404 of a thing that is not there, or that the caller may not know of.
    pub fn gone() -> Self {
        Self::new(404, "HTTPNotFound", "The resource could not be found.")
    }

    /// 403 by policy.
    pub fn policy(rule: impl std::fmt::Display) -> Self {
        Self::new(403, "PolicyNotAuthorized", format!("{rule} is disallowed by policy"))
    }

    /// The answer that carries it.
    pub fn response(&self) -> Response {
        let body = json!({"NeutronError": {
            "type": self.kind, "message": self.message, "detail": "",
        }});
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        Response::json(status, &body)
    }
}
