//! A query, read without copying more than its name.

use super::{HEADER, Key, flag, rtype};

/// Why bytes are no query that is worth an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// There is no header to answer to.
    #[error("is shorter than a header")]
    Short,
    /// Answering responses would make two servers talk forever.
    #[error("is a response")]
    Response,
    /// The header can be answered with FORMERR.
    #[error("does not hold what its header counts")]
    Form,
}

/// What a client says in OPT (RFC 6891).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edns {
    /// The largest datagram it takes.
    pub udp_size: u16,
    pub version: u8,
    /// It wants signatures.
    pub dnssec_ok: bool,
}

/// One question, as a client asks it.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// All of it.
    pub message: &'a [u8],
    pub id: u16,
    /// The second word of the header ([`flag`]).
    pub flags: u16,
    /// The name, in lower case.
    pub name: Key,
    pub qtype: u16,
    pub qclass: u16,
    /// Where the question ends: it begins after the header.
    pub question_end: usize,
    pub edns: Option<Edns>,
}

impl<'a> Query<'a> {
    /// Reads a message that asks exactly one question.
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let word = |at: usize| -> Option<u16> {
            Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]))
        };
        if message.len() < HEADER {
            return Err(Malformed::Short);
        }
        let header = |at| word(at).ok_or(Malformed::Short);
        let (id, flags) = (header(0)?, header(2)?);
        if flags & flag::QR != 0 {
            return Err(Malformed::Response);
        }
        let counts = [header(4)?, header(6)?, header(8)?, header(10)?];
        if counts[0] != 1 {
            return Err(Malformed::Form);
        }
        let (name, end) = Key::read(message, HEADER).ok_or(Malformed::Form)?;
        let qtype = word(end).ok_or(Malformed::Form)?;
        let qclass = word(end + 2).ok_or(Malformed::Form)?;
        let question_end = end + 4;
        let records = counts[1..].iter().map(|count| u32::from(*count)).sum();
        let edns = opt(message, question_end, records).ok_or(Malformed::Form)?;
        Ok(Self { message, id, flags, name, qtype, qclass, question_end, edns })
    }

    pub fn opcode(&self) -> u16 {
        (self.flags & flag::OPCODE) >> 11
    }

    pub fn recursion_desired(&self) -> bool {
        self.flags & flag::RD != 0
    }

    /// The question as it came, which is how it goes back.
    pub fn question(&self) -> &'a [u8] {
        self.message.get(HEADER..self.question_end).unwrap_or_default()
    }
}

/// Walks over `records` records and returns what OPT says; `None` when they are not all there.
#[allow(clippy::option_option)] // not well-formed, or well-formed without OPT
fn opt(message: &[u8], mut at: usize, records: u32) -> Option<Option<Edns>> {
    let mut edns = None;
    for _ in 0..records {
        let start = at;
        at = skip_name(message, at)?;
        let fixed = message.get(at..at + 10)?;
        let length = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        at += 10 + length;
        if at > message.len() {
            return None;
        }
        if u16::from_be_bytes([fixed[0], fixed[1]]) == rtype::OPT {
            // Its name is the root, and there is one at most.
            if message.get(start) != Some(&0) || edns.is_some() {
                return None;
            }
            edns = Some(Edns {
                udp_size: u16::from_be_bytes([fixed[2], fixed[3]]),
                version: fixed[5],
                dnssec_ok: fixed[6] & 0x80 != 0,
            });
        }
    }
    Some(edns)
}

/// Where the name at `at` ends, by a pointer or by the root.
pub(crate) fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..=63 => at += usize::from(length) + 1,
            0xc0..=0xff => return (at + 2 <= message.len()).then_some(at + 2),
            _ => return None,
        }
    }
}
