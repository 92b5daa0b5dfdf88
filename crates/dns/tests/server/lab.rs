//! A server on loopback with files of its own, and servers for it to ask.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use landbridge_dns::command::{self, Command};
use landbridge_dns::server::{Ready, Server};
use tempfile::TempDir;

/// How long a test waits for what has to come; much longer than it takes.
pub const SOON: Duration = Duration::from_secs(20);

/// A change that took longer was found by the round that looks at everything, not by its event. (On a
/// quiet machine it takes milliseconds; `scripts/bench-dns` measures it.)
const AT_ONCE: Duration = Duration::from_secs(3);

pub const A: u16 = 1;
pub const AAAA: u16 = 28;
pub const PTR: u16 = 12;

pub fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        wire.push(u8::try_from(label.len()).unwrap());
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    wire
}

pub fn query(id: u16, name: &str, qtype: u16) -> Vec<u8> {
    let mut message = id.to_be_bytes().to_vec();
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    message.extend(wire_name(name));
    message.extend(qtype.to_be_bytes());
    message.extend([0, 1]);
    message
}

/// What a reply says, as far as the tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub id: u16,
    pub rcode: u8,
    pub cut: bool,
    /// Addresses in the answer section, as text.
    pub addresses: Vec<String>,
    pub length: usize,
}

pub fn read_reply(bytes: &[u8]) -> Reply {
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let name_end = |mut at: usize| loop {
        match bytes[at] {
            0 => return at + 1,
            192..=255 => return at + 2,
            length => at += usize::from(length) + 1,
        }
    };
    let mut at = 12;
    for _ in 0..word(4) {
        at = name_end(at) + 4;
    }
    let mut addresses = Vec::new();
    for _ in 0..word(6) {
        at = name_end(at);
        let (kind, length) = (word(at), usize::from(word(at + 8)));
        let data = &bytes[at + 10..at + 10 + length];
        match kind {
            A => addresses
                .push(std::net::Ipv4Addr::from(<[u8; 4]>::try_from(data).unwrap()).to_string()),
            AAAA => addresses
                .push(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(data).unwrap()).to_string()),
            _ => {}
        }
        at += 10 + length;
    }
    let cut = bytes[2] & 2 != 0;
    Reply { id: word(0), rcode: bytes[3] & 0x0f, cut, addresses, length: bytes.len() }
}

/// A port that nobody has, for both transports.
pub fn free_port() -> u16 {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub struct Lab {
    pub directory: TempDir,
    pub server: Option<Server>,
    pub address: SocketAddr,
}

impl Lab {
    /// A server with these files (`conf` is its configuration, `hosts/…` its hosts) and more words.
    pub fn start(files: &[(&str, &str)], words: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("hosts")).unwrap();
        fs::write(directory.path().join("conf"), "").unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let port = free_port();
        let mut lab = Self { directory, server: None, address: ([127, 0, 0, 1], port).into() };
        let all = lab.words(words);
        let Command::Serve(config) = command::parse(all.iter().map(String::as_str)).unwrap() else {
            panic!("it shall serve")
        };
        let (ready, _) = Ready::new(config).unwrap();
        lab.server = Some(ready.start().unwrap());
        lab
    }

    /// The words a server with these files is called with.
    pub fn words(&self, more: &[&str]) -> Vec<String> {
        let path = self.directory.path().display();
        let port = self.address.port();
        let mut words = vec![
            format!("--conf-file={path}/conf"),
            format!("--hostsdir={path}/hosts"),
            format!("--port={port}"),
            "--no-hosts".to_owned(),
            "--no-resolv".to_owned(),
            "--workers=2".to_owned(),
        ];
        if !more.iter().any(|word| word.starts_with("--listen-address") || *word == "--wildcard") {
            words.extend(["--listen-address=127.0.0.1".to_owned(), "--bind-interfaces".to_owned()]);
        }
        words.extend(
            more.iter().filter(|word| **word != "--wildcard").map(|word| (*word).to_owned()),
        );
        words
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn ask(&self, name: &str, qtype: u16) -> Reply {
        self.client().ask(name, qtype).unwrap_or_else(|| panic!("no answer for {name}"))
    }

    /// Waits until a name has exactly these addresses.
    pub fn wait_for(&self, name: &str, addresses: &[&str]) {
        let began = Instant::now();
        let client = self.client();
        let mut last = None;
        while began.elapsed() < SOON {
            last = client.ask(name, A);
            if last.as_ref().is_some_and(|reply| reply.addresses == addresses) {
                let took = began.elapsed();
                assert!(took < AT_ONCE, "{name} has become {addresses:?} after {took:?}");
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("{name} has not become {addresses:?}: {last:?}")
    }

    pub fn metric(&self, name: &str) -> u64 {
        let report = self.server.as_ref().unwrap().report();
        let line = report.lines().find(|line| line.starts_with(&format!("landbridge_dns_{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {report}"))
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    }
}

/// A client by UDP.
pub struct Client {
    pub socket: UdpSocket,
}

impl Client {
    pub fn new(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        socket.connect(server).unwrap();
        Self { socket }
    }

    pub fn ask(&self, name: &str, qtype: u16) -> Option<Reply> {
        self.raw(&query(0x1234, name, qtype))
    }

    pub fn raw(&self, message: &[u8]) -> Option<Reply> {
        self.socket.send(message).ok()?;
        let mut buffer = [0; 4096];
        let length = self.socket.recv(&mut buffer).ok()?;
        Some(read_reply(&buffer[..length]))
    }
}

pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = u16::try_from(message.len()).unwrap().to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    framed
}

pub fn read_framed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

pub fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    stream
}

pub fn ask_by_tcp(stream: &mut TcpStream, name: &str, qtype: u16) -> Option<Reply> {
    stream.write_all(&framed(&query(7, name, qtype))).ok()?;
    read_framed(stream).map(|message| read_reply(&message))
}

/// A server to be asked, by UDP and TCP, that says what it is told to.
pub struct Upstream {
    pub address: SocketAddr,
    pub asked: Arc<AtomicUsize>,
    pub asked_by_tcp: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What it says to a query: datagrams, each from the asked socket or from another one.
pub struct Said {
    pub message: Vec<u8>,
    pub from_elsewhere: bool,
    pub after: Duration,
}

pub fn say(message: Vec<u8>) -> Said {
    Said { message, from_elsewhere: false, after: Duration::ZERO }
}

impl Upstream {
    /// `udp` says what comes back for a query, `tcp` what by a connection.
    pub fn start(
        udp: impl Fn(&[u8]) -> Vec<Said> + Send + 'static,
        tcp: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        let port = free_port();
        let address: SocketAddr = ([127, 0, 0, 1], port).into();
        let socket = UdpSocket::bind(address).unwrap();
        let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (asked, asked_by_tcp) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let (count, stopped) = (Arc::clone(&asked), Arc::clone(&stop));
        let by_udp = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, peer)) = socket.recv_from(&mut buffer) else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                for said in udp(&buffer[..length]) {
                    let from = if said.from_elsewhere { &elsewhere } else { &socket };
                    let from = from.try_clone().unwrap();
                    if said.after.is_zero() {
                        let _ = from.send_to(&said.message, peer);
                    } else {
                        thread::spawn(move || {
                            thread::sleep(said.after);
                            let _ = from.send_to(&said.message, peer);
                        });
                    }
                }
            }
        });
        let (count, stopped) = (Arc::clone(&asked_by_tcp), Arc::clone(&stop));
        let by_tcp = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let Ok((mut stream, _)) = listener.accept() else {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                };
                stream.set_nonblocking(false).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                if let Some(reply) = read_framed(&mut stream).and_then(|message| tcp(&message)) {
                    let _ = stream.write_all(&framed(&reply));
                }
            }
        });
        Self { address, asked, asked_by_tcp, stop, threads: vec![by_udp, by_tcp] }
    }

    /// One that answers every name with an address.
    pub fn honest(address: [u8; 4]) -> Self {
        Self::start(move |asked| vec![say(answer(asked, &[address]))], |_| None)
    }

    pub fn option(&self) -> String {
        format!("--server={}#{}", self.address.ip(), self.address.port())
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn question(asked: &[u8]) -> &[u8] {
    let mut at = 12;
    while asked[at] != 0 {
        at += usize::from(asked[at]) + 1;
    }
    &asked[12..at + 5]
}

/// An answer with these addresses, for a minute.
pub fn answer(asked: &[u8], addresses: &[[u8; 4]]) -> Vec<u8> {
    let mut message = asked[..2].to_vec();
    let count = u16::try_from(addresses.len()).unwrap().to_be_bytes();
    message.extend([0x81, 0x80, 0, 1, count[0], count[1], 0, 0, 0, 0]);
    message.extend(question(asked));
    for address in addresses {
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        message.extend(address);
    }
    message
}
