//! The process that stands for the containers of a pod in the lab.
//!
//! Images are not run. What a pod shows to the network is this process: it listens on the ports the
//! containers declare and answers with the pod's name and addresses, so that a client sees whom it
//! has reached and by which way. One runs per pod, so it is small: one thread, one `poll` loop, no
//! async runtime.
//!
//! ```text
//!  HTTP request     200 and who answers, as text or, when asked for, as JSON
//!  other TCP bytes  one line that says who answers, then the bytes themselves
//!  UDP datagram     one line that says who answers
//!  TLS              the same within, with a certificate for whatever name the client asks for
//! ```
//!
//! Ports of services that the lab really has are handed to them instead ([`HandedPort`]).
//!
//! It does not depend on the agent that started it: it writes its log itself, in the form container
//! runtimes write, and tells in a [`Report`] which ports it has. So it survives a restart of the
//! agent, and the next one reads the same files.

mod answer;
pub mod authority;
mod connection;
mod handed;
mod log;
mod secure;
mod sockets;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::log::moved as moved_log;

/// Whom a responder stands for and where it listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponderConfig {
    pub namespace: String,
    pub pod: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub node: String,
    pub containers: Vec<Container>,
    /// The file that says which ports are served; none is written without it.
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// The key that signs certificates of pods; without it there is no TLS.
    #[serde(default)]
    pub authority: Option<PathBuf>,
    /// The container that is a name server: it is run besides.
    #[serde(default)]
    pub name_server: Option<NameServer>,
    /// Ports that somebody else serves.
    #[serde(default)]
    pub handed: Vec<HandedPort>,
}

/// A TCP port whose connections go to a socket on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedPort {
    pub container: String,
    pub number: u16,
    pub socket: PathBuf,
}

/// A name server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NameServer {
    pub container: String,
    /// Of `landbridge dns`.
    pub arguments: Vec<String>,
}

/// A container and what it would listen on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    pub name: String,
    #[serde(default)]
    pub ports: Vec<Port>,
    /// Its log; standard output without it.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

/// A port of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    pub number: u16,
    pub protocol: Protocol,
}

/// What a port speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// Which ports a responder serves, and which it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The process that wrote it: a report of an earlier one says nothing.
    pub pid: u32,
    /// Ports that cannot be served now; they are tried again.
    pub problems: Vec<Problem>,
}

/// A port that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub container: String,
    pub port: Port,
    pub why: String,
}

impl ResponderConfig {
    /// Reads what the agent has written.
    pub fn read(path: &Path) -> io::Result<Self> {
        let told = |source: String| {
            let text = format!("cannot read the responder's settings {}: {source}", path.display());
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let text = std::fs::read(path).map_err(|error| told(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| told(error.to_string()))
    }
}

/// Serves on a thread of its own, and has whatever this process writes to its standard output and error
/// in the log of a container, line by line.
pub fn run_beside(config: ResponderConfig, container: &str) -> io::Result<()> {
    let own = config.containers.iter().find(|known| known.name == container);
    let mut log = log::Log::open(own.and_then(|own| own.log.as_deref()))?;
    if own.is_some_and(|own| own.log.is_some()) {
        let (read, write) = rustix::pipe::pipe()?;
        rustix::stdio::dup2_stdout(&write)?;
        rustix::stdio::dup2_stderr(&write)?;
        let lines = io::BufReader::new(std::fs::File::from(read));
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            for line in io::BufRead::split(lines, b'\n').map_while(Result::ok) {
                log.line(jiff::Timestamp::now(), &String::from_utf8_lossy(&line));
            }
        })?;
    }
    let sockets = sockets::Sockets::new(config)?;
    std::thread::Builder::new().name("ports".to_owned()).spawn(move || sockets.serve())?;
    Ok(())
}

/// Writes what an init container has said into its log.
pub fn write_log(path: &Path, text: &str) -> io::Result<()> {
    let mut log = log::Log::open(Some(path))?;
    for line in text.lines() {
        log.line(jiff::Timestamp::now(), line);
    }
    Ok(())
}

/// Serves until the process is ended by a signal. Returns only when the kernel refuses to wait for
/// sockets.
pub fn run(config: ResponderConfig) -> io::Result<()> {
    sockets::Sockets::new(config)?.serve()
}

/// Becomes `command` as the leader of a session whose terminal is standard input.
///
/// A process can take a terminal only by itself, so `landbridge` runs itself between the agent and a
/// command that asked for a terminal. Returns only when that fails.
pub fn in_terminal(command: &[std::ffi::OsString]) -> io::Error {
    use std::os::unix::process::CommandExt as _;

    let Some((program, arguments)) = command.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no command was given");
    };
    let taken =
        rustix::process::setsid().and_then(|_| rustix::process::ioctl_tiocsctty(std::io::stdin()));
    if let Err(errno) = taken {
        return io::Error::other(format!("cannot take the terminal: {errno}"));
    }
    std::process::Command::new(program).args(arguments).exec()
}
