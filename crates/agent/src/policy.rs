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
//! | [`network`], `node` | the network of the node, behind a trait |
//! | [`seen`] | objects as far as they matter |
//! | [`probes`] | what must still work after a change |
//! | [`record`] | what was made true, on disk |
//! | [`driver`], [`events`] | watches, works and writes |
//! | [`publish`] | the NodeNetworkState |

pub mod capture;
pub mod conditions;
pub mod driver;
pub mod duplicates;
pub mod engine;
pub mod events;
pub mod limit;
pub mod network;
mod node;
mod patch;
pub mod probes;
pub mod publish;
pub mod record;
pub mod render;
pub mod seen;
pub mod settings;
pub mod standing;

use std::future::Future;

pub use self::driver::Duty;
pub use self::network::{ApplyError, NodeNetwork};

/// Makes policies true on this node and publishes its state, until `stop` is done.
pub async fn run(duty: Duty, stop: impl Future<Output = ()>) {
    run_telling(duty, || {}, stop).await;
}

/// The same; tells when the node has back what it had before it was booted. Whoever makes links beside this waits
/// for that: what else is made while a state is applied would be taken back with it.
pub async fn run_telling(
    duty: Duty,
    is_back: impl FnOnce() + Send,
    stop: impl Future<Output = ()>,
) {
    let works = futures::future::join(
        driver::run(duty.clone(), is_back, std::future::pending()),
        publish::run(duty, std::future::pending()),
    );
    tokio::select! {
        () = stop => {}
        _ = works => {}
    }
}
