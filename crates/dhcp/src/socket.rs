//! Sockets that work before there is an address: bound to a link, open to broadcasts.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use landbridge_linux::IfName;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

pub const CLIENT_PORT: u16 = 68;
pub const SERVER_PORT: u16 = 67;

/// A socket on one link of the calling thread's namespace, on a port that other links may use, too.
pub fn open(link: &IfName, port: u16) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_broadcast(true)?;
    // Before binding: only then do sockets of several links share the port.
    socket.bind_device(Some(link.as_str().as_bytes()))?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket.into())
}
