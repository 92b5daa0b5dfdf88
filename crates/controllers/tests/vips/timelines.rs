//! Random timelines. Whatever happens: no address is used by two who may not share it, what a status
//! names is claimed, nobody is moved without a reason, nothing is lost or leaked, and once it is quiet
//! everybody who can be served is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_api::ledger::{
    AddressBlock, AddressBlockSpec, Claim, block_name, block_of, block_prefix,
};
use landbridge_controllers::mirror::Key;
use landbridge_controllers::vips::Settings;
use landbridge_controllers::vips::claims::{self, VIPS};
use landbridge_controllers::vips::seen::{self, Role};
use landbridge_plan::Site;
use landbridge_vips::{Allocator, Config, NAMESPACE, converge, figures};

use crate::chance::Chance;
use crate::operator::{KINDS, Operator};
use crate::server::Server;
use crate::wishes::{self, SPACES};

const WIRE: &str = "vlan-20";

struct World {
    server: Server,
    operators: Vec<Operator>,
    chance: Chance,
    now: Timestamp,
    /// The addresses of each identity, and what may have been a reason to move it since.
    given: BTreeMap<String, (Vec<IpAddr>, bool)>,
    /// The pools that were last valid.
    config: Option<Config>,
}

fn seen(service: &Service) -> seen::Service {
    seen::Service::read(service, &Settings::default())
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            server: Server::default(),
            operators: Vec::new(),
            chance: Chance::new(seed),
            now: Timestamp::UNIX_EPOCH,
            given: BTreeMap::new(),
            config: None,
        };
        for space in SPACES {
            world.server.create(wishes::namespace(space)).unwrap();
        }
        let spec = serde_json::json!({"addresses": ["10.0.0.62-10.0.0.65", "fd00::40/127"]});
        world.server.create(wishes::pool("a", spec)).unwrap();
        world.read_config();
        world.rewire();
        let operators = 1 + world.chance.below(2);
        for _ in 0..operators {
            world.operators.push(Operator::start(&world.server));
        }
        world
    }

    fn rewire(&mut self) {
        let site = Site { segment: WIRE.into(), prefix: "10.0.0.0/24".parse().unwrap() };
        let sites = if self.chance.one_in(3) { Vec::new() } else { vec![site] };
        self.server.sites = ["a", "b"].map(|name| (name.to_owned(), sites.clone())).into();
    }

    /// The pools as a controller would read them; as they were when they make no sense.
    fn read_config(&mut self) {
        let pools = self.server.pools.objects.values();
        let pools: Vec<_> = pools.map(|pool| (pool.name_any(), pool.spec.clone())).collect();
        let pools = pools.iter().map(|(name, spec)| (name.as_str(), spec));
        if let Ok(config) = Config::read(pools, &[]) {
            self.config = Some(config);
        }
        self.given.values_mut().for_each(|(_, reason)| *reason = true);
    }

    fn any_service(&mut self) -> (&'static str, String) {
        let space = *self.chance.pick(&SPACES);
        (space, format!("svc-{}", self.chance.below(6)))
    }

    fn happen(&mut self) {
        match self.chance.below(100) {
            0..=5 => {
                let (space, name) = self.any_service();
                let mut service = wishes::service(space, &name);
                wishes::wish(&mut self.chance, &mut service);
                let _ = self.server.create(service);
            }
            6..=7 => {
                let (space, name) = self.any_service();
                self.server.delete::<Service>(space, &name);
            }
            8..=9 => {
                let (space, name) = self.any_service();
                let chance = &mut self.chance;
                let done =
                    self.server.change(space, &name, None, |service| wishes::wish(chance, service));
                if let Ok(service) = done
                    && let Some((_, reason)) = self.given.get_mut(&service.uid().unwrap())
                {
                    *reason = true;
                }
            }
            10 => self.change_pool(),
            11 if self.chance.one_in(4) => self.rewire(),
            12 => self.stranger(),
            13 => {
                if self.chance.one_in(2) {
                    let at = self.chance.below(self.operators.len());
                    let fresh = Operator::start(&self.server);
                    let old = std::mem::replace(&mut self.operators[at], fresh);
                    old.die(&mut self.server, &mut self.chance);
                }
            }
            14 => {
                let at = self.chance.below(self.operators.len());
                let kind = self.chance.below(KINDS);
                self.operators[at].list(&self.server, kind);
            }
            _ => {
                let at = self.chance.below(self.operators.len());
                let operator = &mut self.operators[at];
                match self.chance.below(3) {
                    0 => {
                        let kind = self.chance.below(KINDS);
                        operator.hear(&self.server, kind);
                    }
                    1 => operator.act(self.now, 1 + self.chance.below(5)),
                    _ => {
                        operator.travel(&mut self.server, &mut self.chance, self.now);
                    }
                }
            }
        }
        self.now = self.now.checked_add(SignedDuration::from_millis(3)).unwrap();
    }

    fn change_pool(&mut self) {
        let spec = wishes::pool_spec(&mut self.chance);
        match self.chance.below(6) {
            0 => {
                self.server.delete::<IPAddressPool>(NAMESPACE, "a");
            }
            1 => {
                self.server.delete::<IPAddressPool>(NAMESPACE, "b");
            }
            2 => {
                let _ = self.server.create(wishes::pool("b", spec));
            }
            _ => {
                let exists =
                    self.server.change(NAMESPACE, "a", None, |pool: &mut IPAddressPool| {
                        pool.spec = spec.clone();
                    });
                if exists.is_err() {
                    let _ = self.server.create(wishes::pool("a", spec));
                }
            }
        }
        self.read_config();
    }

    /// An IPSet takes an address of the wire that is free, or gives one back.
    fn stranger(&mut self) {
        let address: IpAddr = format!("10.0.0.{}", 61 + self.chance.below(5)).parse().unwrap();
        let name = block_name(WIRE, block_of(address));
        let claim = Claim { kind: "IPSet".into(), name: "edpm-0".into(), ..Claim::default() };
        let Some(block) = self.server.get::<AddressBlock>("", &name) else {
            let spec = AddressBlockSpec {
                segment: WIRE.to_owned(),
                block: block_prefix(block_of(address)),
                claims: [(address, claim)].into(),
            };
            self.server.create(AddressBlock::new(&name, spec)).unwrap();
            return;
        };
        match block.spec.claims.get(&address) {
            Some(held) if held.kind == "IPSet" && block.spec.claims.len() == 1 => {
                self.server.delete::<AddressBlock>("", &name);
            }
            Some(held) if held.kind != "IPSet" => {}
            found => {
                let claim = found.is_none().then_some(claim);
                let change = |block: &mut AddressBlock| match claim {
                    Some(claim) => drop(block.spec.claims.insert(address, claim)),
                    None => drop(block.spec.claims.remove(&address)),
                };
                self.server.change("", &name, None, change).unwrap();
            }
        }
    }

    fn remove_strangers(&mut self) {
        let names: Vec<String> =
            self.server.blocks.objects.keys().map(|(_, name)| name.clone()).collect();
        for name in names {
            let change = |block: &mut AddressBlock| {
                block.spec.claims.retain(|_, claim| claim.kind != "IPSet");
            };
            let block = self.server.change("", &name, None, change).unwrap();
            if block.spec.claims.is_empty() {
                self.server.delete::<AddressBlock>("", &name);
            }
        }
    }

    /// Makes sense of the pools, if they make none: a controller that started meanwhile has nothing to
    /// go by.
    fn heal(&mut self) {
        let pools = self.server.pools.objects.values();
        let pools: Vec<_> = pools.map(|pool| (pool.name_any(), pool.spec.clone())).collect();
        let pools = pools.iter().map(|(name, spec)| (name.as_str(), spec));
        if Config::read(pools, &[]).is_err() {
            let spec = serde_json::json!({"addresses": ["10.0.0.63-10.0.0.64"]});
            self.server.delete::<IPAddressPool>(NAMESPACE, "a");
            self.server.delete::<IPAddressPool>(NAMESPACE, "b");
            self.server.create(wishes::pool("b", spec)).unwrap();
            self.read_config();
        }
    }

    /// Lets everything come to rest.
    fn quiet(&mut self) {
        for round in 0.. {
            assert!(round < 20_000, "never comes to rest");
            let mut moved = false;
            for operator in &mut self.operators {
                for kind in 0..KINDS {
                    while operator.hear(&self.server, kind) {
                        moved = true;
                    }
                }
                operator.act(self.now, usize::MAX);
                while operator.travel(&mut self.server, &mut self.chance, self.now) {
                    moved = true;
                }
            }
            self.now = self.now.checked_add(SignedDuration::from_secs(1)).unwrap();
            let waits = self.operators.iter().any(|o| !o.is_idle() || o.engine.wake_at().is_some());
            if !moved && !waits {
                return;
            }
            self.check_always();
        }
    }

    fn claims(&self, segment: &str) -> BTreeMap<IpAddr, Claim> {
        let blocks = self.server.blocks.objects.values();
        let blocks = blocks.filter(|block| block.spec.segment == segment);
        blocks.flat_map(|block| block.spec.claims.clone()).collect()
    }

    /// True at every moment.
    fn check_always(&mut self) {
        let vips = self.claims(VIPS);
        // Who goes by old pools may move somebody back, and the others again.
        let behind = self.operators.iter().any(|operator| operator.is_behind(&self.server));
        for (address, claim) in &vips {
            let users: Vec<_> = claims::users(Some(claim)).collect();
            assert!(!users.is_empty(), "{address} is used by nobody");
            let sharing = claims::sharing(claim);
            assert!(users.len() == 1 || sharing.is_shared(), "{address}: {users:?}");
            let mut ports = BTreeSet::new();
            for port in users.iter().flat_map(|(_, ports)| ports) {
                assert!(ports.insert(*port), "{address} has two on {port:?}: {users:?}");
            }
        }
        for service in self.server.services.objects.values() {
            let service = seen(service);
            for address in &service.ingress {
                let entry = vips.get(address).and_then(|c| claims::entry(c, &service.key));
                let uid = entry.map(|entry| entry.uid.as_str());
                assert_eq!(uid, Some(&*service.uid), "{address} of {} is not claimed", service.key);
            }
            let fresh = (service.ingress.clone(), false);
            let known = self.given.entry(service.uid.to_string()).or_insert(fresh);
            if known.0 != service.ingress {
                let keeps = known.0.iter().all(|address| service.ingress.contains(address));
                let (key, now) = (&service.key, &service.ingress);
                assert!(
                    keeps || known.1 || behind,
                    "{key} was moved from {:?} to {now:?}",
                    known.0
                );
                // Who was behind when it decided may have moved it where it cannot stay.
                let fits = now.is_empty()
                    || self.config.as_ref().is_some_and(|config| {
                        let pool = config.holding(now);
                        pool.is_some_and(|pool| match &service.role {
                            Role::Balanced(asked) => {
                                config.is_for(&pool.name, asked)
                                    && asked.pool.as_ref().is_none_or(|name| **name == *pool.name)
                            }
                            _ => false,
                        })
                    });
                *known = (service.ingress.clone(), behind || !fits);
            }
        }
    }

    /// True once it is quiet.
    fn check_rest(&mut self) {
        self.check_always();
        let (vips, wire) = (self.claims(VIPS), self.claims(WIRE));
        let config = self.config.clone().unwrap();
        let mut allocator = Allocator::default();
        allocator.configure(config.clone());
        for (address, claim) in &vips {
            for (user, ports) in claims::users(Some(claim)) {
                let key = Key::new(&user.namespace, &user.name);
                let (name, sharing) = (claims::name_of(&key), claims::sharing(claim));
                allocator.occupy(*address, &name, &sharing, &ports);
                let place = (user.namespace.clone(), user.name.clone());
                let service = &self.server.services.objects.get(&place).map(seen);
                let has = service.as_ref().is_some_and(|service| {
                    *service.uid == *user.uid && service.ingress.contains(address)
                });
                assert!(has, "{address} is claimed for {key}, which does not have it");
            }
        }
        let wired = |address: &IpAddr| {
            let pool = config.around(*address)?;
            let sites = self.server.sites.get(&*pool.name)?;
            sites.iter().find(|site| site.prefix.contains(*address))
        };
        for (address, claim) in &wire {
            if claim.kind == "IPSet" {
                if wired(address).is_some() {
                    allocator.hold(*address, Some(claim.to_string()));
                }
                continue;
            }
            let among = vips.get(address).map(without_revisions);
            assert_eq!(Some(without_revisions(claim)), among, "the wire says something else");
            assert!(wired(address).is_some(), "{address} is on no wire");
        }
        for (address, claim) in vips.iter().filter(|(address, _)| wired(address).is_some()) {
            let on_wire = wire.get(address);
            assert!(
                on_wire.map(without_revisions) == Some(without_revisions(claim))
                    || on_wire.is_some_and(|claim| claim.kind == "IPSet"),
                "{address} is not claimed on its wire: {on_wire:?}"
            );
        }
        for service in self.server.services.objects.values().map(seen) {
            match &service.role {
                Role::Foreign => {}
                Role::Plain => assert!(service.ingress.is_empty() && service.from_pool.is_none()),
                Role::Balanced(asked) => {
                    let should = converge(&mut allocator, asked, &service.ingress).given;
                    let has: Option<&[IpAddr]> =
                        (!service.ingress.is_empty()).then_some(&service.ingress);
                    let given = should.as_ref().map(|given| given.addresses.as_slice());
                    assert_eq!(given, has, "{asked:?}");
                    let pool = should.map(|given| given.pool.to_string());
                    assert_eq!(service.from_pool, pool);
                }
            }
        }
        for pool in self.server.pools.objects.values().cloned().map(seen::Pool::from) {
            if let Some(status) = figures::status(&allocator, &pool.key.name)
                && self.server.configuration == Some(None)
            {
                assert_eq!(pool.status, Some(status), "status of pool {}", pool.key);
            }
        }
    }
}

/// A wire may have become known later than the address was given.
fn without_revisions(claim: &Claim) -> Claim {
    let mut claim = claim.clone();
    for user in claim.shared.iter_mut().flat_map(|shared| &mut shared.users) {
        user.revision = 0;
    }
    claim
}

fn play(seed: u64, length: usize) {
    let mut world = World::new(seed);
    for _ in 0..length {
        world.happen();
        world.check_always();
    }
    world.quiet();
    world.heal();
    world.quiet();
    world.check_rest();
    // Everything goes, and nothing stays behind.
    let places: Vec<_> = world.server.services.objects.keys().cloned().collect();
    for (space, name) in places {
        world.server.delete::<Service>(&space, &name);
    }
    world.quiet();
    world.remove_strangers();
    world.quiet();
    let left: Vec<_> = world.server.blocks.objects.values().map(|block| &block.spec).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn random_timelines() {
    let count: u64 =
        std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let first: u64 =
        std::env::var("LANDBRIDGE_TIMELINE").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let result = std::panic::catch_unwind(|| play(seed, 400));
        assert!(result.is_ok(), "seed {seed}: LANDBRIDGE_TIMELINE={seed} LANDBRIDGE_TIMELINES=1");
    }
}
