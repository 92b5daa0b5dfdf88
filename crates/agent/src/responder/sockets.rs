//! The sockets of a responder, and the one loop that serves them.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use landbridge_linux::Handle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answer::{Answer, Interface};
use super::authority::Authority;
use super::connection::{Asked, Connection, WAITING};
use super::handed::{self, Handed, passing};
use super::log::Log;
use super::secure::{self, Certificates, Secure};
use super::{HandedPort, Port, Problem, Protocol, Report, ResponderConfig};

/// So many clients at once; the one that has been silent for longest makes room for the next.
const CLIENTS: usize = 128;
/// A client that is silent for this long is let go.
const SILENCE: Duration = Duration::from_mins(10);
/// Ports that could not be had are tried again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// Read and written at once.
const PIECE: usize = 4096;

/// A port that is served.
struct Served {
    container: usize,
    port: Port,
    socket: Socket,
}

enum Socket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// A port that is not served.
struct Missing {
    container: usize,
    port: Port,
    /// Why not, as last told.
    why: String,
}

struct Client {
    stream: TcpStream,
    peer: SocketAddr,
    container: usize,
    port: Port,
    connection: Connection,
    /// Nothing was received yet: it is not known whether there is TLS.
    is_new: bool,
    secure: Option<Secure>,
    /// Who answers instead of us.
    handed: Option<Handed>,
    /// Why nobody does who should.
    deserted: Option<io::Error>,
    /// What is to be sent, as it goes onto the wire.
    wire: Vec<u8>,
    heard: Instant,
}

impl Client {
    /// Whether more may be read.
    fn is_hungry(&self) -> bool {
        self.connection.hungry()
            && self.wire.len() < WAITING
            && self.handed.as_ref().is_none_or(Handed::is_hungry)
    }
}

/// Everything a responder holds.
pub struct Sockets {
    config: ResponderConfig,
    logs: Vec<Log>,
    served: Vec<Served>,
    missing: Vec<Missing>,
    /// For TLS, where an authority of pods was given.
    certificates: Option<Arc<Certificates>>,
    clients: HashMap<u64, Client>,
    /// Numbers the clients.
    next: u64,
}

/// What became ready.
enum Ready {
    Port(usize),
    Client(u64),
}

impl Sockets {
    /// Opens the logs and whatever ports can be had.
    pub fn new(config: ResponderConfig) -> io::Result<Self> {
        let logs = config.containers.iter().map(|container| Log::open(container.log.as_deref()));
        let logs = logs.collect::<io::Result<Vec<Log>>>()?;
        let mut missing = Vec::new();
        for (index, container) in config.containers.iter().enumerate() {
            for port in &container.ports {
                missing.push(Missing { container: index, port: *port, why: String::new() });
            }
        }
        let (served, clients) = (Vec::new(), HashMap::new());
        let mut new = Self { config, logs, served, missing, certificates: None, clients, next: 0 };
        new.greet();
        new.certify();
        new.bind();
        new.report();
        Ok(new)
    }

    /// Serves for ever.
    pub fn serve(mut self) -> io::Result<()> {
        let mut retry = Instant::now() + AGAIN;
        loop {
            let until = if self.missing.is_empty() { SILENCE } else { AGAIN };
            for ready in self.wait(until)? {
                match ready {
                    Ready::Port(index) => self.serve_port(index),
                    Ready::Client(number) => self.serve_client(number),
                }
            }
            let now = Instant::now();
            self.clients.retain(|_, client| now.duration_since(client.heard) < SILENCE);
            if !self.missing.is_empty() && now >= retry {
                retry = now + AGAIN;
                if self.bind() {
                    self.report();
                }
            }
        }
    }

    fn log(&mut self, container: usize, text: &str) {
        if let Some(log) = self.logs.get_mut(container) {
            log.line(Timestamp::now(), text);
        }
    }

    fn greet(&mut self) {
        let ResponderConfig { namespace, pod, node, .. } = &self.config;
        let text = format!(
            "landbridge responder for pod {namespace}/{pod} on {node}; images are not run, this \
             process answers for them"
        );
        for container in 0..self.config.containers.len() {
            self.log(container, &text);
        }
    }

    /// Takes the authority of pods, if there is one.
    fn certify(&mut self) {
        let Some(path) = &self.config.authority else { return };
        match std::fs::read_to_string(path).and_then(|pem| Authority::of_key(&pem)) {
            Ok(authority) => self.certificates = Some(Arc::new(Certificates::new(authority))),
            Err(error) => {
                let text = format!("no TLS: cannot use the key {}: {error}", path.display());
                self.log(0, &text);
            }
        }
    }

    /// Tries to have the missing ports. Says whether anything is different from before.
    fn bind(&mut self) -> bool {
        let mut changed = false;
        for mut missing in std::mem::take(&mut self.missing) {
            let Missing { container, port, .. } = missing;
            let called = format!("port {}/{}", port.number, port.protocol.as_str());
            match open(port) {
                Ok(Some(socket)) => {
                    self.log(container, &format!("listening on {called}"));
                    self.served.push(Served { container, port, socket });
                    changed = true;
                }
                Ok(None) => {
                    self.log(container, &format!("{called} is not served: SCTP is left out"));
                }
                Err(error) => {
                    let why = explain(&error);
                    if why != missing.why {
                        self.log(container, &format!("cannot listen on {called}: {why}"));
                        missing.why = why;
                        changed = true;
                    }
                    self.missing.push(missing);
                }
            }
        }
        changed
    }

    /// Tells the agent which ports are served.
    fn report(&mut self) {
        let Some(path) = self.config.report.clone() else { return };
        let problems = self.missing.iter().map(|missing| Problem {
            container: self.config.containers[missing.container].name.clone(),
            port: missing.port,
            why: missing.why.clone(),
        });
        let report = Report { pid: std::process::id(), problems: problems.collect() };
        if let Err(error) = replace(&path, &report) {
            self.log(0, &format!("cannot write {}: {error}", path.display()));
        }
    }

    /// Waits until something can be done, but no longer than told.
    fn wait(&self, most: Duration) -> io::Result<Vec<Ready>> {
        let mut fds = Vec::with_capacity(self.served.len() + self.clients.len());
        for served in &self.served {
            fds.push(match &served.socket {
                Socket::Tcp(socket) => PollFd::new(socket, PollFlags::IN),
                Socket::Udp(socket) => PollFd::new(socket, PollFlags::IN),
            });
        }
        let numbers: Vec<u64> = self.clients.keys().copied().collect();
        for number in &numbers {
            let client = &self.clients[number];
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, client.is_hungry());
            flags.set(PollFlags::OUT, !client.wire.is_empty());
            fds.push(PollFd::new(&client.stream, flags));
        }
        let handed = numbers.iter().filter(|number| self.clients[number].handed.is_some());
        let handed: Vec<u64> = handed.copied().collect();
        for number in &handed {
            let client = &self.clients[number];
            fds.extend(client.handed.as_ref().map(|handed| handed.poll(client.wire.len())));
        }
        let timeout = Timespec::try_from(most).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready = fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready
            .map(|(index, _)| match index.checked_sub(self.served.len()) {
                None => Ready::Port(index),
                // Both ends of a connection that is handed on mean that client.
                Some(place) => Ready::Client(
                    numbers.get(place).copied().unwrap_or_else(|| handed[place - numbers.len()]),
                ),
            })
            .collect())
    }

    fn serve_port(&mut self, index: usize) {
        let served = &self.served[index];
        let (container, port) = (served.container, served.port);
        match &served.socket {
            Socket::Tcp(listener) => {
                let Ok((stream, peer)) = listener.accept() else { return };
                if stream.set_nonblocking(true).is_ok() {
                    self.admit(stream, canonical(peer), container, port);
                }
            }
            Socket::Udp(socket) => {
                let mut buffer = [0; PIECE];
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
                let peer = canonical(from);
                let line = self.words(container, port, peer, None, &Asked::Line);
                if let Socket::Udp(socket) = &self.served[index].socket {
                    let _ = socket.send_to(line.as_bytes(), from);
                }
                self.log(container, &format!("{peer} UDP {} {length} bytes", port.number));
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr, container: usize, port: Port) {
        if self.clients.len() >= CLIENTS {
            let silent = self.clients.iter().min_by_key(|(_, client)| client.heard);
            if let Some(number) = silent.map(|(number, _)| *number) {
                self.clients.remove(&number);
            }
        }
        let mut client = Client {
            stream,
            peer,
            container,
            port,
            connection: Connection::default(),
            is_new: true,
            secure: None,
            handed: None,
            deserted: None,
            wire: Vec::new(),
            heard: Instant::now(),
        };
        self.hand_on(&mut client);
        self.clients.insert(self.next, client);
        self.next += 1;
    }

    /// Finds who answers a client instead of us, if somebody does.
    fn hand_on(&mut self, client: &mut Client) {
        let container = &self.config.containers[client.container].name;
        let number = client.port.number;
        let is_meant = |port: &&HandedPort| port.number == number && port.container == *container;
        let Some(port) = self.config.handed.iter().find(is_meant) else { return };
        match Handed::to(&port.socket) {
            Ok(handed) => client.handed = Some(handed),
            Err(error) => {
                let text = format!("{} TCP {number}: nobody behind it: {error}", client.peer);
                client.deserted = Some(error);
                self.log(client.container, &text);
            }
        }
    }

    fn serve_client(&mut self, number: u64) {
        let Some(mut client) = self.clients.remove(&number) else { return };
        if self.exchange(&mut client) {
            client.heard = Instant::now();
            self.clients.insert(number, client);
        }
    }

    /// Reads and writes once. Says whether the connection goes on.
    fn exchange(&mut self, client: &mut Client) -> bool {
        if client.is_hungry() {
            let mut buffer = [0; PIECE];
            match client.stream.read(&mut buffer) {
                Ok(0) => match &mut client.handed {
                    Some(handed) => handed.end(),
                    None => client.connection.end(),
                },
                Ok(length) => self.receive(client, &buffer[..length]),
                Err(error) if passing(&error) => {}
                Err(_) => return false,
            }
        }
        let Client { connection, secure, wire, handed, .. } = client;
        if let Some(handed) = handed
            && !connection.closing
            && !handed.exchange(&mut connection.output)
        {
            connection.closing = true;
        }
        match secure {
            None => wire.append(&mut connection.output),
            Some(secure) => {
                let is_last = connection.closing;
                let sent = secure.send(&mut connection.output, wire);
                if is_last {
                    secure.end();
                }
                if sent.and_then(|()| secure.send(&mut Vec::new(), wire)).is_err() {
                    return false;
                }
            }
        }
        if !wire.is_empty() {
            match client.stream.write(wire) {
                Ok(length) => drop(wire.drain(..length)),
                Err(error) if passing(&error) => {}
                Err(_) => return false,
            }
        }
        !(client.connection.closing && client.wire.is_empty())
    }

    /// Takes in bytes of the wire.
    fn receive(&mut self, client: &mut Client, bytes: &[u8]) {
        let (container, port, peer) = (client.container, client.port, client.peer);
        if std::mem::take(&mut client.is_new) && secure::greets(bytes) {
            client.secure = self.secure(&client.stream);
        }
        let mut plain = Ok(bytes.to_vec());
        if let Some(secure) = &mut client.secure {
            plain = secure.receive(bytes);
        }
        let plain = plain.unwrap_or_else(|error| {
            self.log(container, &format!("{peer} TCP {} TLS: {error}", port.number));
            client.connection.closing = true;
            Vec::new()
        });
        if plain.is_empty() {
            return;
        }
        if let Some(handed) = &mut client.handed {
            handed.take(&plain);
            return;
        }
        // Only now: who closes before it was asked something resets the connection.
        if let Some(error) = client.deserted.take() {
            client.connection.output = handed::nobody(&error);
            return client.connection.end();
        }
        let name = client.secure.as_ref().map(|secure| secure.name().unwrap_or("-").to_owned());
        client.connection.receive(&plain, |asked| {
            let what = match asked {
                Asked::Http { line, .. } => line.clone(),
                Asked::Line => "no HTTP".to_owned(),
            };
            let by = name.as_ref().map(|name| format!(" TLS {name}")).unwrap_or_default();
            self.log(container, &format!("{peer} TCP {}{by} {what}", port.number));
            self.words(container, port, peer, name.as_deref(), asked)
        });
    }

    /// TLS for a connection, where there is an authority.
    fn secure(&self, stream: &TcpStream) -> Option<Secure> {
        let certificates = self.certificates.as_ref()?;
        let here: IpAddr = stream.local_addr().ok()?.ip().to_canonical();
        Secure::new(certificates, here).ok()
    }

    /// `tls`: the name a client asked for that came by TLS.
    fn words(
        &self,
        container: usize,
        port: Port,
        peer: SocketAddr,
        tls: Option<&str>,
        asked: &Asked,
    ) -> String {
        let interfaces = interfaces();
        let answer = Answer {
            config: &self.config,
            container: &self.config.containers[container].name,
            port,
            peer,
            tls,
            interfaces: &interfaces,
        };
        match asked {
            Asked::Line => answer.line(),
            Asked::Http { json: true, .. } => answer.json(),
            Asked::Http { json: false, .. } => answer.text(),
        }
    }
}

/// Opens a port for both families, or for IPv4 where the kernel has no other.
fn open(port: Port) -> io::Result<Option<Socket>> {
    let any: [SocketAddr; 2] =
        [(Ipv6Addr::UNSPECIFIED, port.number).into(), (Ipv4Addr::UNSPECIFIED, port.number).into()];
    let socket = match port.protocol {
        Protocol::Sctp => return Ok(None),
        Protocol::Tcp => {
            let socket = without_v6(TcpListener::bind(any[0]), || TcpListener::bind(any[1]))?;
            socket.set_nonblocking(true)?;
            Socket::Tcp(socket)
        }
        Protocol::Udp => {
            let socket = without_v6(UdpSocket::bind(any[0]), || UdpSocket::bind(any[1]))?;
            socket.set_nonblocking(true)?;
            Socket::Udp(socket)
        }
    };
    Ok(Some(socket))
}

fn without_v6<T>(first: io::Result<T>, second: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match first {
        // A port that is taken is taken; only a missing family is a reason to try the other.
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => second(),
        other => other,
    }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process of this network holds it (pods with hostNetwork share the node's \
             ports)"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// An IPv4 client of a socket for both families, as IPv4.
fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// The interfaces that have addresses others can reach.
fn interfaces() -> Vec<Interface> {
    let read = || {
        let net = Handle::open().ok()?;
        let addresses = net.addresses().ok()?;
        let mut found = Vec::new();
        for link in net.links().ok()? {
            if link.name.as_str() == "lo" {
                continue;
            }
            let own = addresses.iter().filter(|address| address.link == link.index);
            let addresses: Vec<String> = own.map(|address| address.net.to_string()).collect();
            if !addresses.is_empty() {
                found.push(Interface { name: link.name.to_string(), addresses });
            }
        }
        Some(found)
    };
    read().unwrap_or_default()
}

/// Replaces a file as a whole.
fn replace(path: &Path, report: &Report) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    std::fs::write(&temporary, serde_json::to_vec(report)?)?;
    std::fs::rename(&temporary, path)
}
