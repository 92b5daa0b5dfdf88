//! ARP for IPv4 on Ethernet.

use std::net::Ipv4Addr;

use super::{Frame, Mac, header, mac, octets};

/// The EtherType of ARP.
pub const ETHER_TYPE: u16 = 0x0806;

/// What an ARP message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target address?
    Request,
    /// The sender has the sender's address.
    Reply,
}

/// An ARP message in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// Where the frame goes.
    pub destination: Mac,
    /// Where the frame comes from.
    pub source: Mac,
    /// Request or reply.
    pub operation: Operation,
    /// The Ethernet address that is told.
    pub sender_mac: Mac,
    /// The IP address that it belongs to.
    pub sender_ip: Ipv4Addr,
    /// Whose Ethernet address is asked for, where that is known.
    pub target_mac: Mac,
    /// Whose Ethernet address is asked for.
    pub target_ip: Ipv4Addr,
}

/// Hardware Ethernet, protocol IPv4, lengths 6 and 4.
const FIXED: [u8; 6] = [0, 1, 8, 0, 6, 4];

impl Arp {
    /// Reads a frame.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let frame = Frame::read(bytes)?;
        let body = frame.payload;
        if frame.kind != ETHER_TYPE || octets::<6>(body, 0)? != FIXED {
            return None;
        }
        let operation = match octets(body, 6)? {
            [0, 1] => Operation::Request,
            [0, 2] => Operation::Reply,
            _ => return None,
        };
        Some(Self {
            destination: frame.destination,
            source: frame.source,
            operation,
            sender_mac: mac(body, 8)?,
            sender_ip: octets::<4>(body, 14)?.into(),
            target_mac: mac(body, 18)?,
            target_ip: octets::<4>(body, 24)?.into(),
        })
    }

    /// The frame.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = header(self.destination, self.source, ETHER_TYPE);
        bytes.extend(FIXED);
        bytes.extend(match self.operation {
            Operation::Request => [0, 1],
            Operation::Reply => [0, 2],
        });
        bytes.extend(self.sender_mac.0);
        bytes.extend(self.sender_ip.octets());
        bytes.extend(self.target_mac.0);
        bytes.extend(self.target_ip.octets());
        bytes
    }

    /// The answer to a request, by who has the address.
    #[must_use]
    pub fn answer(&self, own: Mac) -> Self {
        Self {
            destination: self.sender_mac,
            source: own,
            operation: Operation::Reply,
            sender_mac: own,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        }
    }

    /// What tells everybody unasked where an address is: some stations listen to requests only,
    /// some to replies only, so both are sent.
    pub fn gratuitous(own: Mac, ip: Ipv4Addr) -> [Self; 2] {
        [Operation::Request, Operation::Reply].map(|operation| Self {
            destination: Mac::BROADCAST,
            source: own,
            operation,
            sender_mac: own,
            sender_ip: ip,
            target_mac: Mac::BROADCAST,
            target_ip: ip,
        })
    }
}
