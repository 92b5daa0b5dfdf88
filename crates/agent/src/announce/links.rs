//! The interfaces of the node as announcing sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_l2::interfaces::{Ability, Excluded, Interface, Where, ability};
use landbridge_l2::packet::Mac;
use landbridge_linux::monitor::Event;
use landbridge_linux::{Address, Link};

use super::plan::PlannedUnit;

/// Links and addresses, kept by the kernel's news.
#[derive(Debug, Default)]
pub struct Links {
    links: BTreeMap<u32, Link>,
    addresses: Vec<Address>,
}

/// What of the interfaces matters for announcing, to tell whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matters {
    able: BTreeMap<u32, (String, Ability)>,
    /// Those that are not left out by name, and whether they have a carrier.
    carriers: BTreeMap<String, (bool, bool)>,
    networks: Vec<(u32, ipnet::IpNet)>,
}

impl Links {
    /// What matters of them.
    pub fn what_matters(&self, excluded: &Excluded) -> Matters {
        let counted = |link: &&Link| !excluded.matches(link.name.as_str());
        let links = self.links.values().filter(counted);
        let carrier = |link: &Link| (link.name.to_string(), (link.up, link.carrier));
        let networks = self
            .addresses
            .iter()
            .filter(|address| self.links.get(&address.link.0).is_some_and(|link| counted(&link)));
        Matters {
            able: self.able(excluded),
            carriers: links.map(carrier).collect(),
            networks: networks.map(|address| (address.link.0, address.net)).collect(),
        }
    }

    /// As they are now.
    pub fn new(links: Vec<Link>, addresses: Vec<Address>) -> Self {
        Self { links: links.into_iter().map(|link| (link.index.0, link)).collect(), addresses }
    }

    /// Takes news; says whether everything has to be listed again.
    pub fn hear(&mut self, event: Event) -> bool {
        match event {
            Event::Link(link) => {
                self.links.insert(link.index.0, link);
            }
            Event::LinkGone(link) => {
                self.links.remove(&link.index.0);
                self.addresses.retain(|address| address.link != link.index);
            }
            Event::Address(new) => {
                let same = |old: &Address| (old.link, old.net) == (new.link, new.net);
                self.addresses.retain(|old| !same(old));
                self.addresses.push(new);
            }
            Event::AddressGone(gone) => {
                self.addresses.retain(|old| (old.link, old.net) != (gone.link, gone.net));
            }
            Event::Resync(_) => return true,
            _ => {}
        }
        false
    }

    /// Interfaces that can announce, by number.
    pub fn able(&self, excluded: &Excluded) -> BTreeMap<u32, (String, Ability)> {
        let able = self.links.values().filter_map(|link| {
            let name = link.name.to_string();
            let interface = Interface {
                index: link.index.0,
                mac: link.mac.map(|mac| Mac(mac.0)),
                up: link.up,
                carrier: link.carrier,
                has_master: link.master.is_some(),
                no_arp: link.no_arp,
                broadcast: link.broadcast,
                link_local: self.link_local(link),
                name: name.clone(),
            };
            Some((link.index.0, (name, ability(&interface, excluded)?)))
        });
        able.collect()
    }

    fn link_local(&self, link: &Link) -> Option<std::net::Ipv6Addr> {
        let own = self.addresses.iter().filter(|address| address.link == link.index);
        let mut usable =
            own.filter(|address| !address.flags.tentative && !address.flags.dad_failed);
        usable.find_map(|address| match address.net.addr() {
            IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
            _ => None,
        })
    }

    /// Whether the interface of an address has something at its other end. An address that is
    /// nowhere here says nothing.
    pub fn is_connected(&self, own: Option<IpAddr>) -> bool {
        let Some(own) = own else { return true };
        let holder = self.addresses.iter().find(|address| address.net.addr() == own);
        let link = holder.and_then(|address| self.links.get(&address.link.0));
        link.is_none_or(|link| link.up && link.carrier)
    }

    /// Whether a link has an address of IPv4, with which the kernel could ask for others.
    pub fn has_ipv4(&self, index: u32) -> bool {
        let of = |address: &Address| address.link.0 == index && address.net.addr().is_ipv4();
        self.addresses.iter().any(of)
    }

    /// On which interfaces an address is announced here: those of the advertisements, and where
    /// subnets matter only those that have an address of its network.
    pub fn wheres(&self, ip: IpAddr, wanted: &Where, subnets: bool) -> Where {
        if !subnets {
            return wanted.clone();
        }
        let near = self.addresses.iter().filter(|address| {
            // A single address is a network of nobody else.
            address.net.prefix_len() < address.net.max_prefix_len() && address.net.contains(&ip)
        });
        let names = near.filter_map(|address| self.links.get(&address.link.0));
        let names: BTreeSet<String> = names.map(|link| link.name.to_string()).collect();
        Where::Named(names.into_iter().filter(|name| wanted.includes(name)).collect())
    }

    /// Whether this node could announce a unit: every address of it has an interface that works.
    ///
    /// An interface that is not there at all is a matter of configuration, and as with MetalLB no
    /// reason to choose another node, unless that is asked for. One that is there and does not work
    /// is a fault.
    pub fn can(&self, unit: &PlannedUnit, able: &BTreeMap<u32, (String, Ability)>) -> bool {
        unit.addresses.iter().all(|(ip, wanted)| {
            let Some(wanted) = wanted else { return false };
            let wheres = self.wheres(*ip, wanted, unit.wishes.subnets);
            let included = || self.links.values().filter(|l| wheres.includes(l.name.as_str()));
            let works = included().any(|link| {
                let ability = able.get(&link.index.0).map(|(_, ability)| ability);
                let speaks = ability.is_some_and(|ability| {
                    if ip.is_ipv4() { ability.arp } else { ability.ndp.is_some() }
                });
                speaks && link.carrier
            });
            let aware = unit.wishes.interfaces || unit.wishes.subnets;
            works || (!aware && included().next().is_none())
        })
    }
}
