//! The kinds of `network.openstack.org`. What is wrong with them their schema says, so nothing is
//! noted here: what cannot be read is not there.

use std::net::IpAddr;

use landbridge_api::foreign::{At, Node, Trouble};
use landbridge_api::ledger::segment::WIRES;
use landbridge_api::net::{Cidr, Range, VlanId};
use serde_json::Value;

use super::{Facts, Held, HostNames, Subnet};
use crate::finding::Mark;

pub(super) fn netconfig<'a>(
    facts: &mut Facts<'a>,
    at: usize,
    value: &'a Value,
    namespace: &'a str,
) {
    facts.netconfigs.push((namespace, at));
    let mut trouble = Trouble::default();
    let trouble = &mut trouble;
    let Some(spec) = Node::root(value).get("spec") else { return };
    let wires = value["metadata"]["annotations"][WIRES].as_str().unwrap_or_default();
    let own_wires = !wires.trim().is_empty();
    for (number, network) in spec.list("networks", trouble).into_iter().enumerate() {
        let Some(name) = network.text("name", trouble) else { continue };
        let service = network.text("serviceNetwork", trouble).filter(|text| !text.value.is_empty());
        let mtu = network.number("mtu", trouble);
        let mtu = mtu.unwrap_or(At { place: network.place.clone(), value: 1500 });
        for subnet in network.list("subnets", trouble) {
            let cidr = subnet.text("cidr", trouble).and_then(|text| trouble.prefix(&text));
            let Some(cidr) = cidr else { continue };
            let within = cidr.value;
            let vlan = subnet.number("vlan", trouble);
            let vlan_place =
                vlan.as_ref().map_or_else(|| subnet.place.clone(), |vlan| vlan.place.clone());
            let vlan = vlan.and_then(|vlan| VlanId::parse(vlan.value).ok().flatten());
            let gateway = subnet.text("gateway", trouble).and_then(|text| trouble.address(&text));
            let mut routers: Vec<_> = gateway.clone().into_iter().collect();
            for route in subnet.list("routes", trouble) {
                let hop = route.text("nexthop", trouble);
                routers.extend(hop.and_then(|text| trouble.address(&text)));
            }
            let exclude = subnet.texts("excludeAddresses", trouble);
            facts.subnets.push(Subnet {
                source: at,
                namespace,
                own_wires,
                network: name.value,
                number,
                service: service
                    .as_ref()
                    .map_or_else(|| name.value.to_lowercase(), |text| text.value.to_lowercase()),
                service_given: service.is_some(),
                name: subnet.text("name", trouble).map_or("", |text| text.value),
                network_place: name.place.clone(),
                cidr,
                vlan: vlan.map(VlanId::get),
                vlan_place,
                mtu: mtu.clone(),
                ranges: ranges(&subnet, within, trouble),
                exclude: exclude.iter().filter_map(|text| text.value.parse().ok()).collect(),
                routers,
                gateway: gateway.map(|gateway| gateway.value),
            });
        }
    }
}

/// Ranges inside of the prefix; others are refused, and nothing is handed out of them.
fn ranges(subnet: &Node<'_>, within: Cidr, trouble: &mut Trouble) -> Vec<At<Range>> {
    let entries = subnet.list("allocationRanges", trouble);
    let mut read = |entry: Node<'_>| {
        let first: IpAddr = entry.text("start", trouble)?.value.parse().ok()?;
        let last: IpAddr = entry.text("end", trouble)?.value.parse().ok()?;
        let value = Range::new(first, last)?;
        (within.contains(first) && within.contains(last))
            .then_some(At { place: entry.place, value })
    };
    entries.into_iter().filter_map(&mut read).collect()
}

pub(super) fn ipset<'a>(
    facts: &mut Facts<'a>,
    at: usize,
    value: &'a Value,
    namespace: &'a str,
    holder: &'a str,
) {
    let mut trouble = Trouble::default();
    let trouble = &mut trouble;
    let root = Node::root(value);
    for wanted in root.get("spec").iter().flat_map(|spec| spec.list("networks", trouble)) {
        let Some(text) = wanted.get("fixedIP") else { continue };
        let Some(address) = text.value.as_str().and_then(|text| text.parse().ok()) else {
            continue;
        };
        facts.held.push(Held {
            mark: Mark::new(at, &text.place),
            namespace,
            holder,
            network: wanted.value["name"].as_str().unwrap_or_default(),
            subnet: wanted.value["subnetName"].as_str().unwrap_or_default(),
            address,
            fixed: true,
            given: None,
        });
    }
    for given in root.get("status").iter().flat_map(|status| status.list("reservations", trouble)) {
        let held = held(&given, at, namespace, holder);
        facts.held.extend(held.map(|held| Held { given: Some(given), ..held }));
    }
}

pub(super) fn reservation<'a>(
    facts: &mut Facts<'a>,
    at: usize,
    value: &'a Value,
    namespace: &'a str,
    holder: &'a str,
) {
    for (_, given) in Node::root(value).at(&["spec", "reservation"]).iter().flat_map(Node::entries)
    {
        facts.held.extend(held(&given, at, namespace, holder));
    }
}

fn held<'a>(given: &Node<'a>, at: usize, namespace: &'a str, holder: &'a str) -> Option<Held<'a>> {
    let text = given.get("address")?;
    Some(Held {
        mark: Mark::new(at, &text.place),
        namespace,
        holder,
        network: given.value["network"].as_str().unwrap_or_default(),
        subnet: given.value["subnet"].as_str().unwrap_or_default(),
        address: text.value.as_str()?.parse().ok()?,
        fixed: false,
        given: None,
    })
}

pub(super) fn dnsdata<'a>(facts: &mut Facts<'a>, at: usize, value: &'a Value, namespace: &'a str) {
    let mut trouble = Trouble::default();
    let Some(spec) = Node::root(value).get("spec") else { return };
    let mut names = Vec::new();
    for host in spec.list("hosts", &mut trouble) {
        let address = host.text("ip", &mut trouble);
        let address = address
            .and_then(|text| Some(At { value: text.value.parse().ok()?, place: text.place }));
        let found = host.texts("hostnames", &mut trouble);
        names.extend(found.into_iter().map(|name| (name, address.clone())));
    }
    facts.host_names.push(HostNames { source: at, namespace, names });
}
