//! An object of a service: a JSON map with getters for what the rules ask of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Attribute names and values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

impl Object {
    /// An object without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map of a value that is one; anything else gives an empty object.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// The attribute, `Null` where there is none.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// Whether the attribute is there, `null` or not.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The attribute as text; `""` for anything else.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).as_str().unwrap_or_default()
    }

    /// The attribute as text that says something.
    pub fn some_text(&self, name: &str) -> Option<&str> {
        self.get(name).as_str().filter(|text| !text.is_empty())
    }

    /// The attribute as a truth; anything but `true` is not.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == &Value::Bool(true)
    }

    /// The attribute as a number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).as_i64()
    }

    /// The items of a list; none for anything else.
    pub fn list(&self, name: &str) -> &[Value] {
        self.get(name).as_array().map_or(&[], Vec::as_slice)
    }

    /// The texts of a list of texts.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list(name).iter().filter_map(Value::as_str)
    }

    /// `id`.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// `project_id`.
    pub fn project(&self) -> &str {
        self.text("project_id")
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Removes an attribute.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Takes over everything of the other.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}
