//! The message on the wire.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::options::Options;

/// Bytes before the options: the fixed fields and the magic number.
const FIXED: usize = 240;
const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// Relays and old clients drop what is shorter.
const LEAST: usize = 300;
const BROADCAST: u8 = 0x80;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Discover,
    Offer,
    Request,
    Decline,
    Ack,
    Nak,
    Release,
    Inform,
}

const KINDS: [Kind; 8] = [
    Kind::Discover,
    Kind::Offer,
    Kind::Request,
    Kind::Decline,
    Kind::Ack,
    Kind::Nak,
    Kind::Release,
    Kind::Inform,
];

impl Kind {
    pub(crate) fn of(code: u8) -> Option<Self> {
        KINDS.get(usize::from(code.checked_sub(1)?)).copied()
    }

    pub(crate) fn code(self) -> u8 {
        // As declared: the discriminant is the place in the list.
        self as u8 + 1
    }
}

/// A message between a client and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub from_server: bool,
    /// What ties an answer to its question.
    pub transaction: u32,
    pub seconds: u16,
    /// Whether the client wants answers sent to everybody.
    pub broadcast: bool,
    pub client_address: Ipv4Addr,
    pub your_address: Ipv4Addr,
    pub relay: Ipv4Addr,
    pub mac: [u8; 6],
    pub options: Options,
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("the message ends too early")]
    Short,
    #[error("the message is no DHCP message over Ethernet")]
    NotDhcp,
    #[error("the message does not say what it is (option 53)")]
    NoKind,
    #[error("the message is of the unknown kind {0}")]
    Kind(u8),
    #[error("option {0} has an impossible length or value")]
    Option(u8),
}

impl Message {
    /// A question of a client.
    pub fn question(kind: Kind, transaction: u32, mac: [u8; 6]) -> Self {
        Self::new(kind, false, transaction, mac)
    }

    /// An answer of a server.
    pub fn reply(kind: Kind, transaction: u32, mac: [u8; 6]) -> Self {
        Self::new(kind, true, transaction, mac)
    }

    fn new(kind: Kind, from_server: bool, transaction: u32, mac: [u8; 6]) -> Self {
        Self {
            kind,
            from_server,
            transaction,
            seconds: 0,
            broadcast: false,
            client_address: Ipv4Addr::UNSPECIFIED,
            your_address: Ipv4Addr::UNSPECIFIED,
            relay: Ipv4Addr::UNSPECIFIED,
            mac,
            options: Options::default(),
        }
    }

    /// As bytes for a datagram.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(LEAST);
        out.extend_from_slice(&[if self.from_server { 2 } else { 1 }, 1, 6, 0]);
        out.extend_from_slice(&self.transaction.to_be_bytes());
        out.extend_from_slice(&self.seconds.to_be_bytes());
        out.extend_from_slice(&[if self.broadcast { BROADCAST } else { 0 }, 0]);
        let unspecified = Ipv4Addr::UNSPECIFIED;
        for address in [self.client_address, self.your_address, unspecified, self.relay] {
            out.extend_from_slice(&address.octets());
        }
        out.extend_from_slice(&self.mac);
        out.resize(FIXED - MAGIC.len(), 0);
        out.extend_from_slice(&MAGIC);
        self.options.encode(self.kind, &mut out);
        if out.len() < LEAST {
            out.resize(LEAST, 0);
        }
        out
    }

    /// Reads a datagram.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (fixed, options) = bytes.split_first_chunk::<FIXED>().ok_or(Malformed::Short)?;
        let from_server = match fixed[0] {
            1 => false,
            2 => true,
            _ => return Err(Malformed::NotDhcp),
        };
        if fixed[1..3] != [1, 6] || fixed[FIXED - 4..] != MAGIC {
            return Err(Malformed::NotDhcp);
        }
        let address =
            |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        let mut mac = [0; 6];
        mac.copy_from_slice(&fixed[28..34]);
        let (kind, options) = Options::decode(options)?;
        Ok(Self {
            kind,
            from_server,
            transaction: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            seconds: u16::from_be_bytes([fixed[8], fixed[9]]),
            broadcast: fixed[10] & BROADCAST != 0,
            client_address: address(12),
            your_address: address(16),
            relay: address(24),
            mac,
            options,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut message = Message::reply(Kind::Ack, 0xdead_beef, [2, 1, 2, 3, 4, 5]);
        message.your_address = Ipv4Addr::new(192, 0, 2, 7);
        message.broadcast = true;
        message.seconds = 9;
        message.options = Options {
            mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            routers: vec![Ipv4Addr::new(192, 0, 2, 1)],
            resolvers: vec![Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 3)],
            host_name: Some("worker-0".into()),
            domain: Some("example.org".into()),
            mtu: Some(9000),
            requested: Some(Ipv4Addr::new(192, 0, 2, 7)),
            lease_seconds: Some(600),
            server: Some(Ipv4Addr::new(192, 0, 2, 1)),
            message: Some("no".into()),
            renew_seconds: Some(300),
            rebind_seconds: Some(500),
            client: Some(vec![1, 2, 3]),
            // Enough of them to need two parts.
            classless_routes: (0..31)
                .map(|n| (format!("10.0.{n}.0/24").parse().unwrap(), Ipv4Addr::new(192, 0, 2, 1)))
                .collect(),
            wishes: true,
        };
        let bytes = message.encode();
        assert!(bytes.len() > 240 + 31 * 8);
        assert_eq!(Message::decode(&bytes).unwrap(), message);
    }

    #[test]
    fn names_that_no_file_should_hold_are_left_out() {
        let mut message = Message::reply(Kind::Offer, 1, [0; 6]);
        message.options.domain = Some("evil\nnameserver 203.0.113.1".into());
        assert_eq!(Message::decode(&message.encode()).unwrap().options.domain, None);
    }

    #[test]
    fn wrong_bytes_are_named() {
        let good = Message::question(Kind::Discover, 1, [0; 6]).encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            Message::decode(&bytes).unwrap_err()
        };
        assert_eq!(Message::decode(&good[..200]), Err(Malformed::Short));
        assert_eq!(with(0, 3), Malformed::NotDhcp);
        assert_eq!(with(239, 0), Malformed::NotDhcp);
        assert_eq!(with(242, 9), Malformed::Kind(9));
        assert_eq!(with(241, 5), Malformed::Option(53));
        assert_eq!(with(240, 1), Malformed::Option(1));
        assert_eq!(with(240, 255), Malformed::NoKind);
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer(start in any::<bool>(), tail in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut bytes = Vec::new();
            if start {
                let good = Message::question(Kind::Request, 1, [0; 6]).encode();
                bytes.extend_from_slice(&good[..FIXED]);
            }
            bytes.extend_from_slice(&tail);
            if let Ok(message) = Message::decode(&bytes) {
                // What was understood can be said again.
                prop_assert_eq!(Message::decode(&message.encode()).map(|m| m.kind), Ok(message.kind));
            }
        }
    }
}
