//! How the cloud is set up: what an administrator would write into the services' files.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::Service;

/// The settings of all services.
#[derive(Clone, Debug)]
pub struct Config {
    /// The one region.
    pub region: String,
    /// The root URL of each service, as the catalogue shows it (`http://127.0.0.1:9696`).
    pub endpoints: BTreeMap<Service, String>,
    /// What the catalogue shows instead to those who come from inside.
    pub internal: BTreeMap<Service, String>,
    /// Whether services other than Keystone are registered without an endpoint for administrators, as
    /// those of a control plane are.
    pub is_control_plane: bool,
    /// How long a token lives, in seconds.
    pub token_seconds: i64,
    /// Rounds of PBKDF2 for passwords.
    pub password_rounds: u32,
    /// The hosts that servers run on; none: one, and every other that a call names.
    pub compute_hosts: Vec<String>,
    /// Neutron's.
    pub network: NetworkConfig,
}

/// Neutron's settings.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Physical networks on which flat networks may be made; `*` allows any.
    pub flat: Vec<String>,
    /// Physical networks with VLANs, and which of these are given to projects (`None`: none).
    pub vlan: BTreeMap<String, Option<(u16, u16)>>,
    /// The VNIs given to projects.
    pub vxlan: (u32, u32),
    /// The same for Geneve.
    pub geneve: (u32, u32),
    /// What a network of a project is made of, first choice first.
    pub project_types: Vec<String>,
    /// The MTU of the physical networks.
    pub physical_mtu: u32,
    /// The MTU of the network that tunnels go over.
    pub tunnel_mtu: u32,
    /// Quotas of a project that has none of its own; -1 is no bound.
    pub quotas: BTreeMap<String, i64>,
    /// The extensions that are on, of those that can be switched off.
    pub extensions: BTreeSet<String>,
    /// The domain of `dns_assignment`.
    pub dns_domain: String,
    /// Availability zones of networks and routers; `*` allows any.
    pub zones: Vec<String>,
    /// The most items of one answer to a list; 0 is no bound.
    pub page_limit: usize,
    /// Whether routers are made of what is said, so that their ports are up as soon as they are there.
    pub is_wired: bool,
}

/// Neutron's default quotas.
const QUOTAS: [(&str, i64); 11] = [
    ("floatingip", 50),
    ("network", 100),
    ("port", 500),
    ("rbac_policy", 10),
    ("router", 10),
    ("router_route", 30),
    ("security_group", 10),
    ("security_group_rule", 100),
    ("subnet", 100),
    ("subnetpool", -1),
    ("trunk", -1),
];

/// What routers have that are agents' work, as those of the Neutron that tests compare this one with.
pub const AGENTS: [&str; 2] = ["dvr", "l3-ha"];

/// Extensions that a Neutron has or has not; this one has them unless it is told otherwise, but for
/// `uplink-status-propagation`, which the clouds of the seeds do not have.
pub const OPTIONAL: [&str; 13] = [
    "data-plane-status",
    "dns-domain-ports",
    "dns-integration",
    "dvr",
    "ip_allocation",
    "l3-ha",
    "port-device-profile",
    "port-numa-affinity-policy",
    "port-resource-request",
    "port-trusted-vif",
    "subnet-dns-publish-fixed-ip",
    "tag-ports-during-bulk-creation",
    "uplink-status-propagation",
];

impl Default for Config {
    fn default() -> Self {
        let port = |service| match service {
            Service::Identity => 5000,
            Service::Network => 9696,
            Service::Compute => 8774,
            Service::Image => 9292,
        };
        let endpoints = Service::ALL.map(|s| (s, format!("http://127.0.0.1:{}", port(s))));
        Self {
            region: "RegionOne".to_owned(),
            endpoints: endpoints.into(),
            internal: BTreeMap::new(),
            is_control_plane: false,
            token_seconds: 86_400,
            password_rounds: 10_000,
            compute_hosts: Vec::new(),
            network: NetworkConfig::default(),
        }
    }
}

impl Config {
    /// The cloud of a lab, as the seeds show it: names, the region that the control plane registers its
    /// endpoints in, Geneve for projects. Availability zones are what the control plane says they are.
    ///
    /// What stands in `endpoints` is registered in the catalogue of a new cloud, where a control plane finds
    /// and corrects it.
    pub fn lab(endpoints: BTreeMap<Service, String>, compute_hosts: Vec<String>) -> Self {
        let mut network = NetworkConfig {
            dns_domain: "openstackgate.local.".to_owned(),
            zones: vec!["*".to_owned()],
            is_wired: true,
            ..NetworkConfig::default()
        };
        // OVN's routers are neither.
        network.extensions.retain(|alias| !AGENTS.contains(&alias.as_str()));
        let region = "regionOne".to_owned();
        let is_control_plane = true;
        Self { region, endpoints, is_control_plane, compute_hosts, network, ..Self::default() }
    }

    /// The interfaces under which a new cloud registers a service.
    pub fn interfaces(&self, service: Service) -> &'static [&'static str] {
        match service {
            Service::Identity => &["public", "internal", "admin"],
            _ if self.is_control_plane => &["public", "internal"],
            _ => &["public", "internal", "admin"],
        }
    }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            flat: vec!["*".to_owned()],
            vlan: BTreeMap::from([("physnet1".to_owned(), Some((100, 4000)))]),
            vxlan: (1, 100_000),
            geneve: (1, 100_000),
            project_types: vec!["geneve".to_owned()],
            physical_mtu: 1500,
            tunnel_mtu: 1500,
            quotas: QUOTAS.map(|(name, bound)| (name.to_owned(), bound)).into(),
            extensions: OPTIONAL
                .into_iter()
                .filter(|alias| *alias != "uplink-status-propagation")
                .map(str::to_owned)
                .collect(),
            dns_domain: "openstacklocal.".to_owned(),
            zones: vec!["nova".to_owned()],
            page_limit: 0,
            is_wired: false,
        }
    }
}
