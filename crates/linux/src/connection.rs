//! One question to the kernel and its answers, over a blocking netlink socket.
//!
//! A netlink socket belongs to the namespace it was opened in, whichever thread uses it later.
//! Every request asks for an acknowledgement, so an answer ends with that or with the end of the list.

use std::io;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::net::RecvFlags;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// The kernel sends at most 32 KiB of a list at once; a single answer is far smaller.
const BUFFER: usize = 64 * 1024;
/// The kernel answers while we send; a silence this long is a fault.
const PATIENCE: Duration = Duration::from_secs(30);
/// The attribute of an acknowledgement that holds the kernel's words (`NLMSGERR_ATTR_MSG`).
const MESSAGE: u16 = 1;

pub(crate) struct Connection {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused {
        errno: i32,
        message: Option<String>,
    },
    Socket(io::Error),
    Malformed(String),
    /// The list changed while it was read.
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl Connection {
    /// Opens a socket in the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Both only make errors say more; a kernel without them still works.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, buffer: Vec::with_capacity(BUFFER) })
    }

    /// Sends a request and reads its acknowledgement, with what comes before it.
    pub(crate) fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, Failure> {
        self.send(message, flags | NLM_F_ACK)?;
        self.receive()
    }

    /// Reads a whole list.
    pub(crate) fn dump(
        &mut self,
        message: RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, Failure> {
        self.send(message, NLM_F_DUMP)?;
        self.receive()
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    fn receive(&mut self) -> Result<Vec<RouteNetlinkMessage>, Failure> {
        let mut answers = Vec::new();
        let mut unreadable = None;
        let mut interrupted = false;
        loop {
            read_datagram(&self.socket, &mut self.buffer)?;
            for frame in Frames(&self.buffer) {
                let header = frame.header()?;
                if header.sequence_number != self.sequence {
                    continue; // what is left of a question that was given up
                }
                interrupted |= header.flags & NLM_F_DUMP_INTR != 0;
                match frame.decode() {
                    Ok(NetlinkPayload::InnerMessage(answer)) => answers.push(answer),
                    Ok(NetlinkPayload::Error(error)) if error.code.is_some() => {
                        let errno = error.raw_code().saturating_neg();
                        return Err(Failure::Refused {
                            errno,
                            message: words(&header, &error.header),
                        });
                    }
                    Ok(NetlinkPayload::Done(done)) if done.code < 0 => {
                        return Err(Failure::Refused {
                            errno: done.code.saturating_neg(),
                            message: None,
                        });
                    }
                    Ok(NetlinkPayload::Error(_) | NetlinkPayload::Done(_)) => {
                        return match unreadable {
                            Some(reason) => Err(Failure::Malformed(reason)),
                            None if interrupted => Err(Failure::Interrupted),
                            None => Ok(answers),
                        };
                    }
                    Ok(_) => {}
                    // Read on to the end, so that the next question finds an empty socket.
                    Err(reason) => unreadable = Some(reason),
                }
            }
        }
    }
}

/// Reads one datagram that the kernel itself sent.
pub(crate) fn read_datagram(socket: &Socket, buffer: &mut Vec<u8>) -> io::Result<()> {
    let flags = RecvFlags::TRUNC.bits().cast_signed();
    loop {
        buffer.clear();
        buffer.reserve(BUFFER);
        let (length, sender) = match socket.recv_from(buffer, flags) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if sender.port_number() != 0 {
            continue; // another process; only the kernel is believed
        }
        if length > buffer.len() {
            return Err(io::Error::other(format!("a message of {length} bytes does not fit")));
        }
        return Ok(());
    }
}

/// The messages of one datagram.
pub(crate) struct Frames<'a>(pub(crate) &'a [u8]);

/// One message, not yet read.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a>(&'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let length = u32::from_ne_bytes(*self.0.first_chunk()?) as usize;
        if length < 16 || length > self.0.len() {
            return None;
        }
        let (frame, rest) = self.0.split_at(length);
        self.0 = rest.get(length.next_multiple_of(4) - length..).unwrap_or_default();
        Some(Frame(frame))
    }
}

impl Frame<'_> {
    fn header(self) -> Result<NetlinkHeader, Failure> {
        use netlink_packet_core::{NetlinkBuffer, Parseable};
        NetlinkBuffer::new_checked(&self.0)
            .and_then(|buffer| NetlinkHeader::parse(&buffer))
            .map_err(|error| Failure::Malformed(error.to_string()))
    }

    pub(crate) fn decode(self) -> Result<NetlinkPayload<RouteNetlinkMessage>, String> {
        match NetlinkMessage::deserialize(&crate::link::lean(self.0)) {
            Ok(message) => Ok(message.payload),
            Err(error) => Err(chain(&error)),
        }
    }
}

/// The kernel's own words in an acknowledgement: behind the header of the refused request.
fn words(header: &NetlinkHeader, payload: &[u8]) -> Option<String> {
    if header.flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let length = u32::from_ne_bytes(*payload.first_chunk()?) as usize;
    // A capped acknowledgement quotes only the request's header (16 bytes).
    let capped = header.flags & netlink_packet_core::NLM_F_CAPPED != 0;
    let start = if capped { 16 } else { length.next_multiple_of(4) };
    NlasIterator::new(payload.get(start..)?)
        .filter_map(std::result::Result::ok)
        .find(|nla| nla.kind() == MESSAGE)
        .map(|nla| String::from_utf8_lossy(nla.value()).trim_end_matches('\0').to_owned())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_never_run_past_the_datagram() {
        let mut bytes = Vec::new();
        for length in [17_u32, 16] {
            let start = bytes.len();
            bytes.extend_from_slice(&length.to_ne_bytes());
            bytes.resize((start + length as usize).next_multiple_of(4), 0);
        }
        assert_eq!(Frames(&bytes).map(|frame| frame.0.len()).collect::<Vec<_>>(), [17, 16]);
        for cut in 0..bytes.len() {
            for frame in Frames(&bytes[..cut]) {
                let _ = frame.decode();
            }
        }
        for wrong in [0_u32, 15, 1000, u32::MAX] {
            let mut bytes = wrong.to_ne_bytes().to_vec();
            bytes.resize(64, 0);
            assert_eq!(Frames(&bytes).count(), 0, "{wrong}");
        }
    }
}
