//! What the slices of a Service should say: upstream's rules, pod by pod.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::pods;
use crate::world::{World, uid};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    /// As in `addressType`.
    pub fn word(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    fn of(ip: &str) -> Option<Self> {
        let ip: std::net::IpAddr = ip.parse().ok()?;
        Some(if ip.is_ipv4() { Self::V4 } else { Self::V6 })
    }
}

/// Endpoints that have the same ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub ports: Vec<EndpointPort>,
    /// By [`id`].
    pub endpoints: BTreeMap<String, Endpoint>,
}

/// What makes an endpoint the same: the pod behind it.
pub fn id(endpoint: &Endpoint) -> &str {
    let target = endpoint.target_ref.as_ref().and_then(|target| target.uid.as_deref());
    target.unwrap_or_else(|| endpoint.addresses.first().map_or("", String::as_str))
}

/// Whether a Service has no address of its own.
pub fn is_headless(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

/// The families of a Service, in order.
pub fn families(service: &Service) -> Vec<Family> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let said = spec.ip_families.iter().flatten();
    let said: Vec<Family> = said
        .filter_map(|word| [Family::V4, Family::V6].into_iter().find(|f| f.word() == word))
        .collect();
    if !said.is_empty() {
        return said;
    }
    let address = spec.cluster_ip.as_deref().and_then(Family::of);
    vec![address.unwrap_or(Family::V4)]
}

/// What about a pod matters to Services.
#[derive(Debug, PartialEq)]
pub struct Facts<'a> {
    labels: Option<&'a BTreeMap<String, String>>,
    uid: &'a str,
    addresses: Vec<&'a str>,
    conditions: (bool, bool, bool),
    node: Option<&'a str>,
}

/// See [`Facts`].
pub fn facts(pod: Option<&Pod>) -> Option<Facts<'_>> {
    pod.map(|pod| Facts {
        labels: pod.metadata.labels.as_ref(),
        uid: uid(&pod.metadata),
        addresses: addresses(pod).collect(),
        conditions: (pods::is_ready(pod), pods::is_leaving(pod), pods::is_over(pod)),
        node: pods::node(pod),
    })
}

fn addresses(pod: &Pod) -> impl Iterator<Item = &str> {
    let status = pod.status.as_ref();
    let all = status.and_then(|status| status.pod_ips.as_deref()).unwrap_or_default();
    let single = status.and_then(|status| status.pod_ip.as_deref()).filter(|_| all.is_empty());
    all.iter().map(|ip| ip.ip.as_str()).chain(single)
}

/// Groups by family; nothing when others make the endpoints of this Service.
pub fn groups(world: &World, service: &Service) -> Option<BTreeMap<Family, Vec<Group>>> {
    let spec = service.spec.as_ref()?;
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return None;
    }
    let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
    let families: BTreeSet<Family> = families(service).into_iter().collect();
    let mut groups: BTreeMap<(Family, String), Group> = BTreeMap::new();
    for pod in world.pods_with(namespace, selector) {
        if pods::is_over(pod) {
            continue;
        }
        let given = spec.ports.as_deref().unwrap_or_default();
        let ports: Vec<EndpointPort> = given.iter().filter_map(|port| resolve(port, pod)).collect();
        // Whoever has none of the ports that were asked for is no endpoint of this Service.
        if ports.is_empty() && !given.is_empty() {
            continue;
        }
        // A pod has at most one address of each family that counts.
        for family in &families {
            let Some(ip) = addresses(pod).find(|ip| Family::of(ip) == Some(*family)) else {
                continue;
            };
            let endpoint = endpoint(service, pod, ip);
            // Text is only for telling groups apart; an order of ports does not exist.
            let name = serde_json::to_string(&ports).unwrap_or_default();
            let group = groups.entry((*family, name)).or_default();
            group.ports.clone_from(&ports);
            group.endpoints.insert(id(&endpoint).to_owned(), endpoint);
        }
    }
    let mut by_family: BTreeMap<Family, Vec<Group>> = BTreeMap::new();
    for ((family, _), group) in groups {
        by_family.entry(family).or_default().push(group);
    }
    Some(by_family)
}

/// The port on this pod; named ones differ from pod to pod.
fn resolve(port: &ServicePort, pod: &Pod) -> Option<EndpointPort> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let number = match port.target_port.as_ref() {
        None | Some(IntOrString::Int(0)) => port.port,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(name)) => {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            let found = ports.find(|p| {
                p.name.as_deref() == Some(name)
                    && p.protocol.as_deref().unwrap_or("TCP") == protocol
            });
            found?.container_port
        }
    };
    Some(EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(number),
        protocol: Some(protocol.to_owned()),
        app_protocol: port.app_protocol.clone(),
    })
}

fn endpoint(service: &Service, pod: &Pod, ip: &str) -> Endpoint {
    let spec = service.spec.as_ref();
    let anyway = spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true);
    let (serving, terminating) = (pods::is_ready(pod), pods::is_leaving(pod));
    let named = pod.spec.as_ref().filter(|spec| spec.subdomain == service.metadata.name);
    Endpoint {
        addresses: vec![ip.to_owned()],
        conditions: Some(EndpointConditions {
            ready: Some(anyway || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hostname: named.and_then(|spec| spec.hostname.clone()).filter(|name| !name.is_empty()),
        node_name: pods::node(pod).map(str::to_owned),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    }
}
