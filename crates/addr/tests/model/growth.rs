//! Patterns made to be expensive. Each is a million steps or so that take a second or two; done
//! with a scan per step they would take an hour. The bound is far from both: it tells growth, not
//! speed.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::{address, number};
use landbridge_addr::{Pool, RangeIndex, RangeSet, Skip, collisions};

const BOUND: Duration = Duration::from_mins(1);

/// Passes the steps on and fails as soon as they take too long, rather than hours later.
fn bounded<T>(steps: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let start = Instant::now();
    steps.enumerate().map(move |(done, step)| {
        assert!(done % 1024 != 0 || start.elapsed() < BOUND, "{done} steps took {BOUND:?}");
        step
    })
}

fn range(text: &str) -> Range {
    text.parse().unwrap()
}

fn v4(number: u128) -> IpAddr {
    address(Family::V4, number).unwrap()
}

#[test]
fn a_pool_with_nothing_left_but_skipped_addresses() {
    let all = range("10.0.0.0/13");
    let mut pool = Pool::new(&[all], RangeSet::new(), Skip::Upstream);
    let first = number(all.first());
    // Every other address first, so that all there is are single free addresses; then the rest.
    let odd = (1..all.len()).step_by(2);
    let even = (2..all.len()).step_by(2).filter(|offset| offset % 256 != 0);
    let shredding = odd.chain(even);
    for offset in bounded(shredding.clone()) {
        assert!(pool.take(v4(first + offset)));
    }
    assert_eq!((pool.free(), pool.lowest()), (0, None));
    // The highest goes back and forth: what lies before it must not be searched.
    for _ in bounded(0..100_000) {
        assert!(pool.release(all.last()));
        assert_eq!(pool.lowest(), Some(all.last()));
        assert!(pool.take(all.last()));
    }
    for offset in bounded(shredding) {
        assert!(pool.release(v4(first + offset)));
    }
    assert_eq!((pool.free(), pool.lowest()), (pool.capacity(), Some(v4(first + 1))));
}

#[test]
fn a_pool_full_of_excluded_addresses() {
    // Every other address is excluded, each a range of its own.
    let all = range("10.0.0.0/14");
    let first = number(all.first());
    let excluded: RangeSet = (0..all.len()).step_by(2).map(|offset| v4(first + offset)).collect();
    let mut pool = Pool::new(&[all, all], excluded, Skip::Upstream);
    assert_eq!(pool.capacity(), all.len() / 2);
    let mut last = None;
    for _ in bounded(0..all.len() / 2) {
        last = pool.lowest();
        assert!(pool.take(last.unwrap()));
    }
    assert_eq!((pool.free(), last), (0, Some(all.last())));
}

#[test]
fn a_pool_of_many_ranges_over_each_other() {
    // Each range begins before all earlier ones and ends with them: one new address in each.
    let last = number(range("10.0.255.255").first());
    let ranges: Vec<_> =
        (0..65_535).map(|before| Range::new(v4(last - before), v4(last)).unwrap()).collect();
    let mut pool = Pool::new(&ranges, RangeSet::new(), Skip::Nothing);
    for before in bounded(0..65_535) {
        assert_eq!(pool.lowest(), Some(v4(last - before)));
        assert!(pool.take(v4(last - before)));
    }
    assert_eq!(pool.lowest(), None);
}

#[test]
fn a_set_in_shreds_and_whole_again() {
    let mut set: RangeSet = [range("::/0")].into_iter().collect();
    let step = 1 << 100;
    let at = |n: u128| address(Family::V6, n * step).unwrap();
    for n in bounded(0..50_000) {
        set.remove(at(n));
    }
    assert_eq!(set.ranges().count(), 50_000);
    for n in bounded(0..50_000) {
        assert!(!set.contains(at(n)));
        assert_eq!(set.gaps(range("::/0")).next(), Some(at(0).into()));
    }
    for _ in bounded(0..3) {
        let shreds = set.clone();
        set.insert(range("::/0"));
        assert_eq!(set.ranges().count(), 1);
        set = set.intersection(&shreds);
    }
    assert_eq!(set.ranges().count(), 50_000);
}

#[test]
fn a_search_among_many_ranges() {
    let apart = (0..100_000_u128).map(|n| (Range::from(v4(n * 7)), n));
    let wide = (range("0.0.0.0/0"), u128::MAX);
    let index: RangeIndex<u128> = apart.clone().chain([wide]).collect();
    for n in bounded(0..100_000) {
        let found: Vec<_> = index.holding(v4(n * 7)).map(|(_, label)| *label).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(index.holding(v4(n * 7 + 1)).count(), 1, "only the wide one");
    }
    assert_eq!(bounded(collisions(apart.chain([wide]))).count(), 100_000);
}
