//! Queries by TCP: a task for each connection, as many queries on it as the client likes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::crowd::{Admission, Crowd};
use super::metrics::Counters;
use super::serve::Desk;
use super::state::{Ask, Client, State};
use crate::answer::Transport;

/// How long nothing may happen on a connection.
const IDLE: Duration = Duration::from_secs(10);
/// How long a client may take to read an answer.
const WRITE: Duration = Duration::from_secs(5);
/// Queries of one connection that may wait for other servers.
const IN_WORK: usize = 64;
/// Connections in all, and of one source. Behind a balancer that hides its clients all have one.
const MOST: usize = 600;
const MOST_PER_SOURCE: usize = 300;

thread_local! {
    /// Room for one reply, shared by all connections of a thread: no reply outlives the call.
    static REPLY: RefCell<Vec<u8>> = RefCell::new(vec![0; usize::from(u16::MAX)]);
}

/// All connections of a server.
pub struct Streams {
    state: Arc<State>,
    counters: Arc<Counters>,
    asks: mpsc::Sender<Ask>,
    crowd: Mutex<Guests>,
    last: AtomicU64,
}

struct Guests {
    crowd: Crowd,
    /// How each is told to go.
    doors: HashMap<u64, Arc<Notify>>,
}

impl Streams {
    pub fn new(state: Arc<State>, counters: Arc<Counters>, asks: mpsc::Sender<Ask>) -> Arc<Self> {
        let crowd = Crowd::new(MOST, MOST_PER_SOURCE);
        let crowd = Mutex::new(Guests { crowd, doors: HashMap::new() });
        Arc::new(Self { state, counters, asks, crowd, last: AtomicU64::new(0) })
    }

    /// How many connections there are.
    pub fn open(&self) -> usize {
        self.guests().crowd.len()
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes connections for ever.
    pub async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => {
                    // Too many files: idle connections end soon.
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let Ok(local) = stream.local_addr() else { return };
        let reach = self.state.reach.load();
        // The link of a connection is not known; its address tells it.
        if !reach.serves_address(local.ip()) || !reach.answers(peer.ip()) {
            return;
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let door = Arc::new(Notify::new());
        {
            let mut guests = self.guests();
            match guests.crowd.enter(number, peer.ip(), self.state.now()) {
                Admission::Take => {}
                Admission::Instead(other) => {
                    if let Some(door) = guests.doors.remove(&other) {
                        door.notify_one();
                    }
                }
                Admission::Refuse => return,
            }
            guests.doors.insert(number, Arc::clone(&door));
        }
        let streams = Arc::clone(self);
        tokio::spawn(async move {
            let mut connection = Connection::new(number, stream, peer, local, &streams);
            tokio::select! {
                // How it ended does not matter: whoever wants to know asks again.
                _ = connection.serve() => {}
                () = door.notified() => {}
            }
            let mut guests = streams.guests();
            guests.crowd.leave(number);
            guests.doors.remove(&number);
        });
    }
}

struct Connection<'s> {
    number: u64,
    stream: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    streams: &'s Streams,
    /// What was read and not answered: a part of a message, or several.
    read: Vec<u8>,
    replies: mpsc::Sender<Vec<u8>>,
    waiting: mpsc::Receiver<Vec<u8>>,
    in_work: usize,
}

impl<'s> Connection<'s> {
    fn new(
        number: u64,
        stream: TcpStream,
        peer: SocketAddr,
        local: SocketAddr,
        streams: &'s Streams,
    ) -> Self {
        let (replies, waiting) = mpsc::channel(IN_WORK);
        let read = Vec::new();
        Self { number, stream, peer, local, streams, read, replies, waiting, in_work: 0 }
    }

    async fn serve(&mut self) -> io::Result<()> {
        let _ = self.stream.set_nodelay(true);
        let mut buffer = [0; 2048];
        let mut deadline = Instant::now() + IDLE;
        let mut ended = false;
        loop {
            tokio::select! {
                Some(reply) = self.waiting.recv(), if self.in_work > 0 => {
                    self.work(self.in_work - 1);
                    self.write(&[&reply]).await?;
                    deadline = Instant::now() + IDLE;
                }
                length = self.stream.read(&mut buffer), if !ended && self.in_work < IN_WORK => {
                    let length = length?;
                    // A client that has said all waits for the answers.
                    ended = length == 0;
                    self.read.extend_from_slice(buffer.get(..length).unwrap_or_default());
                    if self.answer().await? {
                        deadline = Instant::now() + IDLE;
                    }
                }
                // Bytes that make no query do not count: a connection must not be kept by dripping.
                () = tokio::time::sleep_until(deadline) => return Ok(()),
            }
            if ended && self.in_work == 0 {
                return Ok(());
            }
        }
    }

    /// Answers the whole messages that were read; says whether there was one.
    async fn answer(&mut self) -> io::Result<bool> {
        let mut at = 0;
        let mut out = Vec::new();
        let mut any = false;
        while let Some(message) = message_at(&self.read, at) {
            at += 2 + message.len();
            any = true;
            let (reply, forwarded) = self.query(message);
            match reply {
                Some(reply) => out.push(reply),
                None if forwarded => self.work(self.in_work + 1),
                // No query at all: nothing good comes of this connection.
                None => return Err(io::ErrorKind::InvalidData.into()),
            }
            if self.in_work >= IN_WORK {
                break;
            }
        }
        self.read.drain(..at.min(self.read.len()));
        let parts: Vec<&[u8]> = out.iter().map(Vec::as_slice).collect();
        if !parts.is_empty() {
            self.write(&parts).await?;
        }
        Ok(any)
    }

    /// A reply, or whether somebody else is asked.
    fn query(&self, message: &[u8]) -> (Option<Vec<u8>>, bool) {
        let Streams { state, counters, asks, .. } = self.streams;
        let (catalog, reach) = (state.catalog.load(), state.reach.load());
        let counters = counters.as_ref();
        counters.tcp.add(1);
        let now = state.now();
        let desk = Desk { state, catalog: &catalog, reach: &reach, counters, asks, now };
        let mut forwarded = false;
        let reply = REPLY.with_borrow_mut(|out| {
            let client = || {
                forwarded = true;
                Client::Tcp { connection: self.number, replies: self.replies.clone() }
            };
            let (source, local) = (self.peer.ip(), self.local.ip());
            let length = desk.query(message, source, local, Transport::Tcp, out, client);
            out.get(..length).filter(|reply| !reply.is_empty()).map(<[u8]>::to_vec)
        });
        (reply, forwarded)
    }

    /// Notes how many queries are in work.
    fn work(&mut self, in_work: usize) {
        if (in_work > 0) != (self.in_work > 0) {
            let now = self.streams.state.now();
            self.streams.guests().crowd.working(self.number, in_work > 0, now);
        }
        self.in_work = in_work;
    }

    async fn write(&mut self, replies: &[&[u8]]) -> io::Result<()> {
        let mut framed = Vec::with_capacity(replies.iter().map(|reply| reply.len() + 2).sum());
        for reply in replies {
            let length = u16::try_from(reply.len()).map_err(io::Error::other)?;
            framed.extend_from_slice(&length.to_be_bytes());
            framed.extend_from_slice(reply);
        }
        // A query by TCP keeps the connection young.
        let now = self.streams.state.now();
        self.streams.guests().crowd.working(self.number, self.in_work > 0, now);
        tokio::time::timeout(WRITE, self.stream.write_all(&framed)).await?
    }
}

/// The whole message that begins at `at`, without its length.
fn message_at(read: &[u8], at: usize) -> Option<&[u8]> {
    let length = read.get(at..at + 2)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    read.get(at + 2..at + 2 + length)
}
