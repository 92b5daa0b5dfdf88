//! A set of numbers, kept as the intervals it consists of.
//!
//! Invariants: no two intervals overlap or touch, so a set has one form only and an interval found
//! at a number is the whole of it; `count` is the sum of their lengths.
//!
//! Each operation looks up one place in the tree and then touches only the intervals it changes or
//! yields.

use std::collections::BTreeMap;

use crate::count::Count;

/// The numbers from the first to the last, both included.
pub(crate) type Interval = (u128, u128);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intervals {
    /// The last number of each interval by its first.
    by_first: BTreeMap<u128, u128>,
    count: Count,
}

impl Intervals {
    /// Adds all of the interval.
    pub(crate) fn insert(&mut self, (mut first, mut last): Interval) {
        // One that begins earlier and reaches this one, or ends right before it.
        if let Some((f, l)) = self.at_or_before(first)
            && l >= first.saturating_sub(1)
        {
            if l >= last {
                return;
            }
            first = f;
        }
        while let Some((f, l)) = self.starting_in(first, last.saturating_add(1)) {
            self.drop_whole((f, l));
            last = last.max(l);
        }
        self.keep((first, last));
    }

    /// Takes out all of the interval.
    pub(crate) fn remove(&mut self, (first, last): Interval) {
        if let Some((f, l)) = self.covering(first) {
            self.drop_whole((f, l));
            if f < first {
                self.keep((f, first - 1));
            }
            if l > last {
                self.keep((last + 1, l));
            }
        }
        while let Some((f, l)) = self.starting_in(first, last) {
            self.drop_whole((f, l));
            if l > last {
                self.keep((last + 1, l));
            }
        }
    }

    /// The interval that holds the number.
    pub(crate) fn covering(&self, number: u128) -> Option<Interval> {
        self.at_or_before(number).filter(|(_, last)| *last >= number)
    }

    /// The smallest member that is not below the number.
    pub(crate) fn first_at_or_after(&self, number: u128) -> Option<u128> {
        if self.covering(number).is_some() {
            return Some(number);
        }
        self.by_first.range(number..).next().map(|(first, _)| *first)
    }

    /// The intervals, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Interval> {
        self.by_first.iter().map(|(first, last)| (*first, *last))
    }

    /// What the set holds of an interval, in order.
    pub(crate) fn within(&self, (first, last): Interval) -> impl Iterator<Item = Interval> {
        let from = self.covering(first).map_or(first, |(f, _)| f);
        self.by_first.range(from..=last).map(move |(f, l)| ((*f).max(first), (*l).min(last)))
    }

    /// What the set does not hold of an interval, in order.
    pub(crate) fn gaps(&self, (first, last): Interval) -> impl Iterator<Item = Interval> {
        let mut held = self.within((first, last));
        // Where the next gap can begin; `None` when there is nothing left.
        let mut next = Some(first);
        std::iter::from_fn(move || {
            loop {
                let from = next.filter(|from| *from <= last)?;
                let Some((f, l)) = held.next() else {
                    next = None;
                    return Some((from, last));
                };
                next = l.checked_add(1);
                if from < f {
                    return Some((from, f - 1));
                }
            }
        })
    }

    /// How many numbers.
    pub(crate) fn count(&self) -> Count {
        self.count
    }

    /// How many intervals.
    pub(crate) fn pieces(&self) -> usize {
        self.by_first.len()
    }

    /// The last interval that begins no later than the number.
    fn at_or_before(&self, number: u128) -> Option<Interval> {
        self.by_first.range(..=number).next_back().map(|(first, last)| (*first, *last))
    }

    /// The first interval that begins between the two.
    fn starting_in(&self, from: u128, to: u128) -> Option<Interval> {
        self.by_first.range(from..=to).next().map(|(first, last)| (*first, *last))
    }

    fn keep(&mut self, (first, last): Interval) {
        self.by_first.insert(first, last);
        self.count += Count::span(first, last);
    }

    fn drop_whole(&mut self, (first, last): Interval) {
        self.by_first.remove(&first);
        self.count -= Count::span(first, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u128 = u128::MAX;

    fn set(intervals: &[Interval]) -> Intervals {
        let mut set = Intervals::default();
        for interval in intervals {
            set.insert(*interval);
        }
        set
    }

    #[test]
    fn what_touches_becomes_one() {
        type Case<'a> = (&'a [Interval], &'a [Interval]);
        let cases: [Case<'_>; 9] = [
            (&[(5, 9), (1, 3)], &[(1, 3), (5, 9)]),
            (&[(5, 9), (1, 4)], &[(1, 9)]),
            (&[(1, 4), (5, 9)], &[(1, 9)]),
            (&[(1, 2), (4, 5), (7, 8), (2, 7)], &[(1, 8)]),
            (&[(1, 2), (4, 5), (7, 8), (0, 9)], &[(0, 9)]),
            (&[(1, 9), (3, 4)], &[(1, 9)]),
            (&[(0, 0), (MAX, MAX)], &[(0, 0), (MAX, MAX)]),
            (&[(0, 0), (MAX, MAX), (1, MAX - 1)], &[(0, MAX)]),
            (&[(0, MAX), (0, 0), (MAX, MAX), (0, MAX)], &[(0, MAX)]),
        ];
        for (inserted, expected) in cases {
            let set = set(inserted);
            assert!(set.iter().eq(expected.iter().copied()), "{inserted:?} gave {set:?}");
        }
    }

    #[test]
    fn removing_leaves_both_ends() {
        type Case<'a> = (&'a [Interval], Interval, &'a [Interval]);
        let cases: [Case<'_>; 7] = [
            (&[(1, 9)], (4, 6), &[(1, 3), (7, 9)]),
            (&[(1, 9)], (1, 9), &[]),
            (&[(1, 2), (4, 5), (7, 9)], (2, 7), &[(1, 1), (8, 9)]),
            (&[(4, 5)], (0, MAX), &[]),
            (&[(0, MAX)], (0, 0), &[(1, MAX)]),
            (&[(0, MAX)], (MAX, MAX), &[(0, MAX - 1)]),
            (&[(1, 2)], (3, 4), &[(1, 2)]),
        ];
        for (inserted, removed, expected) in cases {
            let mut set = set(inserted);
            set.remove(removed);
            assert!(set.iter().eq(expected.iter().copied()), "{inserted:?} gave {set:?}");
        }
    }

    #[test]
    fn held_and_not_held_make_up_the_whole() {
        type Case<'a> = (&'a [Interval], Interval, &'a [Interval], &'a [Interval]);
        let cases: [Case<'_>; 8] = [
            (&[], (0, MAX), &[], &[(0, MAX)]),
            (&[(0, MAX)], (0, MAX), &[(0, MAX)], &[]),
            (&[(0, MAX)], (MAX, MAX), &[(MAX, MAX)], &[]),
            (&[(0, 0), (MAX, MAX)], (0, MAX), &[(0, 0), (MAX, MAX)], &[(1, MAX - 1)]),
            (&[(3, 5), (8, 9)], (4, 8), &[(4, 5), (8, 8)], &[(6, 7)]),
            (&[(3, 5), (8, 9)], (0, 12), &[(3, 5), (8, 9)], &[(0, 2), (6, 7), (10, 12)]),
            (&[(3, 5), (8, 9)], (6, 7), &[], &[(6, 7)]),
            (&[(3, 5)], (5, 5), &[(5, 5)], &[]),
        ];
        for (inserted, whole, held, gaps) in cases {
            let set = set(inserted);
            assert!(set.within(whole).eq(held.iter().copied()), "{inserted:?} within {whole:?}");
            assert!(set.gaps(whole).eq(gaps.iter().copied()), "{inserted:?} not in {whole:?}");
        }
    }
}
