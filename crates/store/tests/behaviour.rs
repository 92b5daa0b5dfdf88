//! What callers rely on, one behaviour per test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use landbridge_store::{
    EventKind, Expect, FIRST_REVISION, Op, OpenError, Options, SnapshotError, Store, Template,
    WatchEnded, WatchError, WriteError, Written,
};
use tempfile::TempDir;
use tokio::task::JoinSet;

fn open(dir: &TempDir, options: Options) -> Store<()> {
    Store::open(dir.path(), options).unwrap()
}

fn fresh(options: Options) -> (TempDir, Store<()>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir, options);
    (dir, store)
}

fn put(key: &str, value: &str) -> Op {
    Op::Put { key: key.to_owned(), expect: Expect::Any, value: Template::plain(value) }
}

fn delete(key: &str) -> Op {
    Op::Delete { key: key.to_owned(), expect: Expect::Any, value: None }
}

async fn write(store: &Store<()>, op: Op) -> Written<()> {
    store.write(vec![op]).await.unwrap().remove(0)
}

#[tokio::test]
async fn an_announced_write_is_waited_for_and_others_are_not() {
    let long = Duration::from_mins(1);
    let (_dir, store) = fresh(Options { gather: long, ..Options::default() });
    // Nobody is expected beside it: it is committed at once.
    let announced = store.announce();
    write(&store, put("/alone", "x")).await;
    drop(announced);
    let before = store.stats().commits;
    let both = [store.announce(), store.announce()];
    let first = tokio::spawn({
        let store = store.clone();
        async move { write(&store, put("/first", "x")).await.entry.revision }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!first.is_finished(), "it waits for the second");
    let second = write(&store, put("/second", "x")).await.entry.revision;
    assert_eq!(first.await.unwrap() + 1, second);
    assert_eq!(store.stats().commits, before + 1);
    drop(both);
}

#[tokio::test]
async fn an_announced_write_that_does_not_come_holds_nobody_up_for_long() {
    let (_dir, store) = fresh(Options { gather: Duration::from_millis(20), ..Options::default() });
    let _never = [store.announce(), store.announce()];
    tokio::time::timeout(Duration::from_secs(10), write(&store, put("/a", "x"))).await.unwrap();
}

#[tokio::test]
async fn a_slow_watcher_is_cut_off_and_holds_up_nobody() {
    let (_dir, store) = fresh(Options { ring_events: 10, ..Options::default() });
    let mut slow = store.watch(String::new(), FIRST_REVISION).unwrap();
    for n in 0..30 {
        write(&store, put(&format!("/{n}"), "x")).await;
    }
    let floor = store.stats().ring_floor;
    assert_eq!(floor, FIRST_REVISION + 20);
    assert_eq!(slow.next().await.unwrap_err(), WatchEnded::Lagged { floor });
    assert_eq!(slow.next_batch(5).await.unwrap_err(), WatchEnded::Lagged { floor });
    let err = store.watch(String::new(), floor - 1).err().unwrap();
    assert_eq!(err, WatchError::TooOld { floor });
    assert_eq!(
        store.watch(String::new(), floor).unwrap().next().await.unwrap().revision,
        floor + 1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_miss_nothing_and_see_nothing_twice_while_writers_race() {
    let (_dir, store) = fresh(Options::default());
    let mut watchers = JoinSet::new();
    for (prefix, batch) in [("", 0), ("/w1/", 0), ("", 7), ("/w2/", 1)] {
        let mut watcher = store.watch(prefix.to_owned(), FIRST_REVISION).unwrap();
        let want: u64 = if prefix.is_empty() { 400 } else { 100 };
        watchers.spawn(async move {
            let mut seen = Vec::new();
            while (seen.len() as u64) < want {
                let next = async {
                    if batch == 0 {
                        watcher.next().await.map(|event| vec![event])
                    } else {
                        watcher.next_batch(batch).await
                    }
                };
                // Dropping the future half way must lose nothing.
                tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => {}
                    events = next => seen.extend(events.unwrap()),
                }
            }
            assert!(seen.iter().all(|event| event.key.starts_with(prefix)));
            (prefix, seen.iter().map(|event| event.revision).collect::<Vec<_>>())
        });
    }
    let mut writers = JoinSet::new();
    for w in 0..4 {
        let store = store.clone();
        writers.spawn(async move {
            for n in 0..100 {
                write(&store, put(&format!("/w{w}/{}", n % 10), "x")).await;
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    while let Some(done) = watchers.join_next().await {
        let (prefix, revisions) = done.unwrap();
        assert!(revisions.is_sorted_by(|a, b| a < b), "{prefix}: not in order");
        if prefix.is_empty() {
            assert_eq!(revisions, (FIRST_REVISION + 1..=FIRST_REVISION + 400).collect::<Vec<_>>());
        }
    }
    let stats = store.stats();
    assert_eq!((stats.writes, stats.revision), (400, FIRST_REVISION + 400));
    assert!(stats.mean_batch >= 1.0 && stats.commits <= 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compare_and_swap_loses_no_update() {
    let (_dir, store) = fresh(Options::default());
    write(&store, put("/n", "0")).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            let mut done = 0;
            while done < 20 {
                let entry = store.snapshot().get("/n").cloned().unwrap();
                let n: u64 = std::str::from_utf8(&entry.value).unwrap().parse().unwrap();
                let value = Template::plain((n + 1).to_string());
                let expect = Expect::Revision(entry.revision);
                match store.write(vec![Op::Put { key: "/n".to_owned(), expect, value }]).await {
                    Ok(_) => done += 1,
                    Err(WriteError::Conflict { key, current }) => {
                        assert_eq!(key, "/n");
                        assert!(current.unwrap().revision > entry.revision);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(&store.snapshot().get("/n").unwrap().value[..], b"160");
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_with_a_reason() {
    let (_dir, store) = fresh(Options { max_value: 100, ..Options::default() });
    let put_template = |key: &str, value| Op::Put { key: key.into(), expect: Expect::Any, value };
    let refused = async |op| store.write(vec![put("/ok", "1"), op]).await.unwrap_err();

    let err = refused(put_template("/k", Template::plain(vec![0; 101]))).await;
    assert!(matches!(err, WriteError::TooLarge { size: 101, limit: 100, .. }), "{err}");
    let err = refused(put_template("/k", Template::stamped(vec![0; 81], 0))).await;
    assert!(matches!(err, WriteError::TooLarge { size: 101, .. }), "{err}");
    let err = refused(put_template("/k", Template::stamped("ab", 3))).await;
    assert!(matches!(err, WriteError::BadTemplate { at: 3, len: 2, .. }), "{err}");
    let err = refused(put("", "x")).await;
    assert!(matches!(err, WriteError::BadKey { size: 0, .. }), "{err}");
    let err = refused(put(&"k".repeat(5000), "x")).await;
    assert!(matches!(err, WriteError::BadKey { size: 5000, .. }), "{err}");
    let err = refused(delete("/none")).await;
    assert!(matches!(err, WriteError::Conflict { current: None, .. }), "{err}");
    assert_eq!(err.to_string(), "/none is not as expected: it is absent");

    assert!(store.write(Vec::new()).await.unwrap().is_empty());
    assert_eq!(store.revision(), FIRST_REVISION, "all or nothing");
    assert!(store.snapshot().is_empty());
    write(&store, put_template("/k", Template::plain(vec![0; 100]))).await;
}

#[tokio::test]
async fn deleting_and_compacting_the_newest_revision_does_not_free_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let options = || {
        let clock = Arc::clone(&clock);
        let now = move || Duration::from_secs(clock.load(Ordering::SeqCst));
        Options { now: Arc::new(now), ..Options::default() }
    };
    let store = open(&dir, options());
    write(&store, put("/a", "1")).await;
    let last = write(&store, delete("/a")).await.revision;
    clock.store(1000, Ordering::SeqCst);
    assert_eq!(store.compact().await.unwrap(), 2);
    assert_eq!(store.stats().log_records, 0);
    store.close().await;

    let store = open(&dir, options());
    assert_eq!(store.revision(), last);
    assert_eq!(store.stats().ring_floor, last);
    assert_eq!(store.snapshot_at(last - 1).err(), Some(SnapshotError::TooOld { floor: last }));
    assert_eq!(write(&store, put("/b", "1")).await.revision, last + 1);
}

#[tokio::test]
async fn a_watch_resumes_over_a_restart_with_last_and_previous_states() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir, Options::default());
    let stamped = || Template::stamped("rv=", 3);
    write(&store, Op::Put { key: "/a".into(), expect: Expect::Absent, value: stamped() }).await;
    write(&store, put("/b", "b")).await;
    write(&store, Op::Delete { key: "/a".into(), expect: Expect::Any, value: Some(stamped()) })
        .await;
    write(&store, delete("/b")).await;
    store.close().await;

    let store = open(&dir, Options::default());
    let mut watcher = store.watch(String::new(), FIRST_REVISION + 2).unwrap();
    let (a, b) = (watcher.next().await.unwrap(), watcher.next().await.unwrap());
    assert_eq!((a.kind, a.revision, &*a.key), (EventKind::Delete, 4, "/a"));
    assert_eq!((&a.entry.value[..], a.entry.revision, a.entry.created), (&b"rv=4"[..], 4, 2));
    assert_eq!(&a.prev.as_ref().unwrap().value[..], b"rv=2");
    assert_eq!((b.kind, b.revision, &b.entry.value[..]), (EventKind::Delete, 5, &b"b"[..]));
    assert!(store.snapshot().is_empty());
}

#[tokio::test]
async fn a_watcher_advances_over_foreign_events_and_shares_encoded_bytes() {
    let (_dir, store) = fresh(Options::default());
    let mut one = store.watch("/a/".to_owned(), FIRST_REVISION).unwrap();
    let mut two = store.watch(String::new(), FIRST_REVISION).unwrap();
    // More than a watcher looks at in one go.
    store.write(vec![put("/b/x", "x"); 3000]).await.unwrap();
    assert!(one.poll_batch(10).unwrap().is_empty());
    assert_eq!(one.revision(), store.revision());
    let revision = write(&store, put("/a/x", "x")).await.revision;
    let event = one.next().await.unwrap();
    event.encoded.set("bytes".into()).unwrap();
    assert_eq!((event.revision, one.revision()), (revision, revision));
    let last = two.poll_batch(usize::MAX).unwrap().pop().unwrap();
    assert_eq!(last.encoded.get().unwrap(), "bytes");

    // What was taken ahead is not seen yet.
    let mut ahead = store.watch(String::new(), FIRST_REVISION).unwrap();
    ahead.next().await.unwrap();
    assert_eq!(ahead.revision(), FIRST_REVISION + 1);
}

#[tokio::test]
async fn closing_finishes_the_queue_ends_watches_and_releases_the_directory() {
    let (dir, store) = fresh(Options::default());
    let other = store.clone();
    let mut watcher = store.watch(String::new(), FIRST_REVISION).unwrap();
    let mut writes = JoinSet::new();
    for n in 0..50 {
        let store = store.clone();
        writes.spawn(async move { write(&store, put(&format!("/{n}"), "x")).await });
    }
    tokio::task::yield_now().await; // they are queued now
    store.close().await;
    let store = open(&dir, Options::default()); // at once: the directory is free
    assert_eq!(store.snapshot().len(), 50);
    while let Some(done) = writes.join_next().await {
        done.unwrap();
    }
    for _ in 0..50 {
        watcher.next().await.unwrap();
    }
    assert_eq!(watcher.next().await.unwrap_err(), WatchEnded::Closed);
    let refused = other.write(vec![put("/late", "x")]).await.unwrap_err();
    assert!(matches!(refused, WriteError::Closed), "{refused}");
    assert_eq!(other.snapshot().len(), 50, "reading goes on");

    let text = Store::<()>::open(dir.path(), Options::default()).err().unwrap().to_string();
    assert!(text.contains("in use by") && text.contains("pid"), "{text}");
    drop(store); // the same without an explicit close
    drop(open(&dir, Options::default()));
}

#[tokio::test]
async fn a_full_queue_makes_writers_wait_not_fail() {
    let (_dir, store) = fresh(Options { queue_bytes: 4096, ..Options::default() });
    let mut writes = JoinSet::new();
    for n in 0..100 {
        let store = store.clone();
        // Every tenth is larger than the whole queue.
        let value = "x".repeat(if n % 10 == 0 { 10_000 } else { 1000 });
        writes.spawn(async move { write(&store, put(&format!("/{n}"), &value)).await });
    }
    while let Some(done) = writes.join_next().await {
        done.unwrap();
    }
    assert_eq!(store.snapshot().len(), 100);
    assert!(store.stats().commits >= 25, "at most four fit: {:?}", store.stats());
}

#[tokio::test]
async fn paging_an_old_revision_is_not_disturbed_by_writes() {
    let (_dir, store) = fresh(Options::default());
    store.write((0..100).map(|n| put(&format!("/{n:03}"), "old")).collect()).await.unwrap();
    let revision = store.revision();
    let (mut after, mut pages) = (None::<String>, 0);
    loop {
        let page = store.snapshot_at(revision).unwrap();
        let keys: Vec<_> = page.range("/", after.as_deref()).take(10).cloned().collect();
        let Some(last) = keys.last() else { break };
        assert!(keys.iter().all(|e| &e.value[..] == b"old"));
        after = Some(last.key.to_string());
        pages += keys.len();
        for n in 0..20 {
            write(&store, put(&format!("/{:03}", n * 7), "new")).await;
        }
        write(&store, delete(&last.key)).await;
        // Other old revisions crowd the cache.
        for back in 0..10 {
            store.snapshot_at(store.revision() - back).unwrap();
        }
    }
    assert_eq!(pages, 100);
}

#[tokio::test]
async fn damaged_state_files_are_named_not_panicked_on() {
    let (dir, store) = fresh(Options::default());
    for n in 0..200 {
        let ops = (0..5).map(|m| put(&format!("/{n}/{m}"), &"v".repeat(500))).collect();
        store.write(ops).await.unwrap();
    }
    store.close().await;
    let path = dir.path().join("state.redb");
    let good = fs::read(&path).unwrap();

    let mut bad = vec![Vec::new(), b"not a database".to_vec(), vec![0xa5; good.len()]];
    for part in [1, 3, 10, 25, 50, 90] {
        bad.push(good[..good.len() * part / 100].to_vec());
    }
    bad.push(good[..100].to_vec());
    let mut header = good.clone();
    header[..512].fill(0x5a);
    bad.push(header);
    for bytes in bad {
        fs::write(&path, &bytes).unwrap();
        let err = Store::<()>::open(dir.path(), Options::default()).err();
        let err = err.unwrap_or_else(|| panic!("{} bytes were opened", bytes.len()));
        assert!(matches!(err, OpenError::Damaged { .. }), "{} bytes: {err}", bytes.len());
        let text = err.to_string();
        assert!(text.contains("state.redb") && text.contains("backup"), "{text}");
    }
    // Damage somewhere in the middle may go unnoticed, but must not bring the server down.
    for at in (4096..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        let end = (at + 64).min(bytes.len());
        bytes[at..end].fill(0xff);
        fs::write(&path, &bytes).unwrap();
        drop(Store::<()>::open(dir.path(), Options::default()));
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(open(&dir, Options::default()).snapshot().len(), 1000);
}
