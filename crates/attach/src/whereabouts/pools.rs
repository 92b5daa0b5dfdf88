//! One door per pool: who comes while the cluster is being asked waits, and all who wait go through
//! together in one patch.
//!
//! ```text
//!   thread ─ask─▶ waiting ──┐ the first one finds nobody at work and leads:
//!   thread ─ask─▶ waiting ──┼─▶ serve(all) ─▶ one JSON patch ─▶ answers ─▶ everybody wakes
//!   thread ─ask─▶ waiting ──┘ on a conflict: read the pool, serve all of them again
//! ```
//!
//! What IPSets may have, too, is claimed in their ledger before the patch and freed after it (see
//! [`crate::claims`]), also for all of a batch together.
//!
//! The reservations of what is given are made while the patch is. When the patch turns out to be too late,
//! and another address is given, they go back; so they wait for the patch for a while after others have
//! been at the pool.
//!
//! There is no lock in the cluster: the patch insists on the state of the pool it was made from.
//! An answer counts only when that state was confirmed after the ask came: by the patch, or by
//! reading. A patch whose answer is lost is found done, or not, by reading.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use landbridge_addr::net::Range;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::whereabouts::{Allocation, Change, Ledger, patch};

use super::batch::{Answer, Ask, Holder, Others, serve};
use super::underway::Batch;
use crate::claims::edits::Wants;
use crate::claims::{Claims, Put, Share};
use crate::objects::{ObjectError, Objects};

/// How many asks go into one patch.
const BATCH_MAX: usize = 256;
/// How often a batch is tried against other writers.
const TRIES_MAX: u32 = 100;
/// How many addresses are remembered per pool; a node has some hundred pods.
const GIVEN_MAX: usize = 16 << 10;
/// How long nothing is made beside a patch after another writer came first.
const CALM_AFTER: Duration = Duration::from_secs(10);
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The doors of all pools.
pub struct Pools {
    objects: Arc<dyn Objects>,
    claims: Claims,
    doors: Mutex<BTreeMap<String, Arc<Door>>>,
}

struct Door {
    name: String,
    /// The range a new pool is made with; unknown to who only frees.
    range: Mutex<Option<String>>,
    queue: Mutex<Queue>,
    changed: Condvar,
    known: Mutex<Option<Known>>,
    /// When another writer last came first.
    disturbed: Mutex<Option<Instant>>,
    /// What this process has given, by container and interface: where a release begins to look
    /// while somebody else is at work.
    given: Mutex<BTreeMap<(String, String), IpAddr>>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: Vec<(u64, Instant, Ask)>,
    answers: BTreeMap<u64, Result<Served, ObjectError>>,
    /// Who did not wait for the answer.
    gone: BTreeSet<u64>,
    is_led: bool,
}

/// What came of an ask, and of the reservation that belongs to it.
#[derive(Clone, Debug)]
pub struct Served {
    /// What came of it.
    pub answer: Answer,
    /// The state of the reservation that was made with it; `None` when it is still to be made.
    pub reservation: Option<String>,
}

/// The pool as it was when we last saw it.
struct Known {
    version: String,
    ledger: Ledger,
}

impl Pools {
    /// No pool is known yet.
    pub fn new(objects: Arc<dyn Objects>) -> Self {
        let claims = Claims::new(Arc::clone(&objects));
        Self { objects, claims, doors: Mutex::new(BTreeMap::new()) }
    }

    /// The ledger of IPSets.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Asks a pool, which is made with this range when there is none. Waits no longer than until
    /// `end`; whether the ask was served after that is not known.
    pub fn ask(
        &self,
        pool: &str,
        range: Option<&str>,
        ask: Ask,
        end: Instant,
    ) -> Result<Served, CniError> {
        let door = self.door(pool, range);
        let interface = match &ask {
            Ask::Take { holder, .. } | Ask::Release(holder) => Some(interface(holder)),
            Ask::Forget(..) => None,
        };
        let served = door.ask(&self.cluster(), ask, end);
        let served = served.map_err(|error| cannot(pool, &error))?;
        if let Some(interface) = interface {
            door.remember(interface, &served.answer);
        }
        Ok(served)
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

    fn cluster(&self) -> Cluster<'_> {
        Cluster { objects: self.objects.as_ref(), claims: &self.claims }
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
                disturbed: Mutex::default(),
                given: Mutex::default(),
            })
        });
        if let Some(range) = range {
            lock(&door.range).get_or_insert_with(|| range.to_owned());
        }
        Arc::clone(door)
    }
}

/// What a door works on.
#[derive(Clone, Copy)]
struct Cluster<'a> {
    objects: &'a dyn Objects,
    claims: &'a Claims,
}

impl Others for Claims {
    fn holder(&self, share: &Share, address: IpAddr) -> Option<String> {
        self.other(share, address).map(|claim| claim.to_string())
    }

    fn within(&self, share: &Share, bounds: Range) -> BTreeMap<IpAddr, String> {
        let found = self.others_within(share, bounds);
        found.into_iter().map(|(address, claim)| (address, claim.to_string())).collect()
    }
}

impl Door {
    fn ask(&self, cluster: &Cluster<'_>, ask: Ask, end: Instant) -> Result<Served, ObjectError> {
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
                let answers = self.run(cluster, &batch);
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
        cluster: &Cluster<'_>,
        asks: &[(u64, Instant, Ask)],
    ) -> Vec<Result<Served, ObjectError>> {
        let end = asks.iter().map(|(_, end, _)| *end).max().unwrap_or_else(Instant::now);
        let (made, reserved) = (Wants::new(), BTreeMap::new());
        let mut batch = Batch { asks, end, made, reserved, is_sure: false };
        match self.settle(cluster, &mut batch) {
            Ok(answers) => {
                // Still at the door: whoever comes next finds the ledger as it should be.
                batch.clean_up(cluster.objects, cluster.claims, &answers);
                let served = batch.asks().zip(answers).map(|(ask, answer)| {
                    let reservation = batch.reserved_for(ask, &answer);
                    Ok(Served { answer, reservation })
                });
                served.collect()
            }
            // What was claimed and reserved stays: the patch may have been made. Reconcile finds out.
            Err(error) => asks.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Whether nobody else has been at the pool for a while.
    fn is_calm(&self) -> bool {
        lock(&self.disturbed).is_none_or(|since| since.elapsed() >= CALM_AFTER)
    }

    fn settle(
        &self,
        cluster: &Cluster<'_>,
        batch: &mut Batch<'_>,
    ) -> Result<Vec<Answer>, ObjectError> {
        let end = batch.end;
        let mut state = lock(&self.known);
        let mut is_fresh = false;
        for attempt in 0..TRIES_MAX {
            let pause = Duration::from_millis(u64::from(attempt) * 5).min(PAUSE_MAX);
            let is_last = attempt + 1 == TRIES_MAX || Instant::now() + pause >= end;
            if attempt > 0 {
                std::thread::sleep(pause);
            }
            let outcome = self.attempt(cluster, batch, &mut state, &mut is_fresh);
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
        cluster: &Cluster<'_>,
        batch: &mut Batch<'_>,
        state: &mut Option<Known>,
        is_fresh: &mut bool,
    ) -> Result<Option<Vec<Answer>>, ObjectError> {
        let objects = cluster.objects;
        if state.is_none() {
            self.read(objects, state)?;
            *is_fresh = true;
        }
        let takes = || batch.asks().any(|ask| matches!(ask, Ask::Take { .. }));
        if state.is_none() && takes() {
            let range = lock(&self.range).clone();
            let range = range.ok_or_else(|| {
                ObjectError::Refused(format!("IPPool {} is not there", self.name))
            })?;
            let pool = objects.create_pool(&self.name, &range)?;
            *state = Some(self.known(&pool)?);
        }
        let Some(known) = state.as_mut() else {
            return Ok(Some(batch.asks().map(|_| Answer::Freed(None)).collect()));
        };
        let (changes, answers) = choose(&mut known.ledger, cluster.claims, batch)?;
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
        let beside = if self.is_calm() { batch.unreserved(&answers) } else { Vec::new() };
        let (patched, reserved) = objects.patch_and_reserve(&self.name, &operations, &beside);
        for ((name, wanted), made) in beside.into_iter().zip(reserved) {
            // One that is there already, or of which nothing is known, is looked after by who asked.
            if let Ok(version) = made {
                batch.reserved.insert(name, (wanted.containerid, version));
            }
        }
        if patched.as_ref().is_err_and(ObjectError::is_conflict) {
            *lock(&self.disturbed) = Some(Instant::now());
        }
        known.version = patched?;
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

/// Serves a batch on the pool and claims what IPSets may have, too. What turns out to be somebody
/// else's is passed over, until all that is given is claimed.
fn choose(
    ledger: &mut Ledger,
    claims: &Claims,
    batch: &mut Batch<'_>,
) -> Result<(Vec<Change>, Vec<Answer>), ObjectError> {
    loop {
        let moved = batch.moved(ledger, claims);
        let (changes, answers) = serve(ledger, batch.asks(), claims);
        let doubts: Vec<&Share> = batch.refused(&answers).chain(moved).collect();
        if !batch.is_sure && !doubts.is_empty() {
            for share in doubts {
                claims.doubt(share);
            }
            batch.is_sure = true;
        } else {
            let wants = batch.wants(&answers);
            if claims.put(&wants, &mut batch.made, batch.end)? == Put::All {
                return Ok((changes, answers));
            }
            if Instant::now() >= batch.end {
                let text = "no address that nobody else claims was found in time".to_owned();
                return Err(ObjectError::Conflict(text));
            }
        }
        for change in changes.into_iter().rev() {
            ledger.apply(&change.inverse());
        }
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
