//! Secrets: `stringData`, and what the well-known types demand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::config_map::{check_base64, check_immutable, check_keys, is_too_large, too_long};
use super::immutable;
use super::value::{map_at, text};

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

/// Keys that must be there, by type. Of a group of keys, one suffices.
const DEMANDS: &[(&str, &[&[&str]])] = &[
    ("kubernetes.io/tls", &[&["tls.crt"], &["tls.key"]]),
    ("kubernetes.io/basic-auth", &[&["username", "password"]]),
    ("kubernetes.io/ssh-auth", &[&["ssh-privatekey"]]),
    ("kubernetes.io/dockercfg", &[&[".dockercfg"]]),
    ("kubernetes.io/dockerconfigjson", &[&[".dockerconfigjson"]]),
];

/// Moves `stringData` into `data`; it is never stored or shown.
pub fn mutate(_: &Request<'_>, secret: &mut Value) -> ApiResult<()> {
    check_base64("Secret", &secret["data"])?;
    let plain = secret.as_object_mut().and_then(|map| map.remove("stringData"));
    let Some(Value::Object(plain)) = plain.filter(|plain| !super::value::is_empty(plain)) else {
        return Ok(());
    };
    if let Some(data) = map_at(secret, &["data"]) {
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(text(&value)).into());
        }
    }
    Ok(())
}

/// Keys, size, type, and whether the secret may still change.
pub fn check(request: &Request<'_>, secret: &Value) -> Vec<FieldError> {
    let mut errors = check_keys("data", &secret["data"]);
    if is_too_large(&secret["data"]) {
        errors.push(too_long(&FieldPath::new("data")));
    }
    errors.extend(check_type(secret));
    if let Some(old) = request.old {
        errors.extend(immutable(&FieldPath::new("type"), &secret["type"], &old["type"]));
        errors.extend(check_immutable(old, secret, &["data"]));
    }
    errors
}

fn check_type(secret: &Value) -> Vec<FieldError> {
    let kind = text(&secret["type"]);
    let data = FieldPath::new("data");
    let missing = |key: &str| FieldError::required(&data.key(key), "");
    if kind == "kubernetes.io/service-account-token" {
        let path = FieldPath::new("metadata.annotations").key(ACCOUNT_NAME);
        let named = object::annotation(secret, ACCOUNT_NAME).is_some_and(|name| !name.is_empty());
        return if named { Vec::new() } else { vec![FieldError::required(&path, "")] };
    }
    let Some((_, demands)) = DEMANDS.iter().find(|(name, _)| *name == kind) else {
        return Vec::new();
    };
    let absent = |keys: &&&[&str]| keys.iter().all(|key| secret["data"].get(key).is_none());
    let mut errors: Vec<_> = demands
        .iter()
        .filter(absent)
        .flat_map(|keys| keys.iter().map(|key| missing(key)))
        .collect();
    let json_key =
        if kind.starts_with("kubernetes.io/docker") { demands[0][0] } else { return errors };
    if let Some(value) = secret["data"][json_key].as_str() {
        let decoded = STANDARD.decode(value).unwrap_or_default();
        if let Err(error) = serde_json::from_slice::<Value>(&decoded) {
            let path = data.key(json_key);
            errors.push(FieldError::invalid(
                &path,
                "<secret contents redacted>",
                error.to_string(),
            ));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};

    #[test]
    fn string_data_becomes_data() {
        let secret = created(
            "",
            "Secret",
            json!({"metadata": {"name": "a"}, "data": {"a": "b2xk", "b": "Yg=="},
                "stringData": {"a": "new"}}),
        );
        assert_eq!(secret["data"], json!({"a": "bmV3", "b": "Yg=="}));
        assert_eq!(secret["type"], "Opaque");
        assert!(secret.get("stringData").is_none());
    }

    #[test]
    fn types_demand_keys() {
        let cases = [
            (
                "kubernetes.io/tls",
                json!({}),
                vec!["data[tls.crt]: Required value", "data[tls.key]: Required value"],
            ),
            ("kubernetes.io/tls", json!({"tls.crt": "", "tls.key": ""}), vec![]),
            ("kubernetes.io/basic-auth", json!({"username": ""}), vec![]),
            (
                "kubernetes.io/basic-auth",
                json!({}),
                vec!["data[username]: Required value", "data[password]: Required value"],
            ),
            (
                "kubernetes.io/service-account-token",
                json!({}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
            ("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "e30="}), vec![]),
            (
                "kubernetes.io/dockerconfigjson",
                json!({}),
                vec!["data[.dockerconfigjson]: Required value"],
            ),
            ("kubernetes.io/ssh-auth", json!({}), vec!["data[ssh-privatekey]: Required value"]),
            ("example.com/any", json!({}), vec![]),
        ];
        for (kind, data, wanted) in cases {
            let secret = json!({"metadata": {"name": "a"}, "type": kind, "data": data});
            assert_eq!(lines(&admit("", "Secret", None, secret)), wanted, "{kind}");
        }
        let secret = json!({"metadata": {"name": "a"}, "type": "kubernetes.io/dockercfg",
            "data": {".dockercfg": "eA=="}});
        let lines = lines(&admit("", "Secret", None, secret));
        assert!(
            lines[0].starts_with("data[.dockercfg]: Invalid value: \"<secret contents"),
            "{lines:?}"
        );
    }

    #[test]
    fn the_type_stays() {
        let old = json!({"metadata": {"name": "a"}, "type": "Opaque"});
        let new = json!({"metadata": {"name": "a"}, "type": "example.com/x"});
        assert_eq!(
            lines(&admit("", "Secret", Some(&old), new)),
            [r#"type: Invalid value: "example.com/x": field is immutable"#]
        );
    }
}
