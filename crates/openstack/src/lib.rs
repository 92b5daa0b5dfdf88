//! A client of OpenStack: Keystone, Neutron, Nova, as far as controllers need them.
//!
//! ```text
//!  Client (typed: list, create, update, …)      what controllers take
//!     │ Call: service, method, path, query, body, whether it may be repeated
//!     ▼
//!  Cloud ◄── Session   token, catalogue, versions, retries, errors that say what to do next
//!     │          │ one HTTP request
//!     │          ▼
//!     │      Transport ◄── Net      hyper and rustls
//!     │                ◄── tests    scripted answers, a cloud in the same process
//!     ▼
//!  stand-ins of tests
//! ```
//!
//! The logic sits between two traits. Above it, a [`Client`] makes typed calls to any [`Cloud`]; below it,
//! whoever carries bytes is a [`Transport`], and time is a [`Clock`]: so all of it runs in tests
//! without a socket and without waiting.
//!
//! | module | idea |
//! |---|---|
//! | [`cloud`] | what controllers take: typed calls to whoever carries them out |
//! | [`call`] | one call as a value |
//! | [`resources`] | what the services hold, with what may be said when making and changing it |
//! | [`error`] | what went wrong, and what follows from it |
//! | [`config`] | who to be and where: clouds.yaml, secure.yaml, the environment, a Secret |
//! | [`follow`] | settings that change while a cloud is used |
//! | [`session`] | tokens, endpoints, versions, retries |
//! | [`transport`] | one request over HTTP or HTTPS |
//! | [`clock`] | time and chance as arguments |

pub mod call;
pub mod clock;
pub mod cloud;
pub mod config;
pub mod error;
pub mod follow;
mod query;
pub mod resources;
pub mod session;
pub mod transport;

pub use http::Method;

pub use self::call::{Call, Repeat, Reply, Service};
pub use self::clock::{Clock, Machine};
pub use self::cloud::{Client, Cloud};
pub use self::config::Settings;
pub use self::error::{Error, Reaction};
pub use self::follow::{Following, Source, Surroundings};
pub use self::query::Query;
pub use self::resources::{Resource, Tagged};
pub use self::session::Session;
pub use self::transport::{Net, Transport, Trouble};
