//! The state at one revision. A snapshot never changes; taking one costs a reference count.

use std::ops::Bound;
use std::sync::Arc;

use crate::entry::Entry;

/// The state as a persistent map: a copy shares everything but the paths written to since.
pub(crate) struct State<M>(rpds::RedBlackTreeMapSync<Arc<str>, Arc<Entry<M>>>);

impl<M> State<M> {
    pub(crate) fn new() -> Self {
        Self(rpds::RedBlackTreeMapSync::new_sync())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Entry<M>>> {
        self.0.get(key)
    }

    /// Puts an entry under its key; returns what was there before.
    pub(crate) fn insert(&mut self, entry: Arc<Entry<M>>) -> Option<Arc<Entry<M>>> {
        let before = self.0.get(&*entry.key).cloned();
        self.0.insert_mut(Arc::clone(&entry.key), entry);
        before
    }

    /// All entries, in key order.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry<M>>> {
        self.0.values()
    }

    /// Takes the entry under a key away.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<Entry<M>>> {
        let before = self.0.get(key).cloned()?;
        self.0.remove_mut(key);
        Some(before)
    }
}

// By hand, since a derive would ask for `M: Clone`.
impl<M> Clone for State<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The state at one revision.
pub struct Snapshot<M> {
    inner: Arc<Frozen<M>>,
}

/// What [`Snapshot`] shares between its clones.
pub(crate) struct Frozen<M> {
    pub revision: u64,
    pub state: State<M>,
}

// By hand, since a derive would ask for `M: Clone`.
impl<M> Clone for Snapshot<M> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M> From<Arc<Frozen<M>>> for Snapshot<M> {
    fn from(inner: Arc<Frozen<M>>) -> Self {
        Self { inner }
    }
}

impl<M> Snapshot<M> {
    pub(crate) fn new(revision: u64, state: State<M>) -> Self {
        Self { inner: Arc::new(Frozen { revision, state }) }
    }

    pub(crate) fn state(&self) -> &State<M> {
        &self.inner.state
    }

    /// The revision this is the state of.
    pub fn revision(&self) -> u64 {
        self.inner.revision
    }

    /// The object under `key`.
    pub fn get(&self, key: &str) -> Option<&Arc<Entry<M>>> {
        self.inner.state.get(key)
    }

    /// The objects whose keys begin with `prefix`, in key order; those after the key `after`
    /// only, if given, which is how a next page begins.
    pub fn range(&self, prefix: &str, after: Option<&str>) -> impl Iterator<Item = &Arc<Entry<M>>> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(Arc::<str>::from(after)),
            _ => Bound::Included(Arc::from(prefix)),
        };
        let range = self.inner.state.0.range::<Arc<str>, _>((start, Bound::Unbounded));
        // All keys with the prefix are neighbours, so the first without it ends the range.
        range.map(|(_, entry)| entry).take_while(move |entry| entry.key.starts_with(prefix))
    }

    /// How many keys begin with `prefix`; costs as much as walking them, except for "".
    pub fn count(&self, prefix: &str) -> usize {
        if prefix.is_empty() { self.len() } else { self.range(prefix, None).count() }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.inner.state.0.size()
    }

    /// Whether there is no object at all.
    pub fn is_empty(&self) -> bool {
        self.inner.state.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn ranges_page_by_key_and_stay_within_the_prefix() {
        let mut state: State<()> = State::new();
        for key in ["/a", "/a/1", "/a/2", "/a/3", "/a0", "/b/1"] {
            state.insert(Entry::new(key.into(), Bytes::new(), 2, 2));
        }
        let snapshot = Snapshot::new(2, state);
        for (prefix, after, want) in [
            ("/a/", None, vec!["/a/1", "/a/2", "/a/3"]),
            ("/a/", Some("/a/1"), vec!["/a/2", "/a/3"]),
            ("/a/", Some("/a/15"), vec!["/a/2", "/a/3"]), // the key may be gone by now
            ("/a/", Some("/a/3"), vec![]),
            ("/a/", Some("/"), vec!["/a/1", "/a/2", "/a/3"]), // before the prefix
            ("/a/", Some("/z"), vec![]),
            ("/a", None, vec!["/a", "/a/1", "/a/2", "/a/3", "/a0"]),
            ("", Some("/a0"), vec!["/b/1"]),
            ("/c", None, vec![]),
        ] {
            let got: Vec<_> = snapshot.range(prefix, after).map(|e| &*e.key).collect();
            assert_eq!(got, want, "{prefix:?} after {after:?}");
        }
        assert_eq!((snapshot.count("/a/"), snapshot.count(""), snapshot.len()), (3, 6, 6));
    }
}
