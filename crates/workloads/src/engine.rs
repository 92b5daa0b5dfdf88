//! Which items need a look, and what is under way.
//!
//! - An item is not looked at while one of its writes is under way.
//! - An answer is known before the item is looked at again. A write that was answered badly, or
//!   while the watch started over, is read back first.
//! - A write that fails is tried again, later each time; until one succeeds the item does one
//!   thing at a time.

mod concern;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use landbridge_controllers::mirror::{Epoch, Key};
use serde_json::Value;

use crate::action::{Action, Answer, Decision, Notice, Verb};
use crate::settings::Settings;
use crate::world::{Changed, News, World};
use crate::{daemon_set, deployment, endpoint_slices, nodes, replica_set, scheduler, stateful_set};

const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(50);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(30);
/// So many pods one item makes or deletes at once, as upstream.
const BURST: usize = 500;

/// What is looked at as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// Addresses for all nodes.
    Cidrs,
    /// A node by name, there or gone.
    Node(Arc<str>),
    /// All pods without a node.
    Schedule,
    /// A Deployment.
    Deployment(Key),
    /// A ReplicaSet.
    ReplicaSet(Key),
    /// A StatefulSet.
    StatefulSet(Key),
    /// A DaemonSet.
    DaemonSet(Key),
    /// The EndpointSlices of a Service.
    Service(Key),
    /// A pod that is being deleted and has no node that could confirm it.
    Lost(Key),
}

/// A write under way.
#[derive(Clone, Debug)]
pub struct Task {
    /// For whom.
    pub item: Item,
    /// What.
    pub action: Action,
    epoch: Epoch,
    known_at: Option<u64>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Engine {
    world: World,
    settings: Settings,
    ready: bool,
    dirty: BTreeSet<Item>,
    /// How many writes are under way.
    busy: HashMap<Item, usize>,
    failures: HashMap<Item, u32>,
    /// Who has failed since the last look, and is left alone until then.
    held: HashMap<Item, Timestamp>,
    /// What must be read back before an item is looked at again.
    unsure: HashMap<Item, Vec<Action>>,
    wakes: BTreeSet<(Timestamp, Item)>,
    wake_of: HashMap<Item, Timestamp>,
    notices: Vec<Notice>,
    /// What was last told without a write, and what failed last: not every time again.
    told: HashMap<Item, Vec<String>>,
}

impl Engine {
    /// An engine that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// What is known.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes news.
    pub fn tell(&mut self, news: News, now: Timestamp) {
        let changes = self.world.tell(news, now);
        if !self.ready && self.world.is_complete() {
            self.ready = true;
            for change in self.world.everything() {
                self.follow(&change);
            }
        }
        for change in changes {
            self.follow(&change);
        }
    }

    fn follow(&mut self, change: &Changed) {
        if self.ready {
            concern::concerned(&self.world, change, &mut self.dirty);
        }
    }

    /// When [`act`](Self::act) should be called again at the latest.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.wakes.first().map(|(at, _)| *at)
    }

    /// Whether nothing is to be done now, and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.dirty.is_empty() && self.busy.is_empty()
    }

    /// What people are to be told.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// What is to be written now: at least `room` writes if there are so many, or few more.
    pub fn act(&mut self, now: Timestamp, room: usize) -> Vec<Task> {
        let mut tasks = Vec::new();
        if !self.ready {
            return tasks;
        }
        while let Some((at, item)) = self.wakes.first().filter(|(at, _)| *at <= now).cloned() {
            self.wake_of.remove(&item);
            self.wakes.remove(&(at, item.clone()));
            self.dirty.insert(item);
        }
        let mut later = BTreeSet::new();
        while tasks.len() < room
            && let Some(item) = self.dirty.pop_first()
        {
            if self.busy.contains_key(&item) || self.waits(&item, now) {
                later.insert(item);
                continue;
            }
            self.held.remove(&item);
            let actions = match self.unsure.remove(&item) {
                Some(reads) => reads,
                None => self.look_at(&item, now),
            };
            if !actions.is_empty() {
                self.busy.insert(item.clone(), actions.len());
            }
            for action in actions {
                let epoch = self.world.epoch(action.kind);
                let known_at = self.world.known_at(action.kind, &action.key);
                tasks.push(Task { item: item.clone(), action, epoch, known_at });
            }
        }
        // Whoever waits for an answer, or for better times, is looked at then.
        for item in later {
            if self.busy.contains_key(&item) {
                self.dirty.insert(item);
            }
        }
        tasks
    }

    fn look_at(&mut self, item: &Item, now: Timestamp) -> Vec<Action> {
        let decision = self.decide(item, now);
        self.wake(item, decision.wake);
        self.tell_once(item, decision.notices);
        if decision.actions.is_empty() {
            self.failures.remove(item);
        }
        decision.actions
    }

    /// Whether the item has failed and is to be left alone for now.
    fn waits(&self, item: &Item, now: Timestamp) -> bool {
        self.held.get(item).is_some_and(|until| *until > now)
    }

    fn decide(&self, item: &Item, now: Timestamp) -> Decision {
        let world = &self.world;
        let room = if self.failures.contains_key(item) { 1 } else { BURST };
        match item {
            Item::Deployment(key) => deployment::decide(world, key, now),
            Item::ReplicaSet(key) => replica_set::decide(world, key, now, room),
            Item::StatefulSet(key) => stateful_set::decide(world, key, now, room),
            Item::DaemonSet(key) => daemon_set::decide(world, key, now, room),
            Item::Service(key) => endpoint_slices::decide(world, key),
            Item::Schedule => scheduler::decide(world, now),
            Item::Cidrs => nodes::decide_cidrs(world, &self.settings),
            Item::Node(name) => nodes::decide(world, name, now, &self.settings),
            Item::Lost(key) => nodes::decide_lost(world, key),
        }
    }

    fn wake(&mut self, item: &Item, at: Option<Timestamp>) {
        if let Some(old) = self.wake_of.remove(item) {
            self.wakes.remove(&(old, item.clone()));
        }
        if let Some(at) = at {
            self.wake_of.insert(item.clone(), at);
            self.wakes.insert((at, item.clone()));
        }
    }

    fn tell_once(&mut self, item: &Item, notices: Vec<Notice>) {
        if notices.is_empty() {
            if !self.failures.contains_key(item) {
                self.told.remove(item);
            }
            return;
        }
        let words: Vec<String> = notices.iter().map(|notice| notice.note.clone()).collect();
        if self.told.get(item) != Some(&words) {
            self.told.insert(item.clone(), words);
            self.notices.extend(notices);
        }
    }

    /// A write has ended.
    pub fn ended(&mut self, task: Task, answer: Answer, now: Timestamp) {
        let Task { item, action, epoch, known_at } = task;
        if let Some(count) = self.busy.get_mut(&item) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&item);
            }
        }
        self.dirty.insert(item.clone());
        let stale = epoch != self.world.epoch(action.kind);
        let changed = match answer {
            Answer::Failed(why) => {
                self.complain(&item, &action, &why);
                self.read_back(&item, &action);
                return self.retry(&item, now);
            }
            Answer::Now(_) | Answer::Lost(_) if stale => {
                self.read_back(&item, &action);
                None
            }
            Answer::Now(object) => {
                // A write that changes nothing is not repeated at once: it would be for ever.
                let reads = matches!(action.verb, Verb::Read(_));
                let idle = !reads && known_at.is_some() && revision(&object) == known_at;
                let changed = self.learn(&action, epoch, object, now);
                if idle {
                    return self.retry(&item, now);
                }
                changed
            }
            Answer::Lost(object) => {
                let changed = self.learn(&action, epoch, object, now);
                if let Some(changed) = changed {
                    self.follow(&changed);
                } else {
                    self.retry(&item, now); // the watch knows more, or will
                }
                return;
            }
            Answer::Gone => match uid_of(&action.verb) {
                Some(uid) => self.world.forget(action.kind, &action.key, uid),
                None => None,
            },
            Answer::Done => {
                if let Verb::Bind { uid, node } = &action.verb {
                    self.world.assume(&action.key, uid, node);
                }
                None
            }
        };
        if !self.held.contains_key(&item) {
            self.failures.remove(&item);
        }
        self.notices.extend(action.notice);
        if let Some(changed) = changed {
            self.follow(&changed);
        }
    }

    /// Reads an object before anything else is decided for this item.
    fn read_back(&mut self, item: &Item, action: &Action) {
        let verb = match &action.verb {
            Verb::Read(uid) => Verb::Read(uid.clone()),
            verb => Verb::Read(uid_of(verb).map(str::to_owned)),
        };
        let read = Action { verb, guard: None, notice: None, ..action.clone() };
        self.unsure.entry(item.clone()).or_default().push(read);
    }

    /// What an object has become, and whether another has taken its place.
    fn learn(
        &mut self,
        action: &Action,
        epoch: Epoch,
        object: Value,
        now: Timestamp,
    ) -> Option<Changed> {
        let current = object["metadata"]["uid"].as_str().unwrap_or_default();
        let meant = uid_of(&action.verb).filter(|meant| *meant != current);
        let gone = meant.and_then(|meant| self.world.forget(action.kind, &action.key, meant));
        if let Some(gone) = &gone {
            self.follow(gone);
        }
        self.world.learn(action.kind, epoch, object, now).or(gone)
    }

    /// Looks at an item again later: after so long, then after twice as long, and so on.
    fn retry(&mut self, item: &Item, now: Timestamp) {
        if self.held.contains_key(item) {
            return; // one of many that failed together
        }
        let failures = self.failures.entry(item.clone()).or_default();
        let wait = FIRST_RETRY.checked_mul(1 << (*failures).min(16)).unwrap_or(LONGEST_RETRY);
        *failures += 1;
        let at = now.checked_add(wait.min(LONGEST_RETRY)).unwrap_or(now);
        self.held.insert(item.clone(), at);
        self.wake(item, Some(at));
    }

    /// Tells that something could not be made.
    fn complain(&mut self, item: &Item, action: &Action, why: &str) {
        let (Verb::Create(_), Some(notice)) = (&action.verb, &action.notice) else { return };
        let notice = Notice {
            warning: true,
            reason: "FailedCreate",
            note: format!("Error creating: {why}"),
            ..notice.clone()
        };
        self.tell_once(item, vec![notice]);
    }
}

fn revision(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

fn uid_of(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Delete { uid, .. } | Verb::Bind { uid, .. } => Some(uid),
        Verb::Patch(patch) | Verb::PatchStatus(patch) => patch["metadata"]["uid"].as_str(),
        Verb::Read(uid) => uid.as_deref(),
        Verb::Create(_) => None,
    }
}
