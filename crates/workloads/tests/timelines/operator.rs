//! One instance of the controllers with its own, late view of the server.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Resource;
use landbridge_controllers::mirror::Told;
use landbridge_workloads::Settings;
use landbridge_workloads::action::{Answer, Kind, Notice};
use landbridge_workloads::engine::{Engine, Task};
use landbridge_workloads::world::{News, Seen};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chance::Chance;
use crate::server::Server;

/// A write on its way.
enum Travelling {
    There(Task),
    Back(Task, Answer),
}

pub struct Operator {
    pub engine: Engine,
    told: BTreeMap<Kind, usize>,
    travelling: Vec<Travelling>,
    pub notices: Vec<Notice>,
}

fn typed<T: DeserializeOwned + Resource>(told: Told<Value>) -> Told<Seen<T>> {
    let read = |object: Value| Seen::from(serde_json::from_value::<T>(object).unwrap());
    match told {
        Told::Restart => Told::Restart,
        Told::Listed(object) => Told::Listed(read(object)),
        Told::Complete => Told::Complete,
        Told::Applied(object) => Told::Applied(read(object)),
        Told::Deleted(object) => Told::Deleted(read(object)),
    }
}

fn news(kind: Kind, told: Told<Value>) -> News {
    match kind {
        Kind::Deployment => News::Deployment(typed(told)),
        Kind::ReplicaSet => News::ReplicaSet(typed(told)),
        Kind::StatefulSet => News::StatefulSet(typed(told)),
        Kind::DaemonSet => News::DaemonSet(typed(told)),
        Kind::ControllerRevision => News::Revision(typed(told)),
        Kind::Pod => News::Pod(typed(told)),
        Kind::Node => News::Node(typed(told)),
        Kind::Lease => News::Lease(typed(told)),
        Kind::Service => News::Service(typed(told)),
        Kind::EndpointSlice => News::Slice(typed(told)),
    }
}

impl Operator {
    /// Starts with a list of everything there is.
    pub fn start(server: &Server, settings: Settings) -> Self {
        let mut operator = Self {
            engine: Engine::new(settings),
            told: BTreeMap::new(),
            travelling: Vec::new(),
            notices: Vec::new(),
        };
        for kind in Kind::ALL {
            operator.list(server, kind);
        }
        operator
    }

    /// The watch of a kind starts over.
    pub fn list(&mut self, server: &Server, kind: Kind) {
        self.engine.tell(news(kind, Told::Restart), server.now);
        for object in server.all(kind) {
            self.engine.tell(news(kind, Told::Listed(object.clone())), server.now);
        }
        self.engine.tell(news(kind, Told::Complete), server.now);
        self.told.insert(kind, server.log.get(&kind).map_or(0, Vec::len));
    }

    /// One piece of news of a kind; whether there was any.
    pub fn hear(&mut self, server: &Server, kind: Kind) -> bool {
        let at = self.told.entry(kind).or_default();
        let Some((gone, object)) = server.log.get(&kind).and_then(|log| log.get(*at)) else {
            return false;
        };
        *at += 1;
        let object = object.clone();
        let told = if *gone { Told::Deleted(object) } else { Told::Applied(object) };
        self.engine.tell(news(kind, told), server.now);
        true
    }

    pub fn hear_all(&mut self, server: &Server) -> bool {
        let mut heard = false;
        for kind in Kind::ALL {
            while self.hear(server, kind) {
                heard = true;
            }
        }
        heard
    }

    pub fn act(&mut self, now: Timestamp, room: usize) {
        let tasks = self.engine.act(now, room);
        self.travelling.extend(tasks.into_iter().map(Travelling::There));
        self.notices.extend(self.engine.notices());
    }

    /// Moves one write, or one answer. Whether there was any.
    pub fn travel(&mut self, server: &mut Server, chance: &mut Chance, reliable: bool) -> bool {
        if self.travelling.is_empty() {
            return false;
        }
        let at = chance.below(self.travelling.len());
        match self.travelling.swap_remove(at) {
            Travelling::Back(task, answer) => self.engine.ended(task, answer, server.now),
            Travelling::There(task) => {
                let answer = carry_out(server, &task);
                // Sometimes the answer is lost on the way, done or not.
                let answer = if !reliable && chance.one_in(50) {
                    Answer::Failed("broken".to_owned())
                } else {
                    answer
                };
                self.travelling.push(Travelling::Back(task, answer));
            }
        }
        true
    }

    /// Dies. Some of what is on its way still arrives.
    pub fn die(self, server: &mut Server, chance: &mut Chance) {
        for travelling in self.travelling {
            if let Travelling::There(task) = travelling
                && chance.one_in(2)
            {
                carry_out(server, &task);
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.travelling.is_empty() && self.engine.is_idle()
    }
}

fn carry_out(server: &mut Server, task: &Task) -> Answer {
    let action = &task.action;
    server.carry_out(action.kind, &action.key, &action.verb, action.guard.as_ref())
}
