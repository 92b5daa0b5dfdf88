//! Addresses that lie in a range and are never handed out.
//!
//! Upstream's allocator passes by every address that looks like the first of a network: an IPv4
//! address that ends in `.0`, an IPv6 address whose last 16 bits are 0, wherever the subnet really
//! begins. A /64 has 2^48 of those, so they are never listed: they are the multiples of a number.

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
    /// None are skipped.
    Nothing,
}

impl Skip {
    /// Whether the address is never handed out.
    pub fn skips(self, address: IpAddr) -> bool {
        self.skips_number(Family::of(address), number(address))
    }

    pub(crate) fn skips_number(self, family: Family, number: u128) -> bool {
        self.step(family).is_some_and(|step| number.is_multiple_of(step))
    }

    /// The interval without skipped numbers at its ends; `None` when nothing is left. No two
    /// neighbours are skipped, so there is at most one at each end.
    pub(crate) fn trim(self, family: Family, (mut first, mut last): Interval) -> Option<Interval> {
        if self.skips_number(family, first) {
            first = first.checked_add(1)?;
        }
        if self.skips_number(family, last) {
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
        count
    }

    /// Skipped are the multiples of this number, which is larger than one.
    fn step(self, family: Family) -> Option<u128> {
        match (self, family) {
            (Self::Upstream, Family::V4) => Some(1 << 8),
            (Self::Upstream, Family::V6) => Some(1 << 16),
            (Self::Nothing, _) => None,
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
