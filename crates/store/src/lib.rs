//! Embedded storage for the API server: one durable revision log, the current state in memory,
//! a ring of recent events for watches.
//!
//! ```text
//!  write() ──▶ bounded queue ──▶ writer thread ──▶ one frame of the journal (fdatasync) per batch,
//!                                    │              now and then one redb transaction for many
//!                                    │ then, under the ring's lock:
//!                                    ├─▶ ring      ◀── watch(), snapshot_at()
//!                                    ├─▶ snapshot  ◀── snapshot()   (readers never lock)
//!                                    └─▶ acknowledge every caller of the batch
//! ```
//!
//! Invariants, each kept by a test:
//!
//! - acknowledged means durable: no caller hears "ok" before the commit has reached the disk;
//! - a revision once returned is never given to another write, not after a crash, not after
//!   compaction, not after a failed commit;
//! - a watcher sees every event of its prefix exactly once and in order, or is told it lagged;
//! - a snapshot never changes, and whoever saw an event finds it in the next snapshot;
//! - memory and disk are bounded by the live objects plus the ring.
//!
//! The crate knows nothing of HTTP or of kinds: keys are strings, values are bytes, and what a
//! caller wants to know about a value without decoding it again goes into a [`Meta`].
//!
//! ```
//! use landbridge_store::{Expect, Op, Options, Store, Template};
//!
//! # let dir = tempfile::tempdir()?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store: Store<()> = Store::open(dir.path(), Options::default())?;
//! let mut watcher = store.watch("/pods/".to_owned(), store.revision())?;
//! let value = Template::plain("hello");
//! store.write(vec![Op::Put { key: "/pods/a".to_owned(), expect: Expect::Absent, value }]).await?;
//! assert_eq!(&watcher.next().await?.entry.value[..], b"hello");
//! store.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod announced;
mod dir;
mod durable;
mod entry;
mod error;
mod frame;
mod journal;
mod load;
mod log;
mod op;
mod options;
mod past;
mod record;
mod replay;
mod ring;
mod shared;
mod snapshot;
mod stage;
mod stats;
mod store;
mod watch;
mod writer;

#[cfg(test)]
mod faults;

pub use crate::announced::Announced;
pub use crate::dir::FORMAT;
pub use crate::entry::{Entry, Event, EventKind, Meta};
pub use crate::error::{
    CompactError, OpenError, SnapshotError, WatchEnded, WatchError, WriteError,
};
pub use crate::op::{Expect, Op, Template, Written};
pub use crate::options::{Clock, Options};
pub use crate::snapshot::Snapshot;
pub use crate::stats::Stats;
pub use crate::store::Store;
pub use crate::watch::Watcher;

/// The revision of a store nobody has written to; the first write gets the next one.
///
/// Not zero, because Kubernetes clients read a resource version of "0" as "any".
pub const FIRST_REVISION: u64 = 1;
