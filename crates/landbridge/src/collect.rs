//! What was recorded for pods that are gone (whereabouts' pools, IPSets of pods, claims) is collected,
//! and what pods have of a NetConfig's addresses is claimed: at once when a NetConfig comes or changes.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt as _, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use landbridge_api::network::NetConfig;
use landbridge_attach::objects::{KubeObjects, Objects};
use landbridge_attach::reconcile::{GRACE, Reconciler};

const EACH: Duration = Duration::from_secs(30);
/// Where whereabouts keeps its records.
const RECORDS: &str = "kube-system";

/// Looks again and again until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let mut changes = watcher(Api::<NetConfig>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .boxed();
    let runtime = tokio::runtime::Handle::current();
    let objects: Arc<dyn Objects> = Arc::new(KubeObjects::new(client, runtime, RECORDS));
    let mut reconciler = Reconciler::new(objects, GRACE);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return,
            () = tokio::time::sleep(EACH) => {}
            Some(_) = changes.next() => while changes.next().now_or_never().is_some() {},
        }
        let passed = tokio::task::spawn_blocking(move || {
            let report = reconciler.reconcile_once(Instant::now());
            (reconciler, report)
        });
        let Ok((back, report)) = passed.await else {
            tracing::error!("the collection of records ended badly and is not tried again");
            return stop.await;
        };
        reconciler = back;
        match report {
            Ok(report) => {
                for orphan in &report.freed {
                    tracing::info!(?orphan, "collected what was recorded for nobody");
                }
                if report.claimed > 0 {
                    tracing::info!(claims = report.claimed, "claimed what pods had already");
                }
                for what in &report.doubles {
                    tracing::warn!(what, "one address has two holders");
                }
                for why in &report.failed {
                    tracing::warn!(why, "a record of nobody could not be collected");
                }
            }
            Err(error) => tracing::debug!(%error, "records cannot be read; trying again"),
        }
    }
}
