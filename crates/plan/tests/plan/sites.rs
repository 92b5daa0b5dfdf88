//! Which part of the ledger an attachment's addresses, or a node's, belong to.

use landbridge_plan::{Source, all_sites, sites};
use serde_json::{Value, json};

fn netconfig(subnets: &[(&str, &str, Option<i64>)]) -> Value {
    let networks: Vec<Value> = subnets
        .iter()
        .map(|(name, cidr, vlan)| {
            let mut subnet = json!({"name": "subnet1", "cidr": cidr, "allocationRanges": []});
            if let Some(vlan) = vlan {
                subnet["vlan"] = json!(vlan);
            }
            json!({"name": name, "subnets": [subnet]})
        })
        .collect();
    json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig", "namespace": "openstack"},
        "spec": {"networks": networks},
    })
}

fn policy(name: &str, interfaces: &Value) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkConfigurationPolicy",
        "metadata": {"name": name},
        "spec": {"desiredState": {"interfaces": interfaces}},
    })
}

fn vlan(name: &str, base: &str, id: u16, address: &str) -> Value {
    json!({
        "name": name, "type": "vlan", "state": "up", "vlan": {"base-iface": base, "id": id},
        "ipv4": {"enabled": true, "address": [{"ip": address, "prefix-length": 24}]},
    })
}

fn nad(name: &str, master: &str, range: &str) -> Value {
    let mut config = json!({
        "cniVersion": "0.3.1", "name": name, "type": "macvlan",
        "ipam": {"type": "whereabouts", "range": range},
    });
    if !master.is_empty() {
        config["master"] = json!(master);
    }
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": "openstack"},
        "spec": {"config": config.to_string()},
    })
}

fn of_nad(name: &str, objects: &[Value]) -> Vec<String> {
    let sources: Vec<_> = objects.iter().enumerate().map(|(id, o)| Source::new(id, o)).collect();
    let found = sites(&sources);
    let text = |site: &landbridge_plan::Site| format!("{} {}", site.segment, site.prefix.first());
    found.of_attachment("openstack", name).iter().map(text).collect()
}

#[test]
fn an_attachment_is_where_its_interface_is() {
    let config = netconfig(&[
        ("InternalApi", "172.17.0.0/24", Some(20)),
        ("Storage", "172.18.0.0/24", Some(21)),
        ("CtlPlane", "192.168.122.0/24", None),
    ]);
    let nodes = policy(
        "worker-0",
        &json!([
            vlan("internalapi", "enp6s0", 20, "172.17.0.10"),
            vlan("storage", "enp6s0", 21, "172.18.0.10"),
            {"name": "ospbr", "type": "linux-bridge", "bridge": {"port": [{"name": "enp6s0"}]},
             "ipv4": {"enabled": true, "address": [{"ip": "192.168.122.10", "prefix-length": 24}]}},
        ]),
    );
    let cases = [
        // By the policy's interface, by a dotted name, and by the interface of a bridge.
        ("internalapi", "internalapi", "172.17.0.0/24", vec!["vlan-20 172.17.0.0"]),
        ("other", "enp6s0.20", "172.17.0.0/24", vec!["vlan-20 172.17.0.0"]),
        ("ctlplane", "ospbr", "192.168.122.0/24", vec!["net-ctlplane 192.168.122.0"]),
        // A part of the subnet, or more than it.
        ("part", "internalapi", "172.17.0.32/27", vec!["vlan-20 172.17.0.0"]),
        ("more", "internalapi", "172.16.0.0/12", vec!["vlan-20 172.17.0.0"]),
        // Known to be elsewhere, whatever the prefix.
        ("wrong", "storage", "172.17.0.0/24", vec![]),
        ("tagged", "enp6s0.30", "172.17.0.0/24", vec![]),
        // Nothing of any subnet's.
        ("own", "internalapi", "10.0.0.0/24", vec![]),
        // Nothing leads anywhere: the prefix has to do.
        ("nowhere", "eth7", "172.17.0.0/24", vec!["vlan-20 172.17.0.0"]),
        ("no-interface", "", "172.18.0.128/25", vec!["vlan-21 172.18.0.0"]),
    ];
    for (name, master, range, expected) in cases {
        let objects = [config.clone(), nodes.clone(), nad(name, master, range)];
        assert_eq!(of_nad(name, &objects), expected, "{name}");
    }
}

#[test]
fn without_policies_the_prefix_has_to_do() {
    let config = netconfig(&[("InternalApi", "172.17.0.0/24", Some(20))]);
    for master in ["internalapi", "enp6s0.20", "eth1"] {
        let objects = [config.clone(), nad("a", master, "172.17.0.32/27")];
        assert_eq!(of_nad("a", &objects), ["vlan-20 172.17.0.0"], "{master}");
    }
    // Another VLAN and a part of the prefix; with all of it, one of the VLANs is a mistake.
    let objects = |range| [config.clone(), nad("a", "enp6s0.21", range)];
    assert!(of_nad("a", &objects("172.17.0.32/27")).is_empty());
    assert_eq!(of_nad("a", &objects("172.17.0.0/24")).len(), 1);
}

#[test]
fn wires_of_its_own_are_shared_with_nobody() {
    let mut config = netconfig(&[("InternalApi", "172.17.0.0/24", Some(20))]);
    config["metadata"]["annotations"] = json!({"landbridge.dev/wires": "site2"});
    assert_eq!(all_sites(&[Source::new(0, &config)]), []);
    assert!(of_nad("a", &[config, nad("a", "enp6s0.20", "172.17.0.0/24")]).is_empty());
}

#[test]
fn interfaces_of_nodes_have_sites() {
    let config = netconfig(&[("InternalApi", "172.17.0.0/24", Some(20))]);
    let nodes = policy(
        "worker-0",
        &json!([
            vlan("internalapi", "enp6s0", 20, "172.17.0.10"),
            vlan("strange", "enp6s0", 21, "172.17.0.11"),
            vlan("other", "enp6s0", 22, "10.0.0.1"),
        ]),
    );
    let sources = [Source::new(0, &config), Source::new(1, &nodes)];
    let found = sites(&sources);
    let of = |name| found.of_interface("worker-0", name).len();
    assert_eq!((of("internalapi"), of("strange"), of("other"), of("nothere")), (1, 0, 0, 0));
}
