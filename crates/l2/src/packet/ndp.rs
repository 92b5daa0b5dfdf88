//! Neighbour discovery for IPv6: solicitations, advertisements, and the groups they are sent to.

use std::net::Ipv6Addr;

use super::{Frame, HEADER, Mac, header, octets};

/// The EtherType of IPv6.
pub const ETHER_TYPE: u16 = 0x86dd;

const ICMP: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_MAC: u8 = 1;
const TARGET_MAC: u8 = 2;
/// NDP is of the link: whatever was routed is not.
const HOPS: u8 = 255;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
/// The header of IPv6.
const IPV6: usize = 40;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Where the byte of a frame is that says what kind of ICMP it holds, for a filter in the kernel.
pub const TYPE_AT: usize = HEADER + IPV6;
/// Where the next header of IPv6 is in a frame.
pub const NEXT_HEADER_AT: usize = HEADER + 6;
/// ICMPv6 as a next header.
pub const NEXT_HEADER: u8 = ICMP;
/// A solicitation.
pub const SOLICITATION_TYPE: u8 = SOLICITATION;
/// An advertisement.
pub const ADVERTISEMENT_TYPE: u8 = ADVERTISEMENT;

/// Who has the target address?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// Who asks.
    pub source: Ipv6Addr,
    /// The Ethernet address of who asks; a station that looks for a double of its address has none.
    pub source_mac: Option<Mac>,
    /// Which address is asked for.
    pub target: Ipv6Addr,
}

/// The target address is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The Ethernet address the frame goes to.
    pub destination_mac: Mac,
    /// The address the packet goes to.
    pub destination: Ipv6Addr,
    /// The sender's own address on the link.
    pub source: Ipv6Addr,
    /// The Ethernet address of the target.
    pub mac: Mac,
    /// The address that is told.
    pub target: Ipv6Addr,
    /// Whether it answers a solicitation.
    pub solicited: bool,
    /// Whether it replaces what was known.
    pub overrides: bool,
}

/// The group in which solicitations of an address are sent.
pub fn solicited_node(ip: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = ip.octets();
    Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// The Ethernet address of a group.
pub fn group_mac(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    Mac([0x33, 0x33, a, b, c, d])
}

/// The packet inside a frame: addresses and the ICMP message, checked.
struct Packet<'a> {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    message: &'a [u8],
}

fn packet<'a>(frame: &Frame<'a>) -> Option<Packet<'a>> {
    let (head, rest) = frame.payload.split_at_checked(IPV6)?;
    let length = usize::from(u16::from_be_bytes(octets(head, 4)?));
    let right = frame.kind == ETHER_TYPE && head[0] >> 4 == 6 && head[6] == ICMP && head[7] == HOPS;
    let message = rest.get(..length).filter(|_| right)?;
    let source = Ipv6Addr::from(octets::<16>(head, 8)?);
    let destination = Ipv6Addr::from(octets::<16>(head, 24)?);
    // The sum over a message with its checksum in place is zero.
    (checksum(source, destination, message) == 0).then_some(Packet { source, destination, message })
}

/// The value of an option, which is `kind`, length in units of eight bytes, value.
fn option(mut options: &[u8], wanted: u8) -> Option<Mac> {
    while let [kind, length, ..] = *options {
        let length = usize::from(length) * 8;
        if length == 0 {
            return None;
        }
        let (this, rest) = options.split_at_checked(length)?;
        if kind == wanted {
            return super::mac(this, 2);
        }
        options = rest;
    }
    None
}

impl Solicitation {
    /// Reads a frame.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let packet = packet(&Frame::read(bytes)?)?;
        let (&kind, target) = (packet.message.first()?, octets::<16>(packet.message, 8)?);
        let target = Ipv6Addr::from(target);
        if kind != SOLICITATION || target.is_multicast() {
            return None;
        }
        let options = packet.message.get(24..)?;
        let source_mac = option(options, SOURCE_MAC);
        Some(Self { source: packet.source, source_mac, target })
    }

    /// The frame that asks a group, as a station does; for tests and probes.
    pub fn write(&self, own: Mac) -> Vec<u8> {
        let group = solicited_node(self.target);
        let mut message = vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
        message.extend(self.target.octets());
        if let Some(mac) = self.source_mac {
            message.extend([SOURCE_MAC, 1]);
            message.extend(mac.0);
        }
        frame(group_mac(group), own, self.source, group, message)
    }
}

impl Advertisement {
    /// The answer to a solicitation. Where another station answers too, the kernel of who asked
    /// keeps the first: an answer does not override.
    pub fn answer(asked: &Solicitation, to: Mac, own: Mac, source: Ipv6Addr) -> Self {
        Self {
            destination_mac: to,
            destination: asked.source,
            source,
            mac: own,
            target: asked.target,
            solicited: true,
            overrides: false,
        }
    }

    /// What tells everybody unasked where an address is.
    pub fn unsolicited(own: Mac, source: Ipv6Addr, target: Ipv6Addr) -> Self {
        Self {
            destination_mac: group_mac(ALL_NODES),
            destination: ALL_NODES,
            source,
            mac: own,
            target,
            solicited: false,
            overrides: true,
        }
    }

    /// Reads a frame.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let frame = Frame::read(bytes)?;
        let packet = packet(&frame)?;
        let target = Ipv6Addr::from(octets::<16>(packet.message, 8)?);
        if *packet.message.first()? != ADVERTISEMENT {
            return None;
        }
        let flags = *packet.message.get(4)?;
        Some(Self {
            destination_mac: frame.destination,
            destination: packet.destination,
            source: packet.source,
            mac: option(packet.message.get(24..)?, TARGET_MAC)?,
            target,
            solicited: flags & SOLICITED != 0,
            overrides: flags & OVERRIDE != 0,
        })
    }

    /// The frame.
    pub fn write(&self) -> Vec<u8> {
        let solicited = if self.solicited { SOLICITED } else { 0 };
        let overrides = if self.overrides { OVERRIDE } else { 0 };
        let mut message = vec![ADVERTISEMENT, 0, 0, 0, solicited | overrides, 0, 0, 0];
        message.extend(self.target.octets());
        message.extend([TARGET_MAC, 1]);
        message.extend(self.mac.0);
        frame(self.destination_mac, self.mac, self.source, self.destination, message)
    }
}

fn frame(
    to: Mac,
    from: Mac,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    mut message: Vec<u8>,
) -> Vec<u8> {
    let sum = checksum(source, destination, &message).to_be_bytes();
    if let Some(place) = message.get_mut(2..4) {
        place.copy_from_slice(&sum);
    }
    let mut bytes = header(to, from, ETHER_TYPE);
    bytes.extend([0x60, 0, 0, 0]);
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_be_bytes());
    bytes.extend([ICMP, HOPS]);
    bytes.extend(source.octets());
    bytes.extend(destination.octets());
    bytes.extend(message);
    bytes
}

/// The checksum of ICMPv6 over its pseudo header (RFC 8200, 8.1).
fn checksum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let mut sum = u64::from(ICMP) + message.len() as u64;
    let words = source.octets().into_iter().chain(destination.octets());
    let mut high = true;
    for octet in words.chain(message.iter().copied()) {
        sum += if high { u64::from(octet) << 8 } else { u64::from(octet) };
        high = !high;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}
