//! What is to be written next, for every IPSet.
//!
//! ```text
//!            seen                         to do
//!  no finalizer                       ─▶  set it
//!  an address missing                 ─▶  claim it in the ledger, together with others
//!  Reservation missing or behind      ─▶  write it
//!  status behind                      ─▶  write it
//!  going away                         ─▶  let the Reservation go, then the IPSet
//!  gone, and its Reservation too      ─▶  free its addresses in the ledger
//! ```
//!
//! The engine looks at an IPSet whenever anything about it may have changed, and takes one step at
//! a time. What it decides depends only on what it has seen.
//!
//! | module | idea |
//! |---|---|
//! | [`messages`] | what goes in, and what comes out |
//! | `serve` | the next step for one IPSet |
//! | `obtain` | an address for one network |
//! | `supply` | what each subnet has left, and who waits for it |
//! | `dead` | who is gone for good |

pub(crate) mod dead;
pub mod messages;
mod obtain;
mod serve;
mod supply;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use self::dead::Dead;
pub use self::messages::{Action, Ended, News, Notice, Step, What};
use self::supply::Supply;
use super::ledger::{Effect, HOLDER, Ledger, Swap, Swapped};
use super::networks::Networks;
use super::seen::{Config, Record, Request};
use crate::mirror::{Key, Mirror, Told};

/// A write that fails is tried again after so long, then after twice as long, and so on.
const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(50);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(30);

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Engine {
    configs: Mirror<Config>,
    requests: Mirror<Request>,
    records: Mirror<Record>,
    ledger: Ledger,
    networks: HashMap<Arc<str>, Networks>,
    supply: Supply,
    dirty: BTreeSet<Key>,
    busy: HashSet<Key>,
    failures: HashMap<Key, u32>,
    retries: BTreeSet<(Timestamp, Key)>,
    dead: Dead,
    /// What people were last told about an IPSet.
    told: HashMap<Key, String>,
    notices: Vec<Notice>,
}

impl Engine {
    /// Takes news.
    pub fn tell(&mut self, news: News) {
        let before = self.is_ready();
        match news {
            News::Config(told) => {
                let changes = self.configs.tell(told);
                let namespaces: BTreeSet<_> =
                    changes.into_iter().map(|change| change.key.namespace).collect();
                for namespace in namespaces {
                    self.reconfigure(&namespace);
                }
            }
            News::Request(told) => {
                let farewell = matches!(told, Told::Deleted(_));
                for change in self.requests.tell(told) {
                    if farewell && let Some(request) = change.before {
                        self.dead.insert(request.uid);
                    }
                    self.dirty.insert(change.key);
                }
            }
            News::Record(told) => {
                for change in self.records.tell(told) {
                    self.dirty.insert(change.key);
                }
            }
            News::Block(told) => {
                let effects = self.ledger.tell(told);
                self.follow(&effects);
            }
        }
        if !before && self.is_ready() {
            self.dirty.extend(self.ledger.all_holders().cloned());
        }
    }

    /// Whether enough has been seen to decide anything.
    pub fn is_ready(&self) -> bool {
        self.configs.is_complete()
            && self.requests.is_complete()
            && self.records.is_complete()
            && self.ledger.is_complete()
    }

    /// When [`act`](Self::act) should be called again at the latest.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.retries.first().map(|(at, _)| *at)
    }

    /// Whether nothing is to be done, and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.dirty.is_empty() && self.busy.is_empty() && self.ledger.is_idle()
    }

    /// What is to be done now: at most `room` steps. What does not fit is decided later, by what is
    /// known then.
    pub fn act(&mut self, now: Timestamp, room: usize) -> Vec<Action> {
        if !self.is_ready() {
            return Vec::new();
        }
        while let Some((at, key)) = self.retries.first().filter(|(at, _)| *at <= now).cloned() {
            self.retries.remove(&(at, key.clone()));
            self.dirty.insert(key);
        }
        let mut actions = Vec::new();
        // Claims of one may wake others, in the same breath.
        while actions.len() < room {
            self.dirty.extend(self.supply.served_next().cloned());
            let mut batch = self.take_batch().into_iter();
            if batch.len() == 0 {
                break;
            }
            while actions.len() < room
                && let Some(key) = batch.next()
            {
                if let Some(what) = self.look_at(&key, now) {
                    self.busy.insert(key.clone());
                    let epochs = (self.requests.epoch(), self.records.epoch());
                    actions.push(Action::Step(Step { key, what, epochs }));
                }
            }
            self.dirty.extend(batch);
        }
        actions.extend(self.ledger.swaps().into_iter().map(Action::Swap));
        actions.extend(self.notices.drain(..).map(Action::Tell));
        actions
    }

    /// A swap has ended.
    pub fn swapped(&mut self, swap: &Swap, how: Swapped) {
        let effects = self.ledger.swapped(swap, how);
        self.follow(&effects);
    }

    /// A step has ended.
    pub fn ended(&mut self, step: &Step, how: Ended, now: Timestamp) {
        let key = &step.key;
        self.busy.remove(key);
        let (request, record) = match how {
            Ended::Failed(_) => return self.retry(key, now),
            Ended::Now(request, record) => {
                if request.is_none() && record.is_none() {
                    // Lost to a deletion that the watch will tell of; no need to hurry.
                    return self.retry(key, now);
                }
                (request, record)
            }
            Ended::Confirmed(request, record) => {
                if request.is_none() {
                    self.free_abandoned(step, record.as_ref());
                }
                (request, record)
            }
        };
        self.failures.remove(key);
        if let Some(request) = request {
            self.requests.learn(step.epochs.0, request);
        }
        if let Some(record) = record {
            self.records.learn(step.epochs.1, record);
        }
        self.dirty.insert(key.clone());
    }

    fn retry(&mut self, key: &Key, now: Timestamp) {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_RETRY.checked_mul(1 << (*failures).min(16)).unwrap_or(LONGEST_RETRY);
        *failures += 1;
        let at = now.checked_add(wait.min(LONGEST_RETRY)).unwrap_or(now);
        self.retries.insert((at, key.clone()));
    }

    /// Everybody to look at, oldest request first: who asked first is served first.
    fn take_batch(&mut self) -> Vec<Key> {
        let (busy, mut batch): (Vec<Key>, Vec<Key>) =
            std::mem::take(&mut self.dirty).into_iter().partition(|key| self.busy.contains(key));
        self.dirty = busy.into_iter().collect();
        batch.sort_by_cached_key(|key| self.requests.get(key).map(|request| request.created));
        batch
    }

    /// A NetConfig came, changed or went: resolves it anew, and looks at everybody it concerns.
    fn reconfigure(&mut self, namespace: &Arc<str>) {
        // There should be one. If there are several, the first by name counts, always.
        let configs = self.configs.iter().filter(|config| config.key.namespace == *namespace);
        let config = configs.min_by(|a, b| a.key.name.cmp(&b.key.name));
        let networks = config.map(Networks::new);
        self.supply.replace(namespace, networks.as_ref(), &self.ledger);
        match networks {
            Some(networks) => self.networks.insert(namespace.clone(), networks),
            None => self.networks.remove(namespace),
        };
        let concerned = self.requests.iter().map(|request| &request.key);
        let concerned = concerned.chain(self.records.iter().map(|record| &record.key));
        self.dirty.extend(concerned.filter(|key| key.namespace == *namespace).cloned());
    }

    /// Passes on to pools and IPSets what became different in the ledger.
    fn follow(&mut self, effects: &[Effect]) {
        for Effect { place, before, after } in effects {
            if after.is_some() {
                self.supply.take(place);
            } else {
                self.dirty.extend(self.supply.release(place).cloned());
            }
            for claim in [before, after].into_iter().flatten().filter(|c| c.kind == HOLDER) {
                self.dirty.insert(Key::new(&claim.namespace, &claim.name));
            }
        }
    }
}
