//! Addresses that lie in a range and are never handed out.
//!
//! Upstream's allocator passes by every address that looks like the first of a network: an IPv4
//! address that ends in `.0`, an IPv6 address whose last 16 bits are 0, wherever the subnet really
//! begins. A /64 has 2^48 of those, so they are never listed: they are the multiples of a number.
//! MetalLB can be told to pass by what old equipment takes for the ends of a network: IPv4 addresses
//! that end in `.0` or `.255`.

use std::net::IpAddr;

use crate::count::Count;
use crate::intervals::Interval;
use crate::net::Family;
use crate::number::number;

/// Which addresses of a range are never handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Skip {
    /// IPv4 addresses whose last octet is 0 and IPv6 addresses whose last 16 bits are 0.
    #[default]
    Upstream,
    /// IPv4 addresses whose last octet is 0 or 255.
    Buggy,
    /// None are skipped.
    Nothing,
}

/// How many addresses share all but the last octet.
const OCTET: u128 = 1 << 8;

impl Skip {
    /// Whether the address is never handed out.
    pub fn skips(self, address: IpAddr) -> bool {
        self.skips_number(Family::of(address), number(address))
    }

    pub(crate) fn skips_number(self, family: Family, number: u128) -> bool {
        let first = self.step(family).is_some_and(|step| number.is_multiple_of(step));
        first || (self.skips_last(family) && number % OCTET == OCTET - 1)
    }

    /// The interval without skipped numbers at its ends; `None` when nothing is left. At most two
    /// neighbours are skipped.
    pub(crate) fn trim(self, family: Family, (mut first, mut last): Interval) -> Option<Interval> {
        while first <= last && self.skips_number(family, first) {
            first = first.checked_add(1)?;
        }
        while first <= last && self.skips_number(family, last) {
            last = last.checked_sub(1)?;
        }
        (first <= last).then_some((first, last))
    }

    /// How many numbers of the interval are not skipped.
    pub(crate) fn count(self, family: Family, (first, last): Interval) -> Count {
        let mut count = Count::span(first, last);
        if let Some(step) = self.step(family) {
            // Multiples up to the last one, without those before the first one.
            count -= Count::from(last / step + 1 - first.div_ceil(step));
        }
        if self.skips_last(family) {
            // An address ends in 255 when the next one ends in 0.
            count -= Count::from((last + 1) / OCTET - first / OCTET);
        }
        count
    }

    /// Whether the numbers before the multiples are skipped, too.
    fn skips_last(self, family: Family) -> bool {
        self == Self::Buggy && family == Family::V4
    }

    /// Skipped are the multiples of this number, which is larger than one.
    fn step(self, family: Family) -> Option<u128> {
        match (self, family) {
            (Self::Upstream, Family::V4) => Some(1 << 8),
            (Self::Upstream, Family::V6) => Some(1 << 16),
            (Self::Buggy, Family::V4) => Some(OCTET),
            (Self::Buggy, Family::V6) | (Self::Nothing, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Range;

    #[test]
    fn zeros_at_the_end_are_skipped() {
        let cases = [
            ("10.0.0.0", true),
            ("10.0.1.0", true),
            ("10.0.0.255", false),
            ("10.0.0.10", false),
            ("0.0.0.0", true),
            ("::", true),
            ("fd00::1:0", true),
            ("fd00::100", false),
            ("fd00::ffff", false),
        ];
        for (text, expected) in cases {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(Skip::Upstream.skips(address), expected, "{text}");
            assert!(!Skip::Nothing.skips(address));
        }
    }

    #[test]
    fn what_is_not_skipped_is_counted_without_looking() {
        let all_v6 = u128::MAX - (1 << 112) + 1;
        let cases = [
            ("10.0.0.0", 0),
            ("10.0.0.1-10.0.0.255", 255),
            ("10.0.0.1-10.0.1.0", 255),
            ("10.0.0.0-10.0.1.0", 255),
            ("10.0.0.255-10.0.1.1", 2),
            ("10.0.0.0/8", (1 << 24) - (1 << 16)),
            ("0.0.0.0/0", (1 << 32) - (1 << 24)),
            ("fd00::/64", (1 << 64) - (1 << 48)),
            ("::/0", all_v6),
        ];
        for (text, expected) in cases {
            let range: Range = text.parse().unwrap();
            let count = Skip::Upstream.count(range.family(), range.numbers());
            assert_eq!(count.saturated(), expected, "{text}");
            assert_eq!(
                Skip::Nothing.count(range.family(), range.numbers()).saturated(),
                range.len()
            );
        }
    }

    #[test]
    fn both_ends_of_what_old_equipment_takes_for_a_network_are_skipped() {
        let skip = Skip::Buggy;
        let cases = [
            ("10.0.0.0", 0, None),
            ("10.0.0.255", 0, None),
            ("10.0.0.255-10.0.1.0", 0, None),
            ("10.0.0.254-10.0.1.1", 2, Some("10.0.0.254-10.0.1.1")),
            ("10.0.0.255-10.0.1.1", 1, Some("10.0.1.1")),
            ("10.0.0.0/24", 254, Some("10.0.0.1-10.0.0.254")),
            ("10.0.0.0/23", 508, Some("10.0.0.1-10.0.1.254")),
            ("10.0.0.128/25", 127, Some("10.0.0.128-10.0.0.254")),
            ("0.0.0.0/0", (1 << 32) - (1 << 25), Some("0.0.0.1-255.255.255.254")),
            ("fd00::/120", 256, Some("fd00::-fd00::ff")),
        ];
        for (text, count, trimmed) in cases {
            let range: Range = text.parse().unwrap();
            let (family, numbers) = (range.family(), range.numbers());
            assert_eq!(skip.count(family, numbers).saturated(), count, "{text}");
            let trimmed = trimmed.map(|text| text.parse::<Range>().unwrap().numbers());
            assert_eq!(skip.trim(family, numbers), trimmed, "{text}");
        }
    }

    #[test]
    fn ends_are_trimmed() {
        let cases = [
            ("10.0.0.0", None),
            ("10.0.0.0-10.0.1.0", Some("10.0.0.1-10.0.0.255")),
            ("10.0.0.255-10.0.1.0", Some("10.0.0.255")),
            ("10.0.0.255-10.0.1.1", Some("10.0.0.255-10.0.1.1")),
            ("::/0", Some("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")),
        ];
        for (text, expected) in cases {
            let range: Range = text.parse().unwrap();
            let trimmed = Skip::Upstream.trim(range.family(), range.numbers());
            let expected = expected.map(|text| text.parse::<Range>().unwrap().numbers());
            assert_eq!(trimmed, expected, "{text}");
        }
    }
}
