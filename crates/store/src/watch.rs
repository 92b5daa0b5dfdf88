//! Watchers: readers of the ring, each at its own pace.
//!
//! A watcher is a cursor. The writer does not know it: it appends to the ring and wakes whoever
//! waits. A watcher that is too slow finds its cursor below the ring's floor and is cut off; it
//! can hold up nobody. Everything but the waiting is synchronous and the cursor moves together
//! with the buffer, so a dropped `next()` loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;

use crate::entry::Event;
use crate::error::{WatchEnded, WatchError};
use crate::ring::BelowFloor;
use crate::shared::Shared;

/// Events looked at per turn of the ring's lock: a watcher that has to skip a long stretch of
/// foreign events must not keep the writer from appending.
const LOOK: usize = 1024;

/// Events taken ahead by [`Watcher::next`], which would otherwise lock the ring for each.
const AHEAD: usize = 64;

/// A stream of the events under one prefix; see [`Store::watch`](crate::Store::watch).
pub struct Watcher<M> {
    shared: Arc<Shared<M>>,
    changes: watch::Receiver<u64>,
    prefix: String,
    /// Everything up to here has been looked at; what matched is delivered or in `ahead`.
    cursor: u64,
    ahead: VecDeque<Arc<Event<M>>>,
}

impl<M> Watcher<M> {
    pub(crate) fn new(
        shared: Arc<Shared<M>>,
        changes: watch::Receiver<u64>,
        prefix: String,
        after: u64,
    ) -> Result<Self, WatchError> {
        {
            let ring = shared.ring();
            if after > ring.head() {
                return Err(WatchError::Future { current: ring.head() });
            }
            if after < ring.floor() {
                return Err(WatchError::TooOld { floor: ring.floor() });
            }
        }
        Ok(Self { shared, changes, prefix, cursor: after, ahead: VecDeque::new() })
    }

    /// The prefix watched.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The revision up to which everything has been seen: no event at or before it is still to
    /// come. It also moves over events of other prefixes, but only while somebody awaits the
    /// next event.
    pub fn revision(&self) -> u64 {
        self.ahead.front().map_or(self.cursor, |event| event.revision - 1)
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> Result<Arc<Event<M>>, WatchEnded> {
        loop {
            if let Some(event) = self.ahead.pop_front() {
                return Ok(event);
            }
            self.fill(AHEAD).await?;
        }
    }

    /// Waits for events and returns those at hand, at least one and at most `max` (a `max` of
    /// zero counts as one). Cancel-safe.
    pub async fn next_batch(&mut self, max: usize) -> Result<Vec<Arc<Event<M>>>, WatchEnded> {
        let max = max.max(1);
        if self.ahead.is_empty() {
            self.fill(max).await?;
        }
        let n = self.ahead.len().min(max);
        Ok(self.ahead.drain(..n).collect())
    }

    /// What is at hand now, up to `max` events and possibly none; moves
    /// [`revision`](Self::revision) as far as the store has come unless `max` was reached.
    pub fn poll_batch(&mut self, max: usize) -> Result<Vec<Arc<Event<M>>>, WatchEnded> {
        while self.ahead.len() < max && self.step(max)? {}
        let n = self.ahead.len().min(max);
        Ok(self.ahead.drain(..n).collect())
    }

    /// Waits until there is something in `ahead`.
    async fn fill(&mut self, take: usize) -> Result<(), WatchEnded> {
        while self.ahead.is_empty() {
            // Before the look into the ring: a change after it then wakes us.
            self.changes.mark_unchanged();
            while self.ahead.is_empty() && self.step(take)? {}
            if self.ahead.is_empty() {
                self.changes.changed().await.map_err(|_| WatchEnded::Closed)?;
            }
        }
        Ok(())
    }

    /// Looks at a stretch of the ring. Returns whether there may be more.
    fn step(&mut self, take: usize) -> Result<bool, WatchEnded> {
        let ring = self.shared.ring();
        if self.cursor >= ring.head() {
            return Ok(false);
        }
        let room = take.saturating_sub(self.ahead.len());
        self.cursor = ring
            .scan(self.cursor, &self.prefix, LOOK, room, &mut self.ahead)
            .map_err(|BelowFloor(floor)| WatchEnded::Lagged { floor })?;
        Ok(self.cursor < ring.head())
    }
}
