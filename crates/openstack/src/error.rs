//! What went wrong with a call, and what follows from it.
//!
//! Every error knows the call it belongs to (method and URL, never a token or a password), and most
//! say what to do next: [`Error::reaction`].

mod body;
mod reaction;

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};

pub use self::body::read as read_body;
pub use self::reaction::Reaction;

/// The call an error belongs to, as people may read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method} {url}")]
pub struct Asked {
    /// The method.
    pub method: Method,
    /// The URL, without secrets.
    pub url: String,
}

/// A service said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked.
    pub asked: Asked,
    /// The status of the answer.
    pub status: StatusCode,
    /// The service's word for it: Neutron's type, Keystone's title, the key Nova wraps it in.
    pub kind: String,
    /// The service's sentence.
    pub message: String,
    /// What Neutron has to add.
    pub detail: String,
    /// Under which the service's logs tell more.
    pub request_id: Option<String>,
    /// How long the service asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.asked, self.status.as_u16())?;
        if !self.kind.is_empty() {
            write!(f, " {}", self.kind)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message.trim_end_matches('.'))?;
        }
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " [{id}]")?;
        }
        Ok(())
    }
}

/// What went wrong with a call.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Nobody was reached: it did not take effect.
    #[error("{asked}: cannot be reached: {why}")]
    Unreachable { asked: Asked, why: String },
    /// The answer did not come: it may have taken effect.
    #[error("{asked}: no answer: {why}")]
    Lost { asked: Asked, why: String },
    /// The service said no.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The answer cannot be read: it did take effect.
    #[error("{asked}: the answer cannot be read: {why}")]
    Unreadable { asked: Asked, why: String },
    /// No token could be had.
    #[error("cannot log in to cloud {cloud}: {why}")]
    Login { cloud: String, why: Arc<Error> },
    /// The catalogue has no such service, or not there.
    #[error("cloud {cloud} has no {interface} endpoint of {service}{}: {have}", region.as_ref().map(|r| format!(" in region {r}")).unwrap_or_default())]
    NoEndpoint {
        cloud: String,
        service: &'static str,
        interface: &'static str,
        region: Option<String>,
        /// What the catalogue does have.
        have: String,
    },
    /// Something else than expected is behind a URL.
    #[error("{url} is not a {service} API {version}: {why}")]
    NotThatApi { url: String, service: &'static str, version: &'static str, why: String },
    /// One was expected, and there are more.
    #[error("{count} {what} fit {by}, and nobody can say which is meant: {ids}")]
    Ambiguous { what: &'static str, by: String, count: usize, ids: String },
    /// One was expected, and there is none.
    #[error("no {what} fits {by}")]
    Missing { what: &'static str, by: String },
    /// There is no end to a list.
    #[error("{asked}: {why}")]
    Endless { asked: Asked, why: String },
    /// Who to be, or where, cannot be understood.
    #[error("{0}")]
    Settings(String),
    /// Nobody has said where the cloud is.
    #[error("{0}")]
    Nowhere(String),
}

impl Error {
    /// What the service said, if it was the service.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Login { why, .. } => why.refusal(),
            _ => None,
        }
    }

    /// The service's word for what is wrong, for example `OverQuota`; empty when it has none.
    pub fn kind(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.kind,
            _ => "",
        }
    }

    /// The status of the answer, when the service itself refused this call.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status.as_u16()),
            _ => None,
        }
    }

    /// Whether the call may have taken effect all the same.
    pub fn is_unsure(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Unreadable { .. } => true,
            // Whoever stands in front of the service gave up, or the service broke half-way.
            Self::Refused(refusal) => matches!(refusal.status.as_u16(), 500 | 502 | 504),
            _ => false,
        }
    }

    /// The same without the request's id, for places where the same trouble has to read the same
    /// every time.
    #[must_use]
    pub fn steady(&self) -> Self {
        match self {
            Self::Refused(refusal) => {
                Self::Refused(Box::new(Refusal { request_id: None, ..(**refusal).clone() }))
            }
            Self::Login { cloud, why } => {
                Self::Login { cloud: cloud.clone(), why: Arc::new(why.steady()) }
            }
            other => other.clone(),
        }
    }

    /// Whether the object that was named is not there.
    pub fn is_gone(&self) -> bool {
        self.reaction() == Reaction::Gone
    }
}
