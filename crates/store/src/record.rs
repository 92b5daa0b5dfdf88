//! How one change is written into the log.
//!
//! ```text
//! kind u8 | created u64 LE | key length u32 LE | key | value (the rest)
//! ```
//!
//! The revision is the key of the table. Changing this layout means a new number in
//! [`crate::dir::FORMAT`].

const PUT: u8 = 1;
/// A deletion that carries a last state of its own.
const DELETE: u8 = 2;
/// A deletion whose last state is the record before it.
const DELETE_BARE: u8 = 3;

const HEAD: usize = 1 + 8 + 4;

/// One change, borrowed from whoever has the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub key: &'a str,
    pub created: u64,
    pub body: Body<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Put(&'a [u8]),
    Delete(Option<&'a [u8]>),
}

impl<'a> Record<'a> {
    pub(crate) fn encoded_len(&self) -> usize {
        HEAD + self.key.len() + self.value().len()
    }

    fn value(&self) -> &'a [u8] {
        match self.body {
            Body::Put(value) | Body::Delete(Some(value)) => value,
            Body::Delete(None) => &[],
        }
    }

    /// Writes the record into `out`, which has [`encoded_len`](Self::encoded_len) bytes: redb
    /// hands out the page itself, so the value is copied once.
    pub(crate) fn encode(&self, out: &mut [u8]) {
        let kind = match self.body {
            Body::Put(_) => PUT,
            Body::Delete(Some(_)) => DELETE,
            Body::Delete(None) => DELETE_BARE,
        };
        // Keys are bounded far below this by `Store::write`.
        let key_len = u32::try_from(self.key.len()).unwrap_or(u32::MAX);
        let (head, rest) = out.split_at_mut(HEAD);
        head[0] = kind;
        head[1..9].copy_from_slice(&self.created.to_le_bytes());
        head[9..].copy_from_slice(&key_len.to_le_bytes());
        let (key, value) = rest.split_at_mut(self.key.len());
        key.copy_from_slice(self.key.as_bytes());
        value.copy_from_slice(self.value());
    }

    /// Reads a record, or says what is wrong with it.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let (&kind, rest) = bytes.split_first().ok_or("it is empty")?;
        let (created, rest) = rest.split_first_chunk().ok_or("it ends within its head")?;
        let (key_len, rest) = rest.split_first_chunk().ok_or("it ends within its head")?;
        let key_len = u32::from_le_bytes(*key_len) as usize;
        let (key, value) = rest.split_at_checked(key_len).ok_or("it ends within its key")?;
        let key = std::str::from_utf8(key).map_err(|_| "its key is not UTF-8")?;
        let body = match kind {
            PUT => Body::Put(value),
            DELETE => Body::Delete(Some(value)),
            DELETE_BARE => Body::Delete(None),
            _ => return Err("its kind is unknown"),
        };
        Ok(Self { key, created: u64::from_le_bytes(*created), body })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            key in ".{1,40}",
            created in any::<u64>(),
            value in prop::collection::vec(any::<u8>(), 0..60),
            kind in 0..3,
        ) {
            let body = match kind {
                0 => Body::Put(&value),
                1 => Body::Delete(Some(&value)),
                _ => Body::Delete(None),
            };
            let record = Record { key: &key, created, body };
            let mut out = vec![0; record.encoded_len()];
            record.encode(&mut out);
            prop_assert_eq!(Record::decode(&out), Ok(record));
            // No cut of it can be taken for a record with another key, and none panics.
            for cut in 0..HEAD + key.len() {
                prop_assert!(Record::decode(&out[..cut]).is_err());
            }
        }

        #[test]
        fn garbage_is_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Record::decode(&bytes);
        }
    }
}
