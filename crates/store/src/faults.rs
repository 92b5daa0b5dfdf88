//! What happens when the disk fails, shown with a disk that fails on command.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, Builder, StorageBackend};

use crate::durable::Files;
use crate::journal;
use crate::{Expect, FIRST_REVISION, Op, Options, Store, Template, WriteError};

/// A file whose writes, or only whose syncs, fail as if the disk were full.
#[derive(Debug)]
struct Disk {
    file: FileBackend,
    faults: Arc<Faults>,
}

#[derive(Debug, Default)]
struct Faults {
    full: AtomicBool,
    /// Syncs do their work and then report failure: the commit is on the disk after all.
    liar: AtomicBool,
    /// Changing operations left until the disk is full; negative for no limit.
    budget: AtomicI64,
}

impl Faults {
    fn none() -> Arc<Self> {
        Arc::new(Self { budget: AtomicI64::new(-1), ..Self::default() })
    }

    fn change(&self) -> io::Result<()> {
        let spent = self.budget.load(Ordering::SeqCst) >= 0
            && self.budget.fetch_sub(1, Ordering::SeqCst) == 0;
        if spent {
            self.full.store(true, Ordering::SeqCst);
        }
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on test disk"));
        }
        Ok(())
    }

    fn repair(&self) {
        self.budget.store(-1, Ordering::SeqCst);
        self.full.store(false, Ordering::SeqCst);
        self.liar.store(false, Ordering::SeqCst);
    }

    /// Both files on this disk.
    fn files(self: &Arc<Self>) -> Files {
        let (database, journal) = (Arc::clone(self), Arc::clone(self));
        Files {
            database: Box::new(move |path: &Path| {
                let file = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
                let (file, faults) = (FileBackend::new(file)?, Arc::clone(&database));
                Builder::new().create_with_backend(Disk { file, faults })
            }),
            journal: Box::new(move |path: &Path| {
                journal.change()?;
                let (file, faults) = (journal::open_file(path)?, Arc::clone(&journal));
                Ok(Box::new(JournalDisk { file, faults }))
            }),
        }
    }
}

/// The same for the journal. A write that fails has written its first half.
struct JournalDisk {
    file: File,
    faults: Arc<Faults>,
}

impl journal::Disk for JournalDisk {
    fn len(&self) -> io::Result<u64> {
        journal::Disk::len(&self.file)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if let Err(err) = self.faults.change() {
            journal::Disk::write(&self.file, offset, &data[..data.len() / 2])?;
            return Err(err);
        }
        journal::Disk::write(&self.file, offset, data)
    }

    fn sync(&self) -> io::Result<()> {
        self.faults.change()?;
        self.file.sync_data()?;
        if self.faults.liar.load(Ordering::SeqCst) {
            return Err(io::Error::other("sync failed on test disk"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.faults.change()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.faults.change()?;
        self.file.sync_data()?;
        if self.faults.liar.load(Ordering::SeqCst) {
            return Err(io::Error::other("sync failed on test disk"));
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.faults.change()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}

fn put(key: &str, value: &str) -> Vec<Op> {
    let value = Template::plain(value);
    vec![Op::Put { key: key.to_owned(), expect: Expect::Any, value }]
}

fn value(store: &Store<()>, key: &str) -> Option<String> {
    let entry = store.snapshot().get(key).cloned();
    entry.map(|e| String::from_utf8(e.value.to_vec()).unwrap())
}

fn io_kind(result: Result<Vec<crate::Written<()>>, WriteError<()>>) -> io::ErrorKind {
    match result {
        Err(WriteError::Io { kind, .. }) => kind,
        other => panic!("expected an I/O error, got {other:?}"),
    }
}

#[tokio::test]
async fn a_full_disk_fails_writes_changes_nothing_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::none();
    let store: Store<()> =
        Store::open_with(dir.path(), Options::default(), faults.files()).unwrap();
    store.write(put("/a", "1")).await.unwrap();
    let mut watcher = store.watch(String::new(), FIRST_REVISION).unwrap();

    faults.full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(io_kind(store.write(put("/a", "2")).await), io::ErrorKind::StorageFull);
        assert_eq!((value(&store, "/a"), store.revision()), (Some("1".into()), 2));
    }
    let text = store.write(put("/b", "2")).await.unwrap_err().to_string();
    for part in ["state.redb", "no space left", "repeat the request"] {
        assert!(text.contains(part), "{text}");
    }

    faults.repair();
    let revision = store.write(put("/b", "3")).await.unwrap()[0].revision;
    assert!(revision > 3, "revisions of failed writes must not come back, got {revision}");
    assert_eq!(watcher.next().await.unwrap().revision, 2);
    assert_eq!(watcher.next().await.unwrap().revision, revision);
    assert!(store.stats().failures >= 4);
    store.close().await;

    let store: Store<()> = Store::open(dir.path(), Options::default()).unwrap();
    assert_eq!((value(&store, "/a"), value(&store, "/b")), (Some("1".into()), Some("3".into())));
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn a_failed_commit_that_reached_the_disk_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::none();
    let store: Store<()> =
        Store::open_with(dir.path(), Options::default(), faults.files()).unwrap();
    store.write(put("/a", "1")).await.unwrap();

    faults.liar.store(true, Ordering::SeqCst);
    io_kind(store.write(put("/a", "ghost")).await);
    io_kind(store.write(put("/ghost", "ghost")).await);
    faults.repair();
    let last = store.write(put("/b", "2")).await.unwrap()[0].revision;
    store.close().await;

    let store: Store<()> = Store::open(dir.path(), Options::default()).unwrap();
    assert_eq!(value(&store, "/a"), Some("1".into()));
    assert_eq!(value(&store, "/ghost"), None);
    let mut watcher = store.watch(String::new(), FIRST_REVISION).unwrap();
    let revisions: Vec<_> =
        watcher.poll_batch(10).unwrap().iter().map(|event| event.revision).collect();
    assert_eq!(revisions, [2, last]);
}

/// The files as a crash would leave them now.
fn crashed(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(dir).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    copy
}

fn revision(store: &Store<()>, key: &str) -> Option<u64> {
    store.snapshot().get(key).map(|e| e.revision)
}

/// The disk fills up at every possible step of a run, which includes the middle of a commit, of
/// a checkpoint, of a compaction, of filling the journal with zeros and of the reopening after an
/// earlier failure. `journal` is how many commits the journal takes.
async fn fill_up_everywhere(journal: usize, budgets: std::ops::Range<i64>) -> usize {
    let options = || Options {
        ring_events: 4,
        compact_after: 4,
        journal_bytes: journal * 4096,
        ..Options::default()
    };
    let mut failures = 0;
    for budget in budgets {
        let dir = tempfile::tempdir().unwrap();
        let faults = Faults::none();
        let store: Store<()> = Store::open_with(dir.path(), options(), faults.files()).unwrap();
        faults.budget.store(budget, Ordering::SeqCst);
        let mut acknowledged = std::collections::BTreeMap::<String, u64>::new();
        for n in 0..24 {
            let key = format!("/k{}", n % 5);
            match store.write(put(&key, "later")).await {
                Ok(written) => {
                    let known = acknowledged.values().max().copied().unwrap_or_default();
                    assert!(written[0].revision > known, "revision given out twice");
                    acknowledged.insert(key, written[0].revision);
                }
                Err(WriteError::Io { .. }) => failures += 1,
                Err(other) => panic!("{other}"),
            }
            if n == 12 {
                let _ = store.compact().await;
            }
            if n == 16 {
                // Nothing that was acknowledged is missing; what failed may be there after all.
                let copy = crashed(dir.path());
                let copy: Store<()> = Store::open(copy.path(), options()).unwrap();
                for (key, known) in &acknowledged {
                    assert!(revision(&copy, key) >= Some(*known), "{key}, budget {budget}");
                }
                faults.repair();
            }
        }
        // After a commit that succeeded there is nothing else, with or without a crash.
        let copy = crashed(dir.path());
        store.close().await;
        for dir in [copy.path(), dir.path()] {
            let store: Store<()> = Store::open(dir, options()).unwrap();
            for (key, known) in &acknowledged {
                assert_eq!(revision(&store, key), Some(*known), "{key}, budget {budget}");
            }
            assert_eq!(store.snapshot().len(), acknowledged.len());
        }
    }
    failures
}

#[tokio::test]
async fn wherever_the_disk_fills_up_acknowledged_writes_survive() {
    let failures = fill_up_everywhere(16, 0..50).await;
    assert!(failures > 100, "the disk has to fail for this to mean anything: {failures}");
}

#[tokio::test]
async fn wherever_the_disk_fills_up_around_a_checkpoint_acknowledged_writes_survive() {
    let failures = fill_up_everywhere(3, 0..60).await;
    assert!(failures > 100, "the disk has to fail for this to mean anything: {failures}");
}

/// One write or sync fails, whichever, and the disk works again: one call fails at most, and what
/// it left is not there, though it may have reached the disk.
#[tokio::test]
async fn a_single_failure_costs_one_call_and_leaves_nothing() {
    let options = || Options { journal_bytes: 3 * 4096, ..Options::default() };
    let mut failures = 0;
    for (budget, liar) in (0..40).flat_map(|budget| [(budget, false), (budget, true)]) {
        let dir = tempfile::tempdir().unwrap();
        let faults = Faults::none();
        let store: Store<()> = Store::open_with(dir.path(), options(), faults.files()).unwrap();
        faults.budget.store(budget, Ordering::SeqCst);
        let mut acknowledged = Vec::new();
        let mut failed = 0;
        for n in 0..9 {
            // Its sync does its work and then reports a failure.
            faults.liar.store(liar && n == budget % 9, Ordering::SeqCst);
            match store.write(put(&format!("/{n}"), "x")).await {
                Ok(written) => acknowledged.push((format!("/{n}"), written[0].revision)),
                Err(_) => failed += 1,
            }
            if faults.full.load(Ordering::SeqCst) {
                faults.repair();
            }
        }
        faults.repair();
        let last = store.write(put("/last", "x")).await.unwrap()[0].revision;
        acknowledged.push(("/last".to_owned(), last));
        assert!(failed <= 1 + i32::from(liar), "{failed} failed, budget {budget}");
        failures += failed;
        let copy: Store<()> = Store::open(crashed(dir.path()).path(), options()).unwrap();
        let found: Vec<_> =
            copy.snapshot().range("", None).map(|e| (e.key.to_string(), e.revision)).collect();
        assert_eq!(found, acknowledged, "budget {budget}, liar {liar}");
    }
    assert!(failures > 40, "the disk has to fail for this to mean anything: {failures}");
}

/// What the kernel keeps of a file after a failed sync is not to be relied on.
#[tokio::test]
async fn after_a_failed_append_the_next_commit_is_in_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::none();
    let store: Store<()> =
        Store::open_with(dir.path(), Options::default(), faults.files()).unwrap();
    for key in ["/a", "/b", "/c"] {
        store.write(put(key, "x")).await.unwrap();
    }
    faults.liar.store(true, Ordering::SeqCst);
    io_kind(store.write(put("/ghost", "x")).await);
    faults.repair();
    store.write(put("/d", "x")).await.unwrap();
    let copy = crashed(dir.path());
    std::fs::write(copy.path().join("state.journal"), "").unwrap();
    let copy: Store<()> = Store::open(copy.path(), Options::default()).unwrap();
    let keys: Vec<_> = copy.snapshot().range("", None).map(|e| e.key.to_string()).collect();
    assert_eq!(keys, ["/a", "/b", "/c", "/d"]);
}

/// The database may have taken a new generation although it said that it failed: a frame of the old
/// one would then be lost.
#[tokio::test]
async fn after_a_failed_checkpoint_that_reached_the_disk_no_write_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::none();
    let options = || Options { ring_events: 2, ..Options::default() };
    let store: Store<()> = Store::open_with(dir.path(), options(), faults.files()).unwrap();
    for _ in 0..6 {
        store.write(put("/a", "x")).await.unwrap();
    }
    faults.liar.store(true, Ordering::SeqCst);
    store.compact().await.unwrap_err();
    faults.repair();
    let last = store.write(put("/b", "x")).await.unwrap()[0].revision;
    let copy: Store<()> = Store::open(crashed(dir.path()).path(), options()).unwrap();
    assert_eq!(revision(&copy, "/b"), Some(last));
}

/// Everybody in a failed batch hears of it, also those whose condition failed only because of a
/// write that was not stored either.
#[tokio::test]
async fn conflicts_with_unstored_writes_are_not_reported_as_conflicts() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::none();
    let store: Store<()> =
        Store::open_with(dir.path(), Options::default(), faults.files()).unwrap();
    faults.full.store(true, Ordering::SeqCst);
    let mut calls = tokio::task::JoinSet::new();
    // Enough of them that the writer gathers some while it is busy failing.
    for _ in 0..50 {
        let store = store.clone();
        let op = Op::Put { key: "/a".into(), expect: Expect::Absent, value: Template::plain("x") };
        calls.spawn(async move { store.write(vec![op]).await });
    }
    while let Some(done) = calls.join_next().await {
        io_kind(done.unwrap());
    }
}
