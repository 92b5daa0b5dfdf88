//! Names that stand for addresses: `5.0.244.10.in-addr.arpa`, and the long ones of IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address that labels stand for, if they do.
pub fn address(labels: &[&str]) -> Option<IpAddr> {
    match labels {
        [own @ .., "in-addr", "arpa"] => {
            let [d, c, b, a] = own else { return None };
            let octet = |text: &&str| text.parse::<u8>().ok().filter(|n| n.to_string() == **text);
            Some(Ipv4Addr::new(octet(a)?, octet(b)?, octet(c)?, octet(d)?).into())
        }
        [own @ .., "ip6", "arpa"] if own.len() == 32 => {
            let mut bits = 0u128;
            for label in own.iter().rev() {
                let digit = label.chars().next().filter(|_| label.len() == 1)?.to_digit(16)?;
                bits = bits << 4 | u128::from(digit);
            }
            Some(Ipv6Addr::from(bits).into())
        }
        _ => None,
    }
}

/// Whether nobody outside can know a name of it: private, local, or of no machine at all.
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified()
        }
        IpAddr::V6(ip) => {
            ip.is_unique_local()
                || ip.is_loopback()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_read() {
        let six = format!("{}{}", "5.".to_owned() + &"0.".repeat(27), "0.0.d.f.ip6.arpa");
        for (name, expected) in [
            ("5.0.244.10.in-addr.arpa", Some("10.244.0.5")),
            (six.as_str(), Some("fd00::5")),
            ("0.244.10.in-addr.arpa", None),
            ("05.0.244.10.in-addr.arpa", None),
            ("256.0.244.10.in-addr.arpa", None),
            ("x.5.0.244.10.in-addr.arpa", None),
            ("in-addr.arpa", None),
            ("ip6.arpa", None),
            ("10.example.com", None),
        ] {
            let labels: Vec<&str> = name.split('.').collect();
            assert_eq!(address(&labels), expected.map(|ip| ip.parse().unwrap()), "{name}");
        }
    }
}
