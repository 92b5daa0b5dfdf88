//! The way into the lab: user, mount, PID and UTS namespaces of its own, without root where possible.
//!
//! ```text
//!  landbridge up
//!    │ stdin is a pipe: when `up` is gone, however it went, the pipe ends
//!    ▼
//!  the outer process   unshares while it has one thread, starts itself again, waits, passes signals on
//!    │ PDEATHSIG: when this one is gone, however it went, the kernel kills the next
//!    ▼
//!  pid 1 of the lab    with whom everything in its PID namespace ends
//! ```
//!
//! Between `up` and the outer process there is no PDEATHSIG, on purpose: that signal comes when the
//! *thread* that started a child ends, and `up` has threads that come and go.

mod mounts;
mod outside;
mod remedy;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::thread::UnshareFlags;

pub(crate) use self::mounts::{Bind, cover, fresh_run, hide_all_but, share};
pub(crate) use self::outside::exit_code;
use crate::process::Process;

/// Tells the second process from the first; pid 1 takes it out of its agents' environment.
pub(crate) const MARKER: &str = "LANDBRIDGE_LAB_INSIDE";

/// How to go in.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Directories that must be reachable inside even where they lie below `/run`.
    pub keep: Vec<PathBuf>,
    /// Whether standard input is a pipe whose end is the end of the lab.
    pub lifeline: bool,
}

/// Where this process finds itself.
#[derive(Debug)]
pub enum Entered {
    /// Outside, and the lab is over.
    Outside(ExitCode),
    /// Inside, as pid 1.
    Inside(Inside),
}

/// The proof of being pid 1 of a lab.
#[derive(Debug)]
pub struct Inside {
    /// This process as those outside see it.
    pub seen_from_outside: Process,
    /// What is kept reachable below `/run`.
    pub keep: Vec<PathBuf>,
}

/// Why there is no way in.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}{remedy}")]
pub struct EnterError {
    what: String,
    source: io::Error,
    /// What helps, with its separator, or nothing.
    remedy: String,
}

impl EnterError {
    fn new(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let remedy = remedy::remedy(&source, &remedy::Facts::gather());
        Self { what: what.into(), source, remedy }
    }
}

/// Goes in. To be called first thing in `main`: the process must have only one thread.
///
/// The calling process stays outside until the lab is over; a second one of the same program, with
/// the same arguments, comes here again and finds itself inside.
pub fn enter(settings: &Settings) -> Result<Entered, EnterError> {
    if rustix::process::getpid().is_init()
        && std::env::var_os(MARKER).as_deref() == Some(OsStr::new("1"))
    {
        inside(settings).map(Entered::Inside)
    } else {
        outside::run(settings).map(Entered::Outside)
    }
}

fn inside(settings: &Settings) -> Result<Inside, EnterError> {
    // Before the mounts: this /proc is still the one of those outside.
    let seen_from_outside = Process::myself().map_err(|e| EnterError::new("read /proc/self", e))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| EnterError::new("ask for the signal of the parent's death", errno))?;
    // The parent may have died before we asked; then the pipe it held has ended.
    if lifeline_is_cut() {
        return Err(EnterError::new("stay", io::Error::other("the parent is gone")));
    }
    // Best effort: a name for `ps`, where otherwise `exe` would stand.
    let _ = rustix::thread::set_name(c"landbridge-lab");
    let keep = mounts::kept(&settings.keep)
        .map_err(|error| EnterError::new("make the lab's directory", error))?;
    mounts::prepare(&keep)?;
    Ok(Inside { seen_from_outside, keep })
}

fn lifeline_is_cut() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = poll(&mut fds, Some(&now)).is_ok();
    polled && fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP))
}

/// Leaves what the calling thread shares with others.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // Deprecated because the same call could also unshare file descriptors, which can break what
    // other threads believe; nobody here asks for that.
    #[expect(deprecated, reason = "only CLONE_FILES is unsafe")]
    let outcome = rustix::thread::unshare(flags.difference(UnshareFlags::FILES));
    Ok(outcome?)
}
