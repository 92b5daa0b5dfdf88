//! `healthCheckNodePort`: whoever balances in front of the nodes asks here which of them have somebody.
//!
//! A Service of type LoadBalancer with `externalTrafficPolicy: Local` drops connections on nodes without
//! an endpoint of its own. Its port is served on every node, and says as kube-proxy does, whatever the
//! path: 200 where there are ready endpoints, 503 where there are none or where forwarding does not work.

mod doors;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use http::StatusCode;
use k8s_openapi::api::core::v1::ServiceSpec;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

pub use self::doors::Doors;
use super::{SERVICE, Seen};

/// Where a Service is asked for: one port of the node, at its addresses of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Door {
    /// The number.
    pub port: u16,
    /// At IPv4 addresses, or at IPv6 addresses.
    pub ipv4: bool,
}

/// A Service, and how many of its endpoints are here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Ready endpoints on this node.
    pub local: usize,
}

impl Check {
    /// What is said; `works`: whether this node forwards at all.
    pub fn answer(&self, works: bool) -> (StatusCode, String) {
        let is_good = works && self.local > 0;
        let status = if is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let body = json!({
            "service": {"namespace": self.namespace, "name": self.name},
            "localEndpoints": self.local,
            "serviceProxyHealthy": works,
        });
        (status, body.to_string())
    }
}

/// All that is asked for on one node. Of two Services with one port the first by name has it.
pub fn checks(seen: &Seen, node: &str) -> BTreeMap<Door, Check> {
    let mut checks = BTreeMap::new();
    let in_order: BTreeMap<_, _> = seen.services.iter().collect();
    for ((namespace, name), service) in in_order {
        let Some(spec) = &service.spec else { continue };
        let Some(port) = port_of(spec) else { continue };
        let cluster =
            spec.cluster_ips.as_deref().or(spec.cluster_ip.as_ref().map(std::slice::from_ref));
        let families: BTreeSet<bool> = cluster
            .unwrap_or_default()
            .iter()
            .filter_map(|ip| Some(ip.parse::<IpAddr>().ok()?.is_ipv4()))
            .collect();
        let own = seen.slices.iter().filter(|((of, _), slice)| {
            let labels = slice.metadata.labels.as_ref();
            of == namespace && labels.and_then(|labels| labels.get(SERVICE)) == Some(name)
        });
        let own: Vec<&EndpointSlice> = own.map(|(_, slice)| &**slice).collect();
        for ipv4 in families {
            let local = count(&own, ipv4, node);
            let check = Check { namespace: namespace.clone(), name: name.clone(), local };
            checks.entry(Door { port, ipv4 }).or_insert(check);
        }
    }
    checks
}

fn port_of(spec: &ServiceSpec) -> Option<u16> {
    let is_asked_for = spec.type_.as_deref() == Some("LoadBalancer")
        && spec.external_traffic_policy.as_deref() == Some("Local");
    let port = spec.health_check_node_port.filter(|_| is_asked_for)?;
    u16::try_from(port).ok().filter(|port| *port != 0)
}

/// Ready endpoints of a family on this node. One that is going away counts no more, though it still gets
/// what comes: whoever asks shall send the next connections elsewhere.
fn count(slices: &[&EndpointSlice], ipv4: bool, node: &str) -> usize {
    let family = if ipv4 { "IPv4" } else { "IPv6" };
    let of_family = slices.iter().filter(|slice| slice.address_type == family);
    // One pod may be in two slices for a moment.
    let ready: BTreeSet<&String> = of_family
        .flat_map(|slice| &slice.endpoints)
        .filter(|endpoint| endpoint.node_name.as_deref() == Some(node))
        .filter(|endpoint| endpoint.conditions.as_ref().and_then(|c| c.ready).unwrap_or(true))
        .filter_map(|endpoint| endpoint.addresses.first())
        .collect();
    ready.len()
}
