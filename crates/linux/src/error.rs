//! What went wrong: what was attempted, on which link, what the kernel said, and what helps.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::name::NotAName;
use crate::remedy::remedy;

/// What every fallible call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused the request.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Something that was asked for is not there.
    #[error("cannot {attempt}: it does not exist")]
    Absent { attempt: Attempt },
    /// The netlink socket failed, not the request.
    #[error("cannot {attempt}: the netlink socket failed")]
    Socket { attempt: Attempt, source: io::Error },
    /// The kernel's answer could not be read.
    #[error("cannot {attempt}: the kernel's answer is not understood: {reason}")]
    Malformed { attempt: Attempt, reason: String },
    /// A list kept changing while it was read.
    #[error("cannot {attempt}: it changed during each of {tries} readings")]
    Unsteady { attempt: Attempt, tries: u32 },
    /// A link of that name is there, but is another one than wanted, and cannot be turned into it.
    #[error("link {name} exists with {found}, wanted is {wanted}")]
    Differs { name: String, found: String, wanted: String },
    /// The name is no name of a link.
    #[error("{name:?} is no link's name")]
    Name { name: String, source: NotAName },
    /// A namespace could not be made, entered or removed.
    #[error("cannot {what} network namespace {name}{}", hint(*.remedy))]
    Namespace { what: &'static str, name: String, source: io::Error, remedy: Option<&'static str> },
    /// A sysctl could not be read or written.
    #[error("cannot {what} sysctl {name}{}", hint(*.remedy))]
    Sysctl { what: &'static str, name: String, source: io::Error, remedy: Option<&'static str> },
    /// The text is no name of a network sysctl.
    #[error("{name:?} is no network sysctl: {reason}")]
    SysctlName { name: String, reason: &'static str },
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A monitor was opened where no async runtime is.
    #[error("a monitor needs a running tokio runtime")]
    NoRuntime,
    /// A checkpoint of another version of this program.
    #[error("a checkpoint of version {found} cannot be restored: this program knows {known}")]
    Version { found: u32, known: u32 },
}

/// The kernel's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was attempted.
    pub attempt: Attempt,
    /// The error number, positive.
    pub errno: i32,
    /// The kernel's own words, where it gave any.
    pub message: Option<String>,
    /// What helps, where it is known.
    pub remedy: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(attempt: Attempt, errno: i32, message: Option<String>) -> Self {
        let remedy = remedy(&attempt, errno, message.as_deref());
        Self { attempt, errno, message, remedy }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error(self.errno);
        write!(f, "cannot {}: {text}", self.attempt)?;
        if let Some(message) = &self.message {
            write!(f, ": {}", message.trim_end_matches('.'))?;
        }
        f.write_str(&hint(self.remedy))
    }
}

impl std::error::Error for Refusal {}

fn hint(remedy: Option<&'static str>) -> String {
    remedy.map(|remedy| format!(" ({remedy})")).unwrap_or_default()
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    List,
    Get,
    Create,
    Change,
    Delete,
    Move,
    Rename,
}

/// What kind of object an attempt was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Object {
    Link,
    Address,
    Route,
    Rule,
    Neighbour,
    NamespaceId,
}

/// What was attempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub action: Action,
    pub object: Object,
    /// The object in words: a name, an address, a route.
    pub subject: String,
    /// The link it was attempted on, where there is one beside the subject.
    pub link: Option<String>,
    /// The kind of the link, where it matters.
    pub kind: Option<String>,
}

impl Attempt {
    pub(crate) fn new(action: Action, object: Object, subject: impl fmt::Display) -> Self {
        Self { action, object, subject: subject.to_string(), link: None, kind: None }
    }

    pub(crate) fn list(object: Object) -> Self {
        Self::new(Action::List, object, "")
    }

    pub(crate) fn on(mut self, link: impl fmt::Display) -> Self {
        self.link = Some(link.to_string());
        self
    }

    pub(crate) fn of_kind(mut self, kind: &str) -> Self {
        self.kind = Some(kind.to_owned());
        self
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::List => "list",
            Action::Get => "get",
            Action::Create => "create",
            Action::Change => "change",
            Action::Delete => "delete",
            Action::Move => "move",
            Action::Rename => "rename",
        };
        let object = match self.object {
            Object::Link => "link",
            Object::Address => "address",
            Object::Route => "route",
            Object::Rule => "rule",
            Object::Neighbour => "neighbour",
            Object::NamespaceId => "namespace id",
        };
        if self.action == Action::List {
            return match self.object {
                Object::Address => f.write_str("list addresses"),
                _ => write!(f, "{action} {object}s"),
            };
        }
        write!(f, "{action} ")?;
        if let Some(kind) = &self.kind {
            write!(f, "{kind} ")?;
        }
        write!(f, "{object} {}", self.subject)?;
        if let Some(link) = &self.link {
            write!(f, " on {link}")?;
        }
        Ok(())
    }
}

impl Error {
    /// The kernel's error number, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused(refusal) => Some(refusal.errno),
            Self::Socket { source, .. }
            | Self::Namespace { source, .. }
            | Self::Sysctl { source, .. }
            | Self::File { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether what was asked for is simply not there.
    pub fn is_absent(&self) -> bool {
        use rustix::io::Errno;
        let gone = [Errno::NODEV, Errno::NOENT, Errno::SRCH, Errno::ADDRNOTAVAIL, Errno::NXIO];
        match self {
            Self::Absent { .. } => true,
            Self::Refused(refusal) => gone.iter().any(|e| e.raw_os_error() == refusal.errno),
            Self::Sysctl { source, .. } | Self::Namespace { source, .. } => {
                source.kind() == io::ErrorKind::NotFound
            }
            _ => false,
        }
    }

    /// Whether it is there already.
    pub fn is_present(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.errno == rustix::io::Errno::EXIST.raw_os_error(),
            Self::Namespace { source, .. } => source.kind() == io::ErrorKind::AlreadyExists,
            _ => false,
        }
    }
}
