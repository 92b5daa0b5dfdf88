//! Where a commit goes: into the journal, and from there, many together, into the database.
//!
//! ```text
//!  commit ──▶ journal: one frame, one sync ──▶ acknowledged
//!                └─▶ pending (in memory) ──▶ checkpoint: one transaction, one sync ──▶ database
//! ```
//!
//! The database holds the number and the salt of the journal's generation. A checkpoint puts in what
//! is pending and a new generation in one transaction: from that moment the frames in the journal do
//! not count any more, and the next is written over the first. There is no moment in between, and
//! nothing to clean up.
//!
//! Invariants:
//!
//! - what was acknowledged is in the database or in a frame of the generation the database names;
//! - only a generation that the database is known to have on the disk is written to. After any
//!   failure the journal stops, and the next commit is itself a checkpoint: it brings a new
//!   generation, and what the failure left, in either file, is gone with it;
//! - nothing is shown that is not durable: frames found at open are put into the database first.
//!
//! Deletions of obsolete records are in no frame. They are lost with a crash, as are the marks that
//! go with them: the records are then still there, and are found obsolete again.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dir::failed;
use crate::entry::Event;
use crate::error::OpenError;
use crate::frame::{Generation, framed_len};
use crate::journal::{self, DiskOpener, Journal};
use crate::log::{self, Batch, Log, LogError, Opener, record};
use crate::record::Record;
use crate::replay::{Damage, replay};

/// How the two files are opened; tests put failing disks here.
pub(crate) struct Files {
    pub database: Opener,
    pub journal: DiskOpener,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            database: Box::new(log::open_file),
            journal: Box::new(|path| Ok(Box::new(journal::open_file(path)?))),
        }
    }
}

pub(crate) struct Durable<M> {
    log: Log,
    journal: Journal,
    /// The highest number of a generation that the database may have seen.
    generation: u64,
    /// What is in the journal and not yet in the database.
    pending: Batch<M>,
}

impl<M> Durable<M> {
    /// Opens both files, and puts into the database what only the journal holds.
    pub(crate) fn open(
        state: PathBuf,
        journal_bytes: usize,
        files: Files,
    ) -> Result<Self, OpenError> {
        let path = state.with_extension("journal");
        let log = Log::open(state, files.database)?;
        let known = log.generation().map_err(|err| log.damaged(err))?;
        let generation = known.unwrap_or_default();
        let bytes = journal::read_file(&path).map_err(failed("read journal", &path))?;
        if bytes.is_none() && known.is_some() {
            return Err(OpenError::MissingJournal { path });
        }
        let mut durable = Self {
            log,
            journal: Journal::new(path.clone(), files.journal, journal_bytes),
            generation: generation.number,
            pending: Batch::empty(),
        };
        let bytes = bytes.unwrap_or_default();
        let records = replay(&bytes, generation).map_err(|Damage { offset, cause }| {
            OpenError::DamagedJournal { path: path.clone(), offset, cause }
        })?;
        durable.recover(&path, &records)?;
        Ok(durable)
    }

    fn recover(&mut self, path: &Path, records: &[(u64, &[u8])]) -> Result<(), OpenError> {
        if records.is_empty() {
            return Ok(());
        }
        let next = self.next_generation();
        self.log.restore(records, next).map_err(|LogError { kind, cause }| {
            let cause = std::io::Error::new(kind, cause);
            failed("put the journal's writes into the state file beside", path)(cause)
        })?;
        let writes = records.len();
        tracing::info!(path = %path.display(), writes, "took over writes from the journal");
        Ok(())
    }

    /// The state file.
    pub(crate) fn path(&self) -> &Path {
        self.log.path()
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Writes a batch durably, all of it or nothing.
    pub(crate) fn commit(&mut self, batch: Batch<M>) -> Result<(), LogError> {
        let len = framed_len(records(&batch.events));
        // Deletions alone are for the database, and so is what the journal has no room for.
        if batch.events.is_empty() || !self.journal.has_room(len) {
            return self.checkpoint(&batch);
        }
        self.journal.append(len, records(&batch.events))?;
        self.pending.add(batch);
        Ok(())
    }

    /// Whether an idle moment is well spent on [`settle`](Self::settle). A store with a write now and
    /// then would otherwise pay for each one twice.
    pub(crate) fn is_worth_settling(&self) -> bool {
        !self.pending.events.is_empty() && self.journal.is_quarter_full()
    }

    /// Has the database take all that is pending.
    pub(crate) fn settle(&mut self, published: u64) -> Result<(), LogError> {
        if self.pending.events.is_empty() && self.pending.obsolete.is_empty() {
            return Ok(());
        }
        self.checkpoint(&Batch { published, ..Batch::empty() })
    }

    /// One transaction: what is pending, `batch`, and a new generation.
    fn checkpoint(&mut self, batch: &Batch<M>) -> Result<(), LogError> {
        self.journal.prepare()?;
        // Until the database is known to have taken it, and also if it may have.
        self.journal.stop();
        let next = self.next_generation();
        self.log.commit(&[&self.pending, batch], batch.published, next)?;
        self.pending = Batch::empty();
        self.journal.begin(next);
        Ok(())
    }

    /// Counted up also for what then fails: the database may have seen it.
    fn next_generation(&mut self) -> Generation {
        self.generation += 1;
        // The keys of the standard library's maps are random, and nobody sees them.
        Generation { number: self.generation, salt: RandomState::new().hash_one(self.generation) }
    }
}

fn records<M>(events: &[Arc<Event<M>>]) -> impl Iterator<Item = (u64, Record<'_>)> {
    events.iter().map(|event| (event.revision, record(event)))
}
