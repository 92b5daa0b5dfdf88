//! Ethernet addresses, as Neutron writes them.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An Ethernet address, written `fa:16:3e:00:01:0a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

/// The text is not six octets in hexadecimal, separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an Ethernet address is six hexadecimal octets separated by colons")]
pub struct NotAMac;

impl Mac {
    /// The link-local address that a host with this one gives itself (RFC 4291, appendix A).
    pub fn link_local(self) -> Ipv6Addr {
        let mut half = [0, 0, 0, 0xff, 0xfe, 0, 0, 0];
        half[..3].copy_from_slice(&self.0[..3]);
        half[5..].copy_from_slice(&self.0[3..]);
        half[0] ^= 2;
        let half = u64::from_be_bytes(half);
        Ipv6Addr::from((0xfe80_u128 << 112) | u128::from(half))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, octet) in self.0.iter().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(NotAMac)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(NotAMac);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| NotAMac)?;
        }
        if parts.next().is_some() { Err(NotAMac) } else { Ok(Self(octets)) }
    }
}

impl TryFrom<String> for Mac {
    type Error = NotAMac;

    fn try_from(text: String) -> Result<Self, NotAMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_an_address_or_it_is_not() {
        let mac: Mac = "fa:16:3e:00:01:0A".parse().unwrap();
        assert_eq!(mac.to_string(), "fa:16:3e:00:01:0a");
        assert_eq!(mac.link_local().to_string(), "fe80::f816:3eff:fe00:10a");
        for wrong in
            ["", "fa:16:3e:00:01", "fa:16:3e:00:01:0a:0b", "fa-16-3e-00-01-0a", "+a:16:3e:00:01:0a"]
        {
            assert_eq!(wrong.parse::<Mac>(), Err(NotAMac), "{wrong}");
        }
    }
}
