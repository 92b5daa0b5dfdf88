//! The rows of one kind, and what they are found by.

use std::ops::Bound;

use bytes::Bytes;
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use super::kind::{Keys, Kind};
use super::seal::unseal;
use super::word::Word;

/// A persistent table: a copy shares everything with the original.
#[derive(Clone, Default)]
pub struct Table {
    /// The sealed rows by id.
    rows: RedBlackTreeMapSync<Word, Bytes>,
    /// By name of the index: value and id.
    index: RedBlackTreeMapSync<&'static str, RedBlackTreeSetSync<(Word, Word)>>,
    /// How many rows each project has.
    counts: RedBlackTreeMapSync<Word, u32>,
}

impl Table {
    pub fn row(&self, id: &str) -> Option<&Bytes> {
        self.rows.get(&Word::from(id))
    }

    pub fn rows(&self) -> impl Iterator<Item = (&Word, &Bytes)> {
        self.rows.iter()
    }

    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// The ids after the one given; all of them without.
    pub fn ids_after(&self, after: Option<&str>) -> impl Iterator<Item = String> + use<'_> {
        let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(Word::from(id)));
        self.rows.range((from, Bound::Unbounded)).map(|(id, _)| id.to_string())
    }

    /// The ids of the rows that have this value in the index.
    pub fn find(&self, index: &str, value: &str) -> impl Iterator<Item = String> + use<'_> {
        let value = Word::from(value);
        let from = Bound::Included((value.clone(), Word::FIRST));
        let entries = self.index.get(index).map(|index| index.range((from, Bound::Unbounded)));
        let found = entries.into_iter().flatten().take_while(move |(held, _)| *held == value);
        found.map(|(_, id)| id.to_string())
    }

    pub fn count(&self, project: &str) -> u32 {
        self.counts.get(&Word::from(project)).copied().unwrap_or(0)
    }

    /// Puts a row in place of what is there, and keeps index and counts true. Returns what was there.
    pub fn put(&mut self, kind: &'static Kind, id: &str, row: Bytes) -> Option<Bytes> {
        let before = self.remove(kind, id);
        let object = unseal(kind, &row);
        let id = Word::from(id);
        for (index, value) in Keys::of(kind, &object) {
            let entry = (Word::from(value.as_str()), id.clone());
            if let Some(held) = self.index.get_mut(index) {
                held.insert_mut(entry);
            } else {
                self.index.insert_mut(index, [entry].into_iter().collect());
            }
        }
        self.counted(object.project(), 1);
        self.rows.insert_mut(id, row);
        before
    }

    /// Takes a row away; returns what was there.
    pub fn remove(&mut self, kind: &'static Kind, id: &str) -> Option<Bytes> {
        let word = Word::from(id);
        let before = self.rows.get(&word).cloned()?;
        let object = unseal(kind, &before);
        for (index, value) in Keys::of(kind, &object) {
            if let Some(held) = self.index.get_mut(index) {
                held.remove_mut(&(Word::from(value.as_str()), word.clone()));
            }
        }
        self.counted(object.project(), -1);
        self.rows.remove_mut(&word);
        Some(before)
    }

    /// Keeps a row's text where somebody else keeps the same text already.
    pub fn share(&mut self, id: &str, row: &Bytes) {
        let word = Word::from(id);
        if self.rows.get(&word) == Some(row) {
            self.rows.insert_mut(word, row.clone());
        }
    }

    fn counted(&mut self, project: &str, by: i32) {
        let project = Word::from(project);
        let now = self.counts.get(&project).copied().unwrap_or(0).saturating_add_signed(by);
        if now == 0 {
            self.counts.remove_mut(&project);
        } else {
            self.counts.insert_mut(project, now);
        }
    }
}
