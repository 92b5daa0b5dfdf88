//! What the store holds (entries) and what it tells watchers (events).

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// What a caller wants to know about a value without decoding it again.
///
/// Computed once per version: by the writer thread when it is written, and at open for what the
/// log holds. It must be quick and must not panic; a value it cannot read still needs an answer.
pub trait Meta: Send + Sync + 'static {
    /// Derives the metadata of `value`, stored under `key`.
    fn decode(key: &str, value: &[u8]) -> Self;
}

impl Meta for () {
    fn decode(_key: &str, _value: &[u8]) -> Self {}
}

/// One version of one object.
pub struct Entry<M> {
    /// The key it is stored under.
    pub key: Arc<str>,
    /// The value, with its own revision already stamped in where the writer asked for it.
    pub value: Bytes,
    /// The revision of the write (or deletion) that made this version.
    pub revision: u64,
    /// The revision at which the key came into being, unchanged by updates.
    pub created: u64,
    /// What [`Meta::decode`] made of the value.
    pub meta: M,
}

impl<M: Meta> Entry<M> {
    pub(crate) fn new(key: Arc<str>, value: Bytes, revision: u64, created: u64) -> Arc<Self> {
        let meta = M::decode(&key, &value);
        Arc::new(Self { key, value, revision, created, meta })
    }
}

impl<M> fmt::Debug for Entry<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.key)
            .field("revision", &self.revision)
            .field("created", &self.created)
            .field("bytes", &self.value.len())
            .finish_non_exhaustive()
    }
}

/// What happened to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The key was created (no [`Event::prev`]) or updated.
    Put,
    /// The key was deleted.
    Delete,
}

/// One change, shared by every watcher that sees it.
pub struct Event<M> {
    /// The revision of the change, equal to `entry.revision`.
    pub revision: u64,
    /// The key that changed.
    pub key: Arc<str>,
    /// What happened.
    pub kind: EventKind,
    /// The new state, or for a deletion the last state, carrying the deletion's revision.
    pub entry: Arc<Entry<M>>,
    /// The state before the change; `None` if the key was created by it.
    pub prev: Option<Arc<Entry<M>>>,
    /// A slot for the serialised event: the first watcher fills it, the others share the bytes.
    pub encoded: OnceLock<Bytes>,
}

impl<M> Event<M> {
    pub(crate) fn new(
        kind: EventKind,
        entry: Arc<Entry<M>>,
        prev: Option<Arc<Entry<M>>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            revision: entry.revision,
            key: Arc::clone(&entry.key),
            kind,
            entry,
            prev,
            encoded: OnceLock::new(),
        })
    }

    /// What the event weighs against [`Options::ring_bytes`](crate::Options::ring_bytes).
    pub(crate) fn weight(&self) -> usize {
        // The structures around the bytes: two Arcs, the entry, the ring's slot.
        const OVERHEAD: usize = 256;
        self.entry.value.len() + self.key.len() + OVERHEAD
    }
}

impl<M> fmt::Debug for Event<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("revision", &self.revision)
            .field("kind", &self.kind)
            .field("key", &self.key)
            .field("prev", &self.prev.as_ref().map(|p| p.revision))
            .finish_non_exhaustive()
    }
}
