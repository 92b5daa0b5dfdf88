//! The networks annotation and the status annotation, both ways.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod seeds;

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_cni::config::{Bandwidth, PortMapping};
use landbridge_cni::networks::{self, Selection};
use landbridge_cni::status::{self, NetworkStatus};
use landbridge_cni::{CniResult, Coded};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<Vec<Selection>, String> {
    networks::parse(text, "pod-ns").map_err(|error| error.to_string())
}

#[test]
fn the_seeds_annotations_are_read() {
    let found = parse(seeds::WITH_ADDRESS).unwrap();
    assert_eq!(found[0].reference(), "openstack/internalapi");
    assert_eq!(found[0].ips, ["172.17.0.20/24"]);
    assert_eq!(Value::Object(found[0].capabilities().unwrap()), json!({"ips": ["172.17.0.20/24"]}));
    let found = parse(seeds::TWO_NETWORKS).unwrap();
    let names: Vec<_> = found.iter().map(Selection::reference).collect();
    assert_eq!(names, ["openstack/internalapi", "openstack/storage"]);
    assert_eq!(networks::interface_names("eth0", 1, &found).unwrap(), ["net1", "net2"]);
}

#[test]
fn short_forms() {
    let cases = [
        ("a", "pod-ns/a", ""),
        ("ns/a", "ns/a", ""),
        ("ns/a@eth5", "ns/a", "eth5"),
        (" a @ eth5 ", "pod-ns/a", "eth5"),
        (" ns / a", "ns/a", ""),
        ("/a@", "pod-ns/a", ""),
        ("a@Eth_5.1", "pod-ns/a", "Eth_5.1"),
    ];
    for (text, reference, interface) in cases {
        let found = parse(text).unwrap();
        let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
        assert_eq!((one.reference().as_str(), one.interface.as_str()), (reference, interface));
    }
    assert_eq!(parse("a, b/c@d,e").unwrap().len(), 3);
    assert_eq!(parse("").unwrap(), []);
}

#[test]
fn every_key_of_the_long_form_is_read() {
    let text = json!([{
        "name": "a.b", "namespace": "ns", "ips": ["10.0.0.1", "fd00::1/64"],
        "mac": "02:00:00:00:00:01", "infiniband-guid": "00:11:22:33:44:55:66:77",
        "interface": "eth5", "default-route": ["10.0.0.254", "fd00::ff"], "deviceID": "0000:01:00.0",
        "portMappings": [{"hostPort": 1, "containerPort": 2, "protocol": "tcp", "hostIP": "::"}],
        "bandwidth": {"ingressRate": 1, "ingressBurst": 2, "egressRate": 3, "egressBurst": 4},
        "cni-args": {"deep": {"null": null}}, "ipam-claim-reference": "claim", "unknown": 1
    }, {"name": "b", "namespace": null, "interfaceRequest": "eth6", "ips": null}]);
    let found = parse(&text.to_string()).unwrap();
    let first = &found[0];
    assert_eq!(first.default_route.as_ref().unwrap().len(), 2);
    assert_eq!(first.bandwidth.as_ref().unwrap().egress_burst, 4);
    assert_eq!(first.port_mappings[0].host_ip, "::");
    assert_eq!(Value::Object(first.cni_args.clone().unwrap()), json!({"deep": {"null": null}}));
    assert_eq!(
        (first.device_id.as_str(), first.ipam_claim_reference.as_str()),
        ("0000:01:00.0", "claim")
    );
    let told = first.capabilities().unwrap();
    let keys: Vec<_> = told.keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 6, "{keys:?}");
    assert_eq!((found[1].interface.as_str(), found[1].namespace.as_str()), ("eth6", "pod-ns"));
}

#[test]
fn what_is_refused_and_in_which_words() {
    let mismatch = |part: &str| {
        format!(
            "Failed to parse: one or more items did not match comma-delimited format (must \
             consist of lower case alphanumeric characters). Must start and end with an \
             alphanumeric character), mismatch @ '{part}'"
        )
    };
    let cases = [
        ("a/b/c", "Invalid network object (failed at '/'): \"a/b/c\"".to_owned()),
        ("a@b@c", "Invalid network object (failed at '@'): \"a@b@c\"".to_owned()),
        ("A", mismatch("A")),
        ("a.b", mismatch("a.b")),
        ("a_b/c", mismatch("a_b")),
        ("a-", mismatch("a-")),
        ("a,,b", "a network of the annotation has no name".to_owned()),
        (" ", "a network of the annotation has no name".to_owned()),
        (r#"[{"namespace":"b"}]"#, "a network of the annotation has no name".to_owned()),
        (r#"[{"name":"a/b"}]"#, mismatch("a/b")),
        (
            "a@a234567890123456",
            "network pod-ns/a: Failed to parse interface name: interface name is too long".into(),
        ),
        (
            r#"[{"name":"a","ips":["10.0.0.1/33"]}]"#,
            "network pod-ns/a: failed to parse CIDR \"10.0.0.1/33\"".to_owned(),
        ),
        (
            r#"[{"name":"a","ips":["10.0.0"]}]"#,
            "network pod-ns/a: failed to parse IP address \"10.0.0\"".to_owned(),
        ),
        (
            r#"[{"name":"a","mac":"02:00"}]"#,
            "network pod-ns/a: failed to mac: address 02:00: invalid MAC address".to_owned(),
        ),
        (
            r#"[{"name":"a","infiniband-guid":"02:00:00:00:00:01"}]"#,
            "network pod-ns/a: failed to validate infiniband GUID: address 02:00:00:00:00:01: \
             must be 8 bytes"
                .to_owned(),
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err(), message, "{text}");
    }
    for text in [r#"{"name":"a"}"#, "[", r#"["a"]"#, "[null]", r#"[{"name":1}]"#, r#""a""#] {
        let error = networks::parse(text, "n").unwrap_err();
        assert_eq!(error.code().0, 6, "{text}");
        assert!(error.to_string().starts_with("failed to parse pod Network Attachment"));
    }
}

#[test]
fn hardware_addresses_come_in_three_spellings() {
    for mac in ["02:00:00:00:00:01", "02-00-00-00-00-01", "0200.0000.0001", "0a:Bc:00:00:00:01"] {
        assert!(parse(&format!(r#"[{{"name":"a","mac":"{mac}"}}]"#)).is_ok(), "{mac}");
    }
    for mac in ["02:00:00:00:00", "02:00:00:00:00:0", "020000000001", "0g:00:00:00:00:01", "ä"] {
        assert!(parse(&format!(r#"[{{"name":"a","mac":"{mac}"}}]"#)).is_err(), "{mac}");
    }
}

#[test]
fn the_default_network_is_one() {
    let one = networks::parse_default("a@eth0", "kube-system").unwrap().unwrap();
    assert_eq!(one.reference(), "kube-system/a");
    assert!(networks::parse_default("", "x").unwrap().is_none());
    for text in ["a,b", "[]"] {
        assert!(networks::parse_default(text, "x").is_err(), "{text}");
    }
}

fn result(value: &Value) -> CniResult {
    CniResult::parse(value.to_string().as_bytes()).unwrap().1
}

#[test]
fn the_status_is_written_as_multus_writes_it() {
    let default = NetworkStatus {
        name: "ovn-kubernetes".into(),
        interface: "eth0".into(),
        ips: vec!["10.130.1.24".into()],
        mac: "0a:58:0a:82:01:18".into(),
        default: true,
        ..NetworkStatus::default()
    };
    let mut storage = status::of_result(
        "openstack/storage",
        false,
        &result(&json!({"cniVersion": "1.1.0",
            "interfaces": [{"name": "net1", "mac": "a2:f1:3b:12:fd:be", "mtu": 1500,
                            "sandbox": "/run/netns/x"}],
            "ips": [{"address": "172.18.0.52/24", "interface": 0}],
            "routes": [{"dst": "0.0.0.0/0", "gw": "172.18.0.1"}, {"dst": "10.0.0.0/8"}],
            "dns": {"search": ["a"], "nameservers": ["172.18.0.2"]}})),
        Some(&json!({"type": "pci"})),
    );
    let mut all = vec![default];
    all.append(&mut storage);
    let text = status::print(&all).unwrap();
    assert_eq!(
        text,
        r#"[{
    "name": "ovn-kubernetes",
    "interface": "eth0",
    "ips": [
        "10.130.1.24"
    ],
    "mac": "0a:58:0a:82:01:18",
    "default": true,
    "dns": {}
},{
    "name": "openstack/storage",
    "interface": "net1",
    "ips": [
        "172.18.0.52"
    ],
    "mac": "a2:f1:3b:12:fd:be",
    "mtu": 1500,
    "dns": {
        "nameservers": [
            "172.18.0.2"
        ],
        "search": [
            "a"
        ]
    },
    "device-info": {
        "type": "pci"
    },
    "gateway": [
        "172.18.0.1"
    ]
}]"#
    );
    assert_eq!(status::parse(&text).unwrap(), all);
    let addresses = status::addresses(&all);
    assert_eq!(addresses["openstack/storage"], ["172.18.0.52"]);
    assert_eq!(status::print(&[]).unwrap(), "[]");
}

#[test]
fn several_interfaces_share_out_their_addresses() {
    let bridge = result(&json!({"cniVersion": "0.3.1",
        "interfaces": [{"name": "octbr"}, {"name": "veth1"}, {"name": "net1", "sandbox": "/x"}],
        "ips": [{"version": "4", "address": "172.23.0.30/24", "interface": 2}]}));
    let found = status::of_result("openstack/octavia", false, &bridge, None);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].interface.as_str(), found[0].ips.len()), ("net1", 1));

    let many = result(&json!({"cniVersion": "1.0.0",
        "interfaces": [{"name": "a", "sandbox": "/x"}, {"name": "h"}, {"name": "b", "sandbox": "/x"}],
        "ips": [{"address": "10.0.0.1/24", "interface": 0}, {"address": "10.0.1.1/24"},
                {"address": "10.0.2.1/24", "interface": 2, "gateway": "10.0.2.254"},
                {"address": "10.0.3.1/24", "interface": 1}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.2.254"}]}));
    let found = status::of_result("n", true, &many, None);
    let shown: Vec<_> = found
        .iter()
        .map(|s| (s.interface.as_str(), s.ips.join(","), s.default, s.gateway.len()))
        .collect();
    assert_eq!(
        shown,
        [("a", "10.0.0.1".into(), false, 0), ("b", "10.0.1.1,10.0.2.1".to_owned(), true, 1)]
    );
    // The oldest versions tell no interfaces.
    let old = result(&json!({"cniVersion": "0.2.0", "ip4": {"ip": "10.0.0.1/24"}}));
    assert_eq!(status::of_result("n", false, &old, None)[0].ips, ["10.0.0.1"]);
}

#[test]
fn a_pods_status_is_found_under_both_names() {
    let text = r#"[{"name":"a","ips":null,"dns":{}}]"#.to_owned();
    for key in [status::ANNOTATION, status::OLD_ANNOTATION] {
        let pod = BTreeMap::from([(key.to_owned(), text.clone())]);
        assert_eq!(status::of_pod(&pod).unwrap()[0].name, "a");
    }
    assert_eq!(status::of_pod(&BTreeMap::new()).unwrap(), []);
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn selection() -> impl Strategy<Value = Selection> {
    let label = "[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?";
    let ip = (address(), 0..=32u8, any::<bool>()).prop_map(|(ip, length, plain)| {
        if plain { ip.to_string() } else { format!("{ip}/{length}") }
    });
    let names = (label, label, "([a-z][a-z0-9._-]{0,14})?");
    let wishes = (
        proptest::collection::vec(ip, 0..3),
        "(([0-9a-f]{2}:){5}[0-9a-f]{2})?",
        proptest::option::of(proptest::collection::vec(address(), 0..3)),
        proptest::option::of(any::<[i64; 4]>()),
        proptest::collection::vec((any::<u16>(), any::<u16>(), "(tcp|udp)?"), 0..2),
        proptest::option::of("[<>&a-zäß\u{2028}\"\\\\\n]{0,8}"),
    );
    (names, wishes).prop_map(
        |((name, namespace, interface), (ips, mac, route, rates, ports, arg))| Selection {
            ips,
            mac,
            interface,
            default_route: route,
            bandwidth: rates.map(|[a, b, c, d]| Bandwidth {
                ingress_rate: a,
                ingress_burst: b,
                egress_rate: c,
                egress_burst: d,
            }),
            port_mappings: ports
                .into_iter()
                .map(|(host, container, protocol)| PortMapping {
                    host_port: host.into(),
                    container_port: container.into(),
                    protocol,
                    host_ip: String::new(),
                })
                .collect(),
            cni_args: arg.map(|text| [("key".to_owned(), Value::from(text))].into_iter().collect()),
            ..Selection::new(namespace, name)
        },
    )
}

proptest! {
    #[test]
    fn what_is_printed_reads_the_same(networks in proptest::collection::vec(selection(), 0..4)) {
        let text = networks::print(&networks).unwrap();
        prop_assert_eq!(networks::parse(&text, "other").unwrap(), networks);
    }

    #[test]
    fn short_and_long_forms_agree(names in proptest::collection::vec("[a-z0-9]{1,5}(/[a-z0-9]{1,5})?(@[a-z]{1,5})?", 1..5)) {
        let short = networks::parse(&names.join(" , "), "n").unwrap();
        let long = networks::parse(&networks::print(&short).unwrap(), "m").unwrap();
        prop_assert_eq!(short, long);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|[@/,a-z ]{0,20}|[\\[{\"@/,a-z ]{0,30}") {
        let _ = networks::parse(&text, "n");
        let _ = networks::parse_default(&text, "n");
        let _ = networks::gateway_of_definition(&text);
        let _ = status::parse(&text);
    }

    #[test]
    fn statuses_print_and_read_the_same(names in proptest::collection::vec("\\PC{0,12}", 0..4), mtu in any::<u32>()) {
        let all: Vec<_> = names.into_iter().map(|name| NetworkStatus {
            ips: vec![name.clone()], name, mtu, ..NetworkStatus::default()
        }).collect();
        prop_assert_eq!(status::parse(&status::print(&all).unwrap()).unwrap(), all);
    }
}
