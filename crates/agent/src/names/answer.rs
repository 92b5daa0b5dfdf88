//! From a query to a reply, out of the [zone](super::zone).

use landbridge_dns::Transport;
use landbridge_dns::wire::{
    Malformed, Name, Query, Section, UDP_WITHOUT_EDNS, Writer, class, flag, rcode, rtype,
};
use std::net::IpAddr;

use super::reverse;
use super::zone::{Found, Record, Zone};

/// How long clients may remember, in seconds: a pod that is gone is not asked for long.
pub const TTL: u32 = 5;
/// The largest datagram that goes through everywhere.
const UDP_SIZE: u16 = 1232;
/// Names that are other names of other names end here.
const LONGEST_CHAIN: usize = 8;

/// What is to be done with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply stands in the buffer, this long.
    Reply(usize),
    /// The name is not the cluster's: who is configured for it is asked, in place of the reply that
    /// stands in the buffer for when nobody is.
    Outside(usize),
    /// The name is another one for a name outside. The reply in the buffer says so; who is asked for
    /// that other name may complete it.
    Alias(usize, Name),
    /// Any answer would cost more than it is worth.
    Drop,
}

/// Answers a query.
pub fn answer(zone: &Zone, query: &[u8], transport: Transport, out: &mut [u8]) -> Outcome {
    let query = match Query::parse(query) {
        Ok(query) => query,
        Err(Malformed::Short | Malformed::Response) => return Outcome::Drop,
        Err(Malformed::Form) => return header_only(query, rcode::FORMERR, out),
    };
    let limit = limit(&query, transport);
    let Some(mut writer) = Writer::reply(&query, out, limit) else { return Outcome::Drop };
    writer.set(flag::RA);
    let edns = query.edns.map(|edns| (edns, UDP_SIZE));
    let refused = match query.edns {
        Some(edns) if edns.version != 0 => Some(rcode::BADVERS),
        _ if query.opcode() != 0 => Some(u16::from(rcode::NOTIMP)),
        _ if !matches!(query.qclass, class::IN | class::ANY) => Some(u16::from(rcode::REFUSED)),
        _ if matches!(query.qtype, rtype::AXFR | rtype::IXFR) => Some(u16::from(rcode::REFUSED)),
        _ => None,
    };
    if let Some(code) = refused {
        return Outcome::Reply(writer.finish(code, edns));
    }
    let labels = labels(query.name.wire());
    let found = labels.as_deref().map_or(Found::Outside, |labels| zone.find(labels));
    let records = match found {
        Found::Outside => {
            let code = outside(labels.as_deref().unwrap_or_default());
            return Outcome::Outside(writer.finish(u16::from(code), edns));
        }
        Found::Nothing => {
            writer.set(flag::AA);
            soa(zone, &mut writer, Section::Authority);
            return Outcome::Reply(writer.finish(u16::from(rcode::NXDOMAIN), edns));
        }
        Found::Records(records) => records,
    };
    writer.set(flag::AA);
    let mut work = Work { zone, writer, wanted: query.qtype, turn: usize::from(query.id) };
    let open = work.put(query.name.wire(), records, 0);
    let mut writer = work.writer;
    if writer.count(Section::Answer) == 0 && !writer.truncated() {
        soa(zone, &mut writer, Section::Authority);
    }
    let length = writer.finish(u16::from(rcode::NOERROR), edns);
    match open {
        Some(name) => Outcome::Alias(length, name),
        None => Outcome::Reply(length),
    }
}

/// How much room the longest reply needs.
pub fn room(transport: Transport) -> usize {
    match transport {
        Transport::Tcp => usize::from(u16::MAX),
        Transport::Udp => usize::from(UDP_SIZE),
    }
}

/// How long the reply to a query may be.
fn limit(query: &Query<'_>, transport: Transport) -> usize {
    match (transport, query.edns) {
        (Transport::Tcp, _) => room(transport),
        (Transport::Udp, None) => UDP_WITHOUT_EDNS,
        (Transport::Udp, Some(edns)) => usize::from(edns.udp_size.clamp(512, UDP_SIZE)),
    }
}

/// What is said of a name that is not the cluster's when nobody else is asked: as dnsmasq without
/// servers, with `domain-needed` and `bogus-priv`.
fn outside(labels: &[&str]) -> u8 {
    let private = reverse::address(labels).is_some_and(reverse::is_private);
    if labels.len() == 1 || private { rcode::NXDOMAIN } else { rcode::REFUSED }
}

/// The reply to what has no question that could be repeated.
fn header_only(query: &[u8], code: u8, out: &mut [u8]) -> Outcome {
    let (Some(id), Some(out)) = (query.get(..2), out.get_mut(..12)) else { return Outcome::Drop };
    out.fill(0);
    out[..2].copy_from_slice(id);
    out[2..4].copy_from_slice(&(flag::QR | u16::from(code)).to_be_bytes());
    Outcome::Reply(12)
}

/// The labels of a name in wire form; nothing where one is no text.
pub fn labels(mut wire: &[u8]) -> Option<Vec<&str>> {
    let mut labels = Vec::with_capacity(8);
    while let Some((&length, rest)) = wire.split_first().filter(|(length, _)| **length != 0) {
        let (label, rest) = rest.split_at_checked(usize::from(length))?;
        labels.push(std::str::from_utf8(label).ok()?);
        wire = rest;
    }
    Some(labels)
}

struct Work<'z, 'o> {
    zone: &'z Zone,
    writer: Writer<'o>,
    wanted: u16,
    /// Answers begin with another one of several each time.
    turn: usize,
}

impl Work<'_, '_> {
    fn wants(&self, kind: u16) -> bool {
        self.wanted == kind || self.wanted == rtype::ANY
    }

    /// Writes the records of a name; says which name outside it ends in, if it does.
    fn put(&mut self, owner: &[u8], mut records: Vec<Record>, depth: usize) -> Option<Name> {
        let several = records.len().max(1);
        records.rotate_left(self.turn % several);
        let mut additional = Vec::new();
        for record in records {
            match record {
                Record::Address(ip) => self.address(Section::Answer, owner, ip),
                Record::Service { port, target, addresses } if self.wants(rtype::SRV) => {
                    let weight = 100 / u16::try_from(several).unwrap_or(100).clamp(1, 100);
                    self.writer.record(
                        Section::Answer,
                        owner,
                        rtype::SRV,
                        class::IN,
                        TTL,
                        |data| {
                            data.word(0)?;
                            data.word(weight)?;
                            data.word(port)?;
                            data.full_name(target.wire())
                        },
                    );
                    additional.push((target, addresses));
                }
                Record::Alias(name) => return self.alias(owner, name, depth),
                Record::Pointer(name) if self.wants(rtype::PTR) => {
                    self.writer.record(
                        Section::Answer,
                        owner,
                        rtype::PTR,
                        class::IN,
                        TTL,
                        |data| data.name(name.wire()),
                    );
                }
                Record::Text(text) if self.wants(rtype::TXT) => {
                    self.writer.record(
                        Section::Answer,
                        owner,
                        rtype::TXT,
                        class::IN,
                        TTL,
                        |data| {
                            data.bytes(&[u8::try_from(text.len()).ok()?])?;
                            data.bytes(text.as_bytes())
                        },
                    );
                }
                Record::Apex => self.apex(owner),
                Record::Service { .. } | Record::Pointer(_) | Record::Text(_) => {}
            }
        }
        for (target, addresses) in additional {
            for ip in addresses {
                self.either_address(Section::Additional, target.wire(), ip);
            }
        }
        None
    }

    fn address(&mut self, section: Section, owner: &[u8], ip: IpAddr) {
        if self.wants(if ip.is_ipv4() { rtype::A } else { rtype::AAAA }) {
            self.either_address(section, owner, ip);
        }
    }

    fn either_address(&mut self, section: Section, owner: &[u8], ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => {
                self.writer.record(section, owner, rtype::A, class::IN, TTL, |data| {
                    data.bytes(&ip.octets())
                })
            }
            IpAddr::V6(ip) => {
                self.writer.record(section, owner, rtype::AAAA, class::IN, TTL, |data| {
                    data.bytes(&ip.octets())
                })
            }
        };
    }

    /// Another name, and what that has where it is the cluster's own.
    fn alias(&mut self, owner: &[u8], name: Name, depth: usize) -> Option<Name> {
        self.writer.record(Section::Answer, owner, rtype::CNAME, class::IN, TTL, |data| {
            data.name(name.wire())
        });
        if self.wants(rtype::CNAME) || depth >= LONGEST_CHAIN {
            return None;
        }
        let lower = name.lower();
        match labels(&lower).map(|labels| self.zone.find(&labels)) {
            Some(Found::Records(records)) => self.put(name.wire(), records, depth + 1),
            Some(Found::Nothing) => None,
            Some(Found::Outside) | None => Some(name),
        }
    }

    fn apex(&mut self, owner: &[u8]) {
        if self.wants(rtype::SOA) {
            soa(self.zone, &mut self.writer, Section::Answer);
        }
        if self.wants(rtype::NS)
            && let Ok(server) = Name::from_text(&format!("ns.dns.{}", self.zone.domain()))
        {
            self.writer.record(Section::Answer, owner, rtype::NS, class::IN, TTL, |data| {
                data.name(server.wire())
            });
        }
    }
}

/// Whose names these are, and how long it may be remembered that there is none.
fn soa(zone: &Zone, writer: &mut Writer<'_>, section: Section) {
    let domain = zone.domain();
    let name = |text: &str| Name::from_text(text).ok();
    let names = name(&domain).zip(name(&format!("ns.dns.{domain}")));
    let Some(((own, server), person)) = names.zip(name(&format!("hostmaster.{domain}"))) else {
        return;
    };
    writer.record(section, own.wire(), rtype::SOA, class::IN, TTL, |data| {
        data.name(server.wire())?;
        data.name(person.wire())?;
        for number in [zone.serial(), 7200, 1800, 86_400, TTL] {
            data.bytes(&number.to_be_bytes())?;
        }
        Some(())
    });
}

/// The reply that tells another name for the one asked for, and addresses of that.
pub fn complete(
    query: &[u8],
    transport: Transport,
    name: &Name,
    ips: &[IpAddr],
) -> Option<Vec<u8>> {
    let parsed = Query::parse(query).ok()?;
    let mut out = vec![0; room(transport)];
    let writer = Writer::reply(&parsed, &mut out, limit(&parsed, transport))?;
    let zone = Zone::new("invalid", Vec::new());
    let mut work = Work { zone: &zone, writer, wanted: parsed.qtype, turn: 0 };
    work.writer.set(flag::RA);
    let owner = parsed.name.wire();
    work.writer.record(Section::Answer, owner, rtype::CNAME, class::IN, TTL, |data| {
        data.name(name.wire())
    });
    for ip in ips {
        work.either_address(Section::Answer, name.wire(), *ip);
    }
    let edns = parsed.edns.map(|edns| (edns, UDP_SIZE));
    let length = work.writer.finish(u16::from(rcode::NOERROR), edns);
    out.truncate(length);
    Some(out)
}

/// The reply that says only that there is none.
pub fn failure(query: &[u8], code: u8) -> Option<Vec<u8>> {
    empty(query, 0, code)
}

/// The reply that says to ask by TCP.
pub fn truncated(query: &[u8]) -> Option<Vec<u8>> {
    empty(query, flag::TC, rcode::NOERROR)
}

fn empty(query: &[u8], flags: u16, code: u8) -> Option<Vec<u8>> {
    let parsed = Query::parse(query).ok()?;
    let mut out = vec![0; UDP_WITHOUT_EDNS];
    let mut writer = Writer::reply(&parsed, &mut out, UDP_WITHOUT_EDNS)?;
    writer.set(flag::RA | flags);
    let edns = parsed.edns.map(|edns| (edns, UDP_SIZE));
    let length = writer.finish(u16::from(code), edns);
    out.truncate(length);
    Some(out)
}
