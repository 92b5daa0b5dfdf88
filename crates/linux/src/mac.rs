//! Ethernet addresses.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An Ethernet address, written `02:00:5e:00:01:0a`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub struct MacAddr(pub [u8; 6]);

/// The text is not six octets in hexadecimal, separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an Ethernet address is six hexadecimal octets separated by colons")]
pub struct NotAMac;

impl MacAddr {
    /// The six octets, or nothing when the link layer is not Ethernet.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        <[u8; 6]>::try_from(bytes).ok().map(Self)
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, octet) in self.0.iter().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for MacAddr {
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

impl TryFrom<Cow<'_, str>> for MacAddr {
    type Error = NotAMac;

    fn try_from(text: Cow<'_, str>) -> Result<Self, NotAMac> {
        text.parse()
    }
}

impl From<MacAddr> for String {
    fn from(mac: MacAddr) -> Self {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_octets() {
        let mac: MacAddr = "02:00:5E:00:01:0a".parse().unwrap();
        assert_eq!(mac, MacAddr([2, 0, 0x5e, 0, 1, 10]));
        assert_eq!(mac.to_string(), "02:00:5e:00:01:0a");
        for wrong in
            ["", "02:00:5e:00:01", "02:00:5e:00:01:0a:0b", "2:0:5e:0:1:a", "02:00:5e:00:01:+a"]
        {
            assert_eq!(wrong.parse::<MacAddr>(), Err(NotAMac), "{wrong}");
        }
        assert_eq!(MacAddr::from_bytes(&[1, 2, 3, 4]), None);
    }
}
