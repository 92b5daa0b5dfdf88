//! What a client wants to read (`Accept`) and what it sent (`Content-Type`).

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use landbridge_machinery::status::{ApiError, ApiResult};

/// Shape of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The object or list itself.
    Object,
    /// Rows for `kubectl get`.
    Table,
    /// Only metadata.
    Partial,
}

/// Encoding of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Shape.
    pub form: Form,
    /// Encoding.
    pub encoding: Encoding,
}

/// What objects are offered in.
pub const OFFERED: [&str; 2] = ["application/json", "application/yaml"];

/// One media range of an `Accept` header.
pub struct MediaRange<'a> {
    /// `type/subtype`.
    pub media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> MediaRange<'a> {
    /// The value of a parameter, without quotes; empty when it is not there.
    pub fn parameter(&self, key: &str) -> &'a str {
        self.parameters.iter().find(|(k, _)| *k == key).map_or("", |(_, v)| *v)
    }

    fn quality(&self) -> f32 {
        self.parameter("q").parse().unwrap_or(1.0)
    }
}

/// The media ranges of a header value, most wanted first. Bounded: nobody needs more than 32.
pub fn media_ranges(header: &str) -> Vec<MediaRange<'_>> {
    let mut ranges: Vec<_> = header
        .split(',')
        .take(32)
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters = parts
                .filter_map(|p| p.split_once('='))
                .map(|(k, v)| (k.trim(), v.trim().trim_matches('"')))
                .collect();
            MediaRange { media, parameters }
        })
        .collect();
    ranges.sort_by(|a, b| b.quality().total_cmp(&a.quality()));
    ranges
}

/// The `Accept` header as text; absent or unreadable means anything.
pub fn accept_header(headers: &HeaderMap) -> String {
    let values: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).collect();
    let joined = values.join(",");
    if joined.trim().is_empty() { "*/*".to_owned() } else { joined }
}

/// Chooses shape and encoding for objects and lists. `streaming` answers are JSON only.
pub fn agree(headers: &HeaderMap, streaming: bool) -> ApiResult<Agreed> {
    let header = accept_header(headers);
    for range in media_ranges(&header) {
        let encoding = match range.media {
            "application/json" | "application/*" | "*/*" => Encoding::Json,
            "application/yaml" if !streaming => Encoding::Yaml,
            _ => continue,
        };
        let form = match range.parameter("as") {
            "" => Form::Object,
            "Table" => Form::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" => Form::Partial,
            _ => continue,
        };
        let known = form == Form::Object
            || (range.parameter("g") == "meta.k8s.io"
                && matches!(range.parameter("v"), "v1" | "v1beta1"));
        if known {
            return Ok(Agreed { form, encoding });
        }
    }
    Err(ApiError::not_acceptable(&OFFERED))
}

/// How a request body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Protobuf, as Go clients send built-in kinds.
    Protobuf,
}

/// The media type of the body, without parameters; empty when the header is missing.
pub fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Encoding of an object in a body.
pub fn body_kind(headers: &HeaderMap) -> ApiResult<BodyKind> {
    match content_type(headers) {
        "" | "application/json" => Ok(BodyKind::Json),
        "application/yaml" | "text/yaml" | "application/x-yaml" => Ok(BodyKind::Yaml),
        landbridge_protobuf::CONTENT_TYPE => Ok(BodyKind::Protobuf),
        other => {
            let [json, yaml] = OFFERED;
            let accepted = [json, yaml, landbridge_protobuf::CONTENT_TYPE];
            Err(ApiError::unsupported_media_type(other, &accepted))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn accept(text: &'static str) -> ApiResult<Agreed> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(text));
        agree(&headers, false)
    }

    #[test]
    fn what_clients_ask_for() {
        let json = |form| Agreed { form, encoding: Encoding::Json };
        let cases = [
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                json(Form::Table),
            ),
            ("application/vnd.kubernetes.protobuf, application/json", json(Form::Object)),
            ("application/vnd.kubernetes.protobuf;q=1,*/*;q=0.5", json(Form::Object)),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                json(Form::Partial),
            ),
            ("application/yaml", Agreed { form: Form::Object, encoding: Encoding::Yaml }),
            ("application/json;as=Table;g=other;v=v1,application/json", json(Form::Object)),
            (
                "application/json;q=0.1,application/yaml;q=0.9",
                Agreed { form: Form::Object, encoding: Encoding::Yaml },
            ),
        ];
        for (text, agreed) in cases {
            assert_eq!(accept(text), Ok(agreed), "{text}");
        }
        assert_eq!(accept("text/html").expect_err("html").code, 406);
        assert_eq!(accept("application/json;as=Nonsense").expect_err("form").code, 406);
    }
}
