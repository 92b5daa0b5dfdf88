//! From objects to units: tables.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use landbridge_agent::announce::plan::{Plan, World, plan};
use landbridge_agent::announce::publish::{self, SeenStatus, Write};
use landbridge_agent::announce::seen::{
    SeenAdvertisement, SeenNode, SeenPool, SeenService, SeenSlice,
};
use landbridge_api::foreign::metallb::objects::{IPAddressPool, L2Advertisement};
use landbridge_l2::eligible::Refusal;
use landbridge_l2::interfaces::Where;
use serde_json::{Value, json};

use crate::scene::ip;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn key(name: &str) -> (String, String) {
    ("openstack".to_owned(), name.to_owned())
}

fn service(annotations: Value, addresses: &[&str], spec: Value) -> SeenService {
    let ingress: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    let mut whole = json!({
        "metadata": {"name": "x", "namespace": "openstack", "uid": "u", "annotations": annotations},
        "spec": {"type": "LoadBalancer"},
        "status": {"loadBalancer": {"ingress": ingress}},
    });
    for (field, value) in spec.as_object().unwrap() {
        whole["spec"][field] = value.clone();
    }
    SeenService::of(&read::<Service>(whole)).unwrap()
}

fn slice(service: &str, nodes: &[&str]) -> SeenSlice {
    let endpoints: Vec<Value> = nodes
        .iter()
        .map(|node| json!({"addresses": ["10.0.0.1"], "nodeName": node, "conditions": {"ready": true}}))
        .collect();
    let whole = json!({
        "metadata": {"labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4", "endpoints": endpoints,
    });
    SeenSlice::of(&read::<EndpointSlice>(whole)).unwrap()
}

fn node(number: u8, ready: &str) -> SeenNode {
    SeenNode::of(&read::<Node>(json!({
        "metadata": {"name": "n", "labels": {"number": number.to_string()}},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "n"},
                {"type": "InternalIP", "address": format!("192.168.111.{number}")},
            ],
            "conditions": [{"type": "Ready", "status": ready}],
        },
    })))
}

fn advertisement(spec: Value) -> Result<SeenAdvertisement, String> {
    SeenAdvertisement::of(&read::<L2Advertisement>(
        json!({"metadata": {"name": "l2"}, "spec": spec}),
    ))
}

/// The seed's pool and advertisement on three nodes, with Services to be added.
fn world() -> World {
    let pool = json!({"metadata": {"name": "internalapi"}, "spec": {"addresses": ["172.17.0.80-172.17.0.90", "fd00:17::/64"]}});
    let names = ["a", "b", "c"];
    World {
        nodes: names.iter().zip(20..).map(|(n, i)| ((*n).to_owned(), node(i, "True"))).collect(),
        pools: BTreeMap::from([(
            "internalapi".to_owned(),
            SeenPool::of(&read::<IPAddressPool>(pool)),
        )]),
        advertisements: BTreeMap::from([(
            "l2".to_owned(),
            advertisement(json!({"ipAddressPools": ["internalapi"], "interfaces": ["enp6s0.20"]})),
        )]),
        speakers: names.iter().map(|n| (*n).to_owned()).collect(),
        ..World::default()
    }
}

fn add(world: &mut World, name: &str, service: SeenService, nodes: &[&str]) {
    world.services.insert(key(name), service);
    world.slices.insert(key(name), slice(name, nodes));
}

fn candidates(plan: &Plan, at: &str) -> Vec<String> {
    plan.units[&ip(at)].candidates.keys().cloned().collect()
}

#[test]
fn the_seeds_service() {
    let mut world = world();
    add(&mut world, "glance", service(json!({}), &["172.17.0.80"], json!({})), &["a"]);
    let plan = plan(&world, "a");
    assert_eq!(candidates(&plan, "172.17.0.80"), ["a", "b", "c"]);
    let on = Where::Named(BTreeSet::from(["enp6s0.20".to_owned()]));
    assert_eq!(plan.units[&ip("172.17.0.80")].addresses[&ip("172.17.0.80")], Some(on));
    assert_eq!(plan.own_address, Some(ip("192.168.111.20")));
    assert_eq!(plan.roster.keys().collect::<Vec<_>>(), ["b", "c"]);
    assert!(plan.roster.values().all(|contact| contact.counted));
}

#[test]
fn services_that_are_not_ours() {
    let of = |spec: Value| {
        SeenService::of(&read::<Service>(json!({
            "metadata": {"name": "x"}, "spec": spec,
            "status": {"loadBalancer": {"ingress": [{"ip": "172.17.0.80"}, {"hostname": "h"}]}},
        })))
    };
    assert!(of(json!({"type": "LoadBalancer"})).is_some_and(|s| s.addresses.len() == 1));
    assert!(of(json!({"type": "ClusterIP"})).is_none());
    assert!(of(json!({"type": "LoadBalancer", "loadBalancerClass": "other"})).is_none());
    let mut world = world();
    // An address of no pool has no advertisement; no endpoint, no announcement.
    add(&mut world, "elsewhere", service(json!({}), &["10.0.0.1"], json!({})), &["a"]);
    add(&mut world, "empty", service(json!({}), &["172.17.0.81"], json!({})), &[]);
    let plan = plan(&world, "a");
    assert!(plan.units.is_empty());
    assert_eq!(plan.refused[&key("elsewhere")], Refusal::NoAdvertisement);
    assert_eq!(plan.refused[&key("empty")], Refusal::NoEndpoint);
}

#[test]
fn what_shares_an_address_has_one_node() {
    let shared = json!({"metallb.universe.tf/allow-shared-ip": "internalapi"});
    let local = json!({"externalTrafficPolicy": "Local"});
    let mut world = world();
    let at = ["172.17.0.80"];
    add(&mut world, "one", service(shared.clone(), &at, local.clone()), &["a", "b"]);
    add(&mut world, "two", service(shared.clone(), &at, local.clone()), &["b", "c"]);
    let both = plan(&world, "a");
    assert_eq!(both.units.len(), 1);
    assert_eq!(candidates(&both, "172.17.0.80"), ["b"]);
    assert_eq!(both.units[&ip("172.17.0.80")].services.len(), 2);
    // Nobody has both: better one of them than two announcers.
    world.slices.insert(key("two"), slice("two", &["c"]));
    assert_eq!(candidates(&plan(&world, "a"), "172.17.0.80"), ["a", "b", "c"]);
    // Joined by a third through the other family.
    add(
        &mut world,
        "three",
        service(json!({}), &["172.17.0.85", "fd00:17::85"], json!({})),
        &["a"],
    );
    add(&mut world, "four", service(shared, &["fd00:17::85"], json!({})), &["a"]);
    let joined = plan(&world, "a");
    assert_eq!(joined.units.len(), 2);
    assert_eq!(joined.units[&ip("172.17.0.85")].addresses.len(), 2);
    assert_eq!(joined.units[&ip("172.17.0.85")].services.len(), 2);
}

#[test]
fn selectors_weights_and_wishes() {
    let mut world = world();
    let annotations =
        json!({"landbridge.dev/sticky-announcer": "true", "landbridge.dev/subnet-aware": "yes"});
    add(&mut world, "one", service(annotations, &["172.17.0.80"], json!({})), &["a"]);
    world.advertisements = BTreeMap::from([
        (
            "x".to_owned(),
            advertisement(json!({
                "nodeSelectors": [{"matchLabels": {"number": "20"}}, {"matchExpressions": [{"key": "number", "operator": "In", "values": ["22"]}]}],
                "preferredNodeSelectors": [{"weight": 7, "preference": {"matchLabels": {"number": "22"}}}],
            })),
        ),
        (
            "y".to_owned(),
            advertisement(json!({"serviceSelectors": [{"matchLabels": {"no": "body"}}]})),
        ),
        ("z".to_owned(), advertisement(json!({"ipAddressPools": ["other"]}))),
    ]);
    let planned = plan(&world, "a");
    let unit = &planned.units[&ip("172.17.0.80")];
    assert_eq!(unit.candidates, BTreeMap::from([("a".to_owned(), 0), ("c".to_owned(), 7)]));
    assert!(unit.wishes.sticky && !unit.wishes.subnets, "only \"true\" is yes");
    let elsewhere = plan(&world, "b");
    assert_eq!(elsewhere.units[&ip("172.17.0.80")].addresses[&ip("172.17.0.80")], None);
}

#[test]
fn what_cannot_be_read_is_told() {
    for (spec, wrong) in [
        (json!({"interfaces": "enp6s0"}), "spec.interfaces is no list of texts"),
        (json!({"nodeSelectors": {}}), "spec.nodeSelectors is no list of selectors"),
        (
            json!({"nodeSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}),
            "spec.nodeSelectors[0]: ",
        ),
        (
            json!({"preferredNodeSelectors": [{"weight": 101, "preference": {}}]}),
            "spec.preferredNodeSelectors[0].weight is not within 1 and 100",
        ),
    ] {
        let error = advertisement(spec).unwrap_err();
        assert!(error.starts_with(wrong), "{error}");
    }
    let mut world = world();
    assert_eq!(publish::trouble(&world, None), None);
    world.advertisements.insert("bad".to_owned(), advertisement(json!({"interfaces": 7})));
    let told = publish::trouble(&world, Some("why")).unwrap();
    assert_eq!(
        told,
        "L2Advertisement bad: spec.interfaces is no list of texts; interfaces to exclude: why"
    );
    let state = publish::configuration(Some(&told), "now");
    assert_eq!(state["result"], "Invalid");
    assert_eq!(state["conditions"][0]["message"], format!("configuration error: {told}"));
}

#[test]
fn who_counts_as_a_member() {
    let mut world = world();
    world.nodes.insert("b".to_owned(), node(21, "Unknown"));
    world.speakers.remove("c");
    let plan = plan(&world, "a");
    assert!(!plan.roster["b"].counted, "not Ready");
    assert!(!plan.roster["c"].counted, "no agent");
}

#[test]
fn statuses_are_written_once() {
    let names =
        |list: &[&str]| -> BTreeSet<String> { list.iter().map(|n| (*n).to_owned()).collect() };
    let status = |node: &str, service: &str, interfaces: &[&str]| SeenStatus {
        node: node.to_owned(),
        service: key(service),
        interfaces: names(interfaces),
        complete: true,
    };
    let announced = BTreeMap::from([
        (key("new"), names(&["enp6s0.20"])),
        (key("same"), names(&[])),
        (key("moved"), names(&["enp7s0"])),
    ]);
    let known = BTreeMap::from([
        ("l2-1".to_owned(), status("a", "same", &[])),
        ("l2-2".to_owned(), status("a", "moved", &["enp6s0.20"])),
        ("l2-3".to_owned(), status("a", "lost", &[])),
        ("l2-4".to_owned(), status("b", "new", &[])),
        ("l2-5".to_owned(), status("b", "theirs", &[])),
        ("l2-6".to_owned(), status("a", "same", &[])),
    ]);
    let writes = publish::writes("a", &announced, &known);
    assert_eq!(
        writes,
        [
            Write::Update("l2-2".to_owned(), key("moved"), names(&["enp7s0"])),
            Write::Delete("l2-3".to_owned()),
            Write::Delete("l2-4".to_owned()),
            Write::Delete("l2-6".to_owned()),
            Write::Create(key("new"), names(&["enp6s0.20"])),
        ]
    );
    let settled = BTreeMap::from([("l2-1".to_owned(), status("a", "same", &[]))]);
    let only = BTreeMap::from([(key("same"), names(&[]))]);
    assert_eq!(publish::writes("a", &only, &settled), []);
}

#[test]
fn events_are_said_once() {
    let mut world = world();
    add(&mut world, "glance", service(json!({}), &["172.17.0.80"], json!({})), &["a"]);
    let plan = plan(&world, "a");
    let mut told = BTreeMap::new();
    let mut say = |works: bool| {
        let held = BTreeMap::from([(ip("172.17.0.80"), works)]);
        let said = publish::sayings("a", &plan, &held, &mut told);
        said.into_iter().map(|one| (one.warning, one.reason, one.note)).collect::<Vec<_>>()
    };
    assert_eq!(
        say(true),
        [(false, "nodeAssigned", "announcing from node \"a\" with protocol \"layer2\"".to_owned())]
    );
    assert_eq!(say(true), []);
    let failed = "the interfaces specified by LB IP \"172.17.0.80\" doesn't exist in assigned node \"a\" with protocol \"layer2\"";
    assert_eq!(say(false), [(true, "announceFailed", failed.to_owned())]);
}
