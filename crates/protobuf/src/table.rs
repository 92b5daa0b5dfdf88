//! Which message has which fields: `table.txt`, read once.
//!
//! The table is ours and a test reads all of it, so a line that cannot be read is passed over here
//! rather than reported.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    /// An index into the table's messages.
    Message(usize),
}

/// How many values a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    One,
    List,
    Map,
}

/// How a message looks in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Object,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Json,
    SchemaOrBool,
    SchemaOrList,
    SchemaOrStrings,
    List,
}

#[derive(Debug)]
pub struct Field {
    pub number: u32,
    pub name: &'static str,
    pub kind: Kind,
    pub many: Many,
    /// Written even when it is zero.
    pub keep: bool,
    /// Its fields stand in the outer object.
    pub inline: bool,
}

#[derive(Debug)]
pub struct Message {
    pub name: &'static str,
    pub shape: Shape,
    /// In the order of their numbers.
    pub fields: Vec<Field>,
}

impl Message {
    pub fn field(&self, number: u32) -> Option<&Field> {
        let place = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(place)
    }
}

/// All messages and kinds.
#[derive(Debug, Default)]
pub struct Table {
    pub messages: Vec<Message>,
    places: HashMap<&'static str, usize>,
    kinds: HashMap<(&'static str, &'static str), &'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("table.txt")));

pub fn get() -> &'static Table {
    &TABLE
}

impl Table {
    fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        let messages = text.lines().filter_map(|line| line.strip_prefix("message "));
        for (place, line) in messages.enumerate() {
            let (name, shape) = line.split_once(" as ").unwrap_or((line, ""));
            table.places.insert(name, place);
            table.messages.push(Message { name, shape: shape_of(shape), fields: Vec::new() });
        }
        let mut current = 0;
        for line in text.lines() {
            if let Some(message) = line.strip_prefix("message ") {
                let name = message.split(' ').next().unwrap_or_default();
                current = table.places.get(name).copied().unwrap_or_default();
            } else if let Some(kind) = line.strip_prefix("kind ") {
                let mut words = kind.split(' ');
                if let (Some(version), Some(kind), Some(message)) =
                    (words.next(), words.next(), words.next())
                {
                    table.kinds.insert((version, kind), message);
                }
            } else if let Some(field) = line.strip_prefix("  ")
                && let Some(field) = table.read_field(field)
                && let Some(message) = table.messages.get_mut(current)
            {
                message.fields.push(field);
            }
        }
        table
    }

    fn read_field(&self, line: &'static str) -> Option<Field> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let name = words.next()?;
        let kind = words.next()?;
        let flag = words.next().unwrap_or_default();
        let (many, kind) = if let Some(kind) = kind.strip_prefix("[]") {
            (Many::List, kind)
        } else if let Some(kind) = kind.strip_prefix("map[]") {
            (Many::Map, kind)
        } else {
            (Many::One, kind)
        };
        let kind = match kind {
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            "bool" => Kind::Bool,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "double" => Kind::Double,
            message => Kind::Message(*self.places.get(message)?),
        };
        Some(Field { number, name, kind, many, keep: flag == "keep", inline: flag == "inline" })
    }

    /// The message at a place that a [`Kind`] names.
    pub fn at(&self, place: usize) -> Option<&Message> {
        self.messages.get(place)
    }

    pub fn message(&self, name: &str) -> Option<&Message> {
        self.at(*self.places.get(name)?)
    }

    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let name = self.kinds.get(&(api_version, kind)).or_else(|| self.kinds.get(&("*", kind)))?;
        self.message(name)
    }

    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        self.kinds.iter().map(|((version, kind), message)| (*version, *kind, *message))
    }
}

fn shape_of(word: &str) -> Shape {
    match word {
        "time" => Shape::Time,
        "micro-time" => Shape::MicroTime,
        "quantity" => Shape::Quantity,
        "int-or-string" => Shape::IntOrString,
        "json" => Shape::Json,
        "schema-or-bool" => Shape::SchemaOrBool,
        "schema-or-list" => Shape::SchemaOrList,
        "schema-or-strings" => Shape::SchemaOrStrings,
        "list" => Shape::List,
        _ => Shape::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passing over a line in silence is only right while there is none to pass over.
    #[test]
    fn every_line_is_read() {
        let text = include_str!("table.txt");
        let count = |prefix: &str| text.lines().filter(|line| line.starts_with(prefix)).count();
        let table = get();
        assert_eq!(table.messages.len(), count("message "));
        assert_eq!(table.places.len(), table.messages.len(), "a message stands there twice");
        assert_eq!(table.kinds.len(), count("kind "));
        assert_eq!(table.messages.iter().map(|m| m.fields.len()).sum::<usize>(), count("  "));
        for line in text.lines().filter(|line| line.contains(" as ") && !line.starts_with('#')) {
            let word = line.rsplit(' ').next().unwrap();
            assert_ne!(shape_of(word), Shape::Object, "{line}");
        }
        for (version, kind, message) in table.kinds() {
            assert!(table.message(message).is_some(), "{version} {kind}");
        }
    }

    #[test]
    fn numbers_rise_and_inlined_fields_are_single_objects() {
        for message in &get().messages {
            assert!(message.fields.is_sorted_by_key(|field| field.number), "{}", message.name);
            for field in message.fields.iter().filter(|field| field.inline) {
                let Kind::Message(inner) = field.kind else { panic!("{}", field.name) };
                assert_eq!(get().at(inner).unwrap().shape, Shape::Object);
                assert_eq!(field.many, Many::One);
            }
        }
    }
}
