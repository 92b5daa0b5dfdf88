//! The lines on the sockets.

use landbridge_linux::{IfName, MacAddr};
use serde::{Deserialize, Serialize};

/// The longest line either way. The longest answer is the status of the largest lab.
pub(super) const MAX_LINE: u64 = 1 << 20;
/// The longest question.
pub(super) const MAX_QUESTION: u64 = 64 << 10;

/// What a node may ask for, for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum NodeRequest {
    Vlan(VlanRequest),
    Segment(SegmentRequest),
}

/// A link into a VLAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VlanRequest {
    /// Links at the bottom of the base, NICs among them.
    pub candidates: Vec<IfName>,
    pub base: IfName,
    pub id: u16,
    pub name: IfName,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddr>,
}

/// A link into a segment that carries nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SegmentRequest {
    pub segment: String,
    pub name: IfName,
    pub mtu: u32,
    pub alias: String,
}

/// What the operator may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum OperatorRequest {
    Reboot { node: String },
    Link { node: String, nic: String, up: bool },
    Status {},
}

/// What the supervisor answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Answer {
    Done(serde_json::Value),
    Refused {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
    },
}
