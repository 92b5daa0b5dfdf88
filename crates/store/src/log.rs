//! The log on disk: a redb table from revision to [`Record`], and a small one for marks.
//!
//! Writes come here some time after they were acknowledged, from the journal ([`crate::durable`]).
//!
//! Invariants:
//!
//! - a commit that returned `Ok` is on the disk (redb syncs, and verifies checksums at open);
//! - after a commit that returned an error the outcome is unknown until the file is opened
//!   again, because the sync itself may have failed. Whatever the failed commit left is removed
//!   by the next successful one, in the same transaction, so no later reader finds writes whose
//!   callers were told "not stored" among acknowledged ones;
//! - the mark `revision` is at least as high as every deleted record, so deleting the newest
//!   record cannot make its revision be given out again.
//!
//! redb refuses everything after an I/O error until the file is reopened (`PreviousIo`), so this
//! module drops the database on any error and opens it again when it is next needed.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableError,
    WriteTransaction,
};
use rustix::fs::Advice;

use crate::FIRST_REVISION;
use crate::dir::failed;
use crate::entry::{Event, EventKind};
use crate::error::OpenError;
use crate::frame::Generation;
use crate::record::{Body, Record};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const MARKS: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// The mark below which records may be missing.
const FLOOR: &str = "floor";
/// The mark of the highest revision at the time of the last deletion.
const REVISION: &str = "revision";
/// The marks of the journal's [`Generation`]: frames of others are in the log already.
const GENERATION: &str = "journal";
const SALT: &str = "journal salt";

/// The log is read once, at open; after that the cache only serves the pages being written.
const CACHE_BYTES: usize = 1 << 20;

/// How the database is opened; tests put a failing disk here.
pub(crate) type Opener = Box<dyn Fn(&Path) -> Result<Database, DatabaseError> + Send>;

pub(crate) struct Log {
    path: PathBuf,
    opener: Opener,
    /// `None` after a failure, until it is opened again.
    db: Option<Database>,
    /// Whether a failed commit may have left records behind.
    suspect: bool,
    /// The highest revision that is known to be here.
    reached: u64,
}

/// What a commit does.
pub(crate) struct Batch<M> {
    /// The revision that is published, that is: acknowledged as durable.
    pub published: u64,
    pub events: Vec<Arc<Event<M>>>,
    /// Records to delete, and the marks that have to be set with them.
    pub obsolete: Vec<u64>,
    pub marks: Marks,
}

impl<M> Batch<M> {
    pub(crate) fn empty() -> Self {
        let marks = Marks { floor: FIRST_REVISION, revision: FIRST_REVISION };
        Self { published: 0, events: Vec::new(), obsolete: Vec::new(), marks }
    }

    /// Does what `later` does, too.
    pub(crate) fn add(&mut self, later: Self) {
        self.published = later.published;
        self.events.extend(later.events);
        if !later.obsolete.is_empty() {
            self.marks = later.marks;
            self.obsolete.extend(later.obsolete);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub floor: u64,
    pub revision: u64,
}

/// What the storage layer said.
#[derive(Debug, Clone)]
pub(crate) struct LogError {
    pub kind: io::ErrorKind,
    pub cause: String,
}

impl<E: Into<redb::Error>> From<E> for LogError {
    fn from(err: E) -> Self {
        match err.into() {
            redb::Error::Io(err) => Self { kind: err.kind(), cause: err.to_string() },
            err => Self { kind: io::ErrorKind::Other, cause: err.to_string() },
        }
    }
}

impl LogError {
    fn other(cause: String) -> Self {
        Self { kind: io::ErrorKind::Other, cause }
    }
}

/// Opens a database file that exists.
pub(crate) fn open_file(path: &Path) -> Result<Database, DatabaseError> {
    let shown = path.to_owned();
    Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |session| {
            // Called many times; the first call has made no progress yet.
            if session.progress() == 0.0 {
                tracing::info!(path = %shown.display(), "state file was not closed, checking it");
            }
        })
        .open(path)
}

/// Makes an empty file an empty log.
pub(crate) fn create(file: File, path: &Path) -> Result<(), OpenError> {
    let init = || -> Result<(), redb::Error> {
        let db = Builder::new().create_file(file)?;
        let tx = db.begin_write()?;
        tx.open_table(LOG)?;
        tx.open_table(MARKS)?;
        Ok(tx.commit()?)
    };
    init().map_err(|err| match err {
        redb::Error::Io(err) => failed("create state file", path)(err),
        err => OpenError::Damaged { path: path.into(), cause: err.to_string() },
    })
}

impl Log {
    pub(crate) fn open(path: PathBuf, opener: Opener) -> Result<Self, OpenError> {
        let open = || {
            let db = opener(&path)?;
            let reached = last_revision(&db)?;
            Ok((db, reached))
        };
        match guarded(open) {
            Ok((db, reached)) => Ok(Self { path, opener, db: Some(db), suspect: false, reached }),
            Err(LogError { kind, cause }) => match kind {
                io::ErrorKind::PermissionDenied
                | io::ErrorKind::NotFound
                | io::ErrorKind::StorageFull
                | io::ErrorKind::ReadOnlyFilesystem => {
                    Err(failed("open state file", &path)(io::Error::new(kind, cause)))
                }
                _ => Err(OpenError::Damaged { path, cause }),
            },
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn marks(&self) -> Result<Marks, LogError> {
        self.db.as_ref().map_or(Err(closed()), |db| guarded(|| read_marks(db)))
    }

    /// Shows every record to `see`, in order; stops at the first it complains about.
    pub(crate) fn replay(
        &self,
        mut see: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), LogError> {
        let db = self.db.as_ref().ok_or_else(closed)?;
        guarded(|| {
            for item in db.begin_read()?.open_table(LOG)?.iter()? {
                let (revision, record) = item?;
                see(revision.value(), record.value()).map_err(LogError::other)?;
            }
            Ok(())
        })
    }

    /// The journal's generation, if there ever was one.
    pub(crate) fn generation(&self) -> Result<Option<Generation>, LogError> {
        let db = self.db.as_ref().ok_or_else(closed)?;
        guarded(|| {
            let number = read_mark(db, GENERATION)?;
            let salt = read_mark(db, SALT)?.unwrap_or_default();
            Ok(number.map(|number| Generation { number, salt }))
        })
    }

    pub(crate) fn damaged(&self, err: LogError) -> OpenError {
        OpenError::Damaged { path: self.path.clone(), cause: err.cause }
    }

    /// Writes batches, in order, and the generation durably, all of it or nothing.
    pub(crate) fn commit<M>(
        &mut self,
        batches: &[&Batch<M>],
        published: u64,
        generation: Generation,
    ) -> Result<(), LogError> {
        let suspect = self.suspect.then_some(published);
        self.transact(|tx| {
            write_batches(tx, batches, suspect)?;
            write_generation(tx, generation)
        })?;
        let last = batches.iter().filter_map(|b| b.events.last()).map(|e| e.revision).max();
        self.reached = published.max(last.unwrap_or_default());
        Ok(())
    }

    /// Writes records that another process left in the journal.
    pub(crate) fn restore(
        &mut self,
        records: &[(u64, &[u8])],
        generation: Generation,
    ) -> Result<(), LogError> {
        self.transact(|tx| {
            let mut log = tx.open_table(LOG)?;
            for (revision, record) in records {
                log.insert(revision, record)?;
            }
            drop(log);
            write_generation(tx, generation)
        })?;
        self.reached = records.last().map_or(self.reached, |(revision, _)| *revision);
        Ok(())
    }

    fn transact(
        &mut self,
        write: impl FnOnce(&WriteTransaction) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let db = match self.db.take() {
            Some(db) => db,
            None => self.reopen()?,
        };
        let result = db.begin_write().map_err(LogError::from).and_then(|tx| {
            write(&tx)?;
            Ok(tx.commit()?) // durable: redb's default is to sync on commit
        });
        self.suspect = result.is_err();
        if result.is_ok() {
            self.db = Some(db); // else it is dropped, see the module's head
        }
        result
    }

    fn reopen(&self) -> Result<Database, LogError> {
        // After a failed sync Linux may keep pages in its cache that never reached the disk and
        // call them clean. Have it forget them, so that redb's checksums are checked against the
        // disk. It is advice: that it may not be heeded is no reason to stay down.
        if let Ok(file) = File::open(&self.path) {
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
        let db = guarded(|| Ok((self.opener)(&self.path)?))?;
        let last = guarded(|| last_revision(&db))?;
        if last < self.reached {
            return Err(LogError::other(format!(
                "the file ends at revision {last} but {} was written: the disk lost writes it had \
                 confirmed",
                self.reached
            )));
        }
        tracing::info!(path = %self.path.display(), "state file opened again after a failure");
        Ok(db)
    }
}

/// Puts batches in, and first takes out what failed commits may have left beyond `suspect`.
fn write_batches<M>(
    tx: &WriteTransaction,
    batches: &[&Batch<M>],
    suspect: Option<u64>,
) -> Result<(), LogError> {
    let mut log = tx.open_table(LOG)?;
    if let Some(published) = suspect {
        log.retain_in(published + 1.., |_, _| false)?;
    }
    for batch in batches {
        for event in &batch.events {
            let record = record(event);
            let mut page = log.insert_reserve(event.revision, record.encoded_len())?;
            record.encode(page.as_mut());
        }
        for revision in &batch.obsolete {
            log.remove(revision)?;
        }
        if !batch.obsolete.is_empty() {
            let mut marks = tx.open_table(MARKS)?;
            marks.insert(FLOOR, batch.marks.floor)?;
            marks.insert(REVISION, batch.marks.revision)?;
        }
    }
    Ok(())
}

fn write_generation(tx: &WriteTransaction, generation: Generation) -> Result<(), LogError> {
    let mut marks = tx.open_table(MARKS)?;
    marks.insert(GENERATION, generation.number)?;
    marks.insert(SALT, generation.salt)?;
    Ok(())
}

/// How an event is written, in the journal and here.
pub(crate) fn record<M>(event: &Event<M>) -> Record<'_> {
    let value = &event.entry.value;
    let body = match event.kind {
        EventKind::Put => Body::Put(value),
        // The last state is in the log already, and stays there as long as this event is in the
        // ring.
        EventKind::Delete if event.prev.as_ref().is_some_and(|p| p.value == *value) => {
            Body::Delete(None)
        }
        EventKind::Delete => Body::Delete(Some(value)),
    };
    Record { key: &event.key, created: event.entry.created, body }
}

/// The highest revision that is or was here.
fn last_revision(db: &Database) -> Result<u64, LogError> {
    let last = db.begin_read()?.open_table(LOG)?.last()?.map_or(0, |(k, _)| k.value());
    Ok(last.max(read_marks(db)?.revision))
}

fn read_marks(db: &Database) -> Result<Marks, LogError> {
    let read = |name| Ok::<_, LogError>(read_mark(db, name)?.unwrap_or(FIRST_REVISION));
    Ok(Marks { floor: read(FLOOR)?, revision: read(REVISION)? })
}

fn read_mark(db: &Database, name: &str) -> Result<Option<u64>, LogError> {
    match db.begin_read()?.open_table(MARKS) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        table => Ok(table?.get(name)?.map(|value| value.value())),
    }
}

/// Runs what reads a file that may be damaged. redb answers most damage with an error but some
/// with a panic, and a damaged file must not look like a bug of the server.
fn guarded<T>(read: impl FnOnce() -> Result<T, LogError>) -> Result<T, LogError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no details");
        Err(LogError::other(format!("reading it failed: {text}")))
    })
}

fn closed() -> LogError {
    LogError::other("the state file is not open".to_owned())
}
