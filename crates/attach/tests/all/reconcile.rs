//! What is recorded for nobody is collected, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_attach::objects::fake::{FakeObjects, Fault};
use landbridge_attach::objects::{Objects, Pod, PodSet, Pool, Reserved, SetKind};
use landbridge_attach::reconcile::{GRACE, Reconciler};
use landbridge_cni::status::{self, NetworkStatus};
use landbridge_cni::whereabouts::{Allocation, PoolSpec, Reservation};

use crate::support::{cluster, pod};

fn told(podref: &str, ips: &[&str]) -> Pod {
    let ips = ips.iter().map(|ip| (*ip).to_owned()).collect();
    let text = status::print(&[NetworkStatus { ips, ..NetworkStatus::default() }]).unwrap();
    let mut pod = pod(podref, "");
    pod.annotations.insert(status::ANNOTATION.into(), text);
    pod
}

fn record(fake: &FakeObjects, pool: &str, range: &str, offset: &str, podref: &str) {
    let mut state = fake.state();
    let pool = state.pools.entry(pool.to_owned()).or_insert_with(|| Pool {
        resource_version: "1".into(),
        spec: PoolSpec { range: range.to_owned(), ..PoolSpec::default() },
    });
    let held = Allocation { id: "c".into(), podref: podref.into(), ifname: "net1".into() };
    pool.spec.allocations.insert(offset.to_owned(), held);
}

fn reserve(fake: &FakeObjects, name: &str, podref: &str) {
    let spec =
        Reservation { podref: podref.into(), ifname: "net1".into(), ..Reservation::default() };
    let reserved = Reserved { resource_version: "1".into(), spec };
    fake.state().reservations.insert(name.to_owned(), reserved);
}

fn left(fake: &FakeObjects) -> Vec<String> {
    let state = fake.state();
    let records = state.pools.values().flat_map(|p| p.spec.allocations.values());
    let mut found: Vec<String> = records.map(|held| held.podref.clone()).collect();
    found.extend(state.reservations.keys().cloned());
    found.sort();
    found
}

fn collect(objects: &Arc<dyn Objects>) {
    let mut reconciler = Reconciler::new(Arc::clone(objects), Duration::ZERO);
    let report = reconciler.reconcile_once(Instant::now()).unwrap();
    assert_eq!(report.failed, Vec::<String>::new());
}

#[test]
fn only_what_is_of_nobody_goes() {
    let (fake, objects) = cluster();
    let (pool, range) = ("10.0.0.0-24", "10.0.0.0/24");
    for (offset, podref) in [
        ("1", "n/live"),
        ("2", "n/gone"),
        ("3", "n/other-address"),
        ("4", "n/starting"),
        ("5", "n/lost"),
        ("6", ""),
    ] {
        record(&fake, pool, range, offset, podref);
        reserve(&fake, &format!("10.0.0.{offset}"), podref);
    }
    fake.put_pod(told("n/live", &["10.0.0.1"]));
    fake.put_pod(told("n/other-address", &["10.0.0.99"]));
    fake.put_pod(pod("n/starting", ""));
    fake.put_pod(Pod { is_lost: true, ..told("n/lost", &["10.0.0.5"]) });
    collect(&objects);
    let expected = ["", "10.0.0.1", "10.0.0.4", "10.0.0.5", "10.0.0.6", "n/live", "n/starting"];
    // The reservation of a lost pod that still says it has the address waits for the pod to go.
    assert_eq!(left(&fake), expected);
}

/// Defects 10, 11 and 14 of upstream.
#[test]
fn network_names_and_ipv6_are_read_as_they_are() {
    let (fake, objects) = cluster();
    record(&fake, "blue-net-fd00---64", "fd00::/64", "1", "n/six");
    record(&fake, "blue-net-fd00---64", "fd00::/64", "2", "n/gone");
    reserve(&fake, "blue-net-fd00--1", "n/six");
    reserve(&fake, "blue-net-fd00--2", "n/gone");
    record(&fake, "worker-0-10.0.0.0-26", "10.0.0.0/26", "7", "n/slice");
    reserve(&fake, "10.0.0.7", "n/slice");
    reserve(&fake, "10.0.0.8", "n/slice");
    reserve(&fake, "no-address-at-all", "n/gone");
    // The text of the pod is not the canonical one.
    fake.put_pod(told("n/six", &["fd00:0:0::0001"]));
    fake.put_pod(told("n/slice", &["10.0.0.7"]));
    collect(&objects);
    assert_eq!(
        left(&fake),
        ["10.0.0.7", "blue-net-fd00--1", "n/six", "n/slice", "no-address-at-all"]
    );
}

#[test]
fn orphans_wait_and_a_change_begins_anew() {
    let (fake, objects) = cluster();
    record(&fake, "10.0.0.0-24", "10.0.0.0/24", "1", "n/gone");
    let mut reconciler = Reconciler::new(Arc::clone(&objects), GRACE);
    let begin = Instant::now();
    let report = reconciler.reconcile_once(begin).unwrap();
    assert_eq!((report.freed.len(), report.waiting), (0, 1));
    // The pod is back for a moment.
    fake.put_pod(told("n/gone", &["10.0.0.1"]));
    assert_eq!(reconciler.reconcile_once(begin + GRACE).unwrap().waiting, 0);
    fake.state().pods.clear();
    assert_eq!(reconciler.reconcile_once(begin + GRACE * 2).unwrap().waiting, 1);
    assert_eq!(reconciler.reconcile_once(begin + GRACE * 3).unwrap().freed.len(), 1);
    assert!(left(&fake).is_empty());
}

#[test]
fn nothing_is_decided_on_half_a_picture() {
    let (fake, objects) = cluster();
    record(&fake, "10.0.0.0-24", "10.0.0.0/24", "1", "n/gone");
    let mut reconciler = Reconciler::new(Arc::clone(&objects), Duration::ZERO);
    for call in ["pods", "pools", "reservations", "definitions", "pod_sets", "nodes", "ipsets"] {
        fake.fail(call, &[Fault::Unreachable]);
        reconciler.reconcile_once(Instant::now()).unwrap_err();
        assert_eq!(left(&fake), ["n/gone"]);
    }
}

#[test]
fn sticky_records_go_with_their_owner() {
    let (fake, objects) = cluster();
    let config = r#"{"type":"macvlan","ipam":{"type":"whereabouts","range":"10.0.0.0/24"}}"#;
    fake.define("n", "sticky", config);
    let note = ("landbridge.dev/sticky".to_owned(), "true".to_owned());
    fake.state().definitions.get_mut("n/sticky").unwrap().annotations.extend([note]);
    for (offset, podref) in
        [("1", "n/db-0"), ("2", "n/db-1"), ("3", "n/ovn.worker-0"), ("4", "n/ovn.worker-9")]
    {
        record(&fake, "10.0.0.0-24", "10.0.0.0/24", offset, podref);
        reserve(&fake, &format!("10.0.0.{offset}"), podref);
    }
    // The same name in a pool that no sticky definition draws from.
    record(&fake, "10.1.0.0-24", "10.1.0.0/24", "1", "n/db-0");
    let set = |kind, name: &str, count| PodSet {
        kind,
        namespace: "n".into(),
        name: name.into(),
        uid: "u".into(),
        ordinals: (0, count),
        is_sticky: false,
    };
    fake.state().sets = vec![set(SetKind::Stateful, "db", 1), set(SetKind::Daemon, "ovn", 0)];
    fake.state().nodes = vec!["worker-0".into()];
    collect(&objects);
    assert_eq!(left(&fake), ["10.0.0.1", "10.0.0.3", "n/db-0", "n/ovn.worker-0"]);
    fake.state().sets.clear();
    collect(&objects);
    assert!(left(&fake).is_empty());
}

#[test]
fn ipsets_of_pods_that_are_gone_go() {
    use landbridge_api::network::{IPSet, IPSetSpec};
    let (fake, objects) = cluster();
    let make = |name: &str, podref: &str, kept: bool, ours: bool| {
        let mut ipset = IPSet::new(name, IPSetSpec::default());
        ipset.metadata.namespace = Some("n".into());
        let notes = [("landbridge.dev/pod".to_owned(), podref.to_owned())];
        ipset.metadata.annotations = Some(notes.into());
        if kept {
            let note = ("landbridge.dev/sticky".to_owned(), "DaemonSet/ovn".to_owned());
            ipset.metadata.annotations.as_mut().unwrap().extend([note]);
        }
        if ours {
            ipset.metadata.labels =
                Some([("landbridge.dev/attachment".to_owned(), String::new())].into());
        }
        objects.create_ipset(&ipset).unwrap();
    };
    make("live", "n/live", false, true);
    make("gone", "n/gone", false, true);
    make("theirs", "n/gone", false, false);
    make("kept", "n/ovn.worker-0", true, true);
    make("over", "n/ovn.worker-1", true, true);
    fake.put_pod(pod("n/live", ""));
    fake.state().nodes = vec!["worker-0".into()];
    fake.state().sets = vec![PodSet {
        kind: SetKind::Daemon,
        namespace: "n".into(),
        name: "ovn".into(),
        uid: "u".into(),
        ordinals: (0, 0),
        is_sticky: false,
    }];
    collect(&objects);
    let names: Vec<_> = fake.state().ipsets.keys().cloned().collect();
    assert_eq!(names, ["n/kept", "n/live", "n/theirs"]);
}
