//! Addresses and prefixes, in upstream's words.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_machinery::field::{FieldError, FieldPath};

/// The error of a text that is no address.
pub fn ip(path: &FieldPath, value: &str) -> Result<IpAddr, FieldError> {
    value.parse().map_err(|_| {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        FieldError::invalid(path, value, why)
    })
}

/// The error of a text that is no prefix.
pub fn cidr(path: &FieldPath, value: &str) -> Result<IpNet, FieldError> {
    value.parse().map_err(|_| {
        let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        FieldError::invalid(path, value, why)
    })
}

/// What is wrong with an address that endpoints may not have.
pub fn special(path: &FieldPath, ip: IpAddr, given: &str) -> Vec<FieldError> {
    let (link_local, multicast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    let wrong = [
        (ip.is_unspecified(), "may not be unspecified (0.0.0.0 or ::)"),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    wrong
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, why)| FieldError::invalid(path, given, why))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_refused() {
        let path = FieldPath::new("p");
        let cases = [
            ("10.0.0.1", 0),
            ("2001:db8::1", 0),
            ("0.0.0.0", 1),
            ("127.0.0.9", 1),
            ("169.254.1.1", 1),
            ("224.0.0.5", 1),
            ("224.0.1.5", 0),
            ("::1", 1),
            ("fe80::1", 1),
            ("ff02::1", 1),
        ];
        for (text, wrong) in cases {
            let ip = ip(&path, text).expect(text);
            assert_eq!(special(&path, ip, text).len(), wrong, "{text}");
        }
        assert!(ip(&path, "10.0.0").is_err());
        assert!(cidr(&path, "10.0.0.0/33").is_err());
    }
}
