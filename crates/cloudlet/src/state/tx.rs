//! One call's work on the state: all of it happens, or none.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use super::{Kind, Pools, State, seal, unseal};
use crate::chance::Chance;
use crate::config::Config;
use crate::object::Object;

/// What one call did to one row. The lab's data plane follows these, and the journal keeps them.
#[derive(Clone, Debug)]
pub struct Change {
    /// The table.
    pub kind: &'static Kind,
    /// The row.
    pub id: Arc<str>,
    /// The row as it was; `None` when it is new.
    pub before: Option<Bytes>,
    /// The row as it is; `None` when it is gone.
    pub after: Option<Bytes>,
}

impl Change {
    /// The object as it was.
    pub fn old(&self) -> Option<Object> {
        self.before.as_deref().map(|row| unseal(self.kind, row))
    }

    /// The object as it is.
    #[allow(clippy::new_ret_no_self)] // the word that stands beside `old`
    pub fn new(&self) -> Option<Object> {
        self.after.as_deref().map(|row| unseal(self.kind, row))
    }
}

/// The state as one call sees and changes it, with what else a rule may ask for.
pub struct Tx<'a> {
    /// When the call is made.
    pub now: Timestamp,
    /// Where ids come from.
    pub chance: &'a mut dyn Chance,
    /// How the cloud is set up.
    pub config: &'a Config,
    /// Which addresses of subnets are free.
    pub pools: &'a mut Pools,
    state: State,
    /// By name of the kind and id.
    changes: BTreeMap<(&'static str, Arc<str>), Change>,
}

impl Deref for Tx<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl<'a> Tx<'a> {
    /// A transaction on a copy of the state.
    pub fn new(
        state: &State,
        config: &'a Config,
        now: Timestamp,
        chance: &'a mut dyn Chance,
        pools: &'a mut Pools,
    ) -> Self {
        Self { now, chance, config, pools, state: state.clone(), changes: BTreeMap::new() }
    }

    /// Writes an object, which has an `id`, in place of what is there.
    pub fn put(&mut self, kind: &'static Kind, object: Object) {
        let id: Arc<str> = object.id().into();
        let row = seal(kind, object);
        let before = self.state.put_sealed(kind, &id, row.clone());
        self.note(kind, id, before, Some(row));
    }

    /// Removes an object.
    pub fn delete(&mut self, kind: &'static Kind, id: &str) {
        if let Some(before) = self.state.remove(kind, id) {
            self.note(kind, id.into(), Some(before), None);
        }
    }

    /// Now, as the services write it.
    pub fn timestamp(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The state as it is now, and what changed; the calls that changed nothing in the end are
    /// left out.
    pub fn finish(self) -> (State, Vec<Change>) {
        let changes = self.changes.into_values().filter(|change| change.before != change.after);
        (self.state, changes.collect())
    }

    fn note(
        &mut self,
        kind: &'static Kind,
        id: Arc<str>,
        before: Option<Bytes>,
        after: Option<Bytes>,
    ) {
        let key = (kind.name, Arc::clone(&id));
        let change = Change { kind, id, before, after: None };
        self.changes.entry(key).or_insert(change).after = after;
    }
}
