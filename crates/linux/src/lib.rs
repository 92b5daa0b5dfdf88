//! Linux networking as typed values: links, addresses, routes, rules, neighbours, sysctls, namespaces.
//!
//! ```text
//!  values (Link, Address, Route, …)      what a namespace holds, serialisable, no netlink in sight
//!     ▲ decode        │ encode
//!     │               ▼
//!  Handle ── one blocking netlink socket, born in one namespace, bound to it for life
//!     ├─ ensure_* / create / change / delete
//!     ├─ checkpoint() ─► Checkpoint ─► plan ─► restore()
//!  Monitor ── a second socket that only listens (async)
//!  Namespace::run ── a thread that enters, does the work and ends
//! ```
//!
//! Two rules hold everywhere:
//! - no thread that outlives a call ever changes its namespace, so nothing here can leave a worker
//!   of an async runtime in the wrong place;
//! - calls on [`Handle`] block, for as long as the kernel needs (tens of microseconds as a rule,
//!   longer while another process holds the kernel's routing lock). Async code that does many of
//!   them wraps them in `spawn_blocking`.
//!
//! ```no_run
//! use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Handle::open()?;
//! let pod = Namespace::unnamed()?;
//! let end = |name| Ok::<_, Box<dyn std::error::Error>>(NewLink::new(IfName::new(name)?, LinkKind::Veth).up());
//! host.create_veth(&end("veth-pod")?, &end("eth0")?, Some(&pod))?;
//! let inside = Handle::in_namespace(&pod)?;
//! let eth0 = inside.index(&IfName::new("eth0")?)?;
//! inside.ensure_address(&Address::new(eth0, "192.0.2.10/24".parse()?))?;
//! # Ok(())
//! # }
//! ```
//!
//! The netlink crates change their types every few months; no type of theirs is in this interface.

pub mod address;
pub mod checkpoint;
mod connection;
pub mod conntrack;
pub mod datagram;
pub mod error;
mod handle;
pub mod link;
pub mod mac;
pub mod monitor;
pub mod name;
pub mod namespace;
pub mod neighbour;
pub mod packet;
pub mod probe;
mod remedy;
pub mod route;
pub mod rule;
pub mod scope;
pub mod sysctl;

pub use self::address::Address;
pub use self::checkpoint::Checkpoint;
pub use self::conntrack::Conntrack;
pub use self::datagram::DatagramSocket;
pub use self::error::{Action, Attempt, Error, Refusal, Result};
pub use self::handle::{Ensured, Handle};
pub use self::link::{Link, LinkChange, LinkIndex, LinkKind, NewLink, Select};
pub use self::mac::MacAddr;
pub use self::monitor::{Event, Monitor};
pub use self::name::IfName;
pub use self::namespace::Namespace;
pub use self::neighbour::Neighbour;
pub use self::packet::PacketSocket;
pub use self::probe::Capabilities;
pub use self::route::Route;
pub use self::rule::Rule;
pub use self::scope::Scope;
pub use self::sysctl::{Sysctl, Sysctls};
