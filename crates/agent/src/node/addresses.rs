//! The addresses a node is known by.

use std::net::IpAddr;

use landbridge_linux::link::LinkIndex;
use landbridge_linux::{Address, IfName, Link, Scope};

/// A bridge over a bond over a NIC, and one more.
const DEPTH: usize = 4;

/// The main address of each family on a NIC, IPv4 first; when the NIC has been put into a bridge or
/// bond, that one's.
pub fn find(nic: &IfName, links: &[Link], addresses: &[Address]) -> Vec<IpAddr> {
    let by_index = |index: LinkIndex| links.iter().find(|link| link.index == index);
    let mut link = links.iter().find(|link| link.name == *nic);
    for _ in 0..DEPTH {
        let Some(here) = link else { return Vec::new() };
        let found = of_link(here.index, addresses);
        if !found.is_empty() {
            return found;
        }
        link = here.master.and_then(by_index);
    }
    Vec::new()
}

fn of_link(link: LinkIndex, addresses: &[Address]) -> Vec<IpAddr> {
    let usable = |address: &&Address| {
        let flags = address.flags;
        address.link == link
            && address.scope == Scope::Global
            && !(flags.secondary || flags.tentative || flags.dad_failed || flags.deprecated)
    };
    let first = |v4: bool| {
        let mut own = addresses.iter().filter(usable).map(Address::ip);
        own.find(|ip| ip.is_ipv4() == v4)
    };
    [first(true), first(false)].into_iter().flatten().collect()
}
