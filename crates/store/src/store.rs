//! The handle: everything the rest of the server can do with a store.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use tokio::sync::{Semaphore, oneshot, watch};

use crate::announced::{Announced, Coming};
use crate::dir::{StateDir, failed};
use crate::durable::{Durable, Files};
use crate::entry::Meta;
use crate::error::{CompactError, OpenError, SnapshotError, WatchError, WriteError};
use crate::load::load;
use crate::log;
use crate::op::{Op, Written};
use crate::options::Options;
use crate::past::Past;
use crate::ring::Limits;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::stats::{Stats, add, get};
use crate::watch::Watcher;
use crate::writer::{Command, Request, Writer};

/// The longest key accepted.
const MAX_KEY: usize = 4096;

/// What a small request takes of the queue's room: bounds how many can wait.
const MIN_ROOM: usize = 1024;

/// An open store; clones share it.
///
/// When the last clone goes, the writer finishes what is queued and the directory is released;
/// the drop waits for that. [`Store::close`] does the same without blocking the thread.
pub struct Store<M> {
    inner: Arc<Inner<M>>,
}

struct Inner<M> {
    shared: Arc<Shared<M>>,
    past: Past<M>,
    changes: watch::Receiver<u64>,
    queue: mpsc::Sender<Command<M>>,
    coming: Coming,
    room: Arc<Semaphore>,
    queue_bytes: usize,
    max_value: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

// By hand, since a derive would ask for `M: Clone`.
impl<M> Clone for Store<M> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M: Meta> Store<M> {
    /// Opens the store in `dir`, which is created if needed, and reads all of it.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_with(dir, options, Files::default())
    }

    pub(crate) fn open_with(dir: &Path, options: Options, files: Files) -> Result<Self, OpenError> {
        let state_dir = StateDir::lock(dir)?;
        let path = state_dir.state_file(log::create)?;
        let log = Durable::open(path, options.journal_bytes, files)?;
        let loaded = load(log.log(), Limits::from(&options), (options.now)())?;

        let shared = Arc::new(Shared::new(loaded.revision, loaded.state, loaded.ring));
        add(&shared.counters.log_records, loaded.records);
        let (queue, receiver) = mpsc::channel();
        let (changes, observer) = watch::channel(loaded.revision);
        let queue_bytes = options.queue_bytes.clamp(MIN_ROOM, u32::MAX as usize);
        let room = Arc::new(Semaphore::new(queue_bytes));
        let (coming, max_value) = (Coming::default(), options.max_value);
        let writer = Writer {
            queue: receiver,
            coming: coming.clone(),
            room: Arc::clone(&room),
            shared: Arc::clone(&shared),
            options,
            obsolete: loaded.obsolete,
            revision: loaded.revision,
            log,
            dir: state_dir,
            changes,
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(failed("start the writer thread for", dir))?;
        let inner = Inner {
            shared,
            past: Past::default(),
            changes: observer,
            queue,
            coming,
            room,
            queue_bytes,
            max_value,
            thread: Mutex::new(Some(thread)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl<M> Store<M> {
    /// Writes `ops`, all of them or none, each with a revision of its own, consecutive and in
    /// order. An op sees what the ops before it in the same call did.
    ///
    /// Returns once the writes are on the disk and visible to readers and watchers. Waits if
    /// the queue is full. If the future is dropped the ops may or may not be written.
    pub async fn write(&self, ops: Vec<Op>) -> Result<Vec<Written<M>>, WriteError<M>> {
        for op in &ops {
            self.inner.check(op)?;
        }
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        let weight = ops.iter().map(Op::weight).sum::<usize>();
        // A call larger than the queue has to be let in some time: when it is alone.
        let room = weight.clamp(MIN_ROOM, self.inner.queue_bytes);
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.inner.room).acquire_many_owned(room).await;
        let permit = permit.map_err(|_| WriteError::Closed)?;
        let (answer, answered) = oneshot::channel();
        let request = Request { ops, answer, permit };
        self.inner.queue.send(Command::Write(request)).map_err(|_| WriteError::Closed)?;
        answered.await.map_err(|_| WriteError::Closed)?
    }

    /// Says that a write is about to come, for as long as what is returned lives: until the write is
    /// answered, or is known not to come. Others that are being committed wait a moment for it, so that
    /// both are one commit ([`Options::gather`]).
    pub fn announce(&self) -> Announced {
        self.inner.coming.announce()
    }

    /// The current state; costs a reference count and never waits.
    pub fn snapshot(&self) -> Snapshot<M> {
        self.inner.shared.snapshot()
    }

    /// The state as it was at `revision`, as long as the ring goes back that far.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot<M>, SnapshotError> {
        self.inner.past.at(&self.inner.shared, revision)
    }

    /// The current revision.
    pub fn revision(&self) -> u64 {
        self.inner.shared.revision()
    }

    /// The events after revision `after` of the keys that begin with `prefix` ("" for all).
    pub fn watch(&self, prefix: String, after: u64) -> Result<Watcher<M>, WatchError> {
        let (shared, changes) = (Arc::clone(&self.inner.shared), self.inner.changes.clone());
        Watcher::new(shared, changes, prefix, after)
    }

    /// Lets events go that are too old and deletes every obsolete record; returns how many
    /// records that were. The store does this by itself; here for tests and for operators.
    pub async fn compact(&self) -> Result<usize, CompactError> {
        let (answer, answered) = oneshot::channel();
        self.inner.queue.send(Command::Compact(answer)).map_err(|_| CompactError::Closed)?;
        answered.await.map_err(|_| CompactError::Closed)?
    }

    /// Figures for status pages and metrics.
    pub fn stats(&self) -> Stats {
        let (ring_events, ring_bytes, ring_floor) = {
            let ring = self.inner.shared.ring();
            (ring.len(), ring.bytes(), ring.floor())
        };
        let snapshot = self.snapshot();
        let counters = &self.inner.shared.counters;
        let (commits, writes) = (get(&counters.commits), get(&counters.writes));
        #[allow(clippy::cast_precision_loss)] // a mean to look at
        let mean_batch = if commits == 0 { 0.0 } else { writes as f64 / commits as f64 };
        Stats {
            revision: snapshot.revision(),
            objects: snapshot.len(),
            ring_events,
            ring_bytes,
            ring_floor,
            log_records: get(&counters.log_records),
            compacted: get(&counters.compacted),
            commits,
            writes,
            failures: get(&counters.failures),
            mean_batch,
        }
    }

    /// Closes the store for all its clones: queued writes are finished, later ones are refused,
    /// watchers get what there is and then end. Returns once the directory is released.
    pub async fn close(self) {
        let mut changes = self.inner.changes.clone();
        // An error means that the writer has stopped already.
        let _ = self.inner.queue.send(Command::Stop);
        while changes.changed().await.is_ok() {}
    }
}

impl<M> Inner<M> {
    /// What can be refused without knowing the state.
    fn check(&self, op: &Op) -> Result<(), WriteError<M>> {
        let key = op.key();
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(WriteError::BadKey { size: key.len(), limit: MAX_KEY });
        }
        let Some(template) = op.template() else { return Ok(()) };
        let len = template.bytes.len();
        if let Some(at) = template.revision_at.filter(|at| *at > len) {
            return Err(WriteError::BadTemplate { key: key.to_owned(), at, len });
        }
        let size = template.stamped_len();
        if size > self.max_value {
            return Err(WriteError::TooLarge { key: key.to_owned(), size, limit: self.max_value });
        }
        Ok(())
    }
}

impl<M> Drop for Inner<M> {
    fn drop(&mut self) {
        let _ = self.queue.send(Command::Stop);
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // A writer that panicked has said why; there is nothing to add here.
        let _ = thread.map(JoinHandle::join);
    }
}
