//! How long a write takes to reach those who watch: from the moment the request is sent until each
//! watcher has read the event.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::stage::{self, Stage};
use crate::stats::Summary;

/// Between two writes: slow enough that one is delivered before the next.
const PAUSE: Duration = Duration::from_millis(20);
/// For the last event to arrive.
const GRACE: Duration = Duration::from_secs(5);

/// What one number of watchers came to.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// How many watched.
    pub watchers: usize,
    /// How many writes they watched.
    pub writes: usize,
    /// Events that should have come and did not.
    pub missing: usize,
    /// How long delivery took, over all watchers.
    #[serde(flatten)]
    pub latency: Summary,
}

/// When each write was sent, by its sequence number (from 1).
type Sent = Arc<Mutex<Vec<Instant>>>;

/// Lets `watchers` watch while one client writes for `length`.
pub async fn run(stage: &Stage, watchers: usize, length: Duration) -> Result<Row> {
    let sent: Sent = Arc::default();
    let writer = Stage::api(stage.another_client()?, &stage.base);
    let target = stage::name_of(0);
    let (stop, stopped) = tokio::sync::watch::channel(0_usize);

    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let api = Stage::api(stage.another_client()?, &stage.base);
        let version =
            api.list_metadata(&ListParams::default().limit(1)).await?.metadata.resource_version;
        let version = version.context("a list without resourceVersion")?;
        let only = WatchParams::default().fields(&format!("metadata.name={target}"));
        let (sent, mut stopped) = (sent.clone(), stopped.clone());
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            let mut events = pin!(api.watch(&only, &version).await?.boxed());
            loop {
                tokio::select! {
                    event = events.try_next() => match event? {
                        Some(event) => latencies.extend(seen(&event, &sent)),
                        None => break,
                    },
                    Ok(total) = async { stopped.wait_for(|total| *total > 0).await.map(|total| *total) } => {
                        if latencies.len() >= total { break; }
                        // The writer is done; only a little longer for what is still on its way.
                        match tokio::time::timeout(GRACE, events.try_next()).await {
                            Ok(event) => match event? {
                                Some(event) => latencies.extend(seen(&event, &sent)),
                                None => break,
                            },
                            Err(_late) => break,
                        }
                    }
                }
            }
            anyhow::Ok(latencies)
        });
    }
    // All watches are open before the first write.
    tokio::time::sleep(Duration::from_millis(300)).await;

    let end = Instant::now() + length;
    let mut sequence = 0;
    while Instant::now() < end {
        sequence += 1;
        sent.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        let change = json!({"metadata": {"annotations": {SEQUENCE: sequence.to_string()}}});
        writer.patch(&target, &PatchParams::default(), &Patch::Merge(change)).await?;
        tokio::time::sleep(PAUSE).await;
    }
    stop.send_replace(sequence);

    let mut latencies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        latencies.extend(done.context("a watcher stopped")??);
    }
    let missing = (sequence * watchers).saturating_sub(latencies.len());
    Ok(Row { watchers, writes: sequence, missing, latency: Summary::of(latencies) })
}

const SEQUENCE: &str = "bench.landbridge.dev/sequence";

/// How old the write is that this event tells of, if it is one of ours.
fn seen(event: &WatchEvent<DynamicObject>, sent: &Sent) -> Option<Duration> {
    let now = Instant::now();
    let WatchEvent::Modified(object) = event else { return None };
    let sequence: usize = object.metadata.annotations.as_ref()?.get(SEQUENCE)?.parse().ok()?;
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
    Some(now - *sent.get(sequence.checked_sub(1)?)?)
}
