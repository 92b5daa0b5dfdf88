//! TCP: a connection of the client, a connection to a backend, bytes between them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Shared;

/// A backend on the next node answers in a millisecond; one that has not in this time will not.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many backends are tried for one client.
const TRIES: usize = 4;
/// So many clients at once; more wait in the kernel's queue.
const AT_ONCE: usize = 10_000;

/// Accepts until the task is aborted; connections end with it.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if clients.len() < AT_ONCE => match accepted {
                Ok((stream, client)) => {
                    if shared.may_come(client.ip()) {
                        clients.spawn(connection(stream, client, Arc::clone(&shared)));
                    } else {
                        reset(stream);
                    }
                }
                Err(error) => {
                    // Out of descriptors, as a rule: waiting is all one can do.
                    tracing::warn!(%error, "cannot accept a client; trying again");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn connection(mut client: TcpStream, from: SocketAddr, shared: Arc<Shared>) {
    let Some((mut server, backend)) = connect(from.ip(), &shared).await else {
        return reset(client);
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut dead = shared.dead.clone();
    let cut = tokio::select! {
        // Whichever side ends badly, the other is told by the end of its connection.
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => false,
        _ = dead.wait_for(|dead| dead.contains(&backend.ip())) => true,
    };
    shared.pool().ended(backend);
    if cut {
        reset(client);
    }
}

async fn connect(client: IpAddr, shared: &Shared) -> Option<(TcpStream, SocketAddr)> {
    let mut tried = Vec::new();
    while tried.len() < TRIES {
        let backend = shared.pool().pick(shared.now(), client, &tried)?;
        match tokio::time::timeout(PATIENCE, TcpStream::connect(backend)).await {
            Ok(Ok(stream)) => {
                shared.pool().reached(backend);
                return Some((stream, backend));
            }
            Ok(Err(error)) => tracing::debug!(%backend, %error, "a backend refuses"),
            Err(_) => tracing::debug!(%backend, "a backend does not answer"),
        }
        shared.pool().failed(shared.now(), backend);
        tried.push(backend);
    }
    None
}

/// Ends a connection so that the client notices at once: with a reset.
fn reset(stream: TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}
