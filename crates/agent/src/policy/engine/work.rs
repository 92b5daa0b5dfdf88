//! The next step for one policy on this node.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::foreign::nmstate::objects::{CapturedState, EnactmentStatus, MetaInfo};

use super::super::conditions::{Progress, same_words};
use super::super::network::ApplyError;
use super::super::render::Rendered;
use super::super::seen::{Enactment, Policy};
use super::super::settings::Settings;
use super::{Ended, Engine, Job, Notice, Purpose, Step};

/// So often a state is tried.
const TRIES: i64 = 5;
/// The first pause between tries; each is twice the one before, up to the longest.
const FIRST_PAUSE: i64 = 1;
const LONGEST_PAUSE: i64 = 30;
/// While waiting for a place, the clock may free one: places nobody holds any more.
const WAIT: SignedDuration = SignedDuration::from_secs(5);
/// An agent at work says so again after so long.
const RENEW: SignedDuration = SignedDuration::from_mins(1);
/// Work is begun only so long after it was announced.
const FRESH: SignedDuration = SignedDuration::from_mins(2);
/// So often a node is compared with a policy that asks for it.
const COMPARE: SignedDuration = SignedDuration::from_secs(30);

/// How far this agent got with a policy, beyond what the enactment says.
#[derive(Debug, Default)]
pub struct Course {
    uid: String,
    generation: i64,
    rendered: Option<Result<Rendered, String>>,
    /// The generation for which a place is counted in the policy.
    place: Option<i64>,
    /// The generation for which a place is to be given back.
    pub owed: Option<i64>,
    /// Whether one has looked, since announcing it, that not too many are at work.
    cleared: bool,
    /// There were too many.
    withdraws: bool,
    /// How the last try went, as long as it has not been said.
    outcome: Option<Result<(), ApplyError>>,
    not_before: Option<Timestamp>,
    /// The state could not be made true again after a boot: start over.
    restarts: bool,
    compared: Option<Timestamp>,
    differs: bool,
}

impl Course {
    fn leave(&mut self) {
        self.owed = self.place.take().or(self.owed);
        self.cleared = false;
    }
}

enum Next {
    Do(Step),
    Wait(Option<Timestamp>),
}

impl Engine {
    /// The next thing to do on this node: policies are served in the order of their names.
    pub(super) fn work(&mut self, now: Timestamp) -> Option<Job> {
        self.me()?;
        if let Some(job) = self.tidy() {
            return Some(job);
        }
        let mut names: Vec<String> = self.policies.iter().map(|p| p.id.name().to_owned()).collect();
        names.sort_unstable();
        for name in names {
            let Some(policy) = self.policy(&name) else { continue };
            let (uid, generation) = (policy.id.uid.clone(), policy.generation);
            if !self.is_mine(policy) {
                // The node stays as it is, until it boots.
                self.applied.remove(&uid);
                if let Some(course) = self.courses.get_mut(&name) {
                    course.leave();
                }
                continue;
            }
            self.align(&name, &uid, generation);
            match self.next(&name, now) {
                Next::Do(step) => return Some(self.job(&name, &uid, generation, step)),
                Next::Wait(Some(at)) => self.wake_at(at),
                Next::Wait(None) => {}
            }
        }
        None
    }

    fn job(&self, policy: &str, uid: &str, generation: i64, step: Step) -> Job {
        let (policy, uid) = (policy.to_owned(), uid.to_owned());
        let epochs = (self.policies.epoch(), self.enactments.epoch());
        Job { policy, uid, generation, step, epochs, renews: false }
    }

    fn is_mine(&self, policy: &Policy) -> bool {
        !policy.going && self.me().is_some_and(|me| policy.matches(&me.labels))
    }

    /// Enactments of this node whose policy is gone, or is for other nodes now.
    fn tidy(&self) -> Option<Job> {
        let mine = self.enactments.iter().filter(|enactment| enactment.node == self.node);
        let orphan = mine.filter(|enactment| !self.gone.contains(&enactment.id.uid)).find(|e| {
            let policy = self.policy(&e.policy).filter(|policy| self.is_mine(policy));
            policy
                .is_none_or(|policy| e.policy_uid.as_ref().is_some_and(|uid| *uid != policy.id.uid))
        })?;
        let step = Step::Delete { uid: orphan.id.uid.clone() };
        Some(self.job(&orphan.policy, "", 0, step))
    }

    /// Has a course for this state of the policy.
    fn align(&mut self, name: &str, uid: &str, generation: i64) {
        let counted = self.policy(name).is_some_and(|policy| {
            let counts = &policy.status.unavailable_node_count_map;
            counts.get(&generation.to_string()).is_some_and(|count| *count > 0)
        });
        let at_work = self.own(name).is_some_and(|e| e.is_of(generation) && e.is("Progressing"));
        let course = self.courses.entry(name.to_owned()).or_default();
        if course.uid != uid || course.generation != generation {
            let mut old = std::mem::take(course);
            old.leave();
            course.owed = old.owed.filter(|_| old.uid == uid);
            (course.uid, course.generation) = (uid.to_owned(), generation);
            if at_work && counted {
                // Left by this agent's former life.
                course.place = Some(generation);
            }
        }
    }

    fn next(&self, name: &str, now: Timestamp) -> Next {
        let (Some(policy), Some(course)) = (self.policy(name), self.courses.get(name)) else {
            return Next::Wait(None);
        };
        let Some(own) = self.own(name) else {
            let node_uid = self.me().map(|me| me.id.uid.clone()).unwrap_or_default();
            return Next::Do(Step::Create { node_uid });
        };
        if !own.is_of(policy.generation) {
            return begin(policy, course, own, now);
        }
        if own.is("Available") {
            return self.keep(policy, course, own, now);
        }
        if own.is("Progressing") {
            return self.advance(policy, course, own, now);
        }
        if own.is("Failing") || own.is("Aborted") {
            return Next::Wait(None);
        }
        let overview = self.overview(policy, self.enactments.iter());
        let limit = overview.limit();
        if overview.failed() >= limit {
            let text = format!("reconciliation of enactment {:?} has aborted", own.id.name());
            return say(own, Progress::Aborted(text), now);
        }
        if course.place == Some(policy.generation) {
            return say(own, Progress::Applying, now);
        }
        let waits = course.not_before.filter(|at| *at > now);
        if waits.is_none() && overview.taken(&self.node, now) < limit {
            return Next::Do(Step::Claim(self.status(policy, now, true)));
        }
        if !own.is("Pending") {
            return say(own, Progress::Pending, now);
        }
        Next::Wait(waits.or_else(|| now.checked_add(WAIT).ok()))
    }

    /// The policy was made true here. After a boot it is made true again.
    fn keep(&self, policy: &Policy, course: &Course, own: &Enactment, now: Timestamp) -> Next {
        if course.restarts {
            return say(own, Progress::Unknown, now);
        }
        let settings = Settings::read(&policy.annotations).0;
        if self.applied.get(&policy.id.uid) != Some(&policy.generation) {
            return self.apply(own, settings, Purpose::Boot);
        }
        if !settings.correct_drift {
            return Next::Wait(None);
        }
        if course.differs {
            return self.apply(own, settings, Purpose::Drift);
        }
        match course.compared.and_then(|at| at.checked_add(COMPARE).ok()).filter(|at| *at > now) {
            Some(later) => Next::Wait(Some(later)),
            None => Next::Do(Step::Compare { desired: own.status.desired_state.clone() }),
        }
    }

    /// This node is at work on the policy.
    fn advance(&self, policy: &Policy, course: &Course, own: &Enactment, now: Timestamp) -> Next {
        let key = policy.generation.to_string();
        match &course.outcome {
            None => {}
            Some(Ok(())) => return say(own, Progress::Available, now),
            Some(Err(error)) => {
                let tries = own.status.retry_count.get(&key).copied().unwrap_or(0) + 1;
                let last = tries >= TRIES || !error.retry;
                let node = &self.node;
                let progress = if last {
                    Progress::Failing(format!(
                        "error reconciling NodeNetworkConfigurationPolicy on node {node} at desired state apply: {error}"
                    ))
                } else {
                    Progress::Retrying(format!(
                        "failed to reconcile NodeNetworkConfigurationPolicy on node {node}. Retrying {}/{TRIES}: {error}",
                        tries + 1
                    ))
                };
                let mut status = own.status.clone();
                status.conditions = progress.conditions(&own.status.conditions, now);
                status.retry_count = BTreeMap::from([(key, tries)]);
                return say_all(own, status, progress);
            }
        }
        if course.withdraws {
            return say(own, Progress::Pending, now);
        }
        if let Some(later) = course.not_before.filter(|at| *at > now) {
            return Next::Wait(Some(later));
        }
        let fresh = own.heartbeat().is_some_and(|said| now.duration_since(said) < FRESH);
        if own.is("Failing") || !fresh {
            return say(own, Progress::Applying, now);
        }
        if !course.cleared {
            return Next::Do(Step::Look);
        }
        self.apply(own, Settings::read(&policy.annotations).0, Purpose::Policy)
    }

    fn apply(&self, own: &Enactment, settings: Settings, purpose: Purpose) -> Next {
        let addresses = self.me().map(|me| me.addresses.clone()).unwrap_or_default();
        let desired = own.status.desired_state.clone();
        Next::Do(Step::Apply { desired, settings, addresses, purpose })
    }

    /// Says "at work" again while the work takes long.
    pub(super) fn renew(&mut self, now: Timestamp) -> Option<Job> {
        let busy = self.busy.clone().filter(|job| matches!(job.step, Step::Apply { .. }))?;
        let own = self.own(&busy.policy).filter(|own| own.is_of(busy.generation))?;
        if self.renewing || !own.is("Progressing") {
            return None;
        }
        let due = own.heartbeat()?.checked_add(RENEW).ok()?;
        if due > now {
            self.wake_at(due);
            return None;
        }
        let Next::Do(step) = say(own, Progress::Applying, now) else { return None };
        let job = self.job(&busy.policy, &busy.uid, busy.generation, step);
        Some(Job { renews: true, ..job })
    }

    /// Takes in how a step ended.
    pub fn ended(&mut self, job: &Job, ended: Ended, now: Timestamp) {
        if job.renews {
            self.renewing = false;
        } else {
            self.busy = None;
        }
        let (policies, enactments) = job.epochs;
        let name = job.policy.as_str();
        match (&job.step, ended) {
            (Step::Delete { uid }, Ended::Enactment(_)) => drop(self.gone.insert(uid.clone())),
            (Step::Create { .. }, Ended::Enactment(Some(own))) => {
                drop(self.enactments.learn(enactments, *own));
            }
            (Step::Say { uid, .. }, Ended::Enactment(None)) => {
                self.gone.insert(uid.clone());
            }
            (Step::Say { status, progress, .. }, Ended::Enactment(Some(own))) => {
                let landed = own.status.policy_generation == status.policy_generation
                    && same_words(&own.status.conditions, &status.conditions);
                drop(self.enactments.learn(enactments, *own));
                if landed {
                    self.said(job, progress, now);
                }
            }
            (Step::Claim(_), Ended::Policy { won, now: seen }) => {
                match seen {
                    Some(policy) => drop(self.policies.learn(policies, *policy)),
                    None => self.pause(now), // the watch will tell that it is gone
                }
                if won && let Some(course) = self.course(job) {
                    course.owed = None;
                    course.place = Some(job.generation);
                }
            }
            (Step::Render { .. }, Ended::Rendered(rendered)) => {
                if let Some(course) = self.course(job) {
                    course.rendered = Some(rendered);
                }
            }
            (Step::Look, Ended::Seen { enactments: seen, policy }) => {
                self.looked(job, seen, policy.map(|policy| *policy), now);
            }
            (Step::Apply { purpose, .. }, Ended::Applied(outcome)) => {
                self.tried(job, *purpose, outcome, now);
            }
            (Step::Compare { .. }, Ended::Compared(answer)) => {
                if let Some(course) = self.course(job) {
                    course.compared = Some(now);
                    course.differs = matches!(answer, Ok(true));
                }
                if let Err(why) = answer {
                    tracing::warn!(policy = name, why, "cannot be compared with the node");
                }
            }
            (step, other) => {
                if let Ended::Failed(why) = &other {
                    tracing::warn!(policy = name, why, "will be tried again");
                } else {
                    tracing::error!(policy = name, ?step, ?other, "an answer to another question");
                }
                self.pause(now);
            }
        }
    }

    /// The course of a job, unless the policy has changed since.
    fn course(&mut self, job: &Job) -> Option<&mut Course> {
        let course = self.courses.get_mut(&job.policy)?;
        (course.uid == job.uid && course.generation == job.generation).then_some(course)
    }

    fn said(&mut self, job: &Job, progress: &Progress, now: Timestamp) {
        self.stir(&job.policy);
        let tries = self
            .own(&job.policy)
            .and_then(|own| own.status.retry_count.get(&job.generation.to_string()).copied());
        let Step::Say { before, .. } = &job.step else { return };
        let was_at_work =
            before.conditions.iter().any(|c| c.type_ == "Progressing" && c.status == "True");
        let Some(course) = self.course(job) else { return };
        match progress {
            Progress::Unknown => {
                (course.rendered, course.outcome, course.restarts) = (None, None, false);
                course.leave();
            }
            Progress::Applying => course.cleared &= was_at_work,
            Progress::Retrying(_) => {
                course.outcome = None;
                let exponent = u32::try_from(tries.unwrap_or(1) - 1).unwrap_or(0).min(16);
                let pause = FIRST_PAUSE.saturating_mul(1 << exponent).min(LONGEST_PAUSE);
                course.not_before = now.checked_add(SignedDuration::from_secs(pause)).ok();
            }
            Progress::Pending => {
                course.withdraws = false;
                course.leave();
            }
            Progress::Available | Progress::Failing(_) | Progress::Aborted(_) => {
                (course.rendered, course.outcome, course.not_before) = (None, None, None);
                course.leave();
            }
        }
        let enactment =
            landbridge_api::foreign::nmstate::objects::enactment_name(&self.node, &job.policy);
        let note = match (progress, tries) {
            (Progress::Failing(_), Some(tries)) if tries >= TRIES => {
                format!(
                    "reconciliation of enactment {enactment:?} has failed after {TRIES} retries"
                )
            }
            (Progress::Failing(why), _) => {
                format!("reconciliation of enactment {enactment:?} has failed: {why}")
            }
            (Progress::Aborted(text), _) => text.clone(),
            _ => return,
        };
        if let Some(policy) = self.policy(&job.policy) {
            let notice = Notice::warning(policy, "ReconcileFailed", note);
            self.notices.push(notice);
        }
    }

    /// Works only if, with everybody's announcement in sight, not too many are at work.
    fn looked(&mut self, job: &Job, seen: Vec<Enactment>, policy: Option<Policy>, now: Timestamp) {
        let (policies, enactments) = job.epochs;
        let Some(policy) = policy.filter(|policy| policy.id.uid == job.uid) else {
            self.pause(now); // the watch will tell that it is gone
            return;
        };
        let overview = self.overview(&policy, seen.iter());
        let allowed = overview.at_work(&self.node, now) < overview.limit();
        // Announced is what stands in the API, not what was sent there.
        let announced = seen
            .iter()
            .any(|e| e.node == self.node && e.is_of(job.generation) && e.is("Progressing"));
        let later = spread(&self.node, now);
        if let Some(course) = self.course(job) {
            course.cleared = allowed && announced;
            if !allowed {
                course.withdraws = true;
                course.not_before = later;
            }
        }
        drop(self.policies.learn(policies, policy));
        for enactment in seen {
            drop(self.enactments.learn(enactments, enactment));
        }
    }

    fn tried(
        &mut self,
        job: &Job,
        purpose: Purpose,
        outcome: Result<(), ApplyError>,
        now: Timestamp,
    ) {
        if outcome.is_ok() {
            self.applied.insert(job.uid.clone(), job.generation);
        }
        let notice = self.policy(&job.policy).and_then(|policy| {
            let node = &self.node;
            let (warning, reason, note) = match (purpose, &outcome) {
                (Purpose::Drift, Ok(())) => {
                    (false, "DriftCorrected", format!("the network of node {node} had been changed by others; it is as the policy says again"))
                }
                (Purpose::Drift, Err(error)) => {
                    (true, "DriftCorrectionFailed", format!("node {node}: {error}"))
                }
                (Purpose::Boot, Err(error)) => {
                    (true, "ReconcileFailed", format!("node {node}, after a start: {error}"))
                }
                _ => return None,
            };
            Some(Notice { warning, ..Notice::warning(policy, reason, note) })
        });
        if let Some(notice) = notice {
            if notice.warning { self.say_once(notice) } else { self.notices.push(notice) }
        }
        let Some(course) = self.course(job) else { return };
        match purpose {
            Purpose::Policy => course.outcome = Some(outcome),
            Purpose::Boot => course.restarts = outcome.is_err(),
            Purpose::Drift => (course.differs, course.compared) = (false, Some(now)),
        }
    }
}

/// The policy is new or was changed: work out what it wants, and write that down.
fn begin(policy: &Policy, course: &Course, own: &Enactment, now: Timestamp) -> Next {
    let known = &own.status.captured_states;
    let Some(rendered) = &course.rendered else {
        return Next::Do(Step::Render {
            desired: policy.spec.desired_state.clone(),
            capture: policy.spec.capture.clone().unwrap_or_default(),
            known: known.iter().map(|(k, v)| (k.clone(), v.state.clone())).collect(),
        });
    };
    let meta = MetaInfo { time: Some(Time(now)), version: policy.generation.to_string() };
    let mut status = EnactmentStatus {
        policy_generation: Some(policy.generation),
        desired_state_meta_info: Some(meta.clone()),
        ..EnactmentStatus::default()
    };
    let progress = match rendered {
        Ok(rendered) => {
            status.desired_state = rendered.desired.clone();
            for (name, state) in &rendered.captured {
                let captured = known.get(name).cloned().unwrap_or_else(|| CapturedState {
                    state: state.clone(),
                    meta_info: Some(meta.clone()),
                });
                status.captured_states.insert(name.clone(), captured);
            }
            Progress::Unknown
        }
        Err(why) => {
            Progress::Failing(format!("failure generating desiredState and capturedStates: {why}"))
        }
    };
    // An older generation's conditions are nothing to go on from.
    status.conditions = progress.conditions(&[], now);
    say_all(own, status, progress)
}

fn say(own: &Enactment, progress: Progress, now: Timestamp) -> Next {
    let mut status = own.status.clone();
    status.conditions = progress.conditions(&own.status.conditions, now);
    say_all(own, status, progress)
}

fn say_all(own: &Enactment, status: EnactmentStatus, progress: Progress) -> Next {
    Next::Do(Step::Say {
        uid: own.id.uid.clone(),
        revision: own.id.revision,
        before: Box::new(own.status.clone()),
        status: Box::new(status),
        progress,
    })
}

/// A little later, and not all nodes at once.
fn spread(node: &str, now: Timestamp) -> Option<Timestamp> {
    let seed = node
        .bytes()
        .fold(now.as_millisecond(), |sum, byte| sum.wrapping_mul(31).wrapping_add(i64::from(byte)));
    now.checked_add(SignedDuration::from_millis(500 + seed.rem_euclid(4000))).ok()
}
