//! Where the ledger keeps the addresses that others than IPSets have.
//!
//! A site is a subnet of a NetConfig that is on the same segment as an attachment, an interface that a
//! policy makes, or a pool of virtual addresses: an address of its prefix that a pod, a node or a
//! Service has must not be an IPSet's. What is on one segment is decided as for [`check`](crate::check). Where that leads
//! nowhere, an overlap of prefixes has to do, unless VLANs are known and differ: giving one address
//! twice is worse than giving the next one.
//!
//! A NetConfig on wires of its own has nothing in common with anybody.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use landbridge_api::ledger::segment;
use landbridge_api::net::Range;
use landbridge_api::network;

use crate::facts::{self, Facts, Subnet};
use crate::segments::{self, Join, Segments, prefix_of};
use crate::source::{Options, Source};
use crate::wires::{Wire, Wires};

/// A part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The segment, as the ledger calls it.
    pub segment: Arc<str>,
    /// The addresses: all of the subnet's prefix.
    pub prefix: Range,
}

/// The sites of attachments, interfaces and pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    attachments: HashMap<(String, String), Vec<Site>>,
    interfaces: HashMap<(String, String), Vec<Site>>,
    pools: HashMap<String, Vec<Site>>,
}

impl Sites {
    /// The sites that hold addresses of an attachment's ranges, by namespace and name.
    pub fn of_attachment(&self, namespace: &str, name: &str) -> &[Site] {
        let found = self.attachments.get(&(namespace.to_owned(), name.to_owned()));
        found.map_or(&[], Vec::as_slice)
    }

    /// The sites that hold addresses of a pool, by its name.
    pub fn of_pool(&self, name: &str) -> &[Site] {
        self.pools.get(name).map_or(&[], Vec::as_slice)
    }

    /// The sites that hold addresses of an interface of a policy, by name of policy and interface.
    pub fn of_interface(&self, policy: &str, interface: &str) -> &[Site] {
        let found = self.interfaces.get(&(policy.to_owned(), interface.to_owned()));
        found.map_or(&[], Vec::as_slice)
    }
}

/// The sites of all subnets, whatever else is on their segments.
pub fn all_sites(netconfigs: &[Source<'_>]) -> Vec<Site> {
    let options = Options::default();
    let known = facts::Sources::new(netconfigs, &options);
    let facts = facts::gather(&known);
    let shared = facts.subnets.iter().filter(|subnet| !subnet.own_wires);
    distinct(shared.map(site).collect())
}

/// Puts the sources (NetConfigs, policies, attachments, pools, advertisements) together.
pub fn sites(sources: &[Source<'_>]) -> Sites {
    let options = Options::default();
    let known = facts::Sources::new(sources, &options);
    let facts = facts::gather(&known);
    let mut wires = Wires::new(&facts);
    let segments = segments::assign(&facts, &mut wires);
    let tags = wires.tags();
    let vlans = |wire: Wire| {
        let tags = tags.get(&wire).map_or(&[][..], Vec::as_slice);
        tags.iter().map(|(_, vlan)| *vlan).collect::<Vec<u16>>()
    };
    let policies = facts.policies.iter().flat_map(|policy| &policy.wants.interfaces);
    let made: HashSet<&str> = policies
        .filter(|interface| !interface.absent)
        .flat_map(|interface| {
            let base = interface.vlan.iter().map(|(base, _)| base.value);
            let ports = interface.ports.iter().map(|port| port.value);
            ports.chain(base).chain([interface.name.value])
        })
        .collect();
    let mut found = Sites::default();
    for (attachment, wire) in facts.attachments.iter().zip(&segments.attachments) {
        let ranges = attachment.conf.ipam.ranges.iter();
        let prefixes: Vec<Range> = ranges.map(|range| range.prefix.value.into()).collect();
        let interface = attachment.conf.interface().map_or("", |interface| &interface.value);
        let vlans = vlans(*wire);
        let is_known = !vlans.is_empty() || made.contains(interface);
        let sites = shared(&facts, &segments, (*wire, is_known), &vlans, &prefixes);
        let key = (attachment.namespace.to_owned(), attachment.name.to_owned());
        found.attachments.insert(key, sites);
    }
    for (policy, wires) in facts.policies.iter().zip(&segments.interfaces) {
        let interfaces = policy.wants.interfaces.iter().zip(wires);
        for (interface, wire) in interfaces.filter(|(interface, _)| !interface.absent) {
            let addresses = interface.addresses.iter();
            let prefixes: Vec<Range> =
                addresses.filter_map(|address| prefix_of(address.value)).map(Into::into).collect();
            let sites = shared(&facts, &segments, (*wire, true), &vlans(*wire), &prefixes);
            let key = (policy.name.to_owned(), interface.name.value.to_owned());
            found.interfaces.insert(key, sites);
        }
    }
    for (pool, wires) in facts.pools.iter().zip(&segments.pools) {
        let ranges = pool.ranges.iter().zip(wires).flat_map(|(range, wire)| {
            shared(&facts, &segments, (*wire, true), &vlans(*wire), &[range.value])
        });
        found.pools.insert(pool.name.to_owned(), distinct(ranges.collect()));
    }
    found
}

/// The subnets that are on the wire, or may be, and have addresses of these prefixes. They may be
/// when nothing leads from the subnet to any wire, or nothing is known of this one.
fn shared(
    facts: &Facts<'_>,
    segments: &Segments,
    (wire, is_known): (Wire, bool),
    vlans: &[u16],
    prefixes: &[Range],
) -> Vec<Site> {
    let meets = |subnet: &Subnet<'_>| {
        let own = Range::from(subnet.cidr.value);
        prefixes.iter().any(|prefix| own.intersect(prefix).is_some())
    };
    let may_differ = |subnet: &Subnet<'_>| match subnet.vlan {
        Some(vlan) => !vlans.is_empty() && !vlans.contains(&vlan),
        None => false,
    };
    let all = facts.subnets.iter().zip(&segments.subnets);
    let found = all.filter(|(subnet, _)| !subnet.own_wires && meets(subnet));
    let found = found.filter(|(subnet, (at, join))| {
        let may_be = *join == Join::Alone || !is_known;
        *at == wire || (may_be && !may_differ(subnet))
    });
    distinct(found.map(|(subnet, _)| site(subnet)).collect())
}

fn site(subnet: &Subnet<'_>) -> Site {
    let network = network::Network { name: subnet.network.to_owned(), ..Default::default() };
    let vlan = subnet.vlan.map(i64::from);
    let of = segment::of(None, &network, &network::Subnet { vlan, ..Default::default() });
    Site { segment: of, prefix: subnet.cidr.value.into() }
}

fn distinct(mut sites: Vec<Site>) -> Vec<Site> {
    sites.sort();
    sites.dedup();
    sites
}
