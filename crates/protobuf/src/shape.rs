//! Messages that are no objects in JSON: times, quantities, raw JSON and unions.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::envelope;
use crate::error::{At, DecodeError};
use crate::object::{Decoder, JSON_COST, bytes};
use crate::table::{Message, Shape};
use crate::wire::Reader;

/// The first second of the year 10000, which four digits cannot write.
const AFTER_LAST_SECOND: i64 = 253_402_300_800;
/// The first second of the year 0.
const FIRST_SECOND: i64 = -62_167_219_200;

impl Decoder {
    pub fn shaped(
        &mut self,
        message: &'static Message,
        reader: Reader<'_>,
        depth: usize,
    ) -> Result<Option<Value>, DecodeError> {
        if message.shape == Shape::Json {
            return self.raw_json(message, reader, depth);
        }
        let at = At { message: message.name, field: 0, offset: reader.offset };
        let empty = reader.rest.is_empty();
        let mut parts = Map::new();
        self.fill(message, reader, &mut parts, depth)?;
        let mut part = |number| message.field(number).and_then(|field| parts.remove(field.name));
        Ok(match message.shape {
            // Go writes a time that is not set as an empty message.
            Shape::Time | Shape::MicroTime if empty => None,
            Shape::Time => Some(time(at, &part(1), &None)?.into()),
            Shape::MicroTime => Some(time(at, &part(1), &Some(part(2)))?.into()),
            Shape::Quantity => Some(part(1).unwrap_or_else(|| "0".into())),
            Shape::IntOrString if part(1).is_some() => Some(part(3).unwrap_or_else(|| "".into())),
            Shape::IntOrString => Some(part(2).unwrap_or_else(|| 0.into())),
            Shape::SchemaOrBool => part(2).or_else(|| Some(part(1).is_some().into())),
            Shape::SchemaOrList | Shape::SchemaOrStrings => part(2).or_else(|| part(1)),
            Shape::List => Some(part(1).unwrap_or_else(|| Value::Array(Vec::new()))),
            Shape::Object | Shape::Json => None,
        })
    }

    /// Raw bytes that are JSON, or an object in an envelope of its own.
    fn raw_json(
        &mut self,
        message: &'static Message,
        mut reader: Reader<'_>,
        depth: usize,
    ) -> Result<Option<Value>, DecodeError> {
        let mut raw = None;
        while let Some((at, wire)) = reader.field(message.name)? {
            if at.field == 1 {
                raw = Some((at, bytes(at, wire)?)).filter(|(_, raw)| !raw.rest.is_empty());
            }
        }
        let Some((at, raw)) = raw else { return Ok(None) };
        if raw.rest.starts_with(envelope::MAGIC) {
            return Ok(Some(envelope::decode(self, raw, depth + 1)?.value));
        }
        self.spend(raw.rest.len().saturating_mul(JSON_COST), at)?;
        let value = serde_json::from_slice(raw.rest);
        value.map(Some).map_err(|source| DecodeError::Json { at, source })
    }
}

/// RFC 3339 in UTC: whole seconds as `Time`, or always six digits of them as `MicroTime`.
fn time(
    at: At,
    seconds: &Option<Value>,
    nanos: &Option<Option<Value>>,
) -> Result<String, DecodeError> {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_i64).unwrap_or_default();
    let micros = nanos.as_ref().map(|nanos| number(nanos) / 1000);
    let seconds = number(seconds);
    if !(FIRST_SECOND..AFTER_LAST_SECOND).contains(&seconds)
        || !(0..1_000_000).contains(&micros.unwrap_or_default())
    {
        return Err(DecodeError::Time(at));
    }
    let time = Timestamp::from_second(seconds).map_err(|_| DecodeError::Time(at))?;
    let whole = time.strftime("%Y-%m-%dT%H:%M:%S");
    Ok(match micros {
        Some(micros) => format!("{whole}.{micros:06}Z"),
        None => format!("{whole}Z"),
    })
}
