//! Which addresses move together, and who may announce them.
//!
//! MetalLB chooses for each Service by its first address. Services that share an address would then
//! be announced from two nodes as soon as their endpoints or advertisements differ; here whatever
//! shares an address is one unit, and has one node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_l2::eligible::{self, Advertisement, Refusal, Service};
use landbridge_l2::interfaces::Where;
use landbridge_l2::members::Contact;

use super::seen::{SeenAdvertisement, SeenNode, SeenPool, SeenService, SeenSlice, Wishes, selects};

/// Namespace and name.
pub type Name = (String, String);

/// Everything the API holds that matters.
#[derive(Debug, Default)]
pub struct World {
    /// Services with addresses.
    pub services: BTreeMap<Name, SeenService>,
    /// EndpointSlices.
    pub slices: BTreeMap<Name, SeenSlice>,
    /// Nodes.
    pub nodes: BTreeMap<String, SeenNode>,
    /// Pools.
    pub pools: BTreeMap<String, SeenPool>,
    /// Advertisements, or why one cannot be read.
    pub advertisements: BTreeMap<String, Result<SeenAdvertisement, String>>,
    /// Nodes on which an agent announces, as their ConfigurationStates tell.
    pub speakers: BTreeSet<String>,
}

/// Addresses that move together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedUnit {
    /// Nodes that may announce them, each with how much it is wanted.
    pub candidates: BTreeMap<String, u32>,
    /// The addresses, and on which interfaces of this node.
    pub addresses: BTreeMap<IpAddr, Option<Where>>,
    /// The Services.
    pub services: BTreeMap<Name, PlannedService>,
    /// What is asked for.
    pub wishes: Wishes,
}

/// A Service of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedService {
    /// Its interfaces on this node.
    pub wheres: Option<Where>,
    /// Its own addresses.
    pub addresses: Vec<IpAddr>,
}

/// What the wire needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Units by their first address.
    pub units: BTreeMap<IpAddr, PlannedUnit>,
    /// The other nodes.
    pub roster: BTreeMap<String, Contact>,
    /// This node's address of the machine network.
    pub own_address: Option<IpAddr>,
    /// Services that nobody announces, and why.
    pub refused: BTreeMap<Name, Refusal>,
}

/// Makes the plan of one node.
pub fn plan(world: &World, node: &str) -> Plan {
    let mut plan = Plan {
        own_address: world.nodes.get(node).and_then(|own| own.address),
        roster: roster(world, node),
        ..Plan::default()
    };
    let rules: BTreeMap<String, eligible::Node> =
        world.nodes.iter().map(|(name, node)| (name.clone(), node.rules.clone())).collect();
    let mut endpoints: BTreeMap<(&str, &str), Vec<eligible::Endpoint>> = BTreeMap::new();
    for ((namespace, _), slice) in &world.slices {
        let of = endpoints.entry((namespace, &slice.service)).or_default();
        of.extend(slice.endpoints.iter().cloned());
    }
    let mut prepared: BTreeMap<&str, Vec<Prepared<'_>>> = BTreeMap::new();
    for (name, pool) in &world.pools {
        let readable = world.advertisements.values().filter_map(|read| read.as_ref().ok());
        let about = readable.filter(|advertisement| advertisement.is_about(name, pool));
        prepared.insert(name, about.map(|it| Prepared::of(it, &world.nodes)).collect());
    }
    let mut singles = Vec::new();
    for (name, seen) in &world.services {
        let holds = |pool: &SeenPool| seen.addresses.iter().all(|ip| pool.contains(*ip));
        let pool = world.pools.iter().find(|(_, pool)| holds(pool));
        let advertisements = pool.and_then(|(pool, _)| prepared.get(pool.as_str()));
        let advertisements = advertisements.map_or(&[][..], Vec::as_slice);
        let service = Service {
            endpoints: endpoints.remove(&(name.0.as_str(), name.1.as_str())).unwrap_or_default(),
            local: seen.local,
            shared: seen.shared,
            advertisements: advertisements.iter().map(|it| it.for_service(seen)).collect(),
        };
        match eligible::candidates(&service, &rules) {
            Err(refusal) => {
                plan.refused.insert(name.clone(), refusal);
            }
            Ok(candidates) => {
                let matching = advertisements.iter().filter(|it| it.matches(seen));
                let wishes = matching.map(|it| it.wishes).fold(seen.wishes, Wishes::or);
                let wheres = eligible::interfaces(&service, node);
                singles.push(Single { name, seen, candidates, wishes, wheres });
            }
        }
    }
    plan.units = units(&singles);
    plan
}

/// An advertisement with its nodes found.
struct Prepared<'a> {
    seen: &'a SeenAdvertisement,
    nodes: BTreeSet<String>,
    weights: BTreeMap<String, u32>,
    interfaces: Where,
    wishes: Wishes,
}

impl<'a> Prepared<'a> {
    fn of(seen: &'a SeenAdvertisement, nodes: &BTreeMap<String, SeenNode>) -> Self {
        let selected = |node: &SeenNode| {
            let mut selectors = seen.node_selectors.iter();
            seen.node_selectors.is_empty() || selectors.any(|one| selects(one, &node.labels))
        };
        let names = nodes.iter().filter(|(_, node)| selected(node)).map(|(name, _)| name.clone());
        let weight = |node: &SeenNode| {
            let wishes = seen.preferred.iter().filter(|(_, wish)| selects(wish, &node.labels));
            wishes.fold(0_u32, |sum, (weight, _)| sum.saturating_add(*weight))
        };
        let interfaces = if seen.interfaces.is_empty() {
            Where::All
        } else {
            Where::Named(seen.interfaces.iter().cloned().collect())
        };
        Self {
            nodes: names.collect(),
            weights: nodes.iter().map(|(name, node)| (name.clone(), weight(node))).collect(),
            interfaces,
            wishes: seen.wishes,
            seen,
        }
    }

    fn matches(&self, service: &SeenService) -> bool {
        let selectors = &self.seen.service_selectors;
        selectors.is_empty() || selectors.iter().any(|one| selects(one, &service.labels))
    }

    fn for_service(&self, service: &SeenService) -> Advertisement {
        Advertisement {
            nodes: self.nodes.clone(),
            interfaces: self.interfaces.clone(),
            selects_services: !self.seen.service_selectors.is_empty(),
            matches: self.matches(service),
            weights: self.weights.clone(),
        }
    }
}

/// A Service by itself.
struct Single<'a> {
    name: &'a Name,
    seen: &'a SeenService,
    candidates: BTreeMap<String, u32>,
    wishes: Wishes,
    wheres: Option<Where>,
}

/// Puts Services together that share addresses. A unit is known by the lowest of the first
/// addresses of its Services; with one Service, or with all on one address, that is the address
/// by which MetalLB chooses.
fn units(singles: &[Single<'_>]) -> BTreeMap<IpAddr, PlannedUnit> {
    // Which group an address is in, and which Services a group has.
    let mut group_of: BTreeMap<IpAddr, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Single<'_>>> = Vec::new();
    for single in singles {
        let addresses = &single.seen.addresses;
        let touched: BTreeSet<usize> =
            addresses.iter().filter_map(|ip| group_of.get(ip).copied()).collect();
        let mut members = vec![single];
        let mut all: BTreeSet<IpAddr> = addresses.iter().copied().collect();
        for old in touched {
            let moved = groups.get_mut(old).map(std::mem::take).unwrap_or_default();
            all.extend(moved.iter().flat_map(|one| one.seen.addresses.iter().copied()));
            members.extend(moved);
        }
        group_of.extend(all.into_iter().map(|ip| (ip, groups.len())));
        groups.push(members);
    }
    groups.iter().filter_map(|members| unit(members)).collect()
}

fn unit(members: &[&Single<'_>]) -> Option<(IpAddr, PlannedUnit)> {
    let firsts = members.iter().filter_map(|single| single.seen.addresses.first());
    let key = *firsts.min()?;
    let mut unit = PlannedUnit::default();
    for single in members {
        unit.wishes = unit.wishes.or(single.wishes);
        let (wheres, addresses) = (single.wheres.clone(), single.seen.addresses.clone());
        unit.services.insert(single.name.clone(), PlannedService { wheres, addresses });
        for ip in &single.seen.addresses {
            let known = unit.addresses.remove(ip).flatten();
            let both = match (known, single.wheres.clone()) {
                (Some(one), Some(other)) => Some(one.union(other)),
                (one, other) => one.or(other),
            };
            unit.addresses.insert(*ip, both);
        }
    }
    unit.candidates = together(members);
    Some((key, unit))
}

/// The nodes that may announce all of some Services; where there is none, those that may announce
/// some: one node is better than two for one address, and any is better than none.
fn together(members: &[&Single<'_>]) -> BTreeMap<String, u32> {
    let mut each = members.iter().map(|single| &single.candidates).filter(|all| !all.is_empty());
    let Some(first) = each.next() else { return BTreeMap::new() };
    let (mut all, mut any) = (first.clone(), first.clone());
    for more in each {
        all.retain(|name, _| more.contains_key(name));
        for (name, weight) in more {
            if let Some(sum) = all.get_mut(name) {
                *sum = (*sum).max(*weight);
            }
            let sum = any.entry(name.clone()).or_default();
            *sum = (*sum).max(*weight);
        }
    }
    if all.is_empty() { any } else { all }
}

/// Who is told that we live, and who counts when we ask ourselves whether we are cut off.
fn roster(world: &World, node: &str) -> BTreeMap<String, Contact> {
    let others = world.nodes.iter().filter(|(name, _)| *name != node);
    others
        .filter_map(|(name, other)| {
            let counted = other.ready && world.speakers.contains(name);
            Some((name.clone(), Contact { address: other.address?, counted }))
        })
        .collect()
}
