//! Random histories against a model that is nothing but the list of all events ever written.
//!
//! Steps are writes (with conditions, several ops at once), watches from random revisions, looks
//! at old states, time passing, compaction, reopening and crashes. After each the store has to agree with
//! the model. The ring and the journal are tiny, so that eviction, compaction and checkpoints happen
//! all the time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use landbridge_store::{
    Entry, EventKind, Expect, FIRST_REVISION, Meta, Op, Options, SnapshotError, Store, Template,
    WatchEnded, WatchError, Watcher, WriteError,
};
use proptest::prelude::*;
use tempfile::TempDir;

const RING: usize = 8;
const AGE: u64 = 100;
const PREFIXES: [&str; 4] = ["", "/a/", "/b/", "/a/1"];

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<Change>),
    Watch { back: u64, prefix: usize },
    Poll { max: usize },
    SnapshotAt { back: u64 },
    Compact,
    Wait { seconds: u64 },
    Reopen,
    Crash,
}

#[derive(Debug, Clone)]
struct Change {
    key: String,
    delete: bool,
    with_value: bool,
    expect: Condition,
}

#[derive(Debug, Clone, Copy)]
enum Condition {
    Any,
    Absent,
    Current,
    Stale,
}

fn change() -> impl Strategy<Value = Change> {
    let key = (prop::sample::select(vec!["/a/", "/b/"]), 0..12u8)
        .prop_map(|(prefix, n)| format!("{prefix}{n}"));
    let expect = prop_oneof![
        6 => Just(Condition::Any),
        2 => Just(Condition::Absent),
        4 => Just(Condition::Current),
        1 => Just(Condition::Stale),
    ];
    (key, prop::bool::weighted(0.35), any::<bool>(), expect)
        .prop_map(|(key, delete, with_value, expect)| Change { key, delete, with_value, expect })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => prop::collection::vec(change(), 1..4).prop_map(Step::Write),
        3 => (0..14u64, 0..PREFIXES.len()).prop_map(|(back, prefix)| Step::Watch { back, prefix }),
        4 => (1..6usize).prop_map(|max| Step::Poll { max }),
        3 => (0..14u64).prop_map(|back| Step::SnapshotAt { back }),
        1 => Just(Step::Compact),
        1 => (1..150u64).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

/// What the model knows of one write.
#[derive(Debug, Clone)]
struct Fact {
    revision: u64,
    created: u64,
    key: String,
    deleted: bool,
    value: String,
}

type State = BTreeMap<String, Fact>;

#[derive(Default)]
struct Model {
    facts: Vec<Fact>,
}

impl Model {
    fn revision(&self) -> u64 {
        self.facts.last().map_or(FIRST_REVISION, |f| f.revision)
    }

    fn state_at(&self, revision: u64) -> State {
        let mut state = State::new();
        for fact in self.facts.iter().filter(|f| f.revision <= revision) {
            if fact.deleted {
                state.remove(&fact.key);
            } else {
                state.insert(fact.key.clone(), fact.clone());
            }
        }
        state
    }

    /// The facts a call would add, or the key it fails on.
    fn plan(&self, ops: &[Op]) -> Result<Vec<Fact>, String> {
        let mut state = self.state_at(u64::MAX);
        let mut facts = Vec::new();
        for (op, revision) in ops.iter().zip(self.revision() + 1..) {
            let (Op::Put { key, expect, .. } | Op::Delete { key, expect, .. }) = op;
            let current = state.get(key).cloned();
            let holds = match expect {
                Expect::Any => true,
                Expect::Absent => current.is_none(),
                Expect::Revision(r) => current.as_ref().is_some_and(|c| c.revision == *r),
            };
            let template = match op {
                Op::Put { value, .. } => Some(value),
                Op::Delete { value, .. } => value.as_ref(),
            };
            let deleted = matches!(op, Op::Delete { .. });
            if !holds || (deleted && current.is_none()) {
                return Err(key.clone());
            }
            let value = template.map_or_else(
                || current.as_ref().unwrap().value.clone(),
                |t| format!("{}{revision}", String::from_utf8_lossy(&t.bytes)),
            );
            let created = current.map_or(revision, |c| c.created);
            let fact = Fact { revision, created, key: key.clone(), deleted, value };
            if deleted {
                state.remove(key);
            } else {
                state.insert(key.clone(), fact.clone());
            }
            facts.push(fact);
        }
        Ok(facts)
    }
}

/// The store under test with its watchers and the model beside it.
struct Bench {
    dir: TempDir,
    clock: Arc<AtomicU64>,
    store: Store<Length>,
    model: Model,
    watchers: Vec<(Watcher<Length>, u64, &'static str)>,
    writes: usize,
    waited: bool,
}

/// Metadata that shows whether it belongs to its version.
#[derive(Debug, PartialEq)]
struct Length(usize);

impl Meta for Length {
    fn decode(_key: &str, value: &[u8]) -> Self {
        Self(value.len())
    }
}

fn open(dir: &Path, clock: &Arc<AtomicU64>) -> Store<Length> {
    let clock = Arc::clone(clock);
    let options = Options {
        ring_events: RING,
        ring_age: Duration::from_secs(AGE),
        compact_after: 5,
        journal_bytes: 16 << 10, // four commits
        now: Arc::new(move || Duration::from_secs(clock.load(Ordering::SeqCst))),
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

fn same(entry: &Entry<Length>, fact: &Fact) {
    assert_eq!(*entry.key, *fact.key);
    assert_eq!(String::from_utf8_lossy(&entry.value), fact.value);
    assert_eq!((entry.revision, entry.created), (fact.revision, fact.created));
    assert_eq!(entry.meta, Length(fact.value.len()));
}

impl Bench {
    async fn step(&mut self, step: Step) {
        match step {
            Step::Write(changes) => self.write(changes).await,
            Step::Watch { back, prefix } => self.watch(back, PREFIXES[prefix]),
            Step::Poll { max } => self.poll(max),
            Step::SnapshotAt { back } => self.snapshot_at(back),
            Step::Compact => self.compact().await,
            Step::Wait { seconds } => {
                self.waited = true;
                self.clock.fetch_add(seconds, Ordering::SeqCst);
            }
            Step::Reopen => self.reopen().await,
            Step::Crash => self.crash().await,
        }
        self.agree();
    }

    async fn write(&mut self, changes: Vec<Change>) {
        let state = self.model.state_at(u64::MAX);
        let ops: Vec<_> = changes
            .into_iter()
            .map(|change| {
                self.writes += 1;
                let current = state.get(&change.key).map(|f| f.revision);
                let expect = match change.expect {
                    Condition::Any => Expect::Any,
                    Condition::Absent => Expect::Absent,
                    Condition::Current => current.map_or(Expect::Absent, Expect::Revision),
                    Condition::Stale => Expect::Revision(current.unwrap_or(9) - 1),
                };
                let bytes = format!("value {} at ", self.writes);
                let value = Template::stamped(bytes.clone(), bytes.len());
                let key = change.key;
                if change.delete {
                    Op::Delete { key, expect, value: change.with_value.then_some(value) }
                } else {
                    Op::Put { key, expect, value }
                }
            })
            .collect();
        let plan = self.model.plan(&ops);
        match (self.store.write(ops).await, plan) {
            (Ok(written), Ok(facts)) => {
                assert_eq!(written.len(), facts.len());
                for (written, fact) in written.iter().zip(&facts) {
                    assert_eq!(written.revision, fact.revision);
                    same(&written.entry, fact);
                }
                self.model.facts.extend(facts);
            }
            (Err(WriteError::Conflict { key, .. }), Err(planned)) => assert_eq!(key, planned),
            (got, planned) => panic!("got {got:?}, planned {planned:?}"),
        }
    }

    fn watch(&mut self, back: u64, prefix: &'static str) {
        let after = self.store.revision().saturating_sub(back);
        let floor = self.store.stats().ring_floor;
        match self.store.watch(prefix.to_owned(), after) {
            Ok(watcher) => {
                assert!(after >= floor);
                self.watchers.push((watcher, after, prefix));
            }
            Err(err) => {
                assert!(after < floor);
                assert_eq!(err, WatchError::TooOld { floor });
            }
        }
        let current = self.store.revision();
        let err = self.store.watch(prefix.to_owned(), current + 1).err().unwrap();
        assert_eq!(err, WatchError::Future { current });
    }

    /// Each watcher gets exactly the next events of its prefix, or is told that it lagged.
    fn poll(&mut self, max: usize) {
        let floor = self.store.stats().ring_floor;
        let model = &self.model;
        self.watchers.retain_mut(|(watcher, seen, prefix)| {
            let before = watcher.revision();
            let events = match watcher.poll_batch(max) {
                Ok(events) => events,
                Err(err) => {
                    assert_eq!(err, WatchEnded::Lagged { floor });
                    assert!(before < floor);
                    return false;
                }
            };
            let due = |f: &&Fact| f.revision > *seen && f.key.starts_with(*prefix);
            let want: Vec<_> = model.facts.iter().filter(due).take(max).collect();
            assert_eq!(events.len(), want.len());
            for (event, fact) in events.iter().zip(&want) {
                assert_eq!(event.kind == EventKind::Delete, fact.deleted);
                assert_eq!((event.revision, &*event.key), (fact.revision, &*fact.key));
                same(&event.entry, fact);
                let prev = model.state_at(fact.revision - 1).remove(&fact.key);
                assert_eq!(event.prev.is_some(), prev.is_some());
                if let (Some(got), Some(want)) = (&event.prev, &prev) {
                    same(got, want);
                }
            }
            if events.len() < max {
                assert_eq!(watcher.revision(), model.revision());
            }
            *seen = watcher.revision();
            assert!(events.last().is_none_or(|e| e.revision <= *seen));
            true
        });
    }

    fn snapshot_at(&self, back: u64) {
        let revision = self.store.revision().saturating_sub(back);
        let floor = self.store.stats().ring_floor;
        match self.store.snapshot_at(revision) {
            Ok(snapshot) => {
                assert!(revision >= floor);
                assert_eq!(snapshot.revision(), revision);
                let want = self.model.state_at(revision);
                assert_eq!(snapshot.len(), want.len());
                for (entry, fact) in snapshot.range("", None).zip(want.values()) {
                    same(entry, fact);
                }
            }
            Err(err) => {
                assert!(revision < floor);
                assert_eq!(err, SnapshotError::TooOld { floor });
            }
        }
    }

    async fn compact(&self) {
        self.store.compact().await.unwrap();
        let stats = self.store.stats();
        let ring = stats.ring_events as u64;
        let objects = stats.objects as u64;
        // Live objects, the ring's events and the states before those: nothing else is kept.
        assert!(stats.log_records >= objects);
        assert!(stats.log_records <= objects + 2 * ring, "{stats:?}");
        assert_eq!(self.store.compact().await.unwrap(), 0);
    }

    async fn reopen(&mut self) {
        self.store.clone().close().await;
        self.store = open(self.dir.path(), &self.clock);
        self.resume();
    }

    /// Goes on with the files as they were before the store was closed.
    async fn crash(&mut self) {
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(self.dir.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        self.store.clone().close().await;
        self.dir = copy;
        self.store = open(self.dir.path(), &self.clock);
        self.resume();
    }

    fn resume(&mut self) {
        let old = std::mem::take(&mut self.watchers);
        let floor = self.store.stats().ring_floor;
        for (watcher, seen, prefix) in old {
            // A client resumes where it was, if the ring still goes back that far.
            match self.store.watch(prefix.to_owned(), watcher.revision()) {
                Ok(resumed) => self.watchers.push((resumed, watcher.revision().max(seen), prefix)),
                Err(err) => assert_eq!(err, WatchError::TooOld { floor }),
            }
        }
    }

    fn agree(&self) {
        let snapshot = self.store.snapshot();
        let state = self.model.state_at(u64::MAX);
        assert_eq!(snapshot.revision(), self.model.revision());
        assert_eq!(snapshot.len(), state.len());
        for (entry, fact) in snapshot.range("", None).zip(state.values()) {
            same(entry, fact);
        }
        for prefix in PREFIXES {
            let want = state.keys().filter(|k| k.starts_with(prefix)).count();
            assert_eq!(snapshot.count(prefix), want);
        }
        if !self.waited {
            let evicted = self.model.facts.len().checked_sub(RING + 1);
            let floor = evicted.map_or(FIRST_REVISION, |last| self.model.facts[last].revision);
            assert_eq!(self.store.stats().ring_floor, floor);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_agrees_with_the_model(steps in prop::collection::vec(step(), 1..80)) {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let clock = Arc::new(AtomicU64::new(0));
            let mut bench = Bench {
                store: open(dir.path(), &clock),
                dir,
                clock,
                model: Model::default(),
                watchers: Vec::new(),
                writes: 0,
                waited: false,
            };
            for step in steps {
                bench.step(step).await;
            }
            bench.compact().await;
            bench.reopen().await;
            bench.agree();
            bench.poll(1000);
        });
    }
}
