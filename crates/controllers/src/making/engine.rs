//! Which objects need a look, what is written for them, and what is under way.
//!
//! - An object is not looked at while one of its writes is under way.
//! - A write that fails, or changes nothing, is tried again later each time; what the API said stands
//!   in the conditions meanwhile.
//! - What is decided depends only on what was seen, so a controller that dies anywhere, or runs
//!   twice, ends in the same state.
//! - An object goes in stages. What was created and may not have been seen is read before the first.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use landbridge_machinery::object;
use serde_json::{Value, json};

use super::Domain;
use super::kinds::Kind;
use super::plan::{Context, Errors, Plan};
use super::unsure::Unsure;
use super::world::{Changed, News, Spot, World};
use super::writes::{Action, Verb, next_stage, writes};
use crate::mirror::{Epoch, Key};

const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(50);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(30);

static NO_ERRORS: Errors = Errors::new();

/// A write under way.
#[derive(Clone, Debug)]
pub struct Task {
    /// For which object.
    pub item: Spot,
    /// What.
    pub action: Action,
    epoch: Epoch,
    known_at: u64,
}

/// What became of a write.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object is now so.
    Now(Value),
    /// Somebody else was faster: the object is now so, or not there.
    Lost(Option<Value>),
    /// The object is gone, or going.
    Gone,
    /// People were told.
    Told,
    /// Not done, and why.
    Failed(String),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    domain: Arc<dyn Domain>,
    world: World,
    is_ready: bool,
    dirty: BTreeSet<Spot>,
    /// How many writes are under way.
    busy: HashMap<Spot, usize>,
    failures: HashMap<Spot, u32>,
    held: HashMap<Spot, Timestamp>,
    wakes: BTreeSet<(Timestamp, Spot)>,
    /// Uids of what was deleted, until the watch tells: nothing is deleted twice.
    doomed: HashSet<String>,
    /// What could not be written for an object.
    errors: HashMap<Spot, Errors>,
    unsure: Unsure,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(domain: Arc<dyn Domain>) -> Self {
        Self {
            domain,
            world: World::default(),
            is_ready: false,
            dirty: BTreeSet::new(),
            busy: HashMap::new(),
            failures: HashMap::new(),
            held: HashMap::new(),
            wakes: BTreeSet::new(),
            doomed: HashSet::new(),
            errors: HashMap::new(),
            unsure: Unsure::default(),
        }
    }

    /// What is known.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes news.
    pub fn tell(&mut self, news: News) {
        let changes = self.world.tell(news);
        if !self.is_ready && self.world.is_complete(self.domain.kinds()) {
            self.is_ready = true;
            self.dirty.extend(self.world.spots(|kind| self.domain.is_planned(kind)));
        }
        for change in &changes {
            self.follow(change);
        }
    }

    /// When [`act`](Self::act) should be called again at the latest.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.wakes.first().map(|(at, _)| *at)
    }

    /// Whether nothing is to be done, and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.dirty.is_empty() && self.busy.is_empty() && self.wakes.is_empty()
    }

    /// What is to be written now: at least `room` writes if there are so many, or few more.
    pub fn act(&mut self, now: Timestamp, room: usize) -> Vec<Task> {
        let mut tasks = Vec::new();
        if !self.is_ready {
            return tasks;
        }
        while let Some((at, item)) = self.wakes.first().filter(|(at, _)| *at <= now).cloned() {
            self.wakes.remove(&(at, item.clone()));
            if self.held.get(&item).is_some_and(|until| *until <= now) {
                self.held.remove(&item);
            }
            self.dirty.insert(item);
        }
        let mut later = BTreeSet::new();
        while tasks.len() < room
            && let Some(item) = self.dirty.pop_first()
        {
            if self.busy.contains_key(&item) {
                later.insert(item);
                continue;
            }
            if self.held.contains_key(&item) {
                continue; // its time wakes it
            }
            let mut actions = self.decide(&item, now);
            actions.retain(|action| match &action.verb {
                Verb::Delete { uid } => !self.doomed.contains(uid),
                _ => true,
            });
            if actions.is_empty() {
                self.failures.remove(&item);
                continue;
            }
            self.busy.insert(item.clone(), actions.len());
            for action in actions {
                let epoch = self.world.epoch(action.kind);
                let known_at = self.revision(&action);
                tasks.push(Task { item: item.clone(), action, epoch, known_at });
            }
        }
        self.dirty.extend(later);
        tasks
    }

    /// The plan for an object as things are; `None` when nothing is to be planned for it.
    pub fn plan(&self, item: &Spot, now: Timestamp) -> Option<Plan> {
        let (kind, key) = item;
        let owner = self.world.at(*kind, key).filter(|_| self.domain.is_planned(*kind))?;
        Some(self.domain.plan(&self.context(item, owner, now)))
    }

    fn context<'a>(&'a self, item: &Spot, owner: &'a Arc<Value>, now: Timestamp) -> Context<'a> {
        Context {
            world: &self.world,
            owner,
            kind: item.0,
            errors: self.errors_of(item),
            now,
            manager: self.domain.manager(),
        }
    }

    fn decide(&mut self, item: &Spot, now: Timestamp) -> Vec<Action> {
        let (kind, key) = item;
        let Some(owner) = self.world.at(*kind, key) else {
            self.errors.remove(item);
            self.unsure.forget(item);
            return Vec::new();
        };
        let finalizer = finalizer(*kind);
        let finalizers = object::finalizers(owner);
        if object::is_terminating(owner) {
            if !finalizers.iter().any(|other| is_own(*kind, other)) {
                return Vec::new();
            }
            let reads = self.unsure.reads(item);
            return if reads.is_empty() { take_away(&self.world, *kind, owner) } else { reads };
        }
        if !finalizers.contains(&finalizer.as_str()) {
            let all: Vec<&str> = finalizers.into_iter().chain([finalizer.as_str()]).collect();
            return vec![finalizers_patch(*kind, owner, &all)];
        }
        let Some(plan) = self.plan(item, now) else { return Vec::new() };
        let mut actions = writes(&self.context(item, owner, now), &plan);
        // What is wanted is created again, and known then. The rest has to be read before anything goes.
        if actions.iter().any(|action| matches!(action.verb, Verb::Delete { .. })) {
            let mut reads = self.unsure.reads(item);
            reads.retain(|read| {
                !actions.iter().any(|action| action.kind == read.kind && action.key == read.key)
            });
            if !reads.is_empty() {
                actions.retain(|action| !matches!(action.verb, Verb::Delete { .. }));
                actions.extend(reads);
            }
        }
        // What need not be written any more is no error any more, whoever has written it.
        if let Some(errors) = self.errors.get_mut(item) {
            let before = errors.len();
            errors.retain(|(kind, key), _| {
                actions.iter().any(|action| action.kind == *kind && action.key == *key)
            });
            if errors.len() < before {
                return self.decide(item, now);
            }
        }
        actions
    }

    fn errors_of(&self, item: &Spot) -> &Errors {
        self.errors.get(item).unwrap_or(&NO_ERRORS)
    }

    fn revision(&self, action: &Action) -> u64 {
        self.world.at(action.kind, &action.key).map_or(0, |live| revision_of(live))
    }

    /// A write has ended.
    pub fn ended(&mut self, task: &Task, answer: Answer, now: Timestamp) {
        let Task { item, action, epoch, known_at } = task;
        if let Some(count) = self.busy.get_mut(item) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(item);
            }
        }
        self.dirty.insert(item.clone());
        let spot = (action.kind, action.key.clone());
        let is_read = matches!(action.verb, Verb::Read);
        let said = match &answer {
            Answer::Now(object) | Answer::Lost(Some(object)) => Some(revision_of(object)),
            Answer::Lost(None) if is_read => Some(0),
            Answer::Lost(None) | Answer::Gone | Answer::Told | Answer::Failed(_) => None,
        };
        match answer {
            Answer::Failed(why) => {
                if matches!(action.verb, Verb::Create(_) | Verb::Update(_)) {
                    self.errors.entry(item.clone()).or_default().insert(spot.clone(), why);
                }
                self.retry(item, now);
            }
            Answer::Now(object) => {
                if let Some(errors) = self.errors.get_mut(item) {
                    errors.remove(&spot);
                }
                let revision = revision_of(&object);
                let changed = self.world.learn(action.kind, *epoch, object);
                // A write that changes nothing, or that is not seen, is not repeated at once.
                if revision == *known_at || self.revision(action) < revision {
                    self.retry(item, now);
                } else if !self.held.contains_key(item) {
                    self.failures.remove(item);
                }
                if let Some(changed) = changed {
                    self.follow(&changed);
                }
            }
            Answer::Lost(Some(object)) => {
                if let Some(changed) = self.world.learn(action.kind, *epoch, object) {
                    self.follow(&changed);
                } else if !is_read || said > Some(self.revision(action)) {
                    self.retry(item, now); // the watch knows more, or will
                }
            }
            Answer::Gone => {
                // The watch will tell, and wake whoever waits for it.
                if let Verb::Delete { uid } = &action.verb
                    && self.world.at(action.kind, &action.key).is_some()
                {
                    self.doomed.insert(uid.clone());
                }
            }
            Answer::Told => {}
            Answer::Lost(None) if is_read => {}
            // The watch will tell.
            Answer::Lost(None) => self.retry(item, now),
        }
        if is_read || matches!(action.verb, Verb::Create(_)) {
            if said.is_some_and(|said| said <= self.revision(action)) {
                self.unsure.settle(item, &spot);
            } else {
                self.unsure.doubt(item, spot);
            }
        }
    }

    /// Looks at an object again later: after so long, then after twice as long, and so on.
    fn retry(&mut self, item: &Spot, now: Timestamp) {
        if self.held.contains_key(item) {
            return; // one of many that failed together
        }
        let failures = self.failures.entry(item.clone()).or_default();
        let wait = FIRST_RETRY.checked_mul(1 << (*failures).min(16)).unwrap_or(LONGEST_RETRY);
        *failures += 1;
        let at = now.checked_add(wait.min(LONGEST_RETRY)).unwrap_or(now);
        self.held.insert(item.clone(), at);
        self.wakes.insert((at, item.clone()));
    }

    /// Looks at everybody a change concerns.
    fn follow(&mut self, change: &Changed) {
        let Changed { spot: (kind, key), before, after } = change;
        for object in [before, after].into_iter().flatten() {
            let uid = object::uid(object);
            let is_there = after.as_ref().is_some_and(|after| object::uid(after) == uid);
            if !is_there || object::is_terminating(object) {
                self.doomed.remove(uid);
            }
        }
        if !self.is_ready {
            return;
        }
        if self.domain.is_planned(*kind) {
            self.dirty.insert((*kind, key.clone()));
        }
        for object in [before, after].into_iter().flatten() {
            for owner in object::owner_references(object) {
                let part = |field: &str| owner[field].as_str().unwrap_or_default();
                let kind = Kind::find(part("kind"));
                if let Some(kind) = kind.filter(|kind| self.domain.is_planned(*kind)) {
                    self.dirty.insert((kind, Key::new(&key.namespace, part("name"))));
                }
            }
        }
        self.dirty.extend(self.domain.concerned(&self.world, change));
    }
}

fn revision_of(object: &Value) -> u64 {
    object::resource_version(object).parse().unwrap_or(0)
}

/// The mark by which an object stays until everything made of it is gone, as upstream writes it.
pub fn finalizer(kind: Kind) -> String {
    format!("openstack.org/{}", kind.name().to_ascii_lowercase())
}

/// Whether it is that mark, as it is written today or as the first generation wrote it.
fn is_own(kind: Kind, mark: &str) -> bool {
    mark == finalizer(kind) || mark == kind.name()
}

/// Takes away what was made of an object, one stage after the other; then lets it go.
fn take_away(world: &World, kind: Kind, owner: &Value) -> Vec<Action> {
    if let Some(deletions) = next_stage(world, kind, object::uid(owner), |_, _| false) {
        return deletions;
    }
    let others: Vec<&str> =
        object::finalizers(owner).into_iter().filter(|other| !is_own(kind, other)).collect();
    vec![finalizers_patch(kind, owner, &others)]
}

fn finalizers_patch(kind: Kind, owner: &Value, finalizers: &[&str]) -> Action {
    let patch = json!({"metadata": {
        "resourceVersion": object::resource_version(owner),
        "finalizers": finalizers,
    }});
    let key = Key::new(object::namespace(owner), object::name(owner));
    Action { kind, key, verb: Verb::Patch(patch) }
}
