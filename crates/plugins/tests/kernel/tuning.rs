use landbridge_linux::Link;
use landbridge_linux::link::{Fine, OperState};
use serde_json::{Value, json};

use crate::harness::{Asked, Net, Node, failed, name, ok};

fn attached(node: &Node, pod: &Net) -> Value {
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "master": "eth0",
        "ipam": {"type": "static", "addresses": [{"address": "10.0.0.2/24"}, {"address": "fd00::2/64"}],
                 "routes": [{"dst": "192.0.2.0/24", "gw": "10.0.0.1"}]}});
    node.add("macvlan", pod, &config)
}

/// How the link is, but for its operational state: the kernel tells that of a new one late.
fn seen(pod: &Net) -> (Link, Fine) {
    let link = pod.link("net1").unwrap();
    (Link { state: OperState::Unknown, ..link }, pod.net.fine(&name("net1")).unwrap())
}

fn config(node: &Node, more: Value, previous: &Value) -> Value {
    let mut config = json!({"cniVersion": "1.0.0", "name": "n", "type": "tuning",
        "dataDir": node.dir("tuning"), "prevResult": previous});
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

#[test]
fn a_link_is_tuned_and_put_back() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let previous = attached(&node, &pod);
    let before = seen(&pod);
    let addresses = pod.addresses("net1");
    let more = json!({"mac": "02:00:00:00:00:42", "mtu": 1400, "promisc": true, "allmulti": true,
        "txQLen": 777, "sysctl": {"net.ipv4.conf.IFNAME.log_martians": "1", "net.core.somaxconn": "500"}});
    let config = config(&node, more, &previous);
    let result = node.add("tuning", &pod, &config);
    assert_eq!(result["interfaces"][0]["mac"], "02:00:00:00:00:42");
    let link = pod.link("net1").unwrap();
    assert_eq!((link.mac.unwrap().to_string().as_str(), link.mtu), ("02:00:00:00:00:42", 1400));
    let all = Fine { promiscuous: Some(true), all_multicast: Some(true), send_queue: Some(777) };
    assert_eq!(pod.net.fine(&name("net1")).unwrap(), all);
    assert_eq!(pod.sysctl("net.ipv4.conf.net1.log_martians"), "1");
    assert_eq!(pod.sysctl("net.core.somaxconn"), "500");
    // Nothing is lost on the way: the link was never off.
    assert_eq!(pod.addresses("net1"), addresses);
    ok(&node.check("tuning", &pod, &config, &result));
    let file = format!("{}/c1_net1.json", node.dir("tuning"));
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept["mtu"], 1500);
    node.del("tuning", &pod, &config);
    assert_eq!(seen(&pod), before);
    assert!(!std::path::Path::new(&file).exists());
    node.del("tuning", &pod, &config);
    ok(&node.call("tuning", &Asked::new("DEL", "", &config)));
}

#[test]
fn a_failure_changes_nothing() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let previous = attached(&node, &pod);
    let before = seen(&pod);
    let martians = pod.sysctl("net.ipv4.conf.net1.log_martians");
    let sysctl = |key: &str| json!({"net.ipv4.conf.IFNAME.log_martians": "1", key: "1"});
    for (more, text) in [
        // The second setting does not exist: the first is put back.
        (
            json!({"sysctl": sysctl("net.ipv4.conf.IFNAME.odd")}),
            "failed to set net.ipv4.conf.net1.odd",
        ),
        (json!({"sysctl": {"kernel.panic": "1"}}), "invalid net sysctl key: \"kernel.panic\""),
        // Larger than the master's: the address was changed before and is put back.
        (json!({"mac": "02:00:00:00:00:42", "mtu": 9000}), "failed to set MTU 9000"),
        (json!({"prevResult": null}), "Required prevResult missing"),
    ] {
        let (code, message) = node.add_fails("tuning", &pod, &config(&node, more, &previous));
        assert!(code == 999 && message.contains(text), "{message}");
        assert_eq!(seen(&pod), before);
        assert_eq!(pod.sysctl("net.ipv4.conf.net1.log_martians"), martians);
        let files = std::fs::read_dir(node.dir("tuning")).map_or(0, Iterator::count);
        assert_eq!(files, 0);
    }
}

#[test]
fn check_sees_what_changed() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let previous = attached(&node, &pod);
    let config = config(&node, json!({"promisc": true, "mtu": 1400}), &previous);
    let result = node.add("tuning", &pod, &config);
    pod.net.set_fine(&name("net1"), &Fine { promiscuous: Some(false), ..Fine::default() }).unwrap();
    let (_, message) = failed(&node.check("tuning", &pod, &config, &result));
    assert!(message.contains("promiscuous"), "{message}");
    pod.net.set_mtu(&name("net1"), 1300).unwrap();
    let (_, message) = failed(&node.check("tuning", &pod, &config, &result));
    assert!(message.contains("MTU is 1400, current value is 1300"), "{message}");
}
