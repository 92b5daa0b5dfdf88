//! What the server's own controllers have in common: follow the store, queue what needs a look,
//! look at it, try again later when that failed.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use landbridge_machinery::status::ApiResult;
use landbridge_store::{Event, WatchEnded};
use tokio::time::Instant;

use crate::meta::{Snapshot, Summary};
use crate::server::Inner;

/// How long a failed item waits for its next try.
const RETRY: Duration = Duration::from_millis(500);
const BATCH: usize = 1024;

/// Runs one controller until the store closes. `initial` names what to look at first (and again
/// whenever the watch fell behind), `on_event` what a change concerns, `reconcile` does the work.
/// Items are looked at once however many events named them.
pub async fn follow<K, F>(
    server: &Arc<Inner>,
    mut initial: impl FnMut(&Snapshot) -> Vec<K>,
    mut on_event: impl FnMut(&Event<Summary>) -> Vec<K>,
    reconcile: impl Fn(K) -> F,
) where
    K: Ord + Clone + Debug,
    F: Future<Output = ApiResult<()>>,
{
    loop {
        let snapshot = server.store.snapshot();
        let Ok(mut watcher) = server.store.watch(String::new(), snapshot.revision()) else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let mut queue: BTreeSet<K> = initial(&snapshot).into_iter().collect();
        let mut failed: BTreeSet<K> = BTreeSet::new();
        let mut retry_at = Instant::now();
        loop {
            while let Some(item) = queue.pop_first() {
                if let Err(error) = reconcile(item.clone()).await {
                    tracing::warn!(?item, %error, "will try again");
                    retry_at = Instant::now() + RETRY;
                    failed.insert(item);
                }
            }
            tokio::select! {
                events = watcher.next_batch(BATCH) => match events {
                    Ok(events) => queue.extend(events.iter().flat_map(|event| on_event(event))),
                    Err(WatchEnded::Lagged { .. }) => break,
                    Err(WatchEnded::Closed) => return,
                },
                () = tokio::time::sleep_until(retry_at), if !failed.is_empty() => {
                    queue.append(&mut failed);
                }
            }
        }
    }
}
