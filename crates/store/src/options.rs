//! The knobs of a store.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A source of monotonic time: the time passed since some fixed moment. Tests pass their own.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The knobs of a store; the defaults suit an API server for a small cluster.
#[derive(Clone)]
pub struct Options {
    /// How many events the ring keeps for watches and old snapshots.
    pub ring_events: usize,
    /// How many bytes of keys and values the ring keeps. What the ring really holds can be
    /// twice that, since events also keep the state before them.
    pub ring_bytes: usize,
    /// How long the ring keeps an event.
    pub ring_age: Duration,
    /// The largest value accepted.
    pub max_value: usize,
    /// How many ops go into one commit at most (a call of many ops is never split).
    pub batch_ops: usize,
    /// How many bytes go into one commit at most (a call of many ops is never split).
    pub batch_bytes: usize,
    /// How long a commit waits for writes that were [announced](crate::Store::announce).
    pub gather: Duration,
    /// How many bytes may wait for the writer; beyond that [`write`](crate::Store::write) waits.
    pub queue_bytes: usize,
    /// How many bytes the journal takes before its writes are put into the database. Each commit
    /// takes at least 4 KiB of it.
    pub journal_bytes: usize,
    /// How many obsolete records pile up before a commit takes them along. An idle store removes
    /// them all the same, once a second.
    pub compact_after: usize,
    /// The clock behind `ring_age`.
    pub now: Clock,
}

impl Default for Options {
    fn default() -> Self {
        let start = Instant::now();
        Self {
            ring_events: 100_000,
            ring_bytes: 64 << 20,
            ring_age: Duration::from_mins(5),
            max_value: 8 << 20,
            batch_ops: 512,
            batch_bytes: 8 << 20,
            gather: Duration::from_micros(150),
            queue_bytes: 64 << 20,
            journal_bytes: 1 << 20,
            compact_after: 1024,
            now: Arc::new(move || start.elapsed()),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("ring_events", &self.ring_events)
            .field("ring_bytes", &self.ring_bytes)
            .field("ring_age", &self.ring_age)
            .field("max_value", &self.max_value)
            .finish_non_exhaustive()
    }
}
