//! What the seeds' policies do to a node.

use std::net::UdpSocket;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Lab, Switch, name, state};

/// The policy of seed 000.
pub const OSP: &str = include_str!("../plans/seeds/osp.yaml");

/// What seed 001 puts in its place.
pub const OCTAVIA: &str = include_str!("../plans/seeds/octavia.yaml");

#[test]
fn the_policy_of_seed_000() {
    let Some(lab) = Lab::new() else { return };
    let applied = lab.apply(OSP);
    assert!(!applied.plan.is_empty());
    let vlan = lab.shown("enp6s0.20");
    assert_eq!(vlan["type"], "vlan");
    assert_eq!(vlan["state"], "up");
    assert_eq!(vlan["description"], "internalapi vlan interface");
    assert_eq!(vlan["mtu"], 1500);
    assert_eq!(vlan["vlan"], json!({"base-iface": "enp6s0", "id": 20, "protocol": "802.1q"}));
    assert_eq!(vlan["ipv6"], json!({"enabled": false}));
    let base = lab.shown("enp6s0");
    assert_eq!(base["ipv4"]["address"], json!([{"ip": "192.168.122.10", "prefix-length": 24}]));
    assert_eq!(base["ipv6"]["enabled"], false);
    // Once more is nothing, and is known to be nothing.
    let again =
        lab.node.apply(&state(OSP), &|| panic!("nothing changed, nothing to probe")).unwrap();
    assert!(again.plan.is_empty());
    // What is shown can be wished for, and is there.
    let shown = lab.node.show().unwrap();
    let wish = json!({"interfaces": shown["interfaces"]});
    let plan = lab.node.plan(&wish).unwrap();
    assert!(plan.is_empty(), "{plan}");
}

#[test]
fn octbr_stands_on_the_vlan_and_keeps_pods() {
    let Some(switch) = Switch::new() else { return };
    let lab = Lab::on(&switch);
    lab.apply(OSP);
    lab.apply(OCTAVIA);
    let bridge = lab.shown("octbr");
    assert_eq!(bridge["bridge"]["options"]["stp"]["enabled"], false);
    assert_eq!(bridge["bridge"]["port"][0]["name"], "enp6s0.24");
    assert_eq!(lab.shown("enp6s0.24")["controller"], "octbr");
    // The list replaced the VLANs of the first policy, but not on the node.
    assert_eq!(lab.shown("enp6s0.20")["state"], "up");
    // A pod's link is neither shown nor thrown out of the bridge.
    let pod = landbridge_linux::Namespace::unnamed().unwrap();
    let end =
        |called| landbridge_linux::NewLink::new(name(called), landbridge_linux::LinkKind::Veth);
    lab.net.create_veth(&end("veth12345678").up(), &end("net1"), Some(&pod)).unwrap();
    let octbr = lab.net.index(&name("octbr")).unwrap();
    lab.net.set_master(&name("veth12345678"), Some(octbr)).unwrap();
    lab.apply(OCTAVIA);
    let found = lab.net.expect_link(&name("veth12345678")).unwrap();
    assert_eq!(found.master, Some(octbr));
    assert_eq!(lab.shown("veth12345678"), json!(null));
    assert_eq!(lab.shown("octbr")["bridge"]["port"].as_array().unwrap().len(), 1);
}

/// Seed 003: NICs in bridges, DHCP left out, MTU 9000.
#[test]
fn bridges_of_seed_003() {
    let Some(lab) = Lab::new() else { return };
    lab.net.set_up(&name("enp7s0")).unwrap();
    lab.apply(
        "
interfaces:
- name: br-osp
  type: linux-bridge
  state: up
  mtu: 9000
  ipv4: {enabled: false}
  ipv6: {enabled: false}
  bridge: {options: {stp: {enabled: false}}, port: [{name: enp7s0}]}
- name: enp7s0
  type: ethernet
  state: up
  mtu: 9000
  ipv4: {enabled: false}
  ipv6: {enabled: false}
- name: br-ex
  type: linux-bridge
  state: up
  mtu: 1500
  bridge: {options: {stp: {enabled: false}}, port: [{name: enp6s0}]}
  ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}
",
    );
    assert_eq!(lab.shown("br-osp")["mtu"], 9000);
    assert_eq!(lab.shown("enp7s0")["mtu"], 9000);
    assert_eq!(lab.shown("enp6s0")["controller"], "br-ex");
    // An empty list detaches, a missing one does not.
    lab.apply("interfaces: [{name: br-ex, type: linux-bridge, mtu: 1400}]");
    assert_eq!(lab.shown("enp6s0")["controller"], "br-ex");
    lab.apply("interfaces: [{name: br-ex, type: linux-bridge, bridge: {port: []}}]");
    assert_eq!(lab.shown("enp6s0")["controller"], json!(null));
    // Absent leaves the port, and takes what stands on the bridge along.
    lab.apply("interfaces: [{name: br-osp, state: absent}, {name: nothing, state: absent}]");
    assert_eq!(lab.shown("br-osp"), json!(null));
    assert_eq!(lab.shown("enp7s0")["mtu"], 9000);
}

/// Same VLAN: packets pass. Another VLAN under the same name: they do not.
#[test]
fn vlans_keep_apart() {
    let Some(switch) = Switch::new() else { return };
    let addressed = |host: u8, id: u16, mtu: u16| {
        format!(
            "
interfaces:
- {{name: enp6s0, type: ethernet, state: up, mtu: {mtu}}}
- name: enp6s0.20
  type: vlan
  state: up
  vlan: {{base-iface: enp6s0, id: {id}}}
  mtu: {mtu}
  ipv4: {{enabled: true, address: [{{ip: 172.17.0.{host}, prefix-length: 24}}]}}
  ipv6: {{enabled: true, autoconf: false, address: [{{ip: 'fd00:17::{host}', prefix-length: 64}}]}}
"
        )
    };
    let labs: Vec<Lab> = [(1, 20), (2, 20), (3, 21)]
        .into_iter()
        .map(|(host, id)| {
            let lab = Lab::on(&switch);
            lab.apply(&addressed(host, id, 9000));
            lab
        })
        .collect();
    let reaches = |from: &Lab, to: &Lab, ip: &str, length: usize| {
        let (family, any) =
            if ip.contains(':') { ("[::]:0", "[::]:5000") } else { ("0.0.0.0:0", "0.0.0.0:5000") };
        let receiver = to.namespace.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let sender = from.namespace.run(|| UdpSocket::bind(family)).unwrap().unwrap();
        let packet = vec![7_u8; length];
        let mut buffer = vec![0; 65_536];
        // IPv6 addresses need a moment until they are known to be the only ones.
        (0..30).any(|_| {
            let _ = sender.send_to(&packet, (ip.parse::<std::net::IpAddr>().unwrap(), 5000));
            receiver.recv(&mut buffer).is_ok_and(|received| received == length)
        })
    };
    assert!(reaches(&labs[0], &labs[1], "172.17.0.2", 8000));
    assert!(reaches(&labs[0], &labs[1], "fd00:17::2", 8000));
    assert!(!reaches(&labs[0], &labs[2], "172.17.0.3", 100));
    assert!(!reaches(&labs[0], &labs[2], "fd00:17::3", 100));
}
