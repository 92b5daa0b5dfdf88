//! The `ipam` section of whereabouts, read the way upstream reads it.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

use crate::args::Args;
use crate::config::{BadNetwork, Input};
use crate::error::{Code, Coded};
use crate::json::{self, Object};
use crate::result::{CniResult, Dns, Ip, Route};
use crate::version::Version;

/// The settings of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipam {
    /// One address is given out of each, in order.
    pub ranges: Vec<RangeSettings>,
    /// The gateway of every address given, whatever its family.
    pub gateway: Option<IpAddr>,
    /// Passed on.
    pub routes: Vec<Route>,
    /// Passed on.
    pub dns: Dns,
    /// Addresses that are not looked after, given besides.
    pub addresses: Vec<StaticAddress>,
    /// Whether an address held in another range is passed over.
    pub enable_overlapping_ranges: bool,
    /// Sets pools and reservations apart from those of other networks.
    pub network_name: String,
    /// The prefix length of a node's slice.
    pub node_slice: Option<u8>,
    /// How to reach the cluster.
    pub kubeconfig: String,
}

/// One range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSettings {
    /// The subnet.
    pub range: IpNet,
    /// The first address, where that makes sense.
    pub start: Option<IpAddr>,
    /// The last address, where that makes sense.
    pub end: Option<IpAddr>,
    /// What is left out, as written: what cannot be read must not keep an address from release.
    pub exclude: Vec<String>,
}

/// An address that is not looked after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticAddress {
    /// The address with its length.
    pub address: IpNet,
    /// Its gateway.
    pub gateway: Option<IpAddr>,
}

#[derive(Deserialize)]
struct Section {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(flatten)]
    first: RangeSection,
    #[serde(default, rename = "ipRanges")]
    ranges: Vec<RangeSection>,
    #[serde(default)]
    gateway: String,
    #[serde(default)]
    routes: Vec<Route>,
    #[serde(default)]
    dns: Dns,
    #[serde(default)]
    addresses: Vec<AddressSection>,
    #[serde(default = "yes")]
    enable_overlapping_ranges: bool,
    #[serde(default)]
    network_name: String,
    #[serde(default, deserialize_with = "number_or_text")]
    node_slice_size: String,
    #[serde(default)]
    kubernetes: Kubernetes,
}

#[derive(Deserialize)]
struct RangeSection {
    #[serde(default)]
    range: String,
    #[serde(default)]
    range_start: String,
    #[serde(default)]
    range_end: String,
    #[serde(default)]
    exclude: Vec<String>,
}

#[derive(Deserialize)]
struct AddressSection {
    #[serde(default)]
    address: String,
    #[serde(default)]
    gateway: String,
}

#[derive(Default, Deserialize)]
struct Kubernetes {
    #[serde(default)]
    kubeconfig: String,
}

fn yes() -> bool {
    true
}

fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

impl Ipam {
    /// Reads the section of a call. A list's first plugin holds it, as upstream has it.
    pub fn read(input: &Input, args: &Args) -> Result<Self, BadIpam> {
        let ipam = input.ipam()?;
        if ipam.is_empty() {
            return Err(BadIpam::Missing);
        }
        let ipam = Self::from_section(&ipam, args)?;
        ipam.fits(input.version)?;
        Ok(ipam)
    }

    /// Reads the section alone.
    pub fn from_section(section: &Object, args: &Args) -> Result<Self, BadIpam> {
        let section: Section = json::typed(section).map_err(BadIpam::Json)?;
        if section.kind != "whereabouts" {
            return Err(BadIpam::OtherPlugin(section.kind));
        }
        let mut ranges = Vec::new();
        for range in [section.first].iter().filter(|r| !r.range.is_empty()).chain(&section.ranges) {
            ranges.push(RangeSettings::read(range)?);
        }
        let mut addresses = Vec::new();
        for found in &section.addresses {
            addresses.push(StaticAddress {
                address: sloppy_cidr(&found.address)
                    .ok_or_else(|| BadIpam::Address(found.address.clone()))?,
                gateway: sloppy_address(&found.gateway),
            });
        }
        add_from_args(&mut addresses, args)?;
        let gateway = match section.gateway.as_str() {
            "" => None,
            text => Some(sloppy_address(text).ok_or_else(|| BadIpam::Gateway(text.to_owned()))?),
        };
        let node_slice = match section.node_slice_size.trim_start_matches('/') {
            "" => None,
            text => Some(text.parse().map_err(|_| BadIpam::SliceSize(text.to_owned()))?),
        };
        Ok(Self {
            ranges,
            gateway,
            routes: section.routes,
            dns: section.dns,
            addresses,
            enable_overlapping_ranges: section.enable_overlapping_ranges,
            network_name: section.network_name,
            node_slice,
            kubeconfig: section.kubernetes.kubeconfig,
        })
    }

    /// What to answer with: the addresses given, then those that are not looked after.
    pub fn result(&self, given: &[IpNet]) -> CniResult {
        let given = given.iter().map(|ip| (*ip, self.gateway));
        let others = self.addresses.iter().map(|a| (a.address, a.gateway));
        let ip = |(address, gateway)| Ip { address, gateway, interface: None };
        CniResult {
            interfaces: Vec::new(),
            ips: given.chain(others).map(ip).collect(),
            routes: self.routes.clone(),
            dns: self.dns.clone(),
        }
    }

    /// The oldest versions know one address of each family.
    fn fits(&self, version: Version) -> Result<(), BadIpam> {
        let many = |v4| self.addresses.iter().filter(|a| a.address.addr().is_ipv4() == v4).count();
        if !version.has_chaining() && (many(true) > 1 || many(false) > 1) {
            return Err(BadIpam::ManyAddresses(version));
        }
        Ok(())
    }
}

impl RangeSettings {
    fn read(section: &RangeSection) -> Result<Self, BadIpam> {
        let text = section.range.trim();
        let bad = || BadIpam::Range(text.to_owned());
        let (range, start, end) = if let Some((start, end)) = text.split_once('-') {
            let cidr = sloppy_cidr(end).ok_or_else(bad)?;
            let start = sloppy_address(start).ok_or_else(bad)?;
            if !cidr.trunc().contains(&start) {
                return Err(BadIpam::StartOutside { range: cidr.trunc(), start });
            }
            (cidr.trunc(), Some(start), Some(cidr.addr()))
        } else {
            let range = sloppy_cidr(text).ok_or_else(bad)?.trunc();
            let bound = |text: &str| sloppy_address(text);
            (range, bound(&section.range_start), bound(&section.range_end))
        };
        Ok(Self { range, start, end, exclude: section.exclude.clone() })
    }
}

/// The pod a call is made for, as records name it.
pub fn podref(args: &Args) -> Result<String, BadIpam> {
    args.pod().map(|pod| pod.reference()).ok_or(BadIpam::NoPod)
}

/// `IP=` and `GATEWAY=` of CNI_ARGS, which is how Multus passes on what a pod asks for.
fn add_from_args(addresses: &mut Vec<StaticAddress>, args: &Args) -> Result<(), BadIpam> {
    let parts = |key| args.get(key).unwrap_or_default().split(',').map(str::trim);
    for text in parts("IP").filter(|text| !text.is_empty()) {
        let address = sloppy_cidr(text).ok_or_else(|| BadIpam::Address(text.to_owned()))?;
        addresses.push(StaticAddress { address, gateway: None });
    }
    for text in parts("GATEWAY").filter(|text| !text.is_empty()) {
        let gateway = sloppy_address(text).ok_or_else(|| BadIpam::Gateway(text.to_owned()))?;
        for found in addresses.iter_mut().filter(|a| a.address.contains(&gateway)) {
            found.gateway = Some(gateway);
        }
    }
    Ok(())
}

/// Fills in what the section leaves open from the flat configuration file. Whether overlapping
/// ranges are looked at is never taken from there.
pub fn merge_flat_file(section: &mut Object, flat: &Object) {
    let flat = flat.get("ipam").and_then(Value::as_object).unwrap_or(flat);
    for (key, value) in flat {
        if key == "enable_overlapping_ranges" {
            continue;
        }
        match (section.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(flat)) => merge_flat_file(inner, flat),
            (Some(found), _) if !is_unset(found) => {}
            _ => {
                section.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether the peers' language would call the value zero.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

/// An address; leading zeros of an octet do not make it octal, and do not matter.
fn sloppy_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if text.contains(':') {
        return text.parse().ok();
    }
    let octets = text.split('.').map(|octet| match octet.trim_start_matches('0') {
        "" if !octet.is_empty() => "0",
        short => short,
    });
    octets.collect::<Vec<_>>().join(".").parse().ok()
}

/// An address with a length.
fn sloppy_cidr(text: &str) -> Option<IpNet> {
    let (address, length) = text.trim().split_once('/')?;
    IpNet::new(sloppy_address(address)?, length.parse().ok()?).ok()
}

/// A prefix, or an address that stands for itself.
pub(super) fn sloppy_prefix(text: &str) -> Option<IpNet> {
    sloppy_cidr(text).map(|cidr| cidr.trunc()).or_else(|| sloppy_address(text).map(IpNet::from))
}

/// Why the section is refused.
#[derive(Debug, Error)]
pub enum BadIpam {
    /// There is none.
    #[error("IPAM config missing 'ipam' key")]
    Missing,
    /// It is for another plugin.
    #[error("the IPAM section is for {0:?}, not for whereabouts")]
    OtherPlugin(String),
    /// It has not the form it should.
    #[error("the IPAM section cannot be read: {0}")]
    Json(#[source] serde_json::Error),
    /// Nobody said which pod it is for.
    #[error("IPAM client initialization error: no pod name")]
    NoPod,
    /// It is in no configuration.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// A range is neither a prefix nor `first-last/length`.
    #[error("invalid CIDR (do you have the 'range' parameter set for Whereabouts?) '{0}'")]
    Range(String),
    /// A range starts outside of its subnet.
    #[error("invalid range start for CIDR {range}: {start}")]
    StartOutside {
        /// The subnet.
        range: IpNet,
        /// The start.
        start: IpAddr,
    },
    /// An address without a length, or none at all.
    #[error("invalid CIDR in addresses {0}")]
    Address(String),
    /// The gateway is no address.
    #[error("couldn't parse gateway IP: {0}")]
    Gateway(String),
    /// The size of a slice is no prefix length.
    #[error("invalid node slice size {0:?}")]
    SliceSize(String),
    /// The version knows one address of each family.
    #[error("CNI version {0} does not support more than 1 address per family")]
    ManyAddresses(Version),
}

impl Coded for BadIpam {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::DECODING_FAILURE,
            Self::Network(error) => error.code(),
            Self::ManyAddresses(_) => Code::INCOMPATIBLE_VERSION,
            Self::NoPod => Code::INVALID_ENVIRONMENT,
            _ => Code::INVALID_CONFIG,
        }
    }
}
