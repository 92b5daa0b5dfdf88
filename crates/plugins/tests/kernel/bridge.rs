use landbridge_linux::link::Fine;
use landbridge_linux::{LinkKind, Route};
use serde_json::{Value, json};

use crate::harness::{Asked, Net, Node, echo, failed, name, ok, silent, skip};

fn config(more: Value, addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|a| json!({"address": a})).collect();
    let mut config = json!({
        "cniVersion": "1.0.0", "name": "octavia", "type": "bridge", "bridge": "octbr",
        "ipam": {"type": "static", "addresses": addresses},
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

#[test]
fn pods_reach_each_other_and_the_gateway() {
    for mtu in [1500, 9000] {
        let Some(node) = Node::with_mtu(mtu) else { return };
        let (one, other) = (Net::new(), Net::new());
        let more = json!({"isGateway": true, "mtu": mtu});
        let result =
            node.add("bridge", &one, &config(more.clone(), &["10.5.0.2/24", "fd00:5::2/64"]));
        node.add("bridge", &other, &config(more, &["10.5.0.3/24", "fd00:5::3/64"]));
        assert_eq!(result["ips"][0]["gateway"], "10.5.0.1");
        assert_eq!(result["ips"][1]["interface"], 2);
        for at in ["10.5.0.3", "fd00:5::3"] {
            echo(&one, &other, at, mtu as usize).unwrap();
        }
        for at in ["10.5.0.1", "fd00:5::1"] {
            echo(&one, &node.net, at, mtu as usize).unwrap();
        }
        assert_eq!(node.net.addresses("octbr"), ["10.5.0.1/24", "fd00:5::1/64"]);
        assert_eq!(node.net.link("octbr").unwrap().mtu, mtu);
        assert_eq!(node.net.sysctl("net.ipv6.conf.octbr.accept_ra"), "0");
        // What the result says of the bridge and of both ends is so.
        let mac = |net: &Net, link: &str| net.link(link).unwrap().mac.unwrap().to_string();
        assert_eq!(result["interfaces"][0]["mac"], mac(&node.net, "octbr"));
        let near = result["interfaces"][1]["name"].as_str().unwrap();
        assert_eq!(result["interfaces"][1]["mac"], mac(&node.net, near));
        assert_eq!(result["interfaces"][2]["mac"], mac(&one, "net1"));
    }
}

#[test]
fn a_default_gateway_leads_out() {
    let Some(node) = Node::new() else { return };
    let (pod, outside) = (Net::new(), Net::new());
    node.net.net.move_link(&name("far"), &outside.namespace, None).unwrap();
    outside.net.set_up(&name("far")).unwrap();
    for (net, link, addresses) in [
        (&node.net, "eth0", ["198.51.100.1/24", "2001:db8::1/64"]),
        (&outside, "far", ["198.51.100.2/24", "2001:db8::2/64"]),
    ] {
        for address in addresses {
            net.address(net.link(link).unwrap().index, address);
        }
    }
    for (to, via) in [("10.5.0.0/24", "198.51.100.1"), ("fd00:5::/64", "2001:db8::1")] {
        outside.net.add_route(&Route::via(to.parse().unwrap(), via.parse().unwrap())).unwrap();
    }
    let config = config(json!({"isDefaultGateway": true}), &["10.5.0.2/24", "fd00:5::2/64"]);
    let result = node.add("bridge", &pod, &config);
    assert_eq!(result["routes"][0], json!({"dst": "0.0.0.0/0", "gw": "10.5.0.1"}));
    echo(&pod, &outside, "198.51.100.2", 1500).unwrap();
    echo(&pod, &outside, "2001:db8::2", 1500).unwrap();
    ok(&node.check("bridge", &pod, &config, &result));
}

#[test]
fn a_bridge_that_is_there_keeps_its_mtu() {
    let Some(node) = Node::new() else { return };
    let (one, other) = (Net::new(), Net::new());
    node.add("bridge", &one, &config(json!({"mtu": 1500}), &["10.5.0.2/24"]));
    node.add("bridge", &other, &config(json!({"mtu": 9000}), &["10.5.0.3/24"]));
    // The kernel itself makes a bridge without an MTU of its own as small as its smallest port.
    assert_eq!(node.net.link("octbr").unwrap().mtu, 1500);
    assert_eq!(other.link("net1").unwrap().mtu, 9000);
    echo(&one, &other, "10.5.0.3", 1500).unwrap();
}

#[test]
fn what_fails_leaves_nothing() {
    let Some(node) = Node::new() else { return };
    node.net.pair("plain", "plain2", 1500);
    let (first, pod) = (Net::new(), Net::new());
    node.add("bridge", &first, &config(json!({"isGateway": true}), &["10.5.0.2/24"]));
    let before = node.net.links();
    let far = json!({"type": "static", "addresses": [{"address": "10.5.0.9/24"}],
        "routes": [{"dst": "192.0.2.0/24", "gw": "203.0.113.1"}]});
    let cases = [
        (json!({"ipam": far}), 999, "failed to add route '192.0.2.0/24 via 203.0.113.1 dev net1'"),
        (
            json!({"isGateway": true, "ipam": {"type": "static", "addresses": [{"address": "10.6.0.2/24"}]}}),
            999,
            "\"octbr\" already has an IP address different from 10.6.0.1/24",
        ),
        (json!({"bridge": "plain"}), 999, "\"plain\" already exists but is not a bridge"),
        (json!({"bridge": "a/b"}), 999, "\"a/b\" is no link's name"),
        (json!({"ipam": {"type": "static"}}), 999, "IPAM plugin returned missing IP config"),
        (json!({"hairpinMode": true, "promiscMode": true}), 999, "cannot set hairpin mode and"),
        (json!({"ipMasq": true, "ipMasqBackend": "iptables"}), 2, "\"iptables\" is not supported"),
    ];
    for (more, number, text) in cases {
        let (code, message) = node.add_fails("bridge", &pod, &config(more, &["10.5.0.9/24"]));
        assert!(code == number && message.contains(text), "{code} {message}");
        assert_eq!(pod.links(), [""; 0], "{text}");
        assert_eq!(node.net.links(), before, "{text}");
    }
}

#[test]
fn another_address_gives_way_when_forced() {
    let Some(node) = Node::new() else { return };
    let gateway = json!({"isGateway": true});
    node.add("bridge", &Net::new(), &config(gateway, &["10.5.0.2/24", "fd00:5::2/64"]));
    let forced = json!({"isGateway": true, "forceAddress": true});
    node.add("bridge", &Net::new(), &config(forced, &["10.6.0.2/24", "fd00:6::2/64"]));
    // IPv6 networks that do not overlap live side by side.
    assert_eq!(node.net.addresses("octbr"), ["10.6.0.1/24", "fd00:5::1/64", "fd00:6::1/64"]);
}

#[test]
fn ports_and_bridge_behave_as_asked() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let more = json!({"hairpinMode": true, "portIsolation": true});
    let result = node.add("bridge", &pod, &config(more, &["10.5.0.2/24"]));
    let near = name(result["interfaces"][1]["name"].as_str().unwrap());
    let port = node.net.net.expect_link(&near).unwrap().port.unwrap();
    assert_eq!((port.hairpin, port.isolated), (Some(true), Some(true)));
    let other = Net::new();
    let more = json!({"promiscMode": true, "portIsolation": true});
    node.add("bridge", &other, &config(more, &["10.5.0.3/24"]));
    let Fine { promiscuous, .. } = node.net.net.fine(&name("octbr")).unwrap();
    assert_eq!(promiscuous, Some(true));
    assert!(silent(&pod, &other, "10.5.0.3"), "isolated ports hear each other");
}

#[test]
fn deleting_what_is_gone_succeeds_and_the_bridge_stays() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let config = config(json!({"isGateway": true}), &["10.5.0.2/24"]);
    node.add("bridge", &pod, &config);
    for _ in 0..2 {
        node.del("bridge", &pod, &config);
        assert_eq!(pod.links(), [""; 0]);
        assert_eq!(node.net.links(), ["far", "eth0", "octbr"]);
    }
    ok(&node.call("bridge", &Asked::new("DEL", "", &config)));
    ok(&node.call("bridge", &Asked::new("DEL", "/nonexistent/netns", &config)));
}

#[test]
fn check_sees_a_port_that_left() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let config = config(json!({}), &["10.5.0.2/24"]);
    let result = node.add("bridge", &pod, &config);
    ok(&node.check("bridge", &pod, &config, &result));
    let near = name(result["interfaces"][1]["name"].as_str().unwrap());
    node.net.net.set_master(&near, None).unwrap();
    let (_, message) = failed(&node.check("bridge", &pod, &config, &result));
    assert!(message.contains("is not on bridge \"octbr\""), "{message}");
}

#[test]
fn without_addresses_or_without_interface() {
    let Some(node) = Node::new() else { return };
    let (up, down) = (Net::new(), Net::new());
    node.add("bridge", &up, &config(json!({"ipam": {}}), &[]));
    assert!(up.link("net1").unwrap().up);
    node.add("bridge", &down, &config(json!({"ipam": {}, "disableContainerInterface": true}), &[]));
    assert!(!down.link("net1").unwrap().up);
    assert!(matches!(node.net.link("octbr").unwrap().kind, LinkKind::Bridge(_)));
}

fn has_nft(node: &Node) -> bool {
    let list = || std::process::Command::new("nft").arg("list").arg("ruleset").output();
    match node.net.namespace.run(list).unwrap() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            skip("plugins: nft", &String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(_) => {
            skip("plugins: ipMasq and macspoofchk", "needs the program nft");
            false
        }
    }
}

fn rules(node: &Node) -> String {
    let list = || std::process::Command::new("nft").arg("list").arg("ruleset").output();
    let output = node.net.namespace.run(list).unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn packets_that_leave_get_the_nodes_address() {
    let Some(node) = Node::new() else { return };
    if !has_nft(&node) {
        return;
    }
    let (pod, outside) = (Net::new(), Net::new());
    node.net.net.move_link(&name("far"), &outside.namespace, None).unwrap();
    outside.net.set_up(&name("far")).unwrap();
    for (net, link, addresses) in [
        (&node.net, "eth0", ["198.51.100.1/24", "2001:db8::1/64"]),
        (&outside, "far", ["198.51.100.2/24", "2001:db8::2/64"]),
    ] {
        for address in addresses {
            net.address(net.link(link).unwrap().index, address);
        }
    }
    // Nobody outside knows a way back to the pod: only with the node's address is there an answer.
    let plain = config(json!({"isDefaultGateway": true}), &["10.5.0.2/24", "fd00:5::2/64"]);
    node.add("bridge", &pod, &plain);
    let unreachable = std::panic::catch_unwind(|| echo(&pod, &outside, "198.51.100.2", 600));
    assert!(unreachable.unwrap().is_err());
    node.del("bridge", &pod, &plain);
    let more = json!({"isDefaultGateway": true, "ipMasq": true});
    let config = config(more, &["10.5.0.2/24", "fd00:5::2/64"]);
    node.add("bridge", &pod, &config);
    echo(&pod, &outside, "198.51.100.2", 1500).unwrap();
    echo(&pod, &outside, "2001:db8::2", 1500).unwrap();
    assert_eq!(rules(&node).matches("comment").count(), 2);
    node.del("bridge", &pod, &config);
    assert_eq!(rules(&node).matches("comment").count(), 0);
}

#[test]
fn a_wrong_hardware_address_is_dropped() {
    let Some(node) = Node::new() else { return };
    if !has_nft(&node) {
        return;
    }
    let (one, other) = (Net::new(), Net::new());
    let config = |ip| config(json!({"macspoofchk": true}), &[ip]);
    node.add("bridge", &one, &config("10.5.0.2/24"));
    node.add("bridge", &other, &config("10.5.0.3/24"));
    echo(&one, &other, "10.5.0.3", 1500).unwrap();
    one.net.set_mac(&name("net1"), "02:00:00:00:00:66".parse().unwrap()).unwrap();
    assert!(silent(&one, &other, "10.5.0.3"));
    node.del("bridge", &one, &config("10.5.0.2/24"));
    assert!(!rules(&node).contains("iifname \"veth\" "));
}

#[test]
fn without_the_program_it_says_so() {
    let Some(node) = Node::new() else { return };
    if std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|place: std::path::PathBuf| place.join("nft").is_file())
    {
        return;
    }
    let pod = Net::new();
    let (_, message) =
        node.add_fails("bridge", &pod, &config(json!({"ipMasq": true}), &["10.5.0.2/24"]));
    assert!(message.contains("install the package nftables"), "{message}");
    assert_eq!(pod.links(), [""; 0]);
}
