//! Prefixes, ranges and VLAN numbers, checked when they are made.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// The family of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The family `address` belongs to.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// `4` or `6`.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::V4 { "4" } else { "6" })
    }
}

/// An address prefix such as `172.17.0.0/24`. Host bits are kept as written, for display; they
/// play no part in any question asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Cidr(IpNet);

/// The text is no address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACidr;

impl fmt::Display for NotACidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an IP address prefix (CIDR)")
    }
}

impl std::error::Error for NotACidr {}

impl FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        text.parse().map(Self).map_err(|_| NotACidr)
    }
}

/// As written.
impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Two prefixes are the same when they hold the same addresses.
impl PartialEq for Cidr {
    fn eq(&self, other: &Self) -> bool {
        self.0.trunc() == other.0.trunc()
    }
}

impl Eq for Cidr {}

impl Cidr {
    /// The prefix without host bits.
    pub fn prefix(&self) -> IpNet {
        self.0.trunc()
    }

    /// Whether bits beyond the prefix length are set, as in `172.17.0.5/24`.
    pub fn has_host_bits(&self) -> bool {
        self.0 != self.0.trunc()
    }

    /// The family.
    pub fn family(&self) -> Family {
        Family::of(self.0.addr())
    }

    /// Whether the address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// First and last address.
    pub fn bounds(&self) -> (IpAddr, IpAddr) {
        (self.0.network(), self.0.broadcast())
    }

    /// Reads an address that has to lie inside.
    pub fn member(&self, text: &str) -> Result<IpAddr, NotAMember> {
        let address: IpAddr = text.parse().map_err(|_| NotAMember::NotAnAddress)?;
        if Family::of(address) != self.family() {
            Err(NotAMember::OtherFamily)
        } else if !self.contains(address) {
            Err(NotAMember::Outside(*self))
        } else {
            Ok(address)
        }
    }

    /// What the address is for, when no host can have it: the first and the last address of an
    /// IPv4 subnet with more than two addresses, and the subnet-router anycast address of IPv6.
    pub fn special(&self, address: IpAddr) -> Option<&'static str> {
        let (first, last) = self.bounds();
        match self.0 {
            IpNet::V4(net) if net.prefix_len() < 31 && address == first => Some("network address"),
            IpNet::V4(net) if net.prefix_len() < 31 && address == last => Some("broadcast address"),
            IpNet::V6(net) if net.prefix_len() < 127 && address == first => {
                Some("subnet-router anycast address")
            }
            _ => None,
        }
    }
}

/// Why a text is no address of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAMember {
    /// No address at all.
    NotAnAddress,
    /// IPv4 in an IPv6 prefix, or the reverse.
    OtherFamily,
    /// Right family, wrong place.
    Outside(Cidr),
}

impl fmt::Display for NotAMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAddress => f.write_str("not an IP address"),
            Self::OtherFamily => f.write_str("cannot mix IPv4 and IPv6"),
            Self::Outside(cidr) => write!(f, "address not in IP address prefix (CIDR) {cidr}"),
        }
    }
}

impl std::error::Error for NotAMember {}

/// Addresses from the first to the last, both included, of one family and in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    first: IpAddr,
    last: IpAddr,
}

impl Range {
    /// `None` when the families differ or the order is wrong.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        (Family::of(first) == Family::of(last) && first <= last).then_some(Self { first, last })
    }

    /// The lowest address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The highest address.
    pub fn last(&self) -> IpAddr {
        self.last
    }

    /// Whether the address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first <= address && address <= self.last
    }
}

impl From<Cidr> for Range {
    fn from(cidr: Cidr) -> Self {
        let (first, last) = cidr.bounds();
        Self { first, last }
    }
}

/// Finds ranges that share addresses. Each range is reported at most once, together with an
/// earlier-starting one it collides with, so the answer is never longer than the input.
pub fn overlaps<T: Copy>(ranges: impl IntoIterator<Item = (Range, T)>) -> Vec<(T, T)> {
    let mut sorted: Vec<_> = ranges.into_iter().collect();
    sorted.sort_by_key(|(range, _)| *range);
    let mut found = Vec::new();
    let mut furthest: Option<(Range, T)> = None;
    for (range, label) in sorted {
        if let Some((earlier, other)) = furthest {
            if range.first <= earlier.last {
                found.push((other, label));
            }
            if range.last <= earlier.last {
                continue;
            }
        }
        furthest = Some((range, label));
    }
    found
}

/// A VLAN number that may stand in a frame: 1 to 4094.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(u16);

/// The number is neither a VLAN nor 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAVlan;

impl fmt::Display for NotAVlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be between 1 and 4094, or left out for an untagged network")
    }
}

impl std::error::Error for NotAVlan {}

impl VlanId {
    /// Reads the number as manifests give it: 0 says "untagged", as the tag itself does in
    /// IEEE 802.1Q.
    pub fn parse(number: i64) -> Result<Option<Self>, NotAVlan> {
        match u16::try_from(number) {
            Ok(0) => Ok(None),
            Ok(id @ 1..=4094) => Ok(Some(Self(id))),
            _ => Err(NotAVlan),
        }
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn prefixes_compare_by_what_they_hold() {
        assert_eq!(cidr("172.17.0.5/24"), cidr("172.17.0.0/24"));
        assert_eq!(cidr("FD00:0::/64"), cidr("fd00::/64"));
        assert_ne!(cidr("10.0.0.0/24"), cidr("10.0.0.0/25"));
        assert_eq!(cidr("172.17.0.5/24").to_string(), "172.17.0.5/24");
        assert!(cidr("172.17.0.5/24").has_host_bits());
        for wrong in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "a/8"] {
            assert_eq!(wrong.parse::<Cidr>(), Err(NotACidr), "{wrong:?}");
        }
    }

    #[test]
    fn members_are_judged_in_upstreams_words() {
        let v4 = cidr("172.17.0.0/24");
        let cases = [
            ("x", "not an IP address"),
            ("fd00::1", "cannot mix IPv4 and IPv6"),
            ("172.17.1.1", "address not in IP address prefix (CIDR) 172.17.0.0/24"),
        ];
        for (text, why) in cases {
            assert_eq!(v4.member(text).unwrap_err().to_string(), why);
        }
        assert_eq!(v4.member("172.17.0.9").unwrap(), ip("172.17.0.9"));
    }

    #[test]
    fn some_addresses_are_no_hosts() {
        let cases = [
            ("10.0.0.0/24", "10.0.0.0", Some("network address")),
            ("10.0.0.0/24", "10.0.0.255", Some("broadcast address")),
            ("10.0.0.0/24", "10.0.0.1", None),
            ("10.0.0.0/31", "10.0.0.0", None),
            ("10.0.0.1/32", "10.0.0.1", None),
            ("fd00::/64", "fd00::", Some("subnet-router anycast address")),
            ("fd00::/64", "fd00::ffff:ffff:ffff:ffff", None),
            ("fd00::/127", "fd00::", None),
        ];
        for (net, address, expected) in cases {
            assert_eq!(cidr(net).special(ip(address)), expected, "{address} in {net}");
        }
    }

    #[test]
    fn overlaps_name_the_earlier_range_first() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(usize, usize)]);
        let range = |a: &str, b: &str| Range::new(ip(a), ip(b)).unwrap();
        let cases: [Case<'_>; 6] = [
            (&[], &[]),
            (&[("10.0.0.1", "10.0.0.5"), ("10.0.0.6", "10.0.0.9")], &[]),
            (&[("10.0.0.5", "10.0.0.9"), ("10.0.0.1", "10.0.0.5")], &[(1, 0)]),
            (
                &[("10.0.0.1", "10.0.0.9"), ("10.0.0.2", "10.0.0.3"), ("10.0.0.4", "10.0.0.5")],
                &[(0, 1), (0, 2)],
            ),
            (&[("10.0.0.1", "10.0.0.1"), ("10.0.0.1", "10.0.0.1")], &[(0, 1)]),
            (&[("0.0.0.1", "255.0.0.0"), ("::1", "::2")], &[]),
        ];
        for (ranges, expected) in cases {
            let labelled = ranges.iter().enumerate().map(|(i, (a, b))| (range(a, b), i));
            assert_eq!(overlaps(labelled), expected, "{ranges:?}");
        }
        assert!(Range::new(ip("10.0.0.2"), ip("10.0.0.1")).is_none());
        assert!(Range::new(ip("10.0.0.2"), ip("::1")).is_none());
    }

    #[test]
    fn vlan_zero_is_untagged() {
        assert_eq!(VlanId::parse(0), Ok(None));
        assert_eq!(VlanId::parse(20).unwrap().unwrap().get(), 20);
        assert_eq!(VlanId::parse(4094).unwrap().unwrap().to_string(), "4094");
        for wrong in [-1, 4095, 65_536 + 20, i64::MIN] {
            assert_eq!(VlanId::parse(wrong), Err(NotAVlan), "{wrong}");
        }
    }
}
