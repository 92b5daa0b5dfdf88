//! What we see is what `ip -j` sees.

use std::process::Command;

use landbridge_linux::link::{Bridge, Macvlan, MacvlanMode};
use landbridge_linux::{LinkKind, MacAddr, Neighbour, NewLink, Route, Rule};
use serde_json::Value;

use crate::harness::{Node, name, skip};

/// Runs `ip` inside the network; nothing where there is no `ip`.
fn ip(node: &Node, arguments: &str) -> Option<Vec<Value>> {
    let run = || Command::new("ip").args(arguments.split(' ')).output();
    let output = match node.namespace.run(run).unwrap() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip("linux: comparison with ip -j", "iproute2 is not installed");
            return None;
        }
        other => other.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn links() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let (a, _) = node.pair("a", "b");
    node.net.set_master(&a, Some(bridge.index)).unwrap();
    node.net.set_mtu(&a, 1404).unwrap();
    let options = Bridge { stp: Some(false), ageing_centiseconds: Some(7700), ..Bridge::default() };
    node.net.change_options(&bridge, &LinkKind::Bridge(options)).unwrap();
    let kind = LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Vepa });
    let b = node.net.index(&name("b")).unwrap();
    node.net.create_link(&NewLink::new(name("mv"), kind).on(b).with_alias("hello")).unwrap();

    let Some(theirs) = ip(&node, "-j -d link show") else { return };
    let ours = node.net.links().unwrap();
    assert_eq!(theirs.len(), ours.len());
    let called =
        |index| ours.iter().find(|link| link.index == index).map(|link| link.name.as_str());
    for (their, our) in theirs.iter().zip(&ours) {
        assert_eq!(their["ifindex"], our.index.0);
        assert_eq!(their["ifname"], our.name.as_str());
        assert_eq!(their["mtu"], our.mtu);
        assert_eq!(their["address"].as_str(), our.mac.map(|mac| mac.to_string()).as_deref());
        assert_eq!(their["master"].as_str(), our.master.and_then(called));
        let lower = our.parent.or(our.peer).map(|far| far.index);
        assert_eq!(their["link"].as_str(), lower.and_then(called));
        assert_eq!(their["ifalias"].as_str(), our.alias.as_deref());
        let up = their["flags"].as_array().unwrap().iter().any(|flag| flag == "UP");
        assert_eq!(up, our.up);
        assert_eq!(their["operstate"], format!("{:?}", our.state).to_uppercase());
        let info = &their["linkinfo"];
        match &our.kind {
            LinkKind::Loopback => assert!(info.get("info_kind").is_none()),
            kind => assert_eq!(info["info_kind"], kind.word()),
        }
        match &our.kind {
            LinkKind::Bridge(bridge) => {
                let data = &info["info_data"];
                assert_eq!(data["ageing_time"].as_u64(), bridge.ageing_centiseconds.map(u64::from));
                assert_eq!(data["stp_state"].as_u64(), bridge.stp.map(u64::from));
                assert_eq!(data["priority"].as_u64(), bridge.priority.map(u64::from));
                assert_eq!(
                    data["hello_time"].as_u64(),
                    bridge.hello_time_centiseconds.map(u64::from)
                );
            }
            LinkKind::Macvlan(_) => assert_eq!(info["info_data"]["mode"], "vepa"),
            _ => {}
        }
    }
}

#[test]
fn addresses() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    node.address(bridge.index, "192.0.2.1/24");
    node.address(bridge.index, "192.0.2.2/24");
    node.address(bridge.index, "2001:db8::1/64");
    let Some(theirs) = ip(&node, "-j addr show") else { return };
    let mut shown: Vec<String> = theirs
        .iter()
        .flat_map(|link| link["addr_info"].as_array().unwrap())
        .map(|a| {
            format!(
                "{}/{} {}",
                a["local"].as_str().unwrap(),
                a["prefixlen"],
                a["scope"].as_str().unwrap()
            )
        })
        .collect();
    let ours = node.net.addresses().unwrap();
    let mut seen: Vec<String> = ours
        .iter()
        .map(|a| format!("{} {}", a.net, format!("{:?}", a.scope).to_lowercase()))
        .collect();
    shown.sort();
    seen.sort();
    assert_eq!(seen, shown);
}

#[test]
fn routes_rules_and_neighbours() {
    let Some(node) = Node::new() else { return };
    let (a, _) = node.pair("a", "b");
    node.address(a.index, "192.0.2.1/24");
    let route = Route::via("10.0.0.0/8".parse().unwrap(), "192.0.2.2".parse().unwrap()).on(a.index);
    node.net.add_route(&route.with_metric(77)).unwrap();
    node.net.add_rule(&Rule::from("192.0.2.0/24".parse().unwrap(), 99, 1234)).unwrap();
    let neighbour =
        Neighbour::permanent(a.index, "192.0.2.3".parse().unwrap(), MacAddr([2, 0, 0, 0, 0, 3]));
    node.net.add_neighbour(&neighbour).unwrap();

    let Some(routes) = ip(&node, "-j route show table main") else { return };
    let found = routes.iter().find(|route| route["dst"] == "10.0.0.0/8").unwrap();
    assert_eq!((&found["gateway"], &found["dev"]), (&"192.0.2.2".into(), &"a".into()));
    assert_eq!((&found["metric"], &found["protocol"]), (&77.into(), &"static".into()));
    let ours = node.net.routes_of(landbridge_linux::route::table::MAIN).unwrap();
    assert_eq!(
        routes.len(),
        ours.iter().filter(|route| route.destination.addr().is_ipv4()).count()
    );

    let rules = ip(&node, "-j rule show").unwrap();
    let found = rules.iter().find(|rule| rule["priority"] == 99).unwrap();
    assert_eq!((&found["src"], &found["srclen"]), (&"192.0.2.0".into(), &24.into()));
    assert_eq!(found["table"], "1234");

    let neighbours = ip(&node, "-j neigh show").unwrap();
    let found = neighbours.iter().find(|n| n["dst"] == "192.0.2.3").unwrap();
    assert_eq!(
        (&found["lladdr"], &found["state"][0]),
        (&"02:00:00:00:00:03".into(), &"PERMANENT".into())
    );
}
