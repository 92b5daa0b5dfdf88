//! bridge with VLANs. The kernel must be able to tell them apart; the test machine's can.

use landbridge_linux::link::{BridgeVlan, Vlan, VlanProtocol};
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::{LinkKind, NewLink};
use serde_json::{Value, json};

use crate::harness::{Net, Node, echo, failed, has, name, ok, silent};

fn config(more: Value, address: &str) -> Value {
    let mut config = json!({
        "cniVersion": "1.0.0", "name": "vlans", "type": "bridge", "bridge": "br0",
        "ipam": {"type": "static", "addresses": [{"address": address}]},
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

/// A node whose kernel tells VLANs of a bridge apart.
fn node() -> Option<Node> {
    let node = Node::new()?;
    has(Feature::BridgeVlanFiltering).then_some(node)
}

/// What the port of the node lets through.
fn port(node: &Node, result: &Value) -> Vec<BridgeVlan> {
    let near = name(result["interfaces"][1]["name"].as_str().unwrap());
    let index = node.net.net.index(&near).unwrap();
    node.net.net.bridge_vlans().unwrap().remove(&index).unwrap_or_default()
}

#[test]
fn pods_of_different_vlans_do_not_meet() {
    let Some(node) = node() else { return };
    let (one, same, other, plain) = (Net::new(), Net::new(), Net::new(), Net::new());
    let first = node.add("bridge", &one, &config(json!({"vlan": 20}), "10.5.0.2/24"));
    node.add("bridge", &same, &config(json!({"vlan": 20}), "10.5.0.3/24"));
    node.add("bridge", &other, &config(json!({"vlan": 21}), "10.5.0.4/24"));
    node.add("bridge", &plain, &config(json!({}), "10.5.0.5/24"));
    assert_eq!(port(&node, &first), [BridgeVlan::native(20)]);
    echo(&one, &same, "10.5.0.3", 1500).unwrap();
    assert!(silent(&one, &other, "10.5.0.4"), "20 reaches 21");
    assert!(silent(&one, &plain, "10.5.0.5"), "20 reaches the default VLAN");
    assert!(silent(&other, &plain, "10.5.0.5"), "21 reaches the default VLAN");
}

#[test]
fn the_default_vlan_stays_where_asked() {
    let Some(node) = node() else { return };
    let more = json!({"vlan": 20, "preserveDefaultVlan": true});
    let pod = Net::new();
    let result = node.add("bridge", &pod, &config(more, "10.5.0.2/24"));
    let default = BridgeVlan { pvid: false, ..BridgeVlan::native(1) };
    assert_eq!(port(&node, &result), [default, BridgeVlan::native(20)]);
}

#[test]
fn a_trunk_carries_tags() {
    let Some(node) = node() else { return };
    if !has(Feature::Vlan) {
        return;
    }
    let (trunk, access, other, plain) = (Net::new(), Net::new(), Net::new(), Net::new());
    let more = json!({"vlanTrunk": [{"minID": 19, "maxID": 20}, {"id": 7}]});
    let result = node.add("bridge", &trunk, &config(more, "10.5.0.1/24"));
    let tagged = BridgeVlan::tagged;
    assert_eq!(port(&node, &result), [BridgeVlan::native(1), tagged(7, 7), tagged(19, 20)]);
    node.add("bridge", &access, &config(json!({"vlan": 20}), "10.20.0.2/24"));
    node.add("bridge", &other, &config(json!({"vlan": 21}), "10.21.0.2/24"));
    node.add("bridge", &plain, &config(json!({}), "10.5.0.5/24"));
    for id in [20, 21] {
        let kind = LinkKind::Vlan(Vlan { id, protocol: VlanProtocol::default() });
        let parent = trunk.link("net1").unwrap().index;
        let link = NewLink::new(name(&format!("net1.{id}")), kind).on(parent).up();
        let link = trunk.net.create_link(&link).unwrap();
        trunk.address(link.index, &format!("10.{id}.0.1/24"));
    }
    echo(&trunk, &access, "10.20.0.2", 1500).unwrap();
    // Tags that the trunk does not name end at the port; what has none is in VLAN 1.
    assert!(silent(&trunk, &other, "10.21.0.2"), "21 is not on the trunk");
    echo(&trunk, &plain, "10.5.0.5", 1500).unwrap();
}

#[test]
fn each_vlan_has_its_gateway() {
    let Some(node) = node() else { return };
    let (one, other, far) = (Net::new(), Net::new(), Net::new());
    let gateway = |vlan: u16| json!({"vlan": vlan, "isDefaultGateway": true});
    let first = config(gateway(20), "10.20.0.2/24");
    let result = node.add("bridge", &one, &first);
    node.add("bridge", &other, &config(gateway(20), "10.20.0.3/24"));
    node.add("bridge", &far, &config(gateway(21), "10.21.0.2/24"));
    let link = node.net.link("br0.20").unwrap();
    assert_eq!(result["interfaces"][3]["name"], "br0.20");
    assert_eq!(result["interfaces"][3]["mac"], link.mac.unwrap().to_string());
    assert_eq!(result["ips"][0]["interface"], 2);
    assert_eq!(node.net.addresses("br0"), [""; 0]);
    assert_eq!(node.net.addresses("br0.20"), ["10.20.0.1/24"]);
    assert_eq!(node.net.addresses("br0.21"), ["10.21.0.1/24"]);
    echo(&one, &node.net, "10.20.0.1", 1500).unwrap();
    // Between VLANs only through the gateways.
    echo(&one, &far, "10.21.0.2", 1500).unwrap();
    node.net.net.set_down(&name("br0.21")).unwrap();
    assert!(silent(&one, &far, "10.21.0.2"));
    ok(&node.check("bridge", &one, &first, &result));
    // The next ADD mends what somebody, or a crash in the middle, left behind.
    let peer = link.peer.unwrap().index;
    node.net.net.delete_bridge_vlan(peer, BridgeVlan::native(20)).unwrap();
    assert!(silent(&one, &node.net, "10.20.0.1"));
    node.add("bridge", &Net::new(), &config(gateway(20), "10.20.0.4/24"));
    echo(&one, &node.net, "10.20.0.1", 1500).unwrap();
}

#[test]
fn check_sees_a_vlan_that_is_gone() {
    let Some(node) = node() else { return };
    let pod = Net::new();
    let config =
        config(json!({"vlan": 20, "vlanTrunk": [{"minID": 30, "maxID": 32}]}), "10.5.0.2/24");
    let result = node.add("bridge", &pod, &config);
    ok(&node.check("bridge", &pod, &config, &result));
    let near = name(result["interfaces"][1]["name"].as_str().unwrap());
    let index = node.net.net.index(&near).unwrap();
    node.net.net.delete_bridge_vlan(index, BridgeVlan::tagged(31, 31)).unwrap();
    let (_, message) = failed(&node.check("bridge", &pod, &config, &result));
    assert!(message.contains("does not let VLANs 30 to 32 through tagged"), "{message}");
}

/// A bridge that tells no VLANs apart would connect what the configuration parts.
#[test]
fn a_bridge_without_vlans_is_refused() {
    let Some(node) = Node::new() else { return };
    let (there, pod) = (Net::new(), Net::new());
    node.add("bridge", &there, &config(json!({}), "10.5.0.2/24"));
    let before = node.net.links();
    for more in [json!({"vlan": 20}), json!({"vlanTrunk": [{"id": 20}]})] {
        let (code, message) = node.add_fails("bridge", &pod, &config(more, "10.5.0.3/24"));
        assert!(code == 999 && message.contains("does not tell VLANs apart"), "{code} {message}");
        assert_eq!((node.net.links(), pod.links()), (before.clone(), vec![]));
    }
}

#[test]
fn a_kernel_without_vlans_is_told_of() {
    let Some(node) = Node::new() else { return };
    let pod = Net::new();
    let config = config(json!({"vlan": 20}), "10.5.0.3/24");
    if Capabilities::probe().unwrap().has(Feature::BridgeVlanFiltering) {
        node.add("bridge", &pod, &config);
        return;
    }
    let (code, message) = node.add_fails("bridge", &pod, &config);
    assert!(code == 2 && message.contains("CONFIG_BRIDGE_VLAN_FILTERING"), "{code} {message}");
    assert_eq!((node.net.links(), pod.links()), (vec!["far".into(), "eth0".into()], vec![]));
}
