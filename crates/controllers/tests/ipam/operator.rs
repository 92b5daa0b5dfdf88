//! One controller with its own, late view of the server.

use jiff::Timestamp;
use kube::ResourceExt as _;
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, block_prefix};
use landbridge_api::network::{IPSet, NetConfig, Reservation};
use landbridge_controllers::ipam::engine::{Action, Ended, Engine, News, Notice, Step, What};
use landbridge_controllers::ipam::ledger::{Swap, Swapped};
use landbridge_controllers::mirror::Told;

use crate::chance::Chance;
use crate::server::{Kept, Refused, Server};

/// A write on its way.
enum Travelling {
    There(Action),
    Back(Answer),
}

pub struct Operator {
    pub engine: Engine,
    /// How much of each log was told: NetConfigs, IPSets, Reservations, AddressBlocks.
    told: [usize; 4],
    travelling: Vec<Travelling>,
    pub notices: Vec<Notice>,
}

impl Operator {
    /// Starts with a list of everything there is.
    pub fn start(server: &Server) -> Self {
        let mut operator = Self {
            engine: Engine::default(),
            told: [0; 4],
            travelling: Vec::new(),
            notices: Vec::new(),
        };
        for kind in 0..4 {
            operator.list(server, kind);
        }
        operator
    }

    /// The watch of a kind starts over.
    pub fn list(&mut self, server: &Server, kind: usize) {
        let engine = &mut self.engine;
        self.told[kind] = match kind {
            0 => list::<NetConfig, _>(
                engine,
                &server.configs.objects,
                &server.configs.log,
                News::Config,
            ),
            1 => {
                list::<IPSet, _>(engine, &server.ipsets.objects, &server.ipsets.log, News::Request)
            }
            2 => list::<Reservation, _>(
                engine,
                &server.records.objects,
                &server.records.log,
                News::Record,
            ),
            _ => list::<AddressBlock, _>(
                engine,
                &server.blocks.objects,
                &server.blocks.log,
                News::Block,
            ),
        };
    }

    /// One piece of news of a kind; whether there was any.
    pub fn hear(&mut self, server: &Server, kind: usize) -> bool {
        let (engine, at) = (&mut self.engine, &mut self.told[kind]);
        match kind {
            0 => hear(engine, &server.configs.log, at, News::Config),
            1 => hear(engine, &server.ipsets.log, at, News::Request),
            2 => hear(engine, &server.records.log, at, News::Record),
            _ => hear(engine, &server.blocks.log, at, News::Block),
        }
    }

    pub fn act(&mut self, now: Timestamp) {
        for action in self.engine.act(now) {
            match action {
                Action::Tell(notice) => self.notices.push(notice),
                action => self.travelling.push(Travelling::There(action)),
            }
        }
    }

    /// Moves one write, or one answer. Whether there was any.
    pub fn travel(&mut self, server: &mut Server, chance: &mut Chance, now: Timestamp) -> bool {
        if self.travelling.is_empty() {
            return false;
        }
        let at = chance.below(self.travelling.len());
        match self.travelling.swap_remove(at) {
            Travelling::Back(answer) => answer(&mut self.engine, now),
            Travelling::There(action) => {
                let answer = carry_out(server, action, chance.one_in(50));
                self.travelling.push(Travelling::Back(answer));
            }
        }
        true
    }

    /// Dies. Some of what is on its way still arrives.
    pub fn die(self, server: &mut Server, chance: &mut Chance) {
        for travelling in self.travelling {
            if let Travelling::There(action) = travelling
                && chance.one_in(2)
            {
                drop(carry_out(server, action, false));
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.travelling.is_empty() && self.engine.is_idle()
    }
}

fn list<T: Kept, V: From<T>>(
    engine: &mut Engine,
    objects: &std::collections::BTreeMap<(String, String), T>,
    log: &[Told<T>],
    wrap: fn(Told<V>) -> News,
) -> usize {
    engine.tell(wrap(Told::Restart));
    for object in objects.values() {
        engine.tell(wrap(Told::Listed(object.clone().into())));
    }
    engine.tell(wrap(Told::Complete));
    log.len()
}

fn hear<T: Kept, V: From<T>>(
    engine: &mut Engine,
    log: &[Told<T>],
    at: &mut usize,
    wrap: fn(Told<V>) -> News,
) -> bool {
    let Some(told) = log.get(*at) else { return false };
    *at += 1;
    engine.tell(wrap(match told {
        Told::Applied(object) => Told::Applied(object.clone().into()),
        Told::Deleted(object) => Told::Deleted(object.clone().into()),
        _ => unreachable!("a log holds changes"),
    }));
    true
}

type Answer = Box<dyn FnOnce(&mut Engine, Timestamp)>;

/// What the driver does, here without a network. `broken`: the server does not answer.
fn carry_out(server: &mut Server, action: Action, broken: bool) -> Answer {
    match action {
        Action::Swap(swap) => {
            let how = if broken { Swapped::Failed } else { do_swap(server, &swap) };
            Box::new(move |engine, _| engine.swapped(&swap, how))
        }
        Action::Step(step) => {
            let how = if broken { Ended::Failed("broken".into()) } else { do_step(server, &step) };
            Box::new(move |engine, now| engine.ended(&step, how, now))
        }
        Action::Tell(_) => Box::new(|_, _| {}),
    }
}

fn do_swap(server: &mut Server, swap: &Swap) -> Swapped {
    let result = match &swap.from {
        None => {
            let spec = AddressBlockSpec {
                segment: swap.segment.to_string(),
                block: block_prefix(swap.base),
                claims: swap.edits.iter().filter_map(|(a, c)| Some((*a, c.clone()?))).collect(),
            };
            server.create(AddressBlock::new(&swap.name, spec))
        }
        Some((_, revision)) => {
            server.change("", &swap.name, Some(*revision), |block: &mut AddressBlock| {
                for (address, claim) in &swap.edits {
                    match claim {
                        Some(claim) => block.spec.claims.insert(*address, claim.clone()),
                        None => block.spec.claims.remove(address),
                    };
                }
                if swap.empties {
                    assert!(block.spec.claims.is_empty(), "a block with claims must not go");
                    block.metadata.deletion_timestamp = Some(
                        k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH),
                    );
                }
            })
        }
    };
    let now = match result {
        Ok(block) if block.metadata.deletion_timestamp.is_some() => None,
        Ok(block) => Some(block),
        Err(Refused) => server.get::<AddressBlock>("", &swap.name),
    };
    now.map_or(Swapped::Gone, |block| Swapped::Block(block.into()))
}

fn do_step(server: &mut Server, step: &Step) -> Ended {
    let (namespace, name) = (&*step.key.namespace, &*step.key.name);
    let result = match &step.what {
        What::Finalizers { revision, finalizers } => server
            .change(namespace, name, Some(*revision), |ipset: &mut IPSet| {
                ipset.metadata.finalizers = Some(finalizers.clone());
            })
            .map(|ipset| Ended::Now(Some(ipset.into()), None)),
        What::RecordFinalizers { revision, finalizers } => server
            .change(namespace, name, Some(*revision), |record: &mut Reservation| {
                record.metadata.finalizers = Some(finalizers.clone());
            })
            .map(|record| Ended::Now(None, Some(record.into()))),
        What::CreateRecord(record) => {
            server.create((**record).clone()).map(|record| Ended::Now(None, Some(record.into())))
        }
        What::UpdateRecord(revision, wanted) => server
            .change(namespace, name, Some(*revision), |record: &mut Reservation| {
                record.metadata.labels.clone_from(&wanted.metadata.labels);
                record.metadata.finalizers.clone_from(&wanted.metadata.finalizers);
                record.metadata.owner_references.clone_from(&wanted.metadata.owner_references);
                record.spec = wanted.spec.clone();
            })
            .map(|record| Ended::Now(None, Some(record.into()))),
        What::Status(uid, status) => {
            let current = server.get::<IPSet>(namespace, name).and_then(|ipset| ipset.uid());
            if current.as_deref() == Some(&**uid) {
                server
                    .change(namespace, name, None, |ipset: &mut IPSet| {
                        ipset.status = Some((**status).clone());
                    })
                    .map(|ipset| Ended::Now(Some(ipset.into()), None))
            } else {
                Err(Refused)
            }
        }
        What::Confirm(_) => {
            let request = server.get::<IPSet>(namespace, name).map(Into::into);
            let record = server.get::<Reservation>(namespace, name).map(Into::into);
            return Ended::Confirmed(request, record);
        }
    };
    result.unwrap_or_else(|Refused| {
        let request = server.get::<IPSet>(namespace, name).map(Into::into);
        let record = server.get::<Reservation>(namespace, name).map(Into::into);
        Ended::Now(request, record)
    })
}

/// Lets one controller work until nothing is left to do.
pub fn settle(server: &mut Server, operator: &mut Operator) {
    let mut chance = Chance::new(1);
    for round in 0..10_000 {
        let now = Timestamp::from_second(round).unwrap();
        server.collect();
        let mut moved = false;
        for kind in 0..4 {
            while operator.hear(server, kind) {
                moved = true;
            }
        }
        operator.act(now);
        while operator.travel(server, &mut chance, now) {
            moved = true;
        }
        if !moved && operator.is_idle() && operator.engine.wake_at().is_none() {
            return;
        }
    }
    panic!("never comes to rest");
}
