//! Writes what the catalogue has of a name into the sections of a reply.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::catalog::{Catalog, Found};
use crate::settings::{Rdata, octets};
use crate::wire::{Data, Edns, Query, Section, Writer, class, rtype};

/// A reply in the making, with the data that it is made from.
pub(super) struct Reply<'c, 'o> {
    catalog: &'c Catalog,
    /// As the client wrote it.
    question: &'c [u8],
    /// The same in lower case.
    asked: &'c [u8],
    edns: Option<(Edns, u16)>,
    /// Moves the first address of many, so that not all clients take the same one.
    turn: usize,
    writer: Writer<'o>,
    /// Names of SRV and MX records, whose addresses are added at the end.
    targets: [&'c [u8]; TARGETS],
    wrote_ptr: bool,
}

/// More than these are not looked up: clients can ask for the others.
const TARGETS: usize = 16;

/// Whether an address answers a question of this type.
pub(super) fn is_of(address: IpAddr, qtype: u16) -> bool {
    match qtype {
        rtype::A => address.is_ipv4(),
        rtype::AAAA => address.is_ipv6(),
        _ => qtype == rtype::ANY,
    }
}

impl<'c, 'o> Reply<'c, 'o> {
    pub fn new(
        catalog: &'c Catalog,
        query: &'c Query<'c>,
        out: &'o mut [u8],
        limit: usize,
    ) -> Option<Self> {
        let size = catalog.settings().edns_packet_max;
        let question = query.question();
        Some(Self {
            catalog,
            question: question.get(..question.len().checked_sub(4)?)?,
            asked: query.name.wire(),
            edns: query.edns.map(|edns| (edns, size)),
            turn: usize::from(query.id),
            writer: Writer::reply(query, out, limit)?,
            targets: [&[]; TARGETS],
            wrote_ptr: false,
        })
    }

    pub fn set(&mut self, flags: u16) {
        self.writer.set(flags);
    }

    pub fn finish(self, rcode: u16) -> usize {
        self.writer.finish(rcode, self.edns)
    }

    pub fn wrote(&self, rtype: u16) -> bool {
        rtype == rtype::PTR && self.wrote_ptr
    }

    pub fn address(&mut self, section: Section, name: &[u8], address: IpAddr, ttl: u32) {
        let (bytes, length) = octets(address);
        let rtype = if length == 4 { rtype::A } else { rtype::AAAA };
        self.record(section, name, rtype, ttl, |data| data.bytes(&bytes[..length]));
    }

    /// A record whose data is a name.
    pub fn name(&mut self, section: Section, owner: &[u8], rtype: u16, ttl: u32, target: &[u8]) {
        self.record(section, owner, rtype, ttl, |data| data.name(target));
    }

    /// A record with any data. Its owner is written as the client wrote it, if it is what it asked for.
    pub fn record(
        &mut self,
        section: Section,
        owner: &[u8],
        rtype: u16,
        ttl: u32,
        data: impl FnOnce(&mut Data<'_, 'o>) -> Option<()>,
    ) {
        let owner = if owner == self.asked { self.question } else { owner };
        self.wrote_ptr |= rtype == rtype::PTR;
        self.writer.record(section, owner, rtype, class::IN, ttl, data);
    }

    /// All addresses of a name that answer `qtype`; says how many there are. With `localise-queries`,
    /// only those of the network that the query came in from, if there are some.
    pub fn addresses(
        &mut self,
        section: Section,
        name: &[u8],
        qtype: u16,
        local: Option<IpNet>,
    ) -> usize {
        let catalog = self.catalog;
        let near = local.filter(|net| {
            catalog.settings().localise_queries
                && net.addr().is_ipv4()
                && each(catalog, name, qtype).any(|(address, _)| net.contains(&address))
        });
        let of_net = |(address, _): &(IpAddr, u32)| {
            near.is_none_or(|net| address.is_ipv6() || net.contains(address))
        };
        self.in_turn(section, name, each(catalog, name, qtype).filter(of_net))
    }

    /// Those addresses of a name that are allowed, with one TTL for all.
    pub fn addresses_if(
        &mut self,
        name: &[u8],
        qtype: u16,
        ttl: u32,
        allowed: impl Fn(IpAddr) -> bool + Clone,
    ) -> usize {
        let all = each(self.catalog, name, qtype).filter(|(address, _)| allowed(*address));
        self.in_turn(Section::Answer, name, all.map(|(address, _)| (address, ttl)))
    }

    fn in_turn(
        &mut self,
        section: Section,
        name: &[u8],
        all: impl Iterator<Item = (IpAddr, u32)> + Clone,
    ) -> usize {
        let count = all.clone().count();
        if count > 0 {
            let turn = self.turn % count;
            for (address, ttl) in all.clone().skip(turn).chain(all.take(turn)) {
                self.address(section, name, address, ttl);
            }
        }
        count
    }

    /// The records of other types; says whether there were some.
    pub fn others(&mut self, name: &[u8], qtype: u16, ttl: u32) -> bool {
        let catalog = self.catalog;
        let Some(records) = catalog.records(name) else { return false };
        let mut found = false;
        for other in &records.others {
            if other.rtype != qtype && qtype != rtype::ANY {
                continue;
            }
            found = true;
            match &other.data {
                Rdata::Bytes(bytes) => {
                    self.record(Section::Answer, name, other.rtype, ttl, |data| data.bytes(bytes));
                }
                Rdata::Name { before, name: target } => {
                    let compressed = matches!(other.rtype, rtype::PTR | rtype::MX);
                    let wire = target.wire();
                    self.record(Section::Answer, name, other.rtype, ttl, |data| {
                        data.bytes(before)?;
                        if compressed { data.name(wire) } else { data.full_name(wire) }
                    });
                    if matches!(other.rtype, rtype::SRV | rtype::MX) {
                        self.target(wire);
                    }
                }
            }
        }
        found
    }

    fn target(&mut self, target: &'c [u8]) {
        if self.targets.contains(&target) {
            return;
        }
        if let Some(free) = self.targets.iter_mut().find(|target| target.is_empty()) {
            *free = target;
        }
    }

    /// The addresses of the targets of SRV and MX records.
    pub fn targets(&mut self) {
        for target in self.targets {
            if target.is_empty() {
                break;
            }
            self.addresses(Section::Additional, target, rtype::ANY, None);
        }
    }
}

/// All addresses of a name, each once: of options, of hosts, and of the plain host where `name` is that
/// with its domain (`expand-hosts`).
fn each<'n, 'c: 'n>(
    catalog: &'c Catalog,
    name: &'n [u8],
    qtype: u16,
) -> impl Iterator<Item = (IpAddr, u32)> + Clone + use<'n, 'c> {
    let ttl = catalog.settings().local_ttl;
    let records =
        catalog.records(name).map(|records| records.addresses.as_slice()).unwrap_or_default();
    let hosts = catalog.host(name);
    let expanded = catalog.expanded(name);
    let of_records = move |address: &IpAddr| records.iter().any(|(other, _)| other == address);
    let of_hosts =
        hosts.into_iter().flat_map(Found::addresses).filter(move |address| !of_records(address));
    let of_expanded = expanded.into_iter().flat_map(move |(found, domain)| {
        found.addresses().filter(move |address| {
            catalog.is_domain_of(*address, domain)
                && !of_records(address)
                && !hosts.is_some_and(|hosts| hosts.addresses().any(|other| other == *address))
        })
    });
    records
        .iter()
        .copied()
        .chain(of_hosts.chain(of_expanded).map(move |address| (address, ttl)))
        .filter(move |(address, _)| is_of(*address, qtype))
}
