//! What one source of addresses hands out, and what is left of it.
//!
//! A source is a list of ranges, addresses excluded from them, and a rule of what is skipped. The
//! ranges are used up in list order, each from its lowest address; an address given back is the
//! next one out if it stands first.
//!
//! An address that lies in several ranges belongs to the first of them: as long as it is free, no
//! later range is asked. So the ranges are cut into pieces that do not overlap, each with the rank
//! of its range, and the free part of them is kept as intervals sorted by rank, then number:
//!
//! ```text
//!   ranges    .5-.9, .3-.7             excluded .8
//!   pieces    rank 0: .5-.7, .9        rank 1: .3-.4
//!   free      (0, .5)-.7  (0, .9)-.9  (1, .3)-.4      take(.6):
//!             (0, .5)-.5  (0, .7)-.7  (0, .9)-.9  (1, .3)-.4
//! ```
//!
//! Invariants:
//! - neither end of a free interval is skipped, so the first one begins with the address to hand
//!   out next; skipped addresses inside of one are only left out of the count
//! - there are at most as many free intervals as pieces and taken addresses together, however the
//!   taken ones are spread: nothing is ever expanded, and every operation is one or two lookups in
//!   a tree

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::count::Count;
use crate::intervals::Interval;
use crate::net::{Family, Range};
use crate::number::{known, number};
use crate::set::RangeSet;
use crate::skip::Skip;

/// The place of a range in the list.
type Rank = usize;

/// What one source hands out.
///
/// ```
/// use landbridge_addr::net::Range;
/// use landbridge_addr::{Pool, RangeSet, Skip};
///
/// let ranges = [Range::parse("172.17.0.254-172.17.1.9")?];
/// let mut pool = Pool::new(&ranges, RangeSet::new(), Skip::Upstream);
/// let mut handed_out = Vec::new();
/// while let Some(address) = pool.lowest().filter(|_| handed_out.len() < 3) {
///     pool.take(address);
///     handed_out.push(address.to_string());
/// }
/// assert_eq!(handed_out, ["172.17.0.254", "172.17.0.255", "172.17.1.1"]);
/// assert_eq!((pool.capacity(), pool.free()), (11, 8));
/// # Ok::<(), landbridge_addr::net::NotARange>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    skip: Skip,
    /// The family of each range in the list.
    families: Vec<Family>,
    /// The last number and the rank of each piece, by where it begins.
    pieces: BTreeMap<(Family, u128), (u128, Rank)>,
    /// The last number of each free interval, by rank and first number.
    free: BTreeMap<(Rank, u128), u128>,
    capacity: Count,
    left: Count,
}

/// Where an address stands in the order in which a pool hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    rank: Rank,
    number: u128,
}

/// An address the pool can hand out.
#[derive(Clone, Copy)]
struct Spot {
    family: Family,
    rank: Rank,
    number: u128,
}

impl Pool {
    /// A pool nothing has been taken from. The ranges may overlap, and their order matters.
    pub fn new(ranges: &[Range], excluded: RangeSet, skip: Skip) -> Self {
        let mut pool = Self {
            skip,
            families: ranges.iter().map(Range::family).collect(),
            pieces: BTreeMap::new(),
            free: BTreeMap::new(),
            capacity: Count::default(),
            left: Count::default(),
        };
        // What later ranges do not get. Each range closes the gaps it was cut into, so all of them
        // together are cut only as often as there are ranges and excluded ones.
        let mut gone = excluded;
        for (rank, range) in ranges.iter().enumerate() {
            for gap in gone.gaps(*range) {
                pool.add(range.family(), rank, gap.numbers());
            }
            gone.insert(*range);
        }
        pool.left = pool.capacity;
        pool
    }

    /// A pool these addresses have been taken from. They may repeat, and they may be addresses the
    /// pool does not hand out.
    pub fn rebuild(
        ranges: &[Range],
        excluded: RangeSet,
        skip: Skip,
        taken: impl IntoIterator<Item = IpAddr>,
    ) -> Self {
        let mut pool = Self::new(ranges, excluded, skip);
        for address in taken {
            pool.take(address);
        }
        pool
    }

    /// The address to hand out next: the lowest free one of the first range that has any.
    pub fn lowest(&self) -> Option<IpAddr> {
        let ((rank, first), _) = self.free.first_key_value()?;
        Some(known(*self.families.get(*rank)?, *first))
    }

    /// Makes sure the address is not handed out. Says whether it was free; taking one that is
    /// taken, or that the pool does not hand out, changes nothing.
    pub fn take(&mut self, address: IpAddr) -> bool {
        let Some(spot) = self.spot(address) else { return false };
        let Some((first, last)) = self.free_around(spot) else { return false };
        self.free.remove(&(spot.rank, first));
        if first < spot.number {
            self.keep(spot, (first, spot.number - 1));
        }
        if spot.number < last {
            self.keep(spot, (spot.number + 1, last));
        }
        self.left -= Count::ONE;
        true
    }

    /// Gives the address back. Says whether it is free again by that; releasing one that is free,
    /// or that the pool does not hand out, changes nothing.
    pub fn release(&mut self, address: IpAddr) -> bool {
        let Some(spot) = self.spot(address) else { return false };
        if self.free_around(spot).is_some() {
            return false;
        }
        let (mut first, mut last) = (spot.number, spot.number);
        // A neighbour ends right here, or with only a skipped address between.
        let below = self.neighbour(spot, u128::checked_sub);
        if let Some((f, _)) = below.and_then(|number| self.free_around(Spot { number, ..spot })) {
            first = f;
        }
        let above = self.neighbour(spot, u128::checked_add);
        if let Some(number) = above
            && let Some(l) = self.free.remove(&(spot.rank, number))
        {
            last = l;
        }
        self.free.insert((spot.rank, first), last);
        self.left += Count::ONE;
        true
    }

    /// Where the address stands in the order in which the pool hands out: positions compare as
    /// addresses come out. `None` when the pool does not hand it out.
    ///
    /// ```
    /// use landbridge_addr::net::Range;
    /// use landbridge_addr::{Pool, RangeSet, Skip};
    ///
    /// let ranges = [Range::parse("10.0.0.8/30")?, Range::parse("10.0.0.1")?];
    /// let pool = Pool::new(&ranges, RangeSet::new(), Skip::Nothing);
    /// let at = |text: &str| pool.position(text.parse().unwrap());
    /// assert!(at("10.0.0.8") < at("10.0.0.9") && at("10.0.0.9") < at("10.0.0.1"));
    /// assert_eq!(at("10.0.0.2"), None);
    /// # Ok::<(), landbridge_addr::net::NotARange>(())
    /// ```
    pub fn position(&self, address: IpAddr) -> Option<Position> {
        self.spot(address).map(|spot| Position { rank: spot.rank, number: spot.number })
    }

    /// The address at a position.
    pub fn address(&self, at: Position) -> Option<IpAddr> {
        Some(known(*self.families.get(at.rank)?, at.number))
    }

    /// Whether the address is one the pool hands out, now or when it comes back.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.spot(address).is_some()
    }

    /// Whether the pool could hand out the address now.
    pub fn is_free(&self, address: IpAddr) -> bool {
        self.spot(address).is_some_and(|spot| self.free_around(spot).is_some())
    }

    /// How many addresses can still be handed out.
    pub fn free(&self) -> u128 {
        self.left.saturated()
    }

    /// How many addresses there are to hand out when none is taken.
    pub fn capacity(&self) -> u128 {
        self.capacity.saturated()
    }

    /// Adds a piece, all of it free.
    fn add(&mut self, family: Family, rank: Rank, piece: Interval) {
        if let Some((first, last)) = self.skip.trim(family, piece) {
            self.pieces.insert((family, first), (last, rank));
            self.free.insert((rank, first), last);
            self.capacity += self.skip.count(family, (first, last));
        }
    }

    /// Where the address is in the pool; `None` when the pool does not hand it out.
    fn spot(&self, address: IpAddr) -> Option<Spot> {
        let (family, number) = (Family::of(address), number(address));
        let begins = (family, 0)..=(family, number);
        let (_, (last, rank)) = self.pieces.range(begins).next_back()?;
        let held = number <= *last && !self.skip.skips_number(family, number);
        held.then_some(Spot { family, rank: *rank, number })
    }

    /// The free interval that holds the number.
    fn free_around(&self, spot: Spot) -> Option<Interval> {
        let begins = (spot.rank, 0)..=(spot.rank, spot.number);
        let ((_, first), last) = self.free.range(begins).next_back()?;
        (*last >= spot.number).then_some((*first, *last))
    }

    /// The next number in a direction that is not skipped.
    fn neighbour(&self, spot: Spot, go: fn(u128, u128) -> Option<u128>) -> Option<u128> {
        let mut next = go(spot.number, 1)?;
        while self.skip.skips_number(spot.family, next) {
            next = go(next, 1)?;
        }
        Some(next)
    }

    /// Keeps what is left of a free interval, without skipped ends.
    fn keep(&mut self, at: Spot, interval: Interval) {
        if let Some((first, last)) = self.skip.trim(at.family, interval) {
            self.free.insert((at.rank, first), last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn pool(ranges: &[&str], excluded: &[&str], skip: Skip) -> Pool {
        let ranges: Vec<_> = ranges.iter().map(|text| range(text)).collect();
        Pool::new(&ranges, excluded.iter().map(|text| range(text)).collect(), skip)
    }

    /// Hands out everything, or as much as `most`.
    fn drain(pool: &mut Pool, most: usize) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(address) = pool.lowest().filter(|_| out.len() < most) {
            assert!(pool.is_free(address) && pool.take(address), "{address}");
            out.push(address.to_string());
        }
        out
    }

    #[test]
    fn ranges_are_used_up_in_list_order() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: [Case<'_>; 8] = [
            (&[], &[], &[]),
            (&["10.0.0.8-10.0.0.9", "10.0.0.1"], &[], &["10.0.0.8", "10.0.0.9", "10.0.0.1"]),
            // The later range is what the earlier one leaves of it.
            (
                &["10.0.0.5-10.0.0.9", "10.0.0.3-10.0.0.7"],
                &["10.0.0.8"],
                &["10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.9", "10.0.0.3", "10.0.0.4"],
            ),
            (&["10.0.0.5", "10.0.0.5", "10.0.0.5"], &[], &["10.0.0.5"]),
            (&["10.0.0.255-10.0.1.1"], &[], &["10.0.0.255", "10.0.1.1"]),
            (&["10.0.0.0/31"], &["10.0.0.1"], &[]),
            (&["fd00::fffe-fd00::1:1"], &["fd00::ffff"], &["fd00::fffe", "fd00::1:1"]),
            (&["fd00::1", "10.0.0.1"], &["::/64"], &["fd00::1", "10.0.0.1"]),
        ];
        for (ranges, excluded, expected) in cases {
            let mut pool = pool(ranges, excluded, Skip::Upstream);
            assert_eq!(pool.capacity(), expected.len() as u128, "{ranges:?}");
            assert_eq!(drain(&mut pool, 99), expected, "{ranges:?}");
            assert_eq!(pool.free(), 0);
        }
    }

    #[test]
    fn what_is_given_back_goes_out_next() {
        let mut pool = pool(&["10.0.0.8-10.0.0.9", "10.0.0.1"], &[], Skip::Upstream);
        drain(&mut pool, 99);
        assert!(pool.release(ip("10.0.0.1")) && pool.release(ip("10.0.0.9")));
        assert_eq!(pool.free(), 2);
        assert_eq!(drain(&mut pool, 99), ["10.0.0.9", "10.0.0.1"]);
    }

    #[test]
    fn what_is_not_handed_out_cannot_be_given_back() {
        let mut pool = pool(&["10.0.0.250-10.0.1.5"], &["10.0.0.251"], Skip::Upstream);
        let held = pool.capacity();
        assert_eq!(held, 10);
        for foreign in ["10.0.0.251", "10.0.1.0", "10.0.1.6", "10.0.0.249", "::a00:fb", "::"] {
            assert!(!pool.contains(ip(foreign)) && !pool.is_free(ip(foreign)), "{foreign}");
            assert!(!pool.take(ip(foreign)) && !pool.release(ip(foreign)), "{foreign}");
            assert_eq!(pool.free(), held);
        }
        let own = ip("10.0.1.1");
        assert!(pool.contains(own) && !pool.release(own), "it is free");
        assert!(pool.take(own) && !pool.take(own), "twice is once");
        assert_eq!(pool.free(), held - 1);
        assert!(pool.release(own) && !pool.release(own), "twice is once");
        assert_eq!(pool.free(), held);
    }

    #[test]
    fn nothing_is_skipped_when_nothing_shall_be() {
        let mut pool = pool(&["10.0.0.0/31", "fd00::/127"], &[], Skip::Nothing);
        assert_eq!(drain(&mut pool, 99), ["10.0.0.0", "10.0.0.1", "fd00::", "fd00::1"]);
    }

    #[test]
    fn a_rebuilt_pool_goes_on_where_it_was() {
        let taken = ["10.0.0.1", "10.0.0.3", "10.0.0.3", "192.0.2.1", "10.0.1.0"].map(ip);
        let ranges = [range("10.0.0.0/16")];
        let mut pool = Pool::rebuild(&ranges, RangeSet::new(), Skip::Upstream, taken);
        assert_eq!(pool.capacity() - pool.free(), 2);
        assert_eq!(drain(&mut pool, 2), ["10.0.0.2", "10.0.0.4"]);
    }

    #[test]
    fn large_ranges_stay_small() {
        let cases = [
            ("10.0.0.0/8", (1 << 24) - (1 << 16), "10.0.0.1"),
            ("0.0.0.0/0", (1 << 32) - (1 << 24), "0.0.0.1"),
            ("fd00::/64", (1 << 64) - (1 << 48), "fd00::1"),
            ("::/0", u128::MAX - (1 << 112) + 1, "::1"),
        ];
        for (text, capacity, first) in cases {
            let mut pool = pool(&[text, text], &[], Skip::Upstream);
            assert_eq!((pool.capacity(), pool.free()), (capacity, capacity), "{text}");
            assert_eq!(drain(&mut pool, 1), [first]);
            assert!(pool.take(range(text).last()), "{text}");
            assert_eq!(pool.free(), capacity - 2);
            assert_eq!((pool.pieces.len(), pool.free.len()), (1, 1));
        }
    }

    #[test]
    fn all_there_is_can_be_counted_down_and_up() {
        let mut pool = pool(&["::/0", "0.0.0.0/0"], &[], Skip::Nothing);
        assert_eq!((pool.capacity(), pool.free()), (u128::MAX, u128::MAX));
        pool.take(ip("::"));
        assert_eq!(pool.free(), u128::MAX, "2^128 + 2^32 - 1");
        pool.release(ip("::"));
        let mut pool = self::pool(&["::/0"], &["::2"], Skip::Nothing);
        assert_eq!(pool.free(), u128::MAX, "2^128 - 1");
        pool.take(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
        assert_eq!(pool.free(), u128::MAX - 1);
        pool.release(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
        assert_eq!(pool.free(), u128::MAX);
    }

    #[test]
    fn what_is_given_back_grows_together_again() {
        let mut pool = pool(&["10.0.0.0/22"], &[], Skip::Upstream);
        let all = drain(&mut pool, 9999);
        assert_eq!((all.len(), pool.free.len()), (1020, 0));
        // Every other one first: nothing touches, except over a skipped address (.255 and .1).
        for address in all.iter().step_by(2).chain(all.iter().skip(1).step_by(2)) {
            assert!(pool.release(ip(address)));
        }
        assert_eq!(pool.free.len(), 1);
        assert_eq!(pool.free(), 1020);
    }
}
