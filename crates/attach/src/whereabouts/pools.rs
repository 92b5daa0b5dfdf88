//! One door per pool: who comes while the cluster is being asked waits, and all who wait go through
//! together in one patch.
//!
//! ```text
//!   thread ─ask─▶ waiting ──┐ the first one finds nobody at work and leads:
//!   thread ─ask─▶ waiting ──┼─▶ serve(all) ─▶ one JSON patch ─▶ answers ─▶ everybody wakes
//!   thread ─ask─▶ waiting ──┘ on a conflict: read the pool, serve all of them again
//! ```
//!
//! There is no lock in the cluster: the patch insists on the state of the pool it was made from.
//! An answer counts only when that state was confirmed after the ask came: by the patch, or by
//! reading. A patch whose answer is lost is found done, or not, by reading.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::whereabouts::{Allocation, Ledger, patch};

use super::batch::{Answer, Ask, Holder, serve};
use crate::objects::{ObjectError, Objects};

/// How many asks go into one patch.
const BATCH_MAX: usize = 256;
/// How often a batch is tried against other writers.
const TRIES_MAX: u32 = 100;
/// How many addresses are remembered per pool; a node has some hundred pods.
const GIVEN_MAX: usize = 16 << 10;
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The doors of all pools.
pub struct Pools {
    objects: Arc<dyn Objects>,
    doors: Mutex<BTreeMap<String, Arc<Door>>>,
}

struct Door {
    name: String,
    /// The range a new pool is made with; unknown to who only frees.
    range: Mutex<Option<String>>,
    queue: Mutex<Queue>,
    changed: Condvar,
    known: Mutex<Option<Known>>,
    /// What this process has given, by container and interface: where a release begins to look
    /// while somebody else is at work.
    given: Mutex<BTreeMap<(String, String), IpAddr>>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: Vec<(u64, Instant, Ask)>,
    answers: BTreeMap<u64, Result<Answer, ObjectError>>,
    /// Who did not wait for the answer.
    gone: BTreeSet<u64>,
    is_led: bool,
}

/// The pool as it was when we last saw it.
struct Known {
    version: String,
    ledger: Ledger,
}

impl Pools {
    /// No pool is known yet.
    pub fn new(objects: Arc<dyn Objects>) -> Self {
        Self { objects, doors: Mutex::new(BTreeMap::new()) }
    }

    /// Asks a pool, which is made with this range when there is none. Waits no longer than until
    /// `end`; whether the ask was served after that is not known.
    pub fn ask(
        &self,
        pool: &str,
        range: Option<&str>,
        ask: Ask,
        end: Instant,
    ) -> Result<Answer, CniError> {
        let door = self.door(pool, range);
        let interface = match &ask {
            Ask::Take { holder, .. } | Ask::Release(holder) => Some(interface(holder)),
            Ask::Forget(..) => None,
        };
        let answer = door.ask(self.objects.as_ref(), ask, end);
        let answer = answer.map_err(|error| cannot(pool, &error))?;
        if let Some(interface) = interface {
            door.remember(interface, &answer);
        }
        Ok(answer)
    }

    /// The address a container's interface holds, as last seen, or else as read now.
    pub fn find(&self, pool: &str, holder: &Holder) -> Result<Option<IpAddr>, CniError> {
        let held = |ledger: &Ledger| ledger.held_for(&holder.claim()).map(|(address, _)| address);
        let door = self.door(pool, None);
        if let Some(address) = lock(&door.given).get(&interface(holder)) {
            return Ok(Some(*address));
        }
        // Who is at work holds the lock for as long as the cluster takes; reading is faster then.
        if let Ok(known) = door.known.try_lock()
            && let Some(address) = known.as_ref().and_then(|known| held(&known.ledger))
        {
            return Ok(Some(address));
        }
        let mut now = None;
        door.read(self.objects.as_ref(), &mut now).map_err(|error| cannot(pool, &error))?;
        Ok(now.and_then(|known| held(&known.ledger)))
    }

    /// Forgets a record that is of nobody, if it still says the same.
    pub fn forget(
        &self,
        pool: &str,
        address: IpAddr,
        record: &Allocation,
        end: Instant,
    ) -> Result<(), CniError> {
        self.ask(pool, None, Ask::Forget(address, record.clone()), end).map(|_| ())
    }

    fn door(&self, pool: &str, range: Option<&str>) -> Arc<Door> {
        let mut doors = lock(&self.doors);
        let door = doors.entry(pool.to_owned()).or_insert_with(|| {
            Arc::new(Door {
                name: pool.to_owned(),
                range: Mutex::new(None),
                queue: Mutex::new(Queue::default()),
                changed: Condvar::new(),
                known: Mutex::new(None),
                given: Mutex::default(),
            })
        });
        if let Some(range) = range {
            lock(&door.range).get_or_insert_with(|| range.to_owned());
        }
        Arc::clone(door)
    }
}

impl Door {
    fn ask(&self, objects: &dyn Objects, ask: Ask, end: Instant) -> Result<Answer, ObjectError> {
        let mut queue = lock(&self.queue);
        let ticket = queue.next;
        queue.next += 1;
        queue.waiting.push((ticket, end, ask));
        loop {
            if let Some(answer) = queue.answers.remove(&ticket) {
                return answer;
            }
            if !queue.is_led {
                queue.is_led = true;
                let count = queue.waiting.len().min(BATCH_MAX);
                let batch: Vec<_> = queue.waiting.drain(..count).collect();
                drop(queue);
                // Whatever happens to this thread, the door is left open behind it.
                let lead = Lead(self);
                let answers = self.run(objects, &batch);
                queue = lock(&self.queue);
                for ((ticket, ..), answer) in batch.iter().zip(answers) {
                    if !queue.gone.remove(ticket) {
                        queue.answers.insert(*ticket, answer);
                    }
                }
                drop(queue);
                drop(lead);
                queue = lock(&self.queue);
                continue;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let before = queue.waiting.len();
                queue.waiting.retain(|(waiting, ..)| *waiting != ticket);
                if queue.waiting.len() == before {
                    queue.gone.insert(ticket);
                }
                return Err(ObjectError::Unreachable("no answer in time".to_owned()));
            }
            let woken = self.changed.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn remember(&self, interface: (String, String), answer: &Answer) {
        let mut given = lock(&self.given);
        match answer {
            Answer::Given(address) => {
                // Addresses that stay are never released here; forgetting costs one reading each.
                if given.len() >= GIVEN_MAX {
                    given.clear();
                }
                given.insert(interface, address.addr());
            }
            Answer::Freed(_) => drop(given.remove(&interface)),
            Answer::Failed(_) => {}
        }
    }

    /// Serves a batch; as many answers as asks.
    fn run(
        &self,
        objects: &dyn Objects,
        batch: &[(u64, Instant, Ask)],
    ) -> Vec<Result<Answer, ObjectError>> {
        let end = batch.iter().map(|(_, end, _)| *end).max().unwrap_or_else(Instant::now);
        match self.settle(objects, batch, end) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn settle(
        &self,
        objects: &dyn Objects,
        batch: &[(u64, Instant, Ask)],
        end: Instant,
    ) -> Result<Vec<Answer>, ObjectError> {
        let mut state = lock(&self.known);
        let mut is_fresh = false;
        for attempt in 0..TRIES_MAX {
            let pause = Duration::from_millis(u64::from(attempt) * 5).min(PAUSE_MAX);
            let is_last = attempt + 1 == TRIES_MAX || Instant::now() + pause >= end;
            if attempt > 0 {
                std::thread::sleep(pause);
            }
            let outcome = self.attempt(objects, batch, &mut state, &mut is_fresh);
            match outcome {
                Ok(Some(answers)) => return Ok(answers),
                Ok(None) => {}
                Err(error @ ObjectError::Refused(_)) => {
                    *state = None;
                    return Err(error);
                }
                Err(error) => {
                    *state = None;
                    is_fresh = false;
                    if is_last {
                        return Err(error);
                    }
                }
            }
        }
        Err(ObjectError::Conflict("too many others write at the same time".to_owned()))
    }

    /// One try. `None`: the pool was read, try again.
    fn attempt(
        &self,
        objects: &dyn Objects,
        batch: &[(u64, Instant, Ask)],
        state: &mut Option<Known>,
        is_fresh: &mut bool,
    ) -> Result<Option<Vec<Answer>>, ObjectError> {
        if state.is_none() {
            self.read(objects, state)?;
            *is_fresh = true;
        }
        let takes = || batch.iter().any(|(.., ask)| matches!(ask, Ask::Take { .. }));
        if state.is_none() && takes() {
            let range = lock(&self.range).clone();
            let range = range.ok_or_else(|| {
                ObjectError::Refused(format!("IPPool {} is not there", self.name))
            })?;
            let pool = objects.create_pool(&self.name, &range)?;
            *state = Some(self.known(&pool)?);
        }
        let Some(known) = state.as_mut() else {
            return Ok(Some(batch.iter().map(|_| Answer::Freed(None)).collect()));
        };
        let (changes, answers) = serve(&mut known.ledger, batch.iter().map(|(.., ask)| ask));
        let operations = patch(&known.version, &changes);
        if operations.is_empty() {
            if *is_fresh {
                return Ok(Some(answers));
            }
            *state = None;
            return Ok(None);
        }
        // The patch insisted on the state the ledger was made from, so the ledger stands as the pool
        // does now.
        known.version = objects.patch_pool(&self.name, &operations)?;
        Ok(Some(answers))
    }

    fn read(&self, objects: &dyn Objects, state: &mut Option<Known>) -> Result<(), ObjectError> {
        *state = match objects.pool(&self.name)? {
            Some(pool) => Some(self.known(&pool)?),
            None => None,
        };
        Ok(())
    }

    fn known(&self, pool: &crate::objects::Pool) -> Result<Known, ObjectError> {
        let ledger = Ledger::read(&pool.spec)
            .map_err(|error| ObjectError::Refused(format!("IPPool {}: {error}", self.name)))?;
        if ledger.is_unaligned() {
            tracing::warn!(
                pool = self.name,
                range = pool.spec.range,
                "the range of this IPPool has host bits; upstream whereabouts miscounts in it"
            );
        }
        Ok(Known { version: pool.resource_version.clone(), ledger })
    }
}

/// Being the one at work, until dropped.
struct Lead<'a>(&'a Door);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        lock(&self.0.queue).is_led = false;
        self.0.changed.notify_all();
    }
}

fn interface(holder: &Holder) -> (String, String) {
    (holder.container_id.clone(), holder.ifname.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cannot(pool: &str, error: &ObjectError) -> CniError {
    let code = match error {
        ObjectError::Refused(_) => Code::INTERNAL,
        _ => Code::TRY_AGAIN,
    };
    Failure { pool: pool.to_owned(), why: error.clone(), code }.report("")
}

#[derive(Debug, thiserror::Error)]
#[error("error at storage engine: IPPool {pool}: {why}")]
struct Failure {
    pool: String,
    why: ObjectError,
    code: Code,
}

impl Coded for Failure {
    fn code(&self) -> Code {
        self.code
    }
}
