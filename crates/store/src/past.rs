//! Old states, made by undoing events, newest first, until the revision asked for is reached.
//!
//! Paging through a long list asks for the same old revision again and again while writes go on,
//! so the last few results are kept. They also shorten the way to revisions before them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::error::SnapshotError;
use crate::ring::BelowFloor;
use crate::shared::Shared;
use crate::snapshot::Snapshot;

/// Clients that page at the same time are few; each snapshot holds on to the values of its time.
const KEEP: usize = 8;

pub(crate) struct Past<M> {
    /// Most recently used last.
    cache: Mutex<VecDeque<Snapshot<M>>>,
}

impl<M> Default for Past<M> {
    fn default() -> Self {
        Self { cache: Mutex::default() }
    }
}

impl<M> Past<M> {
    /// The state at `revision`.
    pub(crate) fn at(
        &self,
        shared: &Shared<M>,
        revision: u64,
    ) -> Result<Snapshot<M>, SnapshotError> {
        let (base, undo) = {
            // The ring is locked first and the cache within: see `shared` for why the snapshot
            // has to be taken under the ring's lock.
            let ring = shared.ring();
            let current = shared.snapshot();
            if revision > current.revision() {
                return Err(SnapshotError::Future { current: current.revision() });
            }
            if revision == current.revision() {
                return Ok(current);
            }
            let base = self.nearest(revision, ring.floor()).unwrap_or(current);
            let undo = ring
                .newest_first(revision, base.revision())
                .map_err(|BelowFloor(floor)| SnapshotError::TooOld { floor })?;
            (base, undo)
        };
        if base.revision() == revision {
            return Ok(base);
        }
        let mut state = base.state().clone();
        for event in undo {
            match &event.prev {
                Some(prev) => state.insert(prev.clone()),
                None => state.remove(&event.key),
            };
        }
        let snapshot = Snapshot::new(revision, state);
        self.remember(snapshot.clone());
        Ok(snapshot)
    }

    /// The oldest kept state that is not before `revision`. Forgets those below the floor, so
    /// that the answer to "too old?" does not depend on who asked before.
    fn nearest(&self, revision: u64, floor: u64) -> Option<Snapshot<M>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|s| s.revision() >= floor);
        let (index, _) = cache
            .iter()
            .enumerate()
            .filter(|(_, s)| s.revision() >= revision)
            .min_by_key(|(_, s)| s.revision())?;
        let found = cache.remove(index)?;
        cache.push_back(found.clone());
        Some(found)
    }

    fn remember(&self, snapshot: Snapshot<M>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.iter().any(|s| s.revision() == snapshot.revision()) {
            return; // two pages of the same list at the same time
        }
        cache.push_back(snapshot);
        if cache.len() > KEEP {
            cache.pop_front();
        }
    }
}
