//! What went wrong, in words for the condition that a person reads.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a desired state cannot be: the place in it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Fault {
    pub place: String,
    pub why: String,
}

impl Fault {
    pub(crate) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The desired state cannot be; nothing was changed.
    #[error("desired state: {0}")]
    Desired(#[from] Fault),
    /// The node's network could not be read; nothing was changed.
    #[error("cannot read the node's network: {0}")]
    Read(#[source] landbridge_linux::Error),
    /// A file of the node's own could not be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    /// What was changed has been taken back.
    #[error("{cause}; {rolled_back}")]
    RolledBack { cause: Cause, rolled_back: RolledBack },
    /// `nmstatectl` could not be run or said no.
    #[error("nmstatectl {call}: {why}")]
    Nmstatectl { call: String, why: String },
}

/// Why a change was taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("step failed: {step}: {why}")]
    Step { step: String, why: String },
    /// The kernel took every step, but the result is another one.
    #[error("verification failed, still to do: {}", left.join("; "))]
    Verification { left: Vec<String> },
    #[error("probe failed: {why}")]
    Probe { why: String },
    #[error("internal error: {why}")]
    Panic { why: String },
}

/// How taking back went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolledBack {
    /// What could not be brought back, with reasons.
    pub left: Vec<String>,
}

impl fmt::Display for RolledBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left.is_empty() {
            return f.write_str("rolled back");
        }
        write!(f, "rolled back, except: {}", self.left.join("; "))
    }
}

/// An error with everything that caused it, in one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
