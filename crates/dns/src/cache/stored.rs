//! An answer of another server: read once, checked, and written to any number of clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::settings::Settings;
use crate::wire::{HEADER, Query, UDP_WITHOUT_EDNS, flag, rcode, rtype, skip_name};

/// Why a reply is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    #[error("is shorter than a header, or no reply")]
    NoReply,
    #[error("does not hold what its header counts")]
    Form,
}

/// One record's place in the message.
#[derive(Debug, Clone, Copy)]
struct Record {
    kind: u16,
    /// Where the TTL is.
    ttl_at: usize,
    /// Where the data begins and ends.
    data: (usize, usize),
    section: u8,
}

/// An answer without its OPT record, and where its TTLs are.
#[derive(Debug, Clone)]
pub struct Stored {
    message: Box<[u8]>,
    question_end: usize,
    rcode: u8,
    records: Box<[Record]>,
    /// When it came.
    born: Duration,
    /// When it is out of date; the same as `born` when it must not be kept.
    expires: Duration,
}

impl Stored {
    /// Reads a reply whose question ends at `question_end`; that it is the right question was seen
    /// before.
    pub fn read(reply: &[u8], question_end: usize, now: Duration) -> Result<Self, BadReply> {
        let word = |at: usize| -> Option<u16> {
            Some(u16::from_be_bytes([*reply.get(at)?, *reply.get(at + 1)?]))
        };
        let flags = word(2).ok_or(BadReply::NoReply)?;
        if flags & flag::QR == 0 || reply.len() < question_end {
            return Err(BadReply::NoReply);
        }
        let mut records = Vec::new();
        let mut counts = [0_u16; 3];
        let mut at = question_end;
        let mut kept_to = at;
        let mut opt_seen = false;
        for (section, count) in [(0_u8, word(6)), (1, word(8)), (2, word(10))] {
            for _ in 0..count.ok_or(BadReply::Form)? {
                let fixed_at = skip_name(reply, at).ok_or(BadReply::Form)?;
                let kind = word(fixed_at).ok_or(BadReply::Form)?;
                let length = usize::from(word(fixed_at + 8).ok_or(BadReply::Form)?);
                let data = (fixed_at + 10, fixed_at + 10 + length);
                if data.1 > reply.len() {
                    return Err(BadReply::Form);
                }
                at = data.1;
                if kind == rtype::OPT {
                    // EDNS is between neighbours. What stands behind OPT goes, too: its names
                    // might point to places that move.
                    opt_seen = true;
                }
                if !opt_seen {
                    records.push(Record { kind, ttl_at: fixed_at + 4, data, section });
                    counts[usize::from(section)] += 1;
                    kept_to = at;
                }
            }
        }
        let mut message: Box<[u8]> = reply[..kept_to].into();
        for (at, count) in [6, 8, 10].into_iter().zip(counts) {
            message[at..at + 2].copy_from_slice(&count.to_be_bytes());
        }
        Ok(Self {
            message,
            question_end,
            rcode: u8::try_from(flags & 0x0f).unwrap_or_default(),
            records: records.into(),
            born: now,
            expires: now,
        })
    }

    /// An answer without records.
    pub fn bare(question: &[u8], rcode: u8, now: Duration) -> Self {
        let mut message = vec![0; HEADER];
        message[5] = 1;
        message.extend_from_slice(question);
        let question_end = message.len();
        let message = message.into();
        Self { message, question_end, rcode, records: [].into(), born: now, expires: now }
    }

    /// The same answer without its records.
    #[must_use]
    pub fn emptied(&self, rcode: u8) -> Self {
        let question = self.message.get(HEADER..self.question_end).unwrap_or_default();
        Self::bare(question, rcode, self.born)
    }

    pub fn rcode(&self) -> u8 {
        self.rcode
    }

    pub fn is_nxdomain(&self) -> bool {
        self.rcode == rcode::NXDOMAIN
    }

    pub fn len(&self) -> usize {
        self.message.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn expired(&self, now: Duration) -> bool {
        now >= self.expires
    }

    /// How many records stand in the answer section.
    pub fn answers(&self) -> usize {
        self.of_section(0).count()
    }

    /// The addresses in the answer section.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.of_section(0).filter_map(|record| {
            let data = self.message.get(record.data.0..record.data.1)?;
            match record.kind {
                rtype::A => <[u8; 4]>::try_from(data).ok().map(|four| Ipv4Addr::from(four).into()),
                rtype::AAAA => {
                    <[u8; 16]>::try_from(data).ok().map(|six| Ipv6Addr::from(six).into())
                }
                _ => None,
            }
        })
    }

    /// The types of the records in the answer section.
    pub fn kinds(&self) -> impl Iterator<Item = u16> + '_ {
        self.of_section(0).map(|record| record.kind)
    }

    fn of_section(&self, section: u8) -> impl Iterator<Item = &Record> + '_ {
        self.records.iter().filter(move |record| record.section == section)
    }

    fn word4(&self, at: usize) -> u32 {
        let bytes = self.message.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
        u32::from_be_bytes(bytes.unwrap_or_default())
    }

    /// A TTL as sent; values with the highest bit mean 0 (RFC 2181, section 8).
    fn ttl(&self, record: &Record) -> u32 {
        let ttl = self.word4(record.ttl_at);
        if ttl > i32::MAX.unsigned_abs() { 0 } else { ttl }
    }

    /// For how long this may be kept, by what it says and by the settings; `None` if not at all.
    fn lifetime(&self, settings: &Settings) -> Option<u32> {
        let negative = match self.rcode {
            rcode::NXDOMAIN => true,
            rcode::NOERROR => self.of_section(0).next().is_none(),
            _ => return None,
        };
        let ttl = if negative {
            if settings.no_negcache {
                return None;
            }
            // RFC 2308, section 5: the lesser of the SOA's own TTL and its last field.
            let soa = self.of_section(1).find(|record| record.kind == rtype::SOA);
            match soa {
                Some(record) => {
                    let minimum = record.data.1.checked_sub(4).map_or(0, |at| self.word4(at));
                    self.ttl(record).min(minimum)
                }
                None if settings.neg_ttl > 0 => settings.neg_ttl,
                None => return None,
            }
        } else {
            self.of_section(0).map(|record| self.ttl(record)).min()?
        };
        let ttl = match settings.max_cache_ttl {
            0 => ttl,
            most => ttl.min(most),
        };
        Some(ttl.max(settings.min_cache_ttl)).filter(|ttl| *ttl > 0)
    }

    /// This answer as it is kept: with its TTLs within the bounds of the settings, and an end.
    #[must_use]
    pub fn kept(&self, settings: &Settings) -> Option<Self> {
        let lifetime = self.lifetime(settings)?;
        let mut kept = self.clone();
        for record in &self.records {
            let ttl = self.ttl(record).max(settings.min_cache_ttl);
            let ttl =
                if settings.max_cache_ttl == 0 { ttl } else { ttl.min(settings.max_cache_ttl) };
            if let Some(to) = kept.message.get_mut(record.ttl_at..record.ttl_at + 4) {
                to.copy_from_slice(&ttl.to_be_bytes());
            }
        }
        kept.expires = self.born + Duration::from_secs(lifetime.into());
        Some(kept)
    }

    /// Writes it as the reply to a query: with its id and its question as it was written, TTLs less
    /// the time that went by, cut if the client takes no more. `exists` turns "no such name" into an
    /// empty answer. Returns the length; 0 if not even the question fits.
    pub fn write(
        &self,
        query: &Query<'_>,
        now: Duration,
        form: Form,
        exists: bool,
        out: &mut [u8],
    ) -> usize {
        let room = form.limit(query).min(out.len());
        let opt = query.edns.is_some().then_some(()).map_or(0, |()| OPT);
        let question = query.question();
        let whole =
            self.message.len() + opt <= room && HEADER + question.len() == self.question_end;
        let length = if whole { self.message.len() } else { HEADER + question.len() };
        if length + opt > room {
            return 0;
        }
        if whole {
            out[..length].copy_from_slice(&self.message);
            let gone = u32::try_from(now.saturating_sub(self.born).as_secs()).unwrap_or(u32::MAX);
            for record in &self.records {
                let ttl = self.ttl(record).saturating_sub(gone);
                let ttl = if form.max_ttl == 0 { ttl } else { ttl.min(form.max_ttl) };
                if let Some(to) = out.get_mut(record.ttl_at..record.ttl_at + 4) {
                    to.copy_from_slice(&ttl.to_be_bytes());
                }
            }
        } else {
            out[4..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        }
        out[HEADER..HEADER + question.len()].copy_from_slice(question);
        let code = if exists && self.is_nxdomain() { rcode::NOERROR } else { self.rcode };
        let mut flags =
            flag::QR | flag::RA | (query.flags & (flag::RD | flag::CD)) | u16::from(code);
        if !whole {
            flags |= flag::TC;
        }
        out[..2].copy_from_slice(&query.id.to_be_bytes());
        out[2..4].copy_from_slice(&flags.to_be_bytes());
        let Some(edns) = query.edns else { return length };
        let [high, low] = form.udp_size.to_be_bytes();
        let dnssec = if edns.dnssec_ok { 0x80 } else { 0 };
        out[length..length + OPT].copy_from_slice(&[0, 0, 41, high, low, 0, 0, dnssec, 0, 0, 0]);
        let additional = u16::from_be_bytes([out[10], out[11]]).saturating_add(1);
        out[10..12].copy_from_slice(&additional.to_be_bytes());
        length + OPT
    }
}

/// An OPT record without options.
const OPT: usize = 11;

/// What every reply of this server has in common.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub max_ttl: u32,
    /// The largest datagram we send and take.
    pub udp_size: u16,
    pub by_udp: bool,
}

impl Form {
    pub fn new(settings: &Settings, by_udp: bool) -> Self {
        Self { max_ttl: settings.max_ttl, udp_size: settings.edns_packet_max, by_udp }
    }

    /// How much this client takes.
    fn limit(self, query: &Query<'_>) -> usize {
        if !self.by_udp {
            return usize::from(u16::MAX);
        }
        let asked = query.edns.map_or(UDP_WITHOUT_EDNS, |edns| usize::from(edns.udp_size));
        asked.clamp(UDP_WITHOUT_EDNS, usize::from(self.udp_size).max(UDP_WITHOUT_EDNS))
    }
}
