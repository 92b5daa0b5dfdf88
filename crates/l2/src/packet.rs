//! Frames as bytes: Ethernet, ARP (RFC 826, 5227) and the two messages of NDP (RFC 4861) that matter
//! here.
//!
//! Decoders take anything: what is not exactly the expected frame is nothing.

pub mod arp;
pub mod ndp;

use std::fmt;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everybody on the link.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// Nobody: what a request has where the answer is to be.
    pub const ZERO: Self = Self([0; 6]);

    /// Whether a single station can have it.
    pub fn is_station(self) -> bool {
        self.0[0] & 1 == 0 && self != Self::ZERO
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

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The length of an Ethernet header without a tag: tagged frames reach the interface of their VLAN
/// without it.
const HEADER: usize = 14;

/// An Ethernet frame.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    destination: Mac,
    source: Mac,
    kind: u16,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, payload) = bytes.split_at_checked(HEADER)?;
        Some(Self {
            destination: mac(header, 0)?,
            source: mac(header, 6)?,
            kind: u16::from_be_bytes(octets(header, 12)?),
            payload,
        })
    }
}

fn header(destination: Mac, source: Mac, kind: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(96);
    bytes.extend(destination.0);
    bytes.extend(source.0);
    bytes.extend(kind.to_be_bytes());
    bytes
}

fn octets<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

fn mac(bytes: &[u8], at: usize) -> Option<Mac> {
    octets(bytes, at).map(Mac)
}
