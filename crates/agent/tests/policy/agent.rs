//! One agent with its own, late view of the server, and the node it works on.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use landbridge_agent::policy::ApplyError;
use landbridge_agent::policy::capture::Captured;
use landbridge_agent::policy::engine::{
    Action, Ended, Engine, Job, News, Notice, Purpose, Report, Step,
};
use landbridge_agent::policy::render::render;
use landbridge_api::foreign::nmstate::objects::enactment_name;
use landbridge_controllers::mirror::Told;
use serde_json::Value;

use crate::chance::Chance;
use crate::server::{Kept, Server, Shelf};

enum Travelling {
    Work(Job),
    Report(Report),
    Worked(Job, Ended),
    Reported(Report, Ended),
}

/// What a node is being made to look like.
pub struct Applying {
    pub job: Job,
    pub ends: Timestamp,
}

pub struct Agent {
    pub name: String,
    pub engine: Engine,
    told: [usize; 4],
    travelling: Vec<Travelling>,
    pub applying: Option<Applying>,
    /// What the node looks like: the state by name of the policy. Survives the agent.
    pub looks: BTreeMap<String, Value>,
    pub notices: Vec<Notice>,
    pub applies: usize,
}

impl Agent {
    pub fn start(
        name: &str,
        server: &Server,
        looks: BTreeMap<String, Value>,
        applied: BTreeMap<String, i64>,
    ) -> Self {
        let mut agent = Self {
            name: name.to_owned(),
            engine: Engine::new(name, applied),
            told: [0; 4],
            travelling: Vec::new(),
            applying: None,
            looks,
            notices: Vec::new(),
            applies: 0,
        };
        for kind in 0..4 {
            agent.list(server, kind);
        }
        agent
    }

    pub fn list(&mut self, server: &Server, kind: usize) {
        let engine = &mut self.engine;
        self.told[kind] = match kind {
            0 => list(engine, &server.nodes, News::Node),
            1 => list(engine, &server.agents, News::Agent),
            2 => list(engine, &server.policies, News::Policy),
            _ => list(engine, &server.enactments, News::Enactment),
        };
    }

    /// One piece of news of a kind; whether there was any.
    pub fn hear(&mut self, server: &Server, kind: usize) -> bool {
        let (engine, at) = (&mut self.engine, &mut self.told[kind]);
        match kind {
            0 => hear(engine, &server.nodes, at, News::Node),
            1 => hear(engine, &server.agents, at, News::Agent),
            2 => hear(engine, &server.policies, at, News::Policy),
            _ => hear(engine, &server.enactments, at, News::Enactment),
        }
    }

    pub fn act(&mut self, now: Timestamp, chance: &mut Chance) {
        for action in self.engine.act(now) {
            match action {
                Action::Tell(notice) => self.notices.push(notice),
                Action::Report(report) => self.travelling.push(Travelling::Report(report)),
                Action::Work(job) => match job.step {
                    Step::Apply { .. } => {
                        let takes = SignedDuration::from_millis(match chance.below(20) {
                            0 => 200_000,
                            n => 50 * i64::try_from(n).unwrap(),
                        });
                        assert!(self.applying.is_none(), "one at a time");
                        self.applies += 1;
                        self.applying = Some(Applying { job, ends: now + takes });
                    }
                    _ => self.travelling.push(Travelling::Work(job)),
                },
            }
        }
    }

    /// Ends what was applied, if it is time.
    pub fn finish(&mut self, now: Timestamp, outcome: Result<(), ApplyError>) -> bool {
        if self.applying.as_ref().is_none_or(|applying| applying.ends > now) {
            return false;
        }
        let Some(Applying { job, .. }) = self.applying.take() else { return false };
        if let (Step::Apply { desired, .. }, Ok(())) = (&job.step, &outcome) {
            self.looks.insert(job.policy.clone(), desired.clone());
        }
        self.engine.ended(&job, Ended::Applied(outcome), now);
        true
    }

    /// Moves one write, or one answer. Whether there was any.
    pub fn travel(&mut self, server: &mut Server, chance: &mut Chance, now: Timestamp) -> bool {
        if self.travelling.is_empty() {
            return false;
        }
        let at = chance.below(self.travelling.len());
        // An answer may get lost although the write was made, and the other way round.
        let lost = chance.one_in(40).then(|| chance.one_in(2));
        match self.travelling.swap_remove(at) {
            Travelling::Worked(job, ended) => self.engine.ended(&job, ended, now),
            Travelling::Reported(report, ended) => self.engine.reported(&report, ended, now),
            Travelling::Work(job) => {
                let mut ended = Ended::Failed("lost".into());
                if lost != Some(false) {
                    let answer = work(server, &self.name, &job);
                    ended = if lost.is_some() { ended } else { answer };
                }
                self.travelling.push(Travelling::Worked(job, ended));
            }
            Travelling::Report(report) => {
                let mut ended = Ended::Failed("lost".into());
                if lost != Some(false) {
                    let answer = write(server, &report);
                    ended = if lost.is_some() { ended } else { answer };
                }
                self.travelling.push(Travelling::Reported(report, ended));
            }
        }
        true
    }

    /// Dies. Some of what is on its way still arrives.
    pub fn die(self, server: &mut Server, chance: &mut Chance) -> BTreeMap<String, Value> {
        for travelling in self.travelling {
            if chance.one_in(2) {
                match travelling {
                    Travelling::Work(job) => drop(work(server, &self.name, &job)),
                    Travelling::Report(report) => drop(write(server, &report)),
                    _ => {}
                }
            }
        }
        self.looks
    }

    pub fn is_idle(&self) -> bool {
        self.travelling.is_empty() && self.applying.is_none() && self.engine.is_idle()
    }

    /// The policy this node is being changed for.
    pub fn works_on(&self) -> Option<&str> {
        let job = &self.applying.as_ref()?.job;
        let Step::Apply { purpose: Purpose::Policy, .. } = job.step else { return None };
        Some(&job.policy)
    }
}

/// What the driver does, here without a network.
fn work(server: &mut Server, node: &str, job: &Job) -> Ended {
    let name = enactment_name(node, &job.policy);
    match &job.step {
        Step::Create { .. } => server.create_enactment(node, &job.policy, &job.uid),
        Step::Delete { uid } => server.delete_enactment(&name, uid),
        Step::Say { uid, revision, before, status, .. } => {
            server.change_enactment(&name, uid, *revision, |enactment| {
                assert_eq!(enactment.status, **before, "what was read is what is there");
                enactment.status = (**status).clone();
            });
        }
        Step::Claim(report) => return write(server, report),
        Step::Render { desired, capture, known } => {
            let known: &Captured = known;
            return Ended::Rendered(render(desired, capture, known, &Value::Null));
        }
        Step::Look => {
            let all = server.enactments.objects.values();
            let enactments = all.filter(|e| e.policy == job.policy).cloned().collect();
            let policy = server.policies.objects.get(&job.policy).cloned().map(Box::new);
            return Ended::Seen { enactments, policy };
        }
        Step::Apply { .. } | Step::Compare { .. } => unreachable!("not for the server"),
    }
    Ended::Enactment(server.enactments.objects.get(&name).cloned().map(Box::new))
}

fn write(server: &mut Server, report: &Report) -> Ended {
    let won = server.report(report);
    let now = server.policies.objects.get(&report.policy).cloned().map(Box::new);
    Ended::Policy { won, now }
}

fn list<T: Kept>(engine: &mut Engine, shelf: &Shelf<T>, wrap: fn(Told<T>) -> News) -> usize {
    engine.tell(wrap(Told::Restart));
    for object in shelf.objects.values() {
        engine.tell(wrap(Told::Listed(object.clone())));
    }
    engine.tell(wrap(Told::Complete));
    shelf.log.len()
}

fn hear<T: Kept>(
    engine: &mut Engine,
    shelf: &Shelf<T>,
    at: &mut usize,
    wrap: fn(Told<T>) -> News,
) -> bool {
    let Some(told) = shelf.log.get(*at) else { return false };
    *at += 1;
    engine.tell(wrap(told.clone()));
    true
}
