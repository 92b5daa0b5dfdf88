//! dnsmasq as a process of this test, and the servers that it and we would ask.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::compare::Theirs;

/// Debian puts it where an ordinary user's PATH does not look.
fn program() -> Option<&'static str> {
    ["/usr/sbin/dnsmasq", "/sbin/dnsmasq", "/usr/bin/dnsmasq", "/usr/local/sbin/dnsmasq"]
        .into_iter()
        .find(|path| Path::new(path).exists())
}

pub fn is_there() -> bool {
    program().is_some()
}

/// Notes that the test did not run.
pub fn skip(why: &str) {
    eprintln!("skipped: dns beside dnsmasq: {why}");
    if let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "dns beside dnsmasq: {why}").unwrap();
    }
}

/// A running dnsmasq; ends with the value.
pub struct Dnsmasq {
    child: Child,
    socket: UdpSocket,
}

impl Dnsmasq {
    pub fn start(settings: &str, folder: &Path) -> Self {
        let port = free_port();
        let file = folder.join("dnsmasq.conf");
        let log = folder.join("dnsmasq.log");
        let process = format!("port={port}\nbind-interfaces\npid-file=\ncache-size=0\n{settings}");
        fs::write(&file, process).unwrap();
        let errors = fs::File::create(&log).unwrap();
        let child = Command::new(program().unwrap())
            .args(["--keep-in-foreground", "--log-facility=-", "--user="])
            .arg(format!("--conf-file={}", file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut started = Self { child, socket };
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = started.child.try_wait().unwrap() {
                panic!("dnsmasq ended with {status}: {}", fs::read_to_string(&log).unwrap());
            }
            let hello = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x09localhost\0\0\x01\0\x01";
            if matches!(started.ask(hello), Theirs::Reply(_)) {
                break;
            }
            assert!(Instant::now() < deadline, "dnsmasq does not answer within 10 s");
            std::thread::sleep(Duration::from_millis(20));
        }
        started.socket.set_read_timeout(Some(Duration::from_millis(250))).unwrap();
        started
    }

    pub fn ask(&self, message: &[u8]) -> Theirs {
        // Refused while it is not there yet.
        if self.socket.send(message).is_err() {
            return Theirs::Nothing;
        }
        let mut buffer = [0; 4096];
        loop {
            let Ok(length) = self.socket.recv(&mut buffer) else { return Theirs::Nothing };
            // An answer to an earlier one that came too late.
            if buffer[..2] == message[..2] {
                return Theirs::read(&buffer[..length]);
            }
        }
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Answers everything with one TXT record that holds its port.
pub struct Stub {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    pub fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(reply) = stub_reply(&buffer[..length], address.port()) {
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stub_reply(query: &[u8], port: u16) -> Option<Vec<u8>> {
    let mut end = 12;
    while *query.get(end)? != 0 {
        end += usize::from(query[end]) + 1;
    }
    let question = query.get(12..end + 5)?;
    let text = format!("port {port}");
    let mut reply = query[..2].to_vec();
    reply.extend([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    reply.extend(question);
    reply.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 7, 0]);
    reply.push(u8::try_from(text.len() + 1).ok()?);
    reply.push(u8::try_from(text.len()).ok()?);
    reply.extend(text.as_bytes());
    Some(reply)
}
