//! What is to be done next for a pod: a state machine without IO.
//!
//! ```text
//!          ┌──────────── failed, or inherited half made ─────────────┐
//!          │                                                         ▼
//!  (none) ─► Making ── MakeNamespace, Attach ──► Ready ── deleted ─► Ending ── Signal, Detach,
//!    ▲                                      Start, probes,             │       RemoveNamespace
//!    │                                      start again                ▼
//!    └────────────────── wanted again ────────────────────────────── Forget ─► DeletePod
//! ```
//!
//! One action is under way at a time. A stage is written down before the first deed of that stage,
//! so a machine that is loaded from the record of a dead agent knows at least what was begun:
//! - nothing is made before the record says *Making*;
//! - the record goes only after detaching was done or handed to the queue of releases, and after the
//!   namespace is gone;
//! - the Pod is deleted from the API only when there is no record.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;

use super::desired::{Desired, PodIdentity, RestartPolicy};
use super::probe::later;
use super::record::{Exit, Names, Process, Record, Stage};
use super::run::{Ask, Kind, Run, Running, Signalled, pause, steady};
use crate::responder::Problem;

/// A pod that vanished without notice is given this long to end in order.
const SHORT_GRACE: Duration = Duration::from_secs(2);
/// After a write that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Between attempts to make a sandbox, at first and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write the record down.
    Write(Box<Record>),
    /// Make the network namespace, loopback up.
    MakeNamespace,
    /// Have the network plugins attach it.
    Attach,
    /// Start the process.
    Start,
    /// Tell the process to end; with force or without.
    Signal { kill: bool },
    /// Have the network plugins release what they gave, within a bounded time.
    Detach,
    /// Remove the network namespace.
    RemoveNamespace,
    /// Remove the record, or move it to the queue of releases.
    Forget { queue: bool },
    /// Remove the Pod from the API.
    DeletePod,
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(String),
    /// To [`Action::Attach`].
    Attached(Vec<IpAddr>),
    /// To [`Action::Start`].
    Started(Process),
    /// To [`Action::Start`]: an init container has failed.
    InitFailed(InitFailure),
    /// To [`Action::Start`]: there is no namespace to start it in.
    NamespaceLost,
    /// To [`Action::Detach`]: not done in time, or not at all; it must be tried again.
    NotDetached,
}

/// How an init container failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitFailure {
    pub container: String,
    pub code: i32,
    /// Its last words.
    pub words: String,
    pub at: Timestamp,
}

/// Something people want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub warning: bool,
    pub reason: &'static str,
    pub note: String,
}

/// What an agent finds of a sandbox it has not made itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub namespace: bool,
    pub process: Option<Process>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Machine {
    identity: PodIdentity,
    record: Option<Record>,
    /// The record differs from what is on disk.
    dirty: bool,
    busy: bool,
    /// This is to be undone, although the pod is wanted: it is half made or its namespace is gone.
    spoilt: bool,
    namespace: bool,
    attached: bool,
    detached: bool,
    /// The namespace is gone.
    removed: bool,
    /// Detaching is left to the queue.
    queue: bool,
    run: Run,
    /// Nothing is done before.
    pause: Timestamp,
    /// No sandbox is made before.
    retry: Timestamp,
    /// How often the process of an earlier sandbox was started again.
    restarts: u32,
    /// Attempts to make a sandbox that failed in a row.
    failures: u32,
    /// Crashes in a row.
    crashes: u32,
    ending_since: Option<Timestamp>,
    /// What keeps the process from being started, and how often it has.
    init_failure: Option<(InitFailure, u32)>,
    /// How the process ended for good.
    finished: Option<Exit>,
    deleted: bool,
    told_exec: bool,
    pub notices: Vec<Notice>,
}

impl Machine {
    /// A pod without a sandbox.
    pub fn new(identity: PodIdentity) -> Self {
        Self {
            identity,
            record: None,
            dirty: false,
            busy: false,
            spoilt: false,
            namespace: false,
            attached: false,
            detached: false,
            removed: false,
            queue: false,
            run: Run::Stopped { from: Timestamp::MIN },
            pause: Timestamp::MIN,
            retry: Timestamp::MIN,
            restarts: 0,
            failures: 0,
            crashes: 0,
            ending_since: None,
            init_failure: None,
            finished: None,
            deleted: false,
            told_exec: false,
            notices: Vec::new(),
        }
    }

    /// A sandbox that an earlier agent has left. `desired` is its pod, where it still exists.
    pub fn load(now: Timestamp, record: Record, found: Found, desired: Option<&Desired>) -> Self {
        let mut machine = Self::new(record.identity.clone());
        machine.namespace = found.namespace;
        machine.spoilt = match record.stage {
            Stage::Making => true,
            Stage::Ready => record.netns.is_some() && !found.namespace,
            Stage::Ending => false,
        };
        let never = desired.is_some_and(|d| d.restart_policy == RestartPolicy::Never);
        machine.finished = record.last_exit.filter(|_| never);
        // One that ended while nobody looked ends now.
        let process = found.process.or(record.process);
        if let Some(process) = process {
            machine.run = Run::Running(Box::new(Running::new(process, desired)));
        }
        if machine.spoilt && record.stage == Stage::Ready {
            machine.tell_changed();
        }
        machine.dirty = process != record.process;
        machine.record = Some(Record { process, ..record });
        machine.told_exec = true;
        if process.is_some() && found.process.is_none() {
            machine.exited(now, desired, None);
        }
        machine
    }

    pub fn identity(&self) -> &PodIdentity {
        &self.identity
    }

    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Whether the process is kept from starting because it keeps ending.
    pub fn backing_off(&self, now: Timestamp) -> bool {
        matches!(self.run, Run::Stopped { from } if from > now) && self.crashes > 0
    }

    /// The init container that failed last, and how often in a row.
    pub fn init_failure(&self) -> Option<&(InitFailure, u32)> {
        self.init_failure.as_ref()
    }

    /// How the process ended for good.
    pub fn finished(&self) -> Option<Exit> {
        self.finished
    }

    /// Whether there is nothing left to do, ever.
    pub fn gone(&self, desired: Option<&Desired>) -> bool {
        self.record.is_none() && !self.busy && (desired.is_none() || self.deleted)
    }

    /// What to do now; nothing while something is under way or must be waited for.
    pub fn step(
        &mut self,
        now: Timestamp,
        desired: Option<&Desired>,
        names: impl FnOnce() -> Option<Names>,
    ) -> Option<Action> {
        if self.busy || now < self.pause {
            return None;
        }
        let action = self.decide(now, desired, names);
        self.busy = action.is_some();
        action
    }

    fn decide(
        &mut self,
        now: Timestamp,
        desired: Option<&Desired>,
        names: impl FnOnce() -> Option<Names>,
    ) -> Option<Action> {
        let wanted = desired.filter(|d| d.deletion.is_none() && !d.finished);
        let wanted = wanted.filter(|_| self.finished.is_none());
        let Some(record) = &mut self.record else {
            return match (desired, wanted) {
                (Some(_), Some(_)) if now < self.retry => None,
                (Some(_), Some(wanted)) => {
                    let mut record = new_record(wanted, &names()?);
                    record.restarts = record.restarts.max(self.restarts);
                    self.record = Some(record);
                    self.dirty = true;
                    self.write()
                }
                (Some(desired), None) if desired.deletion.is_some() && !self.deleted => {
                    Some(Action::DeletePod)
                }
                _ => None,
            };
        };
        if record.stage != Stage::Ending && (wanted.is_none() || self.spoilt) {
            record.stage = Stage::Ending;
            self.dirty = true;
            self.ending_since = Some(now);
        }
        if self.dirty {
            return self.write();
        }
        let stage = record.stage;
        match (stage, wanted) {
            (Stage::Making, _) if record.netns.is_some() && !self.namespace => {
                Some(Action::MakeNamespace)
            }
            (Stage::Making, _) if record.netns.is_some() && !self.attached => Some(Action::Attach),
            (Stage::Making, _) => {
                record.stage = Stage::Ready;
                self.dirty = true;
                self.write()
            }
            (Stage::Ready, Some(wanted)) => self.keep_running(now, wanted),
            _ => self.end(now, desired),
        }
    }

    fn write(&self) -> Option<Action> {
        self.record.clone().map(|record| Action::Write(Box::new(record)))
    }

    /// A sandbox stands: its process is started, or ended when a container is not alive.
    fn keep_running(&mut self, now: Timestamp, desired: &Desired) -> Option<Action> {
        if !self.told_exec {
            self.told_exec = true;
            self.tell_exec_probes(desired);
        }
        match &mut self.run {
            Run::Stopped { from } if *from <= now => Some(Action::Start),
            Run::Running(running) => {
                let signalled = running.signalled.as_mut()?;
                let deadline = later(signalled.at, SHORT_GRACE);
                signalled.next(now, deadline)
            }
            _ => None,
        }
    }

    /// A sandbox goes: process, attachments, namespace, record, in this order.
    fn end(&mut self, now: Timestamp, desired: Option<&Desired>) -> Option<Action> {
        let since = *self.ending_since.get_or_insert(now);
        if let Run::Running(running) = &mut self.run {
            let deletion = desired.and_then(|desired| desired.deletion);
            let deadline = deletion.map_or(later(since, SHORT_GRACE), |d| d.deadline);
            let signalled = running.signalled.get_or_insert(Signalled::new(now));
            if !signalled.asked {
                for container in desired.into_iter().flat_map(|d| &d.containers) {
                    let note = format!("Stopping container {}", container.name);
                    self.notices.push(Notice { warning: false, reason: "Killing", note });
                }
            }
            return signalled.next(now, deadline);
        }
        // A pod that has run to its end is known to have before anything else is given up.
        if self.finished.is_some() && desired.is_some_and(|d| !d.finished && d.deletion.is_none()) {
            return None;
        }
        let record = self.record.as_ref()?;
        if record.netns.is_some() && !self.detached {
            return Some(Action::Detach);
        }
        // Also when none was seen: half of one may stand.
        if record.netns.is_some() && !self.removed {
            return Some(Action::RemoveNamespace);
        }
        Some(Action::Forget { queue: self.queue })
    }

    /// Takes in how an action ended.
    pub fn ended(
        &mut self,
        now: Timestamp,
        desired: Option<&Desired>,
        action: &Action,
        outcome: Outcome,
    ) {
        self.busy = false;
        match (action, outcome) {
            (Action::Write(_), Outcome::Done) => self.dirty = false,
            (Action::MakeNamespace, Outcome::Done) => self.namespace = true,
            (Action::MakeNamespace | Action::Attach, Outcome::Failed(why)) => {
                self.not_made(now, &why);
            }
            (Action::Attach, Outcome::Attached(addresses)) => {
                self.attached = true;
                self.failures = 0;
                if let Some(record) = &mut self.record {
                    record.addresses = addresses;
                }
            }
            (Action::Start, Outcome::Started(process)) => self.started(process, desired),
            (Action::Start, Outcome::InitFailed(failure)) => self.init_failed(now, failure),
            (Action::Start, Outcome::NamespaceLost) => {
                self.spoilt = true;
                self.tell_changed();
            }
            (Action::Start, Outcome::Failed(why)) => {
                let note = format!("Error: cannot start the responder: {why}");
                self.notices.push(Notice { warning: true, reason: "Failed", note });
                self.crashes += 1;
                self.run = Run::Stopped { from: later(now, pause(self.crashes)) };
            }
            (Action::Detach, Outcome::Done) => self.detached = true,
            (Action::Detach, _) => (self.detached, self.queue) = (true, true),
            (Action::RemoveNamespace, Outcome::Done) => self.removed = true,
            (Action::Forget { .. }, Outcome::Done) => self.forget(now),
            (Action::DeletePod, Outcome::Done) => self.deleted = true,
            (Action::Signal { kill }, Outcome::Failed(_)) => {
                if let Run::Running(running) = &mut self.run
                    && let Some(signalled) = &mut running.signalled
                {
                    let sent = if *kill { &mut signalled.killed } else { &mut signalled.asked };
                    *sent = false;
                }
                self.pause = later(now, AGAIN);
            }
            (Action::Signal { .. }, _) => {}
            // What is left is a failure to write, remove or delete: it is tried again.
            _ => self.pause = later(now, AGAIN),
        }
    }

    /// An init container has failed: it is tried again, after pauses that grow.
    fn init_failed(&mut self, now: Timestamp, failure: InitFailure) {
        self.crashes += 1;
        self.run = Run::Stopped { from: later(now, pause(self.crashes)) };
        let PodIdentity { namespace, name, uid } = &self.identity;
        let InitFailure { container, words, .. } = &failure;
        for (reason, note) in [
            ("Failed", format!("Error: init container {container} ended: {words}")),
            (
                "BackOff",
                format!(
                    "Back-off restarting failed container {container} in pod {name}_{namespace}({uid})"
                ),
            ),
        ] {
            self.notices.push(Notice { warning: true, reason, note });
        }
        let before = self.init_failure.take().map_or(0, |(_, count)| count);
        self.init_failure = Some((failure, before + 1));
    }

    fn started(&mut self, process: Process, desired: Option<&Desired>) {
        if self.init_failure.take().is_some() {
            self.crashes = 0;
        }
        self.run = Run::Running(Box::new(Running::new(process, desired)));
        if let Some(record) = &mut self.record {
            record.process = Some(process);
            self.dirty = true;
        }
        for container in desired.into_iter().flat_map(|desired| &desired.containers) {
            let note = format!("Started container {}", container.name);
            self.notices.push(Notice { warning: false, reason: "Started", note });
        }
    }

    /// The sandbox could not be made. What there is of it is undone before the next attempt.
    fn not_made(&mut self, now: Timestamp, why: &str) {
        let sandbox = self.record.as_ref().map_or("", |record| record.sandbox.as_str());
        let note = format!(
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network \
             for sandbox \"{sandbox}\": {why}"
        );
        self.notices.push(Notice { warning: true, reason: "FailedCreatePodSandBox", note });
        self.failures += 1;
        self.spoilt = true;
        self.ending_since = Some(now);
    }

    fn tell_changed(&mut self) {
        let note = "Pod sandbox changed, it will be killed and re-created.".to_owned();
        self.notices.push(Notice { warning: false, reason: "SandboxChanged", note });
    }

    /// Nothing is left of the sandbox. Whether there will be another, the next step says.
    fn forget(&mut self, now: Timestamp) {
        if let Some(record) = self.record.take()
            && record.last_exit.is_some()
        {
            self.restarts = record.restarts + 1;
        }
        self.dirty = false;
        (self.namespace, self.attached) = (false, false);
        (self.detached, self.removed) = (false, false);
        (self.spoilt, self.queue, self.ending_since) = (false, false, None);
        self.run = Run::Stopped { from: Timestamp::MIN };
        if let Some(doublings) = self.failures.checked_sub(1) {
            let wait = FIRST_RETRY.saturating_mul(1 << doublings.min(10)).min(LAST_RETRY);
            self.retry = later(now, wait);
        }
    }

    /// The process has ended, by itself or because it was told to.
    pub fn exited(&mut self, now: Timestamp, desired: Option<&Desired>, code: Option<i32>) {
        let Run::Running(running) = &self.run else { return };
        let started = running.process.started;
        let told = running.signalled.is_some();
        let exit = Exit { started, at: now, code };
        self.run = Run::Stopped { from: now };
        let Some(record) = &mut self.record else { return };
        record.process = None;
        record.last_exit = Some(exit);
        self.dirty = true;
        let Some(desired) =
            desired.filter(|d| record.stage == Stage::Ready && d.deletion.is_none())
        else {
            return;
        };
        let again = match desired.restart_policy {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => code != Some(0),
            RestartPolicy::Never => false,
        };
        if !again {
            self.finished = Some(exit);
            self.run = Run::Finished;
            return;
        }
        if self.spoilt {
            return;
        }
        record.restarts += 1;
        if steady(started, now) {
            self.crashes = 0;
        }
        let wait = pause(self.crashes);
        self.crashes += 1;
        self.run = Run::Stopped { from: later(now, wait) };
        if !wait.is_zero() || !told {
            let PodIdentity { namespace, name, uid } = &self.identity;
            for container in &desired.containers {
                let note = format!(
                    "Back-off restarting failed container {} in pod {name}_{namespace}({uid})",
                    container.name
                );
                self.notices.push(Notice { warning: true, reason: "BackOff", note });
            }
        }
    }

    /// The process has said which ports it cannot have.
    pub fn reported(&mut self, pid: u32, problems: Vec<Problem>) {
        if let Run::Running(running) = &mut self.run
            && running.process.pid == pid
        {
            running.problems = Some(problems);
        }
    }

    /// Probes that are due; they count as under way.
    pub fn ask(&mut self, now: Timestamp, desired: Option<&Desired>) -> Vec<Ask> {
        let ready = self.record.as_ref().is_some_and(|record| record.stage == Stage::Ready);
        match (&mut self.run, desired) {
            (Run::Running(running), Some(desired)) if ready && desired.deletion.is_none() => {
                running.ask(now, desired)
            }
            _ => Vec::new(),
        }
    }

    /// The answer to a probe.
    pub fn answered(
        &mut self,
        now: Timestamp,
        desired: Option<&Desired>,
        ask: &Ask,
        answer: Result<(), String>,
    ) {
        let Run::Running(running) = &mut self.run else { return };
        if running.process != ask.process {
            return;
        }
        let probes = running.containers.get_mut(ask.container);
        let Some(prober) = probes.and_then(|probes| probes.of(ask.kind)) else { return };
        let failed = prober.answered(answer.is_ok());
        let kind = ask.kind.as_str();
        if let Err(why) = answer {
            let note = format!("{kind} probe failed: {why}");
            self.notices.push(Notice { warning: true, reason: "Unhealthy", note });
        }
        if !failed || ask.kind == Kind::Readiness || running.signalled.is_some() {
            return;
        }
        running.signalled = Some(Signalled::new(now));
        let name = desired.and_then(|desired| desired.containers.get(ask.container));
        let name = name.map_or("", |container| &container.name);
        let probe = kind.to_lowercase();
        let note = format!("Container {name} failed {probe} probe, will be restarted");
        self.notices.push(Notice { warning: false, reason: "Killing", note });
    }

    /// When to look again although nothing has happened.
    pub fn wake_at(&self, now: Timestamp, desired: Option<&Desired>) -> Option<Timestamp> {
        if self.busy {
            return None;
        }
        let waiting = match &self.run {
            Run::Stopped { from } => Some(*from),
            Run::Finished => None,
            Run::Running(running) => match running.signalled {
                None => running.next_question(),
                Some(signalled) if signalled.killed => None,
                Some(signalled) => {
                    let deletion = desired.and_then(|desired| desired.deletion);
                    let kill = later(signalled.at, SHORT_GRACE);
                    Some(deletion.map_or(kill, |deletion| deletion.deadline))
                }
            },
        };
        [waiting, Some(self.pause), Some(self.retry)]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
    }

    fn tell_exec_probes(&mut self, desired: &Desired) {
        let containers = desired.exec_probes();
        if !containers.is_empty() {
            let note = format!(
                "Exec probes of {} are not run and count as passed: images are not run in the lab",
                containers.join(", ")
            );
            self.notices.push(Notice { warning: false, reason: "ExecProbeNotRun", note });
        }
    }
}

fn new_record(desired: &Desired, names: &Names) -> Record {
    Record {
        identity: desired.identity.clone(),
        sandbox: names.sandbox.clone(),
        netns: (!desired.host_network).then(|| names.netns.clone()),
        stage: Stage::Making,
        addresses: Vec::new(),
        restarts: desired.restarts,
        process: None,
        last_exit: None,
    }
}
