//! Sockets of the link layer: whole frames of one kind, on one link.
//!
//! The kernel filters: a socket for ARP never sees anything else, and one for neighbour discovery is
//! not woken by every packet of IPv6. What the node itself sends is not seen.

use std::io;

use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, SockFilter, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::link::LinkIndex;

/// The longest frame that is read; what is asked for is shorter.
const FRAME: usize = 2048;
/// So much may wait: requests for a thousand addresses at once.
const BUFFER: usize = 1 << 20;

/// Which frames a socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// ARP.
    Arp,
    /// Neighbour solicitations and advertisements.
    NeighbourDiscovery,
    /// What clients of DHCP say. Also on a port of a bridge, before the bridge has it.
    DhcpClients,
}

const ETH_ARP: u16 = 0x0806;
const ETH_IPV4: u32 = 0x0800;
const ETH_IPV6: u16 = 0x86dd;
/// Everything, as it arrives: a bridge takes frames before those are asked who want one kind.
const ETH_ALL: u16 = 3;

impl Frames {
    fn ether_type(self) -> u16 {
        match self {
            Self::Arp => ETH_ARP,
            Self::NeighbourDiscovery => ETH_IPV6,
            Self::DhcpClients => ETH_ALL,
        }
    }

    /// In the kernel's old filter language (BPF); nothing where the EtherType says it all.
    fn filter(self) -> Option<Vec<SockFilter>> {
        // Load a byte, or two; jump if equal, else so many lines; return so many bytes.
        let byte = |at| SockFilter::new(0x30, 0, 0, at);
        let half = |at| SockFilter::new(0x28, 0, 0, at);
        let equal = |value, then, otherwise| SockFilter::new(0x15, then, otherwise, value);
        let pass = |bytes| SockFilter::new(0x06, 0, 0, bytes);
        let (next_header, kind) = (20, 54);
        let (icmp, solicitation, advertisement) = (58, 135, 136);
        let (ether_type, first, fragment, protocol, to) = (12, 14, 20, 23, 36);
        let (plain, udp, server) = (0x45, 17, 67);
        match self {
            Self::Arp => None,
            Self::NeighbourDiscovery => Some(vec![
                byte(next_header),
                equal(icmp, 0, 4),
                byte(kind),
                equal(solicitation, 1, 0),
                equal(advertisement, 0, 1),
                pass(u32::MAX),
                pass(0),
            ]),
            Self::DhcpClients => Some(vec![
                half(ether_type),
                equal(ETH_IPV4, 0, 9),
                // Without options, and in one piece: that is how clients send.
                byte(first),
                equal(plain, 0, 7),
                half(fragment),
                // Any fragment but the only one has a bit among these set; "do not split" is none of them.
                SockFilter::new(0x45, 5, 0, 0x3fff),
                byte(protocol),
                equal(udp, 0, 3),
                half(to),
                equal(server, 0, 1),
                pass(u32::MAX),
                pass(0),
            ]),
        }
    }
}

/// A socket for frames of one kind on one link.
#[derive(Debug)]
pub struct PacketSocket {
    socket: AsyncFd<Socket>,
}

impl PacketSocket {
    /// Opens one on a link of the calling thread's namespace. Needs `CAP_NET_RAW` there, and a
    /// runtime.
    pub fn open(link: LinkIndex, frames: Frames) -> io::Result<Self> {
        // Without a protocol nothing is received until the socket is bound, so nothing of other links.
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(Protocol::from(0)))?;
        if let Some(filter) = frames.filter() {
            socket.attach_filter(&filter)?;
        }
        // More than the system's limit is cut down by the kernel, without an error.
        socket.set_recv_buffer_size(BUFFER)?;
        socket.set_send_buffer_size(BUFFER)?;
        socket.bind(&link_address(link, frames.ether_type())?)?;
        // Deprecated because a type may change its descriptor behind tokio's back; this one owns
        // one descriptor from its first to its last moment.
        #[expect(deprecated, reason = "the socket never changes its descriptor")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        Ok(Self { socket })
    }

    /// The next frame. Dropping the future loses nothing.
    pub async fn receive(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.socket.readable().await?;
            let read = ready.try_io(|socket| {
                let mut buffer = [0; FRAME];
                let length = io::Read::read(&mut socket.get_ref(), &mut buffer)?;
                Ok(buffer.get(..length).unwrap_or_default().to_vec())
            });
            if let Ok(outcome) = read {
                return outcome;
            }
        }
    }

    /// Sends a frame, at once or not at all: what does not fit into the queue is lost, as on any wire.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.socket.get_ref().send(frame).map(drop)
    }
}

/// The kernel's `sockaddr_ll`.
#[repr(C)]
struct LinkAddress {
    family: u16,
    protocol: u16,
    index: i32,
    hardware: u16,
    kind: u8,
    length: u8,
    address: [u8; 8],
}

const AF_PACKET: u16 = 17;

#[expect(unsafe_code, reason = "socket2 has no safe way to write an address of this family")]
fn link_address(link: LinkIndex, ether_type: u16) -> io::Result<SockAddr> {
    let index = i32::try_from(link.0).map_err(io::Error::other)?;
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: LinkAddress is made of integers without padding, is smaller than the storage and not
    // aligned more strictly, and any bytes are valid for it.
    let address = unsafe { storage.view_as::<LinkAddress>() };
    address.family = AF_PACKET;
    address.protocol = ether_type.to_be();
    address.index = index;
    let length = u32::try_from(size_of::<LinkAddress>()).map_err(io::Error::other)?;
    // SAFETY: the storage holds an address of that family and of that length.
    Ok(unsafe { SockAddr::new(storage, length) })
}
