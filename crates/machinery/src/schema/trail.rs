//! The way from the top of a document to where a walk is now.
//!
//! Kept on the stack and only written out when something is reported, so that walking a sound
//! document allocates nothing.

use crate::field::FieldPath;

/// One step, and the steps before it.
#[derive(Clone, Copy)]
pub(super) enum Trail<'a> {
    Top,
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    /// As a path: `spec.networks[0].name`.
    pub(super) fn path(&self) -> FieldPath {
        match self {
            Self::Top => FieldPath::root(),
            Self::Key(before, key) => before.path().child(key),
            Self::Index(before, index) => before.path().index(*index),
        }
    }
}
