//! Addresses of nodes in the ledger: tables for the engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_api::foreign::nmstate::objects::{Condition, NodeNetworkConfigurationEnactment};
use landbridge_api::ledger::Claim;
use landbridge_controllers::hosts::engine::{plan, wanted};
use landbridge_controllers::ipam::seen::Block;
use landbridge_controllers::mirror::Key;
use serde_json::{Value, json};

fn netconfig() -> Value {
    let subnet = json!({"name": "subnet1", "cidr": "172.17.0.0/24", "vlan": 20});
    json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig", "namespace": "openstack"},
        "spec": {"networks": [{"name": "InternalApi", "subnets": [subnet]}]},
    })
}

fn enactment(node: &str, vlan: u16, addresses: &[&str]) -> NodeNetworkConfigurationEnactment {
    let mut made = NodeNetworkConfigurationEnactment::new(node, "osp");
    let addresses: Vec<Value> =
        addresses.iter().map(|ip| json!({"ip": ip, "prefix-length": 24})).collect();
    made.status.desired_state = json!({"interfaces": [{
        "name": format!("enp6s0.{vlan}"), "type": "vlan", "state": "up",
        "vlan": {"base-iface": "enp6s0", "id": vlan},
        "ipv4": {"enabled": true, "address": addresses},
    }]});
    made.status.conditions = vec![Condition {
        type_: "Available".to_owned(),
        status: "True".to_owned(),
        ..Condition::default()
    }];
    made
}

fn words(enactments: &[NodeNetworkConfigurationEnactment]) -> Vec<String> {
    let found = wanted(&[netconfig()], enactments);
    found.iter().map(|(place, c)| format!("{} {} {c}", place.segment, place.address)).collect()
}

#[test]
fn what_is_in_force_is_claimed_where_a_netconfig_has_it() {
    let all = [
        enactment("worker-1", 20, &["172.17.0.11", "10.0.0.1"]),
        enactment("worker-0", 20, &["172.17.0.10"]),
        enactment("worker-2", 21, &["172.17.0.12"]),
    ];
    let expected = ["vlan-20 172.17.0.10 Node worker-0", "vlan-20 172.17.0.11 Node worker-1"];
    assert_eq!(words(&all), expected);
    let claim = wanted(&[netconfig()], &all).into_values().next().unwrap();
    assert_eq!(claim.source, "NodeNetworkConfigurationPolicy osp");
    assert_eq!(claim.attachment, "enp6s0.20");
    assert!(wanted(&[], &all).is_empty(), "no NetConfig, no claims");
    let mut failing = enactment("worker-0", 20, &["172.17.0.10"]);
    failing.status.conditions[0].status = "False".to_owned();
    assert_eq!(words(&[failing]), [""; 0]);
}

#[test]
fn of_all_who_have_one_address_the_first_holds_it() {
    let mut all =
        ["worker-2", "worker-0", "worker-1"].map(|node| enactment(node, 20, &["172.17.0.10"]));
    assert_eq!(words(&all), ["vlan-20 172.17.0.10 Node worker-0"]);
    let first = wanted(&[netconfig()], &all);
    all.reverse();
    assert_eq!(wanted(&[netconfig()], &all), first);
}

fn block(claims: &[(&str, &Claim)]) -> Block {
    Block {
        key: Key::new("", "vlan-20.172.17.0.0"),
        uid: "u".into(),
        revision: 7,
        segment: "vlan-20".into(),
        base: Some("172.17.0.0".parse().unwrap()),
        claims: claims.iter().map(|(ip, claim)| (ip.parse().unwrap(), (*claim).clone())).collect(),
    }
}

fn edits(
    enactments: &[NodeNetworkConfigurationEnactment],
    claims: &[(&str, &Claim)],
) -> BTreeMap<IpAddr, Option<String>> {
    let plan = plan(&wanted(&[netconfig()], enactments), &[block(claims)]);
    let edits = plan.edits.into_values().flat_map(|edit| edit.edits);
    edits.map(|(ip, claim)| (ip, claim.map(|claim| claim.to_string()))).collect()
}

#[test]
fn only_claims_of_nodes_change() {
    let ipset = Claim { kind: "IPSet".into(), name: "a".into(), ..Claim::default() };
    let all = [enactment("worker-0", 20, &["172.17.0.10", "172.17.0.11"])];
    let mine = wanted(&[netconfig()], &all).into_values().next().unwrap();
    let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
    let put = |text: &str| (ip(text), Some("Node worker-0".to_owned()));
    assert_eq!(edits(&all, &[]), [put("172.17.0.10"), put("172.17.0.11")].into());
    // What is there is left alone, and what an IPSet has, too: that is told.
    let there = [("172.17.0.10", &mine), ("172.17.0.11", &ipset)];
    assert!(edits(&all, &there).is_empty());
    let told = plan(&wanted(&[netconfig()], &all), &[block(&there)]).doubles;
    let expected = "172.17.0.11 of node worker-0 (NodeNetworkConfigurationPolicy osp, interface \
                    enp6s0.20) is held by IPSet a on the same network: change one of the two";
    assert_eq!(told, [expected]);
    // What nodes have no longer goes, and nothing else.
    assert_eq!(edits(&[], &there), [(ip("172.17.0.10"), None)].into());
    let last = plan(&BTreeMap::new(), &[block(&[("172.17.0.10", &mine)])]);
    assert!(last.edits.values().all(landbridge_controllers::hosts::engine::Edit::empties));
    // Another node is the first now.
    let other = Claim { name: "worker-9".into(), ..mine };
    let all = [enactment("worker-0", 20, &["172.17.0.10"])];
    assert_eq!(edits(&all, &[("172.17.0.10", &other)]), [put("172.17.0.10")].into());
}
