//! The cluster network of a lab: every pod's first interface, and the ways between nodes.
//!
//! Each node has a bridge for its own pods and one route per other node, through that node's address:
//! no tunnels, no daemons of others. On a real cluster the cluster's own network does this, and this
//! module is not run.

mod configuration;
mod routes;

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client};
use landbridge_linux::sysctl::Sysctl;
use landbridge_linux::{Handle, Sysctls};

pub use configuration::{BRIDGE, configuration};
pub use routes::{Neighbour, wanted};

/// Nodes come and go in bursts; one look after a short silence is enough.
const SETTLE: Duration = Duration::from_millis(100);
/// What somebody else removed is put back by then.
const AGAIN: Duration = Duration::from_secs(30);

/// Keeps the routes to the pods of other nodes until `stop` is done.
pub async fn run(client: Client, node: String, stop: impl Future<Output = ()>) {
    let (store, writer) = reflector::store();
    let changes = watcher(Api::<Node>::all(client), watcher::Config::default())
        .default_backoff()
        .reflect(writer);
    tokio::pin!(changes, stop);
    let mut wait = SETTLE;
    loop {
        tokio::select! {
            () = &mut stop => return,
            change = changes.next() => {
                match change {
                    Some(Ok(_)) => wait = SETTLE,
                    Some(Err(error)) => tracing::debug!(%error, "nodes cannot be watched; still trying"),
                    None => return,
                }
                continue;
            }
            () = tokio::time::sleep(wait) => wait = AGAIN,
        }
        let others: Vec<Neighbour> = store
            .state()
            .iter()
            .filter(|other| other.metadata.name.as_deref() != Some(&*node))
            .filter_map(|other| Neighbour::of(other))
            .collect();
        let made = tokio::task::spawn_blocking(move || make(&others)).await;
        match made {
            Ok(Ok(0)) => {}
            Ok(Ok(changed)) => tracing::info!(changed, "routes to the pods of other nodes"),
            Ok(Err(error)) => {
                tracing::warn!(%error, "routes to the pods of other nodes");
                wait = Duration::from_secs(2);
            }
            Err(error) => tracing::error!(%error, "making routes ended badly"),
        }
    }
}

/// Makes the routes of this namespace what the other nodes ask for; returns how many changed.
fn make(others: &[Neighbour]) -> landbridge_linux::Result<usize> {
    let net = Handle::open()?;
    let sysctls = Sysctls::of(net.namespace());
    sysctls.ensure(&Sysctl::ipv4_forwarding(), 1)?;
    sysctls.ensure(&Sysctl::ipv6_forwarding(), 1)?;
    let (there, addresses) = (net.routes()?, net.addresses()?);
    let plan = wanted(others, &addresses, &there);
    for route in &plan.remove {
        net.delete_route(route)?;
    }
    for route in &plan.add {
        net.ensure_route(route)?;
    }
    Ok(plan.add.len() + plan.remove.len())
}
