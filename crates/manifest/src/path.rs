//! `spec.networks[1].vlan` as a value.
//!
//! The written form is the one of Kubernetes' error messages: keys joined by dots, items in brackets, and
//! keys that would be misread in a dotted form (`metadata.annotations[k8s.v1.cni.cncf.io/networks]`) in
//! brackets too. A key that brackets cannot hold either is written as a JSON string: `["a]b"]`.

use std::{fmt, str::FromStr};

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// Into a mapping.
    Key(String),
    /// Into a sequence, from 0.
    Index(usize),
}

/// A way from a document's root to one of its values. The empty path is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

impl Path {
    /// The root.
    pub fn root() -> Self {
        Path::default()
    }

    /// The steps, outermost first.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// This path and one key more.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    /// This path and one item more.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The path without its last step; the root has none.
    pub fn parent(&self) -> Option<Path> {
        let (_, rest) = self.0.split_last()?;
        Some(Path(rest.to_vec()))
    }

    /// The last step.
    pub fn last(&self) -> Option<&Segment> {
        self.0.last()
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Path(segments)
    }
}

impl FromIterator<Segment> for Path {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Path(segments.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => match written(key) {
                    Written::Dotted if at == 0 => f.write_str(key)?,
                    Written::Dotted => write!(f, ".{key}")?,
                    Written::Bracketed => write!(f, "[{key}]")?,
                    Written::Quoted => write!(f, "[{}]", serde_json::Value::from(key.as_str()))?,
                },
            }
        }
        Ok(())
    }
}

enum Written {
    Dotted,
    Bracketed,
    Quoted,
}

fn written(key: &str) -> Written {
    if !key.is_empty() && !key.contains(['.', '[', ']']) {
        Written::Dotted
    } else if key.is_empty() || key.contains(['[', ']']) || key.starts_with('"') {
        Written::Quoted
    } else {
        Written::Bracketed
    }
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// Two dots in a row, or one at the end.
    EmptyKey {
        /// Byte offset in the text.
        at: usize,
    },
    /// `[` without `]`.
    Unclosed {
        /// Byte offset of the bracket.
        at: usize,
    },
    /// Something other than `.` or `[` after `]`.
    Trailing {
        /// Byte offset in the text.
        at: usize,
    },
    /// A quoted key that is no JSON string.
    BadString {
        /// Byte offset of the quote.
        at: usize,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::EmptyKey { at } => write!(f, "empty key at offset {at}"),
            PathError::Unclosed { at } => write!(f, "bracket at offset {at} is not closed"),
            PathError::Trailing { at } => write!(f, "expected a dot or a bracket at offset {at}"),
            PathError::BadString { at } => write!(f, "not a JSON string at offset {at}"),
        }
    }
}

impl std::error::Error for PathError {}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            if let Some(inside) = rest.strip_prefix('[') {
                let (segment, after) = bracket(inside, at)?;
                segments.push(segment);
                rest = after;
            } else {
                let dotted = match rest.strip_prefix('.') {
                    Some(after) => after,
                    None if at == 0 => rest,
                    None => return Err(PathError::Trailing { at }),
                };
                let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
                let (key, after) = dotted.split_at(end);
                if key.is_empty() {
                    return Err(PathError::EmptyKey { at });
                }
                segments.push(Segment::Key(key.to_owned()));
                rest = after;
            }
        }
        Ok(Path(segments))
    }
}

/// Reads what follows a `[`, and gives what follows the `]`.
fn bracket(inside: &str, at: usize) -> Result<(Segment, &str), PathError> {
    if inside.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(inside).into_iter::<String>();
        let Some(Ok(key)) = strings.next() else { return Err(PathError::BadString { at: at + 1 }) };
        let after = inside.get(strings.byte_offset()..).unwrap_or_default();
        let after = after.strip_prefix(']').ok_or(PathError::Unclosed { at })?;
        return Ok((Segment::Key(key), after));
    }
    let (body, after) = inside.split_once(']').ok_or(PathError::Unclosed { at })?;
    let digits = !body.is_empty() && body.bytes().all(|byte| byte.is_ascii_digit());
    let segment = match body.parse() {
        Ok(index) if digits => Segment::Index(index),
        _ => Segment::Key(body.to_owned()),
    };
    Ok((segment, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ways() {
        for (text, path) in [
            ("", Path::root()),
            ("spec", Path::root().key("spec")),
            (
                "spec.networks[1].subnets[0].vlan",
                Path::root()
                    .key("spec")
                    .key("networks")
                    .index(1)
                    .key("subnets")
                    .index(0)
                    .key("vlan"),
            ),
            (
                "metadata.annotations[k8s.v1.cni.cncf.io/networks]",
                Path::root().key("metadata").key("annotations").key("k8s.v1.cni.cncf.io/networks"),
            ),
            ("[0].a", Path::root().index(0).key("a")),
            ("a.0", Path::root().key("a").key("0")),
            (r#"a["x]y"]"#, Path::root().key("a").key("x]y")),
            (r#"[""]"#, Path::root().key("")),
        ] {
            assert_eq!(path.to_string(), text);
            assert_eq!(text.parse(), Ok(path), "{text}");
        }
    }

    #[test]
    fn refused() {
        for (text, error) in [
            ("a..b", PathError::EmptyKey { at: 1 }),
            ("a.", PathError::EmptyKey { at: 1 }),
            ("a[0", PathError::Unclosed { at: 1 }),
            ("a[0]b", PathError::Trailing { at: 4 }),
            ("a[\"x", PathError::BadString { at: 2 }),
        ] {
            assert_eq!(text.parse::<Path>(), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_and_read_back(keys in prop::collection::vec(prop_oneof![
            any::<String>().prop_map(Segment::Key),
            "[a-z.\\[\\]\"0-9]{0,5}".prop_map(Segment::Key),
            any::<usize>().prop_map(Segment::Index),
        ], 0..6)) {
            let path = Path(keys);
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }
    }
}
