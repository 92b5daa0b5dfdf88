//! What a journal holds that the database does not: its frames of one generation, from the start,
//! without a gap.
//!
//! Each frame was synced before the next was written. So the first that cannot be read is where a
//! crash cut the last commit short, which is normal, unless one of the same generation comes after
//! it: then it was acknowledged, and is damaged.

use crate::frame::{BLOCK, Frame, Generation, claims};

/// Acknowledged writes that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Where in the file.
    pub offset: usize,
    pub cause: String,
}

/// The records of `generation` in `bytes`, with their revisions, in order.
pub(crate) fn replay(bytes: &[u8], generation: Generation) -> Result<Vec<(u64, &[u8])>, Damage> {
    if let Some(first) = Frame::decode(bytes)
        && first.generation.number > generation.number
    {
        let cause = format!(
            "it is of generation {}, the state file beside it of {}: they do not belong together",
            first.generation.number, generation.number
        );
        return Err(Damage { offset: 0, cause });
    }
    let mut records = Vec::new();
    let (mut at, mut sequence, mut last) = (0, 0, 0);
    while let Some(frame) = bytes.get(at..).and_then(Frame::decode)
        && frame.generation == generation
        && frame.sequence == sequence
    {
        let damage = |cause: &str| Damage { offset: at, cause: cause.to_owned() };
        for (revision, record) in
            frame.records().ok_or_else(|| damage("the frame here is no list of records"))?
        {
            if revision <= last {
                return Err(damage("the revisions here are not in order"));
            }
            last = revision;
            records.push((revision, record));
        }
        at += frame.len();
        sequence += 1;
    }
    match later(bytes, at, generation, sequence) {
        None => Ok(records),
        Some(found) => {
            let cause = format!(
                "there is no readable frame here, but a later one of the same generation at byte {found}"
            );
            Err(Damage { offset: at, cause })
        }
    }
}

/// A frame that was written after that which should be at `end`.
fn later(bytes: &[u8], end: usize, generation: Generation, sequence: u64) -> Option<usize> {
    (end..bytes.len()).step_by(BLOCK).find(|at| {
        let block = &bytes[*at..];
        claims(block) == Some(generation)
            && Frame::decode(block).is_some_and(|frame| frame.sequence >= sequence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::encode;
    use crate::record::{Body, Record};

    const NOW: Generation = Generation { number: 5, salt: 77 };

    fn frame(generation: Generation, sequence: u64, revision: u64, size: usize) -> Vec<u8> {
        let value = vec![b'v'; size];
        let record = Record { key: "/k", created: revision, body: Body::Put(&value) };
        let mut out = Vec::new();
        encode(&mut out, generation, sequence, [(revision, record)].into_iter());
        out
    }

    fn revisions(bytes: &[u8]) -> Result<Vec<u64>, Damage> {
        Ok(replay(bytes, NOW)?.iter().map(|(revision, _)| *revision).collect())
    }

    /// Three frames, of one, two and one blocks, before zeros.
    fn three() -> Vec<u8> {
        let mut bytes = frame(NOW, 0, 11, 100);
        bytes.extend(frame(NOW, 1, 12, 5000));
        bytes.extend(frame(NOW, 2, 13, 100));
        bytes.extend([0; BLOCK]);
        bytes
    }

    #[test]
    fn frames_are_read_up_to_the_end() {
        assert_eq!(revisions(&three()), Ok(vec![11, 12, 13]));
        assert_eq!(revisions(&[]), Ok(vec![]));
        assert_eq!(revisions(&[0; 3 * BLOCK]), Ok(vec![]));
    }

    #[test]
    fn wherever_the_file_is_cut_the_frames_before_are_read() {
        let bytes = three();
        // A file can be cut by a crash only where it has not been filled yet, but also by hand.
        for cut in 0..bytes.len() {
            let read = replay(&bytes[..cut], NOW).unwrap();
            assert_eq!(read, replay(&bytes, NOW).unwrap()[..read.len()], "cut at {cut}");
            assert_eq!(read.is_empty(), cut < 32 + 12 + 13 + 2 + 100, "cut at {cut}");
        }
    }

    #[test]
    fn a_flipped_bit_in_the_last_frame_ends_the_journal_before_it() {
        let bytes = three();
        let last = 3 * BLOCK;
        for at in last..last + 32 + 12 + 13 + 2 + 100 {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                // A generation that became a later one is no different: only the first frame's counts.
                assert_eq!(revisions(&bytes), Ok(vec![11, 12]), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_before_a_readable_frame_is_damage_at_that_frame() {
        let bytes = three();
        for (start, size) in [(0, 100), (BLOCK, 5000)] {
            for at in start..start + 32 + 12 + 13 + 2 + size {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << (at % 8);
                let damage = revisions(&bytes).unwrap_err();
                assert_eq!(damage.offset, start, "byte {at}: {damage:?}");
                assert!(damage.cause.contains("at byte"), "{damage:?}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_in_the_padding_changes_nothing() {
        let mut bytes = three();
        bytes[BLOCK - 1] ^= 1;
        assert_eq!(revisions(&bytes), Ok(vec![11, 12, 13]));
    }

    #[test]
    fn frames_of_earlier_generations_are_never_taken_for_new_ones() {
        let before = Generation { number: 4, ..NOW };
        let mut bytes = frame(NOW, 0, 11, 100);
        bytes.extend(frame(before, 1, 9, 100));
        bytes.extend(frame(before, 2, 10, 100));
        assert_eq!(revisions(&bytes), Ok(vec![11]));
        assert_eq!(revisions(&bytes[BLOCK..]), Ok(vec![]));
        // Who does not know the salt cannot make a frame, wherever it comes to lie.
        let forged = Generation { salt: 78, ..NOW };
        let mut bytes = frame(NOW, 0, 11, 100);
        bytes.extend(frame(forged, 1, 12, 100));
        assert_eq!(revisions(&bytes), Ok(vec![11]));
    }

    #[test]
    fn a_journal_of_a_later_generation_than_the_database_is_damage() {
        let later = Generation { number: 6, salt: 1 };
        let damage = revisions(&frame(later, 0, 20, 10)).unwrap_err();
        assert!(damage.offset == 0 && damage.cause.contains("belong together"), "{damage:?}");
    }

    #[test]
    fn frames_out_of_order_are_damage_not_history() {
        let mut bytes = frame(NOW, 0, 11, 100);
        bytes.extend(frame(NOW, 1, 11, 100));
        assert_eq!(revisions(&bytes).unwrap_err().offset, BLOCK);
        // A gap in the sequence: the frame between was acknowledged.
        let mut bytes = frame(NOW, 0, 11, 100);
        bytes.extend(frame(NOW, 2, 13, 100));
        assert_eq!(revisions(&bytes).unwrap_err().offset, BLOCK);
    }
}
