//! What a table of the state is: its name, what its rows are found by, what need not be stored.

use crate::object::Object;

/// One table of the state.
pub struct Kind {
    /// The name: unique in the cloud, and what the journal calls it. Never rename one.
    pub name: &'static str,
    /// Says by which values a row can be found: `keys.add("network_id", object.text("network_id"))`.
    pub index: fn(&Object, &mut Keys),
    /// Attributes that are left out of a row when they hold this value, and are filled in again
    /// when it is read. Adding one is always right; changing one needs a new attribute.
    pub blanks: &'static [(&'static str, Blank)],
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A value that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// `null`
    Null,
    /// `""`
    Text,
    /// `[]`
    List,
    /// `{}`
    Map,
    /// `false`
    False,
    /// `true`
    True,
    /// This text.
    Is(&'static str),
}

/// The index entries of one row.
#[derive(Debug, Default)]
pub struct Keys(Vec<(&'static str, String)>);

impl Keys {
    /// Those of an object.
    pub fn of(kind: &'static Kind, object: &Object) -> Vec<(&'static str, String)> {
        let mut keys = Self::default();
        (kind.index)(object, &mut keys);
        keys.0.sort_unstable();
        keys.0.dedup();
        keys.0
    }

    /// The row can be found by this value; nothing is found by an empty one.
    pub fn add(&mut self, index: &'static str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.push((index, value));
        }
    }
}
