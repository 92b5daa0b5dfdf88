//! DNSMasq: a name server for nodes on isolated networks.

mod hooks;
mod rules;

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::hooks::DNSMasqHooks;
use super::{ExternalEndpoint, ServiceOverride, dnsdata_label};
use crate::condition::Condition;

/// How the name server is to run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.openstack.org",
    version = "v1beta1",
    kind = "DNSMasq",
    plural = "dnsmasqs",
    namespaced,
    status = "DNSMasqStatus",
    derive = "PartialEq",
    doc = "A name server that answers from the DNSData of its namespace and forwards the rest to the servers named in its options.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the name server answers",
        json_path = ".status.conditions[0].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "What is missing",
        json_path = ".status.conditions[0].message"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct DNSMasqSpec {
    /// Image the name server runs from. Filled in when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_image: Option<String>,
    /// How many instances run.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Options of dnsmasq, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<DNSMasqOption>,
    /// Labels of the nodes the name server may run on. Inside of an OpenStackControlPlane, null
    /// takes over the selector of the control plane and an empty map selects all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Which hosts are served: those in ConfigMaps whose label `dnsmasqhosts` has this value.
    #[serde(default = "dnsdata_label")]
    pub dns_data_label_selector_value: String,
    /// Virtual addresses the name server answers on (first API generation; today: override).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_endpoints: Vec<ExternalEndpoint>,
    /// Aids for finding faults (first API generation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<DNSMasqDebug>,
    /// What is to be different in the objects made for the name server.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<DNSMasqOverride>,
    /// Topology that says how instances are spread over nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_ref: Option<TopologyRef>,
}

/// One line of dnsmasq's configuration: `key=value,value`, or only the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSMasqOption {
    /// Name of the option.
    pub key: OptionKey,
    /// Its values; empty for an option that is only switched on.
    pub values: Vec<String>,
}

/// The options that may be set. The rest would get in the way of how the name server is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OptionKey {
    // Variants carry no doc comments: they would turn the schema's enum into a `oneOf`.
    Server,
    RevServer,
    SrvHost,
    TxtRecord,
    PtrRecord,
    RebindDomainOk,
    NaptrRecord,
    Cname,
    HostRecord,
    CaaRecord,
    DnsRr,
    AuthZone,
    SynthDomain,
    // Up to here: the first generation. From here: added since.
    NoNegcache,
    Local,
    LocalTtl,
    DhcpTtl,
    MaxTtl,
}

/// Aids for finding faults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSMasqDebug {
    /// Whether the container sleeps instead of serving names, so that one can look around in it.
    #[serde(default)]
    pub service: bool,
}

/// What is to be different in the objects made for the name server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSMasqOverride {
    /// The Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceOverride>,
}

/// Reference to a Topology of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyRef {
    /// Name of the Topology.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the Topology; no other than the own one is possible.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// How the name server is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSMasqStatus {
    /// Checksums of what the instances run with; they restart when one changes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hash: BTreeMap<String, String>,
    /// How many instances answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_count: Option<i32>,
    /// How far things got; Ready comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Addresses nodes on isolated networks reach the name server at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_addresses: Vec<String>,
    /// Addresses pods reach the name server at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_cluster_addresses: Vec<String>,
    /// Generation of the spec that this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Topology the instances were last spread by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_topology: Option<TopologyRef>,
}

fn one() -> i32 {
    1
}
