//! One address on several nodes: a policy says what *all* of its nodes shall look like, and with it
//! gives them the same addresses. It is applied as it stands, and pointed out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_api::foreign::{Trouble, nmstate};
use serde_json::json;

use super::seen::{NodeSeen, Policy};

/// So many nodes are named.
const NAMED: usize = 5;

/// An address that a policy gives to more than one node, or that other policies give too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    pub address: IpAddr,
    /// Where the policy has it.
    pub field: String,
    pub nodes: BTreeSet<String>,
    /// Other policies that have it.
    pub others: BTreeSet<String>,
}

impl Duplicate {
    /// In words, for an Event.
    pub fn note(&self) -> String {
        let mut nodes: Vec<&str> = self.nodes.iter().map(String::as_str).take(NAMED).collect();
        let more = format!("{} more", self.nodes.len().saturating_sub(NAMED));
        if self.nodes.len() > NAMED {
            nodes.push(&more);
        }
        let others = if self.others.is_empty() {
            String::new()
        } else {
            let names: Vec<&str> = self.others.iter().map(String::as_str).take(NAMED).collect();
            format!(" (also in policy {})", names.join(", "))
        };
        format!(
            "{}: {} is given to {} nodes: {}{others}; hosts that share a network need different \
             addresses: use one policy per node (nodeSelector kubernetes.io/hostname)",
            self.field,
            self.address,
            self.nodes.len(),
            nodes.join(", ")
        )
    }
}

/// The duplicates of one policy, given what all policies give to whom.
pub fn of_policy(policy: &Policy, given: &Given) -> Vec<Duplicate> {
    let mut found = BTreeMap::new();
    for (address, field) in addresses(policy) {
        let Some(holders) = given.0.get(&address) else { continue };
        let nodes: BTreeSet<String> = holders.iter().map(|(node, _)| node.clone()).collect();
        if nodes.len() < 2 {
            continue;
        }
        let others = holders.iter().map(|(_, policy)| policy.clone());
        let others = others.filter(|name| name != policy.id.name()).collect();
        found.entry(address).or_insert(Duplicate { address, field, nodes, others });
    }
    found.into_values().collect()
}

/// Which nodes are given an address, and by which policy.
#[derive(Debug, Default)]
pub struct Given(BTreeMap<IpAddr, BTreeSet<(String, String)>>);

/// Gathers what all policies give.
pub fn given<'a>(policies: impl Iterator<Item = &'a Policy>, nodes: &[&NodeSeen]) -> Given {
    let mut given = Given::default();
    for policy in policies.filter(|policy| !policy.going) {
        for (address, _) in addresses(policy) {
            let holders = given.0.entry(address).or_default();
            for node in nodes.iter().filter(|node| policy.matches(&node.labels)) {
                holders.insert((node.id.name().to_owned(), policy.id.name().to_owned()));
            }
        }
    }
    given
}

/// Link-local and loopback addresses are each node's own.
fn addresses(policy: &Policy) -> Vec<(IpAddr, String)> {
    let object = json!({"spec": {"desiredState": policy.spec.desired_state}});
    let mut trouble = Trouble::default();
    let read = nmstate::read(&object, &mut trouble);
    let interfaces = read.interfaces.iter().filter(|i| !i.absent && i.kind != "loopback");
    interfaces
        .flat_map(|interface| &interface.addresses)
        .map(|at| (at.value.0, at.place.path.as_str().to_owned()))
        .filter(|(address, _)| match address {
            IpAddr::V4(v4) => !v4.is_link_local() && !v4.is_loopback(),
            IpAddr::V6(v6) => !v6.is_unicast_link_local() && !v6.is_loopback(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::seen::Identity;
    use super::*;
    use landbridge_controllers::mirror::Key;

    fn node(name: &str) -> NodeSeen {
        NodeSeen {
            id: Identity { key: Key::new("", name), ..Identity::default() },
            labels: BTreeMap::from([("host".to_owned(), name.to_owned())]),
            ..NodeSeen::default()
        }
    }

    fn policy(name: &str, host: Option<&str>, ip: &str) -> Policy {
        let mut policy = Policy {
            id: Identity { key: Key::new("", name), ..Identity::default() },
            ..Policy::default()
        };
        policy.spec.node_selector =
            host.map(|host| BTreeMap::from([("host".to_owned(), host.to_owned())]));
        let address: Value = json!([{"ip": ip, "prefix-length": 24}]);
        policy.spec.desired_state = json!({"interfaces": [
            {"name": "enp6s0", "type": "ethernet", "ipv4": {"enabled": true, "address": address}}]});
        policy
    }

    #[test]
    fn found_within_and_between_policies() {
        let nodes = [node("w0"), node("w1"), node("w2")];
        let nodes: Vec<&NodeSeen> = nodes.iter().collect();
        let all = [
            policy("all", None, "192.168.122.10"),
            policy("p0", Some("w0"), "192.168.122.20"),
            policy("p1", Some("w1"), "192.168.122.20"),
            policy("p2", Some("w2"), "192.168.122.22"),
            policy("none", Some("w9"), "192.168.122.22"),
            policy("local", None, "169.254.1.1"),
        ];
        let given = given(all.iter(), &nodes);
        let found = of_policy(&all[0], &given);
        assert_eq!(
            found[0].note(),
            "spec.desiredState.interfaces[0].ipv4.address[0].ip: 192.168.122.10 is given to 3 nodes: \
             w0, w1, w2; hosts that share a network need different addresses: use one policy per node \
             (nodeSelector kubernetes.io/hostname)"
        );
        let found = of_policy(&all[1], &given);
        assert!(found[0].note().contains("w0, w1 (also in policy p1);"), "{}", found[0].note());
        for fine in &all[3..] {
            assert_eq!(of_policy(fine, &given), vec![], "{}", fine.id.name());
        }
    }
}
