//! ConfigMaps, and what they have in common with Secrets: keys, sizes, and being immutable.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use landbridge_machinery::field::{FieldError, FieldPath, Problem};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::value::text;

const MAX_BYTES: usize = 1024 * 1024;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// Refuses binary data that is not base64, as upstream does when it decodes the object.
pub fn mutate(_: &Request<'_>, config_map: &mut Value) -> ApiResult<()> {
    check_base64("ConfigMap", &config_map["binaryData"])
}

/// Keys, size, and whether the map may still change.
pub fn check(request: &Request<'_>, config_map: &Value) -> Vec<FieldError> {
    let mut errors = check_keys("data", &config_map["data"]);
    let binary = FieldPath::new("binaryData");
    for key in config_map["binaryData"].as_object().into_iter().flat_map(|map| map.keys()) {
        errors.extend(check_key(&binary, key));
        if config_map["data"].get(key).is_some() {
            let why = "duplicate of key present in data";
            errors.push(FieldError::invalid(&binary.key(key), key.as_str(), why));
        }
    }
    if size(&config_map["data"]) + decoded_size(&config_map["binaryData"]) > MAX_BYTES {
        errors.push(too_long(&FieldPath::new("")));
    }
    if let Some(old) = request.old {
        errors.extend(check_immutable(old, config_map, &["data", "binaryData"]));
    }
    errors
}

/// What is wrong with the keys of a map of data.
pub(super) fn check_keys(field: &str, data: &Value) -> Vec<FieldError> {
    let path = FieldPath::new(field);
    data.as_object()
        .into_iter()
        .flat_map(|map| map.keys())
        .flat_map(|k| check_key(&path, k))
        .collect()
}

fn check_key(path: &FieldPath, key: &str) -> Vec<FieldError> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let path = path.key(key);
    let mut errors = Vec::new();
    if key.len() > 253 {
        errors.push(FieldError::invalid(&path, key, "must be no more than 253 characters"));
    }
    if key.is_empty() || !key.bytes().all(good) {
        errors.push(FieldError::invalid(&path, key, KEY));
    }
    if key == "." || key == ".." {
        errors.push(FieldError::invalid(&path, key, format!("must not be '{key}'")));
    } else if key.starts_with("..") {
        errors.push(FieldError::invalid(&path, key, "must not start with '..'"));
    }
    errors
}

/// What changed though the object is marked immutable.
pub(super) fn check_immutable(old: &Value, new: &Value, fields: &[&str]) -> Vec<FieldError> {
    const WHY: &str = "field is immutable when `immutable` is set";
    if old["immutable"] != true {
        return Vec::new();
    }
    let changed = |field: &&str| match *field {
        "immutable" => new["immutable"] != true,
        field => !same_map(&old[field], &new[field]),
    };
    ["immutable"]
        .iter()
        .chain(fields)
        .filter(|field| changed(field))
        .map(|field| FieldError::forbidden(&FieldPath::new(field), WHY))
        .collect()
}

fn same_map(old: &Value, new: &Value) -> bool {
    old == new || (super::value::is_empty(old) && super::value::is_empty(new))
}

/// The error of more data than fits.
pub(super) fn too_long(path: &FieldPath) -> FieldError {
    FieldError::new(
        Problem::TooLong,
        path,
        Value::Null,
        format!("may not be more than {MAX_BYTES} bytes"),
    )
}

/// Whether base64 data is larger than allowed.
pub(super) fn is_too_large(data: &Value) -> bool {
    decoded_size(data) > MAX_BYTES
}

fn size(data: &Value) -> usize {
    data.as_object().into_iter().flat_map(|map| map.values()).map(|v| text(v).len()).sum()
}

fn decoded_size(data: &Value) -> usize {
    let decoded = |v: &Value| text(v).trim_end_matches('=').len() * 3 / 4;
    data.as_object().into_iter().flat_map(|map| map.values()).map(decoded).sum()
}

/// Refuses values that are not base64, in the words of Go's decoder.
pub(super) fn check_base64(kind: &str, data: &Value) -> ApiResult<()> {
    for value in data.as_object().into_iter().flat_map(|map| map.values()) {
        let text: String = text(value).chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
        if let Err(error) = STANDARD.decode(&text) {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => {
                    text.len() / 4 * 4
                }
            };
            return Err(ApiError::bad_request(format!(
                "{kind} in version \"v1\" cannot be handled as a {kind}: illegal base64 data at input byte {at}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, lines};

    #[test]
    fn keys_are_judged() {
        let result = admit(
            "",
            "ConfigMap",
            None,
            json!({"metadata": {"name": "a"}, "data": {"ok.key": "1", "b c": "2", "..": "3"},
                "binaryData": {"ok.key": "AA=="}}),
        );
        let lines = lines(&result);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], r#"data[..]: Invalid value: "..": must not be '..'"#);
        assert!(lines[1].starts_with(r#"data[b c]: Invalid value: "b c": a valid config key"#));
        assert_eq!(
            lines[2],
            r#"binaryData[ok.key]: Invalid value: "ok.key": duplicate of key present in data"#
        );
    }

    #[test]
    fn an_immutable_map_stays() {
        let old = json!({"metadata": {"name": "a"}, "immutable": true, "data": {"a": "1"}});
        let new = json!({"metadata": {"name": "a"}, "data": {"a": "2"}});
        assert_eq!(
            lines(&admit("", "ConfigMap", Some(&old), new)),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ]
        );
        let labelled = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "immutable": true,
            "data": {"a": "1"}, "binaryData": {}});
        assert!(admit("", "ConfigMap", Some(&old), labelled).is_ok());
    }

    #[test]
    fn binary_data_is_base64() {
        let object = json!({"metadata": {"name": "a"}, "binaryData": {"a": "AAAA*A=="}});
        let error = admit("", "ConfigMap", None, object).expect_err("no base64");
        assert_eq!(error.code, 400);
        assert!(error.message.ends_with("illegal base64 data at input byte 4"), "{error}");
    }

    #[test]
    fn a_mebibyte_is_the_limit() {
        let object = json!({"metadata": {"name": "a"}, "data": {"a": "x".repeat(1024 * 1024 + 1)}});
        assert_eq!(
            lines(&admit("", "ConfigMap", None, object)),
            ["<nil>: Too long: may not be more than 1048576 bytes"]
        );
    }
}
