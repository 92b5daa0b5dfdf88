//! Protobuf's wire format: tags, varints, lengths.
//!
//! A [`Reader`] walks over one message's bytes and remembers where they stand in the whole body, so
//! that every error can say at which byte it is.

use crate::error::{At, DecodeError};

pub const VARINT: u8 = 0;
pub const FIXED64: u8 = 1;
pub const BYTES: u8 = 2;
const FIXED32: u8 = 5;
/// Field numbers have 29 bits.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// A value as it stands on the wire.
#[derive(Debug, Clone, Copy)]
pub enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(Reader<'a>),
    Fixed32,
}

impl Wire<'_> {
    pub fn wire_type(&self) -> u8 {
        match self {
            Wire::Varint(_) => VARINT,
            Wire::Fixed64(_) => FIXED64,
            Wire::Bytes(_) => BYTES,
            Wire::Fixed32 => FIXED32,
        }
    }
}

/// Bytes that are still to be read, and the place of the first of them in the body.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub rest: &'a [u8],
    pub offset: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    /// The next field of `message`: its place and its value; `None` at the end.
    pub fn field(&mut self, message: &'static str) -> Result<Option<(At, Wire<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut at = At { message, field: 0, offset: self.offset };
        let tag = self.varint(at)?;
        let number = tag >> 3;
        if number == 0 || number > MAX_FIELD {
            return Err(DecodeError::Tag { at, tag });
        }
        at.field = u32::try_from(number).map_err(|_| DecodeError::Tag { at, tag })?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint(at)?),
            1 => Wire::Fixed64(self.fixed64(at)?),
            2 => {
                let length = self.varint(at)?;
                let length = usize::try_from(length).map_err(|_| DecodeError::Truncated(at))?;
                Wire::Bytes(self.take(length, at)?)
            }
            5 => {
                self.take(4, at)?;
                Wire::Fixed32
            }
            // 3 and 4 are groups, which Kubernetes never had.
            _ => return Err(DecodeError::Tag { at, tag }),
        };
        Ok(Some((at, value)))
    }

    pub fn varint(&mut self, at: At) -> Result<u64, DecodeError> {
        let mut value = 0;
        for (place, byte) in self.rest.iter().copied().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                return Err(DecodeError::Varint(at));
            }
            value |= bits << (7 * place);
            if byte < 0x80 {
                self.take(place + 1, at)?;
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { DecodeError::Truncated(at) } else { DecodeError::Varint(at) })
    }

    pub fn fixed64(&mut self, at: At) -> Result<u64, DecodeError> {
        let bytes = self.take(8, at)?.rest;
        let bytes = bytes.try_into().map_err(|_| DecodeError::Truncated(at))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn take(&mut self, length: usize, at: At) -> Result<Reader<'a>, DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Truncated(at))?;
        let taken = Reader { rest: taken, offset: self.offset };
        *self = Reader { rest, offset: self.offset + length };
        Ok(taken)
    }

    /// The bytes as text.
    pub fn text(self, at: At) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.rest).map_err(|_| DecodeError::Utf8(at))
    }
}
