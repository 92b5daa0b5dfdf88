use landbridge_linux::LinkChange;
use serde_json::json;

use crate::harness::{Asked, Net, Node, echo, name, ok};

#[test]
fn a_device_goes_and_comes_back() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let before = node.net.link("eth0").unwrap();
    let far = node.net.link("far").unwrap();
    node.net.address(far.index, "10.0.0.1/24");
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "host-device",
        "device": "eth0", "ipam": {"type": "static", "addresses": [{"address": "10.0.0.2/24"}]}});
    let result = node.add("host-device", &pod, &config);
    assert_eq!(result["interfaces"][0]["mac"], before.mac.unwrap().to_string());
    assert_eq!(node.net.links(), ["far"]);
    assert_eq!(pod.link("net1").unwrap().alias.as_deref(), Some("eth0"));
    echo(&pod, &node.net, "10.0.0.1", 1500).unwrap();
    ok(&node.check("host-device", &pod, &config, &result));
    node.del("host-device", &pod, &config);
    let after = node.net.link("eth0").unwrap();
    assert_eq!((after.mac, after.mtu, after.alias), (before.mac, before.mtu, None));
    assert_eq!(pod.links(), [""; 0]);
    assert_eq!(node.net.addresses("eth0"), [""; 0]);
    node.del("host-device", &pod, &config);
    ok(&node.call("host-device", &Asked::new("DEL", "/nonexistent", &config)));
}

#[test]
fn by_its_hardware_address_and_with_its_alias() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let mac = node.net.link("eth0").unwrap().mac.unwrap().to_string();
    let alias = Some("landbridge:vlan base=enp6s0 id=20".to_owned());
    node.net
        .net
        .change_link(&name("eth0"), &LinkChange { alias: alias.clone(), ..LinkChange::default() })
        .unwrap();
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "host-device",
        "hwaddr": mac.to_uppercase()});
    node.add("host-device", &pod, &config);
    assert!(pod.link("net1").unwrap().up);
    node.del("host-device", &pod, &config);
    assert_eq!(node.net.link("eth0").unwrap().alias, alias);
}

#[test]
fn a_failure_brings_it_back() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let cases = [
        (
            json!({"type": "static", "addresses": [{"address": "10.0.0.2/24"}],
            "routes": [{"dst": "192.0.2.0/24", "gw": "203.0.113.1"}]}),
            "eth0",
            "failed to add route",
        ),
        (json!({"type": "static"}), "eth0", "IPAM plugin returned missing IP config"),
        (json!({}), "eth9", "failed to find host device: Link not found"),
    ];
    for (ipam, device, text) in cases {
        let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "host-device",
            "device": device, "ipam": ipam});
        let (code, message) = node.add_fails("host-device", &pod, &config);
        assert!(code == 999 && message.contains(text), "{message}");
        let back = node.net.link("eth0").unwrap();
        assert!(back.up && back.alias.is_none(), "{text}");
        assert_eq!(pod.links(), [""; 0]);
    }
    // A name that the container has already is refused before anything moves.
    pod.pair("net1", "other", 1500);
    let config =
        json!({"cniVersion": "1.0.0", "name": "n", "type": "host-device", "device": "eth0"});
    let (_, message) = node.add_fails("host-device", &pod, &config);
    assert!(message.contains("has a link \"net1\" already"), "{message}");
    assert!(node.net.link("eth0").unwrap().up);
}
