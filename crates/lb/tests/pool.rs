//! Who gets the next connection: case by case, and random histories beside a simple model.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use landbridge_lb::pool::{Pool, Weight};
use proptest::prelude::*;

fn backend(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, number], 80))
}

fn client(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

fn of(weights: &[(u8, Weight)]) -> BTreeMap<SocketAddr, Weight> {
    weights.iter().map(|(number, weight)| (backend(*number), *weight)).collect()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn turns_are_fair_by_weight_and_even() {
    let mut pool = Pool::default();
    pool.set(&of(&[(1, 2), (2, 1), (3, 1)]), None);
    let picks: Vec<u8> = (0..8)
        .map(|_| match pool.pick(at(0), client(1), &[]).unwrap().ip() {
            IpAddr::V4(ip) => ip.octets()[3],
            IpAddr::V6(_) => 0,
        })
        .collect();
    assert_eq!(picks, [1, 2, 3, 1, 1, 2, 3, 1]);
    pool.set(&of(&[(1, 0), (2, 1)]), None);
    assert!((0..5).all(|_| pool.pick(at(0), client(1), &[]) == Some(backend(2))), "weight 0");
}

#[test]
fn a_client_stays_for_as_long_as_the_affinity_lasts() {
    let mut pool = Pool::default();
    pool.set(&of(&[(1, 1), (2, 1)]), Some(at(10)));
    let first = pool.pick(at(0), client(1), &[]).unwrap();
    for now in [5, 14, 23] {
        pool.pick(at(now), client(2), &[]);
        assert_eq!(pool.pick(at(now), client(1), &[]), Some(first), "counted from the last");
    }
    let later: BTreeSet<_> =
        (0..4).map(|n| pool.pick(at(100 + 20 * n), client(1), &[]).unwrap()).collect();
    assert_eq!(later.len(), 2, "after that, by turns again");
}

#[test]
fn who_cannot_be_reached_is_left_out_for_longer_each_time() {
    let mut pool = Pool::default();
    pool.set(&of(&[(1, 1), (2, 1)]), Some(at(1000)));
    let with = pool.pick(at(0), client(1), &[]).unwrap();
    pool.failed(at(0), with);
    let other = pool.pick(at(0), client(1), &[with]).unwrap();
    assert_ne!(other, with);
    pool.reached(other);
    assert_eq!(pool.pick(at(0), client(1), &[]), Some(other), "the client moves on");
    let mut next = 10;
    let mut twice = |pool: &mut Pool, now: Duration| {
        next += 4; // clients that were never here
        let picks: BTreeSet<_> =
            (next..next + 4).map(|n| pool.pick(now, client(n), &[]).unwrap()).collect();
        picks.len()
    };
    assert_eq!(twice(&mut pool, Duration::from_millis(400)), 1);
    assert_eq!(twice(&mut pool, at(1)), 2, "back after a pause");
    pool.failed(at(2), with);
    assert_eq!(twice(&mut pool, Duration::from_millis(2900)), 1, "now for longer");
    pool.failed(at(3), other);
    assert!(pool.pick(at(3), client(250), &[]).is_some(), "when all are left out, all are tried");
}

#[test]
fn who_is_taken_away_drains() {
    let mut pool = Pool::default();
    pool.set(&of(&[(1, 1)]), Some(at(100)));
    assert_eq!(pool.pick(at(0), client(1), &[]), Some(backend(1)));
    pool.set(&of(&[(2, 1)]), Some(at(100)));
    assert_eq!(pool.open(backend(1)), Some(1));
    assert!(!pool.takes(backend(1)));
    assert_eq!(pool.pick(at(1), client(1), &[]), Some(backend(2)), "not even for old clients");
    pool.ended(backend(1));
    assert_eq!(pool.open(backend(1)), None);
    pool.set(&BTreeMap::new(), None);
    assert!(pool.is_empty());
    assert_eq!(pool.pick(at(1), client(1), &[]), None);
}

#[derive(Clone, Debug)]
enum Step {
    Set(Vec<u8>, bool),
    Pick(u8),
    End(usize),
    Fail(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (prop::collection::vec(1_u8..6, 0..5), any::<bool>()).prop_map(|(b, a)| Step::Set(b, a)),
        (1_u8..6).prop_map(Step::Pick),
        (1_u8..6).prop_map(Step::Pick),
        any::<usize>().prop_map(Step::End),
        any::<usize>().prop_map(Step::Fail),
        (0_u64..40).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever happens: only current backends are picked, whoever is current is picked sooner or
    /// later, counts are right, and clients stay where they are while nothing is wrong.
    #[test]
    fn histories(steps in prop::collection::vec(step(), 1..80)) {
        let mut pool = Pool::default();
        let (mut now, mut current, mut sticky) = (0, BTreeSet::new(), false);
        // After a failure affinity gives way to health, which the table of cases is about.
        let mut healthy = true;
        let mut open: Vec<SocketAddr> = Vec::new();
        let mut last: HashMap<u8, (SocketAddr, u64)> = HashMap::new();
        for step in steps {
            match step {
                Step::Set(numbers, affinity) => {
                    current = numbers.iter().map(|n| backend(*n)).collect();
                    sticky = affinity;
                    let weights = current.iter().map(|b| (*b, 1)).collect();
                    pool.set(&weights, affinity.then_some(at(30)));
                    last.retain(|_, (with, _)| affinity && current.contains(with));
                }
                Step::Pick(number) => {
                    let picked = pool.pick(at(now), client(number), &[]);
                    prop_assert_eq!(picked.is_some(), !current.is_empty());
                    if let Some(picked) = picked {
                        prop_assert!(current.contains(&picked));
                        if let Some((with, when)) = last.get(&number)
                            && healthy && sticky && now - when < 30
                        {
                            prop_assert_eq!(picked, *with);
                        }
                        if sticky {
                            last.insert(number, (picked, now));
                        }
                        open.push(picked);
                    }
                }
                Step::End(which) if !open.is_empty() => {
                    let gone = open.swap_remove(which % open.len());
                    pool.ended(gone);
                }
                Step::Fail(which) if !open.is_empty() => {
                    let gone = open.swap_remove(which % open.len());
                    pool.failed(at(now), gone);
                    // Whoever is left out loses its clients.
                    last.clear();
                    healthy = false;
                }
                Step::End(_) | Step::Fail(_) => {}
                Step::Pass(seconds) => now += seconds,
            }
            for backend in open.iter().chain(&current) {
                let count = open.iter().filter(|other| *other == backend).count();
                prop_assert_eq!(pool.open(*backend), Some(count));
            }
        }
    }
}
