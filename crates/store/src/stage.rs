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
                let prev = self.state.insert(Arc::clone(&entry));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Template;

    fn put(key: &str, expect: Expect) -> Op {
        Op::Put { key: key.to_owned(), expect, value: Template::stamped("", 0) }
    }

    fn delete(key: &str) -> Op {
        Op::Delete { key: key.to_owned(), expect: Expect::Any, value: None }
    }

    /// The batch a failed call is in may still be committed for the sake of others.
    #[test]
    fn a_failed_call_leaves_nothing_behind_in_its_batch() {
        let mut stage: Stage<()> = Stage::new(State::new(), 1);
        stage.apply(vec![put("/a", Expect::Absent)]).unwrap();
        for last in [put("/a", Expect::Revision(9)), delete("/none")] {
            let call = vec![put("/b", Expect::Any), put("/a", Expect::Any), delete("/a"), last];
            stage.apply(call).unwrap_err();
        }
        let written = stage.apply(vec![put("/c", Expect::Absent)]).unwrap();
        assert_eq!(written[0].revision, 3);
        let left: Vec<_> = stage.state.entries().map(|e| (&*e.key, e.revision)).collect();
        assert_eq!(left, [("/a", 2), ("/c", 3)]);
        assert_eq!(stage.events.iter().map(|e| e.revision).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn ops_see_what_the_ops_before_them_did() {
        let mut stage: Stage<()> = Stage::new(State::new(), 1);
        let call = vec![
            put("/a", Expect::Absent),
            put("/a", Expect::Revision(2)),
            delete("/a"),
            put("/a", Expect::Absent),
        ];
        let written = stage.apply(call).unwrap();
        let got: Vec<_> = written
            .iter()
            .map(|w| (w.revision, w.entry.created, w.prev.as_ref().map(|p| p.revision)))
            .collect();
        assert_eq!(got, [(2, 2, None), (3, 2, Some(2)), (4, 2, Some(3)), (5, 5, None)]);
    }
}
