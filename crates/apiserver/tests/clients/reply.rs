//! What a server answered, and what a test demands of it.

use anyhow::{Context as _, Result, ensure};
use http::HeaderMap;
use kube::client::Body;
use serde_json::Value;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Reply {
    pub code: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub async fn read(response: http::Response<Body>) -> Result<Self> {
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await?;
        let text = String::from_utf8(bytes.into()).context("the answer is no text")?;
        Ok(Self { code: head.status.as_u16(), headers: head.headers, text })
    }

    /// The body as JSON, whatever the code.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text)
            .with_context(|| format!("{}: no JSON: {}", self.code, self.text))
    }

    /// The body, provided the code is this one.
    pub fn with_code(&self, code: u16) -> Result<Value> {
        ensure!(self.code == code, "expected {code}, got {}: {}", self.code, self.text);
        self.json()
    }

    /// The body of a 200.
    pub fn ok(&self) -> Result<Value> {
        self.with_code(200)
    }

    /// The body of a 201.
    pub fn created(&self) -> Result<Value> {
        self.with_code(201)
    }

    /// The Status of a refusal: its code and reason, and something its message says.
    pub fn refused(&self, code: u16, reason: &str, fragment: &str) -> Result<Value> {
        let status = self.with_code(code)?;
        ensure!(status["kind"] == "Status" && status["apiVersion"] == "v1", "no Status: {status}");
        ensure!(status["status"] == "Failure", "no failure: {status}");
        ensure!(status["code"] == code, "code in the body: {status}");
        ensure!(status["reason"] == reason, "expected reason {reason}: {status}");
        let message = status["message"].as_str().unwrap_or_default();
        ensure!(message.contains(fragment), "{fragment:?} is missing from {message:?}");
        Ok(status)
    }

    /// The Status of a 422, with a cause for this field.
    pub fn invalid(&self, field: &str, reason: &str, fragment: &str) -> Result<Value> {
        let status = self.refused(422, "Invalid", fragment)?;
        ensure!(
            causes(&status).iter().any(|c| c["field"] == field && c["reason"] == reason),
            "no cause {reason} for {field}: {status}"
        );
        Ok(status)
    }

    /// A header as text; empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// All `Warning` headers.
    pub fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().filter_map(|v| v.to_str().ok()).collect()
    }
}

/// The causes of a Status.
pub fn causes(status: &Value) -> &[Value] {
    status["details"]["causes"].as_array().map_or(&[], Vec::as_slice)
}

/// The field as text; fails when it is not there.
pub fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.with_context(|| format!("no text at {pointer} of {value}"))
}

/// `metadata.resourceVersion`.
pub fn version(object: &Value) -> Result<&str> {
    text(object, "/metadata/resourceVersion")
}

/// The revision as a number. Clients must not do this; tests of the order may.
pub fn revision(object: &Value) -> Result<u64> {
    Ok(version(object)?.parse()?)
}

/// Names of the items of a list.
pub fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}
