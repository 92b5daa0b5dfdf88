//! Why a body could not be read.

use std::fmt;

/// A place in a body: which field of which message, and the byte it starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The message, as the table names it.
    pub message: &'static str,
    /// The field's number; 0 where no field had been read yet.
    pub field: u32,
    /// The byte, counted from the start of what was given.
    pub offset: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} field {} at byte {}", self.message, self.field, self.offset)
    }
}

/// What can be wrong with a body.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is not Kubernetes protobuf at all.
    #[error("the body does not start with the magic bytes of Kubernetes protobuf")]
    Magic,
    /// A kind the table does not have.
    #[error("no protobuf message is known for kind {kind:?} of {api_version:?}")]
    UnknownKind {
        /// The envelope's apiVersion.
        api_version: String,
        /// The envelope's kind.
        kind: String,
    },
    /// A message the table does not have.
    #[error("no protobuf message is named {0:?}")]
    UnknownMessage(String),
    /// The envelope holds something else than plain protobuf.
    #[error("the {field} {value:?} of the envelope is not supported")]
    Envelope {
        /// `contentEncoding` or `contentType`.
        field: &'static str,
        /// What it says.
        value: String,
    },
    /// A value or a length goes beyond the end.
    #[error("{0}: the bytes end within a value")]
    Truncated(At),
    /// A varint of more than ten bytes.
    #[error("{0}: a varint is too long")]
    Varint(At),
    /// A field number or wire type that protobuf does not have.
    #[error("{at}: {tag} is not a tag")]
    Tag {
        /// Where.
        at: At,
        /// The number read.
        tag: u64,
    },
    /// The value is of another type than the field.
    #[error("{at}: wire type {found} instead of {wanted}")]
    WireType {
        /// Where.
        at: At,
        /// The wire type found.
        found: u8,
        /// The wire type of the field.
        wanted: u8,
    },
    /// A string that is not UTF-8.
    #[error("{0}: the string is not UTF-8")]
    Utf8(At),
    /// A number that JSON cannot write.
    #[error("{0}: the number is not finite")]
    NotFinite(At),
    /// A time outside of the years that RFC 3339 can write.
    #[error("{0}: the time is out of range")]
    Time(At),
    /// Raw JSON within the message that is no JSON.
    #[error("{at}: the embedded JSON cannot be read")]
    Json {
        /// Where.
        at: At,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Messages within messages, too many of them.
    #[error("{0}: messages are nested too deeply")]
    Depth(At),
    /// The object would take too much memory.
    #[error("{0}: the object is too large")]
    Cost(At),
}
