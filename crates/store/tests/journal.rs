//! The journal, seen from outside: what a directory holds when the process is gone all of a sudden.
//!
//! A crash is a copy of the directory of an open store: the copy has what was written and lacks what
//! closing does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use landbridge_store::{Expect, Op, OpenError, Options, Store, Template};
use redb::{Database, TableDefinition};
use tempfile::TempDir;

const BLOCK: usize = 4096;

fn crashed(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["format", "state.redb", "state.journal"] {
        fs::copy(dir.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

fn open(dir: &Path) -> Store<()> {
    Store::open(dir, Options::default()).unwrap()
}

fn refused(dir: &Path) -> OpenError {
    Store::<()>::open(dir, Options::default()).err().expect("it was opened")
}

fn journal(dir: &Path) -> PathBuf {
    dir.join("state.journal")
}

async fn put(store: &Store<()>, key: &str, value: &str) -> u64 {
    let value = Template::plain(value.to_owned());
    let op = Op::Put { key: key.to_owned(), expect: Expect::Any, value };
    store.write(vec![op]).await.unwrap()[0].revision
}

/// What each key holds, and the revision of the store.
fn content(store: &Store<()>) -> (Vec<String>, u64) {
    let snapshot = store.snapshot();
    let show = |key: &str, value: &[u8]| format!("{key}={}", String::from_utf8_lossy(value));
    let entries = snapshot.range("", None).map(|e| show(&e.key, &e.value)).collect();
    (entries, store.revision())
}

/// A store with five writes: the first is in the database, four are in the journal, a block each.
async fn five() -> (TempDir, Store<()>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for n in 1..=5 {
        put(&store, &format!("/{n}"), "x").await;
    }
    (dir, store)
}

fn expected(last: u64) -> (Vec<String>, u64) {
    ((1..=last).map(|n| format!("/{n}=x")).collect(), last + 1)
}

#[tokio::test]
async fn what_is_only_in_the_journal_is_found_after_a_crash() {
    let (dir, store) = five().await;
    let crash = crashed(dir.path());
    // Also twice, and after writes that come on top.
    for n in 6..=7 {
        let store = open(crash.path());
        assert_eq!(content(&store), expected(n - 1));
        put(&store, &format!("/{n}"), "x").await;
        let next = crashed(crash.path());
        assert_eq!(content(&open(next.path())), expected(n));
        store.close().await;
    }
    // That it was the journal: without its content the writes are gone.
    let crash = crashed(dir.path());
    fs::write(journal(crash.path()), "").unwrap();
    assert_eq!(content(&open(crash.path())), expected(1));
    store.close().await;
    fs::write(journal(dir.path()), "").unwrap();
    assert_eq!(content(&open(dir.path())), expected(5), "closing puts all into the database");
}

#[tokio::test]
async fn the_journal_is_private_and_a_write_does_not_change_its_size() {
    let (dir, store) = five().await;
    let meta = fs::metadata(journal(dir.path())).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    for n in 0..20 {
        put(&store, "/more", &n.to_string()).await;
    }
    assert_eq!(fs::metadata(journal(dir.path())).unwrap().len(), meta.len());
    assert!(meta.len() >= 64 * BLOCK as u64);
}

#[tokio::test]
async fn a_flipped_bit_in_the_last_frame_loses_that_frame_and_nothing_else() {
    let (dir, _store) = five().await;
    let good = fs::read(journal(dir.path())).unwrap();
    let (last, len) = (3 * BLOCK, 32 + 12 + 13 + "/5x".len());
    for at in last..last + len {
        let crash = crashed(dir.path());
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(journal(crash.path()), bad).unwrap();
        assert_eq!(content(&open(crash.path())), expected(4), "byte {at}");
    }
    // As does a write that was cut short, and what it left is not in the way of the next.
    let crash = crashed(dir.path());
    let mut torn = good.clone();
    torn[last + len / 2..last + BLOCK].fill(0);
    fs::write(journal(crash.path()), torn).unwrap();
    let store = open(crash.path());
    put(&store, "/5", "x").await;
    assert_eq!(content(&open(crashed(crash.path()).path())), expected(5));
}

#[tokio::test]
async fn damage_before_readable_frames_is_named_and_what_is_advised_works() {
    let (dir, _store) = five().await;
    for frame in 0..3 {
        let crash = crashed(dir.path());
        let path = journal(crash.path());
        let mut bytes = fs::read(&path).unwrap();
        bytes[frame * BLOCK + 40] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let err = refused(crash.path());
        let offset = frame * BLOCK;
        assert!(
            matches!(err, OpenError::DamagedJournal { offset: at, .. } if at == offset),
            "{err}"
        );
        let advice = format!("truncate -s {offset} {}", path.display());
        assert!(err.to_string().contains(&advice), "{err}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "it is left as it is");
        bytes.truncate(offset);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(content(&open(crash.path())), expected(1 + frame as u64));
    }
}

#[tokio::test]
async fn a_lost_journal_is_named() {
    let (dir, _store) = five().await;
    let crash = crashed(dir.path());
    fs::remove_file(journal(crash.path())).unwrap();
    let err = refused(crash.path());
    assert!(matches!(err, OpenError::MissingJournal { .. }), "{err}");
    assert!(err.to_string().contains("touch"), "{err}");
    fs::write(journal(crash.path()), "").unwrap();
    assert_eq!(content(&open(crash.path())), expected(1));
}

#[tokio::test]
async fn files_of_different_times_are_not_mixed_up() {
    let (dir, store) = five().await;
    let early = crashed(dir.path());
    store.compact().await.unwrap();
    store.close().await;
    let store = open(dir.path());
    put(&store, "/1", "y").await; // which starts a new generation
    put(&store, "/6", "y").await;
    let late = crashed(dir.path());
    // An old journal beside a newer database has nothing that counts.
    let both = crashed(late.path());
    fs::copy(journal(early.path()), journal(both.path())).unwrap();
    let entries = content(&open(both.path())).0;
    assert_eq!(entries, ["/1=y", "/2=x", "/3=x", "/4=x", "/5=x"]);
    // A new journal beside an older database has writes whose base is missing.
    let both = crashed(early.path());
    fs::copy(journal(late.path()), journal(both.path())).unwrap();
    let err = refused(both.path());
    assert!(matches!(err, OpenError::DamagedJournal { offset: 0, .. }), "{err}");
    assert!(err.to_string().contains("do not belong together"), "{err}");
}

#[tokio::test]
async fn what_does_not_fit_into_the_journal_is_written_past_it() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { journal_bytes: 2 * BLOCK, ..Options::default() };
    let store: Store<()> = Store::open(dir.path(), options).unwrap();
    let large = "v".repeat(5 * BLOCK);
    for (n, value) in ["x", "x", &large, "x", &large, "x", "x", "x"].iter().enumerate() {
        put(&store, &format!("/{n}"), value).await;
        let crash = crashed(dir.path());
        let copy = open(crash.path());
        assert_eq!(content(&copy), content(&store), "after write {n}");
        assert_eq!(copy.snapshot().len(), n + 1);
        assert_eq!(fs::metadata(journal(dir.path())).unwrap().len(), 2 * BLOCK as u64);
    }
}

/// A client can write what looks like a frame. (That it comes to lie behind the last frame does not
/// help it either: it cannot know the salt, see the tests of the replay.)
#[tokio::test]
async fn a_value_that_looks_like_a_frame_is_a_value() {
    let (dir, store) = five().await;
    // The frame of /3, moved so that it begins at a block of the file when it is a value.
    let frame = fs::read(journal(dir.path())).unwrap()[BLOCK..2 * BLOCK].to_vec();
    let mut value = vec![b' '; BLOCK - (32 + 12 + 13 + "/large".len())];
    value.extend(&frame);
    let value = Template::plain(value);
    let op = Op::Put { key: "/large".to_owned(), expect: Expect::Any, value };
    store.write(vec![op]).await.unwrap();
    let bytes = fs::read(journal(dir.path())).unwrap();
    assert_eq!(bytes[5 * BLOCK..6 * BLOCK], frame, "the test aims badly");
    let before = content(&store);
    assert_eq!(content(&open(crashed(dir.path()).path())), before);
}

/// The layout of format 1, made by hand as the version before the journal made it.
#[tokio::test]
async fn a_directory_from_before_the_journal_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    {
        let db = Database::create(dir.path().join("state.redb")).unwrap();
        let tx = db.begin_write().unwrap();
        {
            let log: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
            let mut log = tx.open_table(log).unwrap();
            for revision in 2..=4u64 {
                let mut record = vec![1];
                record.extend(revision.to_le_bytes());
                record.extend(2u32.to_le_bytes());
                record.extend(format!("/{}x", revision - 1).as_bytes());
                log.insert(revision, record.as_slice()).unwrap();
            }
            tx.open_table(TableDefinition::<'_, &str, u64>::new("meta")).unwrap();
        }
        tx.commit().unwrap();
    }
    let format = dir.path().join("format");
    fs::write(&format, "1\n").unwrap();
    let store = open(dir.path());
    assert_eq!(content(&store), expected(3));
    assert_eq!(fs::read_to_string(&format).unwrap(), "2\n", "before there is a journal");
    for n in 4..=5 {
        put(&store, &format!("/{n}"), "x").await;
    }
    assert_eq!(content(&open(crashed(dir.path()).path())), expected(5));
}
