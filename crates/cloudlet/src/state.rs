//! Everything the cloud knows, as one value: rows by kind and id, and indexes to find them by.
//!
//! A [`State`] is persistent: a copy costs a reference count and shares everything but what is written
//! to it afterwards. So a call that fails is a copy that is dropped, and a reader keeps the state it
//! began with.
//!
//! A row is kept as its JSON text without the attributes that say nothing (see [`Kind::blanks`]):
//! a port takes some 400 bytes instead of several thousand, and the text is what the journal gets.

mod kind;
mod pools;
mod seal;
mod table;
mod tx;
mod word;

use bytes::Bytes;
use rpds::RedBlackTreeMapSync;

pub use self::kind::{Blank, Keys, Kind};
pub use self::pools::Pools;
pub use self::seal::{seal, unseal};
use self::table::Table;
pub use self::tx::{Change, Tx};
use crate::object::Object;

/// The rows of all services.
#[derive(Clone, Default)]
pub struct State {
    /// By name of the kind.
    tables: RedBlackTreeMapSync<&'static str, Table>,
}

impl State {
    fn table(&self, kind: &'static Kind) -> Option<&Table> {
        self.tables.get(kind.name)
    }

    /// The object, if there is one.
    pub fn get(&self, kind: &'static Kind, id: &str) -> Option<Object> {
        self.table(kind)?.row(id).map(|row| unseal(kind, row))
    }

    /// Whether there is such an object.
    pub fn exists(&self, kind: &'static Kind, id: &str) -> bool {
        self.table(kind).is_some_and(|table| table.row(id).is_some())
    }

    /// All objects of a kind, by id.
    pub fn all(&self, kind: &'static Kind) -> impl Iterator<Item = Object> + '_ {
        let rows = self.table(kind).into_iter().flat_map(Table::rows);
        rows.map(move |(_, row)| unseal(kind, row))
    }

    /// The ids of all objects of a kind, in order.
    pub fn ids(&self, kind: &'static Kind) -> impl Iterator<Item = String> + '_ {
        self.table(kind).into_iter().flat_map(|table| table.ids_after(None))
    }

    /// The ids after the one given.
    pub fn ids_after<'a>(
        &'a self,
        kind: &'static Kind,
        after: &'a str,
    ) -> impl Iterator<Item = String> + 'a {
        self.table(kind).into_iter().flat_map(move |table| table.ids_after(Some(after)))
    }

    /// The ids of the objects whose [`Kind::index`] says they have this value.
    pub fn find_ids<'a>(
        &'a self,
        kind: &'static Kind,
        index: &str,
        value: &str,
    ) -> impl Iterator<Item = String> + use<'a> {
        self.table(kind).map(|table| table.find(index, value)).into_iter().flatten()
    }

    /// The objects whose [`Kind::index`] says they have this value.
    pub fn find<'a>(
        &'a self,
        kind: &'static Kind,
        index: &str,
        value: &str,
    ) -> impl Iterator<Item = Object> + use<'a> {
        self.find_ids(kind, index, value).filter_map(move |id| self.get(kind, &id))
    }

    /// How many objects of the kind a project has.
    pub fn count(&self, kind: &'static Kind, project: &str) -> u32 {
        self.table(kind).map_or(0, |table| table.count(project))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.tables.values().map(Table::len).sum()
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every row as the journal has it: `(kind, id, sealed)`.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, String, &Bytes)> {
        self.tables.iter().flat_map(|(kind, table)| {
            table.rows().map(move |(id, row)| (*kind, id.to_string(), row))
        })
    }

    /// Puts a sealed row in place of what is there, and keeps index and counts true. Returns what
    /// was there.
    pub fn put_sealed(&mut self, kind: &'static Kind, id: &str, row: Bytes) -> Option<Bytes> {
        if let Some(table) = self.tables.get_mut(kind.name) {
            return table.put(kind, id, row);
        }
        let mut table = Table::default();
        table.put(kind, id, row);
        self.tables.insert_mut(kind.name, table);
        None
    }

    /// Takes a row away; returns what was there.
    pub fn remove(&mut self, kind: &'static Kind, id: &str) -> Option<Bytes> {
        self.tables.get_mut(kind.name)?.remove(kind, id)
    }

    /// Keeps a row's text only once: where somebody else (the journal) keeps the same text anyway.
    pub fn share(&mut self, kind: &'static Kind, id: &str, row: &Bytes) {
        if let Some(table) = self.tables.get_mut(kind.name) {
            table.share(id, row);
        }
    }
}

#[cfg(test)]
mod tests;
