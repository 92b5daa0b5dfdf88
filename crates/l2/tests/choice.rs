//! Who may announce, who does, and where: tables.

#![allow(clippy::unwrap_used)] // all of this is test code

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_l2::election::{Ballot, elect, order, rank};
use landbridge_l2::eligible::{
    Advertisement, Endpoint, Node, Refusal, Service, candidates, interfaces,
};
use landbridge_l2::interfaces::{EXCLUDED, Excluded, Interface, Where, ability};
use landbridge_l2::packet::Mac;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn names(nodes: &[&str]) -> BTreeSet<String> {
    nodes.iter().map(|node| (*node).to_owned()).collect()
}

fn all() -> Advertisement {
    Advertisement {
        nodes: names(&["a", "b", "c"]),
        interfaces: Where::All,
        selects_services: false,
        matches: true,
        weights: BTreeMap::new(),
    }
}

fn nodes() -> BTreeMap<String, Node> {
    names(&["a", "b", "c"]).into_iter().map(|name| (name, Node::default())).collect()
}

fn service() -> Service {
    let endpoint = Endpoint { node: Some("b".into()), ready: Some(true), serving: None };
    Service { endpoints: vec![endpoint], advertisements: vec![all()], ..Service::default() }
}

fn eligible(service: &Service, nodes: &BTreeMap<String, Node>) -> Vec<String> {
    candidates(service, nodes).unwrap().into_keys().collect()
}

/// sha256("node#ip"), computed elsewhere (sha256sum).
#[test]
fn ranks_are_sha_256() {
    let first: Vec<u8> = rank("worker-0", ip("172.17.0.80")).to_vec();
    let hex: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    let hex = hex.concat();
    assert_eq!(hex, WORKER_0);
    // Canonical text: however the address was written.
    assert_eq!(rank("n", ip("fd00::0:80")), rank("n", ip("FD00:0::80")));
}
const WORKER_0: &str = "2b04fd243e8c49ecf66f6c8275806f9df8bd2452ab873af369b5ef326e68f6fc";

#[test]
fn every_rule_of_eligibility() {
    assert_eq!(eligible(&service(), &nodes()), ["a", "b", "c"]);
    // 1: an endpoint that is ready, or unsaid, or serving.
    for (ready, serving, counts) in [
        (Some(true), None, true),
        (None, None, true),
        (Some(false), Some(true), true),
        (Some(false), None, false),
        (Some(false), Some(false), false),
    ] {
        let mut service = service();
        service.endpoints = vec![Endpoint { node: None, ready, serving }];
        assert_eq!(candidates(&service, &nodes()).is_ok(), counts, "{ready:?} {serving:?}");
    }
    let none = Service { endpoints: Vec::new(), ..service() };
    assert_eq!(candidates(&none, &nodes()), Err(Refusal::NoEndpoint));
    // 2: an advertisement that matches and includes the node.
    let mut some = service();
    some.advertisements = vec![Advertisement { nodes: names(&["c"]), ..all() }];
    assert_eq!(eligible(&some, &nodes()), ["c"]);
    some.advertisements.push(Advertisement { nodes: names(&["a"]), matches: false, ..all() });
    assert_eq!(eligible(&some, &nodes()), ["c"]);
    some.advertisements.clear();
    assert_eq!(candidates(&some, &nodes()), Err(Refusal::NoAdvertisement));
    // 4 and 5: the node's own condition and label.
    let mut fewer = nodes();
    fewer.get_mut("a").unwrap().network_unavailable = true;
    fewer.get_mut("b").unwrap().excluded = true;
    assert_eq!(eligible(&service(), &fewer), ["c"]);
    // 6: where the endpoints are.
    assert_eq!(eligible(&Service { local: true, ..service() }, &nodes()), ["b"]);
    // Shared, and selected.
    let mut shared = Service { shared: true, ..service() };
    assert_eq!(eligible(&shared, &nodes()).len(), 3);
    shared.advertisements[0].selects_services = true;
    assert_eq!(candidates(&shared, &nodes()), Err(Refusal::SharedAndSelected));
}

#[test]
fn weights_add_up_and_come_first() {
    let mut service = service();
    let weights = |of: &[(&str, u32)]| of.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect();
    service.advertisements[0].weights = weights(&[("a", 10), ("b", 20)]);
    service.advertisements.push(Advertisement { weights: weights(&[("a", 15)]), ..all() });
    let found = candidates(&service, &nodes()).unwrap();
    assert_eq!(found, weights(&[("a", 25), ("b", 20), ("c", 0)]));
    for last in 0..20 {
        assert_eq!(order(ip(&format!("10.0.0.{last}")), &found), ["a", "b", "c"]);
    }
}

#[test]
fn without_weights_the_hash_decides() {
    let candidates = names(&["a", "b", "c"]).into_iter().map(|name| (name, 0)).collect();
    let mut firsts = BTreeSet::new();
    for last in 0..50 {
        let address = ip(&format!("10.0.0.{last}"));
        let ordered = order(address, &candidates);
        assert!(ordered.windows(2).all(|two| rank(two[0], address) < rank(two[1], address)));
        firsts.insert(ordered[0].to_owned());
    }
    assert_eq!(firsts.len(), 3, "fifty addresses, and a node has none");
}

#[test]
fn interfaces_are_the_union_unless_one_means_all() {
    let named = |list: &[&str]| Where::Named(names(list));
    let mut service = service();
    service.advertisements[0].interfaces = named(&["enp6s0.20"]);
    assert_eq!(interfaces(&service, "a"), Some(named(&["enp6s0.20"])));
    service.advertisements.push(Advertisement { interfaces: named(&["enp7s0"]), ..all() });
    assert_eq!(interfaces(&service, "a"), Some(named(&["enp6s0.20", "enp7s0"])));
    service.advertisements.push(Advertisement { nodes: names(&["b"]), ..all() });
    assert_eq!(interfaces(&service, "a"), Some(named(&["enp6s0.20", "enp7s0"])));
    assert_eq!(interfaces(&service, "b"), Some(Where::All));
    assert_eq!(interfaces(&service, "z"), None);
}

fn ballot(nodes: &[&str], holder: Option<&str>, sticky: bool, spread: bool) -> Ballot {
    Ballot {
        candidates: nodes.iter().map(|node| ((*node).to_owned(), 0)).collect(),
        holder: holder.map(str::to_owned),
        sticky,
        spread,
    }
}

#[test]
fn sticky_stays_as_long_as_it_can() {
    let address = ip("10.0.0.1");
    let anybody = ballot(&["a", "b", "c"], None, false, false).candidates;
    let last = (*order(address, &anybody).last().unwrap()).to_owned();
    let elected = |ballot: Ballot| elect(&BTreeMap::from([(address, ballot)])).remove(&address);
    let stays = ballot(&["a", "b", "c"], Some(&last), true, false);
    assert_eq!(elected(stays.clone()), Some(last.clone()));
    assert_ne!(elected(Ballot { sticky: false, ..stays }), Some(last.clone()));
    let others: Vec<&str> = ["a", "b", "c"].into_iter().filter(|node| *node != last).collect();
    assert_ne!(elected(ballot(&others, Some(&last), true, false)), Some(last));
    assert_eq!(elected(ballot(&[], None, true, true)), None);
}

#[test]
fn spread_gives_nobody_more_than_a_share() {
    let nodes = ["a", "b", "c", "d"];
    let ballots = |spread: bool| -> BTreeMap<IpAddr, Ballot> {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        (0..10).map(|last| (address(last), ballot(&nodes, None, false, spread))).collect()
    };
    let most = |spread: bool| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for node in elect(&ballots(spread)).into_values() {
            *counts.entry(node).or_default() += 1;
        }
        counts.into_values().max().unwrap()
    };
    assert_eq!(most(true), 3);
    assert!(most(false) > 3, "these addresses show nothing");
}

fn interface(name: &str) -> Interface {
    Interface {
        index: 3,
        name: name.to_owned(),
        mac: Some(Mac([2, 0, 0, 0, 0, 1])),
        up: true,
        carrier: true,
        has_master: false,
        no_arp: false,
        broadcast: true,
        link_local: Some("fe80::1".parse().unwrap()),
    }
}

#[test]
fn interfaces_that_announce() {
    let excluded = Excluded::new(&EXCLUDED).unwrap();
    let able = |interface: &Interface| ability(interface, &excluded);
    let good = interface("enp6s0.20");
    assert!(able(&good).is_some_and(|ability| ability.arp && ability.ndp.is_some()));
    assert_eq!(able(&Interface { up: false, ..good.clone() }), None);
    assert_eq!(able(&Interface { has_master: true, ..good.clone() }), None);
    assert_eq!(able(&Interface { no_arp: true, ..good.clone() }), None);
    assert_eq!(able(&Interface { mac: None, ..good.clone() }), None);
    let only_ndp = able(&Interface { broadcast: false, ..good.clone() }).unwrap();
    assert!(!only_ndp.arp && only_ndp.ndp.is_some());
    let only_arp = able(&Interface { link_local: None, ..good.clone() }).unwrap();
    assert!(only_arp.arp && only_arp.ndp.is_none());
    assert_eq!(able(&Interface { link_local: None, broadcast: false, ..good }), None);
}

#[test]
fn interfaces_left_out_by_name() {
    let usual = Excluded::new(&EXCLUDED).unwrap();
    for out in ["lo", "docker0", "veth1a2b", "cni0", "cali12", "kube-ipvs0", "lxcbr0"] {
        assert!(usual.matches(out), "{out}");
    }
    for used in ["enp6s0", "enp6s0.20", "br-ex", "lo0", "ospbr"] {
        assert!(!usual.matches(used), "{used}");
    }
    // Unanchored unless the pattern says otherwise.
    assert!(Excluded::new(&["p6"]).unwrap().matches("enp6s0"));
    assert!(!Excluded::new::<&str>(&[]).unwrap().matches("lo"));
    let wrong = Excluded::new(&["^ok$", "("]).unwrap_err().to_string();
    assert!(wrong.starts_with("\"(\" is no regular expression"), "{wrong}");
    assert!(Excluded::new(&vec!["a"; 300]).is_err());
}
