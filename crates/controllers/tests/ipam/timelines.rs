//! Random timelines. Whatever happens: nobody's address moves, no address has two holders, nothing
//! is lost or leaked, and once it is quiet everybody who can be served is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use landbridge_addr::net::Range;
use landbridge_addr::{Pool, RangeSet, Skip};
use landbridge_api::condition::is_ready;
use landbridge_api::ledger::Claim;
use landbridge_api::network::{
    AllocationRange, IPSet, IPSetNetwork, IPSetSpec, NetConfig, NetConfigSpec, Network,
    Reservation, Subnet,
};

use crate::chance::Chance;
use crate::operator::Operator;
use crate::server::Server;

const SPACE: &str = "openstack";

/// Networks small enough to run out of addresses; the first crosses a block and a .0 address.
fn config(chance: &mut Chance) -> NetConfigSpec {
    let network = |name: &str, cidr: &str, vlan: Option<i64>, ranges: &[(&str, &str)]| Network {
        name: name.to_owned(),
        dns_domain: Some(format!("{}.example.com", name.to_lowercase())),
        mtu: 1500,
        subnets: vec![Subnet {
            name: "subnet1".to_owned(),
            cidr: cidr.to_owned(),
            vlan,
            allocation_ranges: ranges
                .iter()
                .map(|(start, end)| AllocationRange {
                    start: (*start).to_owned(),
                    end: (*end).to_owned(),
                })
                .collect(),
            ..Subnet::default()
        }],
        ..Network::default()
    };
    let end = format!("10.0.1.{}", 1 + chance.below(4));
    let six = format!("fd00::1:{:x}", 2 + chance.below(5));
    NetConfigSpec {
        networks: vec![
            network("CtlPlane", "10.0.0.0/16", None, &[("10.0.0.254", &end)]),
            network(
                "Tenant",
                "172.20.0.0/24",
                Some(22),
                &[("172.20.0.100", "172.20.0.102"), ("172.20.0.10", "172.20.0.12")],
            ),
            network("Six", "fd00::/64", Some(23), &[("fd00::fffe", &six)]),
        ],
    }
}

struct World {
    server: Server,
    operators: Vec<Operator>,
    chance: Chance,
    now: Timestamp,
    /// What everybody was given, by identity: it must never change.
    given: BTreeMap<(String, String), IpAddr>,
    backup: Vec<Reservation>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            server: Server::default(),
            operators: Vec::new(),
            chance: Chance::new(seed),
            now: Timestamp::UNIX_EPOCH,
            given: BTreeMap::new(),
            backup: Vec::new(),
        };
        let spec = config(&mut world.chance);
        let mut netconfig = NetConfig::new("netconfig", spec);
        netconfig.metadata.namespace = Some(SPACE.to_owned());
        world.server.create(netconfig).unwrap();
        let operators = 1 + world.chance.below(2);
        for _ in 0..operators {
            world.operators.push(Operator::start(&world.server));
        }
        world
    }

    fn create_ipset(&mut self) {
        let name = format!("node-{}", self.chance.below(14));
        let mut networks = Vec::new();
        for network in ["ctlplane", "Tenant", "Six"] {
            if self.chance.one_in(4) {
                continue;
            }
            let fixed = match network {
                "Tenant" if self.chance.one_in(3) => {
                    Some(format!("172.20.0.{}", 10 + self.chance.below(3)))
                }
                _ => None,
            };
            networks.push(IPSetNetwork {
                name: network.to_owned(),
                subnet_name: "subnet1".to_owned(),
                fixed_ip: fixed,
                default_route: None,
            });
        }
        let mut ipset = IPSet::new(&name, IPSetSpec { immutable: false, networks });
        ipset.metadata.namespace = Some(SPACE.to_owned());
        let _ = self.server.create(ipset);
    }

    /// What a restore does: first the Reservation, without an owner; the IPSet comes later.
    fn restore(&mut self) {
        if self.backup.is_empty() || self.chance.one_in(2) {
            self.backup.extend(self.server.records.objects.values().cloned());
            return;
        }
        let old = self.chance.pick(&self.backup).clone();
        if self.server.ipsets.objects.contains_key(&(SPACE.to_owned(), old.name_any())) {
            return;
        }
        let mut record = Reservation::new(&old.name_any(), old.spec.clone());
        record.metadata.namespace = Some(SPACE.to_owned());
        let _ = self.server.create(record);
    }

    fn happen(&mut self) {
        match self.chance.below(100) {
            0..=5 => self.create_ipset(),
            6..=8 => {
                let name = format!("node-{}", self.chance.below(14));
                self.server.delete::<IPSet>(SPACE, &name);
            }
            9 => {
                let name = format!("node-{}", self.chance.below(14));
                // Somebody is in a hurry and takes the finalizers away.
                if self.chance.one_in(4) {
                    let _ = self.server.change(SPACE, &name, None, |ipset: &mut IPSet| {
                        ipset.metadata.finalizers = None;
                    });
                }
            }
            10 => {
                let spec = config(&mut self.chance);
                let _ = self.server.change(SPACE, "netconfig", None, |n: &mut NetConfig| {
                    n.spec = spec;
                });
            }
            11..=13 => self.server.collect(),
            14 => self.restore(),
            15 => {
                if self.chance.one_in(3) {
                    let at = self.chance.below(self.operators.len());
                    let fresh = Operator::start(&self.server);
                    let old = std::mem::replace(&mut self.operators[at], fresh);
                    old.die(&mut self.server, &mut self.chance);
                }
            }
            16 => {
                let at = self.chance.below(self.operators.len());
                let kind = self.chance.below(4);
                self.operators[at].list(&self.server, kind);
            }
            _ => {
                let at = self.chance.below(self.operators.len());
                let operator = &mut self.operators[at];
                match self.chance.below(3) {
                    0 => {
                        let kind = self.chance.below(4);
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

    /// Lets everything come to rest.
    fn quiet(&mut self) {
        for round in 0.. {
            assert!(round < 20_000, "never comes to rest");
            let mut moved = false;
            self.server.collect();
            for operator in &mut self.operators {
                for kind in 0..4 {
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

    /// True at every moment.
    fn check_always(&mut self) {
        let mut holders: BTreeMap<(String, String), String> = BTreeMap::new();
        for ipset in self.server.ipsets.objects.values() {
            let uid = ipset.uid().unwrap();
            for entry in ipset.status.iter().flat_map(|status| &status.reservations) {
                let place = (entry.network.clone(), entry.address.clone());
                if let Some(other) = holders.insert(place.clone(), ipset.name_any()) {
                    panic!("{place:?} was given to {other} and to {}", ipset.name_any());
                }
                let given = (uid.clone(), entry.network.clone());
                let address: IpAddr = entry.address.parse().unwrap();
                let first = *self.given.entry(given).or_insert(address);
                assert_eq!(first, address, "{} was moved on {}", ipset.name_any(), entry.network);
            }
        }
    }

    /// True once it is quiet.
    fn check_rest(&mut self) {
        self.check_always();
        let mut claims: BTreeMap<(String, IpAddr), Claim> = BTreeMap::new();
        for block in self.server.blocks.objects.values() {
            assert!(!block.spec.claims.is_empty(), "an empty block stays behind");
            for (address, claim) in &block.spec.claims {
                claims.insert((block.spec.segment.clone(), *address), claim.clone());
            }
        }
        let mut wanted = BTreeSet::new();
        for ((_, name), record) in &self.server.records.objects {
            for entry in record.spec.reservation.values() {
                let place = (segment(&entry.network).to_owned(), entry.address.parse().unwrap());
                let claim =
                    claims.get(&place).unwrap_or_else(|| panic!("{place:?} is not claimed"));
                if claim.name == *name {
                    wanted.insert(place);
                }
            }
        }
        let leaked: Vec<_> = claims.keys().filter(|place| !wanted.contains(*place)).collect();
        assert!(leaked.is_empty(), "claimed by nobody: {leaked:?}");
        for ipset in self.server.ipsets.objects.values() {
            let name = ipset.name_any();
            let status = ipset.status.clone().unwrap_or_default();
            if !is_ready(&status.conditions) {
                self.excuse(ipset, &claims);
                continue;
            }
            assert_eq!(status.reservations.len(), ipset.spec.networks.len(), "{name}");
            for entry in &status.reservations {
                let place = (segment(&entry.network).to_owned(), entry.address.parse().unwrap());
                assert_eq!(claims[&place].name, name);
                assert_eq!(Some(&claims[&place].uid), ipset.uid().as_ref());
            }
            if !ipset.spec.networks.is_empty() {
                let record = &self.server.records.objects[&(SPACE.to_owned(), name.clone())];
                assert_eq!(record.owner_references()[0].uid, ipset.uid().unwrap(), "{name}");
                for entry in &status.reservations {
                    let recorded = &record.spec.reservation[&entry.network].address;
                    assert_eq!(*recorded, entry.address, "{name} does not keep its record");
                }
            }
        }
    }

    /// Whoever is not served must have a reason, and it must be true now.
    fn excuse(&self, ipset: &IPSet, claims: &BTreeMap<(String, IpAddr), Claim>) {
        let message = &ipset.status.as_ref().unwrap().conditions[0].message;
        let (_, causes) = message.split_once(": ").unwrap_or_else(|| panic!("{message}"));
        let netconfig = &self.server.configs.objects[&(SPACE.to_owned(), "netconfig".to_owned())];
        for cause in causes.split("; network ") {
            let network = cause.trim_start_matches("network ").split(',').next().unwrap();
            let (_, subnet) = netconfig.spec.find(network, "subnet1").unwrap();
            let on_wire =
                |(wire, address): &(String, IpAddr)| (wire == segment(network)).then_some(*address);
            if cause.contains("no ip address could be created") {
                let ranges: Vec<Range> = subnet
                    .allocation_ranges
                    .iter()
                    .map(|range| Range::new(range.first().unwrap(), range.last().unwrap()).unwrap())
                    .collect();
                let held = claims.keys().filter_map(on_wire);
                let pool = Pool::rebuild(&ranges, RangeSet::new(), Skip::Upstream, held);
                assert_eq!(pool.free(), 0, "{cause}");
                assert!(cause.contains("; 0 of "), "{cause}");
            } else {
                let mut words = cause.split_whitespace();
                let address: IpAddr =
                    words.find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("{message}"));
                let holder = &claims[&(segment(network).to_owned(), address)];
                assert!(cause.contains(&format!("{holder};")), "{cause}, not {holder}");
                assert_ne!(holder.name, ipset.name_any(), "{cause}");
            }
        }
    }
}

/// The wire of a network.
fn segment(network: &str) -> &'static str {
    match network.to_lowercase().as_str() {
        "ctlplane" => "net-ctlplane",
        "tenant" => "vlan-22",
        _ => "vlan-23",
    }
}

fn play(seed: u64, length: usize) {
    let mut world = World::new(seed);
    for _ in 0..length {
        world.happen();
        world.check_always();
    }
    world.quiet();
    world.check_rest();
    // Everything goes, and nothing stays behind.
    let names: Vec<String> = world.server.ipsets.objects.keys().map(|(_, n)| n.clone()).collect();
    for name in names {
        world.server.delete::<IPSet>(SPACE, &name);
    }
    world.quiet();
    let orphans: Vec<String> =
        world.server.records.objects.keys().map(|(_, n)| n.clone()).collect();
    for name in orphans {
        world.server.delete::<Reservation>(SPACE, &name);
    }
    world.quiet();
    assert!(world.server.ipsets.objects.is_empty());
    assert!(world.server.records.objects.is_empty());
    let left: Vec<_> = world.server.blocks.objects.keys().collect();
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
