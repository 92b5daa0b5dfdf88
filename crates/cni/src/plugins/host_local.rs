//! host-local: addresses out of ranges, recorded on the host.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::net::Range;
use landbridge_addr::number::{predecessor, successor};
use serde::Deserialize;

use super::static_ipam::{BadAddresses, one_per_family};
use crate::config::Input;
use crate::json;
use crate::result::Route;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLocal {
    /// One address is given out of each set.
    pub sets: Vec<Vec<LocalRange>>,
    /// Passed on.
    pub routes: Vec<Route>,
    /// Where it keeps its records.
    pub data_dir: String,
    /// The file that says what to tell the resolver; empty for none.
    pub resolv_conf: String,
}

/// One range, with its defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRange {
    /// The subnet.
    pub subnet: IpNet,
    /// From the first to the last.
    pub bounds: Range,
    /// The gateway, which is not given out.
    pub gateway: IpAddr,
}

#[derive(Deserialize)]
struct Section {
    #[serde(flatten)]
    first: RangeSection,
    #[serde(default)]
    ranges: Vec<Vec<RangeSection>>,
    #[serde(default)]
    routes: Vec<Route>,
    #[serde(default, rename = "dataDir")]
    data_dir: String,
    #[serde(default, rename = "resolvConf")]
    resolv_conf: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RangeSection {
    #[serde(default)]
    subnet: String,
    #[serde(default)]
    range_start: String,
    #[serde(default)]
    range_end: String,
    #[serde(default)]
    gateway: String,
}

impl HostLocal {
    /// Reads the configuration; ranges the runtime asks for come first.
    pub fn read(input: &Input) -> Result<Self, BadAddresses> {
        let section = input.ipam()?;
        if section.is_empty() {
            return Err(BadAddresses::Missing);
        }
        let section: Section = json::typed(&section).map_err(BadAddresses::Json)?;
        let told = input.keys.get("runtimeConfig").and_then(|runtime| runtime.get("ipRanges"));
        let told = told.filter(|ranges| !ranges.is_null());
        let mut written: Vec<Vec<RangeSection>> = match told {
            None => Vec::new(),
            Some(ranges) => serde_json::from_value(ranges.clone()).map_err(BadAddresses::Json)?,
        };
        if !section.first.subnet.is_empty() {
            written.push(vec![section.first]);
        }
        written.extend(section.ranges);
        if written.is_empty() {
            return Err(BadAddresses::NoRanges);
        }
        let mut sets = Vec::with_capacity(written.len());
        for (place, set) in written.iter().enumerate() {
            let set = read_set(set).map_err(|why| BadAddresses::RangeSet { place, why })?;
            sets.push(set);
        }
        let firsts = sets.iter().filter_map(|set| Some(set.first()?.gateway));
        one_per_family(input.version, firsts)?;
        for (first, set) in sets.iter().enumerate() {
            let later = sets.iter().enumerate().skip(first + 1);
            if let Some((second, _)) = later.into_iter().find(|(_, other)| overlap(set, other)) {
                return Err(BadAddresses::Overlap { first, second });
            }
        }
        let data_dir = match section.data_dir {
            none if none.is_empty() => "/var/lib/cni/networks".to_owned(),
            dir => dir,
        };
        Ok(Self { sets, routes: section.routes, data_dir, resolv_conf: section.resolv_conf })
    }
}

fn overlap(one: &[LocalRange], other: &[LocalRange]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.bounds.intersect(&b.bounds).is_some()))
}

fn read_set(set: &[RangeSection]) -> Result<Vec<LocalRange>, String> {
    let mut ranges: Vec<LocalRange> = Vec::with_capacity(set.len());
    for section in set {
        let range = LocalRange::read(section)?;
        for known in &ranges {
            if known.gateway.is_ipv4() != range.gateway.is_ipv4() {
                return Err("mixed address families".to_owned());
            }
            if known.bounds.intersect(&range.bounds).is_some() {
                return Err(format!("subnets {} and {} overlap", known.bounds, range.bounds));
            }
        }
        ranges.push(range);
    }
    if ranges.is_empty() { Err("empty range set".to_owned()) } else { Ok(ranges) }
}

impl LocalRange {
    fn read(section: &RangeSection) -> Result<Self, String> {
        let subnet: IpNet = (section.subnet.parse())
            .map_err(|_| format!("invalid CIDR address: {}", section.subnet))?;
        if subnet.max_prefix_len() - subnet.prefix_len() < 2 {
            return Err(format!("Network {subnet} too small to allocate from"));
        }
        if subnet != subnet.trunc() {
            return Err(format!(
                "Network has host bits set. For a subnet mask of length {} the network address is \
                 {}",
                subnet.prefix_len(),
                subnet.network()
            ));
        }
        let inside = |text: &str| match text {
            "" => Ok(None),
            _ => match text.parse::<IpAddr>() {
                Ok(address) if subnet.contains(&address) => Ok(Some(address)),
                Ok(address) => Err(format!("{address} not in network {subnet}")),
                Err(_) => Err(format!("invalid IP address {text:?}")),
            },
        };
        let first = successor(subnet.network()).unwrap_or_else(|| subnet.network());
        // The last address of an IPv4 subnet is its broadcast address.
        let last = match subnet.broadcast() {
            v4 @ IpAddr::V4(_) => predecessor(v4).unwrap_or(v4),
            v6 @ IpAddr::V6(_) => v6,
        };
        // A gateway may be outside, such as a link-local one; it only must be of the family.
        let gateway = match section.gateway.as_str() {
            "" => None,
            text => match text.parse::<IpAddr>() {
                Ok(address) if address.is_ipv4() == subnet.addr().is_ipv4() => Some(address),
                _ => return Err(format!("invalid gateway {text:?}")),
            },
        };
        let start = inside(&section.range_start)?.unwrap_or(first);
        let end = inside(&section.range_end)?.unwrap_or(last);
        let bounds = Range::new(start, end)
            .ok_or_else(|| format!("{end} is in network {subnet} but before start {start}"))?;
        Ok(Self { subnet, bounds, gateway: gateway.unwrap_or(first) })
    }
}
