//! What went wrong in a lab.

use std::io;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network refused something; the text says what and where.
    #[error(transparent)]
    Network(#[from] landbridge_linux::Error),
    #[error("cannot {what}: {source}")]
    Io { what: String, source: io::Error },
    /// The request cannot be met; the text says why.
    #[error("{0}")]
    Refused(String),
}

/// What every fallible call of this crate's supervisor returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }

    /// The kernel's error number, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Network(error) => error.errno(),
            Self::Io { source, .. } => source.raw_os_error(),
            Self::Refused(_) => None,
        }
    }
}
