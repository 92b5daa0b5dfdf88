//! Ranges of addresses, and the texts that stand for them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::{Cidr, Family};
use crate::count::Count;
use crate::number::{known, number};

/// Addresses from the first to the last, both included, of one family and in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    first: IpAddr,
    last: IpAddr,
}

impl Range {
    /// `None` when the families differ or the order is wrong.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        (Family::of(first) == Family::of(last) && first <= last).then_some(Self { first, last })
    }

    /// Reads `first-last`, a prefix or a single address. Spaces around the parts do not matter,
    /// and neither do host bits of a prefix: this is how MetalLB reads its pools.
    ///
    /// ```
    /// use landbridge_addr::net::Range;
    ///
    /// assert_eq!(Range::parse("172.17.0.80 - 172.17.0.90")?.len(), 11);
    /// assert_eq!(Range::parse("172.17.0.0/24")?.to_string(), "172.17.0.0-172.17.0.255");
    /// assert_eq!(Range::parse("fd00::5")?.to_string(), "fd00::5");
    /// # Ok::<(), landbridge_addr::net::NotARange>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, NotARange> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NotARange::Empty);
        }
        let address = |part: &str| {
            let part = part.trim();
            part.parse::<IpAddr>().map_err(|_| NotARange::NotAnAddress(part.to_owned()))
        };
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (address(first)?, address(last)?);
            if Family::of(first) != Family::of(last) {
                return Err(NotARange::TwoFamilies { first, last });
            }
            return Self::new(first, last).ok_or(NotARange::Backwards { first, last });
        }
        if text.contains('/') {
            let cidr: Cidr = text.parse().map_err(|_| NotARange::NotACidr(text.to_owned()))?;
            return Ok(cidr.into());
        }
        address(text).map(Self::from)
    }

    /// The lowest address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The highest address.
    pub fn last(&self) -> IpAddr {
        self.last
    }

    /// The family.
    pub fn family(&self) -> Family {
        Family::of(self.first)
    }

    /// Whether the address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first <= address && address <= self.last
    }

    /// How many addresses there are in it. All of IPv6 is one more than this can say.
    #[allow(clippy::len_without_is_empty)] // no range is empty
    pub fn len(&self) -> u128 {
        Count::span(number(self.first), number(self.last)).saturated()
    }

    /// The addresses that are in both.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        // IPv4 sorts before all of IPv6, so different families come out as a wrong order.
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// The fewest prefixes that hold exactly these addresses, in order; at most two for each bit of
    /// an address.
    ///
    /// ```
    /// use landbridge_addr::net::Range;
    ///
    /// let prefixes = Range::parse("172.17.0.80-172.17.0.90")?.prefixes();
    /// let texts: Vec<_> = prefixes.map(|prefix| prefix.to_string()).collect();
    /// assert_eq!(texts, ["172.17.0.80/29", "172.17.0.88/31", "172.17.0.90/32"]);
    /// # Ok::<(), landbridge_addr::net::NotARange>(())
    /// ```
    pub fn prefixes(&self) -> impl Iterator<Item = IpNet> + use<> {
        let width: u32 = if self.first.is_ipv4() { 32 } else { 128 };
        let family = self.family();
        let (first, last) = self.numbers();
        let mut next = Some(first);
        std::iter::from_fn(move || {
            let at = next?;
            // As large as the alignment of its first address allows, and what is left of the range.
            let left = last - at;
            let fits = left.checked_add(1).map_or(128, u128::ilog2);
            let bits = at.trailing_zeros().min(width).min(fits);
            let end = at | 1u128.checked_shl(bits).map_or(u128::MAX, |size| size - 1);
            next = end.checked_add(1).filter(|next| *next <= last);
            let length = u8::try_from(width - bits).unwrap_or_default();
            IpNet::new(known(family, at), length).ok()
        })
    }

    /// First and last as numbers.
    pub(crate) fn numbers(&self) -> (u128, u128) {
        (number(self.first), number(self.last))
    }

    /// From numbers that are known to belong to the family and to be in order.
    pub(crate) fn known(family: Family, (first, last): (u128, u128)) -> Self {
        Self { first: known(family, first), last: known(family, last) }
    }
}

/// `first-last`, or the address when there is only one.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl FromStr for Range {
    type Err = NotARange;

    fn from_str(text: &str) -> Result<Self, NotARange> {
        Self::parse(text)
    }
}

impl From<Cidr> for Range {
    fn from(cidr: Cidr) -> Self {
        let (first, last) = cidr.bounds();
        Self { first, last }
    }
}

/// Just this address.
impl From<IpAddr> for Range {
    fn from(address: IpAddr) -> Self {
        Self { first: address, last: address }
    }
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotARange {
    /// Nothing there.
    Empty,
    /// An end of the range, or the whole text, is no address.
    NotAnAddress(String),
    /// There is a slash, but no prefix.
    NotACidr(String),
    /// One end is IPv4, the other IPv6.
    TwoFamilies {
        /// As given on the left.
        first: IpAddr,
        /// As given on the right.
        last: IpAddr,
    },
    /// The ends are in the wrong order.
    Backwards {
        /// As given on the left.
        first: IpAddr,
        /// As given on the right.
        last: IpAddr,
    },
}

impl fmt::Display for NotARange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("must be first-last, a prefix (CIDR) or an address"),
            Self::NotAnAddress(text) => write!(f, "{text:?} is not an IP address"),
            Self::NotACidr(text) => write!(f, "{text:?} is not an IP address prefix (CIDR)"),
            Self::TwoFamilies { first, last } => {
                write!(f, "cannot mix IPv4 and IPv6 in one range: {first}-{last}")
            }
            Self::Backwards { first, last } => {
                write!(f, "the first address {first} comes after the last address {last}")
            }
        }
    }
}

impl std::error::Error for NotARange {}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_ends_are_in_order_and_of_one_family() {
        assert!(Range::new(ip("10.0.0.1"), ip("10.0.0.1")).is_some());
        assert!(Range::new(ip("10.0.0.2"), ip("10.0.0.1")).is_none());
        assert!(Range::new(ip("10.0.0.2"), ip("::1")).is_none());
    }

    #[test]
    fn ranges_are_read_in_the_three_forms_of_pools() {
        let cases = [
            ("172.17.0.80-172.17.0.90", "172.17.0.80-172.17.0.90"),
            ("172.17.0.80 - 172.17.0.90", "172.17.0.80-172.17.0.90"),
            ("  172.17.0.80\t-172.17.0.80 ", "172.17.0.80"),
            ("172.17.0.0/30", "172.17.0.0-172.17.0.3"),
            ("172.17.0.2/30", "172.17.0.0-172.17.0.3"),
            (" 172.17.0.2/32 ", "172.17.0.2"),
            ("172.17.0.2", "172.17.0.2"),
            ("FD00::0010-fd00::1f", "fd00::10-fd00::1f"),
            ("fd00::/127", "fd00::-fd00::1"),
            ("0.0.0.0/0", "0.0.0.0-255.255.255.255"),
        ];
        for (text, expected) in cases {
            let range = Range::parse(text).unwrap();
            assert_eq!(range.to_string(), expected, "{text:?}");
            assert_eq!(expected.parse(), Ok(range));
        }
    }

    #[test]
    fn what_is_no_range_is_told_why() {
        let cases = [
            ("", "must be first-last, a prefix (CIDR) or an address"),
            (" \n", "must be first-last, a prefix (CIDR) or an address"),
            ("172.17.0.300", "\"172.17.0.300\" is not an IP address"),
            ("-", "\"\" is not an IP address"),
            ("10.0.0.1-", "\"\" is not an IP address"),
            ("10.0.0.1-5", "\"5\" is not an IP address"),
            ("10.0.0.1-10.0.0.2-10.0.0.3", "\"10.0.0.2-10.0.0.3\" is not an IP address"),
            ("10.0.0.0/24-10.0.1.0/24", "\"10.0.0.0/24\" is not an IP address"),
            ("10.0.0.0/33", "\"10.0.0.0/33\" is not an IP address prefix (CIDR)"),
            ("10.0.0.0 /24", "\"10.0.0.0 /24\" is not an IP address prefix (CIDR)"),
            ("fe80::1%eth0", "\"fe80::1%eth0\" is not an IP address"),
            ("10.0.0.1-::1", "cannot mix IPv4 and IPv6 in one range: 10.0.0.1-::1"),
            (
                "172.17.0.90-172.17.0.80",
                "the first address 172.17.0.90 comes after the last address 172.17.0.80",
            ),
        ];
        for (text, why) in cases {
            assert_eq!(Range::parse(text).unwrap_err().to_string(), why, "{text:?}");
        }
    }

    #[test]
    fn lengths_are_exact_up_to_all_of_ipv6() {
        let cases = [
            ("10.0.0.1", 1),
            ("10.0.0.0/8", 1 << 24),
            ("0.0.0.0/0", 1 << 32),
            ("fd00::/64", 1 << 64),
            ("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", u128::MAX),
            ("::/0", u128::MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(Range::parse(text).unwrap().len(), expected, "{text}");
        }
    }

    #[test]
    fn prefixes_cover_a_range_and_nothing_else() {
        let cases = [
            ("10.0.0.1", "10.0.0.1/32"),
            ("10.0.0.0/24", "10.0.0.0/24"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
            ("10.0.0.1-10.0.0.6", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32"),
            ("255.255.255.254-255.255.255.255", "255.255.255.254/31"),
            ("fd00::ffff-fd00::1:1", "fd00::ffff/128 fd00::1:0/127"),
            ("8000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "8000::/1"),
        ];
        for (text, expected) in cases {
            let range = Range::parse(text).unwrap();
            let texts: Vec<_> = range.prefixes().map(|prefix| prefix.to_string()).collect();
            assert_eq!(texts.join(" "), expected, "{text}");
        }
        let longest = Range::parse("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe").unwrap();
        assert_eq!(longest.prefixes().count(), 254);
    }

    #[test]
    fn an_intersection_is_what_both_hold() {
        let cases = [
            ("10.0.0.1-10.0.0.5", "10.0.0.5-10.0.0.9", Some("10.0.0.5")),
            ("10.0.0.1-10.0.0.5", "10.0.0.6-10.0.0.9", None),
            ("10.0.0.0/8", "10.1.0.0/16", Some("10.1.0.0/16")),
            ("0.0.0.0/0", "::/0", None),
            ("::/0", "::/0", Some("::/0")),
        ];
        for (a, b, expected) in cases {
            let [a, b] = [a, b].map(|text| Range::parse(text).unwrap());
            let expected = expected.map(|text| Range::parse(text).unwrap());
            assert_eq!(a.intersect(&b), expected, "{a} and {b}");
            assert_eq!(b.intersect(&a), expected, "{b} and {a}");
        }
    }
}
