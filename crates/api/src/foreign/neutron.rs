//! Networks, subnets and ports as Neutron's API answers them (`{"networks": […]}`) and as the
//! `openstack` client prints them with `-f json` (one object, or a list with titles as keys).

use std::net::IpAddr;

use serde_json::Value;

use super::{At, Node, Place, Trouble};
use crate::net::{Cidr, Range};

/// What a document holds.
#[derive(Clone, Debug, Default)]
pub struct Neutron<'a> {
    /// Networks.
    pub networks: Vec<Network<'a>>,
    /// Subnets.
    pub subnets: Vec<Subnet<'a>>,
    /// Ports.
    pub ports: Vec<Port<'a>>,
}

/// A network.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// Where it stands.
    pub place: Place,
    /// Identity.
    pub id: &'a str,
    /// Name; not unique.
    pub name: &'a str,
    /// `flat`, `vlan`, `geneve`, …; `None` when the document does not say.
    pub network_type: Option<&'a str>,
    /// Physical network, for flat and vlan.
    pub physical_network: Option<&'a str>,
    /// VLAN, for vlan.
    pub segmentation_id: Option<At<i64>>,
    /// Largest packet.
    pub mtu: Option<At<i64>>,
}

/// A subnet.
#[derive(Clone, Debug)]
pub struct Subnet<'a> {
    /// Where it stands.
    pub place: Place,
    /// Identity.
    pub id: &'a str,
    /// Name; not unique.
    pub name: &'a str,
    /// Identity of the network.
    pub network: &'a str,
    /// The prefix.
    pub cidr: At<Cidr>,
    /// Router.
    pub gateway: Option<At<IpAddr>>,
    /// What Neutron hands out.
    pub pools: Vec<At<Range>>,
}

/// A port: addresses that are taken.
#[derive(Clone, Debug)]
pub struct Port<'a> {
    /// Identity.
    pub id: &'a str,
    /// Name; may be empty.
    pub name: &'a str,
    /// Addresses, each with its subnet.
    pub fixed_ips: Vec<(At<IpAddr>, &'a str)>,
}

/// Reads a document; `None` when it is not Neutron's.
pub fn read<'a>(document: &'a Value, trouble: &mut Trouble) -> Option<Neutron<'a>> {
    let mut found = Neutron::default();
    let root = Node::root(document);
    if document.is_array() {
        let mut seen = false;
        for element in root.elements() {
            seen |= element_of(&element, &mut found, trouble);
        }
        return seen.then_some(found);
    }
    if document.get("apiVersion").is_some() || document.get("kind").is_some() {
        return None;
    }
    let mut seen = false;
    for name in ["networks", "subnets", "ports"] {
        // A network's own `subnets` is a list of texts, not of objects.
        let listed = document.get(name).and_then(Value::as_array);
        if listed.is_none_or(|list| !list.iter().all(Value::is_object)) {
            continue;
        }
        for element in root.list(name, trouble) {
            take(name, &element, &mut found, trouble);
        }
        seen = true;
    }
    for (one, many) in [("network", "networks"), ("subnet", "subnets"), ("port", "ports")] {
        if let Some(node) = root.get(one).filter(|node| node.value.is_object()) {
            take(many, &node, &mut found, trouble);
            seen = true;
        }
    }
    seen = seen || element_of(&root, &mut found, trouble);
    seen.then_some(found)
}

/// Reads an element whose kind has to be told from its fields.
fn element_of<'a>(node: &Node<'a>, found: &mut Neutron<'a>, trouble: &mut Trouble) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| node.value.get(name).is_some());
    let name = if has(&["fixed_ips", "Fixed IP Addresses"]) {
        "ports"
    } else if has(&["cidr", "Subnet"]) && has(&["network_id", "Network"]) {
        "subnets"
    } else if has(&["subnets", "Subnets", "provider:network_type", "router:external"]) {
        "networks"
    } else {
        return false;
    };
    take(name, node, found, trouble);
    true
}

fn take<'a>(name: &str, node: &Node<'a>, found: &mut Neutron<'a>, trouble: &mut Trouble) {
    match name {
        "networks" => found.networks.push(network(node, trouble)),
        "subnets" => found.subnets.extend(subnet(node, trouble)),
        _ => found.ports.push(port(node, trouble)),
    }
}

/// The first of the names that is there: the API's, then the client's title.
fn text<'a>(node: &Node<'a>, names: &[&str], trouble: &mut Trouble) -> Option<At<&'a str>> {
    names.iter().find_map(|name| node.text(name, trouble))
}

fn word<'a>(node: &Node<'a>, names: &[&str], trouble: &mut Trouble) -> &'a str {
    text(node, names, trouble).map_or("", |text| text.value)
}

fn network<'a>(node: &Node<'a>, trouble: &mut Trouble) -> Network<'a> {
    let mut optional = |names: &[&str]| text(node, names, trouble).map(|text| text.value);
    let network_type = optional(&["provider:network_type", "Network Type"]);
    let physical_network = optional(&["provider:physical_network"]);
    Network {
        place: node.place.clone(),
        id: word(node, &["id", "ID"], trouble),
        name: word(node, &["name", "Name"], trouble),
        network_type,
        physical_network,
        segmentation_id: node.number("provider:segmentation_id", trouble),
        mtu: node.number("mtu", trouble).filter(|mtu| mtu.value > 0),
    }
}

fn subnet<'a>(node: &Node<'a>, trouble: &mut Trouble) -> Option<Subnet<'a>> {
    let cidr = text(node, &["cidr", "Subnet"], trouble)?;
    let cidr = trouble.prefix(&cidr)?;
    let gateway = text(node, &["gateway_ip", "Gateway"], trouble)
        .filter(|text| !text.value.is_empty() && text.value != "None");
    let gateway = gateway.and_then(|text| trouble.address(&text));
    let mut pools = Vec::new();
    for name in ["allocation_pools", "Allocation Pools"] {
        let Some(list) = node.get(name) else { continue };
        if let Some(text) = list.value.as_str() {
            let text = At { place: list.place, value: text };
            pools.extend(
                text.value.split(',').filter_map(|part| dashed(&text.place, part, trouble)),
            );
            continue;
        }
        for entry in node.list(name, trouble) {
            let ends = entry.text("start", trouble).zip(entry.text("end", trouble));
            let Some((start, end)) = ends else { continue };
            let ends = trouble.address(&start).zip(trouble.address(&end));
            match ends.and_then(|(start, end)| Range::new(start.value, end.value)) {
                Some(value) => pools.push(At { place: entry.place, value }),
                None => trouble.note(&entry.place, "is not a range of addresses"),
            }
        }
    }
    Some(Subnet {
        place: node.place.clone(),
        id: word(node, &["id", "ID"], trouble),
        name: word(node, &["name", "Name"], trouble),
        network: word(node, &["network_id", "Network"], trouble),
        cidr,
        gateway,
        pools,
    })
}

fn dashed(place: &Place, text: &str, trouble: &mut Trouble) -> Option<At<Range>> {
    let (start, end) = text.trim().split_once('-')?;
    let range = start.parse().ok().zip(end.parse().ok()).and_then(|(a, b)| Range::new(a, b));
    if range.is_none() {
        trouble.note(place, format!("{text:?} is not a range of addresses"));
    }
    range.map(|value| At { place: place.clone(), value })
}

fn port<'a>(node: &Node<'a>, trouble: &mut Trouble) -> Port<'a> {
    let mut fixed_ips = Vec::new();
    for name in ["fixed_ips", "Fixed IP Addresses"] {
        for entry in node.list(name, trouble) {
            let Some(address) = entry.text("ip_address", trouble) else { continue };
            let subnet = entry.text("subnet_id", trouble).map_or("", |text| text.value);
            fixed_ips.extend(trouble.address(&address).map(|address| (address, subnet)));
        }
    }
    Port {
        id: word(node, &["id", "ID"], trouble),
        name: word(node, &["name", "Name"], trouble),
        fixed_ips,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_api_and_the_client_are_both_understood() {
        let api = json!({
            "networks": [{"id": "n", "name": "octavia-provider-net", "provider:network_type": "flat",
                          "provider:physical_network": "octavia", "subnets": ["s"], "mtu": 1500}],
            "subnets": [{"id": "s", "name": "x", "network_id": "n", "cidr": "172.23.0.0/24", "gateway_ip": null,
                         "allocation_pools": [{"start": "172.23.0.71", "end": "172.23.0.96"}]}],
            "ports": [{"id": "p", "name": "", "fixed_ips": [{"subnet_id": "s", "ip_address": "172.23.0.80"}]}],
        });
        let mut trouble = Trouble::default();
        let found = read(&api, &mut trouble).unwrap();
        assert_eq!(found.networks[0].physical_network, Some("octavia"));
        assert_eq!(found.subnets[0].pools[0].place.path.as_str(), "subnets[0].allocation_pools[0]");
        assert_eq!(found.ports[0].fixed_ips[0].1, "s");
        let listed = json!([
            {"ID": "s", "Name": "x", "Network": "n", "Subnet": "10.0.0.0/24", "Allocation Pools": "10.0.0.2-10.0.0.9"},
            {"ID": "p", "Name": "y", "Fixed IP Addresses": [{"ip_address": "10.0.0.3", "subnet_id": "s"}]},
            {"ID": "n", "Name": "z", "Subnets": ["s"]},
        ]);
        let found = read(&listed, &mut trouble).unwrap();
        assert_eq!((found.networks.len(), found.subnets.len(), found.ports.len()), (1, 1, 1));
        assert_eq!(found.subnets[0].pools.len(), 1);
        let shown =
            json!({"id": "s", "network_id": "n", "cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.1"});
        assert!(read(&shown, &mut trouble).unwrap().subnets[0].gateway.is_some());
        assert!(trouble.0.is_empty(), "{trouble:?}");
        assert!(read(&json!({"apiVersion": "v1", "kind": "List"}), &mut trouble).is_none());
        assert!(read(&json!({"foo": 1}), &mut trouble).is_none());
    }
}
