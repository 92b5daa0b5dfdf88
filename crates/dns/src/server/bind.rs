//! The sockets of a server, bound before it gives its rights up.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use landbridge_linux::DatagramSocket;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be taken.
const BACKLOG: i32 = 1024;

/// Why an address cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Unbound {
    #[error("no address to serve: no interface matches, or none has an address")]
    Nothing,
    #[error("cannot listen at {address} ({transport}): {}", advice(*address, source))]
    Socket {
        address: SocketAddr,
        transport: &'static str,
        #[source]
        source: io::Error,
    },
}

fn advice(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another server is there; stop it, or give --port, or name addresses \
            with --listen-address and --bind-interfaces"
                .to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "this machine has no address {}; --listen-address names one it has",
                address.ip()
            )
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need root or CAP_NET_BIND_SERVICE; give --port".to_owned()
        }
        _ => error.to_string(),
    }
}

/// All sockets.
pub struct Bound {
    pub addresses: Vec<SocketAddr>,
    pub datagrams: Vec<Arc<DatagramSocket>>,
    pub streams: Vec<TcpListener>,
    pub pages: Option<TcpListener>,
}

impl Bound {
    /// Binds `workers` sockets for datagrams and one for connections at each address.
    pub fn bind(
        addresses: &[SocketAddr],
        workers: usize,
        pages: Option<SocketAddr>,
    ) -> Result<Self, Unbound> {
        let mut bound =
            Self { addresses: Vec::new(), datagrams: Vec::new(), streams: Vec::new(), pages: None };
        for &address in addresses {
            let failed = |transport| move |source| Unbound::Socket { address, transport, source };
            // Shared sockets join whoever has the address already; one that does not share tells.
            match DatagramSocket::bind(address, false) {
                Ok(socket) if workers == 1 => bound.datagrams.push(Arc::new(socket)),
                Ok(probe) => {
                    drop(probe);
                    for _ in 0..workers {
                        let socket = DatagramSocket::bind(address, true).map_err(failed("UDP"))?;
                        bound.datagrams.push(Arc::new(socket));
                    }
                }
                // A kernel without IPv6.
                Err(error) if is_missing(address, &error) => continue,
                Err(error) => return Err(failed("UDP")(error)),
            }
            bound.streams.push(listen(address).map_err(failed("TCP"))?);
            bound.addresses.push(address);
        }
        if bound.addresses.is_empty() {
            return Err(Unbound::Nothing);
        }
        if let Some(address) = pages {
            let failed = |source| Unbound::Socket { address, transport: "metrics", source };
            bound.pages = Some(listen(address).map_err(failed)?);
        }
        Ok(bound)
    }
}

fn is_missing(address: SocketAddr, error: &io::Error) -> bool {
    let v6_any = address.is_ipv6() && address.ip().is_unspecified();
    let unsupported = error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error());
    v6_any && (unsupported || error.kind() == io::ErrorKind::AddrNotAvailable)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A server that starts again finds connections of its predecessor at their end.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
