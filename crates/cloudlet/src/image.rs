//! Glance: images as names.

use http::StatusCode;

use crate::request::{Request, Response};
use crate::state::{Kind, Tx};

/// The tables.
pub static KINDS: &[&Kind] = &[];

/// Answers a call.
pub fn handle(_tx: &mut Tx<'_>, _request: &Request) -> Response {
    Response::empty(StatusCode::NOT_FOUND)
}
