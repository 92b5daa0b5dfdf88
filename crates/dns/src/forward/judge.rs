//! What of an answer may be passed on.

use std::net::IpAddr;

use super::Lane;
use crate::cache::Stored;
use crate::settings::Settings;
use crate::wire::{rcode, rtype};

/// What becomes of an answer.
#[derive(Debug)]
pub enum Verdict {
    Believe(Stored),
    /// It names private addresses, and must not.
    Rebind(Stored),
    /// As if it had not come (`ignore-address`).
    Ignore,
}

/// Applies the settings about answers of others.
pub fn judge(stored: Stored, lane: &Lane, settings: &Settings) -> Verdict {
    let holds = |nets: &[ipnet::IpNet]| {
        !nets.is_empty()
            && stored.addresses().any(|address| nets.iter().any(|net| net.contains(&address)))
    };
    if holds(&settings.ignore_address) {
        return Verdict::Ignore;
    }
    if settings.stop_dns_rebind
        && !lane.private_answers
        && stored.addresses().any(|address| is_private(address, !settings.rebind_localhost_ok))
    {
        return Verdict::Rebind(stored.emptied(rcode::NOERROR));
    }
    if holds(&settings.bogus_nxdomain) {
        return Verdict::Believe(stored.emptied(rcode::NXDOMAIN));
    }
    let filtered = match lane.question.qtype {
        rtype::A => settings.filter_a,
        rtype::AAAA => settings.filter_aaaa,
        _ => false,
    };
    if filtered && stored.kinds().any(|kind| kind == lane.question.qtype) {
        return Verdict::Believe(stored.emptied(stored.rcode()));
    }
    Verdict::Believe(stored)
}

/// Addresses that no name of the outside should have. `loopback`: also those of the machine itself.
pub fn is_private(address: IpAddr, loopback: bool) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            (loopback && (first == 127 || first == 0))
                || address.is_private()
                || address.is_link_local()
                || address.is_documentation()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            if let Some(mapped) = address.to_ipv4_mapped() {
                return is_private(mapped.into(), loopback);
            }
            let segments = address.segments();
            (loopback && (address.is_loopback() || address.is_unspecified()))
                || address.is_unicast_link_local()
                // Site-local, as it once was.
                || segments[0] & 0xffc0 == 0xfec0
                || segments[0] & 0xff00 == 0xfd00
                || (segments[0] == 0x2001 && segments[1] == 0x0db8)
        }
    }
}
