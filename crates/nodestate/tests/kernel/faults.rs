//! What goes wrong is taken back, to the letter.

use std::sync::Arc;

use landbridge_linux::Handle;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_nodestate::wires::{VlanLink, WireError};
use landbridge_nodestate::{Cause, Error, Wires};
use serde_json::json;

use crate::harness::{Lab, Switch, name, state};
use crate::seeds::{OCTAVIA, OSP};

/// A node with something on it, so that there is something to lose.
const BEFORE: &str = "
interfaces:
- {name: enp6s0, type: ethernet, state: up, mtu: 1600,
   ipv4: {enabled: true, forwarding: true, address: [{ip: 192.168.122.10, prefix-length: 24}, {ip: 192.168.122.11, prefix-length: 24}]}}
- {name: enp6s0.20, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 20}, description: old,
   ipv6: {enabled: true, autoconf: false, address: [{ip: 'fd00:20::1', prefix-length: 64}]}}
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: true, priority: 4096}}, port: [{name: enp6s0.23, stp-path-cost: 77}]}}
- {name: enp6s0.23, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 23}}
- {name: br1, type: linux-bridge, state: up, ipv6: {enabled: false}, ipv4: {enabled: true, address: [{ip: 10.1.0.1, prefix-length: 16}]}}
- {name: a, type: veth, state: up, veth: {peer: b}, accept-all-mac-addresses: true}
routes: {config: [
  {destination: 0.0.0.0/0, next-hop-interface: enp6s0, next-hop-address: 192.168.122.1},
  {destination: 10.9.0.0/16, next-hop-interface: br1, next-hop-address: 10.1.0.9, metric: 7, table-id: 99}]}
route-rules: {config: [{ip-from: 10.1.0.0/16, route-table: 99, priority: 500}]}
dns-resolver: {config: {server: [192.0.2.53], search: [before.example]}}
";

/// Everything at once, the other way.
const AFTER: &str = "
interfaces:
- {name: enp6s0, type: ethernet, state: up, mtu: 1500, ipv4: {enabled: false, forwarding: false}, ipv6: {enabled: false}}
- {name: enp6s0.20, state: absent}
- {name: enp6s0.30, type: vlan, state: up, vlan: {base-iface: enp6s0, id: 30}}
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: false}}, port: [{name: enp6s0.30}, {name: a, stp-hairpin-mode: true}]}}
- {name: br1, state: absent}
- {name: a, type: veth, accept-all-mac-addresses: false, mtu: 1400}
- {name: c, type: veth, state: up, veth: {peer: d}}
routes: {config: [{state: absent, table-id: 99}]}
route-rules: {config: [{ip-from: 10.1.0.0/16, state: absent}, {ip-to: 10.2.0.0/16, route-table: 98}]}
dns-resolver: {config: {server: [192.0.2.54], search: []}}
";

fn sysctls(lab: &Lab) -> Vec<String> {
    let read = |link: &str| {
        ["ipv4/conf/LINK/forwarding", "ipv6/conf/LINK/disable_ipv6", "ipv6/conf/LINK/accept_ra"]
            .map(|name| format!("net/{}", name.replace("LINK", link)))
            .map(|name| {
                let sysctls = landbridge_linux::Sysctls::of(&lab.namespace);
                sysctls.read(&landbridge_linux::Sysctl::parse(&name).unwrap()).unwrap()
            })
            .join(" ")
    };
    ["enp6s0", "enp6s0.20", "br0", "br1", "a"].map(read).to_vec()
}

fn resolver(lab: &Lab) -> Option<String> {
    std::fs::read_to_string(lab.dir.path().join("resolv.conf")).ok()
}

fn prepared() -> Option<Lab> {
    let lab = Lab::new()?;
    std::fs::write(lab.dir.path().join("resolv.conf"), "# mine\nsortlist 10.0.0.0/8\n").unwrap();
    lab.apply(BEFORE);
    Some(lab)
}

/// Runs a change that fails and expects to find everything as it was.
fn unchanged(lab: &Lab, change: impl Fn() -> Error) -> Error {
    let (before, shown) = (lab.everything(), lab.shown_all());
    let (settings, text) = (sysctls(lab), resolver(lab));
    let error = change();
    let Error::RolledBack { rolled_back, .. } = &error else { panic!("{error}") };
    assert_eq!(rolled_back.left, Vec::<String>::new(), "{error}");
    assert_eq!(lab.everything(), before, "{error}");
    assert_eq!(sysctls(lab), settings);
    assert_eq!(resolver(lab), text);
    assert_eq!(lab.shown_all(), shown);
    assert!(!lab.dir.path().join("state/checkpoint.json").exists());
    error
}

#[test]
fn a_failed_probe_takes_everything_back() {
    let Some(lab) = prepared() else { return };
    let error = unchanged(&lab, || {
        let seen = || match lab.node.plan(&state(AFTER)) {
            Ok(plan) if plan.is_empty() => Err("the gateway does not answer".to_owned()),
            other => panic!("the probe ran too early: {other:?}"),
        };
        lab.node.apply(&state(AFTER), &seen).unwrap_err()
    });
    assert_eq!(error.to_string(), "probe failed: the gateway does not answer; rolled back");
}

#[test]
fn a_panic_takes_everything_back() {
    let Some(lab) = prepared() else { return };
    let error =
        unchanged(&lab, || lab.node.apply(&state(AFTER), &|| panic!("on purpose")).unwrap_err());
    assert!(error.to_string().contains("internal error: on purpose"), "{error}");
    // The node is usable afterwards.
    lab.apply(AFTER);
}

#[test]
fn a_failed_step_takes_everything_back() {
    let Some(lab) = prepared() else { return };
    // The gateway is nobody's neighbour: the kernel refuses the route, the last but few steps.
    let wanted = AFTER.replace(
        "{state: absent, table-id: 99}",
        "{destination: 10.77.0.0/16, next-hop-interface: c, next-hop-address: 203.0.113.7}",
    );
    let error = unchanged(&lab, || lab.refused(&wanted));
    let text = error.to_string();
    assert!(text.starts_with("step failed: + route 10.77.0.0/16 via 203.0.113.7 dev c"), "{text}");
    assert!(text.contains("no connected network leads to the gateway"), "{text}");
}

/// Makes links that are not what they say.
struct Liar(Switch);

impl Wires for Liar {
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        self.0.make_vlan(net, &VlanLink { id: vlan.id + 1, ..vlan.clone() })
    }
}

#[test]
fn a_result_that_is_another_one_is_taken_back() {
    let Some(switch) = Switch::new() else { return };
    let mut lab = Lab::on(&switch);
    lab.apply(BEFORE);
    let node = Lab::node_of(&lab.namespace, &lab.dir, Some(&switch));
    lab.node = node.with_wires(Arc::new(Liar(switch)));
    let began = std::time::Instant::now();
    let wanted = "interfaces: [{name: enp6s0.30, type: vlan, vlan: {base-iface: enp6s0, id: 30}, state: up}]";
    let error = unchanged(&lab, || lab.refused(wanted));
    let Error::RolledBack { cause: Cause::Verification { left }, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(left[0], "- vlan enp6s0.30", "{error}");
    assert!(began.elapsed().as_secs() < 10);
}

#[test]
fn an_agent_killed_in_the_middle_takes_it_back_when_it_starts() {
    let Some(switch) = Switch::new() else { return };
    let lab = Lab::on(&switch);
    lab.apply(BEFORE);
    let (before, settings) = (lab.everything(), sysctls(&lab));
    let file = lab.dir.path().join("state/checkpoint.json");
    let copy = lab.dir.path().join("copy");
    // Nobody can be killed here without killing the test; what a killed agent leaves is this.
    lab.node
        .apply(&state(AFTER), &|| {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::copy(&file, &copy).map(drop).map_err(|error| error.to_string())
        })
        .unwrap();
    assert_ne!(lab.everything(), before);
    std::fs::copy(&copy, &file).unwrap();
    let restarted = Lab::node_of(&lab.namespace, &lab.dir, Some(&switch));
    let recovered = restarted.recover().unwrap().expect("there is something to take back");
    assert_eq!(recovered.rolled_back.left, Vec::<String>::new());
    assert_eq!(lab.everything(), before);
    assert_eq!(sysctls(&lab), settings);
    assert!(restarted.recover().unwrap().is_none());
    // Rubbish is an error, not a panic, and not a silent start.
    std::fs::write(&file, "{").unwrap();
    assert!(restarted.recover().unwrap_err().to_string().contains("cannot understand"));
}

/// Each is refused before anything is touched, with a text that names place and reason.
#[test]
fn what_cannot_be_is_refused_and_nothing_is_touched() {
    let Some(lab) = prepared() else { return };
    let before = lab.everything();
    for (wanted, text) in [
        (
            "interfaces: [{name: enp66s0, type: ethernet}]",
            "interfaces[0] (enp66s0): the node has no such interface",
        ),
        (
            "interfaces: [{name: x, type: vlan, vlan: {base-iface: nope, id: 3}}]",
            "interfaces[0] (x).vlan.base-iface: nope does not exist",
        ),
        (
            "interfaces: [{name: br0, type: vlan, vlan: {base-iface: enp6s0, id: 3}}]",
            "the node has br0 as linux-bridge, not as vlan",
        ),
        (
            "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: gone}]}}]",
            "port gone of br0 does not exist",
        ),
        (
            "interfaces: [{name: enp6s0.20, type: vlan, mtu: 9000}]",
            "9000 is more than the 1600 of enp6s0",
        ),
        (
            "interfaces: [{name: lo, type: loopback, state: absent}]",
            "the loopback comes with its namespace",
        ),
        (
            "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: enp7s0}]}",
            "enp7s0 does not exist on this node, or is down",
        ),
    ] {
        let error = lab.refused(wanted);
        assert!(matches!(error, Error::Desired(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}\nhas no\n{text}");
    }
    assert_eq!(lab.everything(), before);
}

#[test]
fn a_kind_the_kernel_lacks_names_its_module() {
    let Some(lab) = prepared() else { return };
    let can = Capabilities::probe().unwrap();
    for (feature, wanted, module) in [
        (Feature::Dummy, "interfaces: [{name: x, type: dummy}]", "modprobe dummy"),
        (
            Feature::Bond,
            "interfaces: [{name: x, type: bond, link-aggregation: {mode: active-backup}}]",
            "modprobe bonding",
        ),
        (
            Feature::Vrf,
            "interfaces: [{name: x, type: vrf, vrf: {route-table-id: 10, port: []}}]",
            "modprobe vrf",
        ),
    ] {
        if can.has(feature) {
            continue;
        }
        let error = unchanged(&lab, || lab.refused(wanted));
        assert!(error.to_string().contains(module), "{error}");
    }
    if !can.has(Feature::Vlan) {
        let net = Handle::in_namespace(&lab.namespace).unwrap();
        let link = VlanLink {
            name: name("x"),
            base: name("enp6s0"),
            id: 3,
            protocol: landbridge_linux::link::VlanProtocol::Customer,
            mtu: None,
        };
        let error = landbridge_nodestate::wires::Kernel.make_vlan(&net, &link).unwrap_err();
        assert!(error.to_string().contains("modprobe 8021q"), "{error}");
    }
    if !can.has(Feature::BridgeVlanFiltering) {
        let wanted = OCTAVIA.replace("max: 4094", "max: 100");
        let error = lab.refused(&wanted);
        assert!(error.to_string().contains("CONFIG_BRIDGE_VLAN_FILTERING"), "{error}");
    }
}

/// What a policy changed by hand meanwhile is found, and only that.
#[test]
fn drift_is_a_plan() {
    let Some(lab) = Lab::new() else { return };
    lab.apply(OSP);
    lab.net.set_down(&name("enp6s0.21")).unwrap();
    let drift = lab.node.plan(&state(OSP)).unwrap();
    assert_eq!(drift.to_string(), "~ enp6s0.21: up\n");
    lab.apply(OSP);
    assert_eq!(lab.shown("enp6s0.21")["state"], json!("up"));
}
