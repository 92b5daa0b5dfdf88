//! One object with its tree; from a path to a place.

use std::sync::Arc;

use serde_json::Value;

use crate::{Limits, Node, Path, Segment, Shape, Source, Span, Style, embedded, json, node::Entry};

/// Where in its file a document was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A document of a YAML or JSON file.
    File,
    /// A block of a text, by the line its fence opens on.
    Block {
        /// From 1.
        line: u32,
    },
}

/// An object of a manifest: what it says, and where it says it.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) source: Arc<Source>,
    pub(crate) root: Node,
    pub(crate) value: Value,
    /// Where it was found.
    pub origin: Origin,
    /// Its place in the `items` of a list, if it came out of one.
    pub item: Option<usize>,
    /// Whether parts of it were left out with `...`. Then only what is there can be judged:
    /// nothing may be reported as missing.
    pub elided: bool,
    /// Whether its apiVersion is not written but inferred.
    pub inferred: bool,
    /// What it is called, if it is no object of an API but of use all the same.
    pub called: Option<String>,
}

impl Document {
    /// The file it is in.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The name of the file it is in.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// The tree of places.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The object as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// `apiVersion`, empty if there is none (only in [`fragments`](crate::Reading::fragments)).
    pub fn api_version(&self) -> &str {
        text(self.value.get("apiVersion")).unwrap_or_default()
    }

    /// `kind`, empty if there is none (only in [`fragments`](crate::Reading::fragments)).
    pub fn kind(&self) -> &str {
        text(self.value.get("kind")).unwrap_or_default()
    }

    /// `metadata.name`
    pub fn name(&self) -> Option<&str> {
        text(self.value.get("metadata").and_then(|metadata| metadata.get("name")))
    }

    /// `metadata.namespace`
    pub fn namespace(&self) -> Option<&str> {
        text(self.value.get("metadata").and_then(|metadata| metadata.get("namespace")))
    }

    /// What diagnostics call it: `NetConfig openstack/netconfig`.
    pub fn title(&self) -> String {
        if let Some(name) = &self.called {
            return name.clone();
        }
        if self.kind().is_empty() {
            return "a fragment".to_owned();
        }
        match (self.namespace(), self.name()) {
            (Some(namespace), Some(name)) => format!("{} {namespace}/{name}", self.kind()),
            (None, Some(name)) => format!("{} {name}", self.kind()),
            _ => format!("{} without a name", self.kind()),
        }
    }

    /// The value at a path.
    pub fn get(&self, path: &Path) -> Option<&Value> {
        path.segments().iter().try_fold(&self.value, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
    }

    /// The place of the value at a path; of a field that is not there, the place of the nearest
    /// value above it that is. There always is one, the root; the `Option` is what labels take.
    pub fn locate(&self, path: &Path) -> Option<Span> {
        Some(descend(&self.root, path.segments()).0.span)
    }

    /// The place of the key under which the value at a path stands, for findings about the key (an
    /// unknown field). An item of a list has no key: its own place. Of a missing field, as
    /// [`locate`](Self::locate), but the key of the nearest parent.
    pub fn locate_key(&self, path: &Path) -> Option<Span> {
        let (node, entry) = descend(&self.root, path.segments());
        Some(entry.map_or(node.span, |entry| entry.key_span))
    }

    /// Whether the value at a path is written in the file.
    pub fn has(&self, path: &Path) -> bool {
        self.node(path).is_some()
    }

    /// The node at a path.
    pub fn node(&self, path: &Path) -> Option<&Node> {
        path.segments()
            .iter()
            .try_fold(&self.root, |node, segment| step(node, segment).map(|(node, _)| node))
    }

    /// The place of a value inside JSON that is the text of a string, such as the `config` of a
    /// NetworkAttachmentDefinition. Exact in literal blocks (`|`) and in strings on one line; in other
    /// strings, and where the text is no JSON, the place of the string as a whole. Of a missing
    /// field, the nearest parent inside the JSON.
    pub fn locate_inside(&self, path: &Path, inner: &Path) -> Option<Span> {
        let whole = self.locate(path)?;
        Some(
            self.inside(path, |text| {
                let (root, _) = json::one(text, &Limits::default()).ok()?;
                let span = descend(&root, inner.segments()).0.span;
                Some(span.range())
            })
            .unwrap_or(whole),
        )
    }

    /// As [`locate_inside`](Self::locate_inside), for the key.
    pub fn locate_key_inside(&self, path: &Path, inner: &Path) -> Option<Span> {
        let whole = self.locate(path)?;
        Some(
            self.inside(path, |text| {
                let (root, _) = json::one(text, &Limits::default()).ok()?;
                let (node, entry) = descend(&root, inner.segments());
                Some(entry.map_or(node.span, |entry| entry.key_span).range())
            })
            .unwrap_or(whole),
        )
    }

    /// The place of a byte of a string's text, for parsers of their own kind of text. Falls back
    /// as [`locate_inside`](Self::locate_inside) does.
    pub fn locate_offset(&self, path: &Path, at: usize) -> Option<Span> {
        let whole = self.locate(path)?;
        let exact = self.inside(path, |text| {
            let at = text.floor_char_boundary(at.min(text.len()));
            let width = text.get(at..)?.chars().next().map_or(0, char::len_utf8);
            Some(at..at + width)
        });
        Some(exact.unwrap_or(whole))
    }

    /// From a range of a string's text to the file.
    fn inside(
        &self,
        path: &Path,
        find: impl FnOnce(&str) -> Option<std::ops::Range<usize>>,
    ) -> Option<Span> {
        let node = self.node(path)?;
        let Shape::Scalar(style) = node.value else { return None };
        let text = self.get(path)?.as_str()?;
        let written = self.scalar_text(node.span, style)?;
        let range = embedded::translate(&written, style, text, find(text)?)?;
        let start = written.start + range.start;
        Some(self.source.span(start, written.start + range.end))
    }

    /// What is written at a scalar. The span of a block begins with its first character that is
    /// no indentation; the rest of that line belongs to it.
    fn scalar_text(&self, span: Span, style: Style) -> Option<embedded::Written<'_>> {
        let mut range = span.range();
        if matches!(style, Style::Literal) {
            range.start = self.source.line_start(span.line)?;
        }
        Some(embedded::Written { start: range.start, text: self.source.text().get(range)? })
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn step<'a>(node: &'a Node, segment: &Segment) -> Option<(&'a Node, Option<&'a Entry>)> {
    match segment {
        Segment::Key(key) => node.entry(key).map(|entry| (&entry.node, Some(entry))),
        Segment::Index(index) => node.item(*index).map(|node| (node, None)),
    }
}

/// Goes down as far as the path leads; gives the last node and the entry it is the value of.
fn descend<'a>(root: &'a Node, segments: &[Segment]) -> (&'a Node, Option<&'a Entry>) {
    let mut place = (root, None);
    for segment in segments {
        match step(place.0, segment) {
            Some(next) => place = next,
            None => break,
        }
    }
    place
}
