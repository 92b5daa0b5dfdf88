//! The process of a pod while its sandbox stands: started, probed, started again.

use std::time::Duration;

use jiff::Timestamp;

use super::desired::{Container, Desired};
use super::machine::Action;
use super::probe::{Check, Prober, later};
use super::record::Process;
use crate::responder::Problem;

/// The first pause between a crash and the next start, and the longest.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);
/// A process that ran for this long has not crashed in a loop.
const STEADY: Duration = Duration::from_mins(10);

/// What a process is doing.
#[derive(Clone, Debug)]
pub enum Run {
    /// It is not there and may be started at a time.
    Stopped { from: Timestamp },
    /// It is there.
    Running(Box<Running>),
    /// It will not be started again.
    Finished,
}

/// A process that runs.
#[derive(Clone, Debug)]
pub struct Running {
    pub process: Process,
    /// Ports it cannot have; nothing until it has said which.
    pub problems: Option<Vec<Problem>>,
    pub containers: Vec<Probes>,
    /// It is to end.
    pub signalled: Option<Signalled>,
}

/// That a process is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// Since when.
    pub at: Timestamp,
    /// It was asked to.
    pub asked: bool,
    /// It was forced to.
    pub killed: bool,
}

impl Signalled {
    /// It is to end from now on.
    pub fn new(now: Timestamp) -> Self {
        Self { at: now, asked: false, killed: false }
    }

    /// The next signal, with force after the deadline.
    pub fn next(&mut self, now: Timestamp, deadline: Timestamp) -> Option<Action> {
        if !self.asked {
            self.asked = true;
            return Some(Action::Signal { kill: false });
        }
        if !self.killed && deadline <= now {
            self.killed = true;
            return Some(Action::Signal { kill: true });
        }
        None
    }
}

/// The probes of one container.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    startup: Option<Prober>,
    liveness: Option<Prober>,
    readiness: Option<Prober>,
}

/// Which probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl Kind {
    /// As events call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
}

/// A question to a container that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The process it is meant for: the answer says nothing of a later one.
    pub process: Process,
    pub container: usize,
    pub kind: Kind,
    pub check: Check,
    pub timeout: Duration,
}

impl Running {
    /// A process that has just been started, or found.
    pub fn new(process: Process, desired: Option<&Desired>) -> Self {
        let containers = desired.map(|desired| &*desired.containers).unwrap_or_default();
        let containers = containers.iter().map(|c| Probes::new(c, process.started)).collect();
        Self { process, problems: None, containers, signalled: None }
    }

    /// Whether a container does what its image would: it has its ports.
    pub fn serves(&self, container: &str) -> bool {
        let problems = self.problems.as_ref();
        problems.is_some_and(|problems| problems.iter().all(|p| p.container != container))
    }

    /// Questions that are due.
    pub fn ask(&mut self, now: Timestamp, desired: &Desired) -> Vec<Ask> {
        if self.signalled.is_some() {
            return Vec::new();
        }
        let (process, mut asks) = (self.process, Vec::new());
        for (index, container) in desired.containers.iter().enumerate() {
            if !self.serves(&container.name) {
                continue;
            }
            let Some(probes) = self.containers.get_mut(index) else { continue };
            for kind in probes.active() {
                let Some(prober) = probes.of(kind) else { continue };
                if prober.due().is_none_or(|due| due > now) {
                    continue;
                }
                prober.asked(now);
                let Some(probe) = container.probe(kind) else { continue };
                let (check, timeout) = (probe.check.clone(), probe.timing.timeout);
                asks.push(Ask { process, container: index, kind, check, timeout });
            }
        }
        asks
    }

    /// When the next question is due.
    pub fn next_question(&self) -> Option<Timestamp> {
        if self.signalled.is_some() || self.problems.is_none() {
            return None;
        }
        let due =
            |probes: &Probes| probes.active().filter_map(|kind| probes.get(kind)?.due()).min();
        self.containers.iter().filter_map(due).min()
    }
}

impl Container {
    /// A probe.
    pub fn probe(&self, kind: Kind) -> Option<&super::desired::Probe> {
        match kind {
            Kind::Startup => self.startup.as_ref(),
            Kind::Liveness => self.liveness.as_ref(),
            Kind::Readiness => self.readiness.as_ref(),
        }
    }
}

impl Probes {
    fn new(container: &Container, started: Timestamp) -> Self {
        let prober = |kind, passed| {
            container.probe(kind).map(|probe| Prober::new(probe.timing, started, passed))
        };
        Self {
            startup: prober(Kind::Startup, false),
            liveness: prober(Kind::Liveness, true),
            readiness: prober(Kind::Readiness, false),
        }
    }

    fn get(&self, kind: Kind) -> Option<&Prober> {
        match kind {
            Kind::Startup => self.startup.as_ref(),
            Kind::Liveness => self.liveness.as_ref(),
            Kind::Readiness => self.readiness.as_ref(),
        }
    }

    /// A prober.
    pub fn of(&mut self, kind: Kind) -> Option<&mut Prober> {
        match kind {
            Kind::Startup => self.startup.as_mut(),
            Kind::Liveness => self.liveness.as_mut(),
            Kind::Readiness => self.readiness.as_mut(),
        }
    }

    /// Whether the container has started: the startup probe, where there is one, has passed.
    pub fn started(&self) -> bool {
        self.startup.as_ref().is_none_or(Prober::passed)
    }

    /// Whether the container is ready for clients.
    pub fn ready(&self) -> bool {
        self.started() && self.readiness.as_ref().is_none_or(Prober::passed)
    }

    /// The probes that are asked now: before the start only whether it has started.
    fn active(&self) -> impl Iterator<Item = Kind> + use<> {
        let kinds: &[Kind] =
            if self.started() { &[Kind::Liveness, Kind::Readiness] } else { &[Kind::Startup] };
        kinds.iter().copied()
    }
}

/// How long to wait before the next start, after so many crashes in a row before this one.
pub fn pause(crashes: u32) -> Duration {
    match crashes.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(1 << doublings.min(10)).min(LONGEST),
    }
}

/// Whether a process has run long enough for its crashes to be forgotten.
pub fn steady(started: Timestamp, now: Timestamp) -> bool {
    later(started, STEADY) <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        let seconds: Vec<u64> = (0..8).map(|crashes| pause(crashes).as_secs()).collect();
        assert_eq!(seconds, [0, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(pause(u32::MAX).as_secs(), 300);
    }
}
