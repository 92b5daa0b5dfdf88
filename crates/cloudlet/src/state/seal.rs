//! A row as text, without what says nothing.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::kind::{Blank, Kind};
use crate::object::Object;

impl Blank {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Text => value.as_str() == Some(""),
            Self::List => value.as_array().is_some_and(Vec::is_empty),
            Self::Map => value.as_object().is_some_and(Map::is_empty),
            Self::False => value == &Value::Bool(false),
            Self::True => value == &Value::Bool(true),
            Self::Is(text) => value.as_str() == Some(text),
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text => Value::String(String::new()),
            Self::List => Value::Array(Vec::new()),
            Self::Map => Value::Object(Map::new()),
            Self::False => Value::Bool(false),
            Self::True => Value::Bool(true),
            Self::Is(text) => Value::String(text.to_owned()),
        }
    }
}

/// The text of an object.
pub fn seal(kind: &Kind, mut object: Object) -> Bytes {
    for (name, blank) in kind.blanks {
        if object.0.get(*name).is_some_and(|value| blank.is(value)) {
            object.remove(name);
        }
    }
    // No byte more than the text has: it is kept for long.
    Bytes::from(Value::from(object).to_string().into_bytes().into_boxed_slice())
}

/// The object of a text. A text that is no object (a journal written by nobody we know) reads as
/// an empty one: [`crate::journal`] refuses those at load, so it never comes from there.
pub fn unseal(kind: &Kind, row: &[u8]) -> Object {
    let mut object = serde_json::from_slice::<Object>(row).unwrap_or_default();
    for (name, blank) in kind.blanks {
        if !object.has(name) {
            object.0.insert((*name).to_owned(), blank.value());
        }
    }
    object
}
