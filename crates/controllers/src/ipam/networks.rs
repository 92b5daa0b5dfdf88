//! A NetConfig, resolved: for each subnet the wire it is on and the pool it hands out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_addr::net::{Cidr, Range};
use landbridge_addr::{Pool, Skip};
use landbridge_api::ledger::segment;
use landbridge_api::network::{LookupError, NetConfigSpec, Network, Subnet};

use super::seen::Config;
use crate::mirror::Key;

/// The networks of one namespace.
#[derive(Debug)]
pub struct Networks {
    /// The NetConfig they come from.
    pub config: Key,
    spec: Arc<NetConfigSpec>,
    subnets: HashMap<(usize, usize), Site>,
}

/// Where the addresses of a subnet live.
#[derive(Clone, Debug)]
pub struct Site {
    /// The wire.
    pub segment: Arc<str>,
    /// The prefix, or what is wrong with it.
    pub prefix: Result<Cidr, String>,
    /// The addresses that are never given away.
    pub excluded: Arc<[IpAddr]>,
}

/// One subnet a request asks for.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The network.
    pub network: &'a Network,
    /// The subnet.
    pub subnet: &'a Subnet,
    /// Where its addresses live.
    pub site: &'a Site,
    /// Its place in the NetConfig.
    pub index: (usize, usize),
}

impl Networks {
    /// Resolves a NetConfig.
    pub fn new(config: &Config) -> Self {
        let mut subnets = HashMap::new();
        for (n, network) in config.spec.networks.iter().enumerate() {
            for (s, subnet) in network.subnets.iter().enumerate() {
                subnets.insert((n, s), site(config, network, subnet));
            }
        }
        Self { config: config.key.clone(), spec: config.spec.clone(), subnets }
    }

    /// Network and subnet of those names, in any letter case.
    pub fn find(&self, network: &str, subnet: &str) -> Result<Found<'_>, LookupError> {
        let (found, in_it) = self.spec.find(network, subnet)?;
        let n = self.spec.networks.iter().position(|other| std::ptr::eq(other, found));
        let s = found.subnets.iter().position(|other| std::ptr::eq(other, in_it));
        let index = n.zip(s).unwrap_or_default();
        let missing = || LookupError::NoNetwork { network: network.to_owned() };
        let site = self.subnets.get(&index).ok_or_else(missing)?;
        Ok(Found { network: found, subnet: in_it, site, index })
    }

    /// All subnets, with their places.
    pub fn sites(&self) -> impl Iterator<Item = ((usize, usize), &Site, &Subnet)> {
        self.subnets.iter().filter_map(|(index, site)| {
            let subnet = self.spec.networks.get(index.0)?.subnets.get(index.1)?;
            Some((*index, site, subnet))
        })
    }
}

fn site(config: &Config, network: &Network, subnet: &Subnet) -> Site {
    Site {
        segment: segment::of(config.wires.as_deref(), network, subnet),
        prefix: subnet.cidr.parse().map_err(|why| format!("{}: {why}", subnet.cidr)),
        excluded: subnet.exclude_addresses.iter().filter_map(|text| text.parse().ok()).collect(),
    }
}

/// The pool of a subnet. What cannot be read in a range was refused by admission, or nobody asked
/// admission; either way nothing is handed out from it.
pub fn pool(site: &Site, subnet: &Subnet, held: impl Iterator<Item = IpAddr>) -> Pool {
    let ranges: Vec<Range> = subnet
        .allocation_ranges
        .iter()
        .filter_map(|range| Range::new(range.first()?, range.last()?))
        .filter(|range| {
            site.prefix
                .as_ref()
                .is_ok_and(|p| p.contains(range.first()) && p.contains(range.last()))
        })
        .collect();
    let excluded = site.excluded.iter().filter_map(|address| Range::new(*address, *address));
    Pool::rebuild(&ranges, excluded.collect(), Skip::Upstream, held)
}
