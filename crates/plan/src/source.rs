//! What is looked at: objects, from files or from an API.

use std::fmt;

use landbridge_machinery::gvk::split_api_version;
use serde_json::Value;

/// Which object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty when the object names none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// What an object says it is.
    pub fn of(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&value["apiVersion"]),
            kind: text(&value["kind"]),
            namespace: text(&value["metadata"]["namespace"]),
            name: text(&value["metadata"]["name"]),
        }
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        split_api_version(&self.api_version).map_or("", |(group, _)| group)
    }
}

/// `NetConfig openstack/netconfig`, without what is not known.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.kind.is_empty() { "document" } else { &self.kind })?;
        if !self.name.is_empty() {
            f.write_str(" ")?;
            if !self.namespace.is_empty() {
                write!(f, "{}/", self.namespace)?;
            }
            f.write_str(&self.name)?;
        }
        Ok(())
    }
}

/// One object, and the number under which whoever asks knows it.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Comes back in findings.
    pub id: usize,
    /// Which object.
    pub object: ObjectRef,
    /// The object.
    pub value: &'a Value,
    /// Whether parts of it are left out, as documentation does.
    pub partial: bool,
}

impl<'a> Source<'a> {
    /// A source that is what its value says.
    pub fn new(id: usize, value: &'a Value) -> Self {
        Self { id, object: ObjectRef::of(value), value, partial: false }
    }

    /// A source of which parts may be left out: two of one name add up instead of contradicting
    /// each other.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
}

/// What is known about the set of sources as a whole.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Namespace of objects that name none. When not given: the only one that others name, or
    /// `default`.
    pub namespace: Option<String>,
    /// Whether the sources are all there is, as when they come from an API. Otherwise, that
    /// something is missing is said only when others of its kind are there.
    pub complete: bool,
}
