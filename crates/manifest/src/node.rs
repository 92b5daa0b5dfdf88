//! The tree of places, as written.
//!
//! The tree says *where*; what the values are is in the document's [`value`](crate::Document::value).
//! Keeping the two apart keeps scalars from being stored twice.

use crate::Span;

/// A value's place and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// From the first to the last character of what is written, quotes and brackets included. An
    /// alias has the place of the `*name`; what it stands for has the place where that is written.
    /// A value that is not written at all (`key:`) has an empty span after its key.
    pub span: Span,
    /// What stands there.
    pub value: Shape,
}

/// What stands at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string, number, boolean or null.
    Scalar(Style),
    /// A list.
    Sequence(Vec<Node>),
    /// A mapping, in the order of the file. A repeated key is in here twice; the last one counts.
    Mapping(Vec<Entry>),
}

/// One `key: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key's text.
    pub key: Box<str>,
    /// The key's place.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`, in YAML and in JSON.
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Node {
    /// The entry of a mapping under a key; of repeated keys the one that counts.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Shape::Mapping(entries) => entries.iter().rev().find(|entry| *entry.key == *key),
            _ => None,
        }
    }

    /// The item of a sequence.
    pub fn item(&self, index: usize) -> Option<&Node> {
        match &self.value {
            Shape::Sequence(items) => items.get(index),
            _ => None,
        }
    }
}
