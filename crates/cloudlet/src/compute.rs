//! Nova: what servers need to exist.

use http::StatusCode;
use serde_json::json;

use crate::request::{Request, Response};
use crate::state::{Kind, Tx};

/// The tables.
pub static KINDS: &[&Kind] = &[];

/// Answers a call.
pub fn handle(_tx: &mut Tx<'_>, _request: &Request) -> Response {
    let message = "The resource could not be found.";
    let body = json!({"itemNotFound": {"code": 404, "message": message}});
    Response::json(StatusCode::NOT_FOUND, &body)
}
