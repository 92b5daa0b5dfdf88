//! From a query to a reply, or to who else is to be asked.
//!
//! The order is dnsmasq's: an authoritative zone has the first word, then aliases, then records of options
//! and hosts, then what is made up from addresses (`synth-domain`), then the rules about domains, and only
//! then somebody else is asked.

mod auth;
mod reverse;
mod sections;
pub(crate) mod synth;

use std::net::IpAddr;

use ipnet::IpNet;

use self::sections::Reply;
use crate::catalog::{Catalog, Verdict, ZEROS};
use crate::settings::Upstream;
use crate::wire::{
    HEADER, Key, Malformed, Query, Section, UDP_WITHOUT_EDNS, class, ends_with, flag, rcode, rtype,
};

/// How a query came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

/// From where, how and to which of our addresses a query came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub transport: Transport,
    pub source: IpAddr,
    /// The address it was sent to, with the prefix of that interface, when known: `localise-queries`
    /// looks at it.
    pub local: Option<IpNet>,
    /// It came to an interface or address of `auth-server`
    /// ([`Settings::is_authoritative_at`](crate::Settings::is_authoritative_at)).
    pub authoritative: bool,
}

impl Arrival {
    pub fn new(transport: Transport, source: IpAddr) -> Self {
        Self { transport, source, local: None, authoritative: false }
    }
}

/// What is to be done with a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'c> {
    /// The reply stands in the buffer, this long.
    Reply(usize),
    /// Somebody else has to be asked.
    Forward(Forward<'c>),
    /// Nothing: any answer would cost more than it is worth.
    Drop,
}

/// Who is to be asked, and what of the answer may be believed.
#[derive(Debug, PartialEq, Eq)]
pub struct Forward<'c> {
    /// In the order of the configuration; never empty.
    pub servers: &'c [Upstream],
    /// They are those of a domain and not the general ones.
    pub of_domain: bool,
    /// Private addresses in the answer are no attack.
    pub private_answers: bool,
}

/// Answers a query from the catalogue. `out` takes the reply: 64 KiB for TCP, and for UDP what the
/// settings allow (`edns_packet_max`), at least 512.
pub fn answer<'c>(
    catalog: &'c Catalog,
    message: &[u8],
    arrival: &Arrival,
    out: &mut [u8],
) -> Outcome<'c> {
    let query = match Query::parse(message) {
        Ok(query) => query,
        Err(Malformed::Short | Malformed::Response) => return Outcome::Drop,
        Err(Malformed::Form) => return header_only(message, out),
    };
    let limit = limit(catalog, &query, arrival.transport).min(out.len());
    let Some(mut reply) = Reply::new(catalog, &query, out, limit) else { return Outcome::Drop };
    if query.edns.is_some_and(|edns| edns.version != 0) {
        return Outcome::Reply(reply.finish(rcode::BADVERS));
    }
    if query.opcode() != 0 {
        return Outcome::Reply(reply.finish(rcode::NOTIMP.into()));
    }
    if !arrival.authoritative {
        reply.set(flag::RA);
    }
    if query.qclass != class::IN || matches!(query.qtype, rtype::AXFR | rtype::IXFR) {
        let code = if is_about_server(&query) { rcode::NOTIMP } else { rcode::REFUSED };
        return Outcome::Reply(reply.finish(code.into()));
    }
    if let Some(code) = auth::answer(catalog, &query, arrival, &mut reply) {
        return Outcome::Reply(reply.finish(code.into()));
    }
    if let Some(code) = known(catalog, &query, arrival, &mut reply) {
        reply.set(flag::AA);
        return Outcome::Reply(reply.finish(code.into()));
    }
    by_rule(catalog, &query, reply)
}

/// What is known here by a name, with its aliases. `None` when that is nothing.
fn known(
    catalog: &Catalog,
    query: &Query<'_>,
    arrival: &Arrival,
    reply: &mut Reply<'_, '_>,
) -> Option<u8> {
    let settings = catalog.settings();
    let ttl = settings.local_ttl;
    let mut name = query.name.wire();
    let mut found = false;
    // The settings hold no loops.
    while let Some(alias) = catalog.records(name).and_then(|records| records.cname.as_ref()) {
        reply.name(Section::Answer, name, rtype::CNAME, alias.ttl, alias.target.wire());
        found = true;
        name = alias.target.wire();
        if query.qtype == rtype::CNAME {
            return Some(rcode::NOERROR);
        }
    }
    let any = query.qtype == rtype::ANY;
    if any || matches!(query.qtype, rtype::A | rtype::AAAA) {
        let count = reply.addresses(Section::Answer, name, query.qtype, arrival.local);
        found |= count > 0;
        if count == 0
            && let Some(address) = synth::address(settings, name, query.qtype)
        {
            reply.address(Section::Answer, name, address, ttl);
            found = true;
        }
    }
    found |= reply.others(name, query.qtype, ttl);
    if (any || query.qtype == rtype::PTR) && !reply.wrote(rtype::PTR) {
        match reverse::answer(catalog, name, reply) {
            reverse::Known::Name => found = true,
            // A server for this network knows better.
            reverse::Known::Private if !found && !catalog.has_server(&query.name) => {
                return Some(rcode::NXDOMAIN);
            }
            _ => {}
        }
    }
    reply.targets();
    found.then_some(rcode::NOERROR)
}

/// What the rules about domains say.
fn by_rule<'c>(catalog: &'c Catalog, query: &Query<'_>, mut reply: Reply<'_, '_>) -> Outcome<'c> {
    let settings = catalog.settings();
    let name = &query.name;
    let absent = |exists: bool| {
        let code = if exists || catalog.knows(name) { rcode::NOERROR } else { rcode::NXDOMAIN };
        u16::from(code)
    };
    match catalog.verdict(name, query.qtype) {
        Verdict::Addresses { addresses, zeros } => {
            let zeros = if zeros { &ZEROS[..] } else { &[] };
            for address in addresses.iter().chain(zeros) {
                if sections::is_of(*address, query.qtype) {
                    reply.address(Section::Answer, name.wire(), *address, settings.local_ttl);
                }
            }
            reply.set(flag::AA);
            Outcome::Reply(reply.finish(rcode::NOERROR.into()))
        }
        Verdict::Local { exists } => Outcome::Reply(reply.finish(absent(exists))),
        Verdict::Ask { .. } if settings.domain_needed && is_plain_address(name, query.qtype) => {
            Outcome::Reply(reply.finish(absent(false)))
        }
        Verdict::Ask { servers: [], .. } => Outcome::Reply(reply.finish(rcode::REFUSED.into())),
        Verdict::Ask { servers, of_domain } => {
            let private_answers = catalog.private_answers(name);
            Outcome::Forward(Forward { servers, of_domain, private_answers })
        }
    }
}

/// `domain-needed` is about these.
fn is_plain_address(name: &Key, qtype: u16) -> bool {
    name.labels() == 1 && matches!(qtype, rtype::A | rtype::AAAA | rtype::ANY)
}

/// `version.bind` and its like, which no other server can answer for us.
fn is_about_server(query: &Query<'_>) -> bool {
    let below = |domain: &[u8]| ends_with(query.name.wire(), domain);
    query.qclass == class::CHAOS && (below(b"\x04bind\0") || below(b"\x06server\0"))
}

/// How much the client takes.
fn limit(catalog: &Catalog, query: &Query<'_>, transport: Transport) -> usize {
    let most = usize::from(catalog.settings().edns_packet_max).max(UDP_WITHOUT_EDNS);
    match (transport, query.edns) {
        (Transport::Tcp, _) => usize::from(u16::MAX),
        (Transport::Udp, None) => UDP_WITHOUT_EDNS,
        (Transport::Udp, Some(edns)) => usize::from(edns.udp_size).clamp(UDP_WITHOUT_EDNS, most),
    }
}

/// FORMERR to a message of which nothing but the header can be trusted.
fn header_only<'c>(message: &[u8], out: &mut [u8]) -> Outcome<'c> {
    let (Some(header), Some(reply)) = (message.first_chunk::<4>(), out.get_mut(..HEADER)) else {
        return Outcome::Drop;
    };
    let asked = u16::from_be_bytes([header[2], header[3]]);
    let flags = flag::QR | (asked & (flag::OPCODE | flag::RD)) | u16::from(rcode::FORMERR);
    reply.fill(0);
    reply[..2].copy_from_slice(&header[..2]);
    reply[2..4].copy_from_slice(&flags.to_be_bytes());
    Outcome::Reply(HEADER)
}
