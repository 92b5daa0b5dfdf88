//! A set of addresses of both families, kept as the ranges it consists of.
//!
//! Ranges that overlap or touch become one, so the size in memory is the number of separate runs
//! of addresses, never the number of addresses. Every operation costs O(log n) plus the ranges it
//! changes or yields.

use std::net::IpAddr;

use crate::intervals::Intervals;
use crate::net::{Family, Range};
use crate::number::{known, number};

/// A set of addresses.
///
/// ```
/// use landbridge_addr::RangeSet;
/// use landbridge_addr::net::Range;
///
/// let mut set: RangeSet = [Range::parse("10.0.0.0/24")?].into_iter().collect();
/// set.remove(Range::parse("10.0.0.9")?);
/// let ranges: Vec<_> = set.ranges().map(|range| range.to_string()).collect();
/// assert_eq!(ranges, ["10.0.0.0-10.0.0.8", "10.0.0.10-10.0.0.255"]);
/// # Ok::<(), landbridge_addr::net::NotARange>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    v4: Intervals,
    v6: Intervals,
}

impl RangeSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a range, a prefix or an address.
    pub fn insert(&mut self, range: impl Into<Range>) {
        let range = range.into();
        self.family_mut(range.family()).insert(range.numbers());
    }

    /// Takes out a range, a prefix or an address.
    pub fn remove(&mut self, range: impl Into<Range>) {
        let range = range.into();
        self.family_mut(range.family()).remove(range.numbers());
    }

    /// Whether the address is in the set.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.covering(address).is_some()
    }

    /// The largest range of the set that holds the address.
    pub fn covering(&self, address: IpAddr) -> Option<Range> {
        let family = Family::of(address);
        let found = self.family(family).covering(number(address))?;
        Some(Range::known(family, found))
    }

    /// The lowest address of the set, in the family of `address`, that is not below it.
    pub fn first_at_or_after(&self, address: IpAddr) -> Option<IpAddr> {
        let family = Family::of(address);
        let found = self.family(family).first_at_or_after(number(address))?;
        Some(known(family, found))
    }

    /// The ranges, in order, IPv4 first. There is room between any two of them.
    pub fn ranges(&self) -> impl Iterator<Item = Range> {
        let v4 = self.v4.iter().map(|found| Range::known(Family::V4, found));
        v4.chain(self.v6.iter().map(|found| Range::known(Family::V6, found)))
    }

    /// What the set holds of a range, in order.
    pub fn within(&self, range: Range) -> impl Iterator<Item = Range> {
        let family = range.family();
        self.family(family).within(range.numbers()).map(move |found| Range::known(family, found))
    }

    /// What the set does not hold of a range, in order.
    pub fn gaps(&self, within: Range) -> impl Iterator<Item = Range> {
        let family = within.family();
        self.family(family).gaps(within.numbers()).map(move |found| Range::known(family, found))
    }

    /// How many addresses. All of IPv6 is one more than this can say.
    pub fn len(&self) -> u128 {
        let mut count = self.v4.count();
        count += self.v6.count();
        count.saturated()
    }

    /// Whether there is no address in it.
    pub fn is_empty(&self) -> bool {
        self.pieces() == 0
    }

    /// The addresses that are in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (few, many) = self.by_size(other);
        let mut union = many.clone();
        union.extend(few.ranges());
        union
    }

    /// The addresses that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (few, many) = self.by_size(other);
        few.ranges().flat_map(|range| many.within(range)).collect()
    }

    /// The addresses of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        if other.pieces() > self.pieces() {
            return self.ranges().flat_map(|range| other.gaps(range)).collect();
        }
        let mut difference = self.clone();
        for range in other.ranges() {
            difference.remove(range);
        }
        difference
    }

    /// How many ranges.
    fn pieces(&self) -> usize {
        self.v4.pieces() + self.v6.pieces()
    }

    /// The one of fewer ranges, then the other.
    fn by_size<'a>(&'a self, other: &'a Self) -> (&'a Self, &'a Self) {
        if self.pieces() <= other.pieces() { (self, other) } else { (other, self) }
    }

    fn family(&self, family: Family) -> &Intervals {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }

    fn family_mut(&mut self, family: Family) -> &mut Intervals {
        match family {
            Family::V4 => &mut self.v4,
            Family::V6 => &mut self.v6,
        }
    }
}

impl<R: Into<Range>> Extend<R> for RangeSet {
    fn extend<I: IntoIterator<Item = R>>(&mut self, ranges: I) {
        for range in ranges {
            self.insert(range);
        }
    }
}

/// From ranges, prefixes or addresses.
impl<R: Into<Range>> FromIterator<R> for RangeSet {
    fn from_iter<I: IntoIterator<Item = R>>(ranges: I) -> Self {
        let mut set = Self::new();
        set.extend(ranges);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_V4: &str = "0.0.0.0-255.255.255.255";
    const ALL_V6: &str = "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

    fn range(text: &str) -> Range {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn set(texts: &[&str]) -> RangeSet {
        texts.iter().map(|text| range(text)).collect()
    }

    fn shown(set: &RangeSet) -> Vec<String> {
        set.ranges().map(|range| range.to_string()).collect()
    }

    #[test]
    fn families_live_side_by_side() {
        let set = set(&["::1-::5", "0.0.0.1-0.0.0.4", "0.0.0.5"]);
        assert_eq!(shown(&set), ["0.0.0.1-0.0.0.5", "::1-::5"]);
        assert_eq!(set.len(), 10);
        assert!(set.contains(ip("::5")) && !set.contains(ip("::6")));
        assert_eq!(set.covering(ip("0.0.0.2")), Some(range("0.0.0.1-0.0.0.5")));
        assert_eq!(set.first_at_or_after(ip("0.0.0.0")), Some(ip("0.0.0.1")));
        assert_eq!(set.first_at_or_after(ip("0.0.0.6")), None);
        assert_eq!(set.first_at_or_after(ip("::")), Some(ip("::1")));
    }

    #[test]
    fn everything_has_edges_too() {
        let mut set = set(&[ALL_V4, ALL_V6]);
        assert_eq!(shown(&set), [ALL_V4, ALL_V6]);
        assert_eq!(set.len(), u128::MAX);
        assert_eq!(set.gaps(range(ALL_V6)).count(), 0);
        set.remove(range(ALL_V4));
        set.remove(ip("::"));
        assert_eq!(set.len(), u128::MAX, "now exactly, not for want of room");
        set.remove(range("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"));
        assert_eq!(set.len(), 1);
        let last = ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        assert_eq!(set.first_at_or_after(ip("::")), Some(last));
        set.remove(last);
        assert!(set.is_empty());
        assert_eq!(set.gaps(range(ALL_V4)).collect::<Vec<_>>(), [range(ALL_V4)]);
    }

    #[test]
    fn sets_combine() {
        let a = set(&["10.0.0.1-10.0.0.5", "10.0.0.8-10.0.0.9", "fd00::/64"]);
        let b = set(&["10.0.0.5-10.0.0.8"]);
        for (one, other) in [(&a, &b), (&b, &a)] {
            let union = one.union(other);
            assert_eq!(shown(&union), ["10.0.0.1-10.0.0.9", "fd00::-fd00::ffff:ffff:ffff:ffff"]);
            assert_eq!(shown(&one.intersection(other)), ["10.0.0.5", "10.0.0.8"]);
        }
        assert_eq!(
            shown(&a.difference(&b)),
            ["10.0.0.1-10.0.0.4", "10.0.0.9", "fd00::-fd00::ffff:ffff:ffff:ffff"]
        );
        assert_eq!(shown(&b.difference(&a)), ["10.0.0.6-10.0.0.7"]);
    }
}
