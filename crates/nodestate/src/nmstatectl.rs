//! Where NetworkManager runs, nmstate applies: two masters of one network would undo each other.
//!
//! The calls are those of kubernetes-nmstate: `rollback` of what was left over, `apply --no-commit`, the
//! probe, then `commit` or `rollback`. nmstate's own checkpoint in NetworkManager rolls back by
//! itself when nobody commits in time.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Error, RolledBack};
use crate::node::{Applied, Node, caught, probed};

/// Seconds until NetworkManager takes back what nobody committed, as in kubernetes-nmstate.
const UNCOMMITTED: u64 = 480;
/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(UNCOMMITTED + 20);
/// Where NetworkManager is reached.
const BUS: &str = "/run/dbus/system_bus_socket";
/// Where it says that it runs.
const RUNS: &str = "/run/NetworkManager";

/// Whatever makes a node's network as wanted.
pub trait Applier: Send + Sync {
    /// The node as it is, in nmstate's words.
    fn show(&self) -> Result<Value, Error>;
    /// Has the desired state, or leaves everything as it was and says why.
    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<Applied, Error>;
}

impl Applier for Node {
    fn show(&self) -> Result<Value, Error> {
        Node::show(self)
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<Applied, Error> {
        Node::apply(self, desired, probe)
    }
}

/// nmstate, by its program.
#[derive(Clone, Debug)]
pub struct Nmstatectl {
    program: PathBuf,
    patience: Duration,
}

impl Nmstatectl {
    /// By a program of that path.
    pub fn new(program: PathBuf) -> Self {
        Self { program, patience: PATIENCE }
    }

    /// Gives up on a call after another time.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where NetworkManager runs and nmstate is there; nothing elsewhere. `path` is the search path
    /// for programs, `root` is `/` but for tests.
    pub fn detect(path: &std::ffi::OsStr, root: &Path) -> Option<Self> {
        let here = |absolute: &str| root.join(absolute.trim_start_matches('/'));
        if !here(BUS).exists() || !here(RUNS).exists() {
            return None;
        }
        let program = std::env::split_paths(path).map(|dir| dir.join("nmstatectl"));
        program.into_iter().find(|program| program.is_file()).map(Self::new)
    }

    fn call(&self, arguments: &[&str], input: Option<&Value>) -> Result<String, Error> {
        let failed = |why: String| Error::Nmstatectl { call: arguments.join(" "), why };
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("cannot run {}: {error}", self.program.display())))?;
        // Full pipes must not stop it, so each has its own thread.
        let feed = child.stdin.take().zip(input.map(Value::to_string));
        let feed = std::thread::spawn(move || {
            // What it does not read it does not need; its own words say more.
            feed.map(|(mut pipe, text)| pipe.write_all(text.as_bytes()))
        });
        let out = reader(child.stdout.take());
        let err = reader(child.stderr.take());
        let until = Instant::now() + self.patience;
        let status = loop {
            match child.try_wait().map_err(|error| failed(error.to_string()))? {
                Some(status) => break status,
                None if Instant::now() >= until => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("no answer within {:?}", self.patience)));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let _ = feed.join();
        let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        if status.success() {
            return Ok(out);
        }
        let words = [err.trim(), out.trim()].into_iter().find(|text| !text.is_empty());
        Err(failed(words.map_or_else(|| status.to_string(), str::to_owned)))
    }
}

/// As much of a pipe as anyone will read.
fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    const MOST: u64 = 64 << 20;
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MOST).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Applier for Nmstatectl {
    fn show(&self) -> Result<Value, Error> {
        let text = self.call(&["show", "--json"], None)?;
        serde_json::from_str(&text).map_err(|error| Error::Nmstatectl {
            call: "show --json".to_owned(),
            why: format!("its answer is no JSON: {error}"),
        })
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<Applied, Error> {
        // Of a change that was cut short; mostly there is none, and that is an error to nmstate.
        let _ = self.call(&["rollback"], None);
        let timeout = UNCOMMITTED.to_string();
        self.call(&["apply", "--no-commit", "--timeout", &timeout], Some(desired))?;
        if let Err(cause) = caught(|| probed(probe)) {
            let left = match self.call(&["rollback"], None) {
                Ok(_) => Vec::new(),
                Err(error) => vec![error.to_string()],
            };
            let rolled_back = RolledBack { left };
            return Err(Error::RolledBack { cause, rolled_back });
        }
        self.call(&["commit"], None)?;
        Ok(Applied::default())
    }
}
