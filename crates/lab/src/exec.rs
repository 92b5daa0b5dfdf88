//! A command in a node, started from outside.
//!
//! ```text
//!  open everything ─► user ─► mount, UTS, network, PID ─► start the command ─► wait for it
//!  while /proc is     where   those of the node,          it is born in the     its status is ours
//!  still ours         ours    held by the supervisor      PID namespace
//!                     differs
//! ```
//!
//! The order matters: rights over the other namespaces come with the user namespace, and no path
//! leads to them once the mounts have changed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use landbridge_linux::Namespace;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Gid, Pid, Signal, Uid, kill_process};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tokio::signal::unix::{SignalKind, signal};

use crate::enter::{exit_code, unshare};
use crate::info::{Held, LabInfo};

/// Where a command is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Node(String),
    /// In a pod of a node. Paths are as the node sees them.
    Pod {
        node: String,
        /// Its network namespace, `/run/netns/NAME`; none where it shares the node's.
        network: Option<PathBuf>,
        /// Files of its own, each with the place it sees it at.
        files: Vec<(PathBuf, PathBuf)>,
    },
    /// Among the switches.
    Switches,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("no node is called {name:?} (there are: {})", .there.join(", "))]
    NoSuchNode { name: String, there: Vec<String> },
    #[error("no command was given")]
    NoCommand,
    #[error("cannot {what}: {source}{hint}")]
    Enter { what: &'static str, source: io::Error, hint: &'static str },
    #[error("the lab has just changed: try again")]
    Changed,
    #[error("no network namespace is at {} on {node}", path.display())]
    NoSuchNetns { node: String, path: PathBuf, source: Box<landbridge_linux::Error> },
    #[error("{}: {}", program.display(), reason(source))]
    Start { program: PathBuf, source: io::Error },
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "command not found".to_owned(),
        _ => error.to_string(),
    }
}

/// Says as a shell does what starting a program says: a directory of PATH that may not be searched
/// (root's own, for one who is root in the lab only) is no reason to call a program forbidden.
fn as_a_shell(error: io::Error, program: &OsStr) -> io::Error {
    let forbidden = error.kind() == io::ErrorKind::PermissionDenied;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        || std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    let is_a_path = program.as_encoded_bytes().contains(&b'/');
    if forbidden && !is_a_path && !is_there() { io::ErrorKind::NotFound.into() } else { error }
}

impl ExecError {
    /// The status a shell would end with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127.into(),
            Self::Start { .. } => 126.into(),
            _ => 125.into(),
        }
    }
}

/// Runs a command in the lab, with this process's input, output and terminal, and says how it ended.
///
/// The process must have only one thread, and can have no other afterwards.
pub fn exec(lab: &LabInfo, target: &Target, command: &[OsString]) -> Result<ExitCode, ExecError> {
    let (program, arguments) = command.split_first().ok_or(ExecError::NoCommand)?;
    let directory = std::env::current_dir().ok();
    enter(lab, target)?;
    let mut command = Command::new(program);
    command.args(arguments);
    // The same place where it is there, too.
    if let Some(directory) = directory.filter(|directory| directory.is_dir()) {
        command.current_dir(directory);
    }
    wait_for(command, program)
}

fn enter(lab: &LabInfo, target: &Target) -> Result<(), ExecError> {
    let pid = lab.supervisor.pid;
    let (node, netns, files) = match target {
        Target::Node(name) => (Some(name), None, &[][..]),
        Target::Pod { node, network, files } => (Some(node), network.as_ref(), &files[..]),
        Target::Switches => (None, None, &[][..]),
    };
    let node = node.map(|name| {
        lab.nodes.iter().find(|node| node.name == *name).ok_or_else(|| ExecError::NoSuchNode {
            name: name.clone(),
            there: lab.names().into_iter().map(str::to_owned).collect(),
        })
    });
    let node = node.transpose()?;

    let user = open(format!("/proc/{pid}/ns/user"))?;
    let pids = open(format!("/proc/{pid}/ns/pid"))?;
    let held = |held: Held| {
        let file = open(format!("/proc/{pid}/fd/{}", held.fd))?;
        if inode(&file)? == held.inode { Ok(file) } else { Err(ExecError::Changed) }
    };
    let (mnt, uts, net) = match node {
        Some(node) => {
            let spaces = node.namespaces;
            (held(spaces.mnt)?, Some(held(spaces.uts)?), held(spaces.net)?)
        }
        None => (open(format!("/proc/{pid}/ns/mnt"))?, None, held(lab.switches)?),
    };

    if inode(&user)? != inode(&open("/proc/self/ns/user".to_owned())?)? {
        join("enter the lab's user namespace", &user, LinkNameSpaceType::User)?;
        become_root().map_err(|source| failed("become root of the lab", source))?;
    }
    join("enter the lab's PID namespace", &pids, LinkNameSpaceType::ProcessID)?;
    if let Some(uts) = uts {
        let kind = LinkNameSpaceType::HostNameAndNISDomainName;
        join("take the node's host name", &uts, kind)?;
    }
    join("enter the node's mount namespace", &mnt, LinkNameSpaceType::Mount)?;
    if !files.is_empty() {
        see(files).map_err(|source| failed("mount the pod's files", source))?;
    }
    match (netns, node) {
        (Some(path), Some(node)) => {
            let named = Namespace::open(path).map_err(|source| ExecError::NoSuchNetns {
                node: node.name.clone(),
                path: path.clone(),
                source: Box::new(source),
            })?;
            join("enter the network namespace", &named, LinkNameSpaceType::Network)
        }
        _ => join("enter the node's network namespace", &net, LinkNameSpaceType::Network),
    }
}

/// Covers the node's files by others, for this process alone; one that is a host's name becomes it.
fn see(files: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUTS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    for (file, place) in files {
        if place.ends_with("hostname") {
            rustix::system::sethostname(std::fs::read_to_string(file)?.trim().as_bytes())?;
        }
        // A machine that lacks the file has no place for it.
        if place.exists() {
            rustix::mount::mount_bind(file, place)?;
        }
    }
    Ok(())
}

/// Who is not known in the user namespace (root, in the lab of another) becomes who is.
fn become_root() -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
        rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)?;
    }
    Ok(())
}

fn open(path: String) -> Result<File, ExecError> {
    File::open(path).map_err(|source| failed("look into the lab", source))
}

fn inode(file: &File) -> Result<u64, ExecError> {
    let stat =
        rustix::fs::fstat(file).map_err(|errno| failed("look into the lab", errno.into()))?;
    Ok(stat.st_ino)
}

fn join(
    what: &'static str,
    namespace: &impl AsFd,
    kind: LinkNameSpaceType,
) -> Result<(), ExecError> {
    move_into_link_name_space(namespace.as_fd(), Some(kind))
        .map_err(|errno| failed(what, errno.into()))
}

fn failed(what: &'static str, source: io::Error) -> ExecError {
    let hint = match source.kind() {
        io::ErrorKind::PermissionDenied => " (be the user who started the lab, or root)",
        io::ErrorKind::NotFound => " (it has just ended)",
        _ => "",
    };
    ExecError::Enter { what, source, hint }
}

fn wait_for(command: Command, program: &OsStr) -> Result<ExitCode, ExecError> {
    let start = |source| {
        let source = as_a_shell(source, program);
        ExecError::Start { program: program.into(), source }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| failed("wait for a command", source))?;
    runtime.block_on(async {
        let listen = |kind| signal(kind).map_err(|source| failed("listen to signals", source));
        // The terminal sends these to the command as well; whether to end is its decision.
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut quit = listen(SignalKind::quit())?;
        // These were meant for the command and reached only us.
        let mut terminate = listen(SignalKind::terminate())?;
        let mut hangup = listen(SignalKind::hangup())?;
        let mut child = tokio::process::Command::from(command).spawn().map_err(start)?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pass = |signal| {
            if let Some(pid) = pid {
                let _ = kill_process(pid, signal);
            }
        };
        loop {
            tokio::select! {
                status = child.wait() => return status.map(exit_code).map_err(start),
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
                _ = terminate.recv() => pass(Signal::TERM),
                _ = hangup.recv() => pass(Signal::HUP),
            }
        }
    })
}
