//! What a caller asks the store to write, and what it gets back.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use crate::entry::Entry;

/// One change of one key. Every op of a call gets a revision of its own, in order.
#[derive(Debug, Clone)]
pub enum Op {
    /// Creates or replaces a key.
    Put {
        /// The key to write.
        key: String,
        /// What the key must look like for the write to happen.
        expect: Expect,
        /// The new value.
        value: Template,
    },
    /// Removes a key. A key that is not there is a conflict whatever `expect` says: nothing
    /// would change, so there would be no event and no revision to give back.
    Delete {
        /// The key to remove.
        key: String,
        /// What the key must look like for the deletion to happen.
        expect: Expect,
        /// The last state watchers are shown; without it they see the value as it was.
        value: Option<Template>,
    },
}

impl Op {
    /// The key the op is about.
    pub fn key(&self) -> &str {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } => key,
        }
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        match self {
            Self::Put { value, .. } => Some(value),
            Self::Delete { value, .. } => value.as_ref(),
        }
    }

    /// Bytes the op will hold in the queue and in the log.
    pub(crate) fn weight(&self) -> usize {
        self.key().len() + self.template().map_or(0, Template::stamped_len)
    }
}

/// The condition of an op, checked by the writer thread against the state the op would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No condition.
    Any,
    /// The key does not exist.
    Absent,
    /// The key exists and was last written at this revision.
    Revision(u64),
}

/// A value with an optional hole for its own revision, which only the writer knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The value without the revision.
    pub bytes: Vec<u8>,
    /// The byte offset at which the decimal revision is inserted.
    pub revision_at: Option<usize>,
}

/// Decimal digits of the largest revision.
const MAX_DIGITS: usize = 20;

impl Template {
    /// A value that does not carry its revision.
    pub fn plain(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), revision_at: None }
    }

    /// A value that wants its revision inserted at byte `offset`.
    pub fn stamped(bytes: impl Into<Vec<u8>>, offset: usize) -> Self {
        Self { bytes: bytes.into(), revision_at: Some(offset) }
    }

    /// The length the value can have at most once stamped.
    pub(crate) fn stamped_len(&self) -> usize {
        self.bytes.len() + self.revision_at.map_or(0, |_| MAX_DIGITS)
    }

    /// The value as it is stored. An offset beyond the end appends; [`crate::Store::write`]
    /// refuses those before they get here.
    pub(crate) fn stamp(self, revision: u64) -> Bytes {
        let Some(at) = self.revision_at else { return self.bytes.into() };
        let digits = revision.to_string();
        let (before, after) = self.bytes.split_at(at.min(self.bytes.len()));
        let mut out = BytesMut::with_capacity(self.bytes.len() + digits.len());
        out.put_slice(before);
        out.put_slice(digits.as_bytes());
        out.put_slice(after);
        out.freeze()
    }
}

/// The outcome of one op.
#[derive(Debug)]
pub struct Written<M> {
    /// The revision the op got.
    pub revision: u64,
    /// The new state, or for a deletion the last state, carrying the deletion's revision.
    pub entry: Arc<Entry<M>>,
    /// The state before the op.
    pub prev: Option<Arc<Entry<M>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_goes_into_the_hole() {
        for (template, want) in [
            (Template::stamped(r#"{"rv":""}"#, 7), r#"{"rv":"42"}"#),
            (Template::stamped("", 0), "42"),
            (Template::stamped("ab", 2), "ab42"),
            (Template::plain("ab"), "ab"),
        ] {
            assert!(template.stamped_len() >= want.len());
            assert_eq!(template.stamp(42), want);
        }
    }
}
