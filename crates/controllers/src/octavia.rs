//! The management network of Octavia: from an Octavia and its attachment to networks, router and security groups
//! in Neutron, and addresses of nodes.
//!
//! ```text
//!  Octavia, NetworkAttachmentDefinition, Nodes
//!      │ assess ─ plan::octavia          a design, or what is wrong with which field
//!      ▼
//!    pass:  look ──► steps ──► calls     until there is no step left
//!            ▲  Neutron        │
//!            └─────────────────┘
//!      ▼
//!  condition OctaviaManagementNetworkReady, ConfigMap octavia-hmport-map, labels of pods
//! ```
//!
//! Nothing is remembered but what Neutron and Kubernetes hold: whoever dies anywhere, or loses an answer, looks
//! again. What was made here is marked in Neutron ([`marks`]), so that it is found under any name, and nothing else is
//! ever taken away.
//!
//! | module | idea |
//! |---|---|
//! | [`assess`] | what Kubernetes says about one Octavia |
//! | [`names`] | how everything is called |
//! | [`marks`] | who made what |
//! | [`seen`], [`look`] | what is there in Neutron |
//! | [`choose`], [`compare`] | which one is meant, and whether it is as it should be |
//! | [`steps`] | what is to be done |
//! | [`pass`] | look, decide, do |
//! | [`usual`] | what objects have that say nothing about it |
//! | [`unmanaged`] | networks that somebody else looks after |
//! | [`compute`] | how many instances amphorae may be |
//! | [`agenda`] | when |
//! | [`world`], [`driver`] | watches and writes |

pub mod agenda;
pub mod assess;
pub mod choose;
pub mod compare;
pub mod compute;
pub mod driver;
pub mod look;
pub mod marks;
pub mod names;
pub mod pass;
pub mod seen;
pub mod steps;
pub mod unmanaged;
pub mod usual;
pub mod world;

use jiff::SignedDuration;

pub use self::driver::run;

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// So long after everything was right it is looked at again: others change Neutron, too.
    pub period: SignedDuration,
    /// What fails is tried again after a while that grows to this.
    pub longest_wait: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { period: SignedDuration::from_secs(5), longest_wait: SignedDuration::from_secs(10) }
    }
}
