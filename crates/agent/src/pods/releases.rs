//! Attachments that are still to be released although their pod is gone.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Attachments;
use super::record::{Record, Records};

/// Between attempts, at first and at most.
const FIRST: Duration = Duration::from_secs(2);
const LAST: Duration = Duration::from_mins(1);
/// So many calls at once.
const AT_ONCE: usize = 8;

/// Releases attachments: once when a pod ends, and again from the queue until it is done.
#[derive(Clone)]
pub struct Releases {
    pub records: Records,
    pub attachments: Arc<dyn Attachments>,
    pub namespaces: PathBuf,
    /// Calls that have not come back, by sandbox: none is made twice at once.
    under_way: Arc<Mutex<HashSet<String>>>,
    news: Arc<Notify>,
}

impl Releases {
    pub fn new(records: Records, attachments: Arc<dyn Attachments>, namespaces: PathBuf) -> Self {
        let (under_way, news) = (Arc::default(), Arc::default());
        Self { records, attachments, namespaces, under_way, news }
    }

    /// Releases once, and says within the given time whether that is done. A call that takes longer
    /// goes on by itself.
    pub async fn release(&self, record: &Record, within: Duration) -> Result<(), String> {
        let Some(name) = record.netns.clone() else { return Ok(()) };
        if !self.begin(&record.sandbox) {
            return Err("an earlier call has not come back yet".to_owned());
        }
        let (own, record) = (self.clone(), record.clone());
        let call = tokio::task::spawn_blocking(move || {
            let netns = own.namespaces.join(name);
            let outcome = own.attachments.del(&record.identity, &record.sandbox, &netns);
            own.finish(&record.sandbox);
            outcome.map_err(|error| error.to_string())
        });
        match tokio::time::timeout(within, call).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("not done within {} s", within.as_secs())),
        }
    }

    /// Something was put into the queue.
    pub fn wake(&self) {
        self.news.notify_one();
    }

    /// Works on the queue for ever.
    pub async fn run(self) {
        let mut tried: HashMap<String, (u32, Instant)> = HashMap::new();
        loop {
            let queue = self.records.releases().unwrap_or_else(|error| {
                tracing::error!(%error, "cannot read which attachments are to be released");
                Vec::new()
            });
            tried.retain(|sandbox, _| queue.iter().any(|record| record.sandbox == *sandbox));
            let due = |record: &&Record| {
                tried.get(&record.sandbox).is_none_or(|(_, at)| *at <= Instant::now())
            };
            let due: Vec<Record> = queue.iter().filter(due).cloned().collect();
            let mut calls = stream::iter(due)
                .map(|record| async {
                    let outcome = self.release(&record, LAST).await;
                    (record, outcome)
                })
                .buffer_unordered(AT_ONCE);
            let mut outcomes = Vec::new();
            while let Some(outcome) = calls.next().await {
                outcomes.push(outcome);
            }
            for (record, outcome) in outcomes {
                let outcome = outcome.and_then(|()| {
                    self.records.released(&record).map_err(|error| error.to_string())
                });
                let Err(why) = outcome else {
                    tried.remove(&record.sandbox);
                    continue;
                };
                tracing::warn!(pod = %record.identity, why, "attachments not released yet; will be tried again");
                let now = Instant::now();
                let (times, at) = tried.entry(record.sandbox.clone()).or_insert((0, now));
                *at = now + FIRST.saturating_mul(1 << (*times).min(8)).min(LAST);
                *times += 1;
            }
            let next = tried.values().map(|(_, at)| *at).min();
            let next = next.unwrap_or_else(|| Instant::now() + LAST);
            tokio::select! {
                () = self.news.notified() => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    fn begin(&self, sandbox: &str) -> bool {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(sandbox.to_owned())
    }

    fn finish(&self, sandbox: &str) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(sandbox);
    }
}
