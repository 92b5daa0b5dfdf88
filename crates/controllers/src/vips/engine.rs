//! What is to be written next, for every Service.
//!
//! ```text
//!            seen                                     to do
//!  the rules give other addresses than it has     ─▶  claim them in the ledger
//!  claimed, and the status says something else    ─▶  write the status
//!  the status says it, and more is claimed        ─▶  free what no status can name any more
//!  gone                                           ─▶  free everything
//! ```
//!
//! The engine looks at a Service whenever anything about it may have changed, and takes one step at a
//! time. Services that have an address come before those that have none, so a restart takes nothing
//! away from anybody. What the [rules](landbridge_vips) know of is exactly what the ledger says,
//! swaps under way included.
//!
//! | module | idea |
//! |---|---|
//! | [`messages`] | what goes in, and what comes out |
//! | `serve` | the next step for one Service |
//! | `follow` | what a change of the ledger means for the rules |
//! | `report` | pools and configuration: what their status says |

mod follow;
pub mod messages;
mod report;
mod serve;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use landbridge_plan::Site;
use landbridge_vips::{Allocator, Config, NAMESPACE, figures};

pub use self::messages::{Action, Ended, News, Notice, Step, What};
use self::report::Reports;
use super::claims::HOLDER;
use super::seen::{Namespace, Pool, Service};
use crate::ipam::engine::dead::Dead;
use crate::ipam::ledger::{Ledger, Place, Swap, Swapped};
use crate::mirror::{Key, Mirror, Told};

/// A write that fails is tried again after so long, then after twice as long, and so on.
const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(50);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(30);

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    services: Mirror<Service>,
    pools: Mirror<Pool>,
    namespaces: Mirror<Namespace>,
    ledger: Ledger,
    /// Which wires pools are on; `None` until it was told.
    sites: Option<BTreeMap<String, Vec<Site>>>,
    /// Pools or namespaces changed, so the configuration has to be read again.
    unread: bool,
    allocator: Allocator,
    dirty: BTreeSet<Key>,
    busy: HashSet<Key>,
    failures: HashMap<Key, u32>,
    retries: BTreeSet<(Timestamp, Key)>,
    /// Who could not be given what it wants.
    waiting: BTreeSet<Key>,
    /// Who waits for the answer to a swap.
    awaiting: HashMap<Place, BTreeSet<Key>>,
    /// The revision of a Service for which the ledger was read anew.
    refreshed: HashMap<Key, u64>,
    dead: Dead,
    /// What people were last told about a Service.
    told: HashMap<Key, String>,
    notices: Vec<Notice>,
    reports: Reports,
    counters: figures::Counters,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            services: Mirror::default(),
            pools: Mirror::default(),
            namespaces: Mirror::default(),
            ledger: Ledger::of_kind(HOLDER),
            sites: None,
            unread: false,
            allocator: Allocator::default(),
            dirty: BTreeSet::new(),
            busy: HashSet::new(),
            failures: HashMap::new(),
            retries: BTreeSet::new(),
            waiting: BTreeSet::new(),
            awaiting: HashMap::new(),
            refreshed: HashMap::new(),
            dead: Dead::default(),
            told: HashMap::new(),
            notices: Vec::new(),
            reports: Reports::default(),
            counters: figures::Counters::default(),
        }
    }
}

impl Engine {
    /// Takes news.
    pub fn tell(&mut self, news: News) {
        let before = self.has_seen_all();
        match news {
            News::Service(told) => {
                let farewell = matches!(told, Told::Deleted(_));
                for change in self.services.tell(told) {
                    if farewell && let Some(service) = change.before {
                        self.dead.insert(service.uid);
                    }
                    self.dirty.insert(change.key);
                }
            }
            News::Pool(told) => {
                let changes = self.pools.tell(told);
                for change in changes {
                    self.reports.touch(&change.key.name);
                    let spec = self.pools.get(&change.key).map(|pool| &pool.spec);
                    self.unread |= change.before.as_ref().map(|pool| &pool.spec) != spec;
                }
            }
            News::Namespace(told) => {
                let changes = self.namespaces.tell(told);
                self.unread |= !changes.is_empty();
            }
            News::Block(told) => {
                let effects = self.ledger.tell(told);
                self.follow(&effects);
            }
            News::Sites(sites) => {
                if self.sites.as_ref() != Some(&sites) {
                    self.sites = Some(sites);
                    self.find_strangers();
                    self.look_at_all();
                }
            }
        }
        if !before && self.has_seen_all() {
            self.unread = true;
            self.look_at_all();
        }
    }

    /// Whether enough has been seen to decide anything.
    pub fn is_ready(&self) -> bool {
        self.has_seen_all() && self.counters.config_loaded
    }

    fn has_seen_all(&self) -> bool {
        self.services.is_complete()
            && self.pools.is_complete()
            && self.namespaces.is_complete()
            && self.ledger.is_complete()
            && self.sites.is_some()
    }

    /// When [`act`](Self::act) should be called again at the latest.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let retry = self.retries.first().map(|(at, _)| *at);
        [retry, self.reports.wake_at()].into_iter().flatten().min()
    }

    /// Whether nothing is to be done, and nothing under way.
    pub fn is_idle(&self) -> bool {
        // Without pools that make sense nothing is decided, and that may last.
        (self.dirty.is_empty() || !self.counters.config_loaded)
            && self.busy.is_empty()
            && self.ledger.is_idle()
            && self.reports.is_idle()
            && !self.unread
    }

    /// MetalLB's metrics of allocation.
    pub fn metrics(&self) -> String {
        figures::metrics(&self.allocator, self.counters)
    }

    /// What is used by whom.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// What is to be done now: at most `room` steps, and what goes with them.
    pub fn act(&mut self, now: Timestamp, room: usize) -> Vec<Action> {
        if !self.has_seen_all() {
            return Vec::new();
        }
        if std::mem::take(&mut self.unread) {
            self.configure();
        }
        let mut actions = Vec::new();
        if self.is_ready() {
            self.steps(now, room, &mut actions);
        }
        actions.extend(self.ledger.swaps().into_iter().map(Action::Swap));
        actions.extend(self.notices.drain(..).map(Action::Tell));
        let pools = Some(&self.pools).filter(|_| !self.counters.config_stale);
        self.reports.act(now, pools, &self.allocator, &mut actions);
        actions
    }

    fn steps(&mut self, now: Timestamp, room: usize, actions: &mut Vec<Action>) {
        while let Some((at, key)) = self.retries.first().filter(|(at, _)| *at <= now).cloned() {
            self.retries.remove(&(at, key.clone()));
            self.dirty.insert(key);
        }
        while actions.len() < room {
            let mut batch = self.take_batch().into_iter();
            if batch.len() == 0 {
                break;
            }
            while actions.len() < room
                && let Some(key) = batch.next()
            {
                if let Some((uid, what)) = self.look_at(&key) {
                    self.busy.insert(key.clone());
                    let epochs = (self.services.epoch(), self.ledger.epoch());
                    actions.push(Action::Step(Step { key, uid, what, epochs }));
                }
            }
            self.dirty.extend(batch);
        }
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
        let service = match how {
            Ended::Failed(_) => {
                self.counters.update_errors += 1;
                return self.retry(key, now);
            }
            Ended::Done(service) => {
                self.counters.updates += 1;
                self.tell_of_success(step);
                Some(service)
            }
            // Lost to a deletion that the watch will tell of; no need to hurry.
            Ended::Lost(None) => return self.retry(key, now),
            Ended::Lost(service) => service,
            Ended::Confirmed(service) => {
                self.free_abandoned(step, service.as_ref());
                service
            }
            Ended::Refreshed(blocks) => {
                for block in blocks {
                    let effects = self.ledger.refreshed(step.epochs.1, block);
                    self.follow(&effects);
                }
                if let What::Refresh { revision, .. } = step.what {
                    self.refreshed.insert(key.clone(), revision);
                }
                None
            }
        };
        self.failures.remove(key);
        if let Some(service) = service {
            self.services.learn(step.epochs.0, service);
        }
        self.dirty.insert(key.clone());
    }

    /// The status of a pool was written, or could not be.
    pub fn reported(&mut self, pool: &Key, done: bool, now: Timestamp) {
        self.reports.reported(pool, done, now);
    }

    /// The state of the configuration was written, or could not be.
    pub fn configured(&mut self, done: bool, now: Timestamp) {
        self.reports.configured(done, now);
    }

    fn retry(&mut self, key: &Key, now: Timestamp) {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_RETRY.checked_mul(1 << (*failures).min(16)).unwrap_or(LONGEST_RETRY);
        *failures += 1;
        let at = now.checked_add(wait.min(LONGEST_RETRY)).unwrap_or(now);
        self.retries.insert((at, key.clone()));
    }

    /// Everybody to look at: those who have an address first, then the oldest.
    fn take_batch(&mut self) -> Vec<Key> {
        let (busy, mut batch): (Vec<Key>, Vec<Key>) =
            std::mem::take(&mut self.dirty).into_iter().partition(|key| self.busy.contains(key));
        self.dirty = busy.into_iter().collect();
        batch.sort_by_cached_key(|key| {
            self.services.get(key).map(|service| (service.ingress.is_empty(), service.created))
        });
        batch
    }

    /// Reads the pools again. What does not make sense is reported, and the pools stay as they were.
    fn configure(&mut self) {
        let namespaces: Vec<landbridge_vips::Namespace> = self
            .namespaces
            .iter()
            .map(|namespace| landbridge_vips::Namespace {
                name: namespace.key.name.to_string(),
                labels: namespace.labels.clone(),
            })
            .collect();
        let pools = self.pools.iter().filter(|pool| &*pool.key.namespace == NAMESPACE);
        let pools = pools.map(|pool| (&*pool.key.name, &*pool.spec));
        match Config::read(pools, &namespaces) {
            Ok(config) => {
                let was_stale = std::mem::take(&mut self.counters.config_stale);
                self.reports.say(None);
                let is_same = config == *self.allocator.config();
                if self.counters.config_loaded && is_same && !was_stale {
                    return;
                }
                self.counters.config_loaded = true;
                self.reports.touch_all(config.pools().map(|pool| &*pool.name));
                self.allocator.configure(config);
                self.find_strangers();
                self.look_at_all();
            }
            Err(why) => {
                self.counters.config_stale = true;
                self.reports.say(Some(why));
            }
        }
    }

    fn look_at_all(&mut self) {
        self.dirty.extend(self.services.iter().map(|service| service.key.clone()));
        self.dirty.extend(self.ledger.all_holders().cloned());
    }
}
