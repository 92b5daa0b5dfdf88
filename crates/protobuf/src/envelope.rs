//! The magic bytes and the envelope around an object: `runtime.Unknown`.

use serde_json::Value;

use crate::CONTENT_TYPE;
use crate::error::{At, DecodeError};
use crate::object::{Decoder, MAX_DEPTH, bytes};
use crate::wire::Reader;

/// What every body starts with.
pub const MAGIC: &[u8] = b"k8s\0";

const UNKNOWN: &str = "runtime.Unknown";
const TYPE_META: &str = "runtime.TypeMeta";

/// An object and the kind its envelope names.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Group and version, such as `v1` or `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The object as JSON, `apiVersion` and `kind` included.
    pub value: Value,
}

pub fn decode(
    decoder: &mut Decoder,
    body: Reader<'_>,
    depth: usize,
) -> Result<Decoded, DecodeError> {
    let start = At { message: UNKNOWN, field: 0, offset: body.offset };
    if depth > MAX_DEPTH {
        return Err(DecodeError::Depth(start));
    }
    let rest = body.rest.strip_prefix(MAGIC).ok_or(DecodeError::Magic)?;
    let mut reader = Reader { rest, offset: body.offset + MAGIC.len() };
    let (mut api_version, mut kind) = ("", "");
    let mut raw = Reader { rest: &[], offset: reader.offset };
    while let Some((at, wire)) = reader.field(UNKNOWN)? {
        match at.field {
            1 => (api_version, kind) = type_meta(bytes(at, wire)?)?,
            2 => raw = bytes(at, wire)?,
            3 => plain("contentEncoding", bytes(at, wire)?.text(at)?, "")?,
            4 => plain("contentType", bytes(at, wire)?.text(at)?, CONTENT_TYPE)?,
            _ => {}
        }
    }
    let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
    let Some(message) = decoder.table.kind(&api_version, &kind) else {
        return Err(DecodeError::UnknownKind { api_version, kind });
    };
    let mut value = decoder.value(message, raw, depth)?.unwrap_or(Value::Null);
    if let Value::Object(object) = &mut value {
        object.insert("apiVersion".to_owned(), api_version.clone().into());
        object.insert("kind".to_owned(), kind.clone().into());
    }
    Ok(Decoded { api_version, kind, value })
}

fn type_meta(mut reader: Reader<'_>) -> Result<(&str, &str), DecodeError> {
    let (mut api_version, mut kind) = ("", "");
    while let Some((at, wire)) = reader.field(TYPE_META)? {
        match at.field {
            1 => api_version = bytes(at, wire)?.text(at)?,
            2 => kind = bytes(at, wire)?.text(at)?,
            _ => {}
        }
    }
    Ok((api_version, kind))
}

/// Refuses encodings and types of the inner bytes that are not what is read here.
fn plain(field: &'static str, value: &str, known: &str) -> Result<(), DecodeError> {
    if value.is_empty() || value == known {
        return Ok(());
    }
    Err(DecodeError::Envelope { field, value: value.to_owned() })
}
