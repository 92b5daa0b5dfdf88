//! The state directory: what lies where, whose it is, and which server runs in it.
//!
//! Invariants:
//! - `format` is written before anything else: a directory with it is ours, one without is not, and
//!   nothing in it is touched.
//! - Whoever serves or removes the state holds `lock`, so there is at most one.
//! - `run.json` describes the server that holds the lock; one left behind by a crash names a process
//!   that is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use landbridge_apiserver::pki::write_private;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::process::ProcessId;

const MARK: &str = "landbridge state 1\n";
/// Everything we put into the directory. Nothing else is ever removed.
const FILES: &[&str] = &[
    "run.json",
    "kubeconfig",
    "clouds.yaml",
    "admin.sock",
    "landbridge.log",
    "port",
    "lock",
    "format",
];
const DIRECTORIES: &[&str] = &["store", "pki", "lab", "cloud"];

/// A state directory, existing or not.
#[derive(Clone)]
pub struct StateDir {
    dir: PathBuf,
}

/// The server that runs, as `run.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInfo {
    pub pid: i32,
    /// Start of the process in ticks since boot: guards against a number that is used again.
    pub started_ticks: u64,
    /// The same for people.
    pub started_at: String,
    pub url: String,
    pub socket: PathBuf,
    pub version: String,
    pub commit: String,
    /// Whether it answers requests.
    pub ready: bool,
    /// Whether it runs in the background.
    pub detached: bool,
    /// Where this machine reaches the lab's ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<String>,
    /// Where the embedded cloud's Keystone is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<String>,
}

/// What can be known about a server from outside.
pub enum Server {
    /// Alive.
    Running(RunInfo),
    /// It ended without a word (`kill -9`, power loss).
    Crashed(RunInfo),
    /// Nothing there.
    Stopped,
}

/// Holds the directory; other servers stay out until it is dropped.
pub struct Lock {
    _file: File,
}

/// Removes `run.json` when the server ends, however it ends.
pub struct Running {
    path: PathBuf,
    info: RunInfo,
}

impl RunInfo {
    /// The process.
    pub fn process(&self) -> ProcessId {
        ProcessId { pid: self.pid, started_ticks: self.started_ticks }
    }
}

impl StateDir {
    /// Names a directory; does nothing yet.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The directory as the user named it.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    pub fn pki(&self) -> PathBuf {
        self.dir.join("pki")
    }

    pub fn store(&self) -> PathBuf {
        self.dir.join("store")
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("admin.sock")
    }

    /// Everything about the lab.
    pub fn lab(&self) -> PathBuf {
        self.dir.join("lab")
    }

    /// What the embedded cloud keeps.
    pub fn cloud(&self) -> PathBuf {
        self.dir.join("cloud")
    }

    /// For clients of the embedded cloud.
    pub fn clouds(&self) -> PathBuf {
        self.dir.join("clouds.yaml")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("landbridge.log")
    }

    /// Whether the directory carries our mark.
    pub fn is_ours(&self) -> bool {
        fs::read_to_string(self.dir.join("format"))
            .is_ok_and(|mark| mark.starts_with("landbridge state "))
    }

    /// Makes the directory, or accepts one that is ours or empty.
    pub fn prepare(&self) -> anyhow::Result<()> {
        let shown = self.dir.display();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .with_context(|| format!("cannot create the state directory {shown}"))?;
        let format = self.dir.join("format");
        match fs::read_to_string(&format) {
            Ok(mark) if mark == MARK => return Ok(()),
            Ok(mark) if mark.starts_with("landbridge state ") => bail!(
                "{shown} was written by another version of landbridge ({}, this one writes {}); use that version, or another --dir",
                mark.trim(),
                MARK.trim()
            ),
            Ok(_) => bail!(
                "{shown} is not a landbridge state directory: {} is something else; use another --dir",
                format.display()
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", format.display()));
            }
        }
        let mut entries =
            fs::read_dir(&self.dir).with_context(|| format!("cannot read {shown}"))?;
        if entries.next().is_some() {
            bail!(
                "{shown} is not empty and not a landbridge state directory; use another --dir, so that nothing of yours gets mixed with ours"
            );
        }
        // An empty directory somebody made for us: from now on it holds keys.
        fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o700))
            .with_context(|| format!("cannot protect {shown}"))?;
        write_private(&format, MARK.as_bytes())?;
        Ok(())
    }

    /// Takes the directory for this process; `None` when another one has it.
    pub fn lock(&self) -> anyhow::Result<Option<Lock>> {
        let path = self.dir.join("lock");
        let failed = || format!("cannot lock {}", path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error).with_context(failed),
        }
    }

    /// What `run.json` says and whether it is true.
    pub fn server(&self) -> anyhow::Result<Server> {
        let path = self.dir.join("run.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Server::Stopped);
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let info: RunInfo = serde_json::from_str(&text).with_context(|| {
            format!("{} is damaged; if no landbridge runs there, remove it", path.display())
        })?;
        Ok(if info.process().is_alive() { Server::Running(info) } else { Server::Crashed(info) })
    }

    /// Says in `run.json` that this process serves the directory.
    pub fn begin(&self, info: RunInfo) -> anyhow::Result<Running> {
        let running = Running { path: self.dir.join("run.json"), info };
        running.write()?;
        Ok(running)
    }

    /// Forgets a server that is gone.
    pub fn forget(&self) -> anyhow::Result<()> {
        for name in ["run.json", "admin.sock"] {
            remove(&self.dir.join(name))?;
        }
        Ok(())
    }

    /// Port used last.
    pub fn last_port(&self) -> Option<u16> {
        fs::read_to_string(self.dir.join("port")).ok()?.trim().parse().ok()
    }

    /// Remembers the port.
    pub fn remember_port(&self, port: u16) -> anyhow::Result<()> {
        Ok(write_private(&self.dir.join("port"), format!("{port}\n").as_bytes())?)
    }

    /// Removes everything we made, then the directory if nothing else is in it.
    /// Returns what was left because it is not ours.
    pub fn purge(&self) -> anyhow::Result<Vec<String>> {
        for name in DIRECTORIES {
            let path = self.dir.join(name);
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        // The mark last: a purge that was interrupted can be repeated.
        for name in FILES {
            remove(&self.dir.join(name))?;
        }
        let shown = self.dir.display();
        let mut left = Vec::new();
        for entry in fs::read_dir(&self.dir).with_context(|| format!("cannot read {shown}"))? {
            left.push(entry?.file_name().to_string_lossy().into_owned());
        }
        if left.is_empty() {
            fs::remove_dir(&self.dir).with_context(|| format!("cannot remove {shown}"))?;
        }
        left.sort();
        Ok(left)
    }

    /// Opens the log for a server in the background. One that has grown large starts anew.
    pub fn open_log(&self) -> anyhow::Result<File> {
        const LARGE: u64 = 10 << 20;
        let path = self.log();
        let large = fs::metadata(&path).is_ok_and(|meta| meta.len() > LARGE);
        if large {
            remove(&path)?;
        }
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open the log {}", path.display()))
    }

    /// Last lines of the log; none when there is no log.
    pub fn log_tail(&self, lines: usize) -> Vec<String> {
        tail(&self.log(), lines).unwrap_or_default()
    }
}

impl Running {
    /// Says that requests are answered now.
    pub fn ready(&mut self) -> anyhow::Result<()> {
        self.info.ready = true;
        self.write()
    }

    /// Says where the embedded cloud is.
    pub fn serves_cloud(&mut self, url: &str) -> anyhow::Result<()> {
        self.info.cloud = Some(url.to_owned());
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(&self.info)?;
        Ok(write_private(&self.path, text.as_bytes())?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Should it stay behind: it names a process that is gone, and nobody believes it.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.info.socket);
    }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Last lines of a file, reading no more than its end.
fn tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    const END: u64 = 64 << 10;
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(size.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    Ok(all.iter().skip(all.len().saturating_sub(lines)).map(|&line| line.to_owned()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn temp() -> (tempfile::TempDir, StateDir) {
        let parent = tempfile::tempdir().unwrap();
        let state = StateDir::new(&parent.path().join("state"));
        (parent, state)
    }

    fn info() -> RunInfo {
        let own = ProcessId::own().unwrap();
        RunInfo {
            pid: own.pid,
            started_ticks: own.started_ticks,
            started_at: "2026-01-01T00:00:00Z".into(),
            url: "https://127.0.0.1:6443".into(),
            socket: PathBuf::from("/nonexistent/admin.sock"),
            version: "0".into(),
            commit: "0".into(),
            ready: false,
            detached: false,
            ingress: None,
            cloud: None,
        }
    }

    #[test]
    fn a_new_directory_is_marked_and_private() {
        let (_parent, state) = temp();
        assert!(!state.is_ours());
        state.prepare().unwrap();
        assert!(state.is_ours());
        assert_eq!(fs::metadata(state.path()).unwrap().permissions().mode() & 0o777, 0o700);
        state.prepare().unwrap();
    }

    #[test]
    fn foreign_and_future_directories_are_refused() {
        let (_parent, state) = temp();
        fs::create_dir(state.path()).unwrap();
        fs::write(state.path().join("thesis.tex"), "").unwrap();
        assert!(state.prepare().unwrap_err().to_string().contains("not empty"));
        assert!(!state.path().join("format").exists(), "nothing was written");
        fs::write(state.path().join("format"), "landbridge state 99\n").unwrap();
        assert!(state.prepare().unwrap_err().to_string().contains("another version"));
        fs::write(state.path().join("format"), "Lossless audio\n").unwrap();
        assert!(state.prepare().unwrap_err().to_string().contains("something else"));
    }

    #[test]
    fn one_at_a_time() {
        let (_parent, state) = temp();
        state.prepare().unwrap();
        let lock = state.lock().unwrap();
        assert!(lock.is_some());
        assert!(state.lock().unwrap().is_none());
        drop(lock);
        assert!(state.lock().unwrap().is_some());
    }

    #[test]
    fn run_json_is_believed_only_while_the_process_lives() {
        let (_parent, state) = temp();
        state.prepare().unwrap();
        assert!(matches!(state.server().unwrap(), Server::Stopped));
        let mut running = state.begin(info()).unwrap();
        running.ready().unwrap();
        assert!(matches!(state.server().unwrap(), Server::Running(info) if info.ready));
        let path = state.path().join("run.json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(running);
        assert!(matches!(state.server().unwrap(), Server::Stopped));

        let reused = RunInfo { started_ticks: 1, ..info() };
        let leftover = state.begin(reused).unwrap();
        assert!(matches!(state.server().unwrap(), Server::Crashed(_)));
        drop(leftover);
        fs::write(&path, "{").unwrap();
        assert!(state.server().is_err());
    }

    #[test]
    fn purge_leaves_what_is_not_ours() {
        let (_parent, state) = temp();
        state.prepare().unwrap();
        fs::create_dir_all(state.store().join("deep")).unwrap();
        fs::write(state.path().join("notes.txt"), "mine").unwrap();
        assert_eq!(state.purge().unwrap(), ["notes.txt"]);
        assert!(state.path().join("notes.txt").exists());
        assert!(!state.store().exists());
        fs::remove_file(state.path().join("notes.txt")).unwrap();
        assert!(state.purge().unwrap().is_empty());
        assert!(!state.path().exists());
    }

    #[test]
    fn the_tail_is_the_end() {
        let (_parent, state) = temp();
        state.prepare().unwrap();
        assert!(state.log_tail(3).is_empty());
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n}")).collect();
        fs::write(state.log(), lines.join("\n")).unwrap();
        assert_eq!(state.log_tail(2), ["line 19998", "line 19999"]);
    }

    #[test]
    fn the_port_is_remembered() {
        let (_parent, state) = temp();
        state.prepare().unwrap();
        assert_eq!(state.last_port(), None);
        state.remember_port(7443).unwrap();
        assert_eq!(state.last_port(), Some(7443));
    }
}
