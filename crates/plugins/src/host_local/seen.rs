//! The records as this process saw them last, so that a call need not read a thousand files.
//!
//! Whoever makes or removes a record changes the time of the directory. That time is coarse: a change
//! of another process right after ours may leave it as it was. So what is seen here is where to look,
//! not what to rely on: an address is recorded only where there is no file, and a record is removed
//! only when its file names the holder.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store::Holder;

/// Who holds what.
pub(super) type Records = BTreeMap<IpAddr, Holder>;

/// How many directories are remembered; a node has one or two.
const DIRECTORIES_MAX: usize = 64;

static SEEN: Mutex<BTreeMap<PathBuf, (Stamp, Records)>> = Mutex::new(BTreeMap::new());

/// Which state a directory is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// Nothing where the directory cannot be looked at.
    pub fn of(directory: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let data = directory.metadata().ok()?;
        let changed = (data.ctime(), data.ctime_nsec());
        Some(Self { device: data.dev(), inode: data.ino(), changed })
    }
}

/// What was seen of a directory in its present state. It is the caller's until it is put back.
pub(super) fn take(directory: &Path) -> Option<Records> {
    let (stamp, records) = seen().remove(directory)?;
    (Stamp::of(directory) == Some(stamp)).then_some(records)
}

/// Remembers the records of a directory in its present state.
pub(super) fn put(directory: &Path, records: Records) {
    let Some(stamp) = Stamp::of(directory) else { return };
    let mut seen = seen();
    if seen.len() >= DIRECTORIES_MAX {
        seen.clear();
    }
    seen.insert(directory.to_owned(), (stamp, records));
}

fn seen() -> MutexGuard<'static, BTreeMap<PathBuf, (Stamp, Records)>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
