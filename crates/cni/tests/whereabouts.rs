//! whereabouts' settings, choice and release: tables from upstream's rules, and a naive model.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests

mod seeds;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use landbridge_cni::args::Args;
use landbridge_cni::config::Input;
use landbridge_cni::whereabouts::{
    Allocation, Claim, Ipam, Ledger, NoAddress, PoolSpec, RangeSettings, Usable, merge_flat_file,
    patch, podref,
};
use landbridge_cni::{Code, Coded};
use proptest::prelude::*;
use serde_json::{Value, json};

fn ipam(section: &Value, args: &str) -> Result<Ipam, String> {
    let text = json!({"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "ipam": section});
    let input = Input::parse(text.to_string().as_bytes()).unwrap();
    Ipam::read(&input, &Args::parse(args).unwrap()).map_err(|error| error.to_string())
}

fn args(text: &str) -> Args {
    Args::parse(text).unwrap()
}

fn claim<'a>(container_id: &'a str, podref: &'a str, ifname: &'a str) -> Claim<'a> {
    Claim { container_id, podref, ifname }
}

fn nobody(_: IpAddr) -> Option<String> {
    None
}

fn empty(range: &str) -> Ledger {
    Ledger::read(&PoolSpec { range: range.into(), ..PoolSpec::default() }).unwrap()
}

#[test]
fn the_seeds_first_pods_get_the_first_addresses() {
    for (text, first) in [
        (seeds::INTERNALAPI, "172.17.0.30/24"),
        (seeds::STORAGE, "172.18.0.30/24"),
        (seeds::OCTAVIA, "172.23.0.30/24"),
    ] {
        let input = Input::parse(text.as_bytes()).unwrap();
        let ipam = Ipam::read(&input, &Args::default()).unwrap();
        let usable = Usable::of(&ipam.ranges[0]).unwrap();
        let mut ledger = empty(&ipam.ranges[0].range.to_string());
        let given = ledger.assign(&usable, &claim("c", "n/p", "net1"), nobody).unwrap();
        assert_eq!(given.address.to_string(), first);
        assert_eq!(given.change.unwrap().key, "30");
        let result = ipam.result(&[given.address]);
        assert_eq!(result.routes.len(), usize::from(input.name == "octavia"));
    }
}

#[test]
fn settings_are_read_as_upstream_reads_them() {
    let first = |section: Value| ipam(&section, "").unwrap().ranges[0].clone();
    let range = first(json!({"type": "whereabouts", "range": "192.168.1.5-192.168.1.25/24"}));
    assert_eq!(range.range.to_string(), "192.168.1.0/24");
    assert_eq!(range.start, Some("192.168.1.5".parse().unwrap()));
    assert_eq!(range.end, Some("192.168.1.25".parse().unwrap()));
    // Leading zeros do not matter, and a bound that is none is passed over.
    let range = first(json!({"type": "whereabouts", "range": "010.000.01.00/24",
        "range_start": "ten", "range_end": "10.0.1.009"}));
    assert_eq!(range.range.to_string(), "10.0.1.0/24");
    assert_eq!((range.start, range.end), (None, Some("10.0.1.9".parse().unwrap())));

    let both = ipam(
        &json!({"type": "whereabouts", "range": "10.0.0.0/24", "gateway": "10.0.0.1",
            "ipRanges": [{"range": "fd00::/64", "exclude": ["fd00::1"]}],
            "enable_overlapping_ranges": false, "network_name": "blue", "node_slice_size": "/26"}),
        "",
    )
    .unwrap();
    assert_eq!(both.ranges.len(), 2);
    assert_eq!(both.ranges[1].exclude, ["fd00::1"]);
    assert!(!both.enable_overlapping_ranges);
    assert_eq!((both.network_name.as_str(), both.node_slice), ("blue", Some(26)));
    // The gateway goes with every address, whatever its family.
    let given: Vec<IpNet> = vec!["10.0.0.2/24".parse().unwrap(), "fd00::2/64".parse().unwrap()];
    let gateways: Vec<_> = both.result(&given).ips.iter().map(|ip| ip.gateway).collect();
    assert_eq!(gateways, [both.gateway, both.gateway]);
    let plain = ipam(&json!({"type": "whereabouts", "range": "10.0.0.0/24"}), "").unwrap();
    assert!(plain.enable_overlapping_ranges);
}

#[test]
fn addresses_of_the_arguments_come_last() {
    let section = json!({"type": "whereabouts", "range": "10.0.0.0/24",
        "addresses": [{"address": "10.9.0.1/16", "gateway": "10.9.0.254"}]});
    let found = ipam(&section, "IP=10.8.0.1/16, fd00::1/64;GATEWAY=10.8.0.254").unwrap();
    let ips = found.result(&["10.0.0.1/24".parse().unwrap()]).ips;
    let ips: Vec<_> = ips.iter().map(|ip| format!("{} {:?}", ip.address, ip.gateway)).collect();
    assert_eq!(
        ips,
        [
            "10.0.0.1/24 None",
            "10.9.0.1/16 Some(10.9.0.254)",
            "10.8.0.1/16 Some(10.8.0.254)",
            "fd00::1/64 None"
        ]
    );
}

#[test]
fn settings_that_are_refused() {
    let cases = [
        (json!(null), "", "IPAM config missing 'ipam' key"),
        (json!({"type": "static"}), "", "the IPAM section is for \"static\", not for whereabouts"),
        (
            json!({"type": "whereabouts", "range": "10.0.0.0"}),
            "",
            "invalid CIDR (do you have the 'range' parameter set for Whereabouts?) '10.0.0.0'",
        ),
        (
            json!({"type": "whereabouts", "range": "10.1.0.1-10.0.0.9/24"}),
            "",
            "invalid range start for CIDR 10.0.0.0/24: 10.1.0.1",
        ),
        (json!({"type": "whereabouts", "gateway": "x"}), "", "couldn't parse gateway IP: x"),
        (json!({"type": "whereabouts"}), "IP=10.0.0.1", "invalid CIDR in addresses 10.0.0.1"),
    ];
    for (section, args, message) in cases {
        assert_eq!(ipam(&section, args).unwrap_err(), message);
    }
    let old = br#"{"cniVersion":"0.2.0","name":"n","type":"x","ipam":{"type":"whereabouts",
        "addresses":[{"address":"10.0.0.1/8"},{"address":"10.0.0.2/8"}]}}"#;
    let error = Ipam::read(&Input::parse(old).unwrap(), &Args::default()).unwrap_err();
    assert_eq!(error.code(), Code::INCOMPATIBLE_VERSION);
}

#[test]
fn the_flat_file_fills_in_what_is_open() {
    let Value::Object(mut section) = json!({"type": "whereabouts", "log_file": "",
        "range": "10.0.0.0/24", "kubernetes": {"k8s_api_root": "x"}})
    else {
        panic!()
    };
    let Value::Object(flat) = json!({"range": "10.9.0.0/24", "log_file": "/x",
        "kubernetes": {"kubeconfig": "/k"}, "enable_overlapping_ranges": false})
    else {
        panic!()
    };
    merge_flat_file(&mut section, &flat);
    assert_eq!(
        Value::Object(section),
        json!({"type": "whereabouts", "log_file": "/x", "range": "10.0.0.0/24",
            "kubernetes": {"k8s_api_root": "x", "kubeconfig": "/k"}})
    );
}

fn usable(range: &str, exclude: &[&str]) -> Usable {
    Usable::of(&RangeSettings {
        range: range.parse().unwrap(),
        start: None,
        end: None,
        exclude: exclude.iter().map(|text| (*text).to_owned()).collect(),
    })
    .unwrap()
}

fn fill(ledger: &mut Ledger, usable: &Usable) -> Vec<String> {
    let mut given = Vec::new();
    for pod in 0.. {
        let pod = format!("n/p{pod}");
        match ledger.assign(usable, &claim("c", &pod, "net1"), nobody) {
            Ok(found) => given.push(found.address.addr().to_string()),
            Err(NoAddress::Exhausted { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    given
}

#[test]
fn excluded_subnets_are_excluded_whole() {
    // Four addresses for a /30, whatever the README says.
    let given = fill(&mut empty("10.0.0.0/28"), &usable("10.0.0.0/28", &["10.0.0.5/30"]));
    assert_eq!(given.len(), 14 - 4);
    assert!(!given.iter().any(|ip| ["10.0.0.4", "10.0.0.7"].contains(&ip.as_str())));
    // In any order, and single addresses too; a tail ends the search.
    let some = usable("10.0.0.0/28", &["10.0.0.8/29", "10.0.0.1"]);
    let given = fill(&mut empty("10.0.0.0/28"), &some);
    assert_eq!(given, ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7"]);
    let all = usable("10.0.0.0/28", &["10.0.0.0/8", "fd00::1"]);
    let error = empty("10.0.0.0/28").assign(&all, &claim("c", "n/p", "net1"), nobody).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.14 / range: 10.0.0.0/28 / \
         excludeRanges: [10.0.0.0/8 fd00::1]"
    );
}

#[test]
fn an_exclude_that_is_none_is_told_only_when_an_address_is_wanted() {
    let found =
        ipam(&json!({"type": "whereabouts", "range": "10.0.0.0/24", "exclude": ["oops"]}), "")
            .unwrap();
    let error = Usable::of(&found.ranges[0]).unwrap_err();
    assert!(error.to_string().starts_with("could not parse exclude range"));
}

#[test]
fn addresses_that_end_in_zero_are_given() {
    let given = fill(&mut empty("10.0.0.0/23"), &usable("10.0.0.0/23", &["10.0.0.0/25"]));
    assert!(given.contains(&"10.0.1.0".to_owned()) && given.contains(&"10.0.0.255".to_owned()));
}

#[test]
fn a_pod_made_anew_keeps_its_address_and_the_late_release_finds_nothing() {
    let (mut ledger, usable) = (empty("10.0.0.0/24"), usable("10.0.0.0/24", &[]));
    let (old, new) = (claim("old", "n/p", "net1"), claim("new", "n/p", "net1"));
    let first = ledger.assign(&usable, &old, nobody).unwrap();
    let same = ledger.assign(&usable, &old, nobody).unwrap();
    assert_eq!((same.address, same.change), (first.address, None));
    let again = ledger.assign(&usable, &new, nobody).unwrap();
    assert_eq!(again.address, first.address);
    let operations = patch("7", &[again.change.unwrap()]);
    assert_eq!(
        serde_json::to_value(&operations[1]).unwrap(),
        json!({"op": "replace", "path": "/spec/allocations/1/id", "value": "new"})
    );
    assert_eq!(ledger.release(&old), None);
    let (freed, _) = ledger.release(&new).unwrap();
    assert_eq!((freed, ledger.len()), (first.address.addr(), 0));
    assert_eq!(ledger.release(&new), None);
}

#[test]
fn one_network_twice_is_two_addresses() {
    let (mut ledger, usable) = (empty("10.0.0.0/24"), usable("10.0.0.0/24", &[]));
    for (ifname, expected) in [("net1", "10.0.0.1/24"), ("net2", "10.0.0.2/24")] {
        let given = ledger.assign(&usable, &claim("c", "n/p", ifname), nobody).unwrap();
        assert_eq!(given.address.to_string(), expected);
    }
    // Each release frees its own.
    let (freed, _) = ledger.release(&claim("c", "n/p", "net2")).unwrap();
    assert_eq!(freed.to_string(), "10.0.0.2");
}

#[test]
fn what_another_range_reserved_is_passed_over() {
    let (mut ledger, usable) = (empty("10.0.0.0/24"), usable("10.0.0.0/24", &[]));
    let reserved = |ip: IpAddr| match ip.to_string().as_str() {
        "10.0.0.1" => Some("n/other".to_owned()),
        "10.0.0.2" => Some("n/p".to_owned()),
        _ => None,
    };
    let given = ledger.assign(&usable, &claim("c", "n/p", "net1"), reserved).unwrap();
    assert_eq!(given.address.to_string(), "10.0.0.2/24", "one's own reservation is no obstacle");
    assert!(given.is_reserved);
    // Where nobody looks, the first is still there to be given.
    let given = ledger.assign(&usable, &claim("c", "n/q", "net1"), nobody).unwrap();
    assert!(!given.is_reserved);
    assert_eq!(given.address.to_string(), "10.0.0.1/24");
    // A record and a reservation that disagree are not given out.
    let error = ledger.assign(&usable, &claim("c", "n/q", "net1"), reserved).unwrap_err();
    assert_eq!(error.to_string(), "10.0.0.1 is recorded for this pod and reserved for n/other");
}

#[test]
fn pools_others_wrote_are_read_as_they_are() {
    let spec: PoolSpec = serde_json::from_value(json!({
        "range": "10.0.0.4/24",
        "allocations": {
            "1": {"id": "a", "podref": "n/a"},
            "007": {"id": "b", "podref": "n/b", "ifname": "net1"},
            "x": {"id": "c", "podref": "n/c"},
            "-3": {"id": "d", "podref": "n/d"},
            "99999999999999999999": {"id": "e", "podref": "n/e"}
        }
    }))
    .unwrap();
    let mut ledger = Ledger::read(&spec).unwrap();
    assert!(ledger.is_unaligned());
    let held: Vec<_> = ledger.iter().map(|(ip, held)| format!("{ip} {}", held.podref)).collect();
    assert_eq!(held, ["10.0.0.5 n/a", "10.0.0.11 n/b"]);
    // Nothing below the range's own address has an offset.
    let given =
        ledger.assign(&usable("10.0.0.0/24", &[]), &claim("z", "n/z", "net1"), nobody).unwrap();
    assert_eq!(given.address.to_string(), "10.0.0.4/24");
    // A key is removed as it was written; a record without interface is its container's.
    let (_, change) = ledger.release(&claim("b", "n/b", "net1")).unwrap();
    assert_eq!(change.key, "007");
    assert!(ledger.release(&claim("a", "n/other", "net1")).is_none());
    assert!(ledger.release(&claim("a", "n/a", "net1")).is_some());
    assert!(Ledger::read(&PoolSpec { range: "x".into(), ..PoolSpec::default() }).is_err());
}

#[test]
fn a_large_pool_fills_from_the_lowest_to_the_last() {
    let mut ledger = empty("10.0.0.0/18");
    let given = fill(&mut ledger, &usable("10.0.0.0/18", &[]));
    assert_eq!(given.len(), (1 << 14) - 2);
    assert_eq!(given.last().unwrap(), "10.0.63.254");
    assert!(ledger.release(&claim("c", "n/p7", "net1")).is_some());
    let next = ledger.assign(&usable("10.0.0.0/18", &[]), &claim("c", "n/x", "net1"), nobody);
    assert_eq!(next.unwrap().address.to_string(), "10.0.0.8/18");
}

#[test]
fn a_call_without_a_pod_is_refused() {
    assert_eq!(podref(&args("K8S_POD_NAMESPACE=n;K8S_POD_NAME=p")).unwrap(), "n/p");
    let error = podref(&args("K8S_POD_NAMESPACE=n")).unwrap_err();
    assert_eq!(error.to_string(), "IPAM client initialization error: no pod name");
    assert_eq!(error.code(), Code::INVALID_ENVIRONMENT);
}

#[test]
fn wide_prefixes_have_an_end_and_cost_nothing() {
    let mut ledger = empty("fd00::/32");
    let mut settings = RangeSettings {
        range: "fd00::/32".parse().unwrap(),
        start: Some("fd00::7fff:ffff:ffff:ffff".parse().unwrap()),
        end: None,
        exclude: Vec::new(),
    };
    let edge = Usable::of(&settings).unwrap();
    let given = ledger.assign(&edge, &claim("c", "n/p", "net1"), nobody).unwrap();
    assert_eq!(given.change.unwrap().key, i64::MAX.to_string());
    assert!(ledger.assign(&edge, &claim("c", "n/q", "net1"), nobody).is_err());
    settings.start = None;
    let wide = Usable::of(&settings).unwrap();
    let given = ledger.assign(&wide, &claim("c", "n/q", "net1"), nobody).unwrap();
    assert_eq!(given.address.to_string(), "fd00::1/32");
}

#[test]
fn what_is_not_kept_is_freed_and_a_refused_change_taken_back() {
    let (mut ledger, usable) = (empty("10.0.0.0/24"), usable("10.0.0.0/24", &[]));
    for pod in ["n/a", "n/b", "n/c"] {
        ledger.assign(&usable, &claim(pod, pod, "net1"), nobody).unwrap();
    }
    let gone = ledger.retain(|_, held| held.podref == "n/b");
    assert_eq!(gone.len(), 2);
    for (_, change) in gone {
        ledger.apply(&change.inverse());
    }
    let given = ledger.assign(&usable, &claim("d", "n/d", "net1"), nobody).unwrap();
    assert_eq!(given.address.to_string(), "10.0.0.4/24");
    ledger.apply(&given.change.unwrap().inverse());
    assert_eq!(ledger.len(), 3);
}

/// What the tests may do.
#[derive(Clone, Debug)]
enum Step {
    Assign { view: usize, pod: u8, container: u8, interface: u8 },
    Release { pod: u8, container: u8, interface: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3usize, 0..40u8, 0..3u8, 0..2u8).prop_map(|(view, pod, container, interface)| {
            Step::Assign { view, pod, container, interface }
        }),
        1 => (0..40u8, 0..3u8, 0..2u8).prop_map(|(pod, container, interface)| {
            Step::Release { pod, container, interface }
        }),
    ]
}

/// Where a range starts and ends, if anywhere.
type Bounds = (Option<u128>, Option<u128>);

/// A range of 2^n addresses somewhere in either family, with settings that may make no sense.
fn settings() -> impl Strategy<Value = Vec<RangeSettings>> {
    let bound = 0..80u128;
    let one = (proptest::option::of(bound.clone()), proptest::option::of(bound.clone()))
        .prop_flat_map(move |bounds| {
            (Just(bounds), proptest::collection::vec((0..80u128, 0..5u8), 0..4))
        });
    (any::<bool>(), 2..6u8, proptest::collection::vec(one, 3)).prop_map(|(v4, bits, views)| {
        let at = |offset: u128| -> IpAddr {
            if v4 {
                Ipv4Addr::from_bits(0x0a00_0040 + u32::try_from(offset).unwrap()).into()
            } else {
                Ipv6Addr::from_bits((0xfd00 << 112) + 0x40 + offset).into()
            }
        };
        let full = if v4 { 32 } else { 128 };
        let range = IpNet::new(at(0), full - bits).unwrap().trunc();
        let view = |((start, end), exclude): (Bounds, Vec<(u128, u8)>)| RangeSettings {
            range,
            start: start.map(at),
            end: end.map(at),
            exclude: exclude
                .into_iter()
                .map(|(offset, bits)| format!("{}/{}", at(offset), full - bits))
                .collect(),
        };
        views.into_iter().map(view).collect()
    })
}

/// Upstream's rules, one address after the other.
fn naive(
    settings: &RangeSettings,
    held: &BTreeMap<IpAddr, Allocation>,
    claim: &Claim<'_>,
) -> Option<IpAddr> {
    let own = held.iter().find(|(_, a)| a.podref == claim.podref && a.ifname == claim.ifname);
    if let Some((address, _)) = own {
        return Some(*address);
    }
    let hosts: Vec<IpAddr> = settings
        .range
        .hosts()
        .filter(|a| *a != settings.range.network() && *a != settings.range.broadcast())
        .collect();
    let (mut first, mut last) = (*hosts.first()?, *hosts.last()?);
    if let Some(start) = settings.start.filter(|start| hosts.contains(start)) {
        first = start;
    }
    if let Some(end) = settings.end.filter(|end| hosts.contains(end) && *end >= first) {
        last = end;
    }
    let excluded: Vec<IpNet> = settings.exclude.iter().map(|text| text.parse().unwrap()).collect();
    hosts.into_iter().find(|address| {
        *address >= first
            && *address <= last
            && !held.contains_key(address)
            && !excluded.iter().any(|subnet| subnet.contains(address))
    })
}

/// A pool somebody else may have written.
fn pool() -> impl Strategy<Value = PoolSpec> {
    let held = ("c[0-3]", "(net1)?", "n/p[0-5]");
    let held = held.prop_map(|(id, ifname, podref)| Allocation { id, ifname, podref });
    let range = prop_oneof![9 => Just("10.0.0.0/28"), 1 => Just("fd00::/124")];
    (range, proptest::collection::btree_map("0?[0-9]|1[0-5]|x", held, 0..12))
        .prop_map(|(range, allocations)| PoolSpec { range: range.into(), allocations })
}

#[test]
fn an_address_asked_for_is_given_or_its_holder_named() {
    let usable = Usable::of(&RangeSettings {
        range: "172.17.0.0/24".parse().unwrap(),
        start: Some("172.17.0.30".parse().unwrap()),
        end: Some("172.17.0.70".parse().unwrap()),
        exclude: vec!["172.17.0.1".into()],
    })
    .unwrap();
    let mut ledger = empty("172.17.0.0/24");
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    // Outside of start and end, as the seed asks.
    let given = ledger.take(&usable, &claim("c1", "n/a", "net1"), ip("172.17.0.20")).unwrap();
    assert_eq!(given.address.to_string(), "172.17.0.20/24");
    assert_eq!(given.change.unwrap().key, "20");
    let again = ledger.take(&usable, &claim("c1", "n/a", "net1"), ip("172.17.0.20")).unwrap();
    assert_eq!(again.change, None);
    let renewed = ledger.take(&usable, &claim("c2", "n/a", "net1"), ip("172.17.0.20")).unwrap();
    assert_eq!(renewed.change.unwrap().after.unwrap().id, "c2");
    let refused = |ledger: &mut Ledger, address: &str| {
        ledger.take(&usable, &claim("c3", "n/b", "net1"), ip(address)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&mut ledger, "172.17.0.20"),
        "the requested address 172.17.0.20 is held by n/a (net1)"
    );
    for bad in ["172.17.0.1", "172.17.0.0", "172.17.0.255", "172.17.1.5", "fd00::1"] {
        assert!(refused(&mut ledger, bad).contains("cannot be given"), "{bad}");
    }
    assert_eq!(ledger.held_by("n/a", "net1"), [ip("172.17.0.20")]);
    assert_eq!(ledger.holder(ip("172.17.0.20")).unwrap().id, "c2");
    assert_eq!(ledger.held_for(&claim("c1", "n/a", "net1")), None);
    assert!(ledger.free_address(ip("172.17.0.20")).is_some());
    assert_eq!(ledger.free_address(ip("172.17.0.20")), None);
}

proptest! {
    #[test]
    fn following_a_pool_is_reading_it(pools in proptest::collection::vec(pool(), 1..5), pod in "n/p[0-9]") {
        let views = [usable("10.0.0.0/28", &["10.0.0.4/30"]), usable("fd00::/124", &[])];
        let claim = claim("c9", &pod, "net1");
        let mut follower = Ledger::read(&pools[0]).unwrap();
        for pool in &pools {
            follower.follow(pool).unwrap();
            let mut reader = Ledger::read(pool).unwrap();
            let (a, b): (Vec<_>, Vec<_>) = (follower.iter().collect(), reader.iter().collect());
            prop_assert_eq!(a, b);
            // Both decide the same; the follower's decision is then undone by the next pool.
            for view in &views {
                let (a, b) = (follower.assign(view, &claim, nobody), reader.assign(view, &claim, nobody));
                prop_assert_eq!(a, b);
            }
            prop_assert_eq!(follower.release(&claim), reader.release(&claim));
        }
    }

    #[test]
    fn the_choice_is_upstreams(views in settings(), steps in proptest::collection::vec(step(), 1..120)) {
        let mut ledger = empty(&views[0].range.to_string());
        let usable: Vec<Usable> = views.iter().map(|view| Usable::of(view).unwrap()).collect();
        let mut held: BTreeMap<IpAddr, Allocation> = BTreeMap::new();
        let mut stored: BTreeMap<String, Allocation> = BTreeMap::new();
        for step in steps {
            let (pod, container, interface) = match step {
                Step::Assign { pod, container, interface, .. }
                | Step::Release { pod, container, interface } => {
                    (format!("n/p{pod}"), format!("c{pod}-{container}"), format!("net{interface}"))
                }
            };
            let claim = claim(&container, &pod, &interface);
            let change = match step {
                Step::Assign { view, .. } => {
                    let expected = naive(&views[view], &held, &claim);
                    let found = ledger.assign(&usable[view], &claim, nobody).ok();
                    prop_assert_eq!(found.as_ref().map(|f| f.address.addr()), expected);
                    if let Some(address) = expected {
                        held.insert(address, Allocation {
                            id: container.clone(), ifname: interface.clone(), podref: pod.clone(),
                        });
                    }
                    found.and_then(|found| found.change)
                }
                Step::Release { .. } => {
                    let mine = held.iter()
                        .find(|(_, a)| a.id == container && a.ifname == interface)
                        .map(|(address, _)| *address);
                    let found = ledger.release(&claim);
                    prop_assert_eq!(found.as_ref().map(|(address, _)| *address), mine);
                    mine.map(|address| held.remove(&address));
                    found.map(|(_, change)| change)
                }
            };
            if let Some(change) = change {
                prop_assert_eq!(stored.get(&change.key), change.before.as_ref());
                match change.after {
                    Some(after) => stored.insert(change.key, after),
                    None => stored.remove(&change.key),
                };
            }
        }
        // What was stored reads back as what is held.
        let spec = PoolSpec { range: views[0].range.to_string(), allocations: stored };
        let read = Ledger::read(&spec).unwrap();
        let read: BTreeMap<_, _> = read.iter().map(|(ip, a)| (ip, a.clone())).collect();
        prop_assert_eq!(read, held);
    }
}
