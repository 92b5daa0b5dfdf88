//! The servers that a resolv.conf names.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use crate::settings::Upstream;

/// The port of DNS.
const PORT: u16 = 53;

/// Reads the `nameserver` lines. Whatever else stands there is for resolvers, not for servers.
pub fn servers(text: &str) -> Vec<Upstream> {
    text.lines().filter_map(server).collect()
}

fn server(line: &str) -> Option<Upstream> {
    let mut words = line.split_whitespace();
    if words.next() != Some("nameserver") {
        return None;
    }
    let (address, zone) = match words.next()?.split_once('%') {
        Some((address, zone)) => (address.to_owned(), Some(zone.to_owned())),
        None => (line.split_whitespace().nth(1)?.to_owned(), None),
    };
    let address = match address.parse().ok()? {
        IpAddr::V6(address) => {
            // An address of one link, with the number or the name of the link.
            let scope = zone.as_ref().and_then(|zone| zone.parse().ok()).unwrap_or(0);
            SocketAddrV6::new(address, PORT, 0, scope).into()
        }
        address @ IpAddr::V4(_) => SocketAddr::new(address, PORT),
    };
    let interface = zone.filter(|zone| zone.parse::<u32>().is_err());
    Some(Upstream { address, source: None, interface })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nameservers_count() {
        let text = "# made by somebody\nsearch example.com\nnameserver 192.0.2.1\n\
                    nameserver\t2001:db8::1 # a remark\nnameserver fe80::1%eth0\nnameserver fe80::2%3\n\
                    nameserver none\nnameserver\noptions ndots:5\n";
        let read: Vec<(String, Option<String>)> =
            servers(text).into_iter().map(|up| (up.address.to_string(), up.interface)).collect();
        assert_eq!(
            read,
            [
                ("192.0.2.1:53".to_owned(), None),
                ("[2001:db8::1]:53".to_owned(), None),
                ("[fe80::1]:53".to_owned(), Some("eth0".to_owned())),
                ("[fe80::2%3]:53".to_owned(), None),
            ]
        );
    }
}
