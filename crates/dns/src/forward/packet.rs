//! The messages between us and other servers.

use crate::cache::Question;
use crate::wire::{HEADER, flag};

/// A query. Only what concerns the question is taken over from the client's: what it says about itself
/// (its subnet, its cookies) is none of the server's business.
pub fn query(id: u16, question: &[u8], flags: u16, edns: Option<u16>, asked: &Question) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + question.len() + 11);
    message.extend_from_slice(&id.to_be_bytes());
    message.extend_from_slice(&(flags & (flag::RD | flag::CD)).to_be_bytes());
    message.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
    message.extend_from_slice(question);
    if let Some(size) = edns {
        let [high, low] = size.to_be_bytes();
        let dnssec = if asked.dnssec_ok { 0x80 } else { 0 };
        message.extend_from_slice(&[0, 0, 41, high, low, 0, 0, dnssec, 0, 0, 0]);
    }
    message
}

/// Letters in upper or lower case by chance: a bit more for each that somebody would have to guess.
pub fn scramble(question: &mut [u8], chance: &mut dyn FnMut() -> u64) {
    // Type and class at the end are no letters.
    let Some(name) = question.len().checked_sub(4) else { return };
    let (mut bits, mut left) = (0, 0_u32);
    let mut at = 0;
    while let Some(&length) = question.get(at).filter(|length| **length != 0) {
        let end = (at + 1 + usize::from(length)).min(name);
        for byte in &mut question[at + 1..end] {
            if !byte.is_ascii_alphabetic() {
                continue;
            }
            if left == 0 {
                (bits, left) = (chance(), u64::BITS);
            }
            if bits & 1 == 1 {
                *byte ^= 0x20;
            }
            (bits, left) = (bits >> 1, left - 1);
        }
        at = end;
        if at >= name {
            return;
        }
    }
}

/// Whether a message answers a query of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Yes,
    /// It does, but its letters are in another case.
    OtherCase,
    No,
}

/// Compares id and question.
pub fn matches(message: &[u8], id: u16, question: &[u8]) -> Match {
    let header = message.get(..HEADER);
    let right = header.is_some_and(|header| {
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let flags = word(2);
        word(0) == id && flags & flag::QR != 0 && flags & flag::OPCODE == 0 && word(4) == 1
    });
    match message.get(HEADER..HEADER + question.len()) {
        Some(echo) if right && echo == question => Match::Yes,
        Some(echo) if right && echo.eq_ignore_ascii_case(question) => Match::OtherCase,
        _ => Match::No,
    }
}

/// Whether there is more than fitted.
pub fn is_cut(message: &[u8]) -> bool {
    message.get(2).is_some_and(|byte| u16::from(*byte) << 8 & flag::TC != 0)
}
