//! The recent events, in order of revision: what watches read and old snapshots are made from.
//!
//! Invariants:
//!
//! - every event with `floor < revision <= head` is here, and none other;
//! - `floor` and `head` never go down;
//! - an event leaves only through [`Ring::evict`], which hands it to the caller: its log records
//!   become obsolete at that moment and not before, so the ring can be rebuilt after a restart.
//!
//! Revisions have gaps where a commit failed, hence the binary search.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::entry::Event;
use crate::options::Options;

pub(crate) struct Ring<M> {
    slots: VecDeque<Slot<M>>,
    bytes: usize,
    floor: u64,
    head: u64,
    limits: Limits,
}

struct Slot<M> {
    event: Arc<Event<M>>,
    at: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub events: usize,
    pub bytes: usize,
    pub age: Duration,
}

impl From<&Options> for Limits {
    fn from(options: &Options) -> Self {
        Self { events: options.ring_events, bytes: options.ring_bytes, age: options.ring_age }
    }
}

/// The events after that revision are gone; this is the oldest one that would do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BelowFloor(pub u64);

impl<M> Ring<M> {
    /// An empty ring: nothing before or at `floor` is known.
    pub(crate) fn new(floor: u64, limits: Limits) -> Self {
        Self { slots: VecDeque::new(), bytes: 0, floor, head: floor, limits }
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends an event newer than all others.
    pub(crate) fn push(&mut self, event: Arc<Event<M>>, now: Duration) {
        debug_assert!(event.revision > self.head);
        self.head = event.revision;
        self.bytes += event.weight();
        self.slots.push_back(Slot { event, at: now });
    }

    /// Raises the head over revisions that have no event.
    pub(crate) fn advance(&mut self, head: u64) {
        self.head = self.head.max(head);
    }

    /// Takes out what the limits no longer allow, oldest first.
    pub(crate) fn evict(&mut self, now: Duration) -> Vec<Arc<Event<M>>> {
        let mut out = Vec::new();
        while let Some(slot) = self.slots.front() {
            let due = self.slots.len() > self.limits.events
                || self.bytes > self.limits.bytes
                || now.saturating_sub(slot.at) > self.limits.age;
            if !due {
                break;
            }
            self.bytes -= slot.event.weight();
            self.floor = slot.event.revision;
            out.extend(self.slots.pop_front().map(|slot| slot.event));
        }
        out
    }

    /// Looks at up to `look` events after revision `after`, appends up to `take` of those under
    /// `prefix` to `out`, and returns the revision up to which everything has been looked at.
    pub(crate) fn scan(
        &self,
        after: u64,
        prefix: &str,
        look: usize,
        take: usize,
        out: &mut VecDeque<Arc<Event<M>>>,
    ) -> Result<u64, BelowFloor> {
        if after < self.floor {
            return Err(BelowFloor(self.floor));
        }
        let first = self.slots.partition_point(|slot| slot.event.revision <= after);
        let mut seen = after;
        let mut taken = 0;
        for slot in self.slots.range(first..).take(look) {
            if taken == take {
                return Ok(seen);
            }
            if slot.event.key.as_bytes().starts_with(prefix.as_bytes()) {
                out.push_back(Arc::clone(&slot.event));
                taken += 1;
            }
            seen = slot.event.revision;
        }
        if self.slots.len() - first <= look {
            seen = seen.max(self.head);
        }
        Ok(seen)
    }

    /// The events after `after` up to and including `until`, newest first.
    pub(crate) fn newest_first(
        &self,
        after: u64,
        until: u64,
    ) -> Result<Vec<Arc<Event<M>>>, BelowFloor> {
        if after < self.floor {
            return Err(BelowFloor(self.floor));
        }
        let first = self.slots.partition_point(|slot| slot.event.revision <= after);
        let end = self.slots.partition_point(|slot| slot.event.revision <= until);
        let range = self.slots.range(first..end.max(first));
        Ok(range.rev().map(|slot| Arc::clone(&slot.event)).collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::entry::{Entry, EventKind};

    fn event(revision: u64, key: &str, size: usize) -> Arc<Event<()>> {
        let entry = Entry::new(key.into(), Bytes::from(vec![0; size]), revision, revision);
        Event::new(EventKind::Put, entry, None)
    }

    fn limits(events: usize, bytes: usize, age: u64) -> Limits {
        Limits { events, bytes, age: Duration::from_secs(age) }
    }

    fn revisions<'a>(events: impl IntoIterator<Item = &'a Arc<Event<()>>>) -> Vec<u64> {
        events.into_iter().map(|e| e.revision).collect()
    }

    #[test]
    fn count_bytes_and_age_each_evict() {
        let second = Duration::from_secs(1);
        for (limits, now, left) in [
            (limits(2, 1 << 20, 100), second, 2),
            (limits(100, 2600, 100), second, 2), // 1000 + key + overhead each
            (limits(100, 1 << 20, 100), second * 102, 1),
            (limits(100, 1 << 20, 100), second * 200, 0),
            (limits(100, 1 << 20, 100), second * 3, 3),
        ] {
            let mut ring = Ring::new(10, limits);
            for (revision, at) in [(11, 1), (12, 1), (14, 2)] {
                ring.push(event(revision, "k", 1000), second * at);
            }
            let evicted = ring.evict(now);
            assert_eq!(ring.len(), left, "{limits:?}");
            assert_eq!(evicted.len(), 3 - left);
            assert_eq!(ring.floor(), evicted.last().map_or(10, |e| e.revision));
            assert_eq!(ring.head(), 14);
            assert_eq!(ring.bytes(), left * (1000 + 1 + 256));
        }
    }

    #[test]
    fn a_scan_filters_and_reports_how_far_it_looked() {
        let mut ring = Ring::new(1, limits(100, 1 << 20, 100));
        for (revision, key) in [(2, "/a/1"), (3, "/b/1"), (5, "/a/2"), (6, "/b/2")] {
            ring.push(event(revision, key, 1), Duration::ZERO);
        }
        ring.advance(8);
        for (after, prefix, look, take, want, seen) in [
            (1, "/a/", 100, 100, vec![2, 5], 8),
            (1, "", 100, 100, vec![2, 3, 5, 6], 8),
            (1, "/a/", 100, 1, vec![2], 2), // took enough
            (1, "/a/", 2, 100, vec![2], 3),
            (1, "/a/", 4, 100, vec![2, 5], 8),
            (4, "/a/", 100, 100, vec![5], 8), // 4 is a gap
            (8, "", 100, 100, vec![], 8),
            (3, "/c/", 1, 100, vec![], 5),
        ] {
            let mut out = VecDeque::new();
            let got = ring.scan(after, prefix, look, take, &mut out);
            assert_eq!((got, revisions(&out)), (Ok(seen), want), "after {after} of {prefix:?}");
        }
        assert_eq!(ring.scan(0, "", 1, 1, &mut VecDeque::new()), Err(BelowFloor(1)));
    }

    #[test]
    fn newest_first_covers_what_lies_between() {
        let mut ring = Ring::new(1, limits(100, 1 << 20, 100));
        for revision in [2, 3, 5, 6] {
            ring.push(event(revision, "k", 1), Duration::ZERO);
        }
        for (after, until, want) in
            [(1, 6, vec![6, 5, 3, 2]), (3, 5, vec![5]), (6, 6, vec![]), (4, 4, vec![])]
        {
            assert_eq!(ring.newest_first(after, until).map(|e| revisions(&e)), Ok(want));
        }
        assert_eq!(ring.newest_first(0, 6).map(|e| e.len()), Err(BelowFloor(1)));
    }
}
