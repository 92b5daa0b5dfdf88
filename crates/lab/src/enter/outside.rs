//! The process that stays outside.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CapabilitySet, UnshareFlags};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use super::{EnterError, MARKER, Settings, unshare};

/// After the lifeline is cut the lab gets this long to stop in order.
const GRACE: Duration = Duration::from_secs(10);

pub(super) fn run(settings: &Settings) -> Result<ExitCode, EnterError> {
    if !privileged() {
        user_namespace()?;
    }
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWUTS)
        .map_err(|error| EnterError::new("make mount and PID namespaces", error))?;
    // No thread can be made in this process from now on; a runtime of one thread needs none.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| EnterError::new("start a runtime", error))?;
    runtime
        .block_on(supervise(settings))
        .map_err(|error| EnterError::new("start the lab's first process", error))
}

/// Whether namespaces can be had without a user namespace.
fn privileged() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    rustix::process::geteuid().is_root()
        && rustix::thread::capabilities(None).is_ok_and(|have| have.effective.contains(needed))
}

/// Makes the caller root of a user namespace in which nobody else is known.
fn user_namespace() -> Result<(), EnterError> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    unshare(UnshareFlags::NEWUSER)
        .map_err(|error| EnterError::new("make a user namespace", error))?;
    // Groups could be a way past a file's "not for this group", so they stay as they are.
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {} 1", uid.as_raw())),
        ("gid_map", format!("0 {} 1", gid.as_raw())),
    ] {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
            EnterError::new(format!("become root of a user namespace ({file})"), error)
        })?;
    }
    Ok(())
}

async fn supervise(settings: &Settings) -> io::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut lifeline = if settings.lifeline { Some(stdin_pipe()?) } else { None };

    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(MARKER, "1").stdin(Stdio::piped());
    let mut child = tokio::process::Command::from(command).spawn()?;
    // Open for as long as this process lives.
    let _held = child.stdin.take();
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pass = |signal| {
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    };
    loop {
        tokio::select! {
            status = child.wait() => return status.map(exit_code),
            _ = terminate.recv() => pass(Signal::TERM),
            _ = interrupt.recv() => pass(Signal::INT),
            _ = hangup.recv() => pass(Signal::TERM),
            () = cut(&mut lifeline) => {
                lifeline = None;
                pass(Signal::TERM);
                if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
                    return status.map(exit_code);
                }
                pass(Signal::KILL);
            }
        }
    }
}

fn stdin_pipe() -> io::Result<pipe::Receiver> {
    use std::os::fd::AsFd;
    let fd: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    pipe::Receiver::from_owned_fd(fd)
}

/// Waits until the pipe ends; for ever where there is none. What is written to it is not read by anyone.
async fn cut(lifeline: &mut Option<pipe::Receiver>) {
    use tokio::io::AsyncReadExt;
    let Some(pipe) = lifeline else { return std::future::pending().await };
    let mut ignored = [0; 64];
    while matches!(pipe.read(&mut ignored).await, Ok(1..)) {}
}

/// As a shell tells it.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}
