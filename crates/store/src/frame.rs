//! One frame of the journal: the records of one commit, with a checksum.
//!
//! ```text
//! crc32 u32 | body length u32 | generation u64 | salt u64 | sequence u64 | body | zeros to the end of the block
//! body: (revision u64 | record length u32 | record)*       all little-endian; the checksum covers what follows it
//! ```
//!
//! A frame begins at a block, so that no later write touches a block in which there is something
//! acknowledged, and so that frames behind a damaged one are found.
//!
//! The salt is drawn anew for each generation and is never shown to a client. Behind the last frame
//! lies what earlier generations left, which is values that clients chose: without the salt one of
//! them could be made to look like a frame. Changing this layout means a new number in
//! [`crate::dir::FORMAT`].

use crate::record::Record;

/// Frames begin at multiples of this. What a disk writes as a whole is not larger.
pub(crate) const BLOCK: usize = 4096;

const HEAD: usize = 4 + 4 + 8 + 8 + 8;
const RECORD_HEAD: usize = 8 + 4;

/// Which frames count: those written since the database was last made durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    /// Never used twice; zero stands for "there was none yet".
    pub number: u64,
    pub salt: u64,
}

/// A frame whose checksum holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub generation: Generation,
    /// Its place among the frames of its generation, from zero.
    pub sequence: u64,
    body: &'a [u8],
}

/// How many bytes the frame of these records takes in the file.
pub(crate) fn framed_len<'a>(records: impl Iterator<Item = (u64, Record<'a>)>) -> usize {
    let body: usize = records.map(|(_, record)| RECORD_HEAD + record.encoded_len()).sum();
    (HEAD + body).next_multiple_of(BLOCK)
}

/// Makes `out` a frame of these records.
pub(crate) fn encode<'a>(
    out: &mut Vec<u8>,
    generation: Generation,
    sequence: u64,
    records: impl Iterator<Item = (u64, Record<'a>)>,
) {
    out.clear();
    out.resize(HEAD, 0);
    for (revision, record) in records {
        out.extend_from_slice(&revision.to_le_bytes());
        out.extend_from_slice(&length(record.encoded_len()).to_le_bytes());
        let at = out.len();
        out.resize(at + record.encoded_len(), 0);
        record.encode(&mut out[at..]);
    }
    let body = length(out.len() - HEAD);
    out[4..8].copy_from_slice(&body.to_le_bytes());
    out[8..16].copy_from_slice(&generation.number.to_le_bytes());
    out[16..24].copy_from_slice(&generation.salt.to_le_bytes());
    out[24..32].copy_from_slice(&sequence.to_le_bytes());
    let checksum = crc32fast::hash(&out[4..]);
    out[..4].copy_from_slice(&checksum.to_le_bytes());
    out.resize(out.len().next_multiple_of(BLOCK), 0);
}

/// A frame is never larger than the journal, which is far below this.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Who a block says it belongs to, whether or not its checksum holds. Cheap to ask.
pub(crate) fn claims(bytes: &[u8]) -> Option<Generation> {
    let (number, rest) = bytes.get(8..)?.split_first_chunk()?;
    let (salt, _) = rest.split_first_chunk()?;
    Some(Generation { number: u64::from_le_bytes(*number), salt: u64::from_le_bytes(*salt) })
}

impl<'a> Frame<'a> {
    /// Reads the frame that `bytes` begins with, if that is one.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (checksum, rest) = bytes.split_first_chunk()?;
        let (body_len, _) = rest.split_first_chunk()?;
        let generation = claims(bytes)?;
        let (sequence, body) = bytes.get(24..)?.split_first_chunk()?;
        let body_len = u32::from_le_bytes(*body_len) as usize;
        let body = body.get(..body_len)?;
        let covered = rest.get(..HEAD - 4 + body_len)?;
        (crc32fast::hash(covered) == u32::from_le_bytes(*checksum)).then_some(Self {
            generation,
            sequence: u64::from_le_bytes(*sequence),
            body,
        })
    }

    /// How many bytes it takes in the file.
    pub(crate) fn len(&self) -> usize {
        (HEAD + self.body.len()).next_multiple_of(BLOCK)
    }

    /// The records as they were encoded, with their revisions; `None` if the body is no list of them.
    pub(crate) fn records(&self) -> Option<Vec<(u64, &'a [u8])>> {
        let mut records = Vec::new();
        let mut rest = self.body;
        while !rest.is_empty() {
            let (revision, after) = rest.split_first_chunk()?;
            let (size, after) = after.split_first_chunk()?;
            let (record, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
            records.push((u64::from_le_bytes(*revision), record));
            rest = after;
        }
        Some(records)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::Body;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            number in 1..u64::MAX,
            salt in any::<u64>(),
            sequence in any::<u64>(),
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..5),
        ) {
            let generation = Generation { number, salt };
            let records = || (7..).zip(&values).map(|(revision, value)| {
                (revision, Record { key: "/k", created: 3, body: Body::Put(value) })
            });
            let mut out = vec![1; 9];
            encode(&mut out, generation, sequence, records());
            prop_assert_eq!(out.len(), framed_len(records()));
            out.extend_from_slice(b"what was there before");
            let frame = Frame::decode(&out).unwrap();
            prop_assert_eq!((frame.generation, frame.sequence), (generation, sequence));
            prop_assert_eq!(frame.len(), framed_len(records()));
            let decoded = frame.records().unwrap();
            let decoded: Vec<_> =
                decoded.iter().map(|(revision, bytes)| (*revision, Record::decode(bytes).unwrap())).collect();
            prop_assert_eq!(decoded, records().collect::<Vec<_>>());
        }

        #[test]
        fn garbage_is_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Frame::decode(&bytes), None);
            // And what a checksum that happens to hold would let through.
            let _ = Frame { generation: Generation::default(), sequence: 0, body: &bytes }.records();
        }
    }

    #[test]
    fn an_empty_block_is_no_frame() {
        assert_eq!(Frame::decode(&[0; BLOCK]), None);
    }
}
