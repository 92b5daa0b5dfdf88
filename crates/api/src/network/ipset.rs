//! IPSet: one address on each of some networks, for one holder.

mod change;
mod hooks;
mod rules;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::hooks::{FINALIZER, IPSetHooks, OLD_FINALIZER};
use super::{NAME_PATTERN, Route};
use crate::condition::Condition;

/// Which addresses are wanted.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.openstack.org",
    version = "v1beta1",
    kind = "IPSet",
    plural = "ipsets",
    namespaced,
    status = "IPSetStatus",
    derive = "PartialEq",
    doc = "A request for one address on each of some networks of the NetConfig. The addresses are in the status and may be used once the Ready condition is True.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether all addresses are there",
        json_path = ".status.conditions[0].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "What is missing",
        json_path = ".status.conditions[0].message"
    ),
    printcolumn(
        name = "Reservation",
        type_ = "string",
        description = "The addresses",
        json_path = ".status.reservations[*].address"
    ),
    printcolumn(
        name = "Networks",
        type_ = "string",
        description = "The networks of the addresses, in the same order",
        json_path = ".status.reservations[*].network",
        priority = 1
    ),
    label("backup.openstack.org/restore", "true"),
    label("backup.openstack.org/category", "dataplane"),
    label("backup.openstack.org/restore-order", "40")
)]
#[serde(rename_all = "camelCase")]
pub struct IPSetSpec {
    /// Whether the list of networks is locked. To change a locked list, unlock it first, in an
    /// update of its own.
    #[serde(default)]
    pub immutable: bool,
    /// The networks an address is wanted on, each at most once.
    pub networks: Vec<IPSetNetwork>,
}

/// One wanted address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPSetNetwork {
    /// Network of the NetConfig, in any letter case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Subnet of that network, in any letter case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub subnet_name: String,
    /// The address wanted in particular. It has to lie in the subnet; it need not lie in one of
    /// the allocation ranges.
    #[serde(rename = "fixedIP", skip_serializing_if = "Option::is_none")]
    pub fixed_ip: Option<String>,
    /// Whether the holder's default route leads through this network's gateway. Possible on one
    /// network for IPv4 and one for IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_route: Option<bool>,
}

/// What was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPSetStatus {
    /// One entry for each network asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<IPSetReservation>,
    /// How far the request got; Ready comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One address with everything needed to configure it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPSetReservation {
    /// Network, as the NetConfig spells it.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub network: String,
    /// Subnet, as the NetConfig spells it.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub subnet: String,
    /// The address.
    pub address: String,
    /// Domain of the holder's name on this network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_domain: Option<String>,
    /// Largest packet on this network, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    /// Prefix of the subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// VLAN; absent on an untagged network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<i64>,
    /// Router of the subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Routes to set up beside the prefix itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Name under which services know the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_network: Option<String>,
}

impl IPSetNetwork {
    /// Whether the default route is wanted here.
    pub fn wants_default_route(&self) -> bool {
        self.default_route.unwrap_or(false)
    }
}
