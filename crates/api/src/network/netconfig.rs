//! NetConfig: which networks there are, and which addresses of them may be given away.

mod advice;
mod change;
mod hooks;
mod rules;

use std::fmt;
use std::net::IpAddr;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::hooks::NetConfigHooks;
pub(crate) use self::hooks::{TheNetConfig, the_netconfig};
use super::{NAME_PATTERN, SERVICE_NETWORK_PATTERN};
use crate::net::{Cidr, NotAVlan, VlanId};

/// The networks of an environment.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.openstack.org",
    version = "v1beta1",
    kind = "NetConfig",
    plural = "netconfigs",
    shortname = "netcfg",
    shortname = "netscfg",
    namespaced,
    status = "NetConfigStatus",
    derive = "PartialEq",
    doc = "The networks of an environment: their prefixes, VLANs, gateways and the addresses that may be given to nodes. There is one per namespace.",
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since the server created the object",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Networks",
        type_ = "string",
        description = "The networks",
        json_path = ".spec.networks[*].name",
        priority = 1
    ),
    printcolumn(
        name = "Prefixes",
        type_ = "string",
        description = "The prefixes of all subnets",
        json_path = ".spec.networks[*].subnets[*].cidr",
        priority = 1
    ),
    printcolumn(
        name = "VLANs",
        type_ = "string",
        description = "The VLANs of all subnets that have one",
        json_path = ".spec.networks[*].subnets[*].vlan",
        priority = 1
    ),
    label("backup.openstack.org/restore", "true"),
    label("backup.openstack.org/category", "dataplane"),
    label("backup.openstack.org/restore-order", "20")
)]
#[serde(rename_all = "camelCase")]
pub struct NetConfigSpec {
    /// All networks. IPSets refer to them by name, in any letter case.
    pub networks: Vec<Network>,
}

/// One network: a layer 2 domain, or a routed group of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// Name of the network, unique in any letter case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Domain of the names of nodes on this network. Leaving it out selects the behaviour of the
    /// first API generation, which did not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_domain: Option<String>,
    /// Largest packet on this network, in bytes.
    #[serde(default = "default_mtu")]
    pub mtu: i64,
    /// Name under which services know this network, for example as the name of a network
    /// attachment. The name in lower case when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SERVICE_NETWORK_PATTERN))]
    pub service_network: Option<String>,
    /// Address prefixes on this network.
    pub subnets: Vec<Subnet>,
}

/// One address prefix of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// Name of the subnet, unique inside its network in any letter case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// The prefix, for example `172.17.0.0/24` or `fd00:bbbb::/64`.
    pub cidr: String,
    /// Domain of the names of nodes on this subnet, instead of the network's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_domain: Option<String>,
    /// VLAN that carries this subnet, 1 to 4094. Left out (or 0) when frames are untagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4094))]
    pub vlan: Option<i64>,
    /// Where addresses are taken from when none is asked for in particular, in this order. May be
    /// empty when every address is asked for.
    pub allocation_ranges: Vec<AllocationRange>,
    /// Addresses of the prefix that are never given away, not even when asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_addresses: Vec<String>,
    /// Router that leads out of this subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Further routes that nodes on this subnet need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// Addresses from `start` to `end`, both included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocationRange {
    /// Lowest address.
    pub start: String,
    /// Highest address.
    pub end: String,
}

/// One route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Prefix that is reached this way.
    pub destination: String,
    /// Router on the subnet that knows the way.
    pub nexthop: String,
}

/// Nothing is reported: a NetConfig is read by others, no controller acts on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetConfigStatus {}

fn default_mtu() -> i64 {
    1500
}

/// Which of the two API generations an object was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The API as it was in mid-2023, which the seed documents describe.
    Seed,
    /// The API as it is today.
    Today,
}

impl Network {
    /// Whether order and routes of IPSets on this network follow the seeds or today's upstream.
    pub fn generation(&self) -> Generation {
        if self.dns_domain.is_none() { Generation::Seed } else { Generation::Today }
    }

    /// The subnet of that name, in any letter case.
    pub fn subnet(&self, name: &str) -> Option<&Subnet> {
        self.subnets.iter().find(|subnet| subnet.name.eq_ignore_ascii_case(name))
    }
}

impl Subnet {
    /// The VLAN; `None` for an untagged subnet.
    pub fn vlan_id(&self) -> Result<Option<VlanId>, NotAVlan> {
        self.vlan.map_or(Ok(None), VlanId::parse)
    }

    /// The prefix; `None` when the text is none.
    pub fn prefix(&self) -> Option<Cidr> {
        self.cidr.parse().ok()
    }
}

impl AllocationRange {
    /// The lowest address, when the text is one.
    pub fn first(&self) -> Option<IpAddr> {
        self.start.parse().ok()
    }

    /// The highest address, when the text is one.
    pub fn last(&self) -> Option<IpAddr> {
        self.end.parse().ok()
    }
}

impl NetConfigSpec {
    /// The network of that name, in any letter case.
    pub fn network(&self, name: &str) -> Option<&Network> {
        self.networks.iter().find(|network| network.name.eq_ignore_ascii_case(name))
    }

    /// Network and subnet of those names, in any letter case.
    pub fn find(&self, network: &str, subnet: &str) -> Result<(&Network, &Subnet), LookupError> {
        let found = self
            .network(network)
            .ok_or_else(|| LookupError::NoNetwork { network: network.to_owned() })?;
        let subnet = found.subnet(subnet).ok_or_else(|| LookupError::NoSubnet {
            network: network.to_owned(),
            subnet: subnet.to_owned(),
        })?;
        Ok((found, subnet))
    }
}

/// A name that stands for nothing in a NetConfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// No such network.
    NoNetwork {
        /// The name asked for.
        network: String,
    },
    /// No such subnet in that network.
    NoSubnet {
        /// The network.
        network: String,
        /// The name asked for.
        subnet: String,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNetwork { network } => write!(f, "no network with name: {network}"),
            Self::NoSubnet { network, subnet } => {
                write!(f, "no subnet found with name: {subnet} in network: {network}")
            }
        }
    }
}

impl std::error::Error for LookupError {}
