//! Who hands out which addresses on which segment, and which addresses are taken.

use std::collections::HashMap;
use std::net::IpAddr;

use landbridge_addr::{RangeIndex, RangeSet};
use landbridge_api::foreign::Place;
use landbridge_api::foreign::cni::IpamRange;
use landbridge_api::net::Range;
use serde_json::Value;

use crate::facts::Facts;
use crate::finding::Mark;
use crate::segments::Segments;
use crate::source::Source;
use crate::wires::Wire;

/// Who keeps the books of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Owner {
    NetConfig,
    Attachment,
    Pool,
    Neutron,
}

/// Addresses that somebody hands out.
#[derive(Debug)]
pub(crate) struct Handed {
    pub owner: Owner,
    /// The object.
    pub source: usize,
    pub segment: Wire,
    pub mark: Mark,
    pub range: Range,
    /// What is left of the range without what is excluded.
    pub pieces: Vec<Range>,
    /// `NetConfig openstack/netconfig, network storage`.
    pub label: String,
    /// Further objects that hand out of the same books.
    pub sharers: Vec<String>,
}

/// Why an address is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    Host,
    Router,
    Vip,
    Fixed,
    Reserved,
    Pod,
    Port,
    Static,
}

impl Role {
    pub fn text(self) -> &'static str {
        match self {
            Self::Host => "node address",
            Self::Router => "router",
            Self::Vip => "virtual address",
            Self::Fixed => "fixed address",
            Self::Reserved => "reservation",
            Self::Pod => "pod",
            Self::Port => "Neutron port",
            Self::Static => "static pod address",
        }
    }

    /// Who hands out addresses of this role, when somebody does.
    pub fn owner(self) -> Option<Owner> {
        match self {
            Self::Host | Self::Router | Self::Static => None,
            Self::Vip => Some(Owner::Pool),
            Self::Fixed | Self::Reserved => Some(Owner::NetConfig),
            Self::Pod => Some(Owner::Attachment),
            Self::Port => Some(Owner::Neutron),
        }
    }
}

/// An address that is taken.
#[derive(Debug)]
pub(crate) struct Claim {
    pub role: Role,
    pub segment: Wire,
    pub address: IpAddr,
    pub holder: String,
    pub mark: Mark,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub ranges: Vec<Handed>,
    pub claims: Vec<Claim>,
}

impl Ledger {
    pub fn new(facts: &Facts<'_>, segments: &Segments, sources: &[Source<'_>]) -> Self {
        let mut ledger = Self::default();
        ledger.subnets(facts, segments, sources);
        ledger.attachments(facts, segments, sources);
        ledger.pools(facts, segments, sources);
        ledger.neutron(facts, segments);
        ledger.hosts(facts, segments);
        ledger.held(facts, segments);
        ledger.vips(facts, segments);
        ledger
    }

    fn subnets(&mut self, facts: &Facts<'_>, segments: &Segments, sources: &[Source<'_>]) {
        for (subnet, (segment, _)) in facts.subnets.iter().zip(&segments.subnets) {
            let label = format!("{}, network {}", sources[subnet.source].object, subnet.network);
            let exclude: RangeSet = subnet.exclude.iter().copied().collect();
            for range in &subnet.ranges {
                self.ranges.push(Handed {
                    owner: Owner::NetConfig,
                    source: subnet.source,
                    segment: *segment,
                    mark: Mark::new(subnet.source, &range.place),
                    range: range.value,
                    pieces: exclude.gaps(range.value).collect(),
                    label: label.clone(),
                    sharers: Vec::new(),
                });
            }
            for router in &subnet.routers {
                self.claims.push(Claim {
                    role: Role::Router,
                    segment: *segment,
                    address: router.value,
                    holder: format!("network {}", subnet.network),
                    mark: Mark::new(subnet.source, &router.place),
                });
            }
        }
    }

    fn attachments(&mut self, facts: &Facts<'_>, segments: &Segments, sources: &[Source<'_>]) {
        // Attachments with one whereabouts range share its books.
        let mut books: HashMap<(Wire, Range, Vec<Range>), usize> = HashMap::new();
        for (attachment, segment) in facts.attachments.iter().zip(&segments.attachments) {
            let (source, segment) = (attachment.source, *segment);
            let label = sources[source].object.to_string();
            let config = sources[source].value["spec"]["config"].as_str().unwrap_or_default();
            let config: Value = serde_json::from_str(config).unwrap_or_default();
            for range in &attachment.conf.ipam.ranges {
                let exclude: RangeSet = range.exclude.iter().copied().collect();
                let pieces: Vec<Range> = exclude.gaps(range.range).collect();
                let book = books.entry((segment, range.range, pieces.clone()));
                let new = self.ranges.len();
                let at = *book.or_insert(new);
                if at != new {
                    self.ranges[at].sharers.push(label.clone());
                    continue;
                }
                self.ranges.push(Handed {
                    owner: Owner::Attachment,
                    source,
                    segment,
                    mark: Mark::new(source, &start_of(range, &config)),
                    range: range.range,
                    pieces,
                    label: label.clone(),
                    sharers: Vec::new(),
                });
            }
            let routers = attachment.conf.ipam.routers.iter().map(|router| (Role::Router, router));
            let statics = attachment.conf.ipam.addresses.iter().map(|own| (Role::Static, own));
            for (role, address) in routers.chain(statics) {
                self.claims.push(Claim {
                    role,
                    segment,
                    address: address.value,
                    holder: match role {
                        Role::Router => format!("attachment {}", attachment.name),
                        _ => format!("pods on attachment {}", attachment.name),
                    },
                    mark: Mark::new(source, &address.place),
                });
            }
        }
    }

    fn pools(&mut self, facts: &Facts<'_>, segments: &Segments, sources: &[Source<'_>]) {
        for (pool, wires) in facts.pools.iter().zip(&segments.pools) {
            for (range, segment) in pool.ranges.iter().zip(wires) {
                self.ranges.push(Handed {
                    owner: Owner::Pool,
                    source: pool.source,
                    segment: *segment,
                    mark: Mark::new(pool.source, &range.place),
                    range: range.value,
                    pieces: vec![range.value],
                    label: sources[pool.source].object.to_string(),
                    sharers: Vec::new(),
                });
            }
        }
    }

    fn neutron(&mut self, facts: &Facts<'_>, segments: &Segments) {
        let mut by_id: HashMap<&str, Wire> = HashMap::new();
        for ((source, document), wires) in facts.neutron.iter().zip(&segments.neutron) {
            for (subnet, segment) in document.subnets.iter().zip(wires) {
                by_id.insert(subnet.id, *segment);
                let label = format!("Neutron subnet {}", one_of(subnet.name, subnet.id));
                for pool in &subnet.pools {
                    self.ranges.push(Handed {
                        owner: Owner::Neutron,
                        source: *source,
                        segment: *segment,
                        mark: Mark::new(*source, &pool.place),
                        range: pool.value,
                        pieces: vec![pool.value],
                        label: label.clone(),
                        sharers: Vec::new(),
                    });
                }
                self.claims.extend(subnet.gateway.as_ref().map(|gateway| Claim {
                    role: Role::Router,
                    segment: *segment,
                    address: gateway.value,
                    holder: label.clone(),
                    mark: Mark::new(*source, &gateway.place),
                }));
            }
        }
        for (source, document) in &facts.neutron {
            for port in &document.ports {
                for (address, subnet) in &port.fixed_ips {
                    let Some(segment) = by_id.get(subnet) else { continue };
                    self.claims.push(Claim {
                        role: Role::Port,
                        segment: *segment,
                        address: address.value,
                        holder: format!("port {}", one_of(port.name, port.id)),
                        mark: Mark::new(*source, &address.place),
                    });
                }
            }
        }
    }

    fn hosts(&mut self, facts: &Facts<'_>, segments: &Segments) {
        for (policy, wires) in facts.policies.iter().zip(&segments.interfaces) {
            let host = policy.wants.hostname();
            let holder = host.map_or_else(
                || format!("nodes of policy {}", policy.name),
                |host| format!("node {host}"),
            );
            for (interface, segment) in policy.wants.interfaces.iter().zip(wires) {
                if interface.absent {
                    continue;
                }
                for address in &interface.addresses {
                    self.claims.push(Claim {
                        role: Role::Host,
                        segment: *segment,
                        address: address.value.0,
                        holder: holder.clone(),
                        mark: Mark::new(policy.source, &address.place),
                    });
                }
            }
        }
    }

    fn held(&mut self, facts: &Facts<'_>, segments: &Segments) {
        let mut by_name: HashMap<(&str, String, String), Wire> = HashMap::new();
        for (subnet, (segment, _)) in facts.subnets.iter().zip(&segments.subnets) {
            let key = (subnet.namespace, subnet.network.to_lowercase(), subnet.name.to_lowercase());
            by_name.entry(key).or_insert(*segment);
        }
        for held in &facts.held {
            let key = (held.namespace, held.network.to_lowercase(), held.subnet.to_lowercase());
            let Some(segment) = by_name.get(&key) else { continue };
            self.claims.push(Claim {
                role: if held.fixed { Role::Fixed } else { Role::Reserved },
                segment: *segment,
                address: held.address,
                holder: format!("IPSet {}/{}", held.namespace, held.holder),
                mark: held.mark.clone(),
            });
        }
        let attached = facts.attachments.iter().zip(&segments.attachments);
        let by_prefix: HashMap<Range, Wire> = attached
            .flat_map(|(attachment, segment)| {
                let ranges = attachment.conf.ipam.ranges.iter();
                ranges.map(|range| (Range::from(range.prefix.value), *segment))
            })
            .collect();
        for given in &facts.pod_addresses {
            let known = by_prefix.get(&Range::from(given.prefix)).copied();
            let segment = known.or_else(|| segments.holding(given.address));
            let Some(segment) = segment else { continue };
            self.claims.push(Claim {
                role: Role::Pod,
                segment,
                address: given.address,
                holder: format!("pod {}", given.pod),
                mark: given.mark.clone(),
            });
        }
    }

    fn vips(&mut self, facts: &Facts<'_>, segments: &Segments) {
        let index: RangeIndex<(&str, Wire)> = facts
            .pools
            .iter()
            .zip(&segments.pools)
            .flat_map(|(pool, wires)| {
                let ranges = pool.ranges.iter().zip(wires);
                ranges.map(|(range, wire)| (range.value, (pool.name, *wire)))
            })
            .collect();
        for exposure in facts.exposures.iter().filter(|exposure| exposure.load_balancer) {
            for text in &exposure.wish.addresses {
                let Ok(address) = text.value.parse() else { continue };
                let wanted = exposure.wish.pool.as_ref().map(|pool| pool.value);
                let mut pools: Vec<_> = index.holding(address).map(|(_, pool)| *pool).collect();
                pools.sort_by_key(|(name, _)| wanted != Some(*name));
                let segment = pools.first().map(|(_, wire)| *wire);
                let Some(segment) = segment.or_else(|| segments.holding(address)) else { continue };
                self.claims.push(Claim {
                    role: Role::Vip,
                    segment,
                    address,
                    holder: format!("service {}/{}", exposure.namespace, exposure.service),
                    mark: Mark::new(exposure.source, &text.place),
                });
            }
        }
    }
}

/// Where a range of whereabouts begins: at `range_start`, when there is one that counts.
fn start_of(range: &IpamRange, config: &Value) -> Place {
    let start = range.place.child("range_start");
    let pointer = start
        .inner
        .as_ref()
        .map(|path| format!("/{}", path.as_str().replace(['.', '['], "/").replace(']', "")));
    let written = pointer.is_some_and(|pointer| config.pointer(&pointer).is_some());
    let ignored = range.ignored.iter().any(|bound| bound.place == start);
    if written && !ignored { start } else { range.place.child("range") }
}

fn one_of<'a>(name: &'a str, id: &'a str) -> &'a str {
    if name.is_empty() { id } else { name }
}
