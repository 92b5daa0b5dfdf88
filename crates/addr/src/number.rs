//! An address is a family and a number.
//!
//! Arithmetic is done on the numbers; a number goes back to being an address only next to the
//! family it came from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::Family;

/// The number `address` is in its family.
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address with this number; `None` when the family has fewer addresses.
pub fn address(family: Family, number: u128) -> Option<IpAddr> {
    (number <= last_number(family)).then(|| known(family, number))
}

/// The address after this one, `None` after the last of the family.
pub fn successor(of: IpAddr) -> Option<IpAddr> {
    number(of).checked_add(1).and_then(|next| address(Family::of(of), next))
}

/// The address before this one, `None` before the first of the family.
pub fn predecessor(of: IpAddr) -> Option<IpAddr> {
    number(of).checked_sub(1).and_then(|previous| address(Family::of(of), previous))
}

/// The number of the family's last address.
pub(crate) fn last_number(family: Family) -> u128 {
    match family {
        Family::V4 => u128::from(u32::MAX),
        Family::V6 => u128::MAX,
    }
}

/// The address of a number that is known to come from this family; a larger one would give the
/// family's last address.
pub(crate) fn known(family: Family, number: u128) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        Family::V6 => Ipv6Addr::from_bits(number).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_end_with_the_family() {
        let cases = [
            ("0.0.0.0", None, Some("0.0.0.1")),
            ("10.0.0.255", Some("10.0.0.254"), Some("10.0.1.0")),
            ("255.255.255.255", Some("255.255.255.254"), None),
            ("::", None, Some("::1")),
            ("fd00::ffff", Some("fd00::fffe"), Some("fd00::1:0")),
            // The numbers of IPv4 and of low IPv6 are the same, the addresses are not.
            ("::ffff:ffff", Some("::ffff:fffe"), Some("::1:0:0")),
            (
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                Some("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"),
                None,
            ),
        ];
        for (of, before, after) in cases {
            let ip = |text: &str| text.parse::<IpAddr>().unwrap();
            assert_eq!(predecessor(ip(of)), before.map(ip), "before {of}");
            assert_eq!(successor(ip(of)), after.map(ip), "after {of}");
            assert_eq!(address(Family::of(ip(of)), number(ip(of))), Some(ip(of)));
        }
    }

    #[test]
    fn a_number_beyond_the_family_is_no_address() {
        assert_eq!(address(Family::V4, 1 << 32), None);
        assert_eq!(address(Family::V6, 1 << 32), "::1:0:0".parse().ok());
    }
}
