//! The writer thread: the only one that has the log written to.
//!
//! It takes what has gathered in the queue while the last commit was syncing, and what is announced
//! ([`crate::announced`]) and comes in time, commits it as one batch, publishes it, and then answers every caller of the batch. Nobody is answered before
//! the commit, not even those whose condition failed: they may have lost against a write that
//! the disk then refuses.
//!
//! Deleting obsolete records needs no transaction of its own while there are writes, they go
//! along with a commit; a store without writes does it in chunks and looks at its queue between.
//! It also has the database take what is only in the journal, which a commit must do otherwise.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::announced::Coming;
use crate::dir::StateDir;
use crate::durable::Durable;
use crate::entry::Meta;
use crate::error::{CompactError, WriteError};
use crate::load::Obsolete;
use crate::log::{Batch, LogError, Marks};
use crate::op::{Op, Written};
use crate::options::Options;
use crate::shared::Shared;
use crate::stage::Stage;
use crate::stats::{add, sub};

/// How long the writer waits for work before it tidies up.
const IDLE: Duration = Duration::from_secs(1);
/// How long it waits at most if tidying up keeps failing.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// Records deleted per transaction, which bounds how long a write can be held up by it.
const CHUNK: usize = 4096;

pub(crate) enum Command<M> {
    Write(Request<M>),
    Compact(oneshot::Sender<Result<usize, CompactError>>),
    Stop,
}

pub(crate) type Answer<M> = Result<Vec<Written<M>>, WriteError<M>>;

pub(crate) struct Request<M> {
    pub ops: Vec<Op>,
    pub answer: oneshot::Sender<Answer<M>>,
    /// Room in the queue, given back when the request is answered.
    pub permit: OwnedSemaphorePermit,
}

pub(crate) struct Writer<M> {
    pub queue: Receiver<Command<M>>,
    pub coming: Coming,
    pub room: Arc<Semaphore>,
    pub shared: Arc<Shared<M>>,
    pub options: Options,
    pub obsolete: Obsolete,
    /// The highest revision ever given out, also to writes that failed.
    pub revision: u64,
    pub log: Durable<M>,
    pub dir: StateDir,
    pub changes: watch::Sender<u64>,
}

impl<M: Meta> Writer<M> {
    /// Works until it is told to stop and the queue is empty.
    pub(crate) fn run(mut self) {
        let mut idle = IDLE;
        let mut next = None;
        loop {
            let command = match next.take() {
                Some(command) => Some(command),
                None => self.wait(idle),
            };
            match command {
                Some(Command::Write(first)) => {
                    next = self.batch(first);
                    idle = IDLE;
                }
                Some(Command::Compact(answer)) => {
                    let done = self.compact(|| false);
                    // Whoever asked may have gone; the work is done anyway.
                    let _ = answer.send(done.map_err(|err| CompactError::Io {
                        path: self.log.path().to_owned(),
                        cause: err.cause,
                    }));
                }
                Some(Command::Stop) if self.room.is_closed() => break,
                // From here on nobody can queue anything; what is queued already is still done.
                Some(Command::Stop) => self.room.close(),
                None => idle = self.tidy(idle),
            }
        }
        // Should it fail, it has been said, and the next to open the store does it.
        let _ = self.settle();
        // In this order: whoever sees `changes` end may open the directory again.
        let Self { log, dir, changes, .. } = self;
        drop(log);
        drop(dir);
        drop(changes);
    }

    /// The next command, or `None` if there was time to tidy up instead.
    fn wait(&self, idle: Duration) -> Option<Command<M>> {
        if self.room.is_closed() {
            return Some(self.queue.try_recv().unwrap_or(Command::Stop));
        }
        let is_tidy = self.obsolete.len() == 0 && self.shared.ring().len() == 0;
        if is_tidy && !self.log.is_worth_settling() {
            return Some(self.queue.recv().unwrap_or(Command::Stop));
        }
        match self.queue.recv_timeout(idle) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
        }
    }

    /// Commits `first` and what else is queued. Returns a command that ended the gathering.
    fn batch(&mut self, first: Request<M>) -> Option<Command<M>> {
        let snapshot = self.shared.snapshot();
        let mut stage = Stage::new(snapshot.state().clone(), self.revision);
        let mut answers = Vec::new();
        let (mut ops, mut bytes) = (0, 0);
        let mut request = first;
        let mut until = None;
        let next = loop {
            ops += request.ops.len();
            bytes += request.ops.iter().map(Op::weight).sum::<usize>();
            let Request { ops: call, answer, permit } = request;
            answers.push((answer, stage.apply(call), permit));
            if ops >= self.options.batch_ops || bytes >= self.options.batch_bytes {
                break None;
            }
            match self.gather(answers.len(), &mut until) {
                Some(Command::Write(more)) => request = more,
                other => break other,
            }
        };
        let failed = self.commit(snapshot.revision(), stage).err();
        for (answer, result, permit) in answers {
            drop(permit);
            let result = match &failed {
                None => result,
                Some(err) => Err(WriteError::Io {
                    path: self.log.path().to_owned(),
                    kind: err.kind,
                    cause: err.cause.clone(),
                }),
            };
            // The caller may have stopped waiting; its write is as durable as the others.
            let _ = answer.send(result);
        }
        // After the answers: those who watch are many, and each that wakes takes its turn before us.
        let revision = self.shared.revision();
        self.changes.send_if_modified(|told| {
            let is_new = *told != revision;
            *told = revision;
            is_new
        });
        next
    }

    /// What else is to be done, or comes within the moment that a batch waits for those who are expected.
    fn gather(&self, gathered: usize, until: &mut Option<Instant>) -> Option<Command<M>> {
        if let Ok(command) = self.queue.try_recv() {
            return Some(command);
        }
        if !self.coming.is_more_than(gathered) {
            return None;
        }
        let now = Instant::now();
        let left = until.get_or_insert(now + self.options.gather).saturating_duration_since(now);
        if left.is_zero() { None } else { self.queue.recv_timeout(left).ok() }
    }

    /// Makes a stage durable, then visible.
    fn commit(&mut self, published: u64, stage: Stage<M>) -> Result<(), LogError> {
        if stage.events.is_empty() {
            return Ok(()); // every call had a conflict
        }
        let due = self.obsolete.len() >= self.options.compact_after;
        let obsolete = self.obsolete.first(if due { CHUNK } else { 0 });
        // Whatever becomes of the commit, these revisions are used up.
        self.revision = stage.revision;
        let marks = Marks { floor: self.shared.ring().floor(), revision: stage.revision };
        self.write(Batch { published, events: stage.events.clone(), obsolete, marks })?;
        add(&self.shared.counters.commits, 1);
        add(&self.shared.counters.writes, stage.events.len());

        let now = (self.options.now)();
        let evicted = self.shared.publish(stage.revision, stage.state, stage.events, now);
        self.obsolete.note_all(&evicted);
        Ok(())
    }

    /// One commit, with the bookkeeping that goes with it.
    fn write(&mut self, batch: Batch<M>) -> Result<(), LogError> {
        let counters = &self.shared.counters;
        let (events, obsolete) = (batch.events.len(), batch.obsolete.len());
        if let Err(err) = self.log.commit(batch) {
            add(&counters.failures, 1);
            tracing::error!(path = %self.log.path().display(), cause = %err.cause,
                "the state file did not take a commit; trying again with the next write");
            return Err(err);
        }
        add(&counters.log_records, events);
        sub(&counters.log_records, obsolete);
        add(&counters.compacted, obsolete);
        self.obsolete.done(obsolete);
        Ok(())
    }

    /// Lets old events go and deletes obsolete records, a chunk at a time, until `stop` says so.
    fn compact(&mut self, stop: impl Fn() -> bool) -> Result<usize, LogError> {
        let evicted = self.shared.age((self.options.now)());
        self.obsolete.note_all(&evicted);
        drop(evicted);
        let mut deleted = 0;
        while self.obsolete.len() > 0 && !stop() {
            let chunk = self.obsolete.first(CHUNK);
            let published = self.shared.revision();
            let marks = Marks { floor: self.shared.ring().floor(), revision: published };
            deleted += chunk.len();
            self.write(Batch { published, events: Vec::new(), obsolete: chunk, marks })?;
        }
        Ok(deleted)
    }

    /// Has the database take what is only in the journal.
    fn settle(&mut self) -> Result<(), LogError> {
        let result = self.log.settle(self.shared.revision());
        if let Err(err) = &result {
            add(&self.shared.counters.failures, 1);
            tracing::warn!(path = %self.log.path().display(), cause = %err.cause,
                "the state file did not take over what is in the journal; it is safe there");
        }
        result
    }

    /// Uses an idle moment; returns how long to wait for the next.
    fn tidy(&mut self, idle: Duration) -> Duration {
        // A queue cannot be asked whether it is empty, but the room taken in it can.
        let (room, before) = (Arc::clone(&self.room), self.room.available_permits());
        let result = self.compact(move || room.available_permits() < before);
        let result = if self.log.is_worth_settling() {
            result.and_then(|_| self.settle())
        } else {
            result.map(drop)
        };
        if result.is_ok() { IDLE } else { (idle * 2).min(IDLE_MAX) }
    }
}
