//! The address plugin whereabouts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_attach::objects::Reserved;
use landbridge_attach::objects::fake::Fault;
use landbridge_attach::releases::Releases;
use landbridge_attach::whereabouts::{Limits, Whereabouts};
use landbridge_cni::Code;
use landbridge_cni::environment::Command;
use landbridge_cni::whereabouts::Reservation;
use serde_json::{Value, json};

use crate::support::{asking, cluster, environment, input, ips, whereabouts};

fn seed() -> Value {
    json!({"type": "whereabouts", "range": "172.17.0.0/24", "range_start": "172.17.0.30",
           "range_end": "172.17.0.70"})
}

fn add(plugin: &Whereabouts, ipam: &Value, container: &str, podref: &str, ifname: &str) -> String {
    let call = environment(Command::Add, container, podref, ifname);
    plugin.add(&input(ipam), &call).map_or_else(|e| e.to_string(), |r| ips(&r).join(" "))
}

fn del(plugin: &Whereabouts, ipam: &Value, container: &str, podref: &str, ifname: &str) {
    plugin.del(&input(ipam), &environment(Command::Del, container, podref, ifname)).unwrap();
}

#[test]
fn the_records_are_upstreams() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    assert_eq!(add(&plugin, &seed(), "4f0c", "openstack/glance-0", "net1"), "172.17.0.30/24");
    assert_eq!(add(&plugin, &seed(), "9ab1", "openstack/glance-1", "net1"), "172.17.0.31/24");
    {
        let state = fake.state();
        let pool = serde_json::to_value(&state.pools["172.17.0.0-24"].spec).unwrap();
        assert_eq!(
            pool,
            json!({"range": "172.17.0.0/24", "allocations": {
                "30": {"id": "4f0c", "podref": "openstack/glance-0", "ifname": "net1"},
                "31": {"id": "9ab1", "podref": "openstack/glance-1", "ifname": "net1"}}})
        );
        let reserved = &state.reservations["172.17.0.30"].spec;
        assert_eq!(
            (reserved.podref.as_str(), reserved.ifname.as_str()),
            ("openstack/glance-0", "net1")
        );
        // One patch and one reservation: that is all an ADD costs once the pool is known.
        let calls = &state.calls[state.calls.len() - 2..];
        assert_eq!(calls, ["patch_pool", "create_reservation"]);
    }
    del(&plugin, &seed(), "4f0c", "openstack/glance-0", "net1");
    del(&plugin, &seed(), "4f0c", "openstack/glance-0", "net1");
    let state = fake.state();
    assert_eq!(state.pools["172.17.0.0-24"].spec.allocations.len(), 1);
    assert!(!state.reservations.contains_key("172.17.0.30"));
}

/// Edge case 10.
#[test]
fn a_late_del_of_the_old_container_frees_nothing_of_the_new_one() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let first = add(&plugin, &seed(), "old", "n/p-0", "net1");
    assert_eq!(add(&plugin, &seed(), "new", "n/p-0", "net1"), first);
    del(&plugin, &seed(), "old", "n/p-0", "net1");
    {
        let state = fake.state();
        let held = &state.pools["172.17.0.0-24"].spec.allocations["30"];
        assert_eq!(held.id, "new");
        assert_eq!(state.reservations["172.17.0.30"].spec.containerid, "new");
    }
    // Another process knows only what is recorded.
    let (other, _directory) = whereabouts(&objects);
    del(&other, &seed(), "old", "n/p-0", "net1");
    assert_eq!(add(&other, &seed(), "c", "n/q", "net1"), "172.17.0.31/24");
    del(&other, &seed(), "new", "n/p-0", "net1");
    assert_eq!(fake.state().reservations.len(), 1);
}

#[test]
fn a_late_del_on_a_node_that_knows_only_the_old_container_takes_nothing_either() {
    let (fake, objects) = cluster();
    let (here, _directory) = whereabouts(&objects);
    let (there, _other) = whereabouts(&objects);
    add(&here, &seed(), "old", "n/p-0", "net1");
    assert_eq!(add(&there, &seed(), "new", "n/p-0", "net1"), "172.17.0.30/24");
    // What this node last saw of the pool is that the old container holds the address.
    del(&here, &seed(), "old", "n/p-0", "net1");
    let state = fake.state();
    assert_eq!(state.pools["172.17.0.0-24"].spec.allocations["30"].id, "new");
    let reserved = state.reservations.get("172.17.0.30").map(|r| r.spec.containerid.clone());
    assert_eq!(reserved.as_deref(), Some("new"));
}

/// Edge case 11.
#[test]
fn two_networks_of_one_range_share_one_pool() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let mut other = seed();
    other["range_start"] = json!("172.17.0.31");
    assert_eq!(add(&plugin, &other, "c1", "n/a", "net1"), "172.17.0.31/24");
    assert_eq!(add(&plugin, &seed(), "c2", "n/b", "net1"), "172.17.0.30/24");
    assert_eq!(add(&plugin, &seed(), "c3", "n/c", "net1"), "172.17.0.32/24");
    assert_eq!(fake.state().pools.len(), 1);
}

/// Edge case 12.
#[test]
fn excludes_may_leave_nothing() {
    let (_fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let tail = json!({"type": "whereabouts", "range": "10.0.0.0/28", "exclude": ["10.0.0.2/31", "10.0.0.4/30", "10.0.0.8/29"]});
    assert_eq!(add(&plugin, &tail, "c1", "n/a", "net1"), "10.0.0.1/28");
    let error = add(&plugin, &tail, "c2", "n/b", "net1");
    assert!(error.starts_with("error at storage engine: Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.14 / range: 10.0.0.0/28 / excludeRanges: [10.0.0.2/31 10.0.0.4/30 10.0.0.8/29]"), "{error}");
    let all = json!({"type": "whereabouts", "range": "10.1.0.0/28", "exclude": ["10.0.0.0/8"]});
    assert!(add(&plugin, &all, "c1", "n/a", "net1").contains("Could not allocate IP in range"));
}

/// Edge cases 13 and 14.
#[test]
fn host_bits_are_masked_and_a_gateway_is_an_address_like_any_other() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let ipam =
        json!({"type": "whereabouts", "range": "192.168.2.225/28", "gateway": "192.168.2.225"});
    let call = environment(Command::Add, "c1", "n/a", "net1");
    let result = plugin.add(&input(&ipam), &call).unwrap();
    assert_eq!(ips(&result), ["192.168.2.225/28"]);
    assert_eq!(result.ips[0].gateway, Some("192.168.2.225".parse().unwrap()));
    assert!(fake.state().pools.contains_key("192.168.2.224-28"));
}

#[test]
fn dual_stack_gives_one_of_each_and_frees_both() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let ipam = json!({"type": "whereabouts", "network_name": "blue",
        "ipRanges": [{"range": "10.0.0.0/24"}, {"range": "fd00::/64"}]});
    assert_eq!(add(&plugin, &ipam, "c1", "n/a", "net1"), "10.0.0.1/24 fd00::1/64");
    let names: Vec<_> = fake.state().reservations.keys().cloned().collect();
    assert_eq!(names, ["blue-10.0.0.1", "blue-fd00--1"]);
    // Upstream stops at the first range that does not know the container.
    fake.state().pools.get_mut("blue-10.0.0.0-24").unwrap().spec.allocations.clear();
    let (other, _directory) = whereabouts(&objects);
    del(&other, &ipam, "c1", "n/a", "net1");
    assert!(fake.state().pools["blue-fd00---64"].spec.allocations.is_empty());
}

#[test]
fn when_one_range_has_nothing_the_other_gives_back() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let ipam = json!({"type": "whereabouts",
        "ipRanges": [{"range": "10.0.0.0/24"}, {"range": "10.1.0.0/30", "exclude": ["10.1.0.0/30"]}]});
    assert!(add(&plugin, &ipam, "c1", "n/a", "net1").contains("range: 10.1.0.0/30"));
    let state = fake.state();
    assert!(state.pools["10.0.0.0-24"].spec.allocations.is_empty());
    assert!(state.reservations.is_empty());
}

#[test]
fn an_address_asked_for_is_given_exactly() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let ask = |container: &str, podref: &str, wanted: &str| {
        let call = asking(environment(Command::Add, container, podref, "net1"), wanted);
        plugin.add(&input(&seed()), &call).map_or_else(|e| e.msg, |r| ips(&r).join(" "))
    };
    // The seed's: outside of start and end, inside of the subnet.
    assert_eq!(ask("c1", "n/ovn-0", "172.17.0.20/24"), "172.17.0.20/24");
    assert_eq!(ask("c1", "n/ovn-0", "172.17.0.20/24"), "172.17.0.20/24");
    assert_eq!(
        ask("c2", "n/ovn-1", "172.17.0.20/24"),
        "error at storage engine: the requested address 172.17.0.20 is held by n/ovn-0 (net1)"
    );
    assert_eq!(
        ask("c2", "n/ovn-1", "10.0.0.1/24"),
        "the requested address 10.0.0.1 lies in none of the ranges of the network: 172.17.0.0/24"
    );
    assert_eq!(fake.state().reservations.len(), 1);
    // A reservation of another range counts, too, and leaves nothing behind.
    let spec =
        Reservation { podref: "n/other".into(), ifname: "net3".into(), ..Reservation::default() };
    objects.create_reservation("172.17.0.21", &spec).unwrap();
    assert_eq!(
        ask("c3", "n/ovn-2", "172.17.0.21/24"),
        "error at storage engine: the requested address 172.17.0.21 is held by n/other (net3)"
    );
    assert_eq!(fake.state().pools["172.17.0.0-24"].spec.allocations.len(), 1);
}

#[test]
fn what_another_range_reserved_is_passed_over() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    for last in 1..=20 {
        let spec =
            Reservation { podref: "n/x".into(), ifname: "net1".into(), ..Reservation::default() };
        objects.create_reservation(&format!("10.0.0.{last}"), &spec).unwrap();
    }
    let ipam = json!({"type": "whereabouts", "range": "10.0.0.0/24"});
    assert_eq!(add(&plugin, &ipam, "c1", "n/a", "net1"), "10.0.0.21/24");
    let state = fake.state();
    let keys: Vec<_> = state.pools["10.0.0.0-24"].spec.allocations.keys().cloned().collect();
    assert_eq!(keys, ["21"]);
    // Two tries, not one for each that is taken.
    assert_eq!(state.calls.iter().filter(|call| **call == "patch_pool").count(), 2);
}

#[test]
fn overlapping_ranges_may_be_ignored() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let mut ipam = seed();
    ipam["enable_overlapping_ranges"] = json!(false);
    assert_eq!(add(&plugin, &ipam, "c1", "n/a", "net1"), "172.17.0.30/24");
    del(&plugin, &ipam, "c1", "n/a", "net1");
    assert!(fake.state().calls.iter().all(|call| !call.contains("reservation")));
}

#[test]
fn many_that_wait_go_in_one_patch() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    add(&plugin, &seed(), "c", "n/first", "net1");
    let ipam =
        json!({"type": "whereabouts", "range": "10.0.0.0/16", "enable_overlapping_ranges": false});
    add(&plugin, &ipam, "c", "n/first", "net1");
    fake.state().calls.clear();
    fake.fail("patch_pool", &[Fault::Slow(Duration::from_millis(300))]);
    let mut given: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..60)
            .map(|n| {
                let (plugin, ipam) = (&plugin, &ipam);
                scope.spawn(move || add(plugin, ipam, &format!("c{n}"), &format!("n/p{n}"), "net1"))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    given.sort();
    given.dedup();
    assert_eq!(given.len(), 60);
    let patches = fake.state().calls.iter().filter(|call| **call == "patch_pool").count();
    assert!(patches <= 5, "{patches} patches for 60 addresses");
}

#[test]
fn conflicts_and_lost_answers_are_settled_by_reading() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    fake.fail("patch_pool", &[Fault::Conflict, Fault::AnswerLost, Fault::Unreachable]);
    fake.fail("create_reservation", &[Fault::AnswerLost]);
    fake.fail("create_pool", &[Fault::AnswerLost]);
    assert_eq!(add(&plugin, &seed(), "c1", "n/a", "net1"), "172.17.0.30/24");
    assert_eq!(fake.state().pools["172.17.0.0-24"].spec.allocations.len(), 1);
    // What another node gave meanwhile is not given again.
    let (other, _directory) = whereabouts(&objects);
    assert_eq!(add(&other, &seed(), "c2", "n/b", "net1"), "172.17.0.31/24");
    assert_eq!(add(&plugin, &seed(), "c3", "n/c", "net1"), "172.17.0.32/24");
    // And what another node freed is not taken for held.
    del(&other, &seed(), "c1", "n/a", "net1");
    assert_eq!(add(&plugin, &seed(), "c4", "n/d", "net1"), "172.17.0.30/24");
    // Nor is a record taken for granted that somebody removed.
    fake.state().pools.get_mut("172.17.0.0-24").unwrap().spec.allocations.clear();
    fake.state().reservations.clear();
    assert_eq!(add(&plugin, &seed(), "c4", "n/d", "net1"), "172.17.0.30/24");
    assert_eq!(fake.state().pools["172.17.0.0-24"].spec.allocations.len(), 1);
}

#[test]
fn an_api_that_refuses_is_told() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    fake.fail("create_pool", &[Fault::Refused]);
    assert_eq!(
        add(&plugin, &seed(), "c1", "n/a", "net1"),
        "error at storage engine: IPPool 172.17.0.0-24: the Kubernetes API refuses it: create_pool: a fault"
    );
}

#[test]
fn a_release_that_cannot_be_made_is_made_later() {
    let (fake, objects) = cluster();
    let (plugin, directory) = whereabouts(&objects);
    add(&plugin, &seed(), "c1", "n/a", "net1");
    fake.state().is_away = true;
    let begun = Instant::now();
    del(&plugin, &seed(), "c1", "n/a", "net1");
    assert!(begun.elapsed() < Duration::from_secs(3));
    let files = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(files, 1);
    fake.state().is_away = false;
    // The same process or the next one.
    let releases = Releases::new(directory.path());
    let ipams = landbridge_attach::ipams::Ipams::new(&objects, releases.clone());
    assert_eq!(releases.retry(|release| ipams.release(release)).unwrap(), 0);
    let state = fake.state();
    assert!(state.pools["172.17.0.0-24"].spec.allocations.is_empty());
    assert!(state.reservations.is_empty());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_late_release_takes_nothing_of_a_successor() {
    let (fake, objects) = cluster();
    let (plugin, directory) = whereabouts(&objects);
    add(&plugin, &seed(), "old", "n/p-0", "net1");
    fake.state().is_away = true;
    del(&plugin, &seed(), "old", "n/p-0", "net1");
    fake.state().is_away = false;
    add(&plugin, &seed(), "new", "n/p-0", "net1");
    let releases = Releases::new(directory.path());
    let ipams = landbridge_attach::ipams::Ipams::new(&objects, releases.clone());
    assert_eq!(releases.retry(|release| ipams.release(release)).unwrap(), 0);
    assert_eq!(fake.state().pools["172.17.0.0-24"].spec.allocations["30"].id, "new");
    assert_eq!(fake.state().reservations["172.17.0.30"].spec.containerid, "new");
}

#[test]
fn sticky_addresses_survive_del() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let mut ipam = seed();
    ipam["landbridge.dev/holder"] = json!({"podref": "openstack/ovn.worker-0",
        "owner": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ovn", "uid": "u"}});
    assert_eq!(add(&plugin, &ipam, "c1", "openstack/ovn-x1", "net1"), "172.17.0.30/24");
    del(&plugin, &ipam, "c1", "openstack/ovn-x1", "net1");
    assert_eq!(add(&plugin, &seed(), "c2", "openstack/other", "net1"), "172.17.0.31/24");
    assert_eq!(add(&plugin, &ipam, "c3", "openstack/ovn-x2", "net1"), "172.17.0.30/24");
    let held = fake.state().pools["172.17.0.0-24"].spec.allocations["30"].clone();
    assert_eq!((held.podref.as_str(), held.id.as_str()), ("openstack/ovn.worker-0", "c3"));
}

#[test]
fn slices_are_refused_in_words() {
    let (_fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let mut ipam = seed();
    ipam["node_slice_size"] = json!("/26");
    let call = environment(Command::Add, "c1", "n/a", "net1");
    let error = plugin.add(&input(&ipam), &call).unwrap_err();
    assert_eq!((error.msg.as_str(), error.code), ("node_slice_size is not supported", Code(2)));
}

#[test]
fn check_and_status_tell_what_is_missing() {
    let (fake, objects) = cluster();
    let (plugin, _directory) = whereabouts(&objects);
    let call = environment(Command::Check, "c1", "n/a", "net1");
    assert_eq!(
        plugin.check(&input(&seed()), &call).unwrap_err().msg,
        "IPPool 172.17.0.0-24 has no record of n/a net1 (container c1)"
    );
    add(&plugin, &seed(), "c1", "n/a", "net1");
    plugin.check(&input(&seed()), &call).unwrap();
    plugin.status(&input(&seed()), &call).unwrap();
    fake.state().is_away = true;
    assert_eq!(plugin.status(&input(&seed()), &call).unwrap_err().code, Code::NOT_AVAILABLE);
}

#[test]
fn the_flat_file_fills_in_and_may_be_absent() {
    let (_fake, objects) = cluster();
    let directory = tempfile::tempdir().unwrap();
    let flat = directory.path().join("whereabouts.conf");
    std::fs::write(&flat, r#"{"network_name": "blue", "kubernetes": {"kubeconfig": "/k"}}"#)
        .unwrap();
    let plugin = Whereabouts::new(Arc::clone(&objects), Releases::new(directory.path().join("r")))
        .with_flat_files(vec!["/nonexistent/x".into(), flat]);
    assert_eq!(add(&plugin, &seed(), "c1", "n/a", "net1"), "172.17.0.30/24");
    assert!(objects.pool("blue-172.17.0.0-24").unwrap().is_some());
}

#[test]
fn an_add_that_cannot_reach_the_api_ends_in_time_and_leaves_a_note() {
    // What is made last before nothing answers any more: the record or the reservation.
    for (reserve_last, left) in [(true, (1, 0)), (false, (0, 1))] {
        let (fake, objects) = cluster();
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { add: Duration::from_millis(300), del: Duration::from_millis(200) };
        let plugin = Whereabouts::new(Arc::clone(&objects), Releases::new(directory.path()))
            .with_limits(limits);
        fake.state().reserve_last = reserve_last;
        fake.state().calls_left = Some(4);
        let begun = Instant::now();
        let error = add(&plugin, &seed(), "c1", "n/a", "net1");
        assert!(error.contains("the Kubernetes API does not answer"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        {
            let state = fake.state();
            let records = state.pools["172.17.0.0-24"].spec.allocations.len();
            assert_eq!((records, state.reservations.len()), left);
        }
        assert_eq!(Releases::new(directory.path()).all().unwrap().len(), 1);
        fake.state().calls_left = None;
        fake.state().is_away = false;
        assert_eq!(add(&plugin, &seed(), "c2", "n/a", "net1"), "172.17.0.30/24");
        let reserved: Reserved = objects.reservation("172.17.0.30").unwrap().unwrap();
        assert_eq!(reserved.spec.containerid, "c2");
    }
}

#[test]
fn a_record_and_its_reservation_are_made_together_until_somebody_else_is_at_the_pool() {
    let (fake, objects) = cluster();
    let directory = tempfile::tempdir().unwrap();
    let plugin = Whereabouts::new(Arc::clone(&objects), Releases::new(directory.path()));
    fake.state().reserve_last = false;
    assert_eq!(add(&plugin, &seed(), "c1", "n/a", "net1"), "172.17.0.30/24");
    // Another node is faster: it has .31 in the pool before our patch comes.
    let elsewhere = Whereabouts::new(Arc::clone(&objects), Releases::new(directory.path()));
    assert_eq!(add(&elsewhere, &seed(), "c2", "n/b", "net1"), "172.17.0.31/24");
    fake.state().reservations.remove("172.17.0.31");
    fake.state().reserve_last = false;
    fake.state().calls.clear();
    assert_eq!(add(&plugin, &seed(), "c3", "n/c", "net1"), "172.17.0.32/24");
    let calls = std::mem::take(&mut fake.state().calls);
    // Reserved in vain, and given back; the second try makes one after the other.
    let wanted = [
        "create_reservation",
        "patch_pool",
        "pool",
        "patch_pool",
        "delete_reservation",
        "create_reservation",
    ];
    assert_eq!(ours(calls), wanted);
    let names: Vec<String> = objects.reservations().unwrap().into_keys().collect();
    assert_eq!(names, ["172.17.0.30", "172.17.0.32"]);
}

/// The calls that concern pools and reservations.
fn ours(calls: Vec<&'static str>) -> Vec<&'static str> {
    calls.into_iter().filter(|call| call.contains("pool") || call.contains("reserv")).collect()
}
