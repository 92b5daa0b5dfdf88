use std::sync::Mutex;

use landbridge_cni::result::Ip;
use landbridge_cni::{CniError, CniResult};
use landbridge_plugins::{Call, Ipam, Ipams};
use serde_json::{Value, json};

use crate::harness::{Asked, Net, Node, echo, failed, ok};

fn config(more: Value, addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|a| json!({"address": a})).collect();
    let mut config = json!({
        "cniVersion": "1.0.0", "name": "internalapi", "type": "macvlan", "master": "eth0",
        "ipam": {"type": "static", "addresses": addresses},
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

#[test]
fn pods_reach_each_other_on_both_families() {
    for mtu in [1500, 9000] {
        let Some(node) = Node::with_mtu(mtu) else { return };
        let (one, other) = (Net::new(), Net::new());
        node.add("macvlan", &one, &config(json!({}), &["172.17.0.30/24", "fd00:172::30/64"]));
        node.add("macvlan", &other, &config(json!({}), &["172.17.0.31/24", "fd00:172::31/64"]));
        assert_eq!(one.addresses("net1"), ["172.17.0.30/24", "fd00:172::30/64"]);
        echo(&one, &other, "172.17.0.31", mtu as usize).unwrap();
        echo(&one, &other, "fd00:172::31", mtu as usize).unwrap();
        assert_eq!(one.link("net1").unwrap().mtu, mtu);
    }
}

#[test]
fn the_mac_asked_for_last_counts_least() {
    let Some(node) = Node::new() else { return };
    let own = json!({"mac": "02:00:00:00:00:01"});
    let told = json!({"mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:03"}});
    for (more, args, expected) in [
        (&own, "", "02:00:00:00:00:01"),
        (&own, "IgnoreUnknown=1;MAC=02:00:00:00:00:02", "02:00:00:00:00:02"),
        (&told, "MAC=02:00:00:00:00:02;IgnoreUnknown=1", "02:00:00:00:00:03"),
    ] {
        let pod = Net::new();
        let config = config(more.clone(), &["10.0.0.5/24"]);
        let path = pod.path();
        let result =
            ok(&node.call("macvlan", &Asked { args, ..Asked::new("ADD", &path, &config) }));
        assert_eq!(result["interfaces"][0]["mac"], expected);
        assert_eq!(pod.link("net1").unwrap().mac.unwrap().to_string(), expected);
    }
}

#[test]
fn what_fails_leaves_nothing() {
    let Some(node) = Node::new() else { return };
    let data = node.dir("networks");
    let local = json!({"type": "host-local", "subnet": "10.1.0.0/24", "dataDir": data,
        "routes": [{"dst": "192.0.2.0/24", "gw": "203.0.113.1"}]});
    let cases = [
        (json!({"master": "none0"}), "failed to lookup master \"none0\": Link not found"),
        (json!({"mtu": 1501}), "invalid MTU 1501, must be [0, master MTU(1500)]"),
        (json!({"mode": "odd"}), "unknown macvlan mode: \"odd\""),
        (json!({"ipam": {"type": "static"}}), "IPAM plugin returned missing IP config"),
        (json!({"ipam": {"type": "nobody"}}), "failed to find plugin \"nobody\" in path"),
        // A gateway nobody reaches: the address was given and must be given back.
        (json!({"ipam": local}), "failed to add route '192.0.2.0/24 via 203.0.113.1 dev net1'"),
        (json!({"mac": "no"}), "invalid args no for MAC addr"),
    ];
    for (more, text) in cases {
        let pod = Net::new();
        let (code, message) = node.add_fails("macvlan", &pod, &config(more, &["10.0.0.5/24"]));
        assert_eq!(code, 999, "{message}");
        assert!(message.contains(text), "{message}");
        assert_eq!(pod.links(), [""; 0], "{text}");
    }
    let kept: Vec<_> = std::fs::read_dir(format!("{data}/internalapi"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.parse::<std::net::IpAddr>().is_ok())
        .collect();
    assert_eq!(kept, [""; 0], "the address stays taken");
}

#[test]
fn a_name_that_is_there_is_not_touched() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let first = node.add("macvlan", &pod, &config(json!({}), &["10.0.0.5/24"]));
    let (_, message) = node.add_fails("macvlan", &pod, &config(json!({}), &["10.0.0.6/24"]));
    assert!(message.contains("failed to rename macvlan to \"net1\""), "{message}");
    assert_eq!(pod.links(), ["net1"]);
    assert_eq!(pod.addresses("net1"), ["10.0.0.5/24"]);
    assert_eq!(
        pod.link("net1").unwrap().mac.unwrap().to_string(),
        first["interfaces"][0]["mac"].as_str().unwrap()
    );
}

/// Gives one address, and looks which links the pod has when it is taken back.
struct Watchful<'a> {
    pod: &'a Net,
    seen: Mutex<Vec<Vec<String>>>,
}

impl Ipam for Watchful<'_> {
    fn add(&self, _call: &Call) -> Result<CniResult, CniError> {
        let ips =
            vec![Ip { address: "10.0.0.5/24".parse().unwrap(), gateway: None, interface: None }];
        Ok(CniResult { ips, ..CniResult::default() })
    }

    fn del(&self, _call: &Call) -> Result<(), CniError> {
        self.seen.lock().unwrap().push(self.pod.links());
        Ok(())
    }

    fn check(&self, _call: &Call) -> Result<(), CniError> {
        Ok(())
    }
}

impl Ipams for Watchful<'_> {
    fn own(&self, kind: &str) -> Option<&dyn Ipam> {
        (kind == "watchful").then_some(self)
    }
}

#[test]
fn an_address_is_given_back_after_its_link_is_gone() {
    let Some(node) = Node::new() else { return };
    node.net.pair("eth1", "far1", 1500);
    for kind in ["macvlan", "bridge", "host-device"] {
        let pod = Net::new();
        let watchful = Watchful { pod: &pod, seen: Mutex::default() };
        let config = json!({
            "cniVersion": "1.0.0", "name": "n", "type": kind, "ipam": {"type": "watchful"},
            "master": "eth0", "device": "eth1", "bridge": "br0",
        });
        let path = pod.path();
        for command in ["ADD", "DEL"] {
            ok(&node.call_with(kind, &Asked::new(command, &path, &config), &watchful));
            assert_eq!(pod.links().len(), usize::from(command == "ADD"), "{kind}");
        }
        assert_eq!(*watchful.seen.lock().unwrap(), [[""; 0]], "{kind}");
    }
}

/// Asked twice, whereabouts answers with the address that the interface has.
#[test]
fn an_interface_that_is_there_keeps_its_address() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let watchful = Watchful { pod: &pod, seen: Mutex::default() };
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "master": "eth0",
        "ipam": {"type": "watchful"}});
    let path = pod.path();
    let add = || node.call_with("macvlan", &Asked::new("ADD", &path, &config), &watchful);
    ok(&add());
    failed(&add());
    assert_eq!(pod.addresses("net1"), ["10.0.0.5/24"]);
    assert_eq!(*watchful.seen.lock().unwrap(), [[""; 0]; 0], "given back while it is in use");
}

#[test]
fn deleting_what_is_gone_succeeds() {
    let Some(node) = Node::new() else { return };
    let config = config(json!({}), &["10.0.0.5/24"]);
    let pod = Net::new();
    node.add("macvlan", &pod, &config);
    node.del("macvlan", &pod, &config);
    assert_eq!(pod.links(), [""; 0]);
    node.del("macvlan", &pod, &config);
    let file = node.dir("no-namespace");
    std::fs::write(&file, "").unwrap();
    for netns in ["", "/nonexistent/netns", &file] {
        ok(&node.call("macvlan", &Asked::new("DEL", netns, &config)));
    }
    // The master gone, or the configuration changed to nonsense, changes nothing either.
    node.add("macvlan", &pod, &config);
    let mut changed = config.clone();
    changed["mode"] = "odd".into();
    changed["master"] = "gone0".into();
    node.del("macvlan", &pod, &changed);
    assert_eq!(pod.links(), [""; 0]);
}

#[test]
fn our_own_namespace_is_no_container() {
    let Some(node) = Node::new() else { return };
    let config = config(json!({}), &["10.0.0.5/24"]);
    for command in ["ADD", "DEL"] {
        let path = node.net.path();
        let (code, _) = failed(&node.call("macvlan", &Asked::new(command, &path, &config)));
        assert_eq!(code, 8, "{command}");
    }
    assert_eq!(node.net.links(), ["far", "eth0"]);
}

#[test]
fn check_sees_what_changed() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let mut config = config(json!({}), &["10.0.0.5/24"]);
    config["ipam"]["routes"] = json!([{"dst": "192.0.2.0/24", "gw": "10.0.0.1"}]);
    let result = node.add("macvlan", &pod, &config);
    ok(&node.check("macvlan", &pod, &config, &result));
    let message = |result: &Value| failed(&node.check("macvlan", &pod, &config, result)).1;
    let mut other = result.clone();
    other["interfaces"][0]["mac"] = "02:00:00:00:00:09".into();
    assert!(message(&other).contains("doesn't match container Mac"));
    let net1 = pod.link("net1").unwrap();
    pod.net.flush_addresses(net1.index).unwrap();
    assert!(message(&result).contains("Failed to match addr 10.0.0.5/24"));
    pod.address(net1.index, "10.0.0.5/24");
    assert!(message(&result).contains("Expected Route 192.0.2.0/24 via 10.0.0.1 not found"));
    pod.net.delete_link(&net1).unwrap();
    assert!(message(&result).contains("not found"));
}

#[test]
fn on_a_master_inside_the_container() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    pod.pair("inner", "other", 1400);
    let config = config(json!({"master": "inner", "linkInContainer": true}), &["10.0.0.5/24"]);
    node.add("macvlan", &pod, &config);
    let (net1, inner) = (pod.link("net1").unwrap(), pod.link("inner").unwrap());
    assert_eq!(net1.parent.unwrap().index, inner.index);
    assert_eq!(net1.mtu, 1400);
}

#[test]
fn without_addresses_it_is_only_up() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let config = config(json!({"ipam": {}, "dns": {"nameservers": ["10.0.0.53"]}}), &[]);
    let result = node.add("macvlan", &pod, &config);
    assert!(pod.link("net1").unwrap().up);
    assert_eq!(result["dns"]["nameservers"][0], "10.0.0.53");
    assert_eq!(result.get("ips"), None);
}

#[test]
fn a_double_on_the_network_is_told() {
    let Some(node) = Node::new() else { return };
    let (one, other) = (Net::new(), Net::new());
    let ipam = json!({"type": "static", "addresses":
        [{"address": "fd00:172::30/64", "gateway": "fd00:172::1"}]});
    let config = config(json!({"ipam": ipam}), &[]);
    node.add("macvlan", &one, &config);
    let (_, message) = node.add_fails("macvlan", &other, &config);
    assert!(message.contains("fd00:172::30 in dadfailed state"), "{message}");
    assert_eq!(other.links(), [""; 0]);
    assert_eq!(one.addresses("net1"), ["fd00:172::30/64"]);
}

#[test]
fn a_name_that_the_node_has_too_is_fine() {
    let Some(node) = Node::new() else { return };
    let (pod, config) = (Net::new(), config(json!({}), &["10.0.0.5/24"]));
    let path = pod.path();
    let asked = |command| Asked { interface: "eth0", ..Asked::new(command, &path, &config) };
    let result = ok(&node.call("macvlan", &asked("ADD")));
    assert_eq!(result["interfaces"][0]["name"], "eth0");
    assert_eq!(pod.addresses("eth0"), ["10.0.0.5/24"]);
    ok(&node.call("macvlan", &asked("DEL")));
    assert!(pod.link("eth0").is_none());
}
