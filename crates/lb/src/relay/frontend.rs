//! Where clients come in.

use std::net::SocketAddr;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};

use crate::table::Protocol;

/// So many clients wait to be accepted.
const WAITING: u32 = 1024;

/// Where clients come in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frontend {
    /// Of clients.
    pub protocol: Protocol,
    /// At this address.
    pub address: SocketAddr,
    /// By this link alone, and answers leave there.
    pub link: Option<String>,
}

impl Frontend {
    /// Opens a socket for connections.
    pub(super) fn listen(&self) -> std::io::Result<TcpListener> {
        let socket =
            if self.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // The same address by several links.
        socket.set_reuseport(true)?;
        if let Some(link) = &self.link {
            socket.bind_device(Some(link.as_bytes()))?;
        }
        free(&socket, self.address)?;
        socket.bind(self.address)?;
        socket.listen(WAITING)
    }

    /// Opens a socket for datagrams.
    pub(super) fn receive(&self) -> std::io::Result<UdpSocket> {
        let family =
            if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        free(&socket, self.address)?;
        rustix::net::bind(&socket, &self.address)?;
        let socket = UdpSocket::from_std(socket.into())?;
        if let Some(link) = &self.link {
            socket.bind_device(Some(link.as_bytes()))?;
        }
        Ok(socket)
    }
}

/// Lets a socket have an address that is local by a route alone: IPv6 asks for one of a link otherwise.
fn free(socket: &impl std::os::fd::AsFd, address: SocketAddr) -> std::io::Result<()> {
    match address {
        SocketAddr::V4(_) => sockopt::set_ip_freebind(socket, true)?,
        SocketAddr::V6(_) => sockopt::set_ipv6_freebind(socket, true)?,
    }
    Ok(())
}
