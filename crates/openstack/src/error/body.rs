//! The forms in which services say no.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{Asked, Refusal};

/// No sentence of a service is kept beyond this; some put a whole page into an error.
const LONGEST: usize = 1500;

/// Reads an answer that is an error, whatever its form.
pub fn read(asked: Asked, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Refusal {
    let (kind, message, detail) = serde_json::from_slice(body)
        .ok()
        .and_then(|body: Value| words(&body))
        .unwrap_or_else(|| (String::new(), plain(body), String::new()));
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    Refusal {
        asked,
        status,
        kind: cut(kind),
        message: cut(message),
        detail: cut(detail),
        request_id: header("x-openstack-request-id")
            .or_else(|| header("x-compute-request-id"))
            .map(|id| cut(id.to_owned())),
        retry_after: header("retry-after")
            .and_then(|text| text.trim().parse().ok())
            .map(Duration::from_secs),
    }
}

/// Type, message and detail.
fn words(body: &Value) -> Option<(String, String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    if let Some(error) = body.get("NeutronError") {
        // Neutron's own errors are objects, those of what stands in front of it may be text.
        if error.is_object() {
            return Some((text(&error["type"]), text(&error["message"]), text(&error["detail"])));
        }
        return Some((String::new(), text(error), String::new()));
    }
    if let Some(error) = body.get("error").filter(|error| error.is_object()) {
        return Some((text(&error["title"]), text(&error["message"]), String::new()));
    }
    if body.get("faultstring").is_some() {
        return Some((
            text(&body["faultcode"]),
            text(&body["faultstring"]),
            text(&body["debuginfo"]),
        ));
    }
    // Nova: one key, named after what is wrong.
    let (kind, error) = body.as_object().filter(|fields| fields.len() == 1)?.iter().next()?;
    if let Some(message) = error.get("message") {
        return Some((kind.clone(), text(message), String::new()));
    }
    // Webob, in front of Neutron, and keystonemiddleware.
    body.get("message").map(|message| (String::new(), text(message), String::new()))
}

/// What is no JSON: a page of a proxy, or a line.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..body.len().min(8 * LONGEST)).unwrap_or(body));
    let mut out = String::new();
    let mut in_tag = false;
    for character in text.chars() {
        match character {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                out.push(' ');
            }
            _ if in_tag => {}
            other => out.push(other),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" …");
    }
    text
}

#[cfg(test)]
mod tests {
    use http::Method;
    use proptest::prelude::*;

    use super::*;

    fn refusal(status: u16, headers: &[(&'static str, &str)], body: &[u8]) -> Refusal {
        let asked = Asked { method: Method::PUT, url: "http://n/v2.0/ports/1".to_owned() };
        let headers =
            headers.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect();
        read(asked, StatusCode::from_u16(status).unwrap(), &headers, body)
    }

    #[test]
    fn every_service_is_understood() {
        let id = [("x-openstack-request-id", "req-1")];
        for (body, expected) in [
            (
                r#"{"NeutronError":{"type":"PortInUse","message":"Unable to do it.","detail":"x"}}"#,
                "PUT http://n/v2.0/ports/1: 409 PortInUse: Unable to do it (x) [req-1]",
            ),
            (r#"{"NeutronError":"no more"}"#, "PUT http://n/v2.0/ports/1: 409: no more [req-1]"),
            (
                r#"{"error":{"code":409,"title":"Conflict","message":"Duplicate entry."}}"#,
                "PUT http://n/v2.0/ports/1: 409 Conflict: Duplicate entry [req-1]",
            ),
            (
                r#"{"conflictingRequest":{"code":409,"message":"Port is bound."}}"#,
                "PUT http://n/v2.0/ports/1: 409 conflictingRequest: Port is bound [req-1]",
            ),
            (
                r#"{"faultcode":"Client","faultstring":"No.","debuginfo":null}"#,
                "PUT http://n/v2.0/ports/1: 409 Client: No [req-1]",
            ),
            (
                "<html><head><title>409 Conflict</title></head><body>busy\n</body></html>",
                "PUT http://n/v2.0/ports/1: 409: 409 Conflict busy [req-1]",
            ),
            ("", "PUT http://n/v2.0/ports/1: 409 [req-1]"),
            ("[]", "PUT http://n/v2.0/ports/1: 409: [] [req-1]"),
        ] {
            assert_eq!(refusal(409, &id, body.as_bytes()).to_string(), expected, "{body}");
        }
    }

    #[test]
    fn how_long_to_wait_is_read() {
        let read = |text| refusal(503, &[("retry-after", text)], b"").retry_after;
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(read("-1"), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_and_kept_short(body in prop::collection::vec(any::<u8>(), 0..6000)) {
            let refusal = refusal(500, &[], &body);
            prop_assert!(refusal.to_string().len() < 4 * LONGEST);
        }
    }
}
