//! Errors, one enum per public operation, written for whoever reads them at 3 a.m.:
//! what failed, where, why, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::entry::Entry;

/// Why a store could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file or directory could not be used.
    #[error(
        "cannot {action} {path}: check that it exists, that this user may write there and \
             that the disk has space"
    )]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// Another process has the directory.
    #[error(
        "state directory {dir} is in use by {holder}: stop that process or choose another \
             directory; the lock goes away with the process, so do not delete {dir}/lock"
    )]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// The process, as far as the lock file tells.
        holder: String,
    },
    /// A newer program wrote the directory.
    #[error(
        "state directory {dir} has format {found}, this program reads up to {known}: run the \
             newer program that wrote it, or restore a backup made by this version"
    )]
    NewerFormat {
        /// The directory.
        dir: PathBuf,
        /// The format it has.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// The `format` file is there but is not a number.
    #[error(
        "{path} does not hold a format number but {found:?}: restore it from a backup, or \
             write the number of the version that made the directory (this program writes {known})"
    )]
    BadFormat {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// The format this program writes.
        known: u32,
    },
    /// State without a `format` file.
    #[error(
        "{dir} holds a state file but no file named \"format\", so it is not known which \
             version wrote it: restore the directory from a backup, or, if this version wrote it, \
             run: echo {known} > {dir}/format"
    )]
    MissingFormat {
        /// The directory.
        dir: PathBuf,
        /// The format this program writes.
        known: u32,
    },
    /// A `format` file without state.
    #[error(
        "state file {path} is gone although its directory was in use: restore it from a \
             backup, or remove the whole directory to start with an empty store"
    )]
    MissingState {
        /// The file.
        path: PathBuf,
    },
    /// A journal was in use and is gone.
    #[error(
        "journal {path} is gone although its directory was in use: restore the directory from a \
             backup, or, to go on without the last writes (none are missing if the server was \
             stopped in order), run: touch {path}"
    )]
    MissingJournal {
        /// The file.
        path: PathBuf,
    },
    /// The journal holds acknowledged writes that cannot be read.
    #[error(
        "journal {path} is damaged at byte {offset} ({cause}): restore the directory from a \
             backup, or keep a copy of the file for analysis and, to go on without the writes from \
             there on, run: truncate -s {offset} {path}"
    )]
    DamagedJournal {
        /// The file.
        path: PathBuf,
        /// Where it is damaged.
        offset: usize,
        /// What is wrong there.
        cause: String,
    },
    /// The state file cannot be read.
    #[error(
        "state file {path} is damaged ({cause}): restore the directory from a backup; keep \
             the damaged file for analysis"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
}

/// Why a write did not happen. All ops of the call failed with it.
#[derive(Error)]
pub enum WriteError<M> {
    /// An op's [`Expect`](crate::Expect) did not hold.
    #[error("{key} is not as expected: it is {}", describe(current.as_deref()))]
    Conflict {
        /// The key of the op.
        key: String,
        /// What the store holds instead.
        current: Option<Arc<Entry<M>>>,
    },
    /// A value is too large.
    #[error("the value of {key} has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// The key of the op.
        key: String,
        /// The size of the value.
        size: usize,
        /// The limit, [`Options::max_value`](crate::Options::max_value).
        limit: usize,
    },
    /// A key is empty or too long.
    #[error("a key has {size} bytes, it needs 1 to {limit}")]
    BadKey {
        /// The size of the key.
        size: usize,
        /// The longest key accepted.
        limit: usize,
    },
    /// A template wants its revision outside of its bytes.
    #[error("the value of {key} wants its revision at byte {at} but has only {len} bytes")]
    BadTemplate {
        /// The key of the op.
        key: String,
        /// The offset asked for.
        at: usize,
        /// The length of the template.
        len: usize,
    },
    /// The disk did not take it. Readers and watchers see the state from before; should the
    /// process die before the next successful write, it can turn out that the disk took it
    /// after all.
    #[error(
        "write not stored in {path}: {cause}; earlier writes are safe and reads go on. Free \
             space or repair the disk, then repeat the request: no restart is needed"
    )]
    Io {
        /// The state file.
        path: PathBuf,
        /// The kind of failure, such as [`io::ErrorKind::StorageFull`].
        kind: io::ErrorKind,
        /// What the storage layer said.
        cause: String,
    },
    /// The store was closed.
    #[error("the store is closed: the server is shutting down")]
    Closed,
}

fn describe<M>(current: Option<&Entry<M>>) -> String {
    current.map_or_else(|| "absent".to_owned(), |e| format!("at revision {}", e.revision))
}

// By hand, since a derive would ask for `M: Debug`.
impl<M> fmt::Debug for WriteError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteError({self})")
    }
}

/// Why the log could not be compacted.
#[derive(Debug, Error)]
pub enum CompactError {
    /// The disk did not take it; the records stay and are tried again later.
    #[error("log in {path} not compacted: {cause}; nothing is lost, it is tried again later")]
    Io {
        /// The state file.
        path: PathBuf,
        /// What the storage layer said.
        cause: String,
    },
    /// The store was closed.
    #[error("the store is closed: the server is shutting down")]
    Closed,
}

/// Why an old state cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// The events needed to go back that far are gone.
    #[error("the oldest revision still known is {floor}: list again from the start")]
    TooOld {
        /// The oldest revision that can be asked for.
        floor: u64,
    },
    /// The revision does not exist yet.
    #[error("the current revision is {current}")]
    Future {
        /// The current revision.
        current: u64,
    },
}

/// Why a watch cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WatchError {
    /// Events after that revision are already gone.
    #[error("the oldest revision to watch from is {floor}: list again, then watch")]
    TooOld {
        /// The oldest revision a watch can start after.
        floor: u64,
    },
    /// The revision does not exist yet.
    #[error("the current revision is {current}")]
    Future {
        /// The current revision.
        current: u64,
    },
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WatchEnded {
    /// The watcher was too slow: events it had not read yet have left the ring.
    #[error("the watch fell behind: events up to revision {floor} are gone; list again")]
    Lagged {
        /// The oldest revision a new watch can start after.
        floor: u64,
    },
    /// The store was closed, and every event before that was delivered.
    #[error("the store is closed: the server is shutting down")]
    Closed,
}
