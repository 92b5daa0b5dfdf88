//! What a node says about its part of the cloud.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The file in a node's directory.
pub const FILE: &str = "cloud-status.json";
/// More than anybody has to say.
pub const MAX_BYTES: u64 = 16 << 20;

/// How far a node is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Of the plan that was made last.
    pub generation: u64,
    /// Ports that frames pass through.
    pub wired: BTreeSet<String>,
    /// What could not be made, and why.
    pub errors: Vec<String>,
}
