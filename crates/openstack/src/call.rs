//! One call as a value: to which service, what, and whether it may be made twice.

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;

use crate::Query;

/// A service of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Keystone.
    Identity,
    /// Neutron.
    Network,
    /// Nova.
    Compute,
    /// Glance.
    Image,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Identity, Self::Network, Self::Compute, Self::Image];

    /// The type in the catalogue.
    pub fn type_(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Network => "network",
            Self::Compute => "compute",
            Self::Image => "image",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "Keystone",
            Self::Network => "Neutron",
            Self::Compute => "Nova",
            Self::Image => "Glance",
        }
    }

    /// The version of its API that is spoken here, as it stands in URLs.
    pub fn version(self) -> &'static str {
        match self {
            Self::Identity => "v3",
            Self::Network => "v2.0",
            Self::Compute => "v2.1",
            Self::Image => "v2",
        }
    }
}

/// Whether a call may be made again when nobody knows whether it took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A second time changes nothing more.
    Safe,
    /// A second time may make a second one.
    Once,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Of which service.
    pub service: Service,
    /// The method.
    pub method: Method,
    /// The path below the version, with a slash in front.
    pub path: String,
    /// What comes after the question mark.
    pub query: Query,
    /// What is sent.
    pub body: Option<Value>,
    /// Whether it may be made twice.
    pub repeat: Repeat,
    /// Only if the object still has this revision (Neutron's `If-Match`).
    pub revision: Option<u64>,
    /// Only with this microversion (Nova's); the one of the settings otherwise.
    pub microversion: Option<String>,
    /// The token that this is about (Keystone's `X-Subject-Token`).
    pub subject: Option<HeaderValue>,
}

impl Call {
    /// A call without a body. Everything but a POST may be made twice.
    pub fn new(service: Service, method: Method, path: impl Into<String>) -> Self {
        let repeat = if method == Method::POST { Repeat::Once } else { Repeat::Safe };
        Self {
            service,
            method,
            path: path.into(),
            query: Query::all(),
            body: None,
            repeat,
            revision: None,
            microversion: None,
            subject: None,
        }
    }

    /// Reads.
    pub fn get(service: Service, path: impl Into<String>) -> Self {
        Self::new(service, Method::GET, path)
    }

    /// Makes something.
    pub fn post(service: Service, path: impl Into<String>, body: Value) -> Self {
        Self { body: Some(body), ..Self::new(service, Method::POST, path) }
    }

    /// Changes something.
    pub fn put(service: Service, path: impl Into<String>, body: Value) -> Self {
        Self { body: Some(body), ..Self::new(service, Method::PUT, path) }
    }

    /// Takes something away.
    pub fn delete(service: Service, path: impl Into<String>) -> Self {
        Self::new(service, Method::DELETE, path)
    }

    /// Only if the object still has this revision.
    #[must_use]
    pub fn if_revision(mut self, revision: Option<u64>) -> Self {
        self.revision = revision;
        self
    }

    /// With this after the question mark.
    #[must_use]
    pub fn with(mut self, query: Query) -> Self {
        self.query = query;
        self
    }

    /// A second time may make a second one, or fail because of the first.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.repeat = Repeat::Once;
        self
    }
}

/// An answer that is not an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body; null when it was empty.
    pub body: Value,
}

impl Reply {
    /// An answer with a body and no headers, as stand-ins give.
    pub fn of(status: StatusCode, body: Value) -> Self {
        Self { status, headers: HeaderMap::new(), body }
    }
}
