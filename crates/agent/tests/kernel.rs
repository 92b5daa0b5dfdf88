//! Policies and hosts on a real kernel: what a condition says is what the namespace has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use landbridge_agent::host::HostSettings;
use landbridge_agent::host::compose::{Made, choose_trunk, compose};
use landbridge_agent::host::wanted::{Wanted, wanted};
use landbridge_agent::policy::NodeNetwork;
use landbridge_agent::policy::probes::here::{addresses, gateways, reaches};
use landbridge_agent::policy::probes::{Gateway, Surroundings, beforehand};
use landbridge_agent::policy::settings::Settings;
use landbridge_api::network::IPSet;
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink, Route};
use landbridge_nodestate::wires::{VlanLink, Wire, WireError, Wires, alias};
use landbridge_nodestate::{Files, Node};
use serde_json::{Value, json};

struct Lab {
    node: Node,
    net: Handle,
    router: Handle,
    _dir: tempfile::TempDir,
}

/// VLANs without 8021q: a veth that says in its alias what it stands for.
struct Veths;

impl Wires for Veths {
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        let mut here = NewLink::new(vlan.name.clone(), LinkKind::Veth)
            .with_alias(alias(&Wire::of(vlan), None));
        here.mtu = vlan.mtu;
        let far = IfName::new(&format!("far{}", vlan.id)).unwrap();
        let far = NewLink::new(far, LinkKind::Veth).up();
        let elsewhere = Namespace::unnamed()?;
        net.create_veth(&here, &far, Some(&elsewhere))?;
        std::mem::forget(elsewhere); // the other end has to live on
        Ok(())
    }
}

/// A node with a management NIC towards a router, and a trunk.
fn lab() -> Option<Lab> {
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: kernel: needs root");
        return None;
    }
    let (here, there) = (Namespace::unnamed().unwrap(), Namespace::unnamed().unwrap());
    let (net, router) =
        (Handle::in_namespace(&here).unwrap(), Handle::in_namespace(&there).unwrap());
    for name in ["enp1s0", "enp6s0"] {
        let end = NewLink::new(IfName::new(name).unwrap(), LinkKind::Veth).up();
        net.create_veth(&end, &end, Some(&there)).unwrap();
    }
    let management = net.index(&IfName::new("enp1s0").unwrap()).unwrap();
    net.add_address(&Address::new(management, "192.0.2.10/24".parse().unwrap())).unwrap();
    let far = router.index(&IfName::new("enp1s0").unwrap()).unwrap();
    router.add_address(&Address::new(far, "192.0.2.1/24".parse().unwrap())).unwrap();
    let default = Route::via("0.0.0.0/0".parse().unwrap(), "192.0.2.1".parse().unwrap());
    net.add_route(&default.on(management)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let files = Files {
        resolver: dir.path().join("resolv.conf"),
        hostname: dir.path().join("hostname"),
        state: dir.path().join("state"),
    };
    let node = Node::new(Handle::in_namespace(&here).unwrap(), files).with_wires(Arc::new(Veths));
    Some(Lab { node, net, router, _dir: dir })
}

struct Around<'a>(&'a Handle);

impl Surroundings for Around<'_> {
    fn api(&self, _: Duration) -> Result<(), String> {
        Ok(()) // over a Unix socket it says nothing about the network
    }
    fn gateways(&self) -> Result<Vec<Gateway>, String> {
        gateways(self.0)
    }
    fn reaches(&self, gateway: &Gateway, within: Duration) -> Result<(), String> {
        reaches(self.0, gateway, within)
    }
    fn addresses(&self) -> Result<std::collections::BTreeSet<IpAddr>, String> {
        addresses(self.0)
    }
    fn resolves(&self, _: &str, _: Duration) -> Result<(), String> {
        Err("no name server here".into())
    }
}

fn names(net: &Handle) -> Vec<String> {
    let mut names: Vec<String> =
        net.links().unwrap().iter().map(|link| link.name.to_string()).collect();
    names.sort();
    names
}

fn apply(lab: &Lab, desired: &Value) -> Result<(), String> {
    let around = Around(&lab.net);
    let settings = Settings { timeout: Duration::from_secs(1), ..Settings::default() };
    let expected = beforehand(&settings, &["192.0.2.10".parse().unwrap()], &around);
    let network: &dyn NodeNetwork = &lab.node;
    network.apply(desired, &|| expected.check(&around)).map_err(|error| error.to_string())
}

#[test]
fn what_cuts_the_node_off_is_taken_back() {
    let Some(lab) = lab() else { return };
    let fine =
        json!({"interfaces": [{"name": "enp6s0", "type": "ethernet", "state": "up", "mtu": 1400}]});
    apply(&lab, &fine).unwrap();
    assert!(!NodeNetwork::drift(&lab.node, &fine).unwrap());
    let cases = [
        (
            "address",
            json!({"interfaces": [{"name": "enp1s0", "type": "ethernet", "state": "up", "ipv4": {"enabled": false}}]}),
        ),
        (
            "gateway",
            json!({"routes": {"config": [{"state": "absent", "destination": "0.0.0.0/0", "next-hop-interface": "enp1s0"}]}}),
        ),
        (
            "address",
            json!({"interfaces": [{"name": "enp1s0", "type": "ethernet", "state": "down"}]}),
        ),
    ];
    for (probe, desired) in cases {
        let begin = std::time::Instant::now();
        let error = apply(&lab, &desired).unwrap_err();
        let expected = format!("rolling back desired state configuration: probe failed: {probe}:");
        assert!(error.starts_with(&expected), "{desired}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
        let around = Around(&lab.net);
        assert_eq!(around.gateways().unwrap().len(), 1, "{desired}");
        assert_eq!(around.reaches(&around.gateways().unwrap()[0], Duration::from_secs(2)), Ok(()));
    }
    let wrong = json!({"interfaces": [{"name": "enp6s0", "type": "ethernet", "mut": 1400}]});
    let error = lab.node_error(&wrong);
    assert!(!error.retry, "{error}");
}

impl Lab {
    fn node_error(&self, desired: &Value) -> landbridge_agent::policy::ApplyError {
        let network: &dyn NodeNetwork = &self.node;
        network.apply(desired, &|| Ok(())).unwrap_err()
    }
}

#[test]
fn a_host_gets_what_its_ipset_says_and_loses_what_it_no_longer_says() {
    let Some(lab) = lab() else { return };
    let network: &dyn NodeNetwork = &lab.node;
    let ipset = |networks: &[&str]| -> IPSet {
        let all = BTreeMap::from([
            (
                "CtlPlane",
                json!({"network": "CtlPlane", "subnet": "s1", "address": "192.168.122.100", "cidr": "192.168.122.0/24", "gateway": "192.168.122.1", "mtu": 1500, "dnsDomain": "ctlplane.example.com"}),
            ),
            (
                "InternalApi",
                json!({"network": "InternalApi", "subnet": "s1", "address": "172.17.0.100", "cidr": "172.17.0.0/24", "mtu": 1500, "vlan": 20,
                "routes": [{"destination": "10.9.0.0/16", "nexthop": "172.17.0.1"}]}),
            ),
            (
                "Tenant",
                json!({"network": "Tenant", "subnet": "s1", "address": "fd00:20::100", "cidr": "fd00:20::/64", "mtu": 1500, "vlan": 22}),
            ),
        ]);
        let reservations: Vec<&Value> = networks.iter().map(|name| &all[name]).collect();
        serde_json::from_value(json!({"apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
            "metadata": {"name": "a"}, "spec": {"networks": []}, "status": {"reservations": reservations}}))
        .unwrap()
    };
    let settings = HostSettings {
        nameservers: vec!["192.168.122.80".parse().unwrap()],
        ..HostSettings::default()
    };
    let mut made = Made::default();
    let trunk = choose_trunk(&network.show().unwrap()).unwrap();
    assert_eq!(trunk, "enp6s0");
    let before = lab.net.addresses().unwrap().len();
    for (step, names_then) in [
        (
            &["CtlPlane", "InternalApi", "Tenant"][..],
            &["enp1s0", "enp6s0", "enp6s0.20", "enp6s0.22", "lo"][..],
        ),
        (&["CtlPlane", "Tenant"], &["enp1s0", "enp6s0", "enp6s0.22", "lo"]),
        (&["InternalApi"], &["enp1s0", "enp6s0", "enp6s0.20", "lo"]),
        (&[], &["enp1s0", "enp6s0", "lo"]),
    ] {
        let wish = if step.is_empty() {
            Wanted::default()
        } else {
            wanted(&ipset(step), &settings, &trunk).unwrap()
        };
        let composed = compose(&wish, &made, &network.show().unwrap()).unwrap();
        network
            .apply(&composed.desired, &|| Ok(()))
            .unwrap_or_else(|e| panic!("{step:?}: {e}\n{:#}", composed.desired));
        made = composed.made;
        assert_eq!(names(&lab.net), names_then, "{step:?}");
        let there = addresses_all(&lab.net);
        for (name, address) in [
            ("CtlPlane", "192.168.122.100"),
            ("InternalApi", "172.17.0.100"),
            ("Tenant", "fd00:20::100"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(there.contains(&address), step.contains(&name), "{step:?}: {address}");
        }
        assert!(there.contains(&"192.0.2.10".parse().unwrap()), "not ours");
        let again = compose(&wish, &made, &network.show().unwrap()).unwrap();
        assert!(!network.drift(&again.desired).unwrap(), "{step:?}: it is so already");
    }
    let after = lab.net.addresses().unwrap();
    assert_eq!(after.len(), before, "{after:?}");
    let _ = &lab.router;
}

fn addresses_all(net: &Handle) -> Vec<IpAddr> {
    net.addresses().unwrap().iter().map(|address| address.net.addr()).collect()
}
