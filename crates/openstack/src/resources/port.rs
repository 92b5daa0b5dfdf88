//! Ports: where something is plugged into a network.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{or_default, request, resource, tagged};

/// One port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Port {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    pub network_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub mac_address: String,
    #[serde(default, deserialize_with = "or_default")]
    pub fixed_ips: Vec<FixedIp>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub admin_state_up: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub device_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub device_owner: String,
    #[serde(default, deserialize_with = "or_default")]
    pub security_groups: Vec<String>,
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub allowed_address_pairs: Vec<AddressPair>,
    #[serde(default, deserialize_with = "or_default")]
    pub extra_dhcp_opts: Vec<DhcpOption>,
    #[serde(default, rename = "binding:host_id")]
    pub host: Option<String>,
    #[serde(default, rename = "binding:vnic_type")]
    pub vnic_type: Option<String>,
    #[serde(default, rename = "binding:profile")]
    pub profile: Option<Value>,
    #[serde(default)]
    pub dns_name: Option<String>,
    #[serde(default)]
    pub trunk_details: Option<Value>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

/// An address of a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FixedIp {
    pub subnet_id: String,
    pub ip_address: IpAddr,
}

/// An address as it is asked for: in a subnet, a certain one, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedIp {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

/// Another address that the port may send from: one, or a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPair {
    pub ip_address: String,
    /// The port's own when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// An option that DHCP tells the port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DhcpOption {
    pub opt_name: String,
    pub opt_value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<u8>,
}

request!(
    /// What a new port is to be.
    NewPort {
        network_id: String,
        name: String,
        description: String,
        project_id: String,
        admin_state_up: bool,
        mac_address: String,
        /// Empty: none at all; when nothing is said Neutron chooses.
        fixed_ips: Vec<WantedIp>,
        device_id: String,
        device_owner: String,
        /// Empty: none; when nothing is said the project's default.
        security_groups: Vec<String>,
        port_security_enabled: bool,
        allowed_address_pairs: Vec<AddressPair>,
        extra_dhcp_opts: Vec<DhcpOption>,
        host("binding:host_id"): String,
        vnic_type("binding:vnic_type"): String,
        profile("binding:profile"): Value,
        dns_name: String,
        /// Only where the extension tag-ports-during-bulk-creation is.
        tags: Vec<String>,
    }
);

request!(
    /// What is to be different about a port.
    PortChange {
        name: String,
        description: String,
        admin_state_up: bool,
        mac_address: String,
        fixed_ips: Vec<WantedIp>,
        device_id: String,
        device_owner: String,
        security_groups: Vec<String>,
        port_security_enabled: bool,
        allowed_address_pairs: Vec<AddressPair>,
        extra_dhcp_opts: Vec<DhcpOption>,
        host("binding:host_id"): String,
        vnic_type("binding:vnic_type"): String,
        profile("binding:profile"): Value,
        dns_name: String,
    }
);

resource!(Port (NewPort, PortChange) = Network "/ports" "ports" "port",
name name, revision counted,
trace [
    "network_id" network_id = |it| Some(it.network_id.clone()),
    "name" name = |it| Some(it.name.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
    "mac_address" mac_address = |it| Some(it.mac_address.clone()),
    "device_id" device_id = |it| Some(it.device_id.clone()),
]);

tagged!(Port);
