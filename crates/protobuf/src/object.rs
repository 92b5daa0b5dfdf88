//! A message becomes an object, field by field.
//!
//! Later values of a field replace earlier ones, messages are merged, lists grow, as protobuf asks.
//! Go always writes plain scalars and writes pointers only when they are set; so a zero that the
//! table marks `keep` is there on purpose, and any other zero means "not set" and is left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Number, Value};

use crate::error::{At, DecodeError};
use crate::table::{self, Field, Kind, Many, Message, Shape, Table};
use crate::wire::{BYTES, FIXED64, Reader, VARINT, Wire};

/// How deep messages may lie in each other.
pub const MAX_DEPTH: usize = 100;

/// About how many bytes of memory one object may take.
///
/// Two bytes of a body can become an object of several hundred, so the bound on a body is not one
/// on its object. At the 3 MiB a server takes, messages of 18 bytes each on average still pass.
pub const MAX_COST: usize = 128 << 20;

/// What an object costs beside its values: a node of its map.
const OBJECT_COST: usize = 640;
/// What a value costs beside its text.
const VALUE_COST: usize = 64;
/// What a byte of embedded JSON may grow to.
pub const JSON_COST: usize = 16;

/// One walk over one body.
pub struct Decoder {
    pub table: &'static Table,
    spent: usize,
}

impl Decoder {
    pub fn new() -> Self {
        Self { table: table::get(), spent: 0 }
    }

    /// A message's value; `None` when it stands for "not set", as an empty time does.
    pub fn value(
        &mut self,
        message: &'static Message,
        reader: Reader<'_>,
        depth: usize,
    ) -> Result<Option<Value>, DecodeError> {
        if message.shape != Shape::Object {
            return self.shaped(message, reader, depth);
        }
        let mut object = Map::new();
        self.fill(message, reader, &mut object, depth)?;
        Ok(Some(Value::Object(object)))
    }

    /// Reads a message's fields into an object.
    pub fn fill(
        &mut self,
        message: &'static Message,
        mut reader: Reader<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let start = At { message: message.name, field: 0, offset: reader.offset };
        if depth > MAX_DEPTH {
            return Err(DecodeError::Depth(start));
        }
        self.spend(OBJECT_COST, start)?;
        while let Some((at, wire)) = reader.field(message.name)? {
            let Some(field) = message.field(at.field) else { continue };
            match field.many {
                Many::One => self.set(field, at, wire, object, depth)?,
                Many::List => self.push(field, at, wire, object, depth)?,
                Many::Map => self.put(field, at, wire, object, depth)?,
            }
        }
        Ok(())
    }

    fn set(
        &mut self,
        field: &Field,
        at: At,
        wire: Wire<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let value = match field.kind {
            Kind::Message(inner) => {
                let bytes = bytes(at, wire)?;
                let Some(inner) = self.table.at(inner) else { return Ok(()) };
                if field.inline {
                    return self.fill(inner, bytes, object, depth + 1);
                }
                if inner.shape == Shape::Object
                    && let Some(Value::Object(earlier)) = object.get_mut(field.name)
                {
                    return self.fill(inner, bytes, earlier, depth + 1);
                }
                self.value(inner, bytes, depth + 1)?
            }
            _ => Some(self.scalar(field.kind, at, wire)?)
                .filter(|value| field.keep || !is_zero(value)),
        };
        match value {
            Some(value) => object.insert(field.name.to_owned(), value),
            None => object.remove(field.name),
        };
        Ok(())
    }

    fn push(
        &mut self,
        field: &Field,
        at: At,
        wire: Wire<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        // A reader must take lists of numbers one by one and packed into one value.
        let numbers = matches!(field.kind, Kind::Bool | Kind::Int32 | Kind::Int64 | Kind::Double);
        let mut packed = match wire {
            Wire::Bytes(packed) if numbers => packed,
            _ => {
                let value = self.element(field, at, wire, depth)?;
                append(object, field.name, value);
                return Ok(());
            }
        };
        while !packed.rest.is_empty() {
            let wire = match field.kind {
                Kind::Double => Wire::Fixed64(packed.fixed64(at)?),
                _ => Wire::Varint(packed.varint(at)?),
            };
            let value = self.scalar(field.kind, at, wire)?;
            append(object, field.name, value);
        }
        Ok(())
    }

    /// One entry of a map: a message with the key as field 1 and the value as field 2.
    fn put(
        &mut self,
        field: &Field,
        at: At,
        wire: Wire<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let mut entry = bytes(at, wire)?;
        let mut key = "";
        let mut value = None;
        while let Some((inner, wire)) = entry.field(at.message)? {
            match inner.field {
                1 => key = bytes(inner, wire)?.text(inner)?,
                2 => value = Some((inner, wire)),
                _ => {}
            }
        }
        let value = match value {
            Some((inner, wire)) => self.element(field, inner, wire, depth + 1)?,
            None => self.element(field, at, zero(field.kind, entry), depth + 1)?,
        };
        self.spend(VALUE_COST + key.len(), at)?;
        if !object.contains_key(field.name) {
            object.insert(field.name.to_owned(), Value::Object(Map::new()));
        }
        if let Some(Value::Object(map)) = object.get_mut(field.name) {
            map.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// A value of a list or a map, which has no way to be left out.
    fn element(
        &mut self,
        field: &Field,
        at: At,
        wire: Wire<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        match field.kind {
            Kind::Message(inner) => {
                let bytes = bytes(at, wire)?;
                let Some(inner) = self.table.at(inner) else { return Ok(Value::Null) };
                Ok(self.value(inner, bytes, depth + 1)?.unwrap_or(Value::Null))
            }
            kind => self.scalar(kind, at, wire),
        }
    }

    fn scalar(&mut self, kind: Kind, at: At, wire: Wire<'_>) -> Result<Value, DecodeError> {
        let length = if let Wire::Bytes(bytes) = wire { bytes.rest.len() } else { 0 };
        self.spend(VALUE_COST + length, at)?;
        Ok(match kind {
            Kind::String => bytes(at, wire)?.text(at)?.into(),
            Kind::Bytes => BASE64.encode(bytes(at, wire)?.rest).into(),
            Kind::Bool => (varint(at, wire)? != 0).into(),
            // Negative numbers are written with all 64 bits; Go takes the lower half as well.
            #[expect(clippy::cast_possible_truncation)]
            Kind::Int32 => (varint(at, wire)?.cast_signed() as i32).into(),
            Kind::Int64 => varint(at, wire)?.cast_signed().into(),
            Kind::Double => double(at, wire)?,
            Kind::Message(_) => return Err(mismatch(at, wire, BYTES)),
        })
    }

    /// Counts memory that is about to be used.
    pub fn spend(&mut self, cost: usize, at: At) -> Result<(), DecodeError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > MAX_COST { Err(DecodeError::Cost(at)) } else { Ok(()) }
    }
}

fn append(object: &mut Map<String, Value>, name: &str, value: Value) {
    // Two lookups at most, instead of an entry: an entry would copy the name for every element.
    if let Some(Value::Array(list)) = object.get_mut(name) {
        list.push(value);
    } else {
        object.insert(name.to_owned(), Value::Array(vec![value]));
    }
}

/// What an entry of a map holds when it has no value.
fn zero(kind: Kind, empty: Reader<'_>) -> Wire<'_> {
    match kind {
        Kind::String | Kind::Bytes | Kind::Message(_) => Wire::Bytes(empty),
        Kind::Bool | Kind::Int32 | Kind::Int64 => Wire::Varint(0),
        Kind::Double => Wire::Fixed64(0),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        _ => false,
    }
}

pub fn bytes(at: At, wire: Wire<'_>) -> Result<Reader<'_>, DecodeError> {
    if let Wire::Bytes(bytes) = wire { Ok(bytes) } else { Err(mismatch(at, wire, BYTES)) }
}

pub fn varint(at: At, wire: Wire<'_>) -> Result<u64, DecodeError> {
    if let Wire::Varint(value) = wire { Ok(value) } else { Err(mismatch(at, wire, VARINT)) }
}

/// A double as Go writes it: without a fraction when it has none.
fn double(at: At, wire: Wire<'_>) -> Result<Value, DecodeError> {
    let Wire::Fixed64(bits) = wire else { return Err(mismatch(at, wire, FIXED64)) };
    let value = f64::from_bits(bits);
    if value.fract() == 0.0 && value.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "no fraction, and far from 64 bits")]
        return Ok((value as i64).into());
    }
    Number::from_f64(value).map(Value::Number).ok_or(DecodeError::NotFinite(at))
}

fn mismatch(at: At, wire: Wire<'_>, wanted: u8) -> DecodeError {
    DecodeError::WireType { at, found: wire.wire_type(), wanted }
}
