//! Security groups and their rules.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{or_default, request, resource, tagged};

/// One group, with its rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecurityGroup {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    #[serde(default)]
    pub stateful: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub security_group_rules: Vec<SecurityGroupRule>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

request!(
    /// What a new group is to be.
    NewSecurityGroup {
        name: String,
        description: String,
        project_id: String,
        stateful: bool,
    }
);

request!(
    /// What is to be different about a group.
    SecurityGroupChange {
        name: String,
        description: String,
        stateful: bool,
    }
);

resource!(SecurityGroup (NewSecurityGroup, SecurityGroupChange)
= Network "/security-groups" "security_groups" "security_group",
name name, revision counted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
]);

/// Which way packets go, seen from the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Ingress,
    Egress,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        })
    }
}

/// Which family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EtherType {
    IPv4,
    IPv6,
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        })
    }
}

/// What a group lets through. Rules never change: another one is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecurityGroupRule {
    pub id: String,
    pub security_group_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    pub direction: Direction,
    pub ethertype: EtherType,
    #[serde(default)]
    pub protocol: Option<String>,
    #[serde(default)]
    pub port_range_min: Option<u16>,
    #[serde(default)]
    pub port_range_max: Option<u16>,
    #[serde(default)]
    pub remote_group_id: Option<String>,
    #[serde(default)]
    pub remote_ip_prefix: Option<IpNet>,
    #[serde(default)]
    pub remote_address_group_id: Option<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
}

request!(
    /// What a new rule is to be.
    NewSecurityGroupRule {
        security_group_id: String,
        project_id: String,
        description: String,
        direction: Direction,
        ethertype: EtherType,
        protocol: String,
        port_range_min: u16,
        port_range_max: u16,
        remote_group_id: String,
        remote_ip_prefix: IpNet,
        remote_address_group_id: String,
    }
);

resource!(SecurityGroupRule (NewSecurityGroupRule, Unchangeable)
= Network "/security-group-rules" "security_group_rules" "security_group_rule",
name description, revision counted,
trace [
    "security_group_id" security_group_id = |it| Some(it.security_group_id.clone()),
    "direction" direction = |it| Some(it.direction.to_string()),
    "ethertype" ethertype = |it| Some(it.ethertype.to_string()),
    "protocol" protocol = |it| it.protocol.clone(),
    "port_range_min" port_range_min = |it| it.port_range_min.map(|port| port.to_string()),
    "port_range_max" port_range_max = |it| it.port_range_max.map(|port| port.to_string()),
    "remote_group_id" remote_group_id = |it| it.remote_group_id.clone(),
    "remote_ip_prefix" remote_ip_prefix = |it| it.remote_ip_prefix.map(|net| net.to_string()),
]);

request!(
    /// Nothing may be different.
    Unchangeable {}
);

tagged!(SecurityGroup);
