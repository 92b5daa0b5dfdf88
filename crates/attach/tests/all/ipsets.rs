//! The address plugin landbridge: addresses of the NetConfig.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use landbridge_api::condition::{Condition, ConditionStatus, Severity};
use landbridge_api::network::{IPSet, IPSetReservation, IPSetStatus, Route};
use landbridge_attach::ipsets::IPSets;
use landbridge_attach::objects::Objects;
use landbridge_attach::objects::fake::FakeObjects;
use landbridge_attach::releases::Releases;
use landbridge_cni::environment::Command;
use landbridge_cni::{CniResult, Code};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{asking, cluster, environment, input, ips};

fn ready(is_ready: bool, message: &str) -> Condition {
    Condition {
        type_: "Ready".into(),
        status: if is_ready { ConditionStatus::True } else { ConditionStatus::False },
        severity: Severity::None,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        reason: String::new(),
        message: message.into(),
    }
}

/// Answers as the address controller would: .100, or what is asked for.
fn answer(ipset: &IPSet) -> Option<IPSetStatus> {
    let wanted = ipset.spec.networks.first()?;
    let (address, cidr, gateway) = match wanted.subnet_name.as_str() {
        "v6" => ("fd00::100", "fd00::/64", None),
        _ => ("172.17.0.100", "172.17.0.0/24", Some("172.17.0.1".to_owned())),
    };
    Some(IPSetStatus {
        reservations: vec![IPSetReservation {
            network: wanted.name.clone(),
            subnet: wanted.subnet_name.clone(),
            address: wanted.fixed_ip.clone().unwrap_or_else(|| address.to_owned()),
            cidr: Some(cidr.to_owned()),
            gateway,
            routes: vec![Route { destination: "10.9.0.0/16".into(), nexthop: "172.17.0.9".into() }],
            ..IPSetReservation::default()
        }],
        conditions: vec![ready(true, "Setup complete")],
        observed_generation: None,
    })
}

fn plugin() -> (Arc<FakeObjects>, Arc<dyn Objects>, IPSets, TempDir) {
    let (fake, objects) = cluster();
    fake.state().answer = Some(Box::new(answer));
    let directory = tempfile::tempdir().unwrap();
    let plugin = IPSets::new(Arc::clone(&objects), Releases::new(directory.path()))
        .with_wait(Duration::from_millis(300));
    (fake, objects, plugin, directory)
}

fn section() -> Value {
    json!({"type": "landbridge", "network": "internalapi", "subnet": "subnet1"})
}

fn add(plugin: &IPSets, ipam: &Value, container: &str, podref: &str) -> CniResult {
    plugin.add(&input(ipam), &environment(Command::Add, container, podref, "net1")).unwrap()
}

fn del(plugin: &IPSets, ipam: &Value, container: &str, podref: &str) {
    plugin.del(&input(ipam), &environment(Command::Del, container, podref, "net1")).unwrap();
}

#[test]
fn a_pod_gets_the_address_of_its_ipset() {
    let (fake, _objects, plugin, _directory) = plugin();
    let result = add(&plugin, &section(), "c1", "openstack/ovn-0");
    assert_eq!(ips(&result), ["172.17.0.100/24"]);
    assert_eq!(result.ips[0].gateway, Some("172.17.0.1".parse().unwrap()));
    assert_eq!(result.routes.len(), 1);
    {
        let state = fake.state();
        let made = &state.ipsets["openstack/ovn-0.net1"];
        let owner = &made.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Pod", "uid-ovn-0"));
        assert_eq!(made.spec.networks[0].name, "internalapi");
    }
    plugin
        .check(&input(&section()), &environment(Command::Check, "c1", "openstack/ovn-0", "net1"))
        .unwrap();
    del(&plugin, &section(), "c1", "openstack/ovn-0");
    assert!(fake.state().ipsets.is_empty());
    del(&plugin, &section(), "c1", "openstack/ovn-0");
    plugin
        .check(&input(&section()), &environment(Command::Check, "c1", "openstack/ovn-0", "net1"))
        .unwrap_err();
}

#[test]
fn a_default_route_is_made_on_demand() {
    let (_fake, _objects, plugin, _directory) = plugin();
    let mut ipam = section();
    ipam["defaultRoute"] = json!(true);
    let result = add(&plugin, &ipam, "c1", "n/p");
    assert!(result.routes.iter().any(landbridge_cni::result::Route::is_default));
}

#[test]
fn dual_stack_is_two_subnets_and_wishes_find_theirs() {
    let (fake, _objects, plugin, _directory) = plugin();
    fake.state().prefixes = [("v4", "172.17.0.0/24"), ("v6", "fd00::/64")]
        .map(|(name, prefix)| (name.to_owned(), prefix.parse().unwrap()))
        .into();
    let ipam = json!({"type": "landbridge", "network": "internalapi", "subnets": ["v4", "v6"]});
    assert_eq!(ips(&add(&plugin, &ipam, "c1", "n/p")), ["172.17.0.100/24", "fd00::100/64"]);
    del(&plugin, &ipam, "c1", "n/p");
    assert!(fake.state().ipsets.is_empty());
    let call = asking(environment(Command::Add, "c2", "n/q", "net1"), "fd00::7/64");
    assert_eq!(ips(&plugin.add(&input(&ipam), &call).unwrap()), ["172.17.0.100/24", "fd00::7/64"]);
    let call = asking(environment(Command::Add, "c3", "n/r", "net1"), "10.0.0.1/8");
    assert_eq!(
        plugin.add(&input(&ipam), &call).unwrap_err().msg,
        "the requested address 10.0.0.1 finds no subnet of network internalapi: each of v4, v6 \
         gives one address"
    );
}

#[test]
fn an_address_asked_for_becomes_fixed() {
    let (fake, _objects, plugin, _directory) = plugin();
    let call = asking(environment(Command::Add, "c1", "n/p", "net1"), "172.17.0.20/24");
    assert_eq!(ips(&plugin.add(&input(&section()), &call).unwrap()), ["172.17.0.20/24"]);
    let fixed = fake.state().ipsets["n/p.net1"].spec.networks[0].fixed_ip.clone();
    assert_eq!(fixed.as_deref(), Some("172.17.0.20"));
}

#[test]
fn an_ipset_that_is_not_ready_says_why_and_leaves_nothing() {
    let (fake, _objects, plugin, _directory) = plugin();
    fake.state().answer = Some(Box::new(|_| {
        let conditions = vec![ready(false, "subnet1 has no free address left")];
        Some(IPSetStatus { conditions, ..IPSetStatus::default() })
    }));
    let begun = Instant::now();
    let call = environment(Command::Add, "c1", "n/p", "net1");
    let error = plugin.add(&input(&section()), &call).unwrap_err();
    assert_eq!(error.msg, "IPSet n/p.net1 is not Ready: subnet1 has no free address left");
    assert_eq!(error.code, Code::TRY_AGAIN);
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert!(fake.state().ipsets.is_empty());
    fake.state().answer = None;
    let error = plugin.add(&input(&section()), &call).unwrap_err();
    assert_eq!(
        error.msg,
        "IPSet n/p.net1 is not Ready: nobody has answered it: does the address controller run?"
    );
}

#[test]
fn a_late_del_takes_nothing_of_the_new_container() {
    let (fake, _objects, plugin, _directory) = plugin();
    add(&plugin, &section(), "old", "n/p-0");
    add(&plugin, &section(), "new", "n/p-0");
    del(&plugin, &section(), "old", "n/p-0");
    assert!(fake.state().ipsets.contains_key("n/p-0.net1"));
    del(&plugin, &section(), "new", "n/p-0");
    assert!(fake.state().ipsets.is_empty());
}

#[test]
fn sticky_addresses_belong_to_the_set() {
    let (fake, _objects, plugin, _directory) = plugin();
    let mut ipam = section();
    ipam["landbridge.dev/holder"] = json!({"podref": "openstack/ovn.worker-0",
        "owner": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ovn", "uid": "u"}});
    add(&plugin, &ipam, "c1", "openstack/ovn-x1");
    del(&plugin, &ipam, "c1", "openstack/ovn-x1");
    let state = fake.state();
    let kept = &state.ipsets["openstack/ovn.worker-0.net1"];
    assert_eq!(kept.metadata.owner_references.as_ref().unwrap()[0].kind, "DaemonSet");
}

#[test]
fn somebody_elses_ipset_is_left_alone() {
    let (fake, objects, plugin, _directory) = plugin();
    let mut foreign = IPSet::new("p.net1", landbridge_api::network::IPSetSpec::default());
    foreign.metadata.namespace = Some("n".into());
    objects.create_ipset(&foreign).unwrap_or_else(|error| panic!("{error}"));
    let call = environment(Command::Add, "c1", "n/p", "net1");
    let error = plugin.add(&input(&section()), &call).unwrap_err();
    assert_eq!(
        error.msg,
        "IPSet n/p.net1 is there already and is not the one of n/p net1: rename or delete it"
    );
    del(&plugin, &section(), "c1", "n/p");
    assert_eq!(fake.state().ipsets.len(), 1);
}

#[test]
fn a_release_that_cannot_be_made_is_made_later() {
    let (fake, objects, plugin, directory) = plugin();
    add(&plugin, &section(), "c1", "n/p");
    fake.state().is_away = true;
    del(&plugin, &section(), "c1", "n/p");
    fake.state().is_away = false;
    let releases = Releases::new(directory.path());
    let ipams = landbridge_attach::ipams::Ipams::new(&objects, releases.clone());
    assert_eq!(releases.retry(|release| ipams.release(release)).unwrap(), 0);
    assert!(fake.state().ipsets.is_empty());
}

#[test]
fn bad_sections_are_refused() {
    let (_fake, _objects, plugin, _directory) = plugin();
    let call = environment(Command::Add, "c1", "n/p", "net1");
    let text = |ipam: Value| plugin.add(&input(&ipam), &call).unwrap_err().msg;
    let missing =
        "the IPAM section needs \"network\" and \"subnet\" (or \"subnets\") of the NetConfig";
    assert_eq!(text(json!({"type": "landbridge"})), missing);
    assert_eq!(text(json!({"type": "landbridge", "network": "x"})), missing);
    let wrong = text(json!({"type": "landbridge", "network": 3, "subnet": "s"}));
    assert!(wrong.starts_with("the IPAM section cannot be read: invalid type"), "{wrong}");
}
