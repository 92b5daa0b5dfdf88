//! Virtual addresses, announced on this node as MetalLB's speaker does.
//!
//! ```text
//!  Services, EndpointSlices, pools, ─► seen ─► plan ─► wire: a thread of its own
//!  advertisements, Nodes                                │  members ◄─ UDP ─► other agents
//!                                                       │  announcer ◄─ ARP, NDP ─► the VLANs
//!  ServiceL2Status, events, metrics ◄─ publish ◄────────┘
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`seen`] | objects as far as they matter |
//! | [`plan`] | which addresses move together, and who may announce them; without IO |
//! | [`links`] | the interfaces of the node, and what they can; without IO |
//! | `wire` | the thread that hears, answers and announces |
//! | [`publish`] | what is told about it, as plans; without IO |
//! | `driver` | watches and writes |
//! | [`metrics`] | figures in Prometheus' form |
//!
//! Addresses are never configured on an interface. The data path is somebody else's: kube-proxy on a
//! real cluster, the duty `services` in a lab.

mod driver;
pub mod links;
pub mod metrics;
pub mod plan;
pub mod publish;
pub mod seen;
mod wire;

pub use self::driver::{Duty, run};
pub use self::wire::{Command, Report, Wire};
