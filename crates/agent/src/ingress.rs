//! The ingress of a lab node: requests by host name to the pods behind Routes.
//!
//! ```text
//!  :80, :443 of the node ─┐              ┌ HTTP ──▶ host, path ──▶ Site ──▶ a pod
//!  socket (from the host)─┴▶ first bytes ┤
//!                                        └ TLS, by name ─▶ ends here (edge, reencrypt), or passes (passthrough)
//! ```
//!
//! On OpenShift its router does this, and this module is not run. Through the socket come requests from
//! the machine that runs the lab, also as from an HTTP proxy: with a whole URL, or with CONNECT.
//!
//! | module | idea |
//! |---|---|
//! | [`sites`] | which Route is meant, and who is behind it |
//! | `first` | the first bytes of a connection, and the connection with them |
//! | `requests` | one request: whom it is for, there and back |
//! | `tls` | certificates |

mod first;
mod requests;
pub mod sites;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::HashMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client};
use landbridge_api::foreign::route::Route;
use landbridge_linux::Handle;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use self::requests::Ingress;
pub use self::tls::Identity;
use crate::members::Dead;
use crate::services::{Seen, follow, take};

/// Objects change in bursts.
const SETTLE: Duration = Duration::from_millis(20);
/// So many connections at once; more wait.
const AT_ONCE: usize = 4_096;
/// A port that could not be had is tried again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// By which way a connection came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The node's port 80.
    Plain,
    /// The node's port 443.
    Secure,
    /// The socket: from the machine that runs the lab.
    Proxy,
}

/// What the ingress shows, and whom it trusts.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Shown by Routes that bring no certificate.
    pub identity: Option<Identity>,
    /// Whom pods' certificates are trusted from, PEM.
    pub pods: Option<String>,
}

/// Serves Routes until `stop` is done.
pub async fn run(
    client: Client,
    credentials: Credentials,
    socket: UnixListener,
    mut dead: watch::Receiver<Dead>,
    stop: impl Future<Output = ()>,
) {
    let ingress = Arc::new(Ingress::new(credentials));
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = tokio::task::JoinSet::new();
    for (port, door) in [(80, Door::Plain), (443, Door::Secure)] {
        tasks.spawn(listen(port, door, Arc::clone(&ingress), Arc::clone(&room)));
    }
    tasks.spawn(accept_local(socket, Arc::clone(&ingress), Arc::clone(&room)));
    let mut routes = follow(Api::<Route>::all(client.clone()));
    let mut services = follow(Api::<Service>::all(client.clone()));
    let mut slices = follow(Api::<EndpointSlice>::all(client));
    let (mut known, mut seen) = (HashMap::new(), Seen::default());
    let mut listed = (false, false, false);
    let mut due: Option<Instant> = None;
    let mut stop = std::pin::pin!(stop);
    loop {
        let now = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let changed = tokio::select! {
            () = &mut stop => return,
            Some(event) = routes.next() => take(&mut known, &mut listed.0, event),
            Some(event) = services.next() => take(&mut seen.services, &mut listed.1, event),
            Some(event) = slices.next() => take(&mut seen.slices, &mut listed.2, event),
            Ok(()) = dead.changed() => true,
            () = now => {
                due = None;
                let gone = dead.borrow_and_update().clone();
                ingress.set(sites::sites(known.values().map(|route| &**route), &seen, &gone));
                ingress.keep_off(sites::addresses_of_services(&seen));
                false
            }
        };
        if changed && listed == (true, true, true) {
            due = due.or(Some(Instant::now() + SETTLE));
        }
    }
}

async fn listen(port: u16, door: Door, ingress: Arc<Ingress>, room: Arc<Semaphore>) {
    let mut told = false;
    let listener = loop {
        match open(port) {
            Ok(listener) => break listener,
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(port, %error, "the ingress cannot listen; it is tried again");
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    };
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) if !is_for_us(&stream, &ingress) => {
                // Refused, as far as that can still be done.
                let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            }
            Ok((stream, client)) => {
                let _ = stream.set_nodelay(true);
                let ingress = Arc::clone(&ingress);
                tokio::spawn(async move {
                    requests::connection(ingress, stream, Some(client.ip().to_canonical()), door)
                        .await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the ingress cannot accept a client; trying again");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Where the agent forwards by itself, addresses of Services are local, and what nobody forwards (another
/// port, no endpoint) would end here. An address that the node itself has is the node's all the same.
fn is_for_us(stream: &TcpStream, ingress: &Ingress) -> bool {
    let Ok(at) = stream.local_addr().map(|at| at.ip().to_canonical()) else { return false };
    if !ingress.is_kept_off(at) {
        return true;
    }
    let own = Handle::open().and_then(|net| net.addresses());
    own.is_ok_and(|own| own.iter().any(|address| address.net.addr() == at))
}

/// Both families by one socket. Services may have the same port at addresses of their own, which the
/// kernel prefers: where the agent forwards by itself, those are sockets as well.
fn open(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v6()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    socket.listen(1024)
}

async fn accept_local(listener: UnixListener, ingress: Arc<Ingress>, room: Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let ingress = Arc::clone(&ingress);
                tokio::spawn(async move {
                    requests::connection(ingress, stream, None, Door::Proxy).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the ingress cannot accept a client; trying again");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
