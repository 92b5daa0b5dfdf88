//! Messages that are no objects in JSON: times, quantities, raw JSON and unions.

use jiff::{SignedDuration, civil};
use serde_json::{Map, Value};

use crate::envelope;
use crate::error::{At, DecodeError};
use crate::object::{Decoder, JSON_COST, bytes};
use crate::table::{Message, Shape};
use crate::wire::Reader;

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
            Shape::Time => Some(time(at, number(part(1)), None)?.into()),
            Shape::MicroTime => Some(time(at, number(part(1)), Some(number(part(2))))?.into()),
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
fn time(at: At, seconds: i64, nanos: Option<i64>) -> Result<String, DecodeError> {
    let micros = nanos.map(|nanos| nanos.div_euclid(1000));
    if !(0..1_000_000).contains(&micros.unwrap_or_default()) {
        return Err(DecodeError::Time(at));
    }
    // A civil time and not a timestamp: jiff's timestamps end a day before the year 9999 does.
    let whole = civil::date(1970, 1, 1)
        .at(0, 0, 0, 0)
        .checked_add(SignedDuration::from_secs(seconds))
        .ok()
        .filter(|time| time.year() >= 0)
        .ok_or(DecodeError::Time(at))?
        .strftime("%Y-%m-%dT%H:%M:%S");
    Ok(match micros {
        Some(micros) => format!("{whole}.{micros:06}Z"),
        None => format!("{whole}Z"),
    })
}

fn number(part: Option<Value>) -> i64 {
    part.and_then(|part| part.as_i64()).unwrap_or_default()
}
