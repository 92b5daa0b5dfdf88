//! Answers: status line, headers, encoded body.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use landbridge_machinery::status::ApiError;
use serde_json::Value;

use crate::body::{self, Body};
use crate::negotiate::Encoding;

/// Serialises an answer of the chosen encoding.
pub fn value(
    code: StatusCode,
    value: &Value,
    encoding: Encoding,
    request: &HeaderMap,
) -> Response<Body> {
    match encoding {
        Encoding::Json => {
            let mut bytes = serde_json::to_vec(value).unwrap_or_default();
            bytes.push(b'\n');
            json_bytes(code, bytes.into(), request)
        }
        Encoding::Yaml => with_type(code, to_yaml(value), "application/yaml", request),
    }
}

/// JSON that is serialised already.
pub fn json_bytes(code: StatusCode, bytes: Bytes, request: &HeaderMap) -> Response<Body> {
    with_type(code, bytes, "application/json", request)
}

/// Bytes of a given media type.
pub fn with_type(
    code: StatusCode,
    bytes: Bytes,
    media: &'static str,
    request: &HeaderMap,
) -> Response<Body> {
    let (bytes, compressed) = body::maybe_gzip(bytes, request);
    let mut response = Response::new(Body::whole(bytes));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

/// Plain text, as the health endpoints answer.
pub fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = with_type(code, text.into(), "text/plain; charset=utf-8", &HeaderMap::new());
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// A refusal.
pub fn error(error: &ApiError, encoding: Encoding) -> Response<Body> {
    let code = StatusCode::from_u16(error.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = value(code, &error.to_json(), encoding, &HeaderMap::new());
    if let Some(seconds) = error.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Adds `Warning: 299` headers. Control characters cannot stand in a header and become blanks.
pub fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings.iter().take(64) {
        let clean: String = warning.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let quoted = clean.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("299 - \"{}\"", quoted.chars().take(4096).collect::<String>());
        if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
}

fn to_yaml(value: &Value) -> Bytes {
    serde_saphyr::to_string(value).unwrap_or_default().into()
}
