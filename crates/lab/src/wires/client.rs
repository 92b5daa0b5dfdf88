//! Asking the supervisor. All of this blocks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::SUPERVISOR_SOCKET;
use super::protocol::{Answer, MAX_LINE, OperatorRequest};
use crate::info::LabInfo;

/// A reboot takes the longest, and that is far less.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why the supervisor did not do it.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the lab's supervisor does not answer on {}: does the lab run?", socket.display())]
    Silent { socket: PathBuf, source: io::Error },
    #[error("the lab's supervisor answers on {} what is not understood: {reason}", socket.display())]
    Odd { socket: PathBuf, reason: String },
    #[error("{text}")]
    Refused {
        text: String,
        /// The kernel's error number, where it was the kernel that refused.
        errno: Option<i32>,
    },
}

/// Switches a node off and on: everything on it is gone, it comes back with its NICs.
pub fn reboot(lab: &Path, node: &str) -> Result<(), AskError> {
    operator(lab, &OperatorRequest::Reboot { node: node.to_owned() }).map(drop)
}

/// Plugs a NIC's cable in, or pulls it.
pub fn link(lab: &Path, node: &str, nic: &str, up: bool) -> Result<(), AskError> {
    let request = OperatorRequest::Link { node: node.to_owned(), nic: nic.to_owned(), up };
    operator(lab, &request).map(drop)
}

/// What runs.
pub fn status(lab: &Path) -> Result<LabInfo, AskError> {
    let value = operator(lab, &OperatorRequest::Status {})?;
    serde_json::from_value(value).map_err(|error| AskError::Odd {
        socket: lab.join(SUPERVISOR_SOCKET),
        reason: error.to_string(),
    })
}

fn operator(lab: &Path, request: &OperatorRequest) -> Result<serde_json::Value, AskError> {
    ask(&lab.join(SUPERVISOR_SOCKET), request)
}

pub(super) fn ask(socket: &Path, request: &impl Serialize) -> Result<serde_json::Value, AskError> {
    let silent = |source| AskError::Silent { socket: socket.to_owned(), source };
    let odd = |reason| AskError::Odd { socket: socket.to_owned(), reason };
    let mut line = serde_json::to_vec(request).map_err(|error| odd(error.to_string()))?;
    line.push(b'\n');
    let answer = exchange(socket, &line).map_err(silent)?;
    match serde_json::from_str(&answer).map_err(|error| odd(error.to_string()))? {
        Answer::Done(value) => Ok(value),
        Answer::Refused { text, errno } => Err(AskError::Refused { text, errno }),
    }
}

fn exchange(socket: &Path, line: &[u8]) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(line)?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_LINE)).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}
