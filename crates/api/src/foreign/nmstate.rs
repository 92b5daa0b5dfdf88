//! NodeNetworkConfigurationPolicy: the interfaces of nodes.
//!
//! Here is what the address plan reads of a policy; [`objects`] has the kinds as an agent writes them.

pub mod objects;

use std::net::IpAddr;

use serde_json::Value;

use super::{At, Node, Place, Trouble};

/// The API group.
pub const GROUP: &str = "nmstate.io";
/// The kind.
pub const KIND: &str = "NodeNetworkConfigurationPolicy";
/// The label that selects one node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// What a policy wants of the nodes it selects.
#[derive(Clone, Debug, Default)]
pub struct NodePolicy<'a> {
    /// Labels a node must have, all of them. Empty: every node.
    pub selector: Vec<(&'a str, &'a str)>,
    /// The interfaces.
    pub interfaces: Vec<Interface<'a>>,
}

/// One interface.
#[derive(Clone, Debug)]
pub struct Interface<'a> {
    /// Where it is written.
    pub place: Place,
    /// As it is written.
    pub value: &'a Value,
    /// Its name.
    pub name: At<&'a str>,
    /// `ethernet`, `vlan`, `linux-bridge`, `bond`, …
    pub kind: &'a str,
    /// Whether the policy removes it.
    pub absent: bool,
    /// Largest packet.
    pub mtu: Option<At<i64>>,
    /// Static addresses with prefix length.
    pub addresses: Vec<At<(IpAddr, u8)>>,
    /// The interface below and the VLAN, for a VLAN.
    pub vlan: Option<(At<&'a str>, At<i64>)>,
    /// The interfaces below, for a bridge or a bond.
    pub ports: Vec<At<&'a str>>,
}

impl<'a> NodePolicy<'a> {
    /// The one node this is for, when it is for one.
    pub fn hostname(&self) -> Option<&'a str> {
        self.selector.iter().find(|(key, _)| *key == HOSTNAME).map(|(_, value)| *value)
    }
}

/// Reads the object.
pub fn read<'a>(object: &'a Value, trouble: &mut Trouble) -> NodePolicy<'a> {
    let Some(spec) = Node::root(object).get("spec") else { return NodePolicy::default() };
    let mut selector = Vec::new();
    for (key, value) in spec.get("nodeSelector").iter().flat_map(Node::entries) {
        selector.extend(value.as_text(trouble).map(|text| (key, text.value)));
    }
    let Some(desired) = spec.get("desiredState") else {
        return NodePolicy { selector, interfaces: Vec::new() };
    };
    let interfaces = desired.list("interfaces", trouble);
    let interfaces = interfaces.iter().filter_map(|node| interface(node, trouble)).collect();
    NodePolicy { selector, interfaces }
}

fn interface<'a>(node: &Node<'a>, trouble: &mut Trouble) -> Option<Interface<'a>> {
    let Some(name) = node.text("name", trouble) else {
        trouble.note(&node.place, "an interface without a name");
        return None;
    };
    let mut addresses = Vec::new();
    for family in ["ipv4", "ipv6"] {
        let Some(ip) = node.get(family) else { continue };
        // Addresses of a disabled family are not set.
        if ip.flag("enabled", trouble) == Some(false) {
            continue;
        }
        for entry in ip.list("address", trouble) {
            addresses.extend(address(&entry, trouble));
        }
    }
    let vlan = node
        .get("vlan")
        .and_then(|vlan| vlan.text("base-iface", trouble).zip(vlan.number("id", trouble)));
    let mut ports = Vec::new();
    if let Some(bridge) = node.get("bridge") {
        let listed = bridge.list("port", trouble);
        ports.extend(listed.iter().filter_map(|port| port.text("name", trouble)));
    }
    if let Some(bond) = node.get("link-aggregation") {
        let named = if bond.get("port").is_some() { "port" } else { "slaves" };
        ports.extend(bond.texts(named, trouble));
    }
    Some(Interface {
        place: node.place.clone(),
        value: node.value,
        name,
        kind: node.text("type", trouble).map_or("", |text| text.value),
        absent: node.text("state", trouble).is_some_and(|text| text.value == "absent"),
        mtu: node.number("mtu", trouble),
        addresses,
        vlan,
        ports,
    })
}

/// Captured addresses (`{{ capture… }}`) are known only on the node.
fn address(entry: &Node<'_>, trouble: &mut Trouble) -> Option<At<(IpAddr, u8)>> {
    let text = entry.text("ip", trouble).filter(|text| !text.value.contains("{{"))?;
    let address = trouble.address(&text)?;
    let most = if address.value.is_ipv4() { 32 } else { 128 };
    let length = entry.number("prefix-length", trouble).map_or(Some(most), |length| {
        let length_ok = u8::try_from(length.value).ok().filter(|length| *length <= most);
        if length_ok.is_none() {
            trouble.note(&length.place, format!("must be between 0 and {most}"));
        }
        length_ok
    })?;
    Some(address.map(|ip| (ip, length)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn interfaces_keep_what_lies_below_them() {
        let object = json!({"spec": {
            "nodeSelector": {"kubernetes.io/hostname": "worker-0"},
            "desiredState": {"interfaces": [
                {"name": "enp6s0", "type": "ethernet", "mtu": 1500, "ipv4": {"enabled": true, "address": [
                    {"ip": "192.168.122.10", "prefix-length": 24}, {"ip": "{{ capture.x }}", "prefix-length": 24}]},
                 "ipv6": {"enabled": false, "address": [{"ip": "fd00::1", "prefix-length": 64}]}},
                {"name": "enp6s0.20", "type": "vlan", "vlan": {"base-iface": "enp6s0", "id": 20}},
                {"name": "octbr", "type": "linux-bridge", "bridge": {"port": [{"name": "enp6s0.24"}]}},
                {"name": "bond0", "type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eno1", "eno2"]}},
                {"type": "ethernet"}, {"name": "x", "ipv4": {"address": [{"ip": "10.0.0.1", "prefix-length": 40}]}},
            ]},
        }});
        let mut trouble = Trouble::default();
        let policy = read(&object, &mut trouble);
        assert_eq!(policy.hostname(), Some("worker-0"));
        let [eth, vlan, bridge, bond, x] = &policy.interfaces[..] else { panic!("{policy:?}") };
        assert_eq!(eth.addresses.len(), 1);
        assert_eq!(
            eth.addresses[0].place.path.as_str(),
            "spec.desiredState.interfaces[0].ipv4.address[0].ip"
        );
        let (base, id) = vlan.vlan.as_ref().unwrap();
        assert_eq!((base.value, id.value), ("enp6s0", 20));
        assert_eq!(bridge.ports[0].value, "enp6s0.24");
        assert_eq!(bond.ports.len(), 2);
        assert!(x.addresses.is_empty());
        assert_eq!(trouble.0.len(), 2, "{trouble:?}");
    }
}
