//! What the writer thread publishes and everybody else reads.
//!
//! The ring and the snapshot change together under the ring's write lock. So whoever holds the
//! read lock sees a snapshot and a ring of the same revision, and whoever got an event from the
//! ring finds it in the next snapshot. Plain snapshots are taken without the lock.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::entry::Event;
use crate::ring::Ring;
use crate::snapshot::{Frozen, Snapshot, State};
use crate::stats::Counters;

pub(crate) struct Shared<M> {
    current: ArcSwap<Frozen<M>>,
    ring: RwLock<Ring<M>>,
    pub counters: Counters,
}

impl<M> Shared<M> {
    pub(crate) fn new(revision: u64, state: State<M>, ring: Ring<M>) -> Self {
        Self {
            current: ArcSwap::from_pointee(Frozen { revision, state }),
            ring: RwLock::new(ring),
            counters: Counters::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot<M> {
        self.current.load_full().into()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.current.load().revision
    }

    /// A poisoned lock is taken all the same: nothing that runs under it leaves the ring half
    /// changed, and the thread that panicked has said so.
    pub(crate) fn ring(&self) -> RwLockReadGuard<'_, Ring<M>> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a committed batch visible. Returns the events that left the ring: the caller drops
    /// them outside of the lock, which can take a while.
    pub(crate) fn publish(
        &self,
        revision: u64,
        state: State<M>,
        events: Vec<Arc<Event<M>>>,
        now: Duration,
    ) -> Vec<Arc<Event<M>>> {
        let frozen = Arc::new(Frozen { revision, state });
        let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            ring.push(event, now);
        }
        ring.advance(revision);
        let evicted = ring.evict(now);
        let old = self.current.swap(frozen);
        drop(ring);
        drop(old);
        evicted
    }

    /// Lets old events go; publishes nothing.
    pub(crate) fn age(&self, now: Duration) -> Vec<Arc<Event<M>>> {
        self.ring.write().unwrap_or_else(PoisonError::into_inner).evict(now)
    }
}
