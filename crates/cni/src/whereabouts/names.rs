//! What whereabouts calls its objects.
//!
//! A name may not begin with a dash, and upstream's would for `::/126`; ours begins with the zero
//! that the address could have been written with.

use std::net::IpAddr;

use ipnet::IpNet;

/// The name of the IPPool of a range. Start and end play no part: two networks with the same
/// range share one pool.
pub fn pool_name(network_name: &str, range: IpNet) -> String {
    named(network_name, &range.trunc().to_string())
}

/// The name of the IPPool of one node's slice.
pub fn slice_pool_name(network_name: &str, node: &str, slice: IpNet) -> String {
    named(network_name, &format!("{node}-{}", slice.trunc()))
}

/// The name of the reservation of an address. Reservations of networks with different names do
/// not see each other.
pub fn reservation_name(network_name: &str, address: IpAddr) -> String {
    let mut text = address.to_string();
    if text.ends_with(':') {
        text.push('0');
    }
    named(network_name, &text)
}

/// The address a reservation is for; `None` when the name is none of that network's.
pub fn reservation_address(network_name: &str, name: &str) -> Option<IpAddr> {
    let text = match network_name {
        "" => name,
        _ => name.strip_prefix(network_name)?.strip_prefix('-')?,
    };
    if let Ok(v4) = text.parse::<std::net::Ipv4Addr>() {
        return Some(v4.into());
    }
    text.replace('-', ":").parse::<std::net::Ipv6Addr>().ok().map(IpAddr::V6)
}

fn named(network_name: &str, text: &str) -> String {
    let plain = text.replace([':', '/'], "-");
    match network_name {
        "" if plain.starts_with('-') => format!("0{plain}"),
        "" => plain,
        _ => format!("{network_name}-{plain}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools() {
        let cases = [
            ("", "172.17.0.0/24", "172.17.0.0-24"),
            ("", "172.17.0.5/24", "172.17.0.0-24"),
            ("", "2001:db8::/64", "2001-db8---64"),
            ("blue", "172.17.0.0/24", "blue-172.17.0.0-24"),
            ("", "::/126", "0---126"),
            ("blue", "::/126", "blue----126"),
        ];
        for (network, range, expected) in cases {
            assert_eq!(pool_name(network, range.parse().unwrap()), expected);
        }
        let slice = "10.0.4.0/24".parse().unwrap();
        assert_eq!(slice_pool_name("", "node-1", slice), "node-1-10.0.4.0-24");
        assert_eq!(slice_pool_name("n", "node-1", slice), "n-node-1-10.0.4.0-24");
    }

    #[test]
    fn reservations_read_as_they_are_named() {
        let cases = [
            ("", "172.17.0.30", "172.17.0.30"),
            ("", "fd00::1e", "fd00--1e"),
            ("", "fd00::", "fd00--0"),
            ("", "::5", "0--5"),
            ("", "::", "0--0"),
            ("blue-net", "fd00::", "blue-net-fd00--0"),
            ("blue", "10.0.0.1", "blue-10.0.0.1"),
        ];
        for (network, address, expected) in cases {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(reservation_name(network, address), expected);
            assert_eq!(reservation_address(network, expected), Some(address));
        }
        // As upstream writes it.
        assert_eq!(reservation_address("", "--5"), Some("::5".parse().unwrap()));
        assert_eq!(reservation_address("blue", "10.0.0.1"), None);
        assert_eq!(reservation_address("", "blue-10.0.0.1"), None);
    }
}
