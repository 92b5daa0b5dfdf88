//! UDP sockets for servers: many datagrams with one call, and answers that leave from the address the
//! question was sent to.
//!
//! A socket bound to a wildcard would answer from whatever address the route back prefers, and no
//! client takes an answer from an address it did not ask. So such a socket is told the destination
//! of each datagram (`IP_PKTINFO`) and hands it back as the source of the answer. A socket bound to
//! one address needs none of that, and does not pay for it.

mod batch;
mod raw;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;

use socket2::{Domain, Protocol, Socket, Type};

pub use self::batch::{Batch, Slot};
use self::raw::{Control, Name};

/// So many bytes of questions may wait; the system's limit may cut it down.
const BUFFER: usize = 4 << 20;

/// Which address and link a datagram was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The destination of the datagram.
    pub address: IpAddr,
    /// The number of the link it came in by.
    pub link: u32,
}

/// A UDP socket of a server.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Socket,
    local: SocketAddr,
    /// Whether the kernel says where each datagram was sent to.
    tells_arrival: bool,
}

impl DatagramSocket {
    /// Binds one. `shared` sockets of one process divide the datagrams of their address among them
    /// (`SO_REUSEPORT`).
    pub fn bind(local: SocketAddr, shared: bool) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if local.is_ipv6() {
            // IPv4 has sockets of its own.
            socket.set_only_v6(true)?;
        }
        if shared {
            socket.set_reuse_port(true)?;
        }
        // More than the system's limit is cut down by the kernel, without an error.
        socket.set_recv_buffer_size(BUFFER)?;
        let tells_arrival = local.ip().is_unspecified();
        if tells_arrival {
            raw::tell_arrival(socket.as_raw_fd(), local.is_ipv6())?;
        }
        socket.bind(&local.into())?;
        let local = socket.local_addr()?.as_socket().unwrap_or(local);
        Ok(Self { socket, local, tells_arrival })
    }

    /// Where it is bound.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends one datagram, from the address a question had come to; at once or not at all.
    pub fn send(&self, datagram: &[u8], to: SocketAddr, from: Option<Arrival>) -> io::Result<()> {
        let name = Name::of(to);
        let control = from.filter(|_| self.tells_arrival).map(Control::from_source);
        raw::send(self.socket.as_raw_fd(), datagram, &name, control.as_ref())
    }

    /// Wakes every thread that waits in [`Batch::receive`], for good: it then returns 0 at once.
    pub fn close_for_reading(&self) {
        // The kernel says "not connected", and wakes the readers nevertheless.
        let _ = self.socket.shutdown(std::net::Shutdown::Read);
    }
}

#[cfg(test)]
mod tests;
