//! What a pod takes and what a node has left.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Place;
use crate::quantity::milli;

/// Thousandths of each resource.
pub(super) type Amounts = BTreeMap<String, i128>;

/// A port of the node that a pod takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    address: String,
    protocol: String,
    number: i32,
}

impl Port {
    fn clashes(&self, other: &Self) -> bool {
        let any = |address: &str| matches!(address, "" | "0.0.0.0" | "::");
        self.number == other.number
            && self.protocol == other.protocol
            && (any(&self.address) || any(&other.address) || self.address == other.address)
    }
}

fn amounts(list: Option<&BTreeMap<String, Quantity>>) -> Amounts {
    let parsed = list.into_iter().flatten().filter_map(|(name, q)| Some((name, milli(&q.0)?)));
    parsed.map(|(name, amount)| (name.clone(), amount)).collect()
}

/// What a node offers to pods.
pub(super) fn offered(node: &Node) -> Amounts {
    let status = node.status.as_ref();
    let list = status.and_then(|s| s.allocatable.as_ref().or(s.capacity.as_ref()));
    amounts(list)
}

fn of(container: &Container) -> Amounts {
    amounts(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
}

/// What a pod asks for: all containers together, or the largest init container if that is more.
pub(super) fn requests(spec: &PodSpec) -> Amounts {
    let mut sum = Amounts::new();
    let add = |sum: &mut Amounts, more: Amounts| {
        for (name, amount) in more {
            *sum.entry(name).or_default() += amount;
        }
    };
    for container in &spec.containers {
        add(&mut sum, of(container));
    }
    let init = || spec.init_containers.iter().flatten();
    let stays = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    for container in init().filter(stays) {
        add(&mut sum, of(container));
    }
    for container in init().filter(|container| !stays(container)) {
        for (name, amount) in of(container) {
            let known = sum.entry(name).or_default();
            *known = (*known).max(amount);
        }
    }
    add(&mut sum, amounts(spec.overhead.as_ref()));
    sum
}

/// Ports of the node that a pod takes.
pub(super) fn host_ports(spec: &PodSpec) -> Vec<Port> {
    let containers = spec.containers.iter();
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    let taken = ports.filter(|port| port.host_port.is_some_and(|number| number > 0));
    taken
        .map(|port| Port {
            address: port.host_ip.clone().unwrap_or_default(),
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
            number: port.host_port.unwrap_or(0),
        })
        .collect()
}

/// What is missing on a node for a pod that asks for this. A node that does not say how much it
/// has of something has enough of cpu, memory and pods, and nothing of what is special.
pub(super) fn lacking(place: &Place<'_>, requests: &Amounts, ports: &[Port]) -> Vec<String> {
    let mut reasons = Vec::new();
    if ports.iter().any(|port| place.ports.iter().any(|taken| taken.clashes(port))) {
        reasons.push("node(s) didn't have free ports for the requested pod ports".to_owned());
    }
    let count = i128::try_from(place.pods).unwrap_or(i128::MAX);
    if place.offered.get("pods").is_some_and(|limit| (count + 1) * 1000 > *limit) {
        reasons.push("Too many pods".to_owned());
    }
    for (name, amount) in requests.iter().filter(|(_, amount)| **amount > 0) {
        let used = place.used.get(name).copied().unwrap_or(0);
        let common = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        let enough = match place.offered.get(name) {
            Some(offered) => used + amount <= *offered,
            None => common,
        };
        if !enough {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    reasons
}
