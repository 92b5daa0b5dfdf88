//! Reads the protobuf bodies of Go clients into the JSON they stand for.
//!
//! Go clients send built-in kinds as `application/vnd.kubernetes.protobuf`: four magic bytes and an
//! envelope that names the kind around the object's bytes. The rest of the server speaks JSON, so a
//! body is translated once, at the door:
//!
//! ```text
//! k8s\0 │ Unknown { typeMeta { apiVersion, kind }, raw, contentEncoding, contentType }
//!       └──────────────┬──────────────────────────┬──
//!          kind → message name (table.txt)        bytes → serde_json::Value, field by field
//! ```
//!
//! There is no generated code: `table.txt` says which number is which field, `scripts/protobuf-table`
//! writes it, and one walk reads any message by it. What holds:
//!
//! - the value is what a Go client would have sent as JSON, except that what Go writes as `null`
//!   (unset times, unset lists) is left out;
//! - fields the table does not know are skipped, as protobuf asks;
//! - no input makes it panic; nesting ([`MAX_DEPTH`]) and memory ([`MAX_COST`]) are bounded, and the
//!   time is the length of the body times its nesting.
//!
//! | module | idea |
//! |---|---|
//! | `wire` | tags, varints, lengths |
//! | `table` | which message has which fields |
//! | `object` | a message becomes an object |
//! | `shape` | messages that are no objects in JSON: times, quantities, raw JSON, … |
//! | `envelope` | magic bytes and kind |

#[cfg(test)]
mod cross_check;
mod envelope;
mod error;
mod object;
mod shape;
mod table;
mod wire;

pub use envelope::Decoded;
pub use error::{At, DecodeError};
pub use object::{MAX_COST, MAX_DEPTH};

use object::Decoder;
use serde_json::Value;
use wire::Reader;

/// The content type of such bodies, without parameters.
pub const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Reads a whole body: magic bytes, envelope and object.
///
/// The object carries the envelope's `apiVersion` and `kind`, as it would in JSON.
pub fn decode(body: &[u8]) -> Result<Decoded, DecodeError> {
    envelope::decode(&mut Decoder::new(), Reader::new(body), 0)
}

/// Reads the bytes of one message, without an envelope, such as `core.v1.Pod` or `meta.v1.ObjectMeta`.
pub fn decode_as(message: &str, raw: &[u8]) -> Result<Value, DecodeError> {
    let message = table::get()
        .message(message)
        .ok_or_else(|| DecodeError::UnknownMessage(message.to_owned()))?;
    let value = Decoder::new().value(message, Reader::new(raw), 0)?;
    Ok(value.unwrap_or(Value::Null))
}

/// Whether a kind can be read.
pub fn knows(api_version: &str, kind: &str) -> bool {
    table::get().kind(api_version, kind).is_some()
}

/// Every kind that can be read: apiVersion (`*` when any will do), kind, message.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    table::get().kinds()
}
