//! Network namespaces: made, opened, entered and removed.
//!
//! A namespace lives as long as something holds it: a process in it, an open file, or a mount. A
//! [`Namespace`] is such an open file. [`named`] ones are mounts besides and outlive the process.
//!
//! Entering is a property of a thread, and a thread that stays changed is a trap for whatever runs
//! on it next. So [`Namespace::run`] starts a thread that enters, does the work and ends. For a few
//! system calls that thread would be most of the cost; [`Namespace::visit`] makes them on the calling
//! one, which is back in its own namespace afterwards, or the process ends.

pub mod named;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use crate::error::{Error, Result};
use crate::remedy::namespace_remedy;

/// The calling thread's own namespace.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, held open. Clones hold the same one.
#[derive(Clone)]
pub struct Namespace {
    file: Arc<File>,
    name: Arc<str>,
}

/// What tells namespaces apart while they live: the same for every way to one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The number that `lsns` and `ip netns` show.
    pub fn inode(self) -> u64 {
        self.inode
    }
}

impl Namespace {
    /// The namespace of the calling thread.
    pub fn current() -> Result<Self> {
        Self::at(Path::new(OWN), "of this thread", "open")
    }

    /// The namespace at a path: a named one, or `/proc/PID/ns/net`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let namespace = Self::at(path, &path.display().to_string(), "open")?;
        // Any file opens; only a namespace can be entered, and that is better said now.
        if !is_namespace(&namespace.file) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "the file is no namespace");
            return Err(failed("open", &namespace.name, source));
        }
        Ok(namespace)
    }

    /// The namespace of a process.
    pub fn of_process(pid: u32) -> Result<Self> {
        Self::at(
            &PathBuf::from(format!("/proc/{pid}/ns/net")),
            &format!("of process {pid}"),
            "open",
        )
    }

    /// Makes a namespace without a name: it ends with its last holder, also when that one crashes.
    pub fn unnamed() -> Result<Self> {
        in_new_thread("unnamed", || {
            unshare_network().map_err(|source| failed("create", "unnamed", source))?;
            Self::at(Path::new(OWN), "unnamed", "create")
        })?
    }

    fn at(path: &Path, name: &str, what: &'static str) -> Result<Self> {
        let file = File::open(path).map_err(|source| failed(what, name, source))?;
        Ok(Self { file: Arc::new(file), name: name.into() })
    }

    /// Does work inside the namespace, on a thread of its own, and waits for it.
    ///
    /// Sockets opened there stay in the namespace and may be taken out; a panic there is one here.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        in_new_thread(&self.name, || {
            enter(self).map_err(|source| failed("enter", &self.name, source))?;
            Ok(work())
        })?
    }

    /// Does a moment's work inside the namespace. Whoever may not come back (into a namespace of another
    /// user) gets a thread of its own for it.
    pub fn visit<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        // Entering where one is already tells whether the way back is open.
        let own = File::open(OWN).and_then(|own| enter(&own).map(|()| own));
        let Ok(own) = own else { return self.run(work) };
        enter(self).map_err(|source| failed("enter", &self.name, source))?;
        let _back = WayBack(own);
        Ok(work())
    }

    /// Starts a thread that enters, does the work and ends; what comes of it is sent. Nobody has to
    /// wait for that.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<Receiver<Result<T>>> {
        let (tell, told) = channel();
        let namespace = self.clone();
        let enter_and_work = move || {
            enter(&namespace).map_err(|source| failed("enter", &namespace.name, source))?;
            work()
        };
        std::thread::Builder::new()
            .name("netns".to_owned())
            // Whoever asked may not listen any more.
            .spawn(move || drop(tell.send(enter_and_work())))
            .map_err(|source| failed("start a thread for", &self.name, source))?;
        Ok(told)
    }

    /// What tells this namespace from others.
    pub fn identity(&self) -> Result<Identity> {
        let stat = rustix::fs::fstat(&*self.file)
            .map_err(|error| failed("identify", &self.name, error.into()))?;
        Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
    }

    /// What it was opened as, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Moves the calling thread.
fn enter(namespace: &impl AsFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Where a visit came from; dropping it goes there, also when the visit panicked.
struct WayBack(File);

impl Drop for WayBack {
    fn drop(&mut self) {
        if let Err(error) = enter(&self.0) {
            // What this thread does next would be done to the wrong namespace: a pod's in the place of the node's.
            eprintln!("cannot return from a network namespace ({error}); the process ends");
            std::process::abort();
        }
    }
}

/// Runs work on a thread made for it; whatever it does to itself ends with it.
fn in_new_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|source| failed("start a thread for", name, source))?;
        match thread.join() {
            Ok(outcome) => Ok(outcome),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Gives the calling thread a new network namespace.
fn unshare_network() -> io::Result<()> {
    // Deprecated because the same call could also unshare file descriptors, which can break what
    // other threads believe; with this flag it cannot.
    #[expect(deprecated, reason = "only CLONE_FILES is unsafe")]
    let outcome = rustix::thread::unshare(UnshareFlags::NEWNET);
    Ok(outcome?)
}

/// Whether the file lies in the kernel's file system of namespaces.
fn is_namespace(file: impl AsFd) -> bool {
    const NSFS: u64 = 0x6e73_6673;
    rustix::fs::fstatfs(file).is_ok_and(|status| u64::try_from(status.f_type) == Ok(NSFS))
}

fn failed(what: &'static str, name: &str, source: io::Error) -> Error {
    let remedy = namespace_remedy(&source);
    Error::Namespace { what, name: name.to_owned(), source, remedy }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({})", self.name)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
