//! The thin binary: hands a call to the daemon and prints its answer.
//!
//! It starts no runtime and reads no certificate: what costs time at every call is the daemon's,
//! once. Without a daemon it does the work itself. A DEL that finds no daemon is written down for
//! it and succeeds: a sandbox must always be removable.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use landbridge_cni::error::{CniError, Code};
use serde_json::Value;

use crate::message::{BODY_MAX, Message};
use crate::releases::{Release, Releases};

/// How long the daemon may take; kubelet gives up a little later.
const ANSWER: Duration = Duration::from_mins(2);
/// How often a daemon that does not listen is tried: it may be about to be replaced.
const CONNECTS: u32 = 3;
const CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Where things are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The daemon's socket, when the configuration names none; nothing when there is no daemon.
    pub socket: Option<PathBuf>,
    /// The directory of releases, which the daemon reads.
    pub releases: PathBuf,
}

/// What the process prints and exits with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// Where releases wait that could not be made at once; the agent reads them.
pub const RELEASES: &str = "/var/lib/landbridge/releases";
/// Where the agent listens, when nothing else is said.
pub const SOCKET: &str = "/run/landbridge/cni.sock";
/// No configuration is larger.
const INPUT_MAX: u64 = 8 << 20;

/// The whole process of a plugin: the environment and standard input in, standard output and the exit
/// code out. `alone` gets the call and the directory of releases. No runtime is started, and nothing is
/// read that is not needed: this runs once for every interface of every pod.
pub fn process(
    plugin: &str,
    alone: &dyn Fn(&Message, &Path) -> Result<String, CniError>,
) -> ExitCode {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| key.starts_with("CNI_"))
        .collect();
    let mut stdin = Vec::new();
    // What cannot be read is an empty configuration, and refused as such.
    let _ = io::stdin().take(INPUT_MAX).read_to_end(&mut stdin);
    let place = |variable: &str, otherwise: &str| {
        std::env::var_os(variable).map_or_else(|| otherwise.into(), PathBuf::from)
    };
    let places = Places {
        socket: Some(place("LANDBRIDGE_CNI_SOCKET", SOCKET)),
        releases: place("LANDBRIDGE_RELEASES", RELEASES),
    };
    let output = shim(plugin, &env, &stdin, &places, &|message| alone(message, &places.releases));
    let _ = io::stderr().write_all(output.stderr.as_bytes());
    let _ = io::stdout().write_all(output.stdout.as_bytes());
    output.code.into()
}

/// Runs a call of a plugin that needs the cluster: by the daemon, or `alone`.
pub fn shim(
    plugin: &str,
    env: &BTreeMap<String, String>,
    stdin: &[u8],
    places: &Places,
    alone: &dyn Fn(&Message) -> Result<String, CniError>,
) -> Output {
    let command = env.get("CNI_COMMAND").map_or("", String::as_str);
    match command {
        "" => {
            let stderr = format!(
                "CNI {plugin} plugin of landbridge\nCNI protocol versions supported: {}\n",
                landbridge_cni::Version::ALL.map(landbridge_cni::Version::as_str).join(", ")
            );
            return Output { stdout: String::new(), stderr, code: 0 };
        }
        "VERSION" => {
            let stdout = landbridge_cni::version::answer().unwrap_or_default();
            return Output { stdout, stderr: String::new(), code: 0 };
        }
        _ => {}
    }
    let message = Message::new(plugin, env, stdin);
    let socket = socket_of(stdin).or_else(|| places.socket.clone());
    let answer = match socket {
        None => match alone(&message) {
            Err(error) if message.is_del() && error.code.is_passing() => {
                queue(&message, places, &io::Error::other(error.to_string()))
            }
            answer => answer,
        },
        Some(socket) => match connect(&socket) {
            Ok(stream) => match ask(stream, &message) {
                // The daemon died with the call in hand. What it had done is undone by a DEL.
                Err(error) if message.is_del() => queue(&message, places, &error),
                Err(error) => Err(CniError::new(
                    Code::TRY_AGAIN,
                    format!("the daemon at {} did not answer: {error}", socket.display()),
                )),
                Ok(answer) => answer,
            },
            Err(error) if message.is_del() => queue(&message, places, &error),
            Err(_) => alone(&message),
        },
    };
    match answer {
        Ok(stdout) => Output { stdout, stderr: String::new(), code: 0 },
        Err(error) => {
            let stdout = error.print().unwrap_or_else(|_| error.to_string());
            Output { stdout, stderr: String::new(), code: 1 }
        }
    }
}

/// `socket`, or `daemonSocketDir`, of the configuration.
fn socket_of(stdin: &[u8]) -> Option<PathBuf> {
    let config: Value = serde_json::from_slice(stdin).ok()?;
    let text = |key: &str| config.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let upstream = || text("daemonSocketDir").map(|dir| Path::new(dir).join("multus.sock"));
    text("socket").map(PathBuf::from).or_else(upstream)
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let mut tries = 0;
    loop {
        tries += 1;
        match UnixStream::connect(socket) {
            // No socket at all is no daemon; one that refuses may be between two daemons.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && tries < CONNECTS => {
                std::thread::sleep(CONNECT_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// Writes a DEL down. Only when that fails, too, does it fail. The namespace is left out: it is
/// gone when the call is made again, and its name may be another's by then.
fn queue(message: &Message, places: &Places, why: &io::Error) -> Result<String, CniError> {
    let mut env = message.env.clone();
    env.remove("CNI_NETNS");
    let release =
        Release::Call { plugin: message.plugin.clone(), env, config: message.config.clone() };
    match Releases::new(&places.releases).put(&release) {
        Ok(_) => Ok(String::new()),
        Err(error) => Err(CniError {
            details: format!("{}: {error}", places.releases.display()),
            ..CniError::new(
                Code::IO_FAILURE,
                format!("no daemon ({why}), and the release could not be written down"),
            )
        }),
    }
}

/// One request and its answer over HTTP/1.1.
fn ask(mut stream: UnixStream, message: &Message) -> io::Result<Result<String, CniError>> {
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let body = serde_json::to_vec(message)?;
    let head = format!(
        "POST /cni HTTP/1.1\r\nHost: dummy\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    let mut answer = Vec::new();
    stream.take(u64::try_from(BODY_MAX).unwrap_or(u64::MAX)).read_to_end(&mut answer)?;
    let (status, text) = split(&answer)
        .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "half an answer"))?;
    Ok(match status {
        200 => Ok(text),
        _ => Err(CniError::from_output("daemon", text.as_bytes())),
    })
}

/// Status and body of an answer that is whole.
fn split(answer: &[u8]) -> Option<(u16, String)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let body = answer.get(end + 4..)?;
    (body.len() == length).then(|| (status, String::from_utf8_lossy(body).into_owned()))
}
