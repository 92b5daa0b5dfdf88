//! UDP: a socket of its own for each client, to its backend.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Shared;

/// A client that says nothing for so long is forgotten, as the kernel does with answered datagrams.
const QUIET: Duration = Duration::from_mins(2);
const SWEEP: Duration = Duration::from_secs(5);
/// So many clients at once; datagrams of further ones are dropped.
const CLIENTS: usize = 10_000;
const LARGEST: usize = 65_536;
/// So many answers wait for the socket.
const ANSWERS: usize = 256;

struct Client {
    to: Arc<UdpSocket>,
    backend: SocketAddr,
    heard: Instant,
    task: JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Relays until the task is aborted.
pub(super) async fn serve(socket: UdpSocket, shared: Arc<Shared>) {
    let socket = Arc::new(socket);
    let mut clients: HashMap<SocketAddr, Client> = HashMap::new();
    // Answers tell who is still alive.
    let (tell, mut told) = mpsc::channel::<SocketAddr>(ANSWERS);
    let mut sweep = tokio::time::interval(SWEEP);
    let mut buffer = vec![0; LARGEST];
    loop {
        tokio::select! {
            received = socket.recv_from(&mut buffer) => {
                let Ok((length, from)) = received else { continue };
                // A backend that is gone gets nothing more: its clients move on.
                if clients.get(&from).is_some_and(|client| !shared.pool().takes(client.backend))
                    && let Some(client) = clients.remove(&from)
                {
                    shared.pool().ended(client.backend);
                }
                if !clients.contains_key(&from) {
                    if clients.len() >= CLIENTS || !shared.may_come(from.ip()) {
                        continue;
                    }
                    let Some(client) = open(from, &socket, &shared, &tell).await else { continue };
                    clients.insert(from, client);
                }
                if let Some(client) = clients.get_mut(&from) {
                    client.heard = Instant::now();
                    let to = Arc::clone(&client.to);
                    if to.send(&buffer[..length]).await.is_err() {
                        // The backend's node said that nobody listens: the next datagram goes elsewhere.
                        if let Some(client) = clients.remove(&from) {
                            shared.pool().failed(shared.now(), client.backend);
                        }
                    }
                }
            }
            Some(from) = told.recv() => {
                if let Some(client) = clients.get_mut(&from) {
                    client.heard = Instant::now();
                }
            }
            _ = sweep.tick() => clients.retain(|_, client| {
                let stays = client.heard.elapsed() < QUIET && !client.task.is_finished();
                if !stays {
                    shared.pool().ended(client.backend);
                }
                stays
            }),
        }
    }
}

async fn open(
    from: SocketAddr,
    socket: &Arc<UdpSocket>,
    shared: &Shared,
    tell: &mpsc::Sender<SocketAddr>,
) -> Option<Client> {
    let backend = shared.pool().pick(shared.now(), from.ip(), &[])?;
    let any: SocketAddr = if backend.is_ipv4() {
        (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let connected = async {
        let to = UdpSocket::bind(any).await?;
        to.connect(backend).await?;
        std::io::Result::Ok(to)
    };
    let to = match connected.await {
        Ok(to) => Arc::new(to),
        Err(error) => {
            tracing::debug!(%backend, %error, "a backend cannot be reached");
            shared.pool().failed(shared.now(), backend);
            return None;
        }
    };
    let (answers, back, tell) = (Arc::clone(&to), Arc::clone(socket), tell.clone());
    let task = tokio::spawn(async move {
        let mut buffer = vec![0; LARGEST];
        // An error is the backend's refusal, which the sender hears of as well.
        while let Ok(length) = answers.recv(&mut buffer).await {
            if back.send_to(&buffer[..length], from).await.is_err() {
                return;
            }
            let _ = tell.try_send(from);
        }
    });
    Some(Client { to, backend, heard: Instant::now(), task })
}
