//! What is said when objects are written one after the other.

use std::path::Path;
use std::sync::Arc;

use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use crate::support::{documents, folder};

/// All objects there are.
#[derive(Default)]
struct World(Vec<Arc<Value>>);

impl Objects for World {
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.list(kind, namespace).into_iter().find(|found| object::name(found) == name)
    }

    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let matches = |found: &&Arc<Value>| {
            object::kind(found).is_some_and(|gvk| gvk.group_kind() == *kind)
                && namespace.is_none_or(|namespace| object::namespace(found) == namespace)
        };
        self.0.iter().filter(matches).cloned().collect()
    }
}

impl World {
    /// Writes the object over the one of the same name, and returns all warnings.
    fn write(&mut self, mut object: Value) -> ApiResult<Vec<String>> {
        let kind = object::kind(&object).unwrap();
        let namespaced = kind.group != "nmstate.io";
        if namespaced && object::namespace(&object).is_empty() {
            object::set_meta(&mut object, "namespace", "openstack");
        }
        let (namespace, name) =
            (object::namespace(&object).to_owned(), object::name(&object).to_owned());
        let namespace = Some(namespace.as_str()).filter(|_| namespaced);
        let old = self.get(&kind.group_kind(), namespace, &name);
        let request = Request {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            kind: &kind,
            namespace,
            name: &name,
            old: old.as_deref(),
            user: "tester",
            dry_run: false,
            objects: self,
        };
        let mut warnings = Vec::new();
        if let Some(hooks) = landbridge_plan::hooks(&kind.group, &kind.kind) {
            warnings.extend(hooks.remark(&request, &object));
            hooks.mutate(&request, &mut object)?;
            warnings.extend(hooks.validate(&request, &object)?);
        }
        self.0.retain(|other| !old.as_ref().is_some_and(|old| Arc::ptr_eq(old, other)));
        self.0.push(Arc::new(object));
        Ok(warnings)
    }

    fn delete(&self, object: &Value) -> Vec<String> {
        let kind = object::kind(object).unwrap();
        let request = Request {
            operation: Operation::Delete,
            kind: &kind,
            namespace: Some(object::namespace(object)),
            name: object::name(object),
            old: Some(object),
            user: "tester",
            dry_run: false,
            objects: self,
        };
        landbridge_plan::hooks(&kind.group, &kind.kind).unwrap().validate(&request, object).unwrap()
    }
}

/// The objects of a folder, the NetConfig before its IPSets.
fn in_order(name: &str) -> Vec<Value> {
    let mut objects = folder(name);
    objects.sort_by_key(|object| object["kind"] != "NetConfig");
    objects
}

/// The codes of the warnings; what has none is a warning of the kind itself.
fn codes(warnings: &[String]) -> Vec<&str> {
    warnings.iter().map(|said| said.split_once(": ").unwrap().0).collect()
}

fn attachment(name: &str, first: &str, last: &str) -> Value {
    let config = json!({"cniVersion": "0.3.1", "name": name, "type": "macvlan", "master": "eth1.20",
        "ipam": {"type": "whereabouts", "range": "172.17.0.0/24", "range_start": first, "range_end": last}});
    json!({"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": "openstack"}, "spec": {"config": config.to_string()}})
}

fn netconfig() -> Value {
    json!({"apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig", "namespace": "openstack"},
        "spec": {"networks": [{"name": "internalapi", "dnsDomain": "internalapi.example.com", "mtu": 1500,
            "subnets": [{"name": "subnet1", "cidr": "172.17.0.0/24", "vlan": 20, "gateway": "172.17.0.110",
                "allocationRanges": [{"start": "172.17.0.100", "end": "172.17.0.250"}]}]}]}})
}

fn pool(addresses: &str) -> Value {
    json!({"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "internalapi", "namespace": "metallb-system"}, "spec": {"addresses": [addresses]}})
}

fn policy(interfaces: Value) -> Value {
    let mut policy = json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetworkConfigurationPolicy",
        "metadata": {"name": "osp"}, "spec": {"desiredState": {}}});
    policy["spec"]["desiredState"]["interfaces"] = interfaces;
    policy
}

#[test]
fn the_seed_is_accepted_and_its_contradictions_are_told() {
    let mut world = World::default();
    let mut said = Vec::new();
    for object in in_order("seed") {
        said.extend(world.write(object).unwrap());
    }
    for wanted in ["LB101", "LB201", "LB202", "LB203", "LB204", "LB301", "LB501"] {
        assert!(codes(&said).contains(&wanted), "{wanted} is not in {said:#?}");
    }
    let taken = "networkAttachents: taken as networkAttachments";
    assert_eq!(said.iter().filter(|line| line.ends_with(taken)).count(), 2, "{said:#?}");
    assert!(!codes(&said).contains(&"LB601"), "it was put right: {said:#?}");
    assert!(!codes(&said).contains(&"LB602"), "notes are not told: {said:#?}");
    for line in &said {
        assert!(line.len() < 250 && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_fits_is_accepted_in_silence() {
    let mut world = World::default();
    for object in in_order("reference") {
        let which = object["kind"].clone();
        assert_eq!(world.write(object).unwrap(), [""; 0], "{which}");
    }
}

#[test]
fn upstreams_samples_are_never_refused() {
    let shared = std::env::var_os("LANDBRIDGE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        |given| Path::new(&given).to_owned(),
    );
    let samples = shared.join("samples");
    if !samples.is_dir() {
        skip("upstream's samples are not here");
        return;
    }
    let mut world = World::default();
    for file in [
        "infra-operator/netconfig.yaml",
        "infra-operator/ipset.yaml",
        "infra-operator/dnsmasq.yaml",
        "infra-operator/dnsdata.yaml",
        "metallb/ipaddresspool_simple.yaml",
        "metallb/l2adv_selects_pools_by_list.yaml",
        "octavia-operator/octavia-nad.yaml",
        "octavia-operator/octavia.yaml",
        "openstack-operator/network_isolation.yaml",
        "openstack-operator/network_isolation_2023.yaml",
        "openstack-operator/network_isolation_ceph.yaml",
    ] {
        let text = std::fs::read_to_string(samples.join(file)).unwrap();
        // All in one world, each operator in a namespace of its own, each control plane as well.
        let namespace = file.rsplit_once('/').unwrap().0;
        let control_plane = namespace == "openstack-operator";
        let namespace =
            if control_plane { file.replace(['/', '.', '_'], "-") } else { namespace.into() };
        for mut object in documents(&text) {
            if object::namespace(&object).is_empty() {
                object::set_meta(&mut object, "namespace", namespace.as_str());
            }
            world.write(object).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

fn skip(why: &str) {
    use std::io::Write as _;
    if let Some(file) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        writeln!(file, "plan, admission of upstream's samples: {why}").unwrap();
    }
}

#[test]
fn a_warning_is_one_line_with_the_other_object() {
    let mut world = World::default();
    world.write(netconfig()).unwrap();
    let said = world.write(attachment("internalapi", "172.17.0.90", "172.17.0.120")).unwrap();
    assert_eq!(codes(&said), ["LB101", "LB105"], "{said:#?}");
    assert!(said[0].contains("NetConfig openstack/netconfig"), "{said:#?}");
    assert!(said[0].ends_with("; landbridge explain LB101"), "{said:#?}");
    assert!(said[1].ends_with("(NetConfig openstack/netconfig); landbridge explain LB105"));
}

#[test]
fn what_the_kind_says_comes_first_and_once() {
    let mut world = World::default();
    world.write(pool("172.17.0.80-172.17.0.105")).unwrap();
    let said = world.write(netconfig()).unwrap();
    let own = "spec.networks[0].subnets[0].allocationRanges[0]: holds the gateway 172.17.0.110; exclude it";
    assert_eq!(said[0], own);
    assert_eq!(codes(&said[1..]), ["LB101"], "{said:#?}");
}

#[test]
fn only_a_changed_spec_is_judged() {
    let mut world = World::default();
    world.write(netconfig()).unwrap();
    assert_eq!(codes(&world.write(pool("172.17.0.90-172.17.0.105")).unwrap()), ["LB101"]);
    let mut labelled = pool("172.17.0.90-172.17.0.105");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(world.write(labelled.clone()).unwrap(), [""; 0]);
    labelled["status"] = json!({"assignedIPv4": 1});
    assert_eq!(world.write(labelled.clone()).unwrap(), [""; 0]);
    assert_eq!(world.delete(&labelled), [""; 0]);
    assert_eq!(codes(&world.write(pool("172.17.0.90-172.17.0.106")).unwrap()), ["LB101"]);
    assert_eq!(world.write(pool("172.17.0.80-172.17.0.90")).unwrap(), [""; 0]);
}

#[test]
fn findings_of_others_are_theirs() {
    let mut world = World::default();
    world.write(netconfig()).unwrap();
    world.write(pool("172.17.0.90-172.17.0.105")).unwrap();
    let said = world.write(attachment("internalapi", "172.17.0.30", "172.17.0.70")).unwrap();
    assert_eq!(said, [""; 0]);
}

#[test]
fn a_policy_that_loses_interfaces_is_told() {
    let vlan = |id: u16| json!({"name": format!("eth1.{id}"), "type": "vlan", "vlan": {"base-iface": "eth1", "id": id}});
    let mut world = World::default();
    assert_eq!(world.write(policy(json!([vlan(20), vlan(21)]))).unwrap(), [""; 0]);
    let said = world.write(policy(json!([vlan(24)]))).unwrap();
    let lost =
        "LB503: policy osp is given again without eth1.20, eth1.21; landbridge explain LB503";
    assert_eq!(said, [lost]);
    assert_eq!(world.write(policy(json!([vlan(24), vlan(25)]))).unwrap(), [""; 0]);
}

/// A pool that is put where many IPSets are: some hundred are looked at, thousands are not.
#[test]
fn holders_are_looked_at_while_they_are_few() {
    for (count, told) in [(3_u8, true), (200, true), (251, false)] {
        let mut world = World::default();
        let mut wide = netconfig();
        wide["spec"]["networks"][0]["subnets"][0]["allocationRanges"] = json!([]);
        world.write(wide).unwrap();
        for i in 0..count {
            let address = format!("172.17.0.{i}");
            let meta = json!({"name": format!("node-{i}"), "namespace": "openstack"});
            let wanted =
                json!({"name": "internalapi", "subnetName": "subnet1", "fixedIP": address});
            let given = json!({"network": "internalapi", "subnet": "subnet1", "address": address});
            for (kind, spec) in [
                ("IPSet", json!({"networks": [wanted]})),
                ("Reservation", json!({"ipSetRef": {}, "reservation": {"internalapi": given}})),
            ] {
                let object = json!({"apiVersion": "network.openstack.org/v1beta1", "kind": kind,
                    "metadata": meta, "spec": spec});
                world.0.push(Arc::new(object));
            }
        }
        let said = world.write(pool("172.17.0.0-172.17.0.9")).unwrap();
        assert_eq!(codes(&said).contains(&"LB104"), told, "{count}: {said:#?}");
        assert!(said.len() <= 20);
    }
}

/// Without a policy nobody knows where an interface leads.
#[test]
fn an_advertisement_is_judged_when_the_policies_are_there() {
    let advertisement = |interface: &str| {
        json!({"apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement",
            "metadata": {"name": "l2", "namespace": "metallb-system"},
            "spec": {"ipAddressPools": ["internalapi"], "interfaces": [interface]}})
    };
    let vlan = |id: u16| json!({"name": format!("vlan{id}"), "type": "vlan", "vlan": {"base-iface": "eth1", "id": id}});
    let mut world = World::default();
    world.write(netconfig()).unwrap();
    world.write(pool("172.17.0.80-172.17.0.90")).unwrap();
    assert_eq!(world.write(advertisement("vlan21")).unwrap(), [""; 0]);
    world.write(policy(json!([vlan(20), vlan(21)]))).unwrap();
    assert_eq!(world.write(advertisement("vlan20")).unwrap(), [""; 0]);
    assert_eq!(codes(&world.write(advertisement("vlan21")).unwrap()), ["LB205"]);
}

#[test]
fn kinds_that_are_written_often_have_only_their_own_rules() {
    let mut world = World::default();
    world.write(pool("172.17.0.80-172.17.0.90")).unwrap();
    world.write(netconfig()).unwrap();
    let wanted = json!({"name": "internalapi", "subnetName": "subnet1", "fixedIP": "172.17.0.85"});
    let ipset = json!({"apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
        "metadata": {"name": "edpm-0", "namespace": "openstack"}, "spec": {"networks": [wanted]}});
    assert_eq!(world.write(ipset).unwrap(), [""; 0]);
}
