//! Which facts are about the same segment (see the architecture's decision on identity).
//!
//! Attachments are where their interface is. A subnet of a NetConfig goes by its VLAN, then by the
//! name that attachments have, then by its prefix. A pool goes by where it is announced and by
//! where its addresses are known. Provider networks of Neutron go by NIC mapping; tenant networks
//! are segments of their own. What nothing leads to joins by an equal prefix.
//!
//! A NetConfig that says so (`landbridge.dev/wires`) is on wires of its own, and nothing joins it.
//!
//! When signs contradict each other the majority wins, and the rules report the rest: a subnet
//! whose name and prefix fit one attachment and whose VLAN fits another has a wrong VLAN.

use std::collections::{HashMap, HashSet};

use landbridge_addr::{RangeIndex, overlaps};
use landbridge_api::net::{Cidr, Range};

use crate::facts::{Facts, Subnet};
use crate::wires::{Wire, Wires};

/// How a subnet of a NetConfig came to its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// By VLAN.
    Vlan,
    /// By the name of an attachment: its position.
    Name(usize),
    /// By an equal prefix.
    Prefix,
    /// Nothing else is known there.
    Alone,
}

/// The segment of each fact.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub subnets: Vec<(Wire, Join)>,
    pub attachments: Vec<Wire>,
    /// By pool and range.
    pub pools: Vec<Vec<Wire>>,
    /// By policy and interface.
    pub interfaces: Vec<Vec<Wire>>,
    /// By document and subnet.
    pub neutron: Vec<Vec<Wire>>,
    /// Segments of tenants, and of a NetConfig on wires of its own: their prefixes are their own business.
    pub tenants: HashSet<Wire>,
    /// All prefixes and their segments.
    pub prefixes: RangeIndex<Wire>,
}

type ByPrefix = HashMap<Range, Vec<Wire>>;

/// Sorts all facts into segments.
pub(crate) fn assign<'f>(facts: &'f Facts<'_>, wires: &mut Wires<'f>) -> Segments {
    let mut found = Segments::default();
    for policy in &facts.policies {
        let names = policy.wants.interfaces.iter().map(|interface| interface.name.value);
        found.interfaces.push(names.map(|name| wires.interface(name)).collect());
    }
    let unanchored = attachments(facts, wires, &mut found);
    let mut prefixes = known_prefixes(facts, &found, &unanchored, wires);
    subnets(facts, wires, &mut found, &mut prefixes, &unanchored);
    for at in unanchored {
        let ranges = &facts.attachments[at].conf.ipam.ranges;
        let equal = ranges.iter().find_map(|range| only(&prefixes, range.prefix.value, wires));
        if let Some(wire) = equal {
            wires.join(found.attachments[at], wire);
        }
    }
    for list in &mut prefixes.values_mut() {
        for wire in list {
            *wire = wires.root(*wire);
        }
    }
    found.prefixes = index(&prefixes);
    neutron(facts, wires, &mut found, &prefixes);
    pools(facts, wires, &mut found);
    settle(&mut found, wires);
    found
}

/// Ties attachments to their interfaces; returns those that name none.
fn attachments<'f>(
    facts: &'f Facts<'_>,
    wires: &mut Wires<'f>,
    found: &mut Segments,
) -> Vec<usize> {
    let mut unanchored = Vec::new();
    for (at, attachment) in facts.attachments.iter().enumerate() {
        let conf = &attachment.conf;
        let Some(interface) = conf.interface() else {
            unanchored.push(at);
            found.attachments.push(wires.fresh());
            continue;
        };
        let vlan = conf.vlan.as_ref().and_then(|vlan| u16::try_from(vlan.value).ok());
        let wire = wires.behind(&interface.value, vlan.filter(|vlan| *vlan > 0));
        found.attachments.push(wire);
    }
    unanchored
}

/// Prefixes that interfaces and anchored attachments have.
fn known_prefixes(
    facts: &Facts<'_>,
    found: &Segments,
    unanchored: &[usize],
    wires: &mut Wires<'_>,
) -> ByPrefix {
    let mut prefixes = ByPrefix::new();
    let mut add = |cidr: Cidr, wire: Wire| {
        let root = wires.root(wire);
        let list = prefixes.entry(Range::from(cidr)).or_default();
        if !list.contains(&root) {
            list.push(root);
        }
    };
    for (at, attachment) in facts.attachments.iter().enumerate() {
        if unanchored.binary_search(&at).is_err() {
            for range in &attachment.conf.ipam.ranges {
                add(range.prefix.value, found.attachments[at]);
            }
        }
    }
    for (policy, wires) in facts.policies.iter().zip(&found.interfaces) {
        for (interface, wire) in policy.wants.interfaces.iter().zip(wires) {
            for address in &interface.addresses {
                if let Some(cidr) = prefix_of(address.value) {
                    add(cidr, *wire);
                }
            }
        }
    }
    prefixes
}

/// The prefix an address with a length lies in; host addresses say nothing about a network.
pub(crate) fn prefix_of((address, length): (std::net::IpAddr, u8)) -> Option<Cidr> {
    let whole = if address.is_ipv4() { 32 } else { 128 };
    if length >= whole {
        return None;
    }
    format!("{address}/{length}").parse().ok()
}

fn only(prefixes: &ByPrefix, cidr: Cidr, wires: &mut Wires<'_>) -> Option<Wire> {
    let list = prefixes.get(&Range::from(cidr))?;
    let mut roots: Vec<Wire> = list.iter().map(|wire| wires.root(*wire)).collect();
    roots.sort_unstable();
    roots.dedup();
    if let [one] = roots[..] { Some(one) } else { None }
}

/// Signs of where a subnet is, and how much each is worth.
const VLAN: u8 = 4;
const NAME: u8 = 3;
const PREFIX: u8 = 2;

fn subnets(
    facts: &Facts<'_>,
    wires: &mut Wires<'_>,
    found: &mut Segments,
    prefixes: &mut ByPrefix,
    unanchored: &[usize],
) {
    let mut by_vlan: HashMap<u16, Vec<Wire>> = HashMap::new();
    for (root, tags) in wires.tags() {
        for (_, id) in tags {
            by_vlan.entry(id).or_default().push(root);
        }
    }
    for list in by_vlan.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    let mut by_name = HashMap::new();
    for (at, attachment) in facts.attachments.iter().enumerate() {
        by_name.insert((attachment.namespace, attachment.name.to_lowercase()), at);
    }
    // First those that something more than a prefix leads to.
    let mut joins: Vec<Option<(Wire, Join)>> = Vec::new();
    let mut used: HashSet<Wire> = HashSet::new();
    for (position, subnet) in facts.subnets.iter().enumerate() {
        if subnet.own_wires {
            joins.push(None);
            continue;
        }
        let mut signs: Vec<(Wire, u8, Join)> = Vec::new();
        let mut sign = |wire: Wire, worth: u8, join: Join| match signs
            .iter_mut()
            .find(|(other, _, _)| *other == wire)
        {
            Some((_, sum, _)) => *sum += worth,
            None => signs.push((wire, worth, join)),
        };
        let carrying = subnet.vlan.and_then(|vlan| by_vlan.get(&vlan));
        for wire in carrying.into_iter().flatten() {
            sign(*wire, VLAN, Join::Vlan);
        }
        let named = by_name.get(&(subnet.namespace, subnet.service.clone()));
        let named =
            named.or_else(|| by_name.get(&(subnet.namespace, subnet.network.to_lowercase())));
        if let Some(at) = named.filter(|at| may_be(facts, position, **at)) {
            let wire = wires.root(found.attachments[*at]);
            // An attachment without an interface is where its network is, not the reverse.
            let worth = if unanchored.binary_search(at).is_ok() { 1 } else { NAME };
            sign(wire, worth, Join::Name(*at));
        }
        let equal = prefixes.get(&Range::from(subnet.cidr.value));
        for wire in equal.into_iter().flatten() {
            let wire = wires.root(*wire);
            if let Some((_, sum, _)) = signs.iter_mut().find(|(other, _, _)| *other == wire) {
                *sum += PREFIX;
            }
        }
        let best = signs.iter().max_by_key(|(wire, worth, _)| (*worth, std::cmp::Reverse(*wire)));
        let ambiguous = best.is_some_and(|(_, most, join)| {
            *join == Join::Vlan && signs.iter().filter(|(_, worth, _)| worth == most).count() > 1
        });
        let best = best.filter(|_| !ambiguous).map(|(wire, _, join)| (*wire, *join));
        used.extend(best.map(|(wire, _)| wire));
        joins.push(best);
    }
    // Then those that only their prefix leads somewhere; a segment that already is a network of a
    // NetConfig is not meant.
    for (at, subnet) in facts.subnets.iter().enumerate() {
        let wire = wires.fresh();
        if subnet.own_wires {
            found.tenants.insert(wire);
        }
        let join = joins[at].or_else(|| {
            if subnet.own_wires {
                return None;
            }
            let equal = only(prefixes, subnet.cidr.value, wires)?;
            used.insert(equal).then_some((equal, Join::Prefix))
        });
        if let Some((to, _)) = join {
            wires.join(wire, to);
        }
        found.subnets.push((wire, join.map_or(Join::Alone, |(_, join)| join)));
    }
    // Subnets of one network with one VLAN are one segment.
    let mut siblings: HashMap<(usize, usize, Option<u16>), Wire> = HashMap::new();
    for (at, subnet) in facts.subnets.iter().enumerate() {
        let (wire, join) = found.subnets[at];
        let key = (subnet.source, subnet.number, subnet.vlan);
        let first = *siblings.entry(key).or_insert(wire);
        if first != wire && join == Join::Alone {
            wires.join(first, wire);
        }
    }
    for (at, subnet) in facts.subnets.iter().enumerate().filter(|(_, s)| !s.own_wires) {
        let root = wires.root(found.subnets[at].0);
        let list = prefixes.entry(Range::from(subnet.cidr.value)).or_default();
        if !list.contains(&root) {
            list.push(root);
        }
    }
}

/// Whether the attachment of a network's name is about this subnet of it. It is, unless the network
/// has several VLANs and the attachment's prefix is another subnet's.
fn may_be(facts: &Facts<'_>, subnet: usize, attachment: usize) -> bool {
    let own = &facts.subnets[subnet];
    let ranges = &facts.attachments[attachment].conf.ipam.ranges;
    let has = |cidr: Cidr| ranges.iter().any(|range| range.prefix.value == cidr);
    if has(own.cidr.value) {
        return true;
    }
    // Subnets of one network stand beside each other.
    let same = |other: &&Subnet<'_>| other.source == own.source && other.number == own.number;
    let (before, after) = facts.subnets.split_at(subnet);
    let siblings = before.iter().rev().take_while(same).chain(after.iter().take_while(same));
    let siblings: Vec<_> = siblings.collect();
    siblings.iter().all(|other| other.vlan == own.vlan)
        || !siblings.iter().any(|other| has(other.cidr.value))
}

fn index(prefixes: &ByPrefix) -> RangeIndex<Wire> {
    let all = prefixes.iter().flat_map(|(range, list)| list.iter().map(|wire| (*range, *wire)));
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().collect()
}

/// What says where a network of Neutron is.
#[derive(Clone, Copy)]
enum Anchor {
    /// The NIC it is mapped to.
    Nic,
    /// Nothing, though it is somewhere.
    Unknown,
    /// It is a segment of its own.
    Tenant,
}

fn neutron<'f>(
    facts: &'f Facts<'_>,
    wires: &mut Wires<'f>,
    found: &mut Segments,
    prefixes: &ByPrefix,
) {
    // Networks and subnets may come in different documents.
    let mut networks: HashMap<&str, (Wire, Anchor)> = HashMap::new();
    let mappings: HashMap<&str, (&str, &str)> =
        facts.nic_mappings.iter().map(|(space, net, nic)| (*net, (*space, *nic))).collect();
    let attached = facts.attachments.iter().filter_map(|attachment| {
        let interface = attachment.conf.interface()?;
        Some(((attachment.namespace, attachment.name), interface.value.as_str()))
    });
    let attached: HashMap<(&str, &str), &str> = attached.collect();
    for network in facts.neutron.iter().flat_map(|(_, document)| &document.networks) {
        let provider = matches!(network.network_type, Some("flat" | "vlan"));
        let nic = network.physical_network.filter(|_| provider).and_then(|physical| {
            let (namespace, nic) = *mappings.get(physical)?;
            // An attachment of that name wins over the mapping's NIC: OVN uses it as it is.
            Some(attached.get(&(namespace, physical)).copied().unwrap_or(nic))
        });
        let tag = network.segmentation_id.as_ref().filter(|_| network.network_type == Some("vlan"));
        let tag = tag.and_then(|tag| u16::try_from(tag.value).ok()).filter(|tag| *tag > 0);
        let wire = match nic {
            Some(nic) => wires.behind(nic, tag),
            None => wires.fresh(),
        };
        let anchor = match (nic, provider) {
            (Some(_), _) => Anchor::Nic,
            (None, true) => Anchor::Unknown,
            (None, false) => Anchor::Tenant,
        };
        networks.insert(network.id, (wire, anchor));
        networks.insert(network.name, (wire, anchor));
    }
    for (_, document) in &facts.neutron {
        let mut list = Vec::new();
        for subnet in &document.subnets {
            let known = networks.get(subnet.network).copied();
            let (wire, anchor) = known.unwrap_or_else(|| (wires.fresh(), Anchor::Tenant));
            match anchor {
                Anchor::Nic => {}
                // An equal prefix has to do.
                Anchor::Unknown => {
                    if let Some(equal) = only(prefixes, subnet.cidr.value, wires) {
                        wires.join(wire, equal);
                    }
                }
                Anchor::Tenant => {
                    found.tenants.insert(wire);
                }
            }
            list.push(wire);
        }
        found.neutron.push(list);
    }
}

/// A pool's range is where its addresses are known; among several such places, and when there is
/// none, it is where it is announced.
fn pools<'f>(facts: &'f Facts<'_>, wires: &mut Wires<'f>, found: &mut Segments) {
    let announced = announcements(facts, wires);
    let mut nowhere: Vec<(Range, Wire)> = Vec::new();
    for (at, pool) in facts.pools.iter().enumerate() {
        let mut list = Vec::new();
        for range in &pool.ranges {
            let known = found.prefixes.intersecting(range.value);
            let known: Vec<Wire> = known.map(|(_, wire)| wires.root(*wire)).collect();
            let places = announced.get(&at).map_or(&[][..], Vec::as_slice);
            let both = known.iter().find(|wire| places.contains(wire));
            let wire = both.or_else(|| known.first()).or_else(|| places.first()).copied();
            list.push(wire.unwrap_or_else(|| {
                let wire = wires.fresh();
                nowhere.push((range.value, wire));
                wire
            }));
        }
        found.pools.push(list);
    }
    // Wherever they are: addresses that two have are in one place.
    for (a, b) in overlaps(nowhere.iter().map(|(range, wire)| (*range, *wire))) {
        wires.join(a, b);
    }
}

/// Where pools are announced: roots by position of the pool.
pub(crate) fn announcements<'f>(
    facts: &'f Facts<'_>,
    wires: &mut Wires<'f>,
) -> HashMap<usize, Vec<Wire>> {
    let by_name: HashMap<&str, usize> =
        facts.pools.iter().enumerate().map(|(at, pool)| (pool.name, at)).collect();
    let mut announced: HashMap<usize, Vec<Wire>> = HashMap::new();
    for advertisement in &facts.advertisements {
        for pool in &advertisement.l2.pools {
            let Some(at) = by_name.get(pool.value) else { continue };
            for interface in &advertisement.l2.interfaces {
                let wire = wires.named(interface.value);
                let root = wires.root(wire);
                announced.entry(*at).or_default().push(root);
            }
        }
    }
    announced
}

/// Replaces everything by its root.
fn settle(found: &mut Segments, wires: &mut Wires<'_>) {
    for (wire, _) in &mut found.subnets {
        *wire = wires.root(*wire);
    }
    let lists = found.pools.iter_mut().chain(&mut found.interfaces).chain(&mut found.neutron);
    for wire in found.attachments.iter_mut().chain(lists.flatten()) {
        *wire = wires.root(*wire);
    }
    found.tenants = found.tenants.iter().map(|wire| wires.root(*wire)).collect();
    let prefixes = found.prefixes.iter().map(|(range, wire)| (range, *wire)).collect::<Vec<_>>();
    found.prefixes = prefixes.into_iter().map(|(range, wire)| (range, wires.root(wire))).collect();
}

impl Segments {
    /// The segment an address is on, by the longest prefix that holds it.
    pub fn holding(&self, address: std::net::IpAddr) -> Option<Wire> {
        let holding = self.prefixes.holding(address);
        holding.min_by_key(|(range, wire)| (range.len(), **wire)).map(|(_, wire)| *wire)
    }
}
