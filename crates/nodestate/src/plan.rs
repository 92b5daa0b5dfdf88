//! From what is and what is wanted to the steps between.
//!
//! ```text
//!  desired ──┐
//!            ├─ merge ─► goal ─┐
//!  now ──────┤                 ├─ difference ─► steps, printable
//!            └─────────────────┘
//! ```
//!
//! The goal is the whole node as it is to be: what nobody spoke of is as it is now. So verifying is
//! planning again, and taking back is the difference the other way round.

mod difference;
mod goal;
mod links;
mod routes;
mod step;

use std::fmt;

pub use self::difference::difference;
pub use self::step::{Setting, Step};

use crate::desired::Desired;
use crate::error::Fault;
use crate::state::State;

/// What has to be done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// What a person should know beside the steps.
    pub notes: Vec<String>,
}

/// What this kernel can do, as far as a plan depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Bridges that keep VLANs apart.
    pub vlan_filtering: bool,
}

impl Plan {
    /// The steps from now to what is wanted, or why it cannot be.
    pub fn new(desired: &Desired, now: &State, can: Abilities) -> Result<Self, Fault> {
        let (goal, notes) = goal::goal(desired, now, can)?;
        Ok(Self { steps: difference(now, &goal), notes })
    }

    /// Whether everything is as wanted.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The node as it is to be, with notes.
pub fn goal(desired: &Desired, now: &State, can: Abilities) -> Result<(State, Vec<String>), Fault> {
    goal::goal(desired, now, can)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}
