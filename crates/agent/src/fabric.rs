//! In a lab: networks, instances and routers of the embedded cloud on this node.
//!
//! ```text
//!  node's namespace        namespace "cloud"                          an instance's, a router's
//!  octbr ── veth… ════════ up…  ┐
//!                               ├ brq… (a network) ── tap… ═══════════ eth0, qr-…, qg-…
//!  segment of the lab ════ up…  ┘      guarded by rules of nft         DHCP client, two listeners
//!                                      DHCP answered at the tap
//! ```
//!
//! What there has to be is in a file of the node's directory ([`landbridge_fabric::NodePlan`]); whatever is there instead becomes
//! that, whoever died when. All bridges are in a namespace that has nothing else: no address, route or rule of the node leads
//! there (ADR 29).
//!
//! | module | idea |
//! |---|---|
//! | [`cloud`] | from any state to the plan |
//! | `spaces` | namespaces with a name |
//! | `networks` | bridges, and what connects them with other nodes |
//! | `plugs` | ports: one end in a bridge, the other in a namespace |
//! | `routers` | addresses, routes and translation of routers |
//! | `guests` | what runs in an instance |
//! | `leases`, `datagram` | DHCP, answered at the tap |
//! | `files` | the plan and the status |

pub mod cloud;
mod datagram;
mod files;
mod guests;
mod leases;
mod networks;
mod nft;
mod plugs;
mod routers;
mod spaces;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use landbridge_fabric::{NodePlan, NodeStatus};
use landbridge_linux::Namespace;
use landbridge_nodestate::wires::Wires;
use tokio::time::Instant;

use self::cloud::Cloud;
use self::files::{PlanFile, write_status};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// What somebody else changed is put right by then.
const AGAIN: Duration = Duration::from_secs(3);
/// What could not be made is tried again after this.
const RETRY: Duration = Duration::from_secs(1);

/// What the duty needs to know.
#[derive(Clone)]
pub struct Duty {
    /// Where the plan is, and the status goes.
    pub directory: PathBuf,
    /// Where namespaces have their names.
    pub netns: PathBuf,
    /// Who makes wires into segments.
    pub wires: Arc<dyn Wires>,
}

/// Keeps this node's part of the cloud until `stop` is done; what was made stays.
pub async fn run(duty: Duty, stop: impl Future<Output = ()>) {
    let node = match Namespace::current() {
        Ok(node) => node,
        Err(error) => {
            tracing::error!(%error, "the cloud has no place on this node");
            return stop.await;
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut file = PlanFile::new(&duty.directory);
    let mut cloud = Cloud::new(node, duty.netns, duty.wires);
    let (mut plan, mut told) = (NodePlan::default(), NodeStatus::default());
    let mut due = Instant::now();
    loop {
        let unread = match file.changed() {
            Ok(None) => None,
            Ok(Some(new)) => {
                plan = new;
                due = Instant::now();
                None
            }
            Err(error) => Some(error),
        };
        if due <= Instant::now() || unread.is_some() {
            let wanted = plan.clone();
            let work = move || {
                let status = cloud.converge(&wanted);
                (cloud, status)
            };
            let mut status = match tokio::task::spawn_blocking(work).await {
                Ok((back, status)) => {
                    cloud = back;
                    status
                }
                Err(error) => {
                    // What it held is gone with it; the supervisor starts an agent anew.
                    tracing::error!(%error, "making the cloud ended badly");
                    return;
                }
            };
            status.errors.extend(unread);
            due = Instant::now() + if status.errors.is_empty() { AGAIN } else { RETRY };
            if status != told {
                tell(&told, &status);
                match write_status(&duty.directory, &status) {
                    Ok(()) => told = status,
                    Err(error) => tracing::warn!(%error, "the cloud's status cannot be written"),
                }
            }
        }
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    cloud.leave();
}

/// Errors are told when they come, and when they have gone.
fn tell(before: &NodeStatus, now: &NodeStatus) {
    for error in now.errors.iter().filter(|error| !before.errors.contains(error)) {
        tracing::warn!("the cloud on this node: {error}; trying again");
    }
    if !before.errors.is_empty() && now.errors.is_empty() {
        tracing::info!("everything of the cloud on this node is as it should be");
    }
}
