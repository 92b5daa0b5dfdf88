//! Rules as text, compared with files; the kernel's judgement is in the tests of crate `agent`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use landbridge_fabric::{
    Direction, Fixed, Floating, Instance, Interface, Mac, Network, NodePlan, Pair, Port, Router,
    Rule, Security, Uplink, rules,
};

fn port(id: &str, last: u8, addresses: &[&str], security: Option<Security>) -> Port {
    let fixed = addresses.iter().enumerate().map(|(place, address)| Fixed {
        address: address.parse().unwrap(),
        gateway: None,
        routes: Vec::new(),
        dhcp: (place == 0).then(|| "10.0.0.1".parse().unwrap()),
    });
    Port {
        id: id.to_owned(),
        network: "aaaaaaaa-1111".to_owned(),
        mac: Mac([0xfa, 0x16, 0x3e, 0, 0, last]),
        mtu: 1442,
        up: true,
        fixed: fixed.collect(),
        resolvers: Vec::new(),
        child: None,
        security,
    }
}

fn rule(ingress: bool, ipv6: bool, protocol: Option<u8>, range: Option<(u16, u16)>) -> Rule {
    Rule {
        direction: if ingress { Direction::Ingress } else { Direction::Egress },
        ipv6,
        protocol,
        first: range.map(|(first, _)| first),
        last: range.map(|(_, last)| last),
        remotes: None,
    }
}

fn with(rule: &Rule, remotes: &[&str]) -> Rule {
    let remotes = remotes.iter().map(|net| net.parse().unwrap()).collect();
    Rule { remotes: Some(remotes), ..rule.clone() }
}

fn plan() -> NodePlan {
    let guarded = Security {
        pairs: vec![Pair {
            address: "10.0.0.128/25".parse().unwrap(),
            mac: Mac([0xfa, 0x16, 0x3e, 9, 9, 9]),
        }],
        rules: vec![
            rule(false, false, None, None),
            rule(false, true, None, None),
            rule(true, false, Some(6), Some((22, 22))),
            rule(true, false, Some(17), Some((5000, 5555))),
            rule(true, false, Some(1), Some((8, 0))),
            rule(true, true, Some(58), None),
            // The same twice, by two groups; overlapping members; nobody; the wrong family.
            rule(true, false, Some(6), Some((22, 22))),
            with(
                &rule(true, false, Some(6), Some((80, 80))),
                &["10.0.0.0/25", "10.0.0.7/32", "10.0.0.128/25"],
            ),
            with(&rule(true, false, Some(6), Some((81, 81))), &[]),
            with(&rule(true, true, Some(6), Some((82, 82))), &["10.0.0.7/32"]),
        ],
    };
    let addresses = ["10.0.0.5/24", "fd00::5/64"];
    let ports = vec![
        port("cccccccc-1111-4222", 1, &addresses, Some(guarded)),
        port("dddddddd-1111-4222", 2, &["10.0.0.6/24"], Some(Security::default())),
        port("eeeeeeee-1111-4222", 3, &["10.0.0.7/24"], None),
    ];
    NodePlan {
        generation: 1,
        networks: vec![Network {
            id: "aaaaaaaa-1111".to_owned(),
            name: "net".to_owned(),
            mtu: 1442,
            uplink: Uplink::Segment,
        }],
        instances: vec![Instance { id: "i".to_owned(), name: "vm".to_owned(), ports }],
        routers: Vec::new(),
    }
}

fn router(snat: Option<&str>, floating: &[(&str, &str)]) -> Router {
    let interface = |port: &str, outside| Interface {
        port: port.to_owned(),
        network: "n".to_owned(),
        mac: Mac([0; 6]),
        mtu: 1500,
        addresses: Vec::new(),
        outside,
    };
    let pairs = floating.iter().map(|(outside, inside)| Floating {
        outside: outside.parse().unwrap(),
        inside: inside.parse().unwrap(),
    });
    Router {
        id: "r".to_owned(),
        name: "r".to_owned(),
        interfaces: vec![interface("11111111-22", true), interface("33333333-44", false)],
        routes: Vec::new(),
        snat: snat.map(|address| address.parse().unwrap()),
        floating: pairs.collect(),
    }
}

fn compare(file: &str, text: &str) {
    let path = format!("{}/tests/rules/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("LANDBRIDGE_BLESS").is_some() {
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{file} differs: LANDBRIDGE_BLESS=1 if that is meant");
}

#[test]
fn ports_are_guarded() {
    compare("guard.nft", &rules::guard(&plan()));
}

#[test]
fn a_node_without_ports_has_tables_and_nothing_in_them() {
    compare("empty.nft", &rules::guard(&NodePlan::default()));
}

#[test]
fn routers_translate_or_do_not() {
    compare(
        "translated.nft",
        &rules::router(&router(Some("192.0.2.1"), &[("192.0.2.50", "10.0.0.5")])),
    );
    let plain = rules::router(&router(None, &[]));
    assert_eq!(plain.lines().count(), 2, "the old table goes, and no new one comes: {plain}");
    assert!(!plain.contains("nat"));
}
