//! The sockets of the cluster's name server on this node.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use landbridge_dns::Transport;
use landbridge_dns::stream;
use landbridge_dns::wire::{Query, rcode, rtype};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::answer::{self, Outcome, answer};
use super::book::Book;
use super::outside::{Outside, Silence};
use super::upstream::Upstreams;

/// So many TCP connections are served at once.
const CONNECTIONS: usize = 256;
/// One that says nothing for so long is ended.
const IDLE: Duration = Duration::from_secs(10);

/// What all sockets share.
#[derive(Clone)]
pub struct Shared {
    pub book: Arc<Book>,
    pub upstreams: watch::Receiver<Upstreams>,
    pub outside: Outside,
    /// Who may ask: this node and its pods.
    pub clients: watch::Receiver<Vec<IpNet>>,
    /// Where it is told that nobody outside answers, and what they say.
    pub silent: watch::Sender<Option<String>>,
}

/// Sockets that are open. They close when this is dropped.
pub struct Open {
    pub address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// Opens both sockets of an address.
pub async fn open(address: SocketAddr, shared: &Shared) -> io::Result<Open> {
    let udp = UdpSocket::bind(address).await?;
    let tcp = TcpListener::bind(udp.local_addr()?).await?;
    let address = udp.local_addr()?;
    let mut tasks = JoinSet::new();
    tasks.spawn(datagrams(Arc::new(udp), shared.clone()));
    tasks.spawn(connections(tcp, shared.clone()));
    Ok(Open { address, _tasks: tasks })
}

impl Shared {
    fn serves(&self, client: IpAddr) -> bool {
        let client = client.to_canonical();
        client.is_loopback() || self.clients.borrow().iter().any(|net| net.contains(&client))
    }

    /// Answers at once, or says what has to be asked elsewhere.
    fn answer(&self, query: &[u8], transport: Transport) -> Reply {
        let mut out = vec![0; answer::room(transport)];
        let outcome = self.book.read(|zone| answer(zone, query, transport, &mut out));
        let upstreams = self.upstreams.borrow();
        let servers_of = |labels: &[u8]| -> Vec<SocketAddr> {
            answer::labels(labels).map(|labels| upstreams.of(&labels).to_vec()).unwrap_or_default()
        };
        match outcome {
            Outcome::Drop => Reply::Nothing,
            Outcome::Reply(length) => {
                out.truncate(length);
                Reply::Ready(out)
            }
            Outcome::Outside(length) => {
                out.truncate(length);
                let name = Query::parse(query).map(|query| query.name.wire().to_vec());
                let servers = name.map(|name| servers_of(&name)).unwrap_or_default();
                if servers.is_empty() { Reply::Ready(out) } else { Reply::Ask(servers) }
            }
            Outcome::Alias(length, name) => {
                out.truncate(length);
                let servers = servers_of(&name.lower());
                if servers.is_empty() { Reply::Ready(out) } else { Reply::Complete(name, servers) }
            }
        }
    }

    /// Asks elsewhere.
    async fn ask(&self, query: &[u8], reply: Reply, transport: Transport) -> Option<Vec<u8>> {
        let answered = match reply {
            Reply::Nothing => return None,
            Reply::Ready(reply) => return Some(reply),
            Reply::Ask(servers) => {
                self.outside.ask(query, &servers).await.map(|reply| fitted(query, reply, transport))
            }
            Reply::Complete(name, servers) => {
                let kind = Query::parse(query).ok()?.qtype;
                let ips = if matches!(kind, rtype::A | rtype::AAAA) {
                    self.outside.addresses(&name, kind, &servers).await
                } else {
                    Ok(Vec::new())
                };
                ips.map(|ips| answer::complete(query, transport, &name, &ips))
            }
        };
        match answered {
            Ok(reply) => {
                self.silent.send_if_modified(|said| said.take().is_some());
                reply
            }
            Err(silence) => {
                if let Silence::Nobody(_) = &silence {
                    let words = silence.to_string();
                    self.silent.send_if_modified(|said| said.replace(words).is_none());
                }
                answer::failure(query, rcode::SERVFAIL)
            }
        }
    }
}

/// What is to be done for a query.
enum Reply {
    Nothing,
    Ready(Vec<u8>),
    /// Hand it on to these.
    Ask(Vec<SocketAddr>),
    /// Ask these for the addresses behind another name.
    Complete(landbridge_dns::wire::Name, Vec<SocketAddr>),
}

/// A reply that is too long for the client's datagrams becomes one that says to ask by TCP.
fn fitted(query: &[u8], reply: Vec<u8>, transport: Transport) -> Option<Vec<u8>> {
    let size = Query::parse(query).ok()?.edns.map_or(512, |edns| edns.udp_size.max(512));
    if transport == Transport::Tcp || reply.len() <= usize::from(size) {
        return Some(reply);
    }
    answer::truncated(query)
}

async fn datagrams(socket: Arc<UdpSocket>, shared: Shared) {
    // What comes before everything is known waits in the socket.
    shared.book.complete().await;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut asked: JoinSet<()> = JoinSet::new();
    loop {
        // Errors are those of earlier answers, that nobody was there any more.
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else { continue };
        while asked.try_join_next().is_some() {}
        if client.port() == 0 || !shared.serves(client.ip()) {
            continue;
        }
        let query = &buffer[..length];
        match shared.answer(query, Transport::Udp) {
            Reply::Nothing => {}
            Reply::Ready(reply) => drop(socket.send_to(&reply, client).await),
            reply => {
                let (query, shared, socket) = (query.to_vec(), shared.clone(), Arc::clone(&socket));
                asked.spawn(async move {
                    if let Some(reply) = shared.ask(&query, reply, Transport::Udp).await {
                        let _ = socket.send_to(&reply, client).await;
                    }
                });
            }
        }
    }
}

async fn connections(listener: TcpListener, shared: Shared) {
    shared.book.complete().await;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut open: JoinSet<()> = JoinSet::new();
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            // Out of descriptors: some will be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        while open.try_join_next().is_some() {}
        if !shared.serves(client.ip()) {
            continue;
        }
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let shared = shared.clone();
        open.spawn(async move {
            let _ = connection(stream, &shared).await;
            drop(permit);
        });
    }
}

async fn connection(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    loop {
        let query = tokio::time::timeout(IDLE, stream::read(&mut stream)).await??;
        let reply = shared.answer(&query, Transport::Tcp);
        let Some(reply) = shared.ask(&query, reply, Transport::Tcp).await else { return Ok(()) };
        tokio::time::timeout(IDLE, stream::write(&mut stream, &reply)).await??;
    }
}
