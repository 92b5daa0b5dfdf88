//! Datagrams of DHCP inside Ethernet frames (RFC 791, 768): a server at a tap has no address of its own
//! to send from, so it writes whole frames.

use std::net::Ipv4Addr;

const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const SERVER: u16 = 67;
const CLIENT: u16 = 68;
const IS_UDP: u8 = 17;
const LIVES: u8 = 64;

/// Where a frame goes, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub to_mac: [u8; 6],
    pub from_mac: [u8; 6],
    pub to: Ipv4Addr,
    pub from: Ipv4Addr,
}

/// What a client says to servers; nothing for any other frame. The checksum is not looked at: on a virtual
/// wire it is often not computed.
pub fn read(frame: &[u8]) -> Option<&[u8]> {
    let packet = frame.get(ETHERNET..)?;
    let is_ip = frame.get(12..14)? == [8, 0] && *packet.first()? == 0x45;
    let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
    if !is_ip || fragment || *packet.get(9)? != IS_UDP {
        return None;
    }
    let datagram = packet.get(IP..)?;
    let port = u16::from_be_bytes([*datagram.get(2)?, *datagram.get(3)?]);
    let length = usize::from(u16::from_be_bytes([*datagram.get(4)?, *datagram.get(5)?]));
    // Short frames are filled up; the datagram knows where it ends.
    (port == SERVER).then(|| datagram.get(UDP..length))?
}

/// The frame that brings a server's answer.
pub fn write(ends: &Ends, payload: &[u8]) -> Option<Vec<u8>> {
    let udp_length = u16::try_from(UDP + payload.len()).ok()?;
    let length = udp_length.checked_add(20)?;
    let mut frame = Vec::with_capacity(ETHERNET + usize::from(length));
    frame.extend(ends.to_mac);
    frame.extend(ends.from_mac);
    frame.extend([8, 0]);
    let [l0, l1] = length.to_be_bytes();
    let mut header = vec![0x45, 0, l0, l1, 0, 0, 0, 0, LIVES, IS_UDP, 0, 0];
    header.extend(ends.from.octets());
    header.extend(ends.to.octets());
    let sum = checksum(&header);
    header.splice(10..12, sum.to_be_bytes());
    frame.extend(header);
    for field in [SERVER, CLIENT, udp_length, 0] {
        frame.extend(field.to_be_bytes());
    }
    frame.extend(payload);
    Some(frame)
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| {
        u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]))
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> Ends {
        Ends {
            to_mac: [0xfa, 0x16, 0x3e, 1, 2, 3],
            from_mac: [0x0e, 0, 0, 0, 0, 1],
            to: Ipv4Addr::BROADCAST,
            from: Ipv4Addr::new(172, 24, 0, 1),
        }
    }

    #[test]
    fn an_answer_has_the_right_lengths_and_checksum() {
        let frame = write(&ends(), b"hello").unwrap();
        assert_eq!(frame.len(), 14 + 20 + 8 + 5);
        assert_eq!(frame[16..18], [0, 33]);
        assert_eq!(checksum(&frame[14..34]), 0, "a header with its checksum sums up to nothing");
        assert_eq!(frame[34..38], [0, 67, 0, 68]);
        assert_eq!(frame[38..40], [0, 13]);
        assert!(write(&ends(), &vec![0; 70_000]).is_none());
    }

    #[test]
    fn only_what_clients_say_is_read() {
        let mut frame = write(&ends(), b"hello").unwrap();
        assert_eq!(read(&frame), None, "it is for clients");
        frame.splice(34..38, [0, 68, 0, 67]);
        assert_eq!(read(&frame), Some(&b"hello"[..]));
        frame.extend([0; 20]);
        assert_eq!(read(&frame), Some(&b"hello"[..]), "what fills it up is not part of it");
        for end in 0..42 {
            assert_eq!(read(&frame[..end]), None, "{end}");
        }
        for (place, byte) in [(12, 0x86), (14, 0x46), (20, 0x20), (23, 6), (37, 68)] {
            let mut other = frame.clone();
            other[place] = byte;
            assert_eq!(read(&other), None, "{place}");
        }
        let mut short = frame.clone();
        short.splice(38..40, [0, 3]);
        assert_eq!(read(&short), None, "shorter than its own header");
        short.splice(38..40, [1, 3]);
        assert_eq!(read(&short), None, "longer than the frame");
    }
}
