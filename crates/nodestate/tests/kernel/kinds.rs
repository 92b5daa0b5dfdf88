//! Every kind of link the kernel has.

use landbridge_linux::probe::Feature;
use serde_json::json;

use crate::harness::{Lab, has};

#[test]
fn veth_macvlan_vxlan() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::Macvlan) || !has(Feature::Vxlan) {
        return;
    }
    // Bases after what stands on them: the order of the list says nothing.
    lab.apply(
        "interfaces:
- {name: mv0, type: mac-vlan, mac-vlan: {base-iface: v0, mode: bridge}, mac-address: '02:00:00:00:00:05'}
- {name: vx0, type: vxlan, mtu: 1400, vxlan: {base-iface: v0, id: 77, remote: 192.0.2.7, destination-port: 4789}}
- {name: v0, type: veth, veth: {peer: v1}, mtu: 2000}
- {name: v1, type: veth, veth: {peer: v0}, mtu: 2000, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}",
    );
    assert_eq!(lab.shown("mv0")["mac-address"], "02:00:00:00:00:05");
    assert_eq!(lab.shown("mv0")["mtu"], 2000);
    assert_eq!(lab.shown("mv0")["mac-vlan"], json!({"base-iface": "v0", "mode": "bridge"}));
    assert_eq!(lab.shown("vx0")["vxlan"]["destination-port"], 4789);
    // Another number is another vxlan, made anew with what it had.
    lab.apply("interfaces: [{name: vx0, type: vxlan, vxlan: {id: 78}, ipv4: {enabled: true, address: [{ip: 10.0.0.1, prefix-length: 8}]}}]");
    lab.apply("interfaces: [{name: vx0, type: vxlan, vxlan: {id: 79}}]");
    assert_eq!(lab.shown("vx0")["vxlan"]["id"], 79);
    assert_eq!(lab.shown("vx0")["mtu"], 1400);
    assert_eq!(lab.shown("vx0")["ipv4"]["address"][0]["ip"], "10.0.0.1");
    // One end takes the other, and everything that stands on it.
    let applied = lab.apply("interfaces: [{name: v1, state: absent, type: veth}]");
    assert_eq!(lab.shown("mv0"), json!(null));
    assert!(applied.plan.notes.len() >= 2, "{}", applied.plan);
}

#[test]
fn a_vlan_of_another_id_is_made_anew() {
    let Some(lab) = Lab::new() else { return };
    let vlan = |id: u16| {
        format!(
            "interfaces: [{{name: v, type: vlan, vlan: {{base-iface: enp6s0, id: {id}}}, description: kept,
              ipv4: {{enabled: true, address: [{{ip: 192.0.2.1, prefix-length: 24}}]}}}},
              {{name: br0, type: linux-bridge, bridge: {{options: {{mac-ageing-time: 60}}}}}}]"
        )
    };
    lab.apply(&vlan(20));
    lab.apply("interfaces: [{name: v, type: vlan, vlan: {id: 21}}]");
    let shown = lab.shown("v");
    assert_eq!(shown["vlan"]["id"], 21);
    assert_eq!(shown["vlan"]["base-iface"], "enp6s0");
    assert_eq!(shown["ipv4"]["address"][0]["ip"], "192.0.2.1");
    assert_eq!(shown["description"], "kept");
    assert_eq!(lab.shown("br0")["bridge"]["options"]["mac-ageing-time"], 60);
}

#[test]
fn bridge_options_and_ports() {
    let Some(lab) = Lab::new() else { return };
    lab.apply(
        "interfaces:
- name: br0
  type: linux-bridge
  bridge:
    options:
      group-forward-mask: 8
      multicast-snooping: false
      stp: {enabled: true, forward-delay: 8, hello-time: 3, max-age: 14, priority: 8192}
    port: [{name: enp6s0, stp-hairpin-mode: true, stp-path-cost: 200, stp-priority: 48}]",
    );
    let bridge = &lab.shown("br0")["bridge"];
    assert_eq!(
        bridge["options"]["stp"],
        json!({"enabled": true, "forward-delay": 8, "hello-time": 3, "max-age": 14, "priority": 8192})
    );
    assert_eq!(bridge["port"][0]["stp-path-cost"], 200);
    lab.apply(
        "interfaces: [{name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: false}}}}]",
    );
    assert_eq!(lab.shown("br0")["bridge"]["options"]["stp"]["priority"], 8192);
}

#[test]
fn vlan_filtering() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::BridgeVlanFiltering) {
        return;
    }
    let with = |vlan: &str| {
        format!(
            "interfaces: [{{name: br0, type: linux-bridge, bridge: {{port: [{{name: enp6s0, vlan: {vlan}}}, {{name: enp7s0}}]}}}}]"
        )
    };
    for (wanted, shown) in [
        ("{mode: trunk, trunk-tags: [{id-range: {min: 2, max: 4094}}]}", None),
        ("{mode: access, tag: 30}", None),
        (
            "{mode: trunk, enable-native: true, tag: 5, trunk-tags: [{id: 7}, {id-range: {min: 20, max: 30}}]}",
            None,
        ),
        ("{}", Some(json!(null))),
    ] {
        lab.apply(&with(wanted));
        let port = lab.shown("br0")["bridge"]["port"][0]["vlan"].clone();
        let wanted = shown.unwrap_or_else(|| crate::harness::state(wanted));
        assert_eq!(port, wanted);
    }
}

#[test]
fn loopback_keeps_its_own() {
    let Some(lab) = Lab::new() else { return };
    lab.apply("interfaces: [{name: lo, type: loopback, mtu: 40000, ipv4: {enabled: true, address: [{ip: 192.0.2.200, prefix-length: 32}]}}]");
    let lo = lab.shown("lo");
    let ips: Vec<_> =
        lo["ipv4"]["address"].as_array().unwrap().iter().map(|a| a["ip"].clone()).collect();
    assert_eq!(ips, ["127.0.0.1", "192.0.2.200"]);
    assert_eq!(lo["type"], "loopback");
    lab.apply("interfaces: [{name: lo, type: loopback, ipv4: {enabled: true, address: []}}]");
    assert_eq!(lab.shown("lo")["ipv4"]["address"].as_array().unwrap().len(), 1);
}

#[test]
fn dummy() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::Dummy) {
        return;
    }
    lab.apply("interfaces: [{name: d0, type: dummy, mtu: 1300, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 32}]}}]");
    assert_eq!(lab.shown("d0")["type"], "dummy");
    lab.apply("interfaces: [{name: d0, type: dummy, state: absent}]");
    assert_eq!(lab.shown("d0"), json!(null));
}

#[test]
fn bond() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::Bond) {
        return;
    }
    let bond = |mode: &str, options: &str, ports: &str| {
        format!(
            "interfaces: [{{name: bond0, type: bond, mtu: 1450,
              ipv4: {{enabled: true, address: [{{ip: 192.0.2.1, prefix-length: 24}}]}},
              ipv6: {{enabled: true, address: [{{ip: 'fd00::1', prefix-length: 64}}]}},
              link-aggregation: {{mode: {mode}, options: {options}, port: [{ports}]}}}},
              {{name: bond0.7, type: vlan, vlan: {{base-iface: bond0, id: 7}}}}]"
        )
    };
    lab.apply(&bond("active-backup", "{miimon: 100, updelay: 200}", "enp6s0, enp7s0"));
    let shown = lab.shown("bond0");
    assert_eq!(shown["link-aggregation"]["mode"], "active-backup");
    assert_eq!(shown["link-aggregation"]["options"]["miimon"], 100);
    assert_eq!(shown["link-aggregation"]["port"], json!(["enp6s0", "enp7s0"]));
    assert_eq!(lab.shown("enp7s0")["mtu"], 1450);
    lab.apply(&bond("active-backup", "{miimon: 200}", "enp6s0"));
    assert_eq!(lab.shown("enp7s0")["controller"], json!(null));
    // Another mode is another bond, with all that stood on it.
    lab.apply(&bond(
        "802.3ad",
        "{miimon: 100, lacp_rate: fast, xmit_hash_policy: layer3+4}",
        "enp6s0, enp7s0",
    ));
    assert_eq!(lab.shown("bond0")["link-aggregation"]["options"]["lacp_rate"], "fast");
    assert_eq!(lab.shown("bond0.7")["state"], "up");
    let before = lab.everything();
    let away = "interfaces: [{name: bond0, state: absent}, {name: enp6s0, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}]";
    lab.node.apply(&crate::harness::state(away), &|| Err("no".into())).unwrap_err();
    let after = lab.everything();
    assert_eq!(after.links.len(), before.links.len());
    assert_eq!(lab.shown("bond0")["link-aggregation"]["port"], json!(["enp6s0", "enp7s0"]));
    lab.apply(away);
    assert_eq!(lab.shown("bond0.7"), json!(null));
}

#[test]
fn vrf() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::Vrf) {
        return;
    }
    let addresses = "ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}, ipv6: {enabled: true, address: [{ip: 'fd00::1', prefix-length: 64}]}";
    lab.apply(&format!("interfaces: [{{name: enp6s0, type: ethernet, {addresses}}}]"));
    // The port keeps what nobody spoke of, though the kernel shakes it.
    lab.apply("interfaces: [{name: blue, type: vrf, vrf: {route-table-id: 100, port: [enp6s0]}}]");
    assert_eq!(lab.shown("blue")["vrf"], json!({"route-table-id": 100, "port": ["enp6s0"]}));
    let shown = lab.shown("enp6s0");
    assert_eq!(shown["controller"], "blue");
    assert_eq!(shown["ipv4"]["address"][0]["ip"], "192.0.2.1");
    assert!(shown["ipv6"]["address"].as_array().unwrap().iter().any(|a| a["ip"] == "fd00::1"));
    lab.apply("routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: enp6s0, next-hop-address: 192.0.2.9, table-id: 100}]}");
    // What the kernel keeps for itself in the table of a VRF is no route of the node.
    let all = lab.node.show().unwrap();
    let routes = all["routes"]["running"].as_array().unwrap().iter();
    let there = routes.filter(|route| route["table-id"] == 100);
    let mut there: Vec<_> = there.map(|route| route["destination"].as_str().unwrap()).collect();
    there.sort_unstable();
    assert_eq!(there, ["10.0.0.0/8", "192.0.2.0/24", "fd00::/64", "fe80::/64"]);
    lab.apply("interfaces: [{name: blue, type: vrf, vrf: {port: []}}]");
    assert_eq!(lab.shown("enp6s0")["controller"], json!(null));
    assert_eq!(lab.shown("enp6s0")["ipv4"]["address"][0]["ip"], "192.0.2.1");
}

#[test]
fn real_vlans() {
    let Some(lab) = Lab::new() else { return };
    if !has(Feature::Vlan) {
        return;
    }
    lab.apply(crate::seeds::OSP);
    let link = lab.net.expect_link(&crate::harness::name("enp6s0.20")).unwrap();
    assert_eq!(link.kind.word(), "vlan");
    assert_eq!(link.alias.as_deref(), Some("internalapi vlan interface"));
    lab.apply(
        "interfaces: [{name: q, type: vlan, vlan: {base-iface: enp7s0, id: 9, protocol: 802.1ad}}]",
    );
    assert_eq!(lab.shown("q")["vlan"]["protocol"], "802.1ad");
}
