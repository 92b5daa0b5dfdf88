//! One controller with its own, late view of the server.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus, Service};
use kube::ResourceExt as _;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, block_name, block_of, block_prefix};
use landbridge_controllers::ipam::ledger::{Swap, Swapped};
use landbridge_controllers::mirror::Told;
use landbridge_controllers::vips::Settings;
use landbridge_controllers::vips::engine::{Action, Ended, Engine, News, Notice, Step, What};
use landbridge_controllers::vips::seen;
use landbridge_vips::asked::FROM_POOL;
use serde_json::json;

use crate::chance::Chance;
use crate::server::{Kept, Refused, Server, Shelf};

/// A write on its way.
enum Travelling {
    There(Action),
    Back(Answer),
}

/// News come in so many kinds.
pub const KINDS: usize = 5;

pub struct Operator {
    pub engine: Engine,
    /// How much of each log was told: Services, pools, namespaces, AddressBlocks.
    told: [usize; 4],
    travelling: Vec<Travelling>,
    pub notices: Vec<Notice>,
}

fn service(object: &Service) -> seen::Service {
    seen::Service::read(object, &Settings::default())
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
        for kind in 0..KINDS {
            operator.list(server, kind);
        }
        operator
    }

    /// The watch of a kind starts over.
    pub fn list(&mut self, server: &Server, kind: usize) {
        let engine = &mut self.engine;
        let at = match kind {
            0 => list(engine, &server.services, service, News::Service),
            1 => list(engine, &server.pools, |pool| pool.clone().into(), News::Pool),
            2 => list(engine, &server.namespaces, |space| space.clone().into(), News::Namespace),
            3 => list(engine, &server.blocks, |block| block.clone().into(), News::Block),
            _ => return engine.tell(News::Sites(server.sites.clone())),
        };
        self.told[kind] = at;
    }

    /// One piece of news of a kind; whether there was any.
    pub fn hear(&mut self, server: &Server, kind: usize) -> bool {
        if kind == 4 {
            self.engine.tell(News::Sites(server.sites.clone()));
            return false;
        }
        let (engine, at) = (&mut self.engine, &mut self.told[kind]);
        match kind {
            0 => hear(engine, &server.services, at, service, News::Service),
            1 => hear(engine, &server.pools, at, |pool| pool.clone().into(), News::Pool),
            2 => hear(engine, &server.namespaces, at, |s| s.clone().into(), News::Namespace),
            _ => hear(engine, &server.blocks, at, |block| block.clone().into(), News::Block),
        }
    }

    pub fn act(&mut self, now: Timestamp, room: usize) {
        for action in self.engine.act(now, room) {
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

    /// Whether there is news of pools that was not told here.
    pub fn is_behind(&self, server: &Server) -> bool {
        self.told[1] < server.pools.log.len()
    }

    pub fn is_idle(&self) -> bool {
        self.travelling.is_empty() && self.engine.is_idle()
    }
}

fn list<T: Kept, V>(
    engine: &mut Engine,
    shelf: &Shelf<T>,
    read: fn(&T) -> V,
    wrap: fn(Told<V>) -> News,
) -> usize {
    engine.tell(wrap(Told::Restart));
    for object in shelf.objects.values() {
        engine.tell(wrap(Told::Listed(read(object))));
    }
    engine.tell(wrap(Told::Complete));
    shelf.log.len()
}

fn hear<T: Kept, V>(
    engine: &mut Engine,
    shelf: &Shelf<T>,
    at: &mut usize,
    read: fn(&T) -> V,
    wrap: fn(Told<V>) -> News,
) -> bool {
    let Some(told) = shelf.log.get(*at) else { return false };
    *at += 1;
    engine.tell(wrap(match told {
        Told::Applied(object) => Told::Applied(read(object)),
        Told::Deleted(object) => Told::Deleted(read(object)),
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
        Action::Pool(key, status) => {
            if !broken {
                let (namespace, name) = (&*key.namespace, &*key.name);
                let _ = server.change(namespace, name, None, |pool: &mut IPAddressPool| {
                    pool.status = json!({
                        "assignedIPv4": status.assigned_v4, "assignedIPv6": status.assigned_v6,
                        "availableIPv4": status.available_v4, "availableIPv6": status.available_v6,
                    });
                });
            }
            Box::new(move |engine, now| engine.reported(&key, !broken, now))
        }
        Action::Configuration(wrong) => {
            if !broken {
                server.configuration = Some(wrong);
            }
            Box::new(move |engine, now| engine.configured(!broken, now))
        }
        Action::Tell(_) => Box::new(|_, _| {}),
    }
}

fn do_swap(server: &mut Server, swap: &Swap) -> Swapped {
    let claims = |edits: &std::collections::BTreeMap<_, Option<_>>| {
        edits.iter().filter_map(|(a, c): (&std::net::IpAddr, _)| Some((*a, c.clone()?))).collect()
    };
    let result = match &swap.from {
        None => {
            let spec = AddressBlockSpec {
                segment: swap.segment.to_string(),
                block: block_prefix(swap.base),
                claims: claims(&swap.edits),
            };
            server.create(AddressBlock::new(&swap.name, spec)).map(Some)
        }
        Some((uid, revision)) => {
            let found = server.get::<AddressBlock>("", &swap.name);
            let is_it = found.as_ref().is_some_and(|block| {
                block.uid().as_deref() == Some(&**uid)
                    && block.resource_version() == Some(revision.to_string())
            });
            match found {
                Some(block) if is_it && swap.empties => {
                    let stays = |address| !matches!(swap.edits.get(address), Some(None));
                    assert!(
                        !block.spec.claims.keys().any(stays),
                        "a block with claims must not go"
                    );
                    server.delete::<AddressBlock>("", &swap.name);
                    Ok(None)
                }
                Some(_) if is_it => server
                    .change("", &swap.name, None, |block: &mut AddressBlock| {
                        for (address, claim) in &swap.edits {
                            match claim {
                                Some(claim) => block.spec.claims.insert(*address, claim.clone()),
                                None => block.spec.claims.remove(address),
                            };
                        }
                    })
                    .map(Some),
                _ => Err(Refused),
            }
        }
    };
    let now = result.unwrap_or_else(|Refused| server.get::<AddressBlock>("", &swap.name));
    now.map_or(Swapped::Gone, |block| Swapped::Block(block.into()))
}

fn do_step(server: &mut Server, step: &Step) -> Ended {
    let (namespace, name) = (&*step.key.namespace, &*step.key.name);
    let found = server.get::<Service>(namespace, name);
    if let What::Refresh { places, .. } = &step.what {
        let names = places.iter().map(|p| block_name(&p.segment, block_of(p.address)));
        let blocks = names.filter_map(|name| server.get::<AddressBlock>("", &name));
        return Ended::Refreshed(blocks.map(Into::into).collect());
    }
    if let What::Confirm(_) = step.what {
        return Ended::Confirmed(found.as_ref().map(service));
    }
    let is_it = found.as_ref().and_then(kube::ResourceExt::uid).as_deref() == Some(&*step.uid);
    let result = match &step.what {
        _ if !is_it => Err(Refused),
        What::Status { revision, addresses, pool, .. } => {
            server.change(namespace, name, Some(*revision), |service: &mut Service| {
                let ingress = addresses
                    .iter()
                    .map(|address| LoadBalancerIngress {
                        ip: Some(address.to_string()),
                        ..LoadBalancerIngress::default()
                    })
                    .collect();
                let status = service.status.get_or_insert_default();
                status.load_balancer = Some(LoadBalancerStatus {
                    ingress: Some(ingress).filter(|list: &Vec<_>| !list.is_empty()),
                });
                match pool {
                    Some(pool) => {
                        service.annotations_mut().insert(FROM_POOL.to_owned(), pool.clone())
                    }
                    None => service.annotations_mut().remove(FROM_POOL),
                };
            })
        }
        What::Fence { revision } => {
            server.change(namespace, name, Some(*revision), |service: &mut Service| {
                let note = ("fence".to_owned(), revision.to_string());
                service.annotations_mut().insert(note.0, note.1);
            })
        }
        What::Refresh { .. } | What::Confirm(_) => Err(Refused),
    };
    match result {
        Ok(now) => Ended::Done(service(&now)),
        Err(Refused) => Ended::Lost(server.get::<Service>(namespace, name).as_ref().map(service)),
    }
}

/// Lets one controller work until nothing is left to do.
pub fn settle(server: &mut Server, operator: &mut Operator) {
    let mut chance = Chance::new(1);
    for round in 0..10_000 {
        let now = Timestamp::from_second(round).unwrap();
        let mut moved = false;
        for kind in 0..KINDS {
            while operator.hear(server, kind) {
                moved = true;
            }
        }
        operator.act(now, usize::MAX);
        while operator.travel(server, &mut chance, now) {
            moved = true;
        }
        if !moved && operator.is_idle() && operator.engine.wake_at().is_none() {
            return;
        }
    }
    panic!("never comes to rest");
}
