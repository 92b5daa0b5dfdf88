//! Routers, and addresses outside that stand for ports inside.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{FixedIp, WantedIp, or_default, request, resource, tagged};

/// One router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Router {
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
    #[serde(default)]
    pub external_gateway_info: Option<ExternalGateway>,
    #[serde(default, deserialize_with = "or_default")]
    pub routes: Vec<Route>,
    #[serde(default)]
    pub distributed: Option<bool>,
    #[serde(default)]
    pub ha: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub availability_zone_hints: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

/// The way out, as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalGateway {
    pub network_id: String,
    /// Whether addresses are translated; only administrators see it.
    #[serde(default)]
    pub enable_snat: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub external_fixed_ips: Vec<FixedIp>,
}

/// The way out, as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedGateway {
    pub network_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_snat: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_fixed_ips: Option<Vec<WantedIp>>,
}

/// One more route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    pub destination: IpNet,
    pub nexthop: IpAddr,
}

request!(
    /// What a new router is to be.
    NewRouter {
        name: String,
        description: String,
        project_id: String,
        admin_state_up: bool,
        external_gateway_info: WantedGateway,
        distributed: bool,
        ha: bool,
        availability_zone_hints: Vec<String>,
    }
);

request!(
    /// What is to be different about a router.
    RouterChange {
        name: String,
        description: String,
        admin_state_up: bool,
        /// Null takes the way out away.
        external_gateway_info: Option<WantedGateway>,
        routes: Vec<Route>,
    }
);

resource!(Router (NewRouter, RouterChange) = Network "/routers" "routers" "router",
name name, revision counted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
]);

/// What is plugged into a router, or taken out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouterInterface {
    /// This port.
    PortId(String),
    /// A port with the gateway's address of this subnet.
    SubnetId(String),
}

/// One floating address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloatingIp {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    pub floating_network_id: String,
    #[serde(default)]
    pub floating_ip_address: Option<IpAddr>,
    #[serde(default)]
    pub fixed_ip_address: Option<IpAddr>,
    #[serde(default)]
    pub port_id: Option<String>,
    #[serde(default)]
    pub router_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
    #[serde(default)]
    pub created_at: Option<String>,
}

request!(
    /// What a new floating address is to be.
    NewFloatingIp {
        floating_network_id: String,
        floating_ip_address: IpAddr,
        subnet_id: String,
        port_id: String,
        fixed_ip_address: IpAddr,
        description: String,
        project_id: String,
    }
);

request!(
    /// What is to be different about a floating address.
    FloatingIpChange {
        /// Null detaches it.
        port_id: Option<String>,
        fixed_ip_address: IpAddr,
        description: String,
    }
);

resource!(FloatingIp (NewFloatingIp, FloatingIpChange) = Network "/floatingips" "floatingips" "floatingip",
name description, revision counted,
trace [
    "floating_network_id" floating_network_id = |it| Some(it.floating_network_id.clone()),
    "floating_ip_address" floating_ip_address = |it| it.floating_ip_address.map(|ip| ip.to_string()),
    "port_id" port_id = |it| it.port_id.clone(),
    "description" description = |it| Some(it.description.clone()),
    "project_id" project_id = |it| Some(it.project_id.clone()),
]);

tagged!(Router, FloatingIp);
