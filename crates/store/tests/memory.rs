//! Memory: single writes cost what they keep, not what their transactions needed.
//!
//! In a file of its own, because it measures its process.

#![allow(clippy::expect_used)] // helpers of tests, outside of test functions

use landbridge_store::{Expect, Op, Options, Store, Template};

const VALUE: usize = 1024;
const WRITES: usize = 1000;
/// What a write may take at most, on average. It keeps about 1.7 KiB: the value, its entry, the
/// event, its place in the state. With the holes of its transactions it would be over 4.
const LIMIT: usize = 3 * 1024;

/// Resident memory of this process that is no file; `None` where Linux does not say.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
}

async fn put(store: &Store<()>, number: usize) {
    let op = Op::Put {
        key: format!("/things/{number}"),
        expect: Expect::Absent,
        value: Template::plain(vec![b'x'; VALUE]),
    };
    store.write(vec![op]).await.expect("written");
}

#[test]
fn single_writes_leave_no_holes() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
    runtime.block_on(async {
        let dir = tempfile::tempdir().expect("directory");
        let store: Store<()> = Store::open(dir.path(), Options::default()).expect("store");
        for number in 0..300 {
            put(&store, number).await; // until caches and queues have their size
        }
        let Some(before) = resident() else { return };
        for number in 300..300 + WRITES {
            put(&store, number).await;
        }
        let each = resident().expect("as before").saturating_sub(before) / WRITES;
        assert!(each < LIMIT, "{each} bytes per write");
        store.close().await;
    });
}
