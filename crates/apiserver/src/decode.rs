//! From the bytes of a request to an object the schema agrees with.

use landbridge_machinery::decode::{self, Decoded};
use landbridge_machinery::field::FieldError;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::call::Call;
use crate::negotiate::{self, BodyKind};
use crate::query::FieldValidation;

/// How deep objects may be nested.
const MAX_DEPTH: usize = 128;

/// Parses the body of a create or update and checks that it is the kind the path names.
pub fn object(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    let Parsed { mut value, complaints } = parse(call, bytes)?;
    if !value.is_object() {
        return Err(cannot_be_handled(call, "the body is no JSON object"));
    }
    check_kind(call, &mut value)?;
    conform(call, &mut value, complaints)?;
    Ok(value)
}

/// A body whose kind is not that of the path, such as a TokenRequest.
pub fn untyped(call: &Call<'_>, bytes: &[u8]) -> ApiResult<Value> {
    match parse(call, bytes)?.value {
        value @ Value::Object(_) => Ok(value),
        _ => Err(cannot_be_handled(call, "the body is no JSON object")),
    }
}

/// A body as a value, with what strict readers would not accept.
pub struct Parsed {
    /// The value; of a field that stands twice, the last one.
    pub value: Value,
    /// What stands twice, in words.
    pub complaints: Vec<String>,
}

fn parse(call: &Call<'_>, bytes: &[u8]) -> ApiResult<Parsed> {
    if bytes.is_empty() {
        return Err(ApiError::bad_request(
            "the request has no body, but this operation needs an object",
        ));
    }
    match negotiate::body_kind(call.headers)? {
        BodyKind::Json => json(bytes),
        BodyKind::Yaml => yaml(bytes),
        // Custom kinds have no protobuf form.
        BodyKind::Protobuf if call.resource.crd_uid.is_some() => {
            Err(ApiError::unsupported_media_type(
                landbridge_protobuf::CONTENT_TYPE,
                &negotiate::OFFERED,
            ))
        }
        BodyKind::Protobuf => protobuf(bytes).map(|value| Parsed { value, complaints: Vec::new() }),
    }
}

/// A protobuf body as the JSON it stands for.
pub fn protobuf(bytes: &[u8]) -> ApiResult<Value> {
    landbridge_protobuf::decode(bytes).map(|decoded| decoded.value).map_err(|why| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized: the body is not valid protobuf: {why}"
        ))
    })
}

/// JSON as a value.
fn json(bytes: &[u8]) -> ApiResult<Parsed> {
    let Decoded { value, duplicates } = decode::json(bytes, MAX_DEPTH).map_err(|why| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized: the body is not valid JSON: {why}"
        ))
    })?;
    let complaints =
        duplicates.iter().map(|field| format!("duplicate field \"{field}\"")).collect();
    Ok(Parsed { value, complaints })
}

/// YAML as a value. Of a key that stands twice the last value counts, and the reader is told.
pub fn yaml(bytes: &[u8]) -> ApiResult<Parsed> {
    let unreadable = |why: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized: the body is not valid YAML: {why}"
        ))
    };
    let text = std::str::from_utf8(bytes).map_err(|e| unreadable(e.to_string()))?;
    let strict = match serde_saphyr::from_str::<Value>(text) {
        Ok(value) => return Ok(Parsed { value, complaints: Vec::new() }),
        Err(error) => error.to_string(),
    };
    let lenient = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    match serde_saphyr::from_str_with_options::<Value>(text, lenient) {
        Ok(value) => Ok(Parsed { value, complaints: vec![first_line(&strict)] }),
        Err(_) => Err(unreadable(strict)),
    }
}

/// The parser's message goes on with an excerpt of the text.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// Path and body must speak of the same kind; built-in kinds may leave it out.
pub fn check_kind(call: &Call<'_>, value: &mut Value) -> ApiResult<()> {
    let expected_version = call.resource.api_version(&call.version().name);
    for (field, expected) in [("apiVersion", &expected_version), ("kind", &call.resource.kind)] {
        match value[field].as_str() {
            Some(found) if found == expected => {}
            None | Some("") if call.resource.crd_uid.is_none() => {
                value[field] = expected.as_str().into();
            }
            None | Some("") => {
                return Err(ApiError::bad_request(format!(
                    "Object '{field}' is missing: expected {expected:?} as the path says"
                )));
            }
            Some(found) if field == "kind" => {
                return Err(ApiError::bad_request(format!(
                    "the kind in the data ({found}) does not match the expected kind ({expected})"
                )));
            }
            Some(found) => {
                return Err(ApiError::bad_request(format!(
                    "the API version in the data ({found}) does not match the expected API version ({expected})"
                )));
            }
        }
    }
    if !matches!(value["metadata"], Value::Null | Value::Object(_)) {
        return Err(cannot_be_handled(call, "metadata must be an object"));
    }
    Ok(())
}

/// Makes the object conform: types, unknown fields, nulls, defaults. What is unknown is dropped,
/// and said or refused as the client wishes.
pub fn conform(call: &mut Call<'_>, value: &mut Value, doubled: Vec<String>) -> ApiResult<()> {
    let schema = std::sync::Arc::clone(&call.version().schema);
    if !call.resource.strategy.enforce_schema {
        check_types(&schema, call, value)?;
    }
    metadata_types(call, value)?;
    drop_unknown(call, value, doubled)?;
    schema.prune_nulls(value);
    schema.apply_defaults(value);
    Ok(())
}

/// Refuses wrong types.
pub fn check_types(schema: &Schema, call: &Call<'_>, value: &Value) -> ApiResult<()> {
    match schema.type_errors(value).first() {
        Some(error) => Err(cannot_be_handled(call, &go_like(error))),
        None => Ok(()),
    }
}

/// Drops what the schema does not know, and says or refuses it as the client wishes.
pub fn drop_unknown(call: &mut Call<'_>, value: &mut Value, doubled: Vec<String>) -> ApiResult<()> {
    let schema = std::sync::Arc::clone(&call.version().schema);
    drop_unknown_to(&schema, call, value, doubled)
}

/// The same for what another schema describes: the Scale of an object.
pub fn drop_unknown_to(
    schema: &Schema,
    call: &mut Call<'_>,
    value: &mut Value,
    doubled: Vec<String>,
) -> ApiResult<()> {
    let unknown = schema.prune(value);
    let complaints: Vec<String> =
        unknown.iter().map(|field| format!("unknown field \"{field}\"")).chain(doubled).collect();
    if complaints.is_empty() {
        return Ok(());
    }
    match call.query.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => call.warnings.extend(complaints),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", complaints.join(", "));
            return Err(cannot_be_handled(call, &why));
        }
    }
    Ok(())
}

/// Metadata has the same types for every kind, whatever a CRD says of it.
fn metadata_types(call: &Call<'_>, value: &Value) -> ApiResult<()> {
    let wrong = |field: &str, want: &str| {
        Err(cannot_be_handled(
            call,
            &format!(
                "json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type {want}"
            ),
        ))
    };
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if !matches!(value["metadata"][field], Value::Null | Value::String(_)) {
            return wrong(field, "string");
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        match &value["metadata"][field] {
            Value::Null => {}
            Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => {}
            _ => return wrong(field, "v1.Time"),
        }
    }
    for field in ["labels", "annotations"] {
        match &value["metadata"][field] {
            Value::Null => {}
            Value::Object(map) if map.values().all(|v| v.is_string() || v.is_null()) => {}
            _ => return wrong(field, "map[string]string"),
        }
    }
    match &value["metadata"]["finalizers"] {
        Value::Null => {}
        Value::Array(list) if list.iter().all(Value::is_string) => {}
        _ => return wrong("finalizers", "[]string"),
    }
    match &value["metadata"]["ownerReferences"] {
        Value::Null => {}
        Value::Array(list) if list.iter().all(Value::is_object) => {}
        _ => return wrong("ownerReferences", "[]v1.OwnerReference"),
    }
    Ok(())
}

/// Upstream reports the first field whose type is wrong in the words of Go's decoder.
fn go_like(error: &FieldError) -> String {
    let want = error.detail.rsplit_once("of type ").map_or("", |(_, t)| t);
    let want = want.split(':').next().unwrap_or_default();
    format!(
        "json: cannot unmarshal {} into Go struct field {} of type {want}",
        error.value.as_str().unwrap_or_default(),
        error.path
    )
}

/// 400: not this kind.
pub fn cannot_be_handled(call: &Call<'_>, why: &str) -> ApiError {
    let (kind, version) = (&call.resource.kind, &call.version().name);
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}
