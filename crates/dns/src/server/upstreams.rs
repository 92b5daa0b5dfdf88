//! Sockets and a clock around the forwarder.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::reach::Reach;
use super::state::{Ask, Client, State};
use crate::forward::{Action, Counts, Forwarder, Token};
use crate::limit::Verdict;
use crate::settings::{Settings, Upstream};
use crate::stream;

/// How long a server may take for an answer by TCP.
const STREAM: Duration = Duration::from_secs(3);
/// How often another port is tried when one is taken.
const PORTS: usize = 16;
/// What may wait for the forwarder from servers.
const HEARD: usize = 1024;
/// No datagram is longer than this.
const LONGEST: usize = 4096;

/// What comes back from a server.
struct Heard {
    token: Token,
    outcome: io::Result<(SocketAddr, Vec<u8>)>,
}

/// What others may know of the forwarder.
#[derive(Debug, Default)]
pub struct Figures {
    inner: Mutex<(Counts, usize)>,
}

impl Figures {
    pub fn get(&self) -> (Counts, usize) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, counts: Counts, in_flight: usize) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = (counts, in_flight);
    }
}

/// Numbers from the kernel, some at a time.
struct Chance {
    bytes: [u8; 512],
    at: usize,
}

impl Chance {
    fn new() -> Self {
        let bytes = [0; 512];
        Self { at: bytes.len(), bytes }
    }

    fn next(&mut self) -> u64 {
        if self.at + 8 > self.bytes.len() {
            while let Err(error) = getrandom::fill(&mut self.bytes) {
                // Without chance nothing may be asked: wait for the kernel to have some.
                tracing::error!(%error, "the kernel gives no random numbers");
                std::thread::sleep(Duration::from_millis(100));
            }
            self.at = 0;
        }
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.bytes[self.at..self.at + 8]);
        self.at += 8;
        u64::from_ne_bytes(eight)
    }
}

/// Forwards until `asks` is closed.
pub async fn run(state: Arc<State>, mut asks: mpsc::Receiver<Ask>, figures: Arc<Figures>) {
    let mut chance = Chance::new();
    let settings = Arc::clone(state.catalog.load().settings());
    let forwarder = Forwarder::new(
        Arc::clone(&settings),
        Arc::clone(&state.cache),
        Box::new(move || chance.next()),
    );
    let (heard, mut hears) = mpsc::channel(HEARD);
    let ports = Chance::new();
    let open = HashMap::new();
    let mut driver = Driver { state, forwarder, open, heard, ports, configured: None };
    let mut actions = Vec::new();
    driver.configure();
    loop {
        let wake = driver.forwarder.wake();
        let alarm =
            wake.map_or_else(|| Instant::now() + Duration::from_mins(1), |at| driver.at(at));
        tokio::select! {
            ask = asks.recv() => match ask {
                Some(ask) => {
                    driver.configure();
                    let now = driver.state.now();
                    driver.forwarder.ask(now, ask, &mut actions);
                }
                None => return,
            },
            Some(Heard { token, outcome }) = hears.recv() => {
                let now = driver.state.now();
                match outcome {
                    Ok((from, message)) => driver.forwarder.heard(now, token, from, &message, &mut actions),
                    Err(_) => driver.forwarder.failed(now, token, &mut actions),
                }
            }
            () = tokio::time::sleep_until(alarm) => {
                let now = driver.state.now();
                driver.forwarder.tick(now, &mut actions);
            }
        }
        driver.act(&mut actions);
        figures.set(driver.forwarder.counts(), driver.forwarder.in_flight());
    }
}

struct Driver {
    state: Arc<State>,
    forwarder: Forwarder<Client>,
    open: HashMap<Token, AbortHandle>,
    heard: mpsc::Sender<Heard>,
    ports: Chance,
    /// What the forwarder was told last.
    configured: Option<(Arc<Settings>, Arc<Reach>)>,
}

impl Driver {
    fn at(&self, time: Duration) -> Instant {
        Instant::from_std(self.state.began + time)
    }

    /// Takes over settings that have changed.
    fn configure(&mut self) {
        let settings = Arc::clone(self.state.catalog.load().settings());
        let reach = self.state.reach.load_full();
        let same = |(a, b): &(Arc<Settings>, Arc<Reach>)| {
            Arc::ptr_eq(a, &settings) && Arc::ptr_eq(b, &reach)
        };
        if !self.configured.as_ref().is_some_and(same) {
            self.forwarder.configure(Arc::clone(&settings), reach.own(settings.port));
            self.configured = Some((settings, reach));
        }
    }

    fn act(&mut self, actions: &mut Vec<Action<Client>>) {
        for action in actions.drain(..) {
            match action {
                Action::Reply { client, message } => self.reply(&client, message),
                Action::Close { token } => {
                    if let Some(task) = self.open.remove(&token) {
                        task.abort();
                    }
                }
                Action::Send { token, server, message } => {
                    let settings = Arc::clone(self.state.catalog.load().settings());
                    let socket = open(&server, &settings, &mut self.ports);
                    let heard = self.heard.clone();
                    let task = tokio::spawn(async move {
                        let outcome = match socket {
                            Ok(socket) => {
                                by_datagram(socket, &server, &message, token, &heard).await
                            }
                            Err(error) => Err(error),
                        };
                        if let Err(error) = outcome {
                            tracing::debug!(server = %server.address, %error, "a server cannot be asked");
                            let _ = heard.send(Heard { token, outcome: Err(error) }).await;
                        }
                    });
                    self.open.insert(token, task.abort_handle());
                }
                Action::Connect { token, server, message } => {
                    let heard = self.heard.clone();
                    let task = tokio::spawn(async move {
                        let asked =
                            tokio::time::timeout(STREAM, by_stream(&server, &message)).await;
                        let outcome = asked
                            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                            .map(|reply| (server.address, reply));
                        let _ = heard.send(Heard { token, outcome }).await;
                    });
                    self.open.insert(token, task.abort_handle());
                }
            }
        }
    }

    fn reply(&self, client: &Client, message: Vec<u8>) {
        match client {
            Client::Udp { socket, peer, arrival } => {
                let stranger = !self.state.reach.load().attached(peer.ip());
                if stranger
                    && self.state.limiter.charge(peer.ip(), self.state.now()) != Verdict::Send
                {
                    return;
                }
                // A client that is gone by now does not matter to anybody else.
                let _ = socket.send(&message, *peer, *arrival);
            }
            // A connection that is closed by now, too.
            Client::Tcp { replies, .. } => drop(replies.try_send(message)),
        }
    }
}

/// A socket for one question: on a random port, and connected, so that the kernel passes on only what
/// comes from that server, and says at once when nobody is there.
fn open(server: &Upstream, settings: &Settings, chance: &mut Chance) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(server.address),
        Type::DGRAM.nonblocking(),
        Some(Protocol::UDP),
    )?;
    if let Some(interface) = &server.interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    let any: IpAddr = if server.address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let source = server.source.map_or(any, |source| source.ip());
    let lowest = settings.min_port.max(1024);
    let span = u64::from(settings.max_port.max(lowest) - lowest) + 1;
    for _ in 0..PORTS {
        // Less than 65536 by what it is made of.
        let port = lowest + u16::try_from(chance.next() % span).unwrap_or(0);
        match socket.bind(&SocketAddr::new(source, port).into()) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
            Ok(()) => {
                socket.connect(&server.address.into())?;
                return Ok(socket);
            }
        }
    }
    // So many are taken: whatever the kernel finds is better than none.
    socket.bind(&SocketAddr::new(source, 0).into())?;
    socket.connect(&server.address.into())?;
    Ok(socket)
}

/// Asks and passes on everything that comes, until it is told that this was enough.
async fn by_datagram(
    socket: Socket,
    server: &Upstream,
    message: &[u8],
    token: Token,
    heard: &mpsc::Sender<Heard>,
) -> io::Result<()> {
    let socket = UdpSocket::from_std(socket.into())?;
    socket.send(message).await?;
    let mut buffer = vec![0; LONGEST];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let message = buffer.get(..length).unwrap_or_default().to_vec();
        let outcome = Ok((server.address, message));
        if heard.send(Heard { token, outcome }).await.is_err() {
            return Ok(());
        }
    }
}

async fn by_stream(server: &Upstream, message: &[u8]) -> io::Result<Vec<u8>> {
    let socket = if server.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if let Some(interface) = &server.interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    if let Some(source) = server.source {
        socket.bind(SocketAddr::new(source.ip(), 0))?;
    }
    let mut stream = socket.connect(server.address).await?;
    stream::exchange(&mut stream, message).await
}
