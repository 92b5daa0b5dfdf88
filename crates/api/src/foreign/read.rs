//! Walking an untyped object without losing the place.

use std::net::IpAddr;
use std::ops::Deref;

use landbridge_machinery::field::FieldPath;
use serde_json::{Map, Value};

use crate::net::Cidr;

/// Where a value stands: a path in the object and, when the value there is itself a JSON text (as
/// in a NetworkAttachmentDefinition), a path inside of that text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Path in the object.
    pub path: FieldPath,
    /// Path in the JSON text that stands there.
    pub inner: Option<FieldPath>,
}

impl Place {
    /// A place given by its path.
    pub fn new(path: &str) -> Self {
        Self { path: FieldPath::new(path), inner: None }
    }

    /// A named child. Names that would blur the path (with dots or slashes, as in annotations) are
    /// put in brackets.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let step = |path: &FieldPath| {
            if name.bytes().all(plain) { path.child(name) } else { path.key(name) }
        };
        self.step(step)
    }

    /// An element of a list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(|path| path.index(index))
    }

    fn step(&self, step: impl Fn(&FieldPath) -> FieldPath) -> Self {
        match &self.inner {
            Some(inner) => Self { path: self.path.clone(), inner: Some(step(inner)) },
            None => Self { path: step(&self.path), inner: None },
        }
    }
}

/// A value together with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// Where it stands.
    pub place: Place,
    /// What stands there.
    pub value: T,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> At<T> {
    /// The same place with something made of the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> At<U> {
        At { place: self.place, value: change(self.value) }
    }
}

/// Values that could not be read, and why.
#[derive(Debug, Default)]
pub struct Trouble(pub Vec<At<String>>);

impl Trouble {
    /// Notes one.
    pub fn note(&mut self, place: &Place, why: impl Into<String>) {
        self.0.push(At { place: place.clone(), value: why.into() });
    }

    /// Reads a text that has to be an address.
    pub fn address(&mut self, text: &At<&str>) -> Option<At<IpAddr>> {
        let Ok(value) = text.value.trim().parse() else {
            self.note(&text.place, format!("{:?} is not an IP address", text.value));
            return None;
        };
        Some(At { place: text.place.clone(), value })
    }

    /// Reads a text that has to be a prefix.
    pub fn prefix(&mut self, text: &At<&str>) -> Option<At<Cidr>> {
        let Ok(value) = text.value.trim().parse() else {
            self.note(&text.place, format!("{:?} is not an address prefix", text.value));
            return None;
        };
        Some(At { place: text.place.clone(), value })
    }
}

/// A value being read.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The value.
    pub value: &'a Value,
    /// Its place.
    pub place: Place,
}

impl<'a> Node<'a> {
    /// The object itself.
    pub fn root(value: &'a Value) -> Self {
        Self { value, place: Place::default() }
    }

    /// A child; `null` counts as absent.
    pub fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self { value, place: self.place.child(name) })
    }

    /// A child below children.
    pub fn at(&self, names: &[&str]) -> Option<Self> {
        names.iter().try_fold(self.clone(), |node, name| node.get(name))
    }

    /// A text child.
    pub fn text(&self, name: &str, trouble: &mut Trouble) -> Option<At<&'a str>> {
        self.get(name)?.as_text(trouble)
    }

    /// A number child. Texts of digits count, as they do in CNI configurations.
    pub fn number(&self, name: &str, trouble: &mut Trouble) -> Option<At<i64>> {
        let node = self.get(name)?;
        let value = node.value.as_i64().or_else(|| node.value.as_str()?.parse().ok());
        if value.is_none() {
            trouble.note(&node.place, format!("must be a number, not {}", kind_of(node.value)));
        }
        value.map(|value| At { place: node.place, value })
    }

    /// A yes or no child.
    pub fn flag(&self, name: &str, trouble: &mut Trouble) -> Option<bool> {
        let node = self.get(name)?;
        let value = node.value.as_bool();
        if value.is_none() {
            trouble
                .note(&node.place, format!("must be true or false, not {}", kind_of(node.value)));
        }
        value
    }

    /// The elements of a list child; none when it is absent.
    pub fn list(&self, name: &str, trouble: &mut Trouble) -> Vec<Self> {
        let Some(node) = self.get(name) else { return Vec::new() };
        if !node.value.is_array() {
            trouble.note(&node.place, format!("must be a list, not {}", kind_of(node.value)));
        }
        node.elements().collect()
    }

    /// The texts of a list child.
    pub fn texts(&self, name: &str, trouble: &mut Trouble) -> Vec<At<&'a str>> {
        let list = self.list(name, trouble);
        list.iter().filter_map(|node| node.as_text(trouble)).collect()
    }

    /// The elements, when this is a list.
    pub fn elements(&self) -> impl Iterator<Item = Self> + use<'a> {
        let place = self.place.clone();
        let list: &'a [Value] = self.value.as_array().map_or(&[], Vec::as_slice);
        list.iter().enumerate().map(move |(i, value)| Self { value, place: place.index(i) })
    }

    /// The entries, when this is a map.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let place = self.place.clone();
        let map: Option<&'a Map<String, Value>> = self.value.as_object();
        map.into_iter()
            .flatten()
            .map(move |(name, value)| (name.as_str(), Self { value, place: place.child(name) }))
    }

    /// This, as a text.
    pub fn as_text(&self, trouble: &mut Trouble) -> Option<At<&'a str>> {
        let value = self.value.as_str();
        if value.is_none() {
            trouble.note(&self.place, format!("must be a text, not {}", kind_of(self.value)));
        }
        value.map(|value| At { place: self.place.clone(), value })
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_survive_odd_names_and_wrong_types_are_noted() {
        let object = json!({"a": {"x.y/z": ["v", 3]}, "n": "20", "l": 1, "z": null});
        let mut trouble = Trouble::default();
        let root = Node::root(&object);
        let texts = root.get("a").unwrap().texts("x.y/z", &mut trouble);
        assert_eq!(texts[0].place.path.as_str(), "a[x.y/z][0]");
        assert_eq!(root.number("n", &mut trouble).unwrap().value, 20);
        assert!(root.list("l", &mut trouble).is_empty());
        assert!(root.text("z", &mut trouble).is_none());
        let notes: Vec<_> =
            trouble.0.iter().map(|note| format!("{}: {}", note.place.path, note.value)).collect();
        assert_eq!(
            notes,
            ["a[x.y/z][1]: must be a text, not a number", "l: must be a list, not a number"]
        );
    }
}
