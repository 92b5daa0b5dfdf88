//! `auth-zone`: names that are answered from here alone.
//!
//! There are two ways in. A query that came to an address of `auth-server` is answered from the zones only,
//! with their SOA and NS, as a secondary or the internet would ask. Any other query about a name of a zone
//! is answered from the zone as well, but plainly, and without looking at the zone's subnets: the one who
//! asks is at home.

use std::net::IpAddr;

use ipnet::IpNet;

use super::sections::Reply;
use super::{Arrival, reverse, synth};
use crate::catalog::Catalog;
use crate::settings::{AuthZone, Settings, arpa};
use crate::wire::{Name, Query, Section, ends_with, flag, rcode, rtype};

/// Answers from a zone; `None` when this is no matter of zones.
pub(super) fn answer(
    catalog: &Catalog,
    query: &Query<'_>,
    arrival: &Arrival,
    reply: &mut Reply<'_, '_>,
) -> Option<u8> {
    let settings = catalog.settings();
    if settings.auth_zones.is_empty() {
        return arrival.authoritative.then_some(rcode::REFUSED);
    }
    let name = query.name.wire();
    if arrival.authoritative {
        if let Some(code) = reverse_zone(catalog, query, reply) {
            return Some(code);
        }
    } else if settings.localise_queries {
        return None;
    }
    match zone_of(settings, name) {
        Some(zone) => {
            let asked = Asked { catalog, zone, public: arrival.authoritative };
            Some(asked.answer(query, reply))
        }
        None => arrival.authoritative.then_some(rcode::REFUSED),
    }
}

/// The zone that a name is in: the longest one.
fn zone_of<'s>(settings: &'s Settings, name: &[u8]) -> Option<&'s AuthZone> {
    let of = |zone: &&AuthZone| ends_with(name, zone.domain.wire());
    settings.auth_zones.iter().filter(of).max_by_key(|zone| zone.domain.labels())
}

/// A zone, and who asks it.
struct Asked<'c> {
    catalog: &'c Catalog,
    zone: &'c AuthZone,
    /// The query came from outside.
    public: bool,
}

impl Asked<'_> {
    fn answer(&self, query: &Query<'_>, reply: &mut Reply<'_, '_>) -> u8 {
        let Self { catalog, zone, public } = *self;
        let settings = catalog.settings();
        let apex = zone.domain.wire();
        let at_apex = query.name.wire() == &*zone.domain.lower();
        match query.qtype {
            rtype::SOA if at_apex => {
                soa(settings, zone, reply, Section::Answer, apex);
                name_servers(settings, zone, reply, Section::Authority, apex, true);
                reply.set(flag::AA);
                return rcode::NOERROR;
            }
            rtype::NS if at_apex => {
                name_servers(settings, zone, reply, Section::Answer, apex, true);
                reply.set(flag::AA);
                return rcode::NOERROR;
            }
            _ => {}
        }

        let mut buffer = [0; 255];
        let (found, name) = self.aliases(query, reply, &mut buffer);
        let found = self.records(query.qtype, name, reply) || found;
        if public {
            reply.set(flag::AA);
            if found {
                name_servers(settings, zone, reply, Section::Authority, apex, true);
            } else {
                soa(settings, zone, reply, Section::Authority, apex);
            }
        }
        if found || at_apex || exists(catalog, name) { rcode::NOERROR } else { rcode::NXDOMAIN }
    }

    /// Follows aliases, also those of wildcards, and says where they end.
    fn aliases<'n>(
        &self,
        query: &'n Query<'_>,
        reply: &mut Reply<'_, '_>,
        buffer: &'n mut [u8; 255],
    ) -> (bool, &'n [u8])
    where
        Self: 'n,
    {
        let ttl = self.catalog.settings().auth_ttl;
        let mut name = query.name.wire();
        let mut found = false;
        // Wildcards can make loops where the names themselves have none.
        for _ in 0..10 {
            let own = self.catalog.records(name).and_then(|records| records.cname.as_ref());
            let exists = own.is_some() || exists(self.catalog, name);
            let wild = || self.catalog.wildcard(name).filter(|_| !exists);
            let Some(alias) = own.or_else(wild) else { break };
            found = true;
            // A plain target is meant within the zone.
            if alias.target.labels() == 1 {
                let label = &alias.target.wire()[..alias.target.wire().len() - 1];
                let domain = self.zone.domain.wire();
                let length = label.len() + domain.len();
                let Some(joined) = buffer.get_mut(..length) else { break };
                joined[..label.len()].copy_from_slice(label);
                joined[label.len()..].copy_from_slice(domain);
                reply.name(Section::Answer, name, rtype::CNAME, ttl, joined);
                name = joined;
                break;
            }
            reply.name(Section::Answer, name, rtype::CNAME, ttl, alias.target.wire());
            if query.qtype == rtype::CNAME {
                break;
            }
            name = alias.target.wire();
            if self.public && !ends_with(name, self.zone.domain.wire()) {
                break;
            }
        }
        (found, name)
    }

    fn records(&self, qtype: u16, name: &[u8], reply: &mut Reply<'_, '_>) -> bool {
        let catalog = self.catalog;
        let settings = catalog.settings();
        let ttl = settings.auth_ttl;
        if self.public && !ends_with(name, self.zone.domain.wire()) {
            return false;
        }
        match qtype {
            // Answers to ANY are not asked for by anybody who means well.
            rtype::ANY | rtype::PTR | rtype::CNAME => false,
            rtype::A | rtype::AAAA => {
                let allowed = |address| !self.public || self.holds(address);
                let found = reply.addresses_if(name, qtype, ttl, allowed);
                if found > 0 {
                    return true;
                }
                match synth::address(settings, name, qtype) {
                    Some(address) => {
                        reply.address(Section::Answer, name, address, ttl);
                        true
                    }
                    None => false,
                }
            }
            _ => reply.others(name, qtype, ttl),
        }
    }

    /// Whether an address may be told to the outside.
    fn holds(&self, address: IpAddr) -> bool {
        let of = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&address));
        !of(&self.zone.excluded) && (self.zone.subnets.is_empty() || of(&self.zone.subnets))
    }
}

/// Names exist by records other than PTR, or by names below them.
fn exists(catalog: &Catalog, name: &[u8]) -> bool {
    let only_ptr = catalog.host(name).is_none()
        && catalog.records(name).is_some_and(|records| records.is_only(rtype::PTR));
    catalog.exists(name) && !only_ptr
}

/// Reverse lookups of the subnets of zones.
fn reverse_zone(catalog: &Catalog, query: &Query<'_>, reply: &mut Reply<'_, '_>) -> Option<u8> {
    let settings = catalog.settings();
    let name = query.name.wire();
    // dnsmasq refuses other types of reverse names, and nobody misses them.
    if !matches!(query.qtype, rtype::PTR | rtype::SOA | rtype::NS)
        || !ends_with(name, b"\x04arpa\0")
    {
        return None;
    }
    for zone in &settings.auth_zones {
        for subnet in &zone.subnets {
            let Some(apex) = apex(*subnet) else { continue };
            let inside = reverse::address(name).is_some_and(|address| subnet.contains(&address));
            if !inside && name != apex.wire() {
                continue;
            }
            reply.set(flag::AA);
            let mut buffer = [0; 255];
            let target = reverse::address(name)
                .and_then(|address| reverse::name_of(catalog, address, &mut buffer))
                .map(|(target, _)| target)
                .filter(|target| ends_with(target, zone.domain.wire()));
            let at_apex = name == apex.wire();
            match (query.qtype, target) {
                (rtype::SOA, _) if at_apex => {
                    soa(settings, zone, reply, Section::Answer, apex.wire());
                }
                (rtype::NS, _) if at_apex => {
                    name_servers(settings, zone, reply, Section::Answer, apex.wire(), false);
                    return Some(rcode::NOERROR);
                }
                (rtype::PTR, Some(target)) => {
                    reply.name(Section::Answer, name, rtype::PTR, settings.auth_ttl, target);
                }
                _ => {
                    soa(settings, zone, reply, Section::Authority, apex.wire());
                    let exists = at_apex || target.is_some();
                    return Some(if exists { rcode::NOERROR } else { rcode::NXDOMAIN });
                }
            }
            name_servers(settings, zone, reply, Section::Authority, apex.wire(), false);
            return Some(rcode::NOERROR);
        }
    }
    None
}

/// The name of a subnet's reverse zone: whole octets of IPv4, whole nibbles of IPv6.
fn apex(subnet: IpNet) -> Option<Name> {
    let length = match subnet {
        IpNet::V4(net) => (net.prefix_len() / 8 * 8).max(8),
        IpNet::V6(net) => net.prefix_len().div_ceil(4).max(1) * 4,
    };
    let whole = IpNet::new(subnet.network(), length).ok()?.trunc();
    Name::from_text(arpa(whole).first()?).ok()
}

/// The server's own name; without `auth-server`, that of the zone.
fn primary<'s>(settings: &'s Settings, zone: &'s AuthZone) -> &'s Name {
    settings.auth_server.as_ref().map_or(&zone.domain, |server| &server.name)
}

fn soa(
    settings: &Settings,
    zone: &AuthZone,
    reply: &mut Reply<'_, '_>,
    section: Section,
    apex: &[u8],
) {
    let soa = &settings.auth_soa;
    let hostmaster = soa.hostmaster.as_ref().map_or(b"\x0ahostmaster".as_slice(), |_| b"");
    let rest = soa.hostmaster.as_ref().unwrap_or(&zone.domain).wire();
    let numbers = [soa.serial, soa.refresh, soa.retry, soa.expiry, settings.auth_ttl];
    reply.record(section, apex, rtype::SOA, settings.auth_ttl, |data| {
        data.name(primary(settings, zone).wire())?;
        data.bytes(hostmaster)?;
        data.name(rest)?;
        numbers.iter().try_for_each(|number| data.bytes(&number.to_be_bytes()))
    });
}

/// NS records; those of reverse zones have no secondaries.
fn name_servers(
    settings: &Settings,
    zone: &AuthZone,
    reply: &mut Reply<'_, '_>,
    section: Section,
    apex: &[u8],
    secondaries: bool,
) {
    let ttl = settings.auth_ttl;
    reply.name(section, apex, rtype::NS, ttl, primary(settings, zone).wire());
    for server in settings.auth_sec_servers.iter().filter(|_| secondaries) {
        reply.name(section, apex, rtype::NS, ttl, server.wire());
    }
}
