//! Everything a machine can change, as a model: disk, namespaces, attachments, processes, the API.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use landbridge_agent::pods::desired::{Container, Deletion, Desired, PodIdentity};
use landbridge_agent::pods::machine::{Action, Found, InitFailure, Machine, Outcome};
use landbridge_agent::pods::record::{Names, Process, Record, Stage};
use landbridge_agent::pods::run::Run;

/// What may go wrong with the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Luck {
    Good,
    /// It fails, and nothing was done.
    Fails,
    /// It fails, although it was done.
    FailsLate,
    /// The agent dies before it.
    DiesBefore,
    /// The agent dies after it.
    DiesAfter,
}

pub struct World {
    pub now: Timestamp,
    pub desired: Option<Desired>,
    pub disk: Option<Record>,
    pub queue: Vec<Record>,
    pub namespaces: BTreeSet<String>,
    pub attached: BTreeSet<String>,
    pub process: Option<Process>,
    pub machine: Machine,
    /// How many sandboxes there have been.
    made: u32,
    born: u64,
}

impl World {
    pub fn new(host_network: bool) -> Self {
        let identity = PodIdentity { namespace: "n".into(), name: "p".into(), uid: "u".into() };
        let container = Container { name: "c".into(), ..Container::default() };
        let desired = Desired {
            identity: identity.clone(),
            host_network,
            containers: vec![container],
            ..Desired::default()
        };
        Self {
            now: Timestamp::UNIX_EPOCH,
            desired: Some(desired),
            disk: None,
            queue: Vec::new(),
            namespaces: BTreeSet::new(),
            attached: BTreeSet::new(),
            process: None,
            machine: Machine::new(identity),
            made: 0,
            born: 0,
        }
    }

    pub fn pass(&mut self, time: Duration) {
        self.now += SignedDuration::try_from(time).unwrap();
    }

    /// Lets the machine do one thing. Whether there was anything to do.
    pub fn step(&mut self, luck: Luck) -> bool {
        let made = &mut self.made;
        let names = || {
            *made += 1;
            Some(Names { sandbox: format!("s{made}"), netns: format!("cni-{made}") })
        };
        let Some(action) = self.machine.step(self.now, self.desired.as_ref(), names) else {
            return false;
        };
        let failed = || Outcome::Failed("bad luck".into());
        let outcome = match luck {
            Luck::Good => self.carry_out(&action),
            Luck::Fails if action == Action::Detach => Outcome::NotDetached,
            Luck::Fails => failed(),
            Luck::FailsLate if action == Action::Detach => {
                self.carry_out(&action);
                Outcome::NotDetached
            }
            Luck::FailsLate if action == Action::Start => Outcome::InitFailed(InitFailure {
                container: "init".into(),
                code: 1,
                words: "bad luck".into(),
                at: self.now,
            }),
            // A signal cannot fail after it was sent.
            Luck::FailsLate if matches!(action, Action::Signal { .. }) => failed(),
            Luck::FailsLate => {
                self.carry_out(&action);
                failed()
            }
            Luck::DiesBefore => {
                self.agent_dies();
                return true;
            }
            Luck::DiesAfter => {
                self.carry_out(&action);
                self.agent_dies();
                return true;
            }
        };
        self.machine.ended(self.now, self.desired.as_ref(), &action, outcome);
        self.see_process();
        self.check();
        true
    }

    fn carry_out(&mut self, action: &Action) -> Outcome {
        let record = self.machine.record().cloned();
        let netns = record.as_ref().and_then(|record| record.netns.clone());
        match action {
            Action::Write(record) => self.disk = Some((**record).clone()),
            Action::MakeNamespace => {
                let stage = self.disk.as_ref().map(|record| record.stage);
                assert_eq!(stage, Some(Stage::Making), "made before it was written down");
                self.namespaces.insert(netns.unwrap());
            }
            Action::Attach => {
                assert!(self.namespaces.contains(&netns.unwrap()));
                self.attached.insert(record.unwrap().sandbox);
                return Outcome::Attached(vec!["192.0.2.1".parse().unwrap()]);
            }
            Action::Start => {
                assert_eq!(self.process, None, "two processes for one pod");
                if netns.is_some_and(|netns| !self.namespaces.contains(&netns)) {
                    return Outcome::NamespaceLost;
                }
                self.born += 1;
                let process = Process { pid: 1, born: self.born, started: self.now };
                self.process = Some(process);
                return Outcome::Started(process);
            }
            Action::Signal { .. } => {
                let meant = record.unwrap().process;
                if self.process.is_some() && self.process == meant {
                    self.process = None;
                }
            }
            Action::Detach => {
                assert_eq!(self.process, None, "its network was taken from a process");
                self.attached.remove(&record.unwrap().sandbox);
            }
            Action::RemoveNamespace => {
                self.namespaces.remove(&netns.unwrap());
            }
            Action::Forget { queue } => {
                if *queue {
                    self.queue.extend(self.disk.take());
                }
                self.disk = None;
            }
            Action::DeletePod => {
                assert_eq!(self.disk, None, "deleted while there is a record");
                self.desired = None;
            }
        }
        Outcome::Done
    }

    /// A process that has ended is seen to.
    fn see_process(&mut self) {
        if let Run::Running(running) = self.machine.run()
            && self.process != Some(running.process)
        {
            self.machine.exited(self.now, self.desired.as_ref(), Some(143));
        }
    }

    /// The agent dies and another one starts.
    pub fn agent_dies(&mut self) {
        let identity = PodIdentity { namespace: "n".into(), name: "p".into(), uid: "u".into() };
        self.machine = match self.disk.clone() {
            None => Machine::new(identity),
            Some(record) => {
                let namespace =
                    record.netns.as_ref().is_some_and(|name| self.namespaces.contains(name));
                let found = Found { namespace, process: self.process };
                Machine::load(self.now, record, found, self.desired.as_ref())
            }
        };
        self.check();
    }

    /// The machine goes down with all that lives only in its memory.
    pub fn reboot(&mut self) {
        self.namespaces.clear();
        self.process = None;
        self.agent_dies();
    }

    pub fn process_dies(&mut self) {
        self.process = None;
        self.see_process();
    }

    /// Somebody deletes the pod and lets it end in order.
    pub fn delete(&mut self, grace: Duration) {
        let deadline = self.now + SignedDuration::try_from(grace).unwrap();
        if let Some(desired) = &mut self.desired {
            desired.deletion.get_or_insert(Deletion { deadline });
        }
    }

    /// The queue of releases does its work.
    pub fn release(&mut self) {
        for record in std::mem::take(&mut self.queue) {
            self.attached.remove(&record.sandbox);
        }
    }

    /// What must hold at every moment.
    pub fn check(&self) {
        let written = self.disk.as_ref();
        let netns = written.and_then(|record| record.netns.as_deref());
        for namespace in &self.namespaces {
            assert_eq!(netns, Some(namespace.as_str()), "a namespace that no record knows");
        }
        let sandbox = written.map(|record| record.sandbox.as_str());
        for attached in &self.attached {
            let queued = self.queue.iter().any(|record| record.sandbox == *attached);
            assert!(queued || sandbox == Some(attached), "an attachment that no record knows");
        }
        assert!(self.process.is_none() || written.is_some(), "a process that no record knows");
        if self.desired.is_none() && self.machine.gone(None) {
            assert!(self.namespaces.is_empty() && self.process.is_none() && written.is_none());
        }
    }

    /// Lets time pass until nothing is left to do.
    pub fn settle(&mut self) {
        for _ in 0..1000 {
            if self.step(Luck::Good) {
                continue;
            }
            let Some(wake) = self.machine.wake_at(self.now, self.desired.as_ref()) else { return };
            self.now = wake;
        }
        panic!("it goes on for ever: {:?}", self.machine);
    }
}
