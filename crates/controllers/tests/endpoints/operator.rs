//! The controller with a watch that is late, answers in any order, and a life that may end.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use landbridge_controllers::making::Domain;
use landbridge_controllers::making::engine::{Answer, Engine, Task};
use landbridge_controllers::making::kinds::Kind;
use landbridge_controllers::making::world::{News, Seen};
use landbridge_controllers::making::writes::{Action, Verb};
use landbridge_controllers::mirror::Told;
use serde_json::Value;

use crate::chance::Chance;
use crate::server::{Refused, Server};

pub struct Operator {
    pub engine: Engine,
    /// How much of each log it has been told.
    told: BTreeMap<Kind, usize>,
    tasks: Vec<Task>,
    manager: &'static str,
}

impl Operator {
    /// Starts, and lists everything.
    pub fn start(server: &Server, domain: impl Domain + 'static) -> Self {
        let manager = domain.manager();
        let engine = Engine::new(Arc::new(domain));
        let mut operator = Self { engine, told: BTreeMap::new(), tasks: Vec::new(), manager };
        for kind in Kind::ALL {
            operator.list(server, *kind);
        }
        operator
    }

    /// A watch starts over.
    pub fn list(&mut self, server: &Server, kind: Kind) {
        self.engine.tell(News { kind, told: Told::Restart });
        for ((other, _), object) in &server.objects {
            if *other == kind {
                let told = Told::Listed(Seen::new(kind, object.clone()));
                self.engine.tell(News { kind, told });
            }
        }
        self.engine.tell(News { kind, told: Told::Complete });
        self.told.insert(kind, server.logs.get(&kind).map_or(0, Vec::len));
    }

    /// Hears some of what happened to a kind; whether there was anything.
    pub fn hear(&mut self, server: &Server, kind: Kind, most: usize) -> bool {
        let at = self.told.entry(kind).or_default();
        let log = server.logs.get(&kind).map_or(&[][..], Vec::as_slice);
        let end = log.len().min(at.saturating_add(most));
        for told in &log[*at..end] {
            let seen = |object: &Value| Seen::new(kind, object.clone());
            let told = match told {
                Told::Applied(object) => Told::Applied(seen(object)),
                Told::Deleted(object) => Told::Deleted(seen(object)),
                _ => continue,
            };
            self.engine.tell(News { kind, told });
        }
        let heard = end > *at;
        *at = end;
        heard
    }

    /// Decides what to write next; returns that.
    pub fn decide(&mut self, now: Timestamp, room: usize) -> Vec<Task> {
        let decided = self.engine.act(now, room);
        self.tasks.extend(decided.iter().cloned());
        decided
    }

    pub fn is_busy(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// What it wants to write, for messages.
    pub fn left(&self) -> Vec<&Action> {
        self.tasks.iter().map(|task| &task.action).collect()
    }

    /// Creates what it wants of a kind; the answer gets lost.
    pub fn create_without_answer(&mut self, server: &mut Server, kind: Kind, now: Timestamp) {
        let is_it = |task: &Task| task.action.kind == kind;
        let task = self.tasks.remove(self.tasks.iter().position(is_it).unwrap());
        let Verb::Create(object) = &task.action.verb else { panic!("{task:?}") };
        server.create(kind, object.clone(), self.manager).unwrap();
        self.engine.ended(&task, Answer::Failed("no answer".to_owned()), now);
    }

    /// Carries out one of its writes; the answer may get lost.
    pub fn write(
        &mut self,
        server: &mut Server,
        chance: &mut Chance,
        now: Timestamp,
        faults: bool,
    ) {
        if self.tasks.is_empty() {
            return;
        }
        let task = self.tasks.swap_remove(chance.below(self.tasks.len()));
        if faults && chance.one_in(40) {
            return self.engine.ended(&task, Answer::Failed("not reached".to_owned()), now);
        }
        let spot = (task.action.kind, task.action.key.clone());
        let done = match &task.action.verb {
            Verb::Create(object) => {
                server.create(spot.0, object.clone(), self.manager).map(Answer::Now)
            }
            Verb::Update(object) => server.update(spot.0, object, self.manager).map(Answer::Now),
            Verb::Patch(patch) => server.patch(&spot, patch, false, self.manager).map(Answer::Now),
            Verb::Status(patch) => server.patch(&spot, patch, true, self.manager).map(Answer::Now),
            Verb::Delete { uid } => {
                let done = server.delete(&spot, Some(uid));
                if done.is_ok() {
                    server.deletions.push(spot.clone());
                }
                done.map(|()| Answer::Gone)
            }
            Verb::Tell { notice, .. } => {
                server.notices.push((spot.clone(), notice.note.clone()));
                Ok(Answer::Told)
            }
            Verb::Read => Ok(Answer::Lost(server.objects.get(&spot).cloned())),
        };
        let answer = match done {
            _ if faults && chance.one_in(40) => Answer::Failed("no answer".to_owned()),
            Ok(answer) => answer,
            Err(Refused::Conflict | Refused::Missing) => {
                Answer::Lost(server.objects.get(&spot).cloned())
            }
        };
        self.engine.ended(&task, answer, now);
    }
}
