//! Node policies: NodeNetworkConfigurationPolicies made true on this node, and reported as
//! kubernetes-nmstate does.
//!
//! ```text
//!  Nodes, policies, enactments ─▶ engine ─▶ render ─▶ apply, verify, probe, or back ─▶ enactment
//!                                   │                                                     │
//!                                   └──────────────── status of the policy ◀──────────────┘
//!  node ─▶ publish ─▶ NodeNetworkState
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | what to do next, without IO |
//! | [`standing`] | where a policy stands, counted from its enactments |
//! | [`conditions`] | types, reasons and messages as upstream has them |
//! | [`limit`] | how many nodes at once |
//! | [`render`], [`capture`] | what a policy wants of one node |
//! | [`settings`] | what annotations on a policy change |
//! | [`duplicates`] | one address on several nodes |
//! | [`network`] | the network of the node, behind a trait |
//! | [`seen`] | objects as far as they matter |

pub mod capture;
pub mod conditions;
pub mod duplicates;
pub mod engine;
pub mod limit;
pub mod network;
pub mod render;
pub mod seen;
pub mod settings;
pub mod standing;

pub use self::network::{ApplyError, NodeNetwork};
