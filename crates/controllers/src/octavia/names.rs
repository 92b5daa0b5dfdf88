//! How everything is called: octavia-operator's names, which scripts and people know.

use landbridge_plan::octavia::Tenant;

/// The provider network.
pub const PROVIDER_NETWORK: &str = "octavia-provider-net";
/// Its subnet.
pub const PROVIDER_SUBNET: &str = "octavia-provider-subnet";
/// The router between provider network and amphorae.
pub const ROUTER: &str = "octavia-link-router";
/// What ports that talk to amphorae may do, in the project of amphorae.
pub const MGMT_GROUP: &str = "lb-mgmt-sec-grp";
/// What amphorae report, in the project of amphorae.
pub const HEALTH_GROUP: &str = "lb-health-mgr-sec-grp";
/// The first one in the project of the router.
pub const PROVIDER_MGMT_GROUP: &str = "lb-prov-sec-grp";
/// The second one in the project of the router.
pub const PROVIDER_HEALTH_GROUP: &str = "lb-health-prov-sec-grp";
/// All of them; whether they are in the project of amphorae; whether they are about health.
pub const GROUPS: [(&str, bool, bool); 4] = [
    (MGMT_GROUP, true, false),
    (HEALTH_GROUP, true, true),
    (PROVIDER_MGMT_GROUP, false, false),
    (PROVIDER_HEALTH_GROUP, false, true),
];
/// Who the provider network and the router belong to.
pub const ADMIN_PROJECT: &str = "admin";
/// Where that project is.
pub const ADMIN_DOMAIN: &str = "Default";

/// What people read about the provider network.
pub const PROVIDER_DESCRIPTION: &str = "LBaaS Management Provider Network";
/// What people read about its subnet.
pub const PROVIDER_SUBNET_DESCRIPTION: &str = "LBaaS Management Provider Subnet";

/// What a network of amphorae and what is on it are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantNames {
    /// The network.
    pub network: String,
    /// Its subnet.
    pub subnet: String,
    /// The router's port on it.
    pub port: String,
    /// What people read about the network.
    pub network_description: String,
    /// What people read about the subnet.
    pub subnet_description: String,
}

/// The names for a network of amphorae.
pub fn tenant(tenant: &Tenant) -> TenantNames {
    let zone = tenant.zone.as_deref();
    let infix = zone.map(|zone| format!("{zone}-")).unwrap_or_default();
    let suffix = zone.map(|zone| format!(" for {zone}")).unwrap_or_default();
    TenantNames {
        network: format!("lb-mgmt-{infix}net"),
        subnet: format!("lb-mgmt-{infix}subnet"),
        port: format!("lb-mgmt-{infix}router-port"),
        network_description: format!("LBaaS Management Network{suffix}"),
        subnet_description: format!("LBaaS Management Subnet{suffix}"),
    }
}

/// One thing that is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `tcp` or `udp`.
    pub protocol: &'static str,
    /// The port.
    pub port: u16,
    /// What it is for.
    pub what: &'static str,
}

const fn entry(protocol: &'static str, port: u16, what: &'static str) -> Entry {
    Entry { protocol, port, what }
}

/// What health managers and rsyslogs get.
const HEALTH: &[Entry] = &[
    entry("udp", 5555, "health manager status port"),
    entry("udp", 514, "log offloading udp"),
    entry("tcp", 514, "log offloading tcp"),
];
/// What amphorae get.
const MANAGEMENT: &[Entry] =
    &[entry("tcp", 22, "ssh port"), entry("tcp", 9443, "amphora agent port")];

/// What a group lets in, from everywhere, over both families.
pub fn entries(is_health: bool) -> &'static [Entry] {
    if is_health { HEALTH } else { MANAGEMENT }
}
