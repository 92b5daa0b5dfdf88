//! Figures for status pages and metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The current revision.
    pub revision: u64,
    /// Objects in the current state.
    pub objects: usize,
    /// Events in the ring.
    pub ring_events: usize,
    /// Bytes accounted to the ring.
    pub ring_bytes: usize,
    /// The oldest revision a watch can start after.
    pub ring_floor: u64,
    /// Records in the log, obsolete ones included.
    pub log_records: u64,
    /// Records deleted from the log since the store was opened.
    pub compacted: u64,
    /// Commits of writes since the store was opened.
    pub commits: u64,
    /// Ops written since the store was opened.
    pub writes: u64,
    /// Commits that failed since the store was opened.
    pub failures: u64,
    /// Ops per commit on average; zero before the first.
    pub mean_batch: f64,
}

/// Counted by the writer thread, read by anybody.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub log_records: AtomicU64,
    pub compacted: AtomicU64,
    pub commits: AtomicU64,
    pub writes: AtomicU64,
    pub failures: AtomicU64,
}

/// A lone counter publishes nothing else, hence relaxed.
pub(crate) fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

pub(crate) fn sub(counter: &AtomicU64, n: usize) {
    counter.fetch_sub(n as u64, Ordering::Relaxed);
}

pub(crate) fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
