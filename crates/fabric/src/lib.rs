//! The data plane of the embedded cloud, as values: what each node of a lab has to make of networks,
//! instances and routers, and the rules that guard their ports.
//!
//! ```text
//!  the cloud's state ─▶ NodePlan of each node ─▶ cloud.json ─▶ the node's agent ─▶ namespaces, bridges, rules
//!                       (crate cloudlet)                        (agent::fabric)     └▶ cloud-status.json
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`plan`] | what one node has to make |
//! | [`names`] | what links and namespaces are called |
//! | [`mac`] | Ethernet addresses |
//! | [`rules`] | port security, security groups and address translation, as text for `nft` |
//! | [`status`] | what a node says about it |
//!
//! Nothing here does anything: no IO, no clock.

pub mod mac;
pub mod names;
pub mod plan;
pub mod rules;
pub mod status;

pub use self::mac::Mac;
pub use self::plan::{
    Child, Direction, Fixed, Floating, HostRoute, Instance, Interface, Network, NodePlan, Pair,
    Port, Router, Rule, Security, Uplink,
};
pub use self::status::NodeStatus;
