//! static: addresses that stand in the configuration.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;
use thiserror::Error;

use crate::args::Args;
use crate::config::{BadNetwork, Input};
use crate::error::{Code, Coded};
use crate::json;
use crate::result::{CniResult, Dns, Ip, Route};
use crate::version::Version;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticIpam {
    /// The addresses, in order. None at all is no error here; the plugin that asked will not like
    /// it.
    pub addresses: Vec<FixedAddress>,
    /// Passed on.
    pub routes: Vec<Route>,
    /// Passed on.
    pub dns: Dns,
}

/// One address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedAddress {
    /// The address with its length.
    pub address: IpNet,
    /// Its gateway.
    pub gateway: Option<IpAddr>,
}

#[derive(Deserialize)]
struct Section {
    #[serde(default)]
    addresses: Vec<Address>,
    #[serde(default)]
    routes: Vec<Route>,
    #[serde(default)]
    dns: Dns,
}

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    address: String,
    #[serde(default)]
    gateway: String,
}

impl StaticIpam {
    /// Reads the configuration. The runtime's addresses replace those of `args.cni`, and those
    /// replace the configuration's with the pod's arguments.
    pub fn read(input: &Input, args: &Args) -> Result<Self, BadAddresses> {
        let section = input.ipam()?;
        if section.is_empty() {
            return Err(BadAddresses::Missing);
        }
        let section: Section = json::typed(&section).map_err(BadAddresses::Json)?;
        let asked: Vec<String> = match input.cni_args.get("ips") {
            None => Vec::new(),
            Some(ips) => serde_json::from_value(ips.clone()).map_err(BadAddresses::Json)?,
        };
        let plain = |text: &String| Ok(FixedAddress { address: cidr(text)?, gateway: None });
        let addresses = if !input.runtime.ips.is_empty() {
            input.runtime.ips.iter().map(plain).collect::<Result<_, BadAddresses>>()?
        } else if !asked.is_empty() {
            asked.iter().map(plain).collect::<Result<_, BadAddresses>>()?
        } else {
            configured(&section.addresses, args)?
        };
        one_per_family(input.version, addresses.iter().map(|a| a.address.addr()))?;
        Ok(Self { addresses, routes: section.routes, dns: section.dns })
    }

    /// What to answer with.
    pub fn result(&self) -> CniResult {
        let ip = |found: &FixedAddress| Ip {
            address: found.address,
            gateway: found.gateway,
            interface: None,
        };
        CniResult {
            interfaces: Vec::new(),
            ips: self.addresses.iter().map(ip).collect(),
            routes: self.routes.clone(),
            dns: self.dns.clone(),
        }
    }
}

fn configured(section: &[Address], args: &Args) -> Result<Vec<FixedAddress>, BadAddresses> {
    let mut addresses = Vec::new();
    for Address { address, gateway } in section {
        let gateway = match gateway.as_str() {
            "" => None,
            text => Some(ip(text)?),
        };
        addresses.push(FixedAddress { address: cidr(address)?, gateway });
    }
    let parts = |key| args.get(key).unwrap_or_default().split(',').map(str::trim);
    for text in parts("IP").filter(|text| !text.is_empty()) {
        addresses.push(FixedAddress { address: cidr(text)?, gateway: None });
    }
    for text in parts("GATEWAY").filter(|text| !text.is_empty()) {
        let gateway = ip(text)?;
        for found in addresses.iter_mut().filter(|found| found.address.contains(&gateway)) {
            found.gateway = Some(gateway);
        }
    }
    Ok(addresses)
}

fn cidr(text: &str) -> Result<IpNet, BadAddresses> {
    text.parse().map_err(|_| BadAddresses::Cidr(text.to_owned()))
}

fn ip(text: &str) -> Result<IpAddr, BadAddresses> {
    text.parse().map_err(|_| BadAddresses::Ip(text.to_owned()))
}

/// The oldest versions know one address of each family.
pub(super) fn one_per_family(
    version: Version,
    addresses: impl Iterator<Item = IpAddr> + Clone,
) -> Result<(), BadAddresses> {
    let v4 = addresses.clone().filter(IpAddr::is_ipv4).count();
    let v6 = addresses.filter(IpAddr::is_ipv6).count();
    if !version.has_chaining() && (v4 > 1 || v6 > 1) {
        return Err(BadAddresses::Many(version));
    }
    Ok(())
}

/// Why an address section is refused.
#[derive(Debug, Error)]
pub enum BadAddresses {
    /// There is none.
    #[error("IPAM config missing 'ipam' key")]
    Missing,
    /// It has not the form it should.
    #[error("the IPAM section cannot be read: {0}")]
    Json(#[source] serde_json::Error),
    /// What all plugins have in common is wrong.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// An address without a length, or none at all.
    #[error("the 'address' field is expected to be in CIDR notation, got: '{0}'")]
    Cidr(String),
    /// No address.
    #[error("invalid IP address {0:?}")]
    Ip(String),
    /// The version knows one address of each family.
    #[error("CNI version {0} does not support more than 1 address per family")]
    Many(Version),
    /// No ranges.
    #[error("no IP ranges specified")]
    NoRanges,
    /// A set of ranges is wrong.
    #[error("invalid range set {place}: {why}")]
    RangeSet {
        /// Which one.
        place: usize,
        /// What is wrong.
        why: String,
    },
    /// Two sets share addresses.
    #[error("range set {first} overlaps with {second}")]
    Overlap {
        /// The one before.
        first: usize,
        /// The one after.
        second: usize,
    },
}

impl Coded for BadAddresses {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::DECODING_FAILURE,
            Self::Network(error) => error.code(),
            Self::Many(_) => Code::INCOMPATIBLE_VERSION,
            _ => Code::INVALID_CONFIG,
        }
    }
}
