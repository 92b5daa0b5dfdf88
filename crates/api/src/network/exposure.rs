//! How a service is shown to an isolated network, in the two generations of the API.
//!
//! The first generation names a pool of addresses ([`ExternalEndpoint`]); today's lets the user
//! override the Service that is made ([`ServiceOverride`]).

use std::collections::BTreeMap;

use landbridge_machinery::field::{FieldError, FieldPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admission::Findings;

/// A virtual address from a pool (first generation).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEndpoint {
    /// Name of the IPAddressPool the virtual address comes from.
    #[schemars(length(min = 1))]
    pub ip_address_pool: String,
    /// Whether other services may have the same virtual address, on other ports.
    #[serde(rename = "sharedIP", default = "yes")]
    pub shared_ip: bool,
    /// Services that share a virtual address carry the same key. The name of the pool when left
    /// empty.
    #[serde(rename = "sharedIPKey", default)]
    pub shared_ip_key: String,
    /// Addresses of the pool wanted in particular: one, or one of each family.
    #[serde(rename = "loadBalancerIPs", default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancer_ips: Vec<String>,
}

fn yes() -> bool {
    true
}

/// What the user wants different in the Service that is made (today's generation).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOverride {
    /// Labels and annotations to add; they win over the ones set otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ServiceOverrideMetadata>,
    /// Parts of the Service's spec to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<ServiceOverrideSpec>,
}

/// Labels and annotations of a Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOverrideMetadata {
    /// Annotations, for example those by which a load balancer chooses the address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The parts of a Service that may be overridden. Ports, selector and cluster address may not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOverrideSpec {
    /// ClusterIP, NodePort, LoadBalancer or ExternalName.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// None, or ClientIP to keep a client at the same pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_affinity: Option<String>,
    /// Details of the session affinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// Prefixes clients of a load balancer may come from; everywhere when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancer_source_ranges: Vec<String>,
    /// Load balancer implementation that is responsible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_class: Option<String>,
    /// Name this Service stands for, when it is an ExternalName.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_name: Option<String>,
    /// Cluster, or Local to serve traffic from outside only on nodes with a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
    /// Cluster, or Local to serve traffic from pods only on nodes with a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_traffic_policy: Option<String>,
    /// SingleStack, PreferDualStack or RequireDualStack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_family_policy: Option<String>,
}

/// Details of session affinity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAffinityConfig {
    /// Details of affinity by client address.
    #[serde(rename = "clientIP", skip_serializing_if = "Option::is_none")]
    pub client_ip: Option<ClientIpConfig>,
}

/// Details of affinity by client address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientIpConfig {
    /// How long a client stays with its pod, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
}

/// Refuses what the Service made from the override would be refused for.
pub(crate) fn check_override(spec: &ServiceOverrideSpec, path: &FieldPath, found: &mut Findings) {
    let policies = ["Cluster", "Local"].as_slice();
    let closed = [
        ("type", &spec.type_, ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].as_slice()),
        ("sessionAffinity", &spec.session_affinity, &["None", "ClientIP"]),
        ("externalTrafficPolicy", &spec.external_traffic_policy, policies),
        ("internalTrafficPolicy", &spec.internal_traffic_policy, policies),
        (
            "ipFamilyPolicy",
            &spec.ip_family_policy,
            &["SingleStack", "PreferDualStack", "RequireDualStack"],
        ),
    ];
    for (field, value, allowed) in closed {
        // An empty text is how Go says "not set".
        let Some(value) = value.as_deref().filter(|value| !value.is_empty()) else { continue };
        if !allowed.contains(&value) {
            found.errors.push(FieldError::not_supported(&path.child(field), value, allowed));
        }
    }
}
