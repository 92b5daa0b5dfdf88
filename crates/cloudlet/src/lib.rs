//! The embedded cloud: Keystone v3, Neutron v2.0 and a small Nova and Glance, as values.
//!
//! ```text
//!  http ──► Request ─► read(snapshot) ─────────────► Response        GETs and tokens: never wait
//!             │
//!             └──────► one writer: Cloud::handle ──► Response, [Change]
//!                         │ a batch of calls, then          │
//!                         ├─► Journal::keep (durable)       ├─► followers (the lab's data plane)
//!                         └─► publish the snapshot ─────────┴─► acknowledge
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`request`] | a call and its answer as values |
//! | [`object`], [`state`] | objects as JSON maps; all rows of all services as one persistent value |
//! | [`cloud`] | one call on the state: all of it happens, or none |
//! | [`identity`] | Keystone: users, projects, roles, tokens, the catalogue |
//! | [`network`] | Neutron: one frame, a table of attributes and some rules per resource |
//! | [`fabric`] | what each node of a lab has to make of the networks, instances and routers |
//! | [`journal`] | where changes are kept |
//! | [`server`], [`mod@http`] | readers, the writer, and the sockets |
//!
//! Time and chance are arguments everywhere but at the edges.

pub mod caller;
pub mod chance;
pub mod cloud;
pub mod compute;
pub mod config;
pub mod fabric;
pub mod http;
pub mod identity;
pub mod image;
pub mod journal;
pub mod network;
pub mod object;
pub mod request;
pub mod server;
pub mod state;

pub use self::cloud::{Cloud, Outcome};
pub use self::config::Config;
pub use self::object::Object;
pub use self::request::{Request, Response, Service};
pub use self::server::Server;
pub use self::state::{Change, State};
