//! Connections that the kernel follows (conntrack): listed and forgotten.
//!
//! A connection whose destination was translated keeps going where its first packet went, whatever the
//! rules say since. Forgetting it makes its next packet a first one again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NlasIterator};
use netlink_sys::{Socket, SocketAddr as NetlinkAddress, protocols::NETLINK_NETFILTER};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use crate::connection::read_datagram;

const PATIENCE: Duration = Duration::from_secs(30);
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_…`
const GET: u16 = 0x0101;
const DELETE: u16 = 0x0102;
/// Types of messages that every netlink family has.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Attributes of a connection (`CTA_…`).
const ORIGINAL: u16 = 1;
const REPLY: u16 = 2;
const ID: u16 = 12;
/// Attributes of a direction, its addresses and its ports.
const ADDRESSES: u16 = 1;
const PROTOCOL: u16 = 2;
const NUMBER: u16 = 1;
const FROM_PORT: u16 = 2;
const TO_PORT: u16 = 3;
const NESTED: u16 = 0x8000;
const HEADER: usize = 16;
/// Family, version and a number that is always 0.
const FAMILY: usize = 4;

/// One direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    pub from: SocketAddr,
    pub to: SocketAddr,
}

/// A connection, of TCP or UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// As IP numbers them: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// As the client sent it.
    pub original: Direction,
    /// As the answers come, before they are translated back: `from` is who really answers.
    pub reply: Direction,
    /// The attributes that name it to the kernel.
    name: Vec<u8>,
}

impl Flow {
    /// Who answers in the place of whom the client asked, if somebody else does.
    pub fn stand_in(&self) -> Option<SocketAddr> {
        (self.reply.from != self.original.to).then_some(self.reply.from)
    }
}

/// The connections of one namespace.
pub struct Conntrack {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Conntrack {
    /// Opens those of the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&NetlinkAddress::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, buffer: Vec::new() })
    }

    /// All connections that have ports.
    pub fn flows(&mut self) -> io::Result<Vec<Flow>> {
        let mut flows = Vec::new();
        self.send(GET, NLM_F_DUMP, libc_family(None), &[])?;
        self.receive(|body| flows.extend(decode(body)))?;
        Ok(flows)
    }

    /// Forgets a connection, and says whether it was there.
    pub fn forget(&mut self, flow: &Flow) -> io::Result<bool> {
        self.send(DELETE, NLM_F_ACK, libc_family(Some(flow.original.from.ip())), &flow.name)?;
        match self.receive(|_| ()) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOENT.raw_os_error()) => {
                Ok(false)
            }
            outcome => outcome.map(|()| true),
        }
    }

    fn send(&mut self, kind: u16, flags: u16, family: u8, attributes: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let length = HEADER + FAMILY + attributes.len();
        let mut message = Vec::with_capacity(length);
        let too_long = |_| io::Error::other("a request is too long");
        message.extend_from_slice(&u32::try_from(length).map_err(too_long)?.to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0_u32.to_ne_bytes());
        message.extend_from_slice(&[family, 0, 0, 0]);
        message.extend_from_slice(attributes);
        self.socket.send(&message, 0).map(drop)
    }

    /// Reads until the end of the list or the acknowledgement.
    fn receive(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            read_datagram(&self.socket, &mut self.buffer)?;
            let mut rest = &self.buffer[..];
            while let Some((header, body, next)) = message(rest) {
                rest = next;
                if header.sequence != self.sequence {
                    continue; // what is left of a question that was given up
                }
                match header.kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let code = body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return if code == 0 {
                            Ok(())
                        } else {
                            Err(io::Error::from_raw_os_error(code.saturating_neg()))
                        };
                    }
                    _ => each(body.get(FAMILY..).unwrap_or_default()),
                }
            }
        }
    }
}

struct Header {
    kind: u16,
    sequence: u32,
}

/// The first message of some, its body, and the rest.
fn message(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(*bytes.first_chunk()?)).ok()?;
    let whole = bytes.get(..length).filter(|whole| whole.len() >= HEADER)?;
    let kind = u16::from_ne_bytes(*whole.get(4..)?.first_chunk()?);
    let sequence = u32::from_ne_bytes(*whole.get(8..)?.first_chunk()?);
    let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((Header { kind, sequence }, &whole[HEADER..], rest))
}

/// The number of a family: of all of them, or of an address.
fn libc_family(ip: Option<IpAddr>) -> u8 {
    match ip {
        None => 0,
        Some(IpAddr::V4(_)) => 2,
        Some(IpAddr::V6(_)) => 10,
    }
}

fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let all = NlasIterator::new(bytes).map_while(Result::ok);
    all.map(|nla| {
        let start = nla.value().as_ptr() as usize - bytes.as_ptr() as usize;
        (nla.kind() & !NESTED, &bytes[start..start + nla.value().len()])
    })
}

fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

fn decode(body: &[u8]) -> Option<Flow> {
    let (original, reply) = (find(body, ORIGINAL)?, find(body, REPLY)?);
    let (protocol, there) = direction(original)?;
    let (_, back) = direction(reply)?;
    let mut name = encode(ORIGINAL | NESTED, original);
    if let Some(id) = find(body, ID) {
        name.extend(encode(ID, id));
    }
    Some(Flow { protocol, original: there, reply: back, name })
}

fn direction(bytes: &[u8]) -> Option<(u8, Direction)> {
    let (addresses, ports) = (find(bytes, ADDRESSES)?, find(bytes, PROTOCOL)?);
    let v4 = |kind| Some(IpAddr::from(*find(addresses, kind)?.first_chunk::<4>()?));
    let v6 = |kind| Some(IpAddr::from(*find(addresses, kind)?.first_chunk::<16>()?));
    let (from, to) = v4(1).zip(v4(2)).or_else(|| v6(3).zip(v6(4)))?;
    let port = |kind| Some(u16::from_be_bytes(*find(ports, kind)?.first_chunk()?));
    let number = *find(ports, NUMBER)?.first()?;
    let direction = Direction {
        from: SocketAddr::new(from, port(FROM_PORT)?),
        to: SocketAddr::new(to, port(TO_PORT)?),
    };
    Some((number, direction))
}

fn encode(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    let mut bytes = Vec::with_capacity(value.len() + 4);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Vec<u8> {
        let direction = |from: [u8; 4], to: [u8; 4], ports: [u16; 2]| {
            let mut addresses = encode(1, &from);
            addresses.extend(encode(2, &to));
            let mut protocol = encode(NUMBER, &[17]);
            protocol.extend(encode(FROM_PORT, &ports[0].to_be_bytes()));
            protocol.extend(encode(TO_PORT, &ports[1].to_be_bytes()));
            let mut both = encode(ADDRESSES | NESTED, &addresses);
            both.extend(encode(PROTOCOL | NESTED, &protocol));
            both
        };
        let mut body =
            encode(ORIGINAL | NESTED, &direction([10, 0, 0, 1], [10, 96, 0, 1], [4000, 53]));
        body.extend(encode(REPLY | NESTED, &direction([10, 0, 1, 5], [10, 0, 0, 1], [5353, 4000])));
        body.extend(encode(ID, &[1, 2, 3, 4]));
        body
    }

    #[test]
    fn a_translated_connection_says_who_answers() {
        let flow = decode(&flow()).unwrap();
        assert_eq!(flow.protocol, 17);
        assert_eq!(flow.original.to, "10.96.0.1:53".parse().unwrap());
        assert_eq!(flow.stand_in(), Some("10.0.1.5:5353".parse().unwrap()));
    }

    #[test]
    fn cut_answers_are_no_connections_and_no_panic() {
        let whole = flow();
        for end in 0..whole.len() {
            let _ = decode(&whole[..end]);
        }
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] = 255;
            let _ = decode(&wrong);
        }
        assert!(message(&[255; 64]).is_none());
    }
}
