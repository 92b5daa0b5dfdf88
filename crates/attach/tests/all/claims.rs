//! Pods and IPSets on one wire: what one has the other does not get.

use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_attach::objects::fake::{FakeObjects, Fault};
use landbridge_attach::objects::{Definition, Objects};
use landbridge_attach::reconcile::{GRACE, Reconciler};
use landbridge_attach::whereabouts::Whereabouts;
use landbridge_cni::environment::Command;
use landbridge_cni::whereabouts::{Allocation, PoolSpec};
use serde_json::{Value, json};

use crate::support::{
    INTERNALAPI, Node, asking, claims, cluster, environment, free_ipset, give_ipset, input, ips,
    netconfig, owned, pod, whereabouts,
};

fn seed() -> Value {
    json!({"type": "whereabouts", "range": "172.17.0.0/24", "range_start": "172.17.0.30",
           "range_end": "172.17.0.33", "landbridge.dev/definition": "openstack/internalapi"})
}

/// A cluster with the seed's NetConfig.
fn site() -> (Arc<FakeObjects>, Arc<dyn Objects>) {
    let (fake, objects) = cluster();
    fake.state().netconfigs = vec![netconfig("172.17.0.0/24", 20)];
    (fake, objects)
}

fn add(plugin: &Whereabouts, container: &str, podref: &str) -> String {
    let call = environment(Command::Add, container, podref, "net1");
    plugin.add(&input(&seed()), &call).map_or_else(|e| e.to_string(), |r| ips(&r).join(" "))
}

fn del(plugin: &Whereabouts, container: &str, podref: &str) {
    let call = environment(Command::Del, container, podref, "net1");
    plugin.del(&input(&seed()), &call).unwrap();
}

fn held(fake: &FakeObjects) -> Vec<String> {
    claims(fake).iter().map(|(address, holder)| format!("{address} {holder}")).collect()
}

#[test]
fn an_address_of_a_netconfig_is_claimed_first_and_freed_last() {
    let (fake, objects) = site();
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c1", "openstack/glance-0"), "172.17.0.30/24");
    {
        let state = fake.state();
        let claim = &state.blocks["vlan-20.172.17.0.0"].claims[&"172.17.0.30".parse().unwrap()];
        let told = [&claim.kind, &claim.namespace, &claim.name, &claim.uid, &claim.attachment];
        assert_eq!(told, ["Pod", "openstack", "glance-0", "uid-glance-0", "net1"]);
        assert_eq!(claim.source, "NetworkAttachmentDefinition openstack/internalapi");
        assert_eq!(claim.instance, "c1");
        let place = |name| state.calls.iter().position(|call| *call == name).unwrap();
        assert!(place("create_block") < place("patch_pool"), "{:?}", state.calls);
    }
    del(&plugin, "c0", "openstack/glance-0");
    assert_eq!(held(&fake), ["172.17.0.30 Pod openstack/glance-0"], "a late DEL frees nothing");
    fake.state().calls.clear();
    del(&plugin, "c1", "openstack/glance-0");
    assert_eq!(held(&fake), [""; 0]);
    let state = fake.state();
    assert!(state.blocks.is_empty(), "an empty block goes");
    let place = |name| state.calls.iter().position(|call| *call == name).unwrap();
    assert!(place("patch_pool") < place("swap_block"), "{:?}", state.calls);
}

#[test]
fn what_an_ipset_has_is_passed_over() {
    let (fake, objects) = site();
    let (plugin, _directory) = whereabouts(&objects);
    let first = give_ipset(&fake, "172.17.0.0", "compute-0", [30, 33]).unwrap();
    assert_eq!(add(&plugin, "c1", "n/a"), "172.17.0.31/24");
    // What is seen once is not asked again, and still never given: here the block changed meanwhile.
    assert_eq!(
        give_ipset(&fake, "172.17.0.0", "compute-1", [30, 33]).unwrap().to_string(),
        "172.17.0.32"
    );
    assert_eq!(add(&plugin, "c2", "n/b"), "172.17.0.33/24");
    let why = add(&plugin, "c3", "n/c");
    assert!(why.contains("Could not allocate IP"), "{why}");
    for holder in ["172.17.0.30 IPSet openstack/compute-0", "172.17.0.31 n/a net1"] {
        assert!(why.contains(holder), "{why}");
    }
    // And when it goes it is given, although it was last seen held.
    free_ipset(&fake, first);
    assert_eq!(add(&plugin, "c3", "n/c"), "172.17.0.30/24");
    // The same pod again: the same address, now claimed for the new container.
    assert_eq!(add(&plugin, "c9", "n/a"), "172.17.0.31/24");
    del(&plugin, "c1", "n/a");
    assert_eq!(
        held(&fake),
        [
            "172.17.0.30 Pod n/c",
            "172.17.0.31 Pod n/a",
            "172.17.0.32 IPSet openstack/compute-1",
            "172.17.0.33 Pod n/b"
        ]
    );
}

#[test]
fn who_asks_for_an_ipsets_address_is_told_whose_it_is() {
    let (fake, objects) = site();
    let (plugin, _directory) = whereabouts(&objects);
    let address = give_ipset(&fake, "172.17.0.0", "compute-0", [32, 32]).unwrap();
    let call = || asking(environment(Command::Add, "c1", "n/a", "net1"), "172.17.0.32");
    let why = plugin.add(&input(&seed()), &call()).unwrap_err().to_string();
    let expected = "the requested address 172.17.0.32 is held by IPSet openstack/compute-0";
    assert!(why.contains(expected), "{why}");
    free_ipset(&fake, address);
    assert_eq!(ips(&plugin.add(&input(&seed()), &call()).unwrap()), ["172.17.0.32/24"]);
    assert_eq!(held(&fake), ["172.17.0.32 Pod n/a"]);
}

#[test]
fn without_a_netconfig_there_nothing_is_claimed_or_asked() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c1", "n/a"), "172.17.0.30/24");
    del(&plugin, "c1", "n/a");
    fake.state().netconfigs = vec![netconfig("172.99.0.0/24", 20)];
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c2", "n/b"), "172.17.0.30/24");
    let state = fake.state();
    assert!(state.blocks.is_empty());
    let asked = |call: &&&str| ["block", "blocks", "policies", "swap_block"].contains(*call);
    assert_eq!(state.calls.iter().find(asked), None);
}

#[test]
fn a_cluster_without_a_ledger_has_nobody_to_share_with() {
    let (fake, objects) = site();
    fake.state().has_no_ledger = true;
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c1", "n/a"), "172.17.0.30/24");
    del(&plugin, "c1", "n/a");
    assert!(fake.state().pools["172.17.0.0-24"].spec.allocations.is_empty());
}

#[test]
fn a_batch_is_claimed_in_one_swap() {
    let (fake, objects) = site();
    let (plugin, _directory) = whereabouts(&objects);
    let ipam =
        json!({"type": "whereabouts", "range": "172.17.0.0/24", "range_start": "172.17.0.70"});
    let ipam = &ipam;
    // The first ask takes its time; all others wait meanwhile and go together.
    fake.fail("pool", &[Fault::Slow(Duration::from_millis(300))]);
    std::thread::scope(|scope| {
        for number in 0..40 {
            let plugin = &plugin;
            scope.spawn(move || {
                let podref = format!("n/p{number}");
                let call = environment(Command::Add, &format!("c{number}"), &podref, "net1");
                plugin.add(&input(ipam), &call).unwrap();
            });
        }
    });
    assert_eq!(claims(&fake).len(), 40);
    let state = fake.state();
    let writes = state.calls.iter().filter(|c| ["swap_block", "create_block"].contains(c)).count();
    assert!(writes <= 4, "{writes} swaps for 40 claims in one block");
}

#[test]
fn sticky_addresses_keep_their_claim() {
    let (fake, objects) = site();
    {
        let mut state = fake.state();
        let definition = Definition {
            namespace: "openstack".into(),
            name: "internalapi".into(),
            annotations: [("landbridge.dev/sticky".to_owned(), "true".to_owned())].into(),
            config: INTERNALAPI.into(),
        };
        state.definitions.insert("openstack/internalapi".into(), definition);
    }
    fake.put_pod(owned(pod("openstack/db-0", "internalapi"), "StatefulSet", "db"));
    let node = Node::on(&fake, &objects);
    node.run(Command::Add, "c1", "openstack/db-0").unwrap();
    assert_eq!(held(&fake), ["172.17.0.30 Pod openstack/db-0"]);
    node.run(Command::Del, "c1", "openstack/db-0").unwrap();
    assert_eq!(held(&fake), ["172.17.0.30 Pod openstack/db-0"]);
    node.run(Command::Add, "c2", "openstack/db-0").unwrap();
    let state = fake.state();
    let claim = &state.blocks["vlan-20.172.17.0.0"].claims[&"172.17.0.30".parse().unwrap()];
    assert_eq!((claim.instance.as_str(), claim.uid.as_str()), ("c2", ""));
    assert_eq!(claim.source, "NetworkAttachmentDefinition openstack/internalapi");
}

fn record(fake: &FakeObjects, offset: &str, podref: &str) {
    let mut state = fake.state();
    let version = state.next_version();
    let pool = state.pools.entry("172.17.0.0-24".into()).or_default();
    pool.resource_version = version;
    let range = "172.17.0.0/24".to_owned();
    pool.spec = PoolSpec { range, allocations: std::mem::take(&mut pool.spec.allocations) };
    let held = Allocation { id: "c1".into(), ifname: "net1".into(), podref: podref.into() };
    pool.spec.allocations.insert(offset.into(), held);
}

#[test]
fn records_made_before_the_netconfig_are_claimed_and_doubles_told() {
    let (fake, objects) = cluster();
    fake.define("openstack", "internalapi", INTERNALAPI);
    for (offset, name) in [("30", "n/a"), ("31", "n/b")] {
        record(&fake, offset, name);
        fake.put_pod(pod(name, ""));
    }
    let mut reconciler = Reconciler::new(Arc::clone(&objects), GRACE);
    assert_eq!(reconciler.reconcile_once(Instant::now()).unwrap().claimed, 0);
    assert!(claims(&fake).is_empty());
    // The NetConfig comes, and an IPSet is faster.
    fake.state().netconfigs = vec![netconfig("172.17.0.0/24", 20)];
    give_ipset(&fake, "172.17.0.0", "compute-0", [30, 30]).unwrap();
    let report = reconciler.reconcile_once(Instant::now()).unwrap();
    assert_eq!(report.claimed, 1);
    let told = "172.17.0.30, recorded for pod n/a in IPPool 172.17.0.0-24, is held by IPSet \
                openstack/compute-0 on the same network: delete one of the two";
    assert_eq!(report.doubles, [told]);
    let expected = ["172.17.0.30 IPSet openstack/compute-0", "172.17.0.31 Pod n/b"];
    assert_eq!(held(&fake), expected);
    {
        let state = fake.state();
        let (about, event) = state.events.last().unwrap();
        assert_eq!((about.as_str(), event.reason), ("n/a", "AddressHeldTwice"));
        let claim = &state.blocks["vlan-20.172.17.0.0"].claims[&"172.17.0.31".parse().unwrap()];
        assert_eq!(claim.source, "NetworkAttachmentDefinition openstack/internalapi");
        assert_eq!((claim.uid.as_str(), claim.instance.as_str()), ("uid-b", "c1"));
    }
    let report = reconciler.reconcile_once(Instant::now()).unwrap();
    assert_eq!((report.claimed, report.doubles.len()), (0, 0), "told once, claimed once");
    // When the pod is made anew it gets out of the way.
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c2", "n/a"), "172.17.0.32/24");
}

#[test]
fn a_claim_without_a_record_is_collected_after_its_time() {
    let (fake, objects) = site();
    let (plugin, _directory) = whereabouts(&objects);
    // The node dies between the two writes.
    fake.state().calls_left = Some(6);
    assert!(add(&plugin, "c1", "n/a").contains("does not answer"));
    fake.state().calls_left = None;
    fake.state().is_away = false;
    assert_eq!(held(&fake), ["172.17.0.30 Pod n/a"], "{:?}", fake.state().calls);
    assert!(fake.state().pools.get("172.17.0.0-24").is_none_or(|p| p.spec.allocations.is_empty()));
    fake.put_pod(pod("n/b", ""));
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, "c2", "n/b"), "172.17.0.31/24");
    let mut reconciler = Reconciler::new(Arc::clone(&objects), GRACE);
    let begin = Instant::now();
    assert_eq!(reconciler.reconcile_once(begin).unwrap().waiting, 1);
    assert_eq!(held(&fake).len(), 2);
    assert_eq!(reconciler.reconcile_once(begin + GRACE).unwrap().freed.len(), 1);
    assert_eq!(held(&fake), ["172.17.0.31 Pod n/b"]);
    // What nobody can read is not judged.
    record(&fake, "40", "n/c");
    fake.state().pools.get_mut("172.17.0.0-24").unwrap().spec.range = "broken".into();
    reconciler.reconcile_once(begin + GRACE * 2).unwrap();
    reconciler.reconcile_once(begin + GRACE * 4).unwrap();
    assert_eq!(held(&fake), ["172.17.0.31 Pod n/b"]);
}
