use std::collections::BTreeSet;
use std::net::IpAddr;

use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::number;
use landbridge_addr::{Pool, RangeSet, Skip};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::universe::{everything, members, one, range};

/// The rule of upstream's allocator, word for word.
struct Model {
    ranges: Vec<Range>,
    excluded: Vec<Range>,
    skip: Skip,
    taken: BTreeSet<IpAddr>,
}

impl Model {
    fn may(&self, address: IpAddr) -> bool {
        let zeros = match Family::of(address) {
            Family::V4 => number(address).is_multiple_of(256),
            Family::V6 => number(address).is_multiple_of(65_536),
        };
        let ends = address.is_ipv4() && matches!(number(address) % 256, 0 | 255);
        self.ranges.iter().any(|range| range.contains(address))
            && !self.excluded.iter().any(|range| range.contains(address))
            && (self.skip != Skip::Upstream || !zeros)
            && (self.skip != Skip::Buggy || !ends)
    }

    fn is_free(&self, address: IpAddr) -> bool {
        self.may(address) && !self.taken.contains(&address)
    }

    fn lowest(&self) -> Option<IpAddr> {
        let mut candidates = self.ranges.iter().copied().flat_map(members);
        candidates.find(|address| self.is_free(*address))
    }
}

fn count(counts: impl Fn(IpAddr) -> bool) -> u128 {
    everything().filter(|address| counts(*address)).count() as u128
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Take(IpAddr),
    Release(IpAddr),
    TakeLowest,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => one().prop_map(Step::Take),
        2 => one().prop_map(Step::Release),
        1 => Just(Step::TakeLowest),
    ]
}

fn skip() -> impl Strategy<Value = Skip> {
    prop_oneof![3 => Just(Skip::Upstream), 1 => Just(Skip::Buggy), 1 => Just(Skip::Nothing)]
}

fn same(pool: &Pool, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(pool.lowest(), model.lowest());
    prop_assert_eq!(pool.free(), count(|address| model.is_free(address)));
    Ok(())
}

fn same_everywhere(pool: &Pool, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(pool.capacity(), count(|address| model.may(address)));
    for address in everything() {
        prop_assert_eq!(pool.contains(address), model.may(address), "{}", address);
        prop_assert_eq!(pool.is_free(address), model.is_free(address), "{}", address);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_pool_hands_out_what_upstream_would(
        ranges in vec(range(), 0..8),
        excluded in vec(range(), 0..4),
        skip in skip(),
        steps in vec(step(), 0..80),
    ) {
        let exclusion: RangeSet = excluded.iter().copied().collect();
        let mut pool = Pool::new(&ranges, exclusion.clone(), skip);
        let mut model = Model { ranges, excluded, skip, taken: BTreeSet::new() };
        same_everywhere(&pool, &model)?;
        for step in steps {
            match step {
                Step::Take(address) => {
                    prop_assert_eq!(pool.take(address), model.is_free(address));
                    model.taken.insert(address);
                }
                Step::Release(address) => {
                    let freed = model.may(address) && model.taken.contains(&address);
                    prop_assert_eq!(pool.release(address), freed);
                    model.taken.remove(&address);
                }
                Step::TakeLowest => {
                    if let Some(address) = pool.lowest() {
                        prop_assert!(pool.take(address));
                        model.taken.insert(address);
                    }
                }
            }
            same(&pool, &model)?;
        }
        same_everywhere(&pool, &model)?;
        let taken = model.taken.iter().copied();
        let rebuilt = Pool::rebuild(&model.ranges, exclusion, skip, taken);
        same_everywhere(&rebuilt, &model)?;
        same(&rebuilt, &model)?;
    }

    #[test]
    fn a_drained_pool_fills_up_again(
        ranges in vec(range(), 1..8),
        excluded in vec(one(), 0..12),
        skip in skip(),
        order in any::<u64>(),
    ) {
        let mut pool = Pool::new(&ranges, excluded.into_iter().collect(), skip);
        let mut out = Vec::new();
        while let Some(address) = pool.lowest() {
            prop_assert!(pool.take(address));
            out.push(address);
        }
        prop_assert_eq!(pool.free(), 0);
        prop_assert_eq!(pool.capacity(), out.len() as u128);
        let mut back = out.clone();
        if !back.is_empty() {
            let middle = usize::try_from(order % back.len() as u64).unwrap();
            back.rotate_left(middle);
        }
        if order % 2 == 1 {
            back.reverse();
        }
        for address in back {
            prop_assert!(pool.release(address));
        }
        prop_assert_eq!(pool.free(), pool.capacity());
        for address in out {
            prop_assert_eq!(pool.lowest(), Some(address), "same order as before");
            pool.take(address);
        }
    }
}
