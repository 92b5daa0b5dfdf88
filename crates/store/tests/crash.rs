//! kill -9 at a random moment, many times over: what was acknowledged is there.
//!
//! The test runs itself as a child that writes at full speed and prints one line before each
//! write ("try") and one after it was acknowledged ("ack"). The parent kills it, opens the store
//! and compares. A key belongs to one task of the child, so at most one write per key is in
//! flight and the state of each key is known exactly:
//!
//! - last line "ack": the key is as acknowledged, with that very revision;
//! - last line "try": the key is as before, or as the write that was tried would leave it.
//!
//! The ring is small, compaction eager and the journal short, so that kills hit compaction and
//! checkpoints as well.
//! LANDBRIDGE_ROUNDS sets the number of kills.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use landbridge_store::{EventKind, Expect, Op, Options, Store, Template};

const CHILD: &str = "LANDBRIDGE_CRASH_CHILD";
const TASKS: usize = 8;
const KEYS: u64 = 6;

fn open(dir: &Path) -> Store<()> {
    let options = Options {
        ring_events: 64,
        compact_after: 32,
        journal_bytes: 64 << 10,
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

/// One `write` call, so that a kill leaves whole lines only.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn put(key: String, expect: Expect) -> Op {
    let bytes = format!("{key}={}", "x".repeat(200));
    Op::Put { expect, value: Template::stamped(bytes, key.len() + 1), key }
}

/// Writes until killed.
async fn child(dir: &Path, seed: u64) {
    let store = open(dir);
    say(&format!("open {}", store.revision()));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0.. {
                let mut random = seed.wrapping_add((n * TASKS + task) as u64);
                let key = format!("/{task}/{}", step(&mut random) % KEYS);
                let current = store.snapshot().get(&key).map(|e| e.revision);
                let expect = current.map_or(Expect::Absent, Expect::Revision);
                let delete = current.is_some() && step(&mut random).is_multiple_of(3);
                let verb = if delete { "delete" } else { "put" };
                say(&format!("try {verb} {key}"));
                let op = if delete {
                    let value = random.is_multiple_of(2).then(|| Template::plain("last"));
                    Op::Delete { key: key.clone(), expect, value }
                } else {
                    put(key.clone(), expect)
                };
                let written = store.write(vec![op]).await.unwrap();
                say(&format!("ack {verb} {key} {}", written[0].revision));
            }
        });
    }
    let compacting = store.clone();
    tasks.spawn(async move {
        loop {
            compacting.compact().await.unwrap();
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
    });
    tasks.join_next().await.unwrap().unwrap();
}

/// splitmix64.
fn step(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What is known of one key.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The revision of its last acknowledged put, if that was not followed by a delete.
    put: Option<u64>,
    /// The write that was in flight, if any.
    tried: Option<Verb>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verb {
    Put,
    Delete,
}

#[derive(Default)]
struct Witness {
    keys: BTreeMap<String, Known>,
    revisions: HashSet<u64>,
    highest: u64,
}

impl Witness {
    fn hear(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        let verb = |word| if word == "delete" { Verb::Delete } else { Verb::Put };
        match words[..] {
            ["open", revision] => {
                let revision: u64 = revision.parse().unwrap();
                assert!(revision >= self.highest, "opened at {revision} after {}", self.highest);
            }
            ["try", word, key] => {
                self.keys.entry(key.to_owned()).or_default().tried = Some(verb(word));
            }
            ["ack", word, key, revision] => self.acknowledged(key, verb(word), revision),
            _ => {} // the test harness talks, too
        }
    }

    fn acknowledged(&mut self, key: &str, verb: Verb, revision: &str) {
        let revision = revision.parse().unwrap();
        assert!(self.revisions.insert(revision), "revision {revision} was given out twice");
        let put = (verb == Verb::Put).then_some(revision);
        self.keys.insert(key.to_owned(), Known { put, tried: None });
    }

    /// Compares with the store after a crash and takes over what it finds.
    fn inspect(&mut self, store: &Store<()>) {
        let before = self.highest;
        let acknowledged = self.revisions.iter().max().copied().unwrap_or(0);
        self.highest = store.revision();
        assert!(self.highest >= acknowledged.max(before));
        let snapshot = store.snapshot();
        for (key, known) in &mut self.keys {
            let found = snapshot.get(key);
            let revision = found.map(|e| e.revision);
            let unchanged = revision == known.put;
            let as_tried = match known.tried {
                None => false,
                Some(Verb::Delete) => revision.is_none(),
                Some(Verb::Put) => {
                    revision.is_some_and(|r| r > before && !self.revisions.contains(&r))
                }
            };
            assert!(unchanged || as_tried, "{key}: found {revision:?}, known {known:?}");
            if let Some(entry) = found {
                let stamped = format!("{key}={}x", entry.revision);
                assert!(entry.value.starts_with(stamped.as_bytes()), "{key}: foreign value");
                self.revisions.insert(entry.revision);
            }
            *known = Known { put: revision, tried: None };
        }
        assert_eq!(snapshot.len(), self.keys.values().filter(|k| k.put.is_some()).count());
        replay(store);
    }
}

/// The oldest state plus the ring's events is the current state.
fn replay(store: &Store<()>) {
    let floor = store.stats().ring_floor;
    let old = store.snapshot_at(floor).unwrap();
    let mut state: BTreeMap<_, _> =
        old.range("", None).map(|e| (e.key.to_string(), e.revision)).collect();
    let mut watcher = store.watch(String::new(), floor).unwrap();
    for event in watcher.poll_batch(usize::MAX).unwrap() {
        let prev = match event.kind {
            EventKind::Put => state.insert(event.key.to_string(), event.revision),
            EventKind::Delete => state.remove(&*event.key),
        };
        assert_eq!(prev, event.prev.as_ref().map(|p| p.revision));
    }
    let now: BTreeMap<_, _> =
        store.snapshot().range("", None).map(|e| (e.key.to_string(), e.revision)).collect();
    assert_eq!(state, now);
}

/// Runs the child for `time`, kills it and hears what it said.
fn run_and_kill(dir: &Path, time: Duration, witness: &mut Witness) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["acknowledged_writes_survive_kill", "--exact", "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || out.lines().map_while(Result::ok).collect::<Vec<_>>());
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let lines = reader.join().unwrap();
    for line in &lines {
        witness.hear(line);
    }
    lines.iter().filter(|l| l.starts_with("ack")).count()
}

#[test]
fn acknowledged_writes_survive_kill() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let mut random = RandomState::new().hash_one(std::process::id());
    if let Some(dir) = std::env::var_os(CHILD) {
        return runtime.block_on(child(Path::new(&dir), random));
    }
    let rounds: u32 = std::env::var("LANDBRIDGE_ROUNDS").map_or(3, |r| r.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut witness = Witness::default();
    let mut acknowledged = 0;
    for _ in 0..rounds {
        let time = Duration::from_millis(20 + step(&mut random) % 381);
        acknowledged += run_and_kill(dir.path(), time, &mut witness);
        let store = open(dir.path());
        witness.inspect(&store);
        // One more, so that reopened stores are written to and closed in order as well.
        let key = "/parent".to_owned();
        let written = runtime.block_on(store.write(vec![put(key.clone(), Expect::Any)])).unwrap();
        witness.acknowledged(&key, Verb::Put, &written[0].revision.to_string());
        witness.highest = written[0].revision;
    }
    assert!(acknowledged > 0, "the child never got to write");
    println!(
        "crash: {rounds} kills, {acknowledged} acknowledged writes, all found; revision {}, {} \
         objects, no revision given out twice",
        witness.highest,
        witness.keys.values().filter(|k| k.put.is_some()).count(),
    );
}
