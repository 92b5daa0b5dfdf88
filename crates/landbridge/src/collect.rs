//! What was recorded for pods that are gone (whereabouts' pools, IPSets of pods) is collected.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use landbridge_attach::objects::{KubeObjects, Objects};
use landbridge_attach::reconcile::{GRACE, Reconciler};

const EACH: Duration = Duration::from_secs(30);
/// Where whereabouts keeps its records.
const RECORDS: &str = "kube-system";

/// Looks again and again until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Handle::current();
    let objects: Arc<dyn Objects> = Arc::new(KubeObjects::new(client, runtime, RECORDS));
    let mut reconciler = Reconciler::new(objects, GRACE);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return,
            () = tokio::time::sleep(EACH) => {}
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
                for why in &report.failed {
                    tracing::warn!(why, "a record of nobody could not be collected");
                }
            }
            Err(error) => tracing::debug!(%error, "records cannot be read; trying again"),
        }
    }
}
