//! What goes into the engine, and what comes out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_api::foreign::nmstate::objects::{EnactmentStatus, PolicyStatus};
use landbridge_controllers::mirror::{Epoch, Told};
use serde_json::Value;

use super::super::capture::Captured;
use super::super::conditions::Progress;
use super::super::network::ApplyError;
use super::super::render::Rendered;
use super::super::seen::{AgentSeen, Enactment, NodeSeen, Policy};
use super::super::settings::Settings;

/// What the watches tell.
#[derive(Clone, Debug)]
pub enum News {
    Node(Told<NodeSeen>),
    Agent(Told<AgentSeen>),
    Policy(Told<Policy>),
    Enactment(Told<Enactment>),
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Action {
    Work(Job),
    Report(Report),
    Tell(Notice),
}

/// One step for one policy.
#[derive(Clone, Debug)]
pub struct Job {
    /// The policy's name.
    pub policy: String,
    pub uid: String,
    pub generation: i64,
    pub step: Step,
    pub(super) epochs: (Epoch, Epoch),
    /// Whether this only says "at work" again, beside the work.
    pub(super) renews: bool,
}

/// What to do for a policy.
#[derive(Clone, Debug)]
pub enum Step {
    /// Create the enactment. The node that owns it has this uid.
    Create { node_uid: String },
    /// Delete the enactment of that uid.
    Delete { uid: String },
    /// Work out what the policy wants of this node.
    Render { desired: Value, capture: BTreeMap<String, String>, known: Captured },
    /// Write the status of the enactment, if it is still at that revision.
    Say {
        uid: String,
        revision: u64,
        before: Box<EnactmentStatus>,
        status: Box<EnactmentStatus>,
        progress: Progress,
    },
    /// Write the status of the policy, if it is still at that revision: count this node in.
    Claim(Report),
    /// List the enactments of the policy, and get the policy: as they are now, not as a cache has them.
    Look,
    /// Make the node look like this.
    Apply { desired: Value, settings: Settings, addresses: Vec<IpAddr>, purpose: Purpose },
    /// Compare the node with this.
    Compare { desired: Value },
}

/// Why a state is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The policy is new, or was changed.
    Policy,
    /// The node has booted.
    Boot,
    /// Somebody has changed the node.
    Drift,
}

/// The status of a policy, to be written if the policy is still at that revision.
#[derive(Clone, Debug)]
pub struct Report {
    /// The policy's name.
    pub policy: String,
    pub uid: String,
    pub revision: u64,
    pub before: Box<PolicyStatus>,
    pub status: Box<PolicyStatus>,
    pub(super) epoch: Epoch,
    /// Whether this gives a place back.
    pub(super) releases: bool,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The enactment as it is now.
    Enactment(Option<Box<Enactment>>),
    /// The policy as it is now, and whether that is how it was to be written.
    Policy {
        won: bool,
        now: Option<Box<Policy>>,
    },
    /// What the policy wants of this node, or why that cannot be said.
    Rendered(Result<Rendered, String>),
    /// All enactments of the policy, and the policy.
    Seen {
        enactments: Vec<Enactment>,
        policy: Option<Box<Policy>>,
    },
    Applied(Result<(), ApplyError>),
    /// Whether the node differs.
    Compared(Result<bool, String>),
    /// The API did not answer, or refused.
    Failed(String),
}

/// An Event on a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The policy's name.
    pub policy: String,
    pub uid: String,
    pub warning: bool,
    pub reason: &'static str,
    pub note: String,
}

impl Notice {
    /// Something is wrong with a policy.
    pub fn warning(policy: &Policy, reason: &'static str, note: String) -> Self {
        let (name, uid) = (policy.id.name().to_owned(), policy.id.uid.clone());
        Self { policy: name, uid, warning: true, reason, note }
    }
}
