//! JSON the way the peers' language reads and writes it.
//!
//! Reading: a `null` is the same as an absent key. Writing: four blanks of indent, keys of free
//! objects sorted, and `<`, `>`, `&` and the two Unicode line separators escaped inside strings, so
//! that an annotation we write is byte for byte the one our peers would have written.

use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Map, Value};

/// A JSON object whose keys are free.
pub type Object = Map<String, Value>;

/// Writes without blanks.
pub fn compact(value: &impl Serialize) -> Result<String, serde_json::Error> {
    write_with(Escaping(CompactFormatter), value)
}

/// Writes with an indent of four blanks.
pub fn indented(value: &impl Serialize) -> Result<String, serde_json::Error> {
    write_with(Escaping(PrettyFormatter::with_indent(b"    ")), value)
}

/// Reads a typed value out of a free object; `null` counts as absent at every depth.
pub(crate) fn typed<T: DeserializeOwned>(object: &Object) -> Result<T, serde_json::Error> {
    let mut value = Value::Object(object.clone());
    drop_nulls(&mut value);
    serde_json::from_value(value)
}

/// Removes the keys whose value is `null`. Elements of lists stay, for their places count.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The same value with the keys of every object in order.
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.into_iter().collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(pairs.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Whether a number may be left out. (Serde asks for references.)
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Whether a switch may be left out. (Serde asks for references.)
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

fn write_with(
    formatter: impl Formatter,
    value: &impl Serialize,
) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    // The serializer writes UTF-8 only.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A formatter that also escapes what is not safe inside HTML.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut left = special.chars();
            if let Some(character) = left.next() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = left.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_are_escaped_and_objects_indented_as_peers_do() {
        let value = json!({"a": "<b> & \u{2028}é\n", "e": {}, "l": [1, []]});
        assert_eq!(
            compact(&value).unwrap(),
            r#"{"a":"\u003cb\u003e \u0026 \u2028é\n","e":{},"l":[1,[]]}"#
        );
        let indented = indented(&json!({"a": [1], "e": {}})).unwrap();
        assert_eq!(indented, "{\n    \"a\": [\n        1\n    ],\n    \"e\": {}\n}");
        assert_eq!(serde_json::from_str::<Value>(&compact(&value).unwrap()).unwrap(), value);
    }

    #[test]
    fn null_is_absent() {
        #[derive(serde::Deserialize, Debug, PartialEq)]
        struct Pair {
            #[serde(default)]
            a: String,
            list: Vec<Option<u8>>,
        }
        let Value::Object(object) = json!({"a": null, "list": [null, 1]}) else { unreachable!() };
        let pair: Pair = typed(&object).unwrap();
        assert_eq!(pair, Pair { a: String::new(), list: vec![None, Some(1)] });
    }
}
