//! Everything the cloud knows, as one value: rows by kind and id, and an index to find them by.
//!
//! A [`State`] is persistent: a copy costs three reference counts and shares everything but what
//! is written to it afterwards. So a call that fails is a copy that is dropped, and a reader keeps
//! the state it began with.
//!
//! A row is kept as its JSON text without the attributes that say nothing (see [`Kind::blanks`]):
//! a port takes some 400 bytes instead of several thousand, and the text is what the journal gets.

mod kind;
mod pools;
mod seal;
mod tx;

use std::ops::Bound;
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

pub use self::kind::{Blank, Keys, Kind};
pub use self::pools::Pools;
pub use self::seal::{seal, unseal};
pub use self::tx::{Change, Tx};
use crate::object::Object;

/// Parts keys where no id or value has it.
const PART: char = '\u{1}';

/// The rows of all services.
#[derive(Clone, Default)]
pub struct State {
    /// `kind PART id` to the sealed row.
    rows: RedBlackTreeMapSync<Arc<str>, Arc<str>>,
    /// `kind PART index PART value PART id` to the id.
    index: RedBlackTreeMapSync<Arc<str>, Arc<str>>,
    /// `kind PART project` to how many rows the project has.
    counts: RedBlackTreeMapSync<Arc<str>, u32>,
}

impl State {
    /// The object, if there is one.
    pub fn get(&self, kind: &'static Kind, id: &str) -> Option<Object> {
        self.rows.get(&*row_key(kind, id)).map(|row| unseal(kind, row))
    }

    /// Whether there is such an object.
    pub fn exists(&self, kind: &'static Kind, id: &str) -> bool {
        self.rows.contains_key(&*row_key(kind, id))
    }

    /// All objects of a kind, by id.
    pub fn all(&self, kind: &'static Kind) -> impl Iterator<Item = Object> + '_ {
        self.ids(kind).filter_map(move |id| self.get(kind, id))
    }

    /// The ids of all objects of a kind, in order.
    pub fn ids(&self, kind: &'static Kind) -> impl Iterator<Item = &str> + '_ {
        self.ids_after(kind, "")
    }

    /// The ids after the one given.
    pub fn ids_after(&self, kind: &'static Kind, after: &str) -> impl Iterator<Item = &str> + '_ {
        let prefix = format!("{}{PART}", kind.name);
        let from: Arc<str> = format!("{prefix}{after}").into();
        let rows = self.rows.range((Bound::Excluded(from), Bound::Unbounded));
        let skip = prefix.len();
        rows.map(|(key, _)| key)
            .take_while(move |key| key.starts_with(&*prefix))
            .filter_map(move |key| key.get(skip..))
    }

    /// The ids of the objects whose [`Kind::index`] says they have this value.
    pub fn find_ids<'a>(
        &'a self,
        kind: &'static Kind,
        index: &str,
        value: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let prefix = format!("{}{PART}{index}{PART}{value}{PART}", kind.name);
        let from: Arc<str> = prefix.as_str().into();
        let found = self.index.range((Bound::Excluded(from), Bound::Unbounded));
        found.take_while(move |(key, _)| key.starts_with(&*prefix)).map(|(_, id)| &**id)
    }

    /// The objects whose [`Kind::index`] says they have this value.
    pub fn find<'a>(
        &'a self,
        kind: &'static Kind,
        index: &str,
        value: &str,
    ) -> impl Iterator<Item = Object> + use<'a> {
        self.find_ids(kind, index, value).filter_map(move |id| self.get(kind, id))
    }

    /// How many objects of the kind a project has.
    pub fn count(&self, kind: &'static Kind, project: &str) -> u32 {
        self.counts.get(&*row_key(kind, project)).copied().unwrap_or(0)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every row as the journal has it: `(kind, id, sealed)`.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str, &Arc<str>)> {
        self.rows.iter().filter_map(|(key, row)| {
            let (kind, id) = key.split_once(PART)?;
            Some((kind, id, row))
        })
    }

    /// Puts a sealed row in place of what is there, and keeps index and counts true. Returns what
    /// was there.
    pub fn put_sealed(&mut self, kind: &'static Kind, id: &str, row: Arc<str>) -> Option<Arc<str>> {
        let before = self.remove(kind, id);
        let object = unseal(kind, &row);
        let id: Arc<str> = id.into();
        for (index, value) in Keys::of(kind, &object) {
            self.index.insert_mut(index_key(kind, index, &value, &id), Arc::clone(&id));
        }
        self.counted(kind, object.project(), 1);
        self.rows.insert_mut(row_key(kind, &id).into(), row);
        before
    }

    /// Takes a row away; returns what was there.
    pub fn remove(&mut self, kind: &'static Kind, id: &str) -> Option<Arc<str>> {
        let key = row_key(kind, id);
        let before = self.rows.get(&*key).cloned()?;
        let object = unseal(kind, &before);
        for (index, value) in Keys::of(kind, &object) {
            self.index.remove_mut(&*index_key(kind, index, &value, id));
        }
        self.counted(kind, object.project(), -1);
        self.rows.remove_mut(&*key);
        Some(before)
    }

    fn counted(&mut self, kind: &'static Kind, project: &str, by: i32) {
        let key = row_key(kind, project);
        let now = self.counts.get(&*key).copied().unwrap_or(0).saturating_add_signed(by);
        if now == 0 {
            self.counts.remove_mut(&*key);
        } else {
            self.counts.insert_mut(key.into(), now);
        }
    }
}

fn row_key(kind: &Kind, id: &str) -> String {
    format!("{}{PART}{id}", kind.name)
}

fn index_key(kind: &Kind, index: &str, value: &str, id: &str) -> Arc<str> {
    format!("{}{PART}{index}{PART}{value}{PART}{id}", kind.name).into()
}

#[cfg(test)]
mod tests;
