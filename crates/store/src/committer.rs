//! The log in a thread of its own, so that its memory is its own.
//!
//! The writer makes what stays (entries, values, the state), a transaction makes what goes again
//! with its commit. Made in one thread, both come from one arena of the allocator, in turns, and
//! what goes leaves holes between what stays. With glibc before 2.38 they are not even used again by
//! the next transaction, since redb asks for aligned memory: after 10,000 single writes almost half
//! of the process was such holes. Made in two threads, the memory of a transaction is in one piece
//! again when it ends.
//!
//! Handing a batch over costs some microseconds where a sync costs some hundred, but on a busy
//! machine two turns of the scheduler. A batch of several writes is therefore committed on the spot:
//! what it keeps is larger than the hole it leaves, and fills it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::entry::Meta;
use crate::log::{Batch, Log, LogError};

/// From how many writes on a batch is committed by the writer itself.
const SEVERAL: usize = 4;

/// The log, behind its thread. It is closed when this is dropped.
pub(crate) struct Committer<M> {
    path: PathBuf,
    /// Whoever commits has it; never both.
    log: Arc<Mutex<Log>>,
    /// `None` only while it is being dropped.
    work: Option<SyncSender<Batch<M>>>,
    done: Receiver<Result<(), LogError>>,
    thread: Option<JoinHandle<()>>,
}

impl<M: Meta> Committer<M> {
    pub(crate) fn start(log: Log) -> io::Result<Self> {
        let path = log.path().to_owned();
        let log = Arc::new(Mutex::new(log));
        let shared = Arc::clone(&log);
        let (work, batches) = sync_channel::<Batch<M>>(1);
        let (answer, done) = sync_channel(1);
        let thread = thread::Builder::new().name("store-log".to_owned()).spawn(move || {
            for batch in batches {
                let result = locked(&shared).commit(&batch);
                // The writer is the last to let go of the events.
                drop(batch);
                if answer.send(result).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { path, log, work: Some(work), done, thread: Some(thread) })
    }

    /// Writes a batch durably, all of it or nothing.
    pub(crate) fn commit(&mut self, batch: Batch<M>) -> Result<(), LogError> {
        if batch.events.len() >= SEVERAL {
            return locked(&self.log).commit(&batch);
        }
        let handed_over = self.work.as_ref().is_some_and(|work| work.send(batch).is_ok());
        match self.done.recv() {
            Ok(result) if handed_over => result,
            _ => Err(LogError {
                kind: io::ErrorKind::Other,
                cause: "the thread of the log has ended".to_owned(),
            }),
        }
    }
}

/// Whoever panicked with the log in hand left it as a failed commit does.
fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Committer<M> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl<M> Drop for Committer<M> {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            // Were it to have panicked, the panic has been reported; the file is closed either way.
            let _ = thread.join();
        }
    }
}
