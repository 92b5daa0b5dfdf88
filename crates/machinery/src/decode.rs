//! JSON from outside: strict about what stands twice, faithful about numbers.
//!
//! The JSON standard leaves open what a repeated key means. Upstream lets the last one win and, in
//! strict field validation, refuses; so the reader needs to know. `serde_json::Value` alone forgets
//! repeated keys silently, hence the visitor here.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The document; of a repeated key, the last value.
    pub value: Value,
    /// Dotted paths of keys that stood there more than once, in document order, each once:
    /// `spec.networks[0].name`.
    pub duplicates: Vec<String>,
}

/// Parses one JSON document nested at most `max_depth` deep (and never deeper than serde_json's own
/// limit of 128). The error names line and column.
pub fn json(bytes: &[u8], max_depth: usize) -> Result<Decoded, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let mut walk = Walk { path: String::new(), seen_twice: HashSet::new(), duplicates: Vec::new() };
    let seed = Seed { walk: &mut walk, depth_left: max_depth };
    let value = seed.deserialize(&mut reader).map_err(|e| e.to_string())?;
    reader.end().map_err(|e| e.to_string())?;
    Ok(Decoded { value, duplicates: walk.duplicates })
}

/// Where we are, and what we saw.
struct Walk {
    path: String,
    seen_twice: HashSet<String>,
    duplicates: Vec<String>,
}

struct Seed<'a> {
    walk: &'a mut Walk,
    depth_left: usize,
}

impl Seed<'_> {
    /// What the elements of a container are read with.
    fn inner<E: serde::de::Error>(&self) -> Result<usize, E> {
        self.depth_left.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let depth_left = self.inner()?;
        let here = self.walk.path.len();
        let mut list = Vec::new();
        loop {
            // Writing to a text cannot fail.
            let _ = write!(self.walk.path, "[{}]", list.len());
            let element = access.next_element_seed(Seed { walk: self.walk, depth_left })?;
            self.walk.path.truncate(here);
            match element {
                Some(element) => list.push(element),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let depth_left = self.inner()?;
        let here = self.walk.path.len();
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if here > 0 {
                self.walk.path.push('.');
            }
            self.walk.path.push_str(&key);
            if map.contains_key(&key) && self.walk.seen_twice.insert(self.walk.path.clone()) {
                self.walk.duplicates.push(self.walk.path.clone());
            }
            let value = access.next_value_seed(Seed { walk: self.walk, depth_left })?;
            self.walk.path.truncate(here);
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
