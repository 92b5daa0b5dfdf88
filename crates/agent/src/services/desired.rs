//! From objects to the [`Table`]: upstream's rules on who gets connections.
//!
//! - An endpoint that is ready gets connections. Where none is, those that are going away but still
//!   serve do: a last pod that is replaced answers until the next one is there.
//! - With policy `Local` the same is asked of the endpoints on this node alone.
//! - Endpoints on dead nodes do not exist, whatever the API still says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use landbridge_lb::{Port, Protocol, Reach, Table};

use super::{SERVICE, Seen};

/// Kubernetes' default.
const AFFINITY_SECONDS: u32 = 10_800;

/// The table of one node, and the addresses of endpoints on dead nodes.
pub fn table(seen: &Seen, node: &str, dead: &BTreeSet<String>) -> (Table, BTreeSet<IpAddr>) {
    let mut slices: HashMap<(&str, &str), Vec<&EndpointSlice>> = HashMap::new();
    let mut of_dead = BTreeSet::new();
    for ((namespace, _), slice) in &seen.slices {
        if !dead.is_empty() {
            let gone = slice.endpoints.iter().filter(|endpoint| is_on_dead(endpoint, dead));
            let ips = gone.flat_map(|endpoint| &endpoint.addresses);
            of_dead.extend(ips.filter_map(|ip| ip.parse::<IpAddr>().ok()));
        }
        let labels = slice.metadata.labels.as_ref();
        if let Some(service) = labels.and_then(|labels| labels.get(SERVICE)) {
            slices.entry((namespace, service)).or_default().push(slice);
        }
    }
    let mut ports = Vec::new();
    for ((namespace, name), service) in &seen.services {
        let own = slices.get(&(namespace.as_str(), name.as_str()));
        let own = own.map(Vec::as_slice).unwrap_or_default();
        ports.extend(ports_of(namespace, name, service, own, node, dead));
    }
    (Table::new(ports), of_dead)
}

fn is_on_dead(endpoint: &Endpoint, dead: &BTreeSet<String>) -> bool {
    endpoint.node_name.as_ref().is_some_and(|node| dead.contains(node))
}

fn ports_of(
    namespace: &str,
    name: &str,
    service: &Arc<Service>,
    slices: &[&EndpointSlice],
    node: &str,
    dead: &BTreeSet<String>,
) -> Vec<Port> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let headless = spec.cluster_ip.as_deref() == Some("None");
    if headless || spec.type_.as_deref() == Some("ExternalName") {
        return Vec::new();
    }
    let ingress = service.status.iter().filter_map(|status| status.load_balancer.as_ref());
    let ingress = ingress.flat_map(|balancer| balancer.ingress.iter().flatten());
    let balanced: Vec<IpAddr> = ingress
        .filter(|ingress| ingress.ip_mode.as_deref() != Some("Proxy"))
        .filter_map(|ingress| ingress.ip.as_deref()?.parse().ok())
        .collect();
    let external = parse_all(spec.external_ips.as_deref());
    let cluster = spec.cluster_ips.as_deref().map_or_else(
        || parse_all(spec.cluster_ip.as_ref().map(std::slice::from_ref)),
        |all| parse_all(Some(all)),
    );
    let mut ports = Vec::new();
    for ipv4 in [true, false] {
        let of_family = |ips: &[IpAddr]| -> BTreeSet<IpAddr> {
            ips.iter().copied().filter(|ip| ip.is_ipv4() == ipv4).collect()
        };
        let cluster_ip = of_family(&cluster).first().copied();
        // Without an address of a family a Service is not in that family at all.
        let Some(cluster_ip) = cluster_ip else { continue };
        for given in spec.ports.iter().flatten() {
            let protocol = match given.protocol.as_deref() {
                None | Some("TCP") => Protocol::Tcp,
                Some("UDP") => Protocol::Udp,
                Some(_) => continue, // SCTP: docs/services.md
            };
            let Some(number) = u16::try_from(given.port).ok().filter(|port| *port != 0) else {
                continue;
            };
            let words = format!("{namespace}/{name}/{protocol}/{number}");
            let mut port = Port::new(&words, protocol, number, ipv4);
            port.cluster_ip = Some(cluster_ip);
            if spec.type_.as_deref() == Some("LoadBalancer") {
                port.balanced = of_family(&balanced);
            }
            port.external = of_family(&external);
            port.node_port =
                given.node_port.and_then(|n| u16::try_from(n).ok()).filter(|n| *n != 0);
            policies(&mut port, spec);
            backends(&mut port, given, slices, node, dead);
            ports.push(port);
        }
    }
    ports
}

fn parse_all(texts: Option<&[String]>) -> Vec<IpAddr> {
    texts.unwrap_or_default().iter().filter_map(|text| text.parse().ok()).collect()
}

fn policies(port: &mut Port, spec: &ServiceSpec) {
    let reach = |policy: Option<&str>| match policy {
        Some("Local") => Reach::Local,
        _ => Reach::Cluster,
    };
    port.inside = reach(spec.internal_traffic_policy.as_deref());
    port.outside = reach(spec.external_traffic_policy.as_deref());
    let ranges = spec.load_balancer_source_ranges.iter().flatten();
    port.sources = ranges.filter_map(|range| range.trim().parse().ok()).collect();
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        let config = spec.session_affinity_config.as_ref().and_then(|c| c.client_ip.as_ref());
        let seconds = config.and_then(|client| client.timeout_seconds);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        port.affinity = Some(seconds.filter(|s| *s > 0).unwrap_or(AFFINITY_SECONDS));
    }
}

/// Endpoints that may get connections.
#[derive(Default)]
struct Candidates {
    ready: BTreeSet<SocketAddr>,
    leaving: BTreeSet<SocketAddr>,
}

impl Candidates {
    fn best(self) -> BTreeSet<SocketAddr> {
        if self.ready.is_empty() { self.leaving } else { self.ready }
    }
}

fn backends(
    port: &mut Port,
    given: &ServicePort,
    slices: &[&EndpointSlice],
    node: &str,
    dead: &BTreeSet<String>,
) {
    let family = if port.ipv4 { "IPv4" } else { "IPv6" };
    let wanted = given.name.as_deref().unwrap_or_default();
    let protocol = given.protocol.as_deref().unwrap_or("TCP");
    let (mut anywhere, mut here) = (Candidates::default(), Candidates::default());
    // One pod may be in two slices for a moment; the later word counts.
    let mut latest: BTreeMap<SocketAddr, (bool, bool, bool)> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.address_type == family) {
        let found = slice.ports.iter().flatten().find(|p| {
            p.name.as_deref().unwrap_or_default() == wanted
                && p.protocol.as_deref().unwrap_or("TCP") == protocol
        });
        let number = found.and_then(|p| p.port).and_then(|n| u16::try_from(n).ok());
        let Some(number) = number.filter(|number| *number != 0) else { continue };
        for endpoint in slice.endpoints.iter().filter(|endpoint| !is_on_dead(endpoint, dead)) {
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            // What is not said is as upstream reads it: ready, serving, not going away.
            let ready = conditions.ready.unwrap_or(true);
            let serving = conditions.serving.unwrap_or(ready);
            let leaving = conditions.terminating.unwrap_or(false) && serving;
            let near = endpoint.node_name.as_deref() == Some(node);
            // All addresses of an endpoint are the same; upstream uses the first.
            let Some(ip) = endpoint.addresses.first().and_then(|ip| ip.parse::<IpAddr>().ok())
            else {
                continue;
            };
            if ip.is_ipv4() != port.ipv4 || ip.is_loopback() || ip.is_unspecified() {
                continue;
            }
            let entry = latest.entry(SocketAddr::new(ip, number)).or_default();
            entry.0 |= ready;
            entry.1 |= leaving;
            entry.2 |= near;
        }
    }
    for (address, (ready, leaving, near)) in latest {
        for candidates in [Some(&mut anywhere), near.then_some(&mut here)].into_iter().flatten() {
            if ready {
                candidates.ready.insert(address);
            } else if leaving {
                candidates.leaving.insert(address);
            }
        }
    }
    port.anywhere = anywhere.best();
    port.here = here.best();
}
