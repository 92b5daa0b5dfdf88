use landbridge_addr::net::Range;
use landbridge_addr::{RangeIndex, collisions, overlaps};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::universe::{everything, families, range};

/// Now and then one that spans everything.
fn wide() -> impl Strategy<Value = Range> {
    prop_oneof![8 => range(), 1 => (0..2_usize).prop_map(|family| families()[family])]
}

fn labelled(ranges: &[Range]) -> impl Iterator<Item = (Range, usize)> {
    ranges.iter().copied().enumerate().map(|(label, range)| (range, label))
}

proptest! {
    #[test]
    fn collisions_are_the_quadratic_answer(ranges in vec(wide(), 0..40)) {
        let mut found: Vec<_> = collisions(labelled(&ranges)).collect();
        for (a, b, shared) in &found {
            prop_assert!((ranges[*a], *a) < (ranges[*b], *b), "the one that sorts first is first");
            prop_assert_eq!(Some(*shared), ranges[*a].intersect(&ranges[*b]));
        }
        let mut expected = Vec::new();
        for (a, one) in ranges.iter().enumerate() {
            for (b, other) in ranges.iter().enumerate().skip(a + 1) {
                if one.contains(other.first()) || other.contains(one.first()) {
                    expected.push((a, b));
                }
            }
        }
        let mut pairs: Vec<_> = found.drain(..).map(|(a, b, _)| (a.min(b), a.max(b))).collect();
        pairs.sort_unstable();
        prop_assert_eq!(pairs, expected);
    }

    #[test]
    fn overlaps_name_each_range_that_meets_an_earlier_one(ranges in vec(wide(), 0..40)) {
        let mut named: Vec<_> = overlaps(labelled(&ranges)).into_iter().map(|(_, b)| b).collect();
        let mut expected: Vec<_> = collisions(labelled(&ranges)).map(|(_, b, _)| b).collect();
        named.sort_unstable();
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(named, expected);
    }

    #[test]
    fn an_index_finds_what_a_list_finds(ranges in vec(wide(), 0..60), asked in wide()) {
        let mut sorted: Vec<_> = labelled(&ranges).collect();
        sorted.sort_unstable();
        let index: RangeIndex<usize> = labelled(&ranges).collect();
        prop_assert!(index.iter().map(|(range, label)| (range, *label)).eq(sorted.iter().copied()));
        for asked in everything().map(Range::from).chain([asked]) {
            let found: Vec<_> =
                index.intersecting(asked).map(|(range, label)| (range, *label)).collect();
            let meets = |range: &Range| range.intersect(&asked).is_some();
            let expected: Vec<_> =
                sorted.iter().copied().filter(|(range, _)| meets(range)).collect();
            prop_assert_eq!(found, expected, "{}", asked);
        }
        for address in everything() {
            let held = index.holding(address).count();
            prop_assert_eq!(held, ranges.iter().filter(|range| range.contains(address)).count());
        }
    }
}
