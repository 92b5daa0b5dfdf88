//! The Kubernetes API over the embedded store.
//!
//! One registry of resources, one handler for all of them:
//!
//! ```text
//!  TLS, Unix socket, in-process ─► handler ─► call ─┬─ get, list, watch ─► snapshot, ring
//!                                   │               └─ decode ─► admission ─► write ─► store
//!                                   ├─ connect: exec, attach, port-forward, logs ─► node
//!                                   └─ documents: discovery, OpenAPI, health
//!  background: crd, namespaces, gc — each follows the store and writes like any client
//! ```
//!
//! The server knows Kubernetes and nothing of OpenStack. It is made for one machine; beyond that
//! the engine is Kubernetes itself.

mod access;
mod addresses;
mod admission;
mod body;
mod bootstrap;
mod builtin;
mod call;
mod chance;
mod client;
mod connect;
mod convert;
mod crd;
mod decode;
mod discovery;
mod documents;
mod events_ttl;
mod figures;
mod gc;
mod handler;
mod identity;
mod limits;
mod list;
mod meta;
mod metadata;
mod namespaces;
mod negotiate;
mod nodes;
mod openapi;
mod path;
pub mod pki;
mod present;
mod query;
mod registry;
mod reply;
mod select;
mod serve;
mod server;
mod system;
mod watch;
mod write;

pub use body::Body;
pub use figures::Figures;
pub use identity::Identity;
pub use limits::Limits;
pub use nodes::{NodeObjectName, NodeObjects, Nodes};
pub use server::{ApiServer, CustomKind, Options, StartError, Stats};

/// The Kubernetes version whose API is served, for example `v1.34`.
pub fn kubernetes_version() -> String {
    format!("v1.{}", documents::MINOR)
}
