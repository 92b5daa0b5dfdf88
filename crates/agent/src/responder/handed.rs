//! A connection that is handed to somebody else: bytes of a client go to a socket on a path, and back.
//!
//! In a lab the pods of Keystone, Neutron and Nova have the embedded cloud behind them. Sockets on
//! paths cross network namespaces, so a client reaches it through the pod's address, or a virtual one,
//! and nothing else of the lab does.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};

use super::connection::WAITING;

/// Read at once.
const PIECE: usize = 16 << 10;

/// The far end of a connection.
#[derive(Debug)]
pub struct Handed {
    stream: UnixStream,
    /// What is to be sent there.
    there: Vec<u8>,
    /// The client sends nothing more.
    is_last: bool,
    /// The client's end was told there.
    is_told: bool,
}

impl Handed {
    /// Reaches whoever listens at a path, however long it is.
    pub fn to(socket: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // Names of sockets are short by nature; through a handle on its directory this one is.
        let directory = rustix::fs::open(
            parent,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        let stream = UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, there: Vec::new(), is_last: false, is_told: false })
    }

    /// Whether the client may send more.
    pub fn is_hungry(&self) -> bool {
        !self.is_last && self.there.len() < WAITING
    }

    /// Takes what the client has sent.
    pub fn take(&mut self, bytes: &[u8]) {
        self.there.extend_from_slice(bytes);
    }

    /// The client sends nothing more: what it has asked for still comes.
    pub fn end(&mut self) {
        self.is_last = true;
    }

    /// What to wait for, with so many bytes that wait for the client.
    pub fn poll(&self, waiting: usize) -> PollFd<'_> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, waiting < WAITING);
        flags.set(PollFlags::OUT, !self.there.is_empty());
        PollFd::new(&self.stream, flags)
    }

    /// Sends and receives as far as can be. Says whether more may come.
    pub fn exchange(&mut self, back: &mut Vec<u8>) -> bool {
        while !self.there.is_empty() {
            match self.stream.write(&self.there) {
                Ok(length) => drop(self.there.drain(..length)),
                Err(error) if passing(&error) => break,
                Err(_) => return false,
            }
        }
        if self.is_last && self.there.is_empty() && !self.is_told {
            self.is_told = true;
            let _ = self.stream.shutdown(Shutdown::Write); // it may have ended, too
        }
        let mut buffer = [0; PIECE];
        while back.len() < WAITING {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => back.extend_from_slice(&buffer[..length]),
                Err(error) if passing(&error) => break,
                Err(_) => return false,
            }
        }
        true
    }
}

/// What a client is told whose connection nobody takes.
pub fn nobody(why: &io::Error) -> Vec<u8> {
    let body = format!("what stands behind this port does not answer: {why}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

pub(super) fn passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
