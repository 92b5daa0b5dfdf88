//! Balancing at layer 4, without Kubernetes.
//!
//! ```text
//!  Table ──▶ rules::Rules ──▶ rules::change ──▶ a script for the program nft     (the kernel forwards)
//!    └─────▶ relay::Relay ──▶ pool::Pool per address ──▶ sockets                 (this process forwards)
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`table`] | what is to go where: addresses, ports, backends, policies |
//! | [`rules`] | the same as rules of the kernel's packet filter, and the smallest change from one to the next |
//! | [`pool`] | who gets the next connection: turns, affinity, health, draining; no IO, time is an argument |
//! | [`relay`] | sockets around pools: TCP and UDP |
//!
//! `table`, `rules` and `pool` do no IO.

pub mod pool;
pub mod relay;
pub mod rules;
pub mod table;

pub use self::table::{Choice, Port, Protocol, Reach, Table};
