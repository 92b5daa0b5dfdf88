//! Networks, subnets, and the pools subnets come from.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{or_default, request, resource, tagged};

/// One network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub admin_state_up: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub shared: bool,
    #[serde(default, rename = "router:external", deserialize_with = "or_default")]
    pub is_external: bool,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    /// Only administrators see it.
    #[serde(default, rename = "provider:network_type")]
    pub network_type: Option<String>,
    #[serde(default, rename = "provider:physical_network")]
    pub physical_network: Option<String>,
    #[serde(default, rename = "provider:segmentation_id")]
    pub segmentation_id: Option<u32>,
    /// Instead of the three before, where there are several.
    #[serde(default, deserialize_with = "or_default")]
    pub segments: Vec<Segment>,
    #[serde(default, deserialize_with = "or_default")]
    pub subnets: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub availability_zone_hints: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub availability_zones: Vec<String>,
    #[serde(default)]
    pub dns_domain: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

/// What carries a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    #[serde(rename = "provider:network_type")]
    pub network_type: String,
    #[serde(
        default,
        rename = "provider:physical_network",
        skip_serializing_if = "Option::is_none"
    )]
    pub physical_network: Option<String>,
    #[serde(default, rename = "provider:segmentation_id", skip_serializing_if = "Option::is_none")]
    pub segmentation_id: Option<u32>,
}

request!(
    /// What a new network is to be.
    NewNetwork {
        name: String,
        description: String,
        project_id: String,
        admin_state_up: bool,
        shared: bool,
        is_external("router:external"): bool,
        mtu: u32,
        port_security_enabled: bool,
        network_type("provider:network_type"): String,
        physical_network("provider:physical_network"): String,
        segmentation_id("provider:segmentation_id"): u32,
        segments: Vec<Segment>,
        availability_zone_hints: Vec<String>,
        dns_domain: String,
    }
);

request!(
    /// What is to be different about a network.
    NetworkChange {
        name: String,
        description: String,
        admin_state_up: bool,
        shared: bool,
        is_external("router:external"): bool,
        mtu: u32,
        port_security_enabled: bool,
        dns_domain: String,
    }
);

resource!(Network (NewNetwork, NetworkChange) = Network "/networks" "networks" "network",
name name, revision counted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
    "provider:physical_network" physical_network = |it| it.physical_network.clone(),
]);

/// One subnet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subnet {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    pub network_id: String,
    pub cidr: IpNet,
    pub ip_version: u8,
    #[serde(default)]
    pub gateway_ip: Option<IpAddr>,
    #[serde(default, deserialize_with = "or_default")]
    pub allocation_pools: Vec<AllocationPool>,
    #[serde(default, deserialize_with = "or_default")]
    pub host_routes: Vec<HostRoute>,
    #[serde(default, deserialize_with = "or_default")]
    pub dns_nameservers: Vec<IpAddr>,
    #[serde(default, deserialize_with = "or_default")]
    pub enable_dhcp: bool,
    #[serde(default)]
    pub ipv6_address_mode: Option<String>,
    #[serde(default)]
    pub ipv6_ra_mode: Option<String>,
    #[serde(default)]
    pub subnetpool_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub service_types: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

/// Addresses from which ports get theirs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AllocationPool {
    pub start: IpAddr,
    pub end: IpAddr,
}

/// A route that instances are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostRoute {
    pub destination: IpNet,
    pub nexthop: IpAddr,
}

request!(
    /// What a new subnet is to be.
    NewSubnet {
        network_id: String,
        name: String,
        description: String,
        project_id: String,
        cidr: IpNet,
        ip_version: u8,
        /// Null is none at all; when nothing is said Neutron takes the first address.
        gateway_ip: Option<IpAddr>,
        allocation_pools: Vec<AllocationPool>,
        host_routes: Vec<HostRoute>,
        dns_nameservers: Vec<IpAddr>,
        enable_dhcp: bool,
        ipv6_address_mode: String,
        ipv6_ra_mode: String,
        subnetpool_id: String,
        prefixlen: u8,
        service_types: Vec<String>,
    }
);

request!(
    /// What is to be different about a subnet.
    SubnetChange {
        name: String,
        description: String,
        gateway_ip: Option<IpAddr>,
        allocation_pools: Vec<AllocationPool>,
        host_routes: Vec<HostRoute>,
        dns_nameservers: Vec<IpAddr>,
        enable_dhcp: bool,
        service_types: Vec<String>,
    }
);

resource!(Subnet (NewSubnet, SubnetChange) = Network "/subnets" "subnets" "subnet",
name name, revision counted,
trace [
    "network_id" network_id = |it| Some(it.network_id.clone()),
    "name" name = |it| Some(it.name.clone()),
    "cidr" cidr = |it| Some(it.cidr.to_string()),
]);

/// A pool of prefixes that subnets are cut from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubnetPool {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub prefixes: Vec<IpNet>,
    #[serde(default)]
    pub ip_version: Option<u8>,
    #[serde(default, deserialize_with = "number_or_text")]
    pub default_prefixlen: Option<u8>,
    #[serde(default, deserialize_with = "number_or_text")]
    pub min_prefixlen: Option<u8>,
    #[serde(default, deserialize_with = "number_or_text")]
    pub max_prefixlen: Option<u8>,
    #[serde(default, deserialize_with = "or_default")]
    pub shared: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub is_default: bool,
    #[serde(default)]
    pub address_scope_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
}

/// Neutron tells the prefix lengths of pools as text.
fn number_or_text<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u8>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u8),
        Text(String),
    }
    match Option::<Either>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Either::Number(number)) => Ok(Some(number)),
        Some(Either::Text(text)) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}

request!(
    /// What a new pool is to be.
    NewSubnetPool {
        name: String,
        description: String,
        project_id: String,
        prefixes: Vec<IpNet>,
        default_prefixlen: u8,
        min_prefixlen: u8,
        max_prefixlen: u8,
        shared: bool,
        is_default: bool,
        address_scope_id: String,
    }
);

request!(
    /// What is to be different about a pool.
    SubnetPoolChange {
        name: String,
        description: String,
        prefixes: Vec<IpNet>,
        default_prefixlen: u8,
        min_prefixlen: u8,
        max_prefixlen: u8,
        is_default: bool,
        address_scope_id: Option<String>,
    }
);

resource!(SubnetPool (NewSubnetPool, SubnetPoolChange) = Network "/subnetpools" "subnetpools" "subnetpool",
name name, revision counted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
]);

tagged!(Network, Subnet, SubnetPool);
