//! Processes in the namespaces of a pod: started, recognised, waited for.
//!
//! A thread made for it enters the namespaces and starts the process, which inherits them; then the
//! thread ends. Nothing has to be done between `fork` and `exec`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use jiff::{SignedDuration, Timestamp};
use landbridge_linux::Namespace;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::etc::Covers;
use super::record::Process;
use crate::responder::Report;

/// The name a process sees as that of its machine.
#[derive(Clone, Debug)]
pub enum Hostname {
    /// The node's.
    Node,
    /// Its own.
    New(String),
    /// That of another process.
    Of(u32),
}

/// Does work on a thread in the namespaces of a pod, where files of its own cover the node's; what it
/// starts stays there.
pub fn inside<T: Send>(
    network: Option<&Path>,
    hostname: &Hostname,
    covers: &Covers,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let work = || {
        enter_hostname(hostname)?;
        if let Err(error) = enter_files(covers) {
            // Where mounting is forbidden everything else works all the same.
            tracing::warn!(%error, "the pod sees its node's files below /etc");
        }
        work()
    };
    match network {
        Some(path) => Namespace::open(path)
            .and_then(|namespace| namespace.run(work))
            .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error.to_string()))?,
        None => std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().name("pod".to_owned()).spawn_scoped(scope, work)?;
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread failed")))
        }),
    }
}

fn enter_hostname(hostname: &Hostname) -> io::Result<()> {
    match hostname {
        Hostname::Node => Ok(()),
        Hostname::New(name) => {
            // Deprecated because the same call could also unshare file descriptors, which can break
            // what other threads believe; with this flag it cannot.
            #[expect(deprecated, reason = "only CLONE_FILES is unsafe")]
            rustix::thread::unshare(UnshareFlags::NEWUTS)?;
            Ok(rustix::system::sethostname(name.as_bytes())?)
        }
        Hostname::Of(pid) => {
            let file = File::open(format!("/proc/{pid}/ns/uts"))?;
            let kind = Some(LinkNameSpaceType::HostNameAndNISDomainName);
            Ok(move_into_link_name_space(file.as_fd(), kind)?)
        }
    }
}

/// Mounts of its own, with the pod's files in the place of the node's. What the node unmounts later goes
/// here, too: otherwise networks of pods that are gone would be kept alive.
fn enter_files(covers: &Covers) -> io::Result<()> {
    if covers.is_empty() {
        return Ok(());
    }
    #[expect(deprecated, reason = "only CLONE_FILES is unsafe")]
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    for (file, place) in covers {
        // A node that lacks the file has no place for it.
        if place.exists() {
            mount_bind(file, *place)?;
        }
    }
    Ok(())
}

/// Starts a process that does not depend on this one: its own group, nothing on its standard input,
/// what it writes besides its log in a file.
pub fn start(
    network: Option<&Path>,
    hostname: &Hostname,
    covers: &Covers,
    mut command: Command,
    output: &Path,
) -> io::Result<(Process, Child)> {
    let output = File::create(output)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let mut child = inside(network, hostname, covers, || command.spawn())?;
    let pid = child.id();
    let Some(born) = born(pid) else {
        let status = child.wait()?;
        return Err(io::Error::other(format!("it ended at once: {status}")));
    };
    Ok((Process { pid, born, started: Timestamp::now() }, child))
}

/// Whether a process is still the one it was.
pub fn alive(process: &Process) -> bool {
    born(process.pid) == Some(process.born)
}

/// When a process was started, in ticks; nothing for one that is gone or only waits to be reaped.
fn born(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; behind its last parenthesis come the numbers, the state first.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The processes of this machine whose last argument is a file of a name, with the path of that.
///
/// Finds those whose agent died before it could write their number down.
pub fn with_last_argument(file: &str) -> HashMap<PathBuf, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let find = |pid| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let last = command.strip_suffix(&[0])?.rsplit(|byte| *byte == 0).next()?;
        let path = Path::new(OsStr::from_bytes(last));
        if path.file_name() != Some(OsStr::new(file)) {
            return None;
        }
        let born = born(pid)?;
        Some((path.to_owned(), Process { pid, born, started: started(born) }))
    };
    pids.filter_map(find).collect()
}

/// When a process was started that was born at a tick.
fn started(born: u64) -> Timestamp {
    let now = Timestamp::now();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split(['.', ' ']).next().and_then(|text| text.parse::<u64>().ok());
    let age = seconds.unwrap_or(0).saturating_sub(born / rustix::param::clock_ticks_per_second());
    i64::try_from(age)
        .ok()
        .and_then(|age| now.checked_sub(SignedDuration::from_secs(age)).ok())
        .unwrap_or(now)
}

/// Reads a report, if there is one.
pub fn read_report(path: &Path) -> Option<Report> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Sends a signal, unless the process is gone.
pub fn signal(process: &Process, kill: bool) -> io::Result<()> {
    let Some(held) = hold(process) else { return Ok(()) };
    let signal = if kill { Signal::KILL } else { Signal::TERM };
    match pidfd_send_signal(held, signal) {
        Err(errno) if errno != rustix::io::Errno::SRCH => Err(errno.into()),
        _ => Ok(()),
    }
}

/// A handle on exactly this process.
fn hold(process: &Process) -> Option<std::os::fd::OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
    let held = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    // Looked at after it was opened: from here on the number cannot become another's.
    alive(process).then_some(held)
}

/// Waits until a process has ended. How it ended is known only of children.
pub async fn end(process: Process, child: Option<Child>) -> Option<i32> {
    if let Some(held) = hold(&process) {
        // Deprecated because a type may change its descriptor behind tokio's back; this one cannot.
        #[expect(deprecated, reason = "an OwnedFd never changes its descriptor")]
        let held = AsyncFd::with_interest(held, Interest::READABLE);
        match held {
            Ok(held) => drop(held.readable().await.map(|_| ())),
            Err(error) => {
                tracing::warn!(%error, "cannot wait for a process; looking every second instead");
                while alive(&process) {
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    }
    // It has ended, so this does not wait.
    child.and_then(|mut child| child.wait().ok()).map(code)
}

/// As a shell tells it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(127))
}

/// The name of the file that tells a responder what it is.
pub const SETTINGS: &str = "responder.json";

/// The files of a pod.
#[derive(Clone, Debug)]
pub struct Files {
    pub directory: PathBuf,
}

impl Files {
    /// Those of a pod, below an agent's state directory.
    pub fn of(state_dir: &Path, uid: &str) -> Self {
        Self { directory: state_dir.join("pods").join(uid) }
    }

    /// What the responder is told.
    pub fn settings(&self) -> PathBuf {
        self.directory.join(SETTINGS)
    }

    /// What the responder tells.
    pub fn report(&self) -> PathBuf {
        self.directory.join("report.json")
    }

    /// What it writes besides.
    pub fn output(&self) -> PathBuf {
        self.directory.join("output")
    }

    /// What it has of its own below `/etc`.
    pub fn etc(&self) -> PathBuf {
        self.directory.join("etc")
    }

    /// Its volumes, each where a container sees it.
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// The log of a container since its process was started for the n-th time.
    pub fn log(&self, container: &str, restarts: u32) -> PathBuf {
        self.directory.join(container).join(format!("{restarts}.log"))
    }
}
