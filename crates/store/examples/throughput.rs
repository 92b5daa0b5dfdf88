//! Durable writes per second, and what redb costs against a plain file.
//!
//! ```text
//! cargo run --release -p landbridge-store --example throughput [directory]
//! ```
//!
//! Three stages, each with 1, 16 and 64 concurrent writers of 1 KiB values: a plain append-only
//! file with fdatasync, a redb table, and the store itself. The first two share one
//! group-committing thread, so the difference between them is the storage engine alone.
//! The last figures are the store with 1000 watchers, and the time to open what was written.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use landbridge_store::{Expect, Op, Options, Store, Template};
use redb::{Database, TableDefinition};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const TIME: Duration = Duration::from_secs(3);
const VALUE: usize = 1024;
const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Something that makes a batch of records durable.
trait Engine: Send + 'static {
    fn commit(&mut self, first: u64, records: &[Vec<u8>]) -> Result<()>;
}

struct PlainFile(File);

impl Engine for PlainFile {
    fn commit(&mut self, first: u64, records: &[Vec<u8>]) -> Result<()> {
        let mut out = Vec::with_capacity(records.len() * (VALUE + 64));
        for (revision, record) in (first..).zip(records) {
            out.extend_from_slice(&revision.to_le_bytes());
            out.extend_from_slice(&u32::try_from(record.len())?.to_le_bytes());
            out.extend_from_slice(record);
        }
        self.0.write_all(&out)?;
        Ok(self.0.sync_data()?)
    }
}

struct Redb(Database);

impl Engine for Redb {
    fn commit(&mut self, first: u64, records: &[Vec<u8>]) -> Result<()> {
        let tx = self.0.begin_write()?;
        {
            let mut table = tx.open_table(TABLE)?;
            for (revision, record) in (first..).zip(records) {
                table.insert(revision, record.as_slice())?;
            }
        }
        Ok(tx.commit()?)
    }
}

type Queue = mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>;

/// The store's group commit without the store.
fn group_commit(mut engine: impl Engine) -> Queue {
    let (queue, receiver) = mpsc::channel::<(Vec<u8>, oneshot::Sender<()>)>();
    std::thread::spawn(move || {
        let mut revision = 1;
        while let Ok(first) = receiver.recv() {
            let (mut records, mut answers) = (vec![first.0], vec![first.1]);
            while records.len() < 512
                && let Ok((record, answer)) = receiver.try_recv()
            {
                records.push(record);
                answers.push(answer);
            }
            if let Err(err) = engine.commit(revision, &records) {
                eprintln!("commit failed: {err}");
                return;
            }
            revision += records.len() as u64;
            for answer in answers {
                let _ = answer.send(());
            }
        }
    });
    queue
}

/// Runs `writers` tasks for a while; returns all latencies.
async fn measure<F>(
    writers: usize,
    write: impl Fn(usize, u64) -> F + Clone + Send + 'static,
) -> Result<Vec<Duration>>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let end = Instant::now() + TIME;
    let mut tasks = JoinSet::new();
    for writer in 0..writers {
        let write = write.clone();
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            for n in 0.. {
                let start = Instant::now();
                if start >= end {
                    break;
                }
                write(writer, n).await?;
                latencies.push(start.elapsed());
            }
            Result::Ok(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(latencies) = tasks.join_next().await {
        all.extend(latencies??);
    }
    Ok(all)
}

#[allow(clippy::cast_precision_loss)]
fn report(name: &str, writers: usize, mut latencies: Vec<Duration>) {
    latencies.sort_unstable();
    let at = |percent: usize| latencies.get(latencies.len() * percent / 100).copied();
    let per_second = latencies.len() as f64 / TIME.as_secs_f64();
    println!(
        "{name:<22} {writers:>3} writers  {per_second:>8.0} writes/s  p50 {:>9.2?}  p99 {:>9.2?}",
        at(50).unwrap_or_default(),
        at(99).unwrap_or_default(),
    );
}

async fn engine(name: &str, writers: usize, queue: Queue) -> Result<()> {
    let latencies = measure(writers, move |_, _| {
        let (answer, answered) = oneshot::channel();
        let sent = queue.send((vec![b'x'; VALUE], answer));
        async move {
            sent.map_err(|_| "the group commit has ended")?;
            Ok(answered.await?)
        }
    })
    .await?;
    report(name, writers, latencies);
    Ok(())
}

async fn store(name: &str, writers: usize, store: &Store<()>) -> Result<()> {
    let store = store.clone();
    let latencies = measure(writers, move |writer, n| {
        let key = format!("/pods/{writer}/{}", n % 100);
        let value = Template::stamped(vec![b'x'; VALUE], 10);
        let store = store.clone();
        async move {
            store.write(vec![Op::Put { key, expect: Expect::Any, value }]).await?;
            Ok(())
        }
    })
    .await?;
    report(name, writers, latencies);
    Ok(())
}

fn watch_all(store: &Store<()>, watchers: usize) -> Result<()> {
    for n in 0..watchers {
        // Every watcher has a prefix of its own; 64 of them see something.
        let mut watcher = store.watch(format!("/pods/{n}/"), store.revision())?;
        tokio::spawn(async move { while watcher.next().await.is_ok() {} });
    }
    Ok(())
}

fn file(path: &Path) -> Result<File> {
    Ok(OpenOptions::new().create(true).read(true).append(true).open(path)?)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let root = std::env::args().nth(1).unwrap_or_else(|| "/tmp".to_owned());
    let dir = tempfile::tempdir_in(root)?;
    for writers in [1, 16, 64] {
        let plain = PlainFile(file(&dir.path().join(format!("plain{writers}")))?);
        engine("plain file", writers, group_commit(plain)).await?;
        let redb = Database::create(dir.path().join(format!("redb{writers}")))?;
        engine("redb table", writers, group_commit(Redb(redb))).await?;
        let own: Store<()> =
            Store::open(&dir.path().join(format!("store{writers}")), Options::default())?;
        store("store", writers, &own).await?;
        println!("{:?}", own.stats());
        if writers == 64 {
            watch_all(&own, 1000)?;
            store("store, 1000 watchers", writers, &own).await?;
        }
        own.close().await;
    }
    let start = Instant::now();
    let own: Store<()> = Store::open(&dir.path().join("store64"), Options::default())?;
    println!("opened {} log records in {:.2?}", own.stats().log_records, start.elapsed());
    own.close().await;
    Ok(())
}
