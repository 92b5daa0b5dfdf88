//! What this node does next about its policies, and what it says about them.
//!
//! ```text
//!  own enactment                          next
//!  none                               ─▶  create it
//!  of another generation              ─▶  render the state, write it down
//!  unknown or pending                 ─▶  too many failed: aborted
//!                                         place free: count oneself in the policy, say "applying"
//!                                         else: pending
//!  applying                           ─▶  look whether not too many are; apply; say how it went
//!  policy gone, or not for this node  ─▶  delete it; the node stays as it is
//! ```
//!
//! Places. The counter in the policy is taken by compare-and-swap, so that agents queue instead of
//! colliding, but nothing rests on it: an agent says "applying" in its enactment, *then* lists all
//! enactments, and works only if no more than allowed say so. Of two agents that both work, the later
//! one to look would have seen the other. What a crash leaves in the counter is ignored after
//! [`GRACE`](super::standing::GRACE), and what it leaves in an enactment is taken up by the agent
//! when it comes back, or ignored after [`STALE`](super::standing::STALE).
//!
//! The engine does one thing at a time to the node and to its enactments (`work`); beside it, it
//! writes the status of policies (`report`). What it decides depends only on what it has seen.
//!
//! | module | idea |
//! |---|---|
//! | [`messages`] | what goes in, and what comes out |
//! | `work` | the next step for one policy on this node |
//! | `report` | the status of a policy, and who writes it when |

pub mod messages;
mod report;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use landbridge_api::foreign::nmstate::objects::enactment_name;
use landbridge_controllers::mirror::{Key, Mirror};

pub use self::messages::{Action, Ended, Job, News, Notice, Purpose, Report, Step};
use self::report::Behind;
use self::work::Course;
use super::duplicates;
use super::seen::{AgentSeen, Enactment, NodeSeen, Policy};
use super::standing::Overview;

/// After trouble with the API.
const PAUSE: SignedDuration = SignedDuration::from_secs(2);

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    node: String,
    nodes: Mirror<NodeSeen>,
    agents: Mirror<AgentSeen>,
    policies: Mirror<Policy>,
    enactments: Mirror<Enactment>,
    /// What this node was made to look like since it booted: the generation, by uid of the policy.
    applied: BTreeMap<String, i64>,
    /// How far one got with each policy, by name.
    courses: BTreeMap<String, Course>,
    /// What is being done.
    busy: Option<Job>,
    /// Whether "at work" is being said again.
    renewing: bool,
    /// The policies whose status is being written.
    reporting: BTreeSet<String>,
    behind: BTreeMap<String, Behind>,
    /// Nothing before then, after trouble with the API.
    not_before: Option<Timestamp>,
    wake: Option<Timestamp>,
    notices: Vec<Notice>,
    /// Enactments that are gone, although the watch has not told it yet.
    gone: BTreeSet<String>,
    /// What was pointed out.
    told: BTreeSet<(String, String)>,
    /// Whether addresses are to be compared again.
    compare: bool,
}

impl Engine {
    /// An agent of that node. `applied`: what it was made to look like since it booted.
    pub fn new(node: &str, applied: BTreeMap<String, i64>) -> Self {
        Self {
            node: node.to_owned(),
            nodes: Mirror::default(),
            agents: Mirror::default(),
            policies: Mirror::default(),
            enactments: Mirror::default(),
            applied,
            courses: BTreeMap::new(),
            busy: None,
            renewing: false,
            reporting: BTreeSet::new(),
            behind: BTreeMap::new(),
            not_before: None,
            wake: None,
            notices: Vec::new(),
            gone: BTreeSet::new(),
            told: BTreeSet::new(),
            compare: false,
        }
    }

    /// Takes in news.
    pub fn tell(&mut self, news: News) {
        match news {
            News::Node(told) => {
                let changes = self.nodes.tell(told);
                self.compare |= changes.iter().any(|change| {
                    let now = self.nodes.get(&change.key).map(|node| &node.labels);
                    now != change.before.as_ref().map(|node| &node.labels)
                });
            }
            News::Agent(told) => self.compare |= !self.agents.tell(told).is_empty(),
            News::Policy(told) => {
                let changes = self.policies.tell(told);
                self.compare |= changes.iter().any(|change| {
                    let now = self.policies.get(&change.key).map(|policy| policy.generation);
                    now != change.before.as_ref().map(|policy| policy.generation)
                });
            }
            News::Enactment(told) => drop(self.enactments.tell(told)),
        }
    }

    /// What to do now. Everything that comes out is to be answered with [`ended`](Self::ended) or
    /// [`reported`](Self::reported).
    pub fn act(&mut self, now: Timestamp) -> Vec<Action> {
        self.wake = None;
        let complete = self.nodes.is_complete()
            && self.agents.is_complete()
            && self.policies.is_complete()
            && self.enactments.is_complete();
        if !complete {
            return Vec::new(); // what is not there may only not have been told yet
        }
        self.point_out();
        let mut actions: Vec<Action> = self.notices.drain(..).map(Action::Tell).collect();
        if let Some(at) = self.not_before.filter(|at| *at > now) {
            self.wake_at(at);
            return actions;
        }
        self.not_before = None;
        self.forget();
        if self.busy.is_none()
            && let Some(job) = self.work(now)
        {
            self.busy = Some(job.clone());
            actions.push(Action::Work(job));
        } else if let Some(job) = self.renew(now) {
            self.renewing = true;
            actions.push(Action::Work(job));
        }
        actions.extend(self.reports(now).into_iter().map(Action::Report));
        actions.extend(self.notices.drain(..).map(Action::Tell));
        actions
    }

    /// When there will be something to do, if no news come.
    pub fn wake(&self) -> Option<Timestamp> {
        self.wake
    }

    /// Whether nothing is being done.
    pub fn is_idle(&self) -> bool {
        self.busy.is_none() && !self.renewing && self.reporting.is_empty()
    }

    /// What this node was made to look like since it booted: the generation, by uid of the policy.
    pub fn applied(&self) -> &BTreeMap<String, i64> {
        &self.applied
    }

    fn wake_at(&mut self, at: Timestamp) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    fn pause(&mut self, now: Timestamp) {
        self.not_before = now.checked_add(PAUSE).ok();
    }

    fn me(&self) -> Option<&NodeSeen> {
        self.nodes.get(&Key::new("", &self.node))
    }

    fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.get(&Key::new("", name))
    }

    fn own(&self, policy: &str) -> Option<&Enactment> {
        let found = self.enactments.get(&Key::new("", &enactment_name(&self.node, policy)));
        found.filter(|enactment| !self.gone.contains(&enactment.id.uid))
    }

    /// Nodes with an agent. This one has one, whether it is known already or not.
    fn tended(&self) -> impl Iterator<Item = &NodeSeen> {
        self.nodes
            .iter()
            .filter(|node| node.id.name() == self.node || self.agents.get(&node.id.key).is_some())
    }

    fn overview<'a>(
        &'a self,
        policy: &'a Policy,
        enactments: impl Iterator<Item = &'a Enactment>,
    ) -> Overview<'a> {
        Overview::new(policy, self.tended(), enactments)
    }

    /// Drops what is remembered of policies that are gone.
    fn forget(&mut self) {
        let policies = &self.policies;
        let there = |name: &str| policies.get(&Key::new("", name)).is_some();
        self.courses.retain(|name, _| there(name));
        self.behind.retain(|name, _| there(name));
        self.told.retain(|(name, _)| there(name));
        let uids: BTreeSet<&str> = policies.iter().map(|policy| &*policy.id.uid).collect();
        self.applied.retain(|uid, _| uids.contains(uid.as_str()));
        let enactments: BTreeSet<&str> = self.enactments.iter().map(|e| &*e.id.uid).collect();
        self.gone.retain(|uid| enactments.contains(uid.as_str()));
    }

    /// Says once what is odd about a policy: the first of its nodes does.
    fn point_out(&mut self) {
        if !std::mem::take(&mut self.compare) {
            return;
        }
        let nodes: Vec<&NodeSeen> = self.tended().collect();
        let given = duplicates::given(self.policies.iter(), &nodes);
        let mut found = Vec::new();
        for policy in self.policies.iter().filter(|policy| !policy.going) {
            let matching = nodes.iter().filter(|node| policy.matches(&node.labels));
            let first = matching.map(|node| node.id.name()).min();
            if first != Some(self.node.as_str()) {
                continue;
            }
            for duplicate in duplicates::of_policy(policy, &given) {
                found.push(Notice::warning(policy, "DuplicateAddress", duplicate.note()));
            }
            for trouble in super::settings::Settings::read(&policy.annotations).1 {
                found.push(Notice::warning(policy, "InvalidAnnotation", trouble));
            }
        }
        for notice in found {
            self.say_once(notice);
        }
    }

    fn say_once(&mut self, notice: Notice) {
        if self.told.insert((notice.policy.clone(), notice.note.clone())) {
            self.notices.push(notice);
        }
    }
}
