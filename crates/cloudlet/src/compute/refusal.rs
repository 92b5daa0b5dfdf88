//! Nova's errors: one member named after the kind, with code and message.

use http::StatusCode;
use serde_json::json;

use crate::network::Fault;
use crate::request::Response;

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    status: u16,
    message: String,
}

impl Refusal {
    /// Any refusal.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// 400
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// 404
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(404, message)
    }

    /// 409
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, message)
    }

    /// 404 of a path that leads nowhere.
    pub fn gone() -> Self {
        Self::new(404, "The resource could not be found.")
    }

    /// 403 by policy.
    pub fn policy(rule: &str) -> Self {
        Self::new(403, format!("Policy doesn't allow {rule} to be performed."))
    }

    /// The answer that carries it.
    pub fn response(&self) -> Response {
        let kind = match self.status {
            400 => "badRequest",
            403 => "forbidden",
            404 => "itemNotFound",
            405 => "badMethod",
            409 => "conflictingRequest",
            413 => "overLimit",
            _ => "computeFault",
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        Response::json(status, &json!({kind: {"code": self.status, "message": self.message}}))
    }
}

/// What Neutron refuses, Nova tells on.
impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let status = match (fault.status, fault.kind.as_str()) {
            (409, "OverQuota") => 403,
            (404, _) => 400,
            (status, _) => status,
        };
        Self::new(status, fault.message)
    }
}
