//! A batch in the making: calls are checked and applied in order to a copy of the state, which
//! becomes the state if the commit succeeds and is dropped otherwise.
//!
//! Conditions are checked here, against everything before them in the queue, which is what makes
//! compare-and-swap linearizable.

use std::sync::Arc;

use crate::entry::{Entry, Event, EventKind, Meta};
use crate::error::WriteError;
use crate::op::{Expect, Op, Written};
use crate::snapshot::State;

pub(crate) struct Stage<M> {
    pub state: State<M>,
    /// The last revision given out.
    pub revision: u64,
    pub events: Vec<Arc<Event<M>>>,
}

impl<M: Meta> Stage<M> {
    /// A stage on top of `state`; the first op gets the revision after `revision`.
    pub(crate) fn new(state: State<M>, revision: u64) -> Self {
        Self { state, revision, events: Vec::new() }
    }

    /// Applies all ops of a call, or none of them.
    pub(crate) fn apply(&mut self, ops: Vec<Op>) -> Result<Vec<Written<M>>, WriteError<M>> {
        let (state, revision, events) = (self.state.clone(), self.revision, self.events.len());
        let written = ops.into_iter().map(|op| self.apply_one(op)).collect::<Result<Vec<_>, _>>();
        if written.is_err() {
            // Nobody has seen these revisions, so the next call may have them.
            self.state = state;
            self.revision = revision;
            self.events.truncate(events);
        }
        written
    }

    fn apply_one(&mut self, op: Op) -> Result<Written<M>, WriteError<M>> {
        let revision = self.revision + 1;
        let (kind, entry, prev) = match op {
            Op::Put { key, expect, value } => {
                let current = self.state.get(key.as_str());
                check(&key, expect, current)?;
                let created = current.map_or(revision, |e| e.created);
                let key = current.map_or_else(|| Arc::from(key), |e| Arc::clone(&e.key));
                let entry = Entry::new(key, value.stamp(revision), revision, created);
                let prev = self.state.insert(Arc::clone(&entry.key), Arc::clone(&entry));
                (EventKind::Put, entry, prev)
            }
            Op::Delete { key, expect, value } => {
                check(&key, expect, self.state.get(key.as_str()))?;
                let Some(prev) = self.state.remove(key.as_str()) else {
                    return Err(WriteError::Conflict { key, current: None });
                };
                let last = value.map_or_else(|| prev.value.clone(), |v| v.stamp(revision));
                let entry = Entry::new(Arc::clone(&prev.key), last, revision, prev.created);
                (EventKind::Delete, entry, Some(prev))
            }
        };
        self.revision = revision;
        self.events.push(Event::new(kind, Arc::clone(&entry), prev.clone()));
        Ok(Written { revision, entry, prev })
    }
}

fn check<M>(
    key: &str,
    expect: Expect,
    current: Option<&Arc<Entry<M>>>,
) -> Result<(), WriteError<M>> {
    let holds = match expect {
        Expect::Any => true,
        Expect::Absent => current.is_none(),
        Expect::Revision(revision) => current.is_some_and(|e| e.revision == revision),
    };
    if holds {
        return Ok(());
    }
    Err(WriteError::Conflict { key: key.to_owned(), current: current.cloned() })
}
