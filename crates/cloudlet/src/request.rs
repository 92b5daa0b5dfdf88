//! A call and its answer as values: what the HTTP front hands in, and what it sends back.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

/// Which of the cloud's services is called: each has a port, or a first path segment, of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Keystone v3.
    Identity,
    /// Neutron v2.0.
    Network,
    /// Nova v2.1.
    Compute,
    /// Glance v2.
    Image,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Identity, Self::Network, Self::Compute, Self::Image];

    /// The type by which the catalogue knows the service.
    pub fn catalogue_type(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Network => "network",
            Self::Compute => "compute",
            Self::Image => "image",
        }
    }
}

/// One call.
#[derive(Clone, Debug)]
pub struct Request {
    /// The service it is made to.
    pub service: Service,
    /// The method.
    pub method: Method,
    /// The path below the service's root, percent-decoded segments, without empty ones.
    pub path: Vec<String>,
    /// The query in the order given, decoded.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
    /// The root under which the client reached the service (`http://127.0.0.1:9696`), for links.
    pub base: String,
}

impl Request {
    /// A call without query, headers and body; `path` as in a URL.
    pub fn new(service: Service, method: Method, path: &str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Self {
            service,
            method,
            path: segments(path),
            query: pairs(query),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            base: String::from("http://localhost"),
        }
    }

    /// The same with a token.
    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.header("x-auth-token", token)
    }

    /// The same with a header; a value that is none is left out.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// The same with a JSON body.
    #[must_use]
    pub fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into();
        self
    }

    /// A header as text.
    pub fn header_text(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The path's segments, to match on.
    pub fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// All values of a query parameter.
    pub fn query_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a query parameter.
    pub fn query_one(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The segments of a path, percent-decoded, without empty ones.
pub fn segments(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(|part| decode(part, false)).collect()
}

/// The pairs of a query, decoded.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key, true), decode(value, true))
        })
        .collect()
}

/// Percent-decodes; what is no escape stays as it is, what is no UTF-8 is replaced.
fn decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = (*byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let plain = if *byte == b'+' && plus_is_space { b' ' } else { *byte };
        out.push(escaped.unwrap_or(plain));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Percent-encodes a value for a query.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // text takes everything
        }
    }
    out
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Headers beyond what every answer carries.
    pub headers: Vec<(HeaderName, String)>,
    /// The body; JSON where there is any.
    pub body: Bytes,
}

impl Response {
    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string().into() }
    }

    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new() }
    }

    /// The same with a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((HeaderName::from_static(name), value.into()));
        self
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value.as_str())
    }

    /// The body read as JSON; `Null` where there is none.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_decoded() {
        let request = Request::new(
            Service::Network,
            Method::GET,
            "//v2.0/ports/a%2Fb?name=x+y&name=%C3%A9&flag&bad=%zz%4",
        );
        assert_eq!(request.parts(), ["v2.0", "ports", "a/b"]);
        assert_eq!(request.query_all("name").collect::<Vec<_>>(), ["x y", "é"]);
        assert_eq!(request.query_one("flag"), Some(""));
        assert_eq!(request.query_one("bad"), Some("%zz%4"));
        assert_eq!(encode("a b/é~"), "a%20b%2F%C3%A9~");
    }
}
