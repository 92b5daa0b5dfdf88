//! From the log to memory: replays every record, which gives the current state, the ring's tail
//! and the list of records nobody needs any more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::entry::{Entry, Event, EventKind, Meta};
use crate::error::OpenError;
use crate::log::Log;
use crate::record::{Body, Record};
use crate::ring::{Limits, Ring};
use crate::snapshot::State;

pub(crate) struct Loaded<M> {
    pub revision: u64,
    pub state: State<M>,
    pub ring: Ring<M>,
    pub obsolete: Obsolete,
    pub records: usize,
}

/// Records to delete, in the order in which that is safe.
///
/// The order matters because deletions may take several transactions: were a tombstone to go
/// before the record it buries, a crash in between would bring the object back. Both come from
/// the same event, and the older record is queued first.
#[derive(Debug, Default)]
pub(crate) struct Obsolete(VecDeque<u64>);

impl Obsolete {
    /// Notes what an event that left the ring (or was never in it) makes obsolete.
    pub(crate) fn note(&mut self, kind: EventKind, revision: u64, prev: Option<u64>) {
        self.0.extend(prev);
        if kind == EventKind::Delete {
            self.0.push_back(revision);
        }
    }

    pub(crate) fn note_all<M>(&mut self, events: &[Arc<Event<M>>]) {
        for event in events {
            self.note(event.kind, event.revision, event.prev.as_ref().map(|p| p.revision));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn first(&self, n: usize) -> Vec<u64> {
        self.0.iter().take(n).copied().collect()
    }

    /// Forgets the first `n`, which are deleted now.
    pub(crate) fn done(&mut self, n: usize) {
        self.0.drain(..n.min(self.0.len()));
    }
}

/// Replays the log. Events count as having happened `now`: how old they really are is not known,
/// and a client that was watching before the restart deserves its time.
pub(crate) fn load<M: Meta>(
    log: &Log,
    limits: Limits,
    now: Duration,
) -> Result<Loaded<M>, OpenError> {
    let damaged = |err| log.damaged(err);
    let marks = log.marks().map_err(damaged)?;
    let mut loaded = Loaded {
        revision: marks.revision,
        state: State::new(),
        ring: Ring::new(marks.floor, limits),
        obsolete: Obsolete::default(),
        records: 0,
    };
    log.replay(|revision, bytes| {
        let record = Record::decode(bytes)
            .map_err(|why| format!("record of revision {revision} is not readable: {why}"))?;
        loaded.apply(revision, record, marks.floor, now)
    })
    .map_err(damaged)?;
    loaded.ring.advance(loaded.revision);
    Ok(loaded)
}

impl<M: Meta> Loaded<M> {
    fn apply(
        &mut self,
        revision: u64,
        record: Record<'_>,
        floor: u64,
        now: Duration,
    ) -> Result<(), String> {
        self.records += 1;
        self.revision = self.revision.max(revision);
        let before = self.state.get(record.key);
        let key = before.map_or_else(|| Arc::from(record.key), |e| Arc::clone(&e.key));
        let entry = |value| Entry::new(Arc::clone(&key), value, revision, record.created);
        let (kind, entry, prev) = match record.body {
            Body::Put(value) => {
                let entry = entry(Bytes::copy_from_slice(value));
                let prev = self.state.insert(Arc::clone(&entry));
                (EventKind::Put, Some(entry), prev)
            }
            Body::Delete(last) => {
                let prev = self.state.remove(&key);
                let last = last.map(Bytes::copy_from_slice);
                let last = last.or_else(|| prev.as_ref().map(|p| p.value.clone()));
                (EventKind::Delete, last.map(entry), prev)
            }
        };
        if revision <= floor {
            // Compaction has been here: what came before may be gone, so it is no event.
            self.obsolete.note(kind, revision, prev.map(|p| p.revision));
            return Ok(());
        }
        let entry = entry.ok_or_else(|| {
            format!("revision {revision} deletes {}, which does not exist", record.key)
        })?;
        self.ring.push(Event::new(kind, entry, prev), now);
        let evicted = self.ring.evict(now);
        self.obsolete.note_all(&evicted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_is_never_deleted_before_what_it_buries() {
        let mut obsolete = Obsolete::default();
        obsolete.note(EventKind::Put, 2, None);
        obsolete.note(EventKind::Put, 3, Some(2));
        obsolete.note(EventKind::Delete, 5, Some(3));
        assert_eq!(obsolete.first(9), [2, 3, 5]);
        obsolete.done(2);
        assert_eq!((obsolete.first(9), obsolete.len()), (vec![5], 1));
    }
}
