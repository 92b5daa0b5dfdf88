//! Writes a reply into a buffer that is there already. A record that does not fit leaves no trace.

use super::name::LONGEST;
use super::{Edns, HEADER, Query, flag};

/// Where a record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    Answer,
    Authority,
    Additional,
}

/// Names that later names may point to.
const REMEMBERED: usize = 24;

/// A reply in the making.
pub struct Writer<'o> {
    out: &'o mut [u8],
    /// How much of `out` the client takes, less what OPT needs.
    limit: usize,
    length: usize,
    counts: [u16; 3],
    flags: u16,
    /// Where names start that were written in full.
    names: [u16; REMEMBERED],
    named: usize,
    truncated: bool,
}

/// Length of an OPT record without options.
const OPT: usize = 11;

impl<'o> Writer<'o> {
    /// Begins the reply to `query`: header and question. `limit` is what the client takes. `None`
    /// when not even the question fits.
    pub fn reply(query: &Query<'_>, out: &'o mut [u8], limit: usize) -> Option<Self> {
        let reserved = if query.edns.is_some() { OPT } else { 0 };
        let limit = limit.min(out.len()).checked_sub(reserved)?;
        let question = query.question();
        let length = HEADER + question.len();
        if length > limit {
            return None;
        }
        out[..2].copy_from_slice(&query.id.to_be_bytes());
        out[4..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        out[HEADER..length].copy_from_slice(question);
        let flags = flag::QR | (query.flags & (flag::OPCODE | flag::RD | flag::CD));
        let mut names = [0; REMEMBERED];
        names[0] = 12;
        Some(Self { out, limit, length, counts: [0; 3], flags, names, named: 1, truncated: false })
    }

    /// Sets flags of the header ([`flag`]).
    pub fn set(&mut self, flags: u16) {
        self.flags |= flags;
    }

    /// How many records a section has.
    pub fn count(&self, section: Section) -> u16 {
        self.counts[section as usize]
    }

    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Writes one record: its owner, and its data by `data`. Says whether it fitted.
    pub fn record(
        &mut self,
        section: Section,
        owner: &[u8],
        rtype: u16,
        class: u16,
        ttl: u32,
        data: impl FnOnce(&mut Data<'_, 'o>) -> Option<()>,
    ) -> bool {
        // After the first record that did not fit, none is tried: an answer with holes is worse.
        if self.truncated {
            return false;
        }
        let (length, named) = (self.length, self.named);
        if self.try_record(owner, rtype, class, ttl, data).is_some() {
            self.counts[section as usize] += 1;
            return true;
        }
        (self.length, self.named) = (length, named);
        // What is missing from the additional section can be asked for.
        self.truncated = section != Section::Additional;
        false
    }

    fn try_record(
        &mut self,
        owner: &[u8],
        rtype: u16,
        class: u16,
        ttl: u32,
        data: impl FnOnce(&mut Data<'_, 'o>) -> Option<()>,
    ) -> Option<()> {
        self.name(owner)?;
        self.bytes(&rtype.to_be_bytes())?;
        self.bytes(&class.to_be_bytes())?;
        self.bytes(&ttl.to_be_bytes())?;
        let at = self.length;
        self.bytes(&[0, 0])?;
        data(&mut Data { writer: self })?;
        let length = u16::try_from(self.length - at - 2).ok()?;
        self.out.get_mut(at..at + 2)?.copy_from_slice(&length.to_be_bytes());
        Some(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        if end > self.limit {
            return None;
        }
        self.out.get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// A name, by a pointer where it or its end stands already.
    fn name(&mut self, name: &[u8]) -> Option<()> {
        let mut rest = name;
        while rest.first().is_some_and(|length| *length != 0) {
            if let Some(at) = self.find(rest) {
                return self.bytes(&(0xc000 | at).to_be_bytes());
            }
            if let Ok(at) = u16::try_from(self.length)
                && at < 0x4000
                && self.named < REMEMBERED
            {
                self.names[self.named] = at;
                self.named += 1;
            }
            let label = usize::from(rest[0]) + 1;
            self.bytes(rest.get(..label)?)?;
            rest = rest.get(label..)?;
        }
        self.bytes(&[0])
    }

    fn find(&self, name: &[u8]) -> Option<u16> {
        self.names[..self.named]
            .iter()
            .copied()
            .find(|at| same(&self.out[..self.length], usize::from(*at), name))
    }

    /// Ends the reply and says how long it is.
    pub fn finish(mut self, rcode: u16, edns: Option<(Edns, u16)>) -> usize {
        if self.truncated {
            self.flags |= flag::TC;
        }
        let flags = self.flags | (rcode & 0x0f);
        self.out[2..4].copy_from_slice(&flags.to_be_bytes());
        if let Some((edns, size)) = edns {
            let [high, low] = size.to_be_bytes();
            let extended = u8::try_from(rcode >> 4).unwrap_or(0);
            let dnssec = if edns.dnssec_ok { 0x80 } else { 0 };
            // Room for it was kept by `reply`.
            self.limit += OPT;
            if self.bytes(&[0, 0, 41, high, low, extended, 0, dnssec, 0, 0, 0]).is_some() {
                self.counts[Section::Additional as usize] += 1;
            }
        }
        for (at, count) in [6, 8, 10].into_iter().zip(self.counts) {
            self.out[at..at + 2].copy_from_slice(&count.to_be_bytes());
        }
        self.length
    }
}

/// The data of a record in the making.
pub struct Data<'w, 'o> {
    writer: &'w mut Writer<'o>,
}

impl Data<'_, '_> {
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.writer.bytes(bytes)
    }

    pub fn word(&mut self, word: u16) -> Option<()> {
        self.writer.bytes(&word.to_be_bytes())
    }

    /// A name that may be a pointer: only in types of RFC 1035.
    pub fn name(&mut self, name: &[u8]) -> Option<()> {
        self.writer.name(name)
    }

    /// A name in full (RFC 3597 wants that of newer types).
    pub fn full_name(&mut self, name: &[u8]) -> Option<()> {
        self.writer.bytes(name)
    }
}

/// Whether the name at `at` of a message is `name`.
fn same(message: &[u8], mut at: usize, mut name: &[u8]) -> bool {
    // Each turn takes a label or follows a pointer that goes back: it ends.
    for _ in 0..LONGEST {
        match message.get(at) {
            Some(&high) if high >= 0xc0 => {
                let Some(&low) = message.get(at + 1) else { return false };
                let to = usize::from(u16::from_be_bytes([high & 0x3f, low]));
                if to >= at {
                    return false;
                }
                at = to;
            }
            Some(0) => return name == [0],
            Some(&length) => {
                let label = usize::from(length) + 1;
                let (Some(here), Some(there)) = (message.get(at..at + label), name.get(..label))
                else {
                    return false;
                };
                // Compared with case: a pointer must not change how a name is written.
                if here != there {
                    return false;
                }
                at += label;
                name = &name[label..];
            }
            None => return false,
        }
    }
    false
}
