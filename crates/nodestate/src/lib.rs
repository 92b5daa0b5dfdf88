//! The state of one node's network, in nmstate's words: wanted, planned, applied, verified, taken back.
//!
//! ```text
//!  desired (JSON) ─ Desired::parse ─┐
//!                                   ├─ Plan::new ─► steps, printable ─► Node::apply does them,
//!  Linux ─ Node::state ─► State ────┘                                   looks again, probes, and
//!                           │                                           keeps or takes back
//!                           └─ show::state ─► JSON
//! ```
//!
//! Reading, planning and showing are pure; [`Node`] is what touches Linux. All of it blocks.
//!
//! Merge semantics are nmstate's: interfaces that are not named stay untouched, a named one keeps what is
//! not said about it, and lists that are given replace those that are there.

pub mod desired;
pub mod dhcp;
pub mod error;
mod execute;
mod fields;
mod files;
pub mod nmstatectl;
pub mod node;
pub mod plan;
mod read;
pub mod resolver;
mod saved;
pub mod show;
pub mod state;
pub mod wires;

pub use self::desired::Desired;
pub use self::dhcp::{Dhcp, NoDhcp};
pub use self::error::{Cause, Error, Fault, RolledBack};
pub use self::files::Files;
pub use self::nmstatectl::{Applier, Nmstatectl};
pub use self::node::{Applied, Node, Recovered};
pub use self::plan::Plan;
pub use self::read::{Foreign, is_of_a_pod};
pub use self::state::State;
pub use self::wires::Wires;
