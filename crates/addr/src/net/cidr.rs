//! Address prefixes, and whether an address may stand in one.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::Family;

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
}
