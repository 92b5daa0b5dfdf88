//! Random timelines of two nodes on one cluster, and IPSets on the same wire: no address is given
//! twice, the same interface of the same pod keeps its address, and nothing is left once everything
//! is gone.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_attach::ipams::Ipams;
use landbridge_attach::objects::Objects;
use landbridge_attach::objects::fake::{FakeObjects, Fault};
use landbridge_attach::reconcile::Reconciler;
use landbridge_attach::releases::Releases;
use landbridge_attach::whereabouts::{Limits, Whereabouts};
use landbridge_cni::environment::Command;
use landbridge_cni::status::{self, NetworkStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    claims, cluster, environment, free_ipset, give_ipset, input, ips, netconfig, pod,
};

/// Two ranges that overlap; the second one is soon full.
fn ranges() -> [Value; 2] {
    [
        json!({"type": "whereabouts", "range": "10.0.0.0/28"}),
        json!({"type": "whereabouts", "range": "10.0.0.0/29"}),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    /// An ADD with a new container, and after how many calls of the cluster the node breaks off.
    Add { node: usize, pod: usize, crash: Option<usize> },
    /// The DEL of the pod's container, of the one before, or of one nobody knows.
    Del { node: usize, pod: usize, age: usize, is_away: bool },
    /// The next call of that kind goes wrong.
    Fault(&'static str, Fault),
    /// A node tries what it could not do.
    Retry(usize),
    /// An IPSet gets the lowest address nobody has, or the oldest one goes.
    IPSet { is_new: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let call = prop_oneof![
        Just("patch_pool"),
        Just("create_reservation"),
        Just("create_pool"),
        Just("pool"),
        Just("reservation"),
        Just("delete_reservation"),
        Just("replace_reservation"),
        Just("block"),
        Just("create_block"),
        Just("swap_block"),
        Just("netconfigs"),
    ];
    let fault =
        prop_oneof![Just(Fault::Conflict), Just(Fault::AnswerLost), Just(Fault::Unreachable)];
    prop_oneof![
        5 => (0..2_usize, 0..8_usize, proptest::option::weighted(0.3, 0..12_usize))
            .prop_map(|(node, pod, crash)| Step::Add { node, pod, crash }),
        4 => (0..2_usize, 0..8_usize, 0..3_usize, proptest::bool::weighted(0.3))
            .prop_map(|(node, pod, age, is_away)| Step::Del { node, pod, age, is_away }),
        3 => (call, fault).prop_map(|(call, fault)| Step::Fault(call, fault)),
        1 => (0..2_usize).prop_map(Step::Retry),
        2 => proptest::bool::weighted(0.6).prop_map(|is_new| Step::IPSet { is_new }),
    ]
}

struct Node {
    plugin: Whereabouts,
    ipams: Ipams,
    releases: Releases,
    _directory: tempfile::TempDir,
}

fn node(objects: &Arc<dyn Objects>) -> Node {
    let directory = tempfile::tempdir().unwrap();
    let releases = Releases::new(directory.path());
    let limits = Limits { add: Duration::from_millis(30), del: Duration::from_millis(30) };
    Node {
        plugin: Whereabouts::new(Arc::clone(objects), releases.clone())
            .with_limits(limits)
            .with_flat_files(Vec::new()),
        ipams: Ipams::new(objects, releases.clone()),
        releases,
        _directory: directory,
    }
}

/// Tells what the pods have, as Multus would.
fn tell(fake: &FakeObjects, podref: &str, addresses: &[String]) {
    let ips = addresses.iter().map(|net| net.split('/').next().unwrap().to_owned()).collect();
    let told = status::print(&[NetworkStatus { ips, ..NetworkStatus::default() }]).unwrap();
    let mut found = pod(podref, "");
    found.annotations.insert(status::ANNOTATION.into(), told);
    fake.put_pod(found);
}

fn heal(fake: &FakeObjects) {
    let mut state = fake.state();
    state.is_away = false;
    state.calls_left = None;
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let (fake, objects) = cluster();
    fake.state().netconfigs = vec![netconfig("10.0.0.0/24", 20)];
    let mut ipsets: Vec<IpAddr> = Vec::new();
    let mut nodes = [node(&objects), node(&objects)];
    let mut held: BTreeMap<usize, (String, Vec<String>)> = BTreeMap::new();
    let mut containers: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Fault(call, fault) => fake.fail(call, &[*fault]),
            Step::Retry(node) => {
                let node = &nodes[*node];
                node.releases.retry(|release| node.ipams.release(release)).unwrap();
            }
            Step::IPSet { is_new: true } => {
                ipsets.extend(give_ipset(&fake, "10.0.0.0", &format!("i{number}"), [1, 14]));
            }
            Step::IPSet { is_new: false } => {
                if !ipsets.is_empty() {
                    free_ipset(&fake, ipsets.remove(0));
                }
            }
            Step::Add { node: place, pod, crash } => {
                let container = format!("c{number}");
                let podref = format!("n/p{pod}");
                fake.state().calls_left = *crash;
                let call = environment(Command::Add, &container, &podref, "net1");
                let outcome = nodes[*place].plugin.add(&input(&ranges()[pod % 2]), &call);
                let crashed = fake.state().is_away;
                heal(&fake);
                containers.entry(*pod).or_default().push(container.clone());
                if let Ok(result) = outcome {
                    let given = ips(&result);
                    if let Some((_, before)) = held.get(pod) {
                        prop_assert_eq!(&given, before, "p{} lost its address", pod);
                    }
                    tell(&fake, &podref, &given);
                    held.insert(*pod, (container, given));
                } else {
                    // It may have been handed over already, or given back: the container that had
                    // it is gone in any case once a new sandbox is made.
                    held.remove(pod);
                    tell(&fake, &podref, &[]);
                }
                if crashed {
                    // The process is gone with all it knew, also what it had queued.
                    nodes[*place] = node(&objects);
                }
            }
            Step::Del { node, pod, age, is_away } => {
                let known = containers.get(pod).cloned().unwrap_or_default();
                let container =
                    known.iter().rev().nth(*age).cloned().unwrap_or_else(|| "stranger".into());
                fake.state().is_away = *is_away;
                let call = environment(Command::Del, &container, &format!("n/p{pod}"), "net1");
                nodes[*node].plugin.del(&input(&ranges()[pod % 2]), &call).unwrap();
                heal(&fake);
                if held.get(pod).is_some_and(|(holder, _)| *holder == container) {
                    held.remove(pod);
                    tell(&fake, &format!("n/p{pod}"), &[]);
                }
            }
        }
        let mut all: Vec<&String> = held.values().flat_map(|(_, ips)| ips).collect();
        let text: Vec<_> = all.iter().map(|ip| ip.split('/').next().unwrap().to_owned()).collect();
        all.clear();
        let mut text = text;
        text.extend(ipsets.iter().map(ToString::to_string));
        let mut unique = text.clone();
        unique.sort();
        unique.dedup();
        prop_assert_eq!(unique.len(), text.len(), "given twice: {:?} {:?}", held, ipsets);
        // What is held is claimed and recorded, with its reservation.
        let claimed = claims(&fake);
        let state = fake.state();
        for (pod, (container, addresses)) in &held {
            let address = addresses[0].split('/').next().unwrap();
            let claim = claimed.get(&address.parse().unwrap());
            prop_assert_eq!(claim, Some(&format!("Pod n/p{pod}")), "{}", address);
            let offset = address.rsplit('.').next().unwrap();
            let pool = ["10.0.0.0-28", "10.0.0.0-29"][pod % 2];
            let record = state.pools[pool].spec.allocations.get(offset);
            prop_assert_eq!(record.map(|r| &r.id), Some(container), "{}", address);
            let reserved = state.reservations.get(address).map(|r| r.spec.podref.clone());
            prop_assert_eq!(reserved, Some(format!("n/p{pod}")), "{}", address);
        }
    }
    // Everything that is held survives a collection; everything else goes.
    fake.state().faults.clear();
    let mut reconciler = Reconciler::new(Arc::clone(&objects), Duration::ZERO);
    // A claim that was handed to a container whose record never came goes after the record.
    for _ in 0..2 {
        let report = reconciler.reconcile_once(Instant::now()).unwrap();
        prop_assert_eq!(report.failed, Vec::<String>::new());
    }
    {
        let state = fake.state();
        let records: usize = state.pools.values().map(|p| p.spec.allocations.len()).sum();
        prop_assert_eq!((records, state.reservations.len()), (held.len(), held.len()));
    }
    let of_pods = || claims(&fake).values().filter(|holder| holder.starts_with("Pod")).count();
    prop_assert_eq!(of_pods(), held.len());
    // Late releases of containers long gone take nothing away.
    for node in &nodes {
        prop_assert_eq!(node.releases.retry(|release| node.ipams.release(release)).unwrap(), 0);
    }
    let records: usize = fake.state().pools.values().map(|p| p.spec.allocations.len()).sum();
    prop_assert_eq!((records, of_pods()), (held.len(), held.len()));
    fake.state().pods.clear();
    reconciler.reconcile_once(Instant::now()).unwrap();
    prop_assert_eq!((of_pods(), claims(&fake).len()), (0, ipsets.len()), "{:?}", claims(&fake));
    let state = fake.state();
    prop_assert!(state.reservations.is_empty(), "{:?}", state.reservations);
    prop_assert!(state.pools.values().all(|pool| pool.spec.allocations.is_empty()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_given_twice_and_nothing_leaks(steps in proptest::collection::vec(step(), 1..30)) {
        run(&steps)?;
    }
}

#[test]
fn two_nodes_at_once_with_a_faulty_cluster() {
    let (fake, objects) = cluster();
    fake.state().netconfigs = vec![netconfig("10.0.0.0/24", 20)];
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let nodes: Vec<Whereabouts> = directories
        .iter()
        .map(|directory| {
            Whereabouts::new(Arc::clone(&objects), Releases::new(directory.path()))
                .with_flat_files(Vec::new())
        })
        .collect();
    for call in ["patch_pool", "create_reservation", "pool", "reservation", "block", "swap_block"] {
        for _ in 0..10 {
            fake.fail(
                call,
                &[Fault::Conflict, Fault::AnswerLost, Fault::Slow(Duration::from_millis(3))],
            );
        }
    }
    let ipam = json!({"type": "whereabouts", "range": "10.0.0.0/24"});
    let (given, ipsets): (Vec<(String, String)>, Vec<IpAddr>) = std::thread::scope(|scope| {
        let others: Vec<_> = (0..2)
            .map(|thread| {
                let fake = &fake;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for turn in 0..40 {
                        let name = format!("i{thread}-{turn}");
                        let address = give_ipset(fake, "10.0.0.0", &name, [1, 254]).unwrap();
                        std::thread::sleep(Duration::from_millis(1));
                        if turn % 2 == 0 {
                            kept.push(address);
                        } else {
                            free_ipset(fake, address);
                        }
                    }
                    kept
                })
            })
            .collect();
        let threads: Vec<_> = (0..12_usize)
            .map(|thread| {
                let (node, ipam) = (&nodes[thread % 2], &ipam);
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for turn in 0..8 {
                        let podref = format!("n/p{thread}-{turn}");
                        let container = format!("c{thread}-{turn}");
                        let call = environment(Command::Add, &container, &podref, "net1");
                        let result = node.add(&input(ipam), &call).unwrap();
                        if turn % 2 == 0 {
                            kept.push((ips(&result)[0].clone(), podref));
                        } else {
                            let call = environment(Command::Del, &container, &podref, "net1");
                            node.del(&input(ipam), &call).unwrap();
                        }
                    }
                    kept
                })
            })
            .collect();
        let given = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        (given, others.into_iter().flat_map(|thread| thread.join().unwrap()).collect())
    });
    let plain = |ip: &String| ip.split('/').next().unwrap().parse().unwrap();
    let mut addresses: std::collections::BTreeSet<IpAddr> =
        given.iter().map(|(ip, _)| plain(ip)).collect();
    assert_eq!((given.len(), addresses.len()), (48, 48));
    addresses.extend(&ipsets);
    assert_eq!(addresses.len(), 88, "an IPSet and a pod have the same address");
    let claimed = claims(&fake);
    assert!(given.iter().all(|(ip, podref)| claimed[&plain(ip)] == format!("Pod {podref}")));
    // What a fault kept from being freed was written down.
    fake.state().faults.clear();
    let ipams = Ipams::new(&objects, Releases::new(directories[0].path()));
    for directory in &directories {
        let releases = Releases::new(directory.path());
        assert_eq!(releases.retry(|release| ipams.release(release)).unwrap(), 0);
    }
    let state = fake.state();
    assert_eq!(state.pools["10.0.0.0-24"].spec.allocations.len(), 48);
    assert_eq!(state.reservations.len(), 48);
    for (address, podref) in &given {
        let address = address.split('/').next().unwrap();
        assert_eq!(state.reservations[address].spec.podref, *podref);
    }
}
