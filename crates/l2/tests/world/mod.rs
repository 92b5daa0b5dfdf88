//! A virtual network of members: time, datagrams, faults, and who announces what.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

use landbridge_l2::Moment;
use landbridge_l2::members::{Contact, Engine, Keys, Output, Settings, Unit};

/// Numbers that look like chance and are the same every time (SplitMix64).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }
}

/// How datagrams fare.
#[derive(Clone, Copy)]
pub struct Network {
    /// Of a thousand, so many are lost,
    lost: u64,
    /// so many come twice,
    doubled: u64,
    /// and so many are replayed later by somebody who listened.
    replayed: u64,
    /// The longest way, in microseconds; the shortest is 50.
    delay: u64,
}

impl Network {
    pub fn good() -> Self {
        Self { lost: 0, doubled: 0, replayed: 2, delay: 1_000 }
    }

    /// Reorders, too: beats come every 50 ms, states at any time.
    pub fn lossy() -> Self {
        Self { lost: 50, doubled: 20, replayed: 10, delay: 20_000 }
    }

    pub fn bad() -> Self {
        Self { lost: 300, doubled: 100, replayed: 50, delay: 120_000 }
    }
}

enum Event {
    Deliver { to: usize, bytes: Vec<u8> },
    Tick { node: usize, life: u64 },
    Thaw { node: usize },
    Reread { node: usize, life: u64 },
}

struct Node {
    engine: Option<Engine>,
    life: u64,
    frozen_until: Option<Moment>,
    /// What came while it was frozen.
    inbox: Vec<Vec<u8>>,
    announces: BTreeSet<IpAddr>,
    dead: BTreeSet<String>,
    able: bool,
    connected: bool,
}

pub struct World {
    now: Moment,
    chance: Chance,
    network: Network,
    nodes: Vec<Node>,
    queue: BinaryHeap<Reverse<(Moment, u64)>>,
    events: BTreeMap<u64, Event>,
    next_event: u64,
    /// Ways that are cut: from, to.
    cut: BTreeSet<(usize, usize)>,
    keys: Vec<IpAddr>,
    recorded: Vec<(Moment, Vec<u8>)>,
    moves: u64,
    /// Since when nobody announces an address.
    silent_since: BTreeMap<IpAddr, Moment>,
    longest_silence: Duration,
}

const SECRET: [u8; 32] = [7; 32];

fn name(node: usize) -> String {
    format!("worker-{node}")
}

impl World {
    pub fn new(seed: u64, nodes: usize, network: Network) -> Self {
        let chance = Chance::new(seed);
        let keys = (80..86).map(|last| IpAddr::from([172, 17, 0, last]));
        let mut world = Self {
            now: Duration::from_secs(1000),
            chance,
            network,
            nodes: Vec::new(),
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            next_event: 0,
            cut: BTreeSet::new(),
            keys: keys.collect(),
            recorded: Vec::new(),
            moves: 0,
            silent_since: BTreeMap::new(),
            longest_silence: Duration::ZERO,
        };
        for _ in 0..nodes {
            world.nodes.push(Node {
                engine: None,
                life: 0,
                frozen_until: None,
                inbox: Vec::new(),
                announces: BTreeSet::new(),
                dead: BTreeSet::new(),
                able: true,
                connected: true,
            });
        }
        for node in 0..nodes {
            world.restart(node);
        }
        world
    }

    pub fn now(&self) -> Moment {
        self.now
    }

    pub fn set_network(&mut self, network: Network) {
        self.network = network;
    }

    fn at(&mut self, when: Moment, event: Event) {
        self.next_event += 1;
        self.queue.push(Reverse((when, self.next_event)));
        self.events.insert(self.next_event, event);
    }

    pub fn restart(&mut self, node: usize) {
        self.kill(node);
        let now = self.now;
        let life = u64::try_from(now.as_millis()).unwrap() << 16 | self.chance.below(1 << 16);
        let life = life.max(self.nodes[node].life + 1);
        let settings = Settings { name: name(node), life };
        let mut engine = Engine::new(settings, now);
        engine.set_keys(Keys::new(&SECRET, &[]).unwrap());
        engine.set_roster(now, self.roster());
        engine.set_connected(now, self.nodes[node].connected);
        let this = &mut self.nodes[node];
        (this.engine, this.life, this.frozen_until) = (Some(engine), life, None);
        this.inbox.clear();
        let units = self.units(node);
        self.nodes[node].engine.as_mut().unwrap().set_units(now, units);
        let read = now + Duration::from_millis(20 + self.chance.below(200));
        self.at(read, Event::Reread { node, life });
        let tick = now + Duration::from_micros(self.chance.below(25_000));
        self.at(tick, Event::Tick { node, life });
        self.carry_out(node);
    }

    fn roster(&self) -> BTreeMap<String, Contact> {
        (0..self.nodes.len().max(1))
            .map(|node| {
                let last = u8::try_from(node).unwrap();
                (name(node), Contact { address: IpAddr::from([10, 0, 0, last]), counted: true })
            })
            .collect()
    }

    fn units(&self, node: usize) -> BTreeMap<IpAddr, Unit> {
        let unit = Unit {
            candidates: (0..self.nodes.len()).map(|node| (name(node), 0)).collect(),
            able: self.nodes[node].able,
            ..Unit::default()
        };
        self.keys.iter().map(|key| (*key, unit.clone())).collect()
    }

    pub fn kill(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        this.engine = None;
        this.frozen_until = None;
        this.announces.clear();
        this.dead.clear();
    }

    pub fn leave(&mut self, node: usize) {
        let now = self.now;
        if let Some(engine) = &mut self.nodes[node].engine {
            engine.leave(now);
        }
        self.carry_out(node);
        self.kill(node);
    }

    pub fn freeze(&mut self, node: usize, how_long: Duration) {
        let until = self.now + how_long;
        self.nodes[node].frozen_until = Some(until);
        self.at(until, Event::Thaw { node });
    }

    /// Cuts a node off without its noticing.
    pub fn isolate(&mut self, node: usize) {
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            self.cut.insert((node, other));
            self.cut.insert((other, node));
        }
    }

    /// Pulls the cable of a node, which it notices.
    pub fn pull(&mut self, node: usize) {
        self.isolate(node);
        self.nodes[node].connected = false;
        let now = self.now;
        if let Some(engine) = &mut self.nodes[node].engine {
            engine.set_connected(now, false);
        }
        self.carry_out(node);
    }

    pub fn cut_one_way(&mut self, node: usize, chance: u64) {
        let other = usize::try_from(chance % self.nodes.len() as u64).unwrap();
        self.cut.insert((node, other));
    }

    pub fn split(&mut self, sides: u64) {
        for from in 0..self.nodes.len() {
            for to in 0..self.nodes.len() {
                if (sides >> from ^ sides >> to) & 1 == 1 {
                    self.cut.insert((from, to));
                }
            }
        }
    }

    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// Everything is as it should be: nodes run, hear each other, and can announce.
    pub fn repair(&mut self) {
        self.heal();
        while (0..self.nodes.len()).any(|node| self.frozen(node)) {
            self.run(Duration::from_millis(10));
        }
        for node in 0..self.nodes.len() {
            let now = self.now;
            self.nodes[node].able = true;
            self.nodes[node].connected = true;
            let units = self.units(node);
            match &mut self.nodes[node].engine {
                None => self.restart(node),
                Some(engine) => {
                    engine.set_connected(now, true);
                    engine.set_units(now, units);
                    self.carry_out(node);
                }
            }
        }
    }

    /// Takes the interface of a node down.
    pub fn disable(&mut self, node: usize) {
        self.nodes[node].able = false;
        let (now, units) = (self.now, self.units(node));
        if self.nodes[node].frozen_until.is_some() {
            return;
        }
        if let Some(engine) = &mut self.nodes[node].engine {
            engine.set_units(now, units);
        }
        self.carry_out(node);
    }

    pub fn run(&mut self, how_long: Duration) {
        let until = self.now + how_long;
        while let Some(Reverse((when, number))) = self.queue.peek().copied() {
            if when > until {
                break;
            }
            self.queue.pop();
            self.now = self.now.max(when);
            let event = self.events.remove(&number).unwrap();
            self.happen(event);
            self.listen();
        }
        self.now = until;
        self.listen();
    }

    fn frozen(&self, node: usize) -> bool {
        self.nodes[node].frozen_until.is_some_and(|until| until > self.now)
    }

    fn thaw(&mut self, node: usize) {
        self.nodes[node].frozen_until = None;
        let now = self.now;
        let inbox = std::mem::take(&mut self.nodes[node].inbox);
        if let Some(engine) = &mut self.nodes[node].engine {
            engine.tick(now);
            for bytes in inbox {
                let _ = engine.receive(now, &bytes);
            }
        }
        self.carry_out(node);
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Deliver { to, bytes } => {
                if self.frozen(to) {
                    self.nodes[to].inbox.push(bytes);
                    return;
                }
                if let Some(engine) = &mut self.nodes[to].engine {
                    let _ = engine.receive(now, &bytes);
                }
                self.carry_out(to);
            }
            Event::Tick { node, life } => {
                if self.nodes[node].life != life || self.nodes[node].engine.is_none() {
                    return;
                }
                if let Some(until) = self.nodes[node].frozen_until.filter(|until| *until > now) {
                    self.at(until, Event::Tick { node, life });
                    return;
                }
                let engine = self.nodes[node].engine.as_mut().unwrap();
                engine.tick(now);
                let wake = engine.wake();
                self.carry_out(node);
                // No scheduler is exact.
                let late = Duration::from_micros(self.chance.below(3_000));
                self.at(wake + late, Event::Tick { node, life });
            }
            Event::Thaw { node } => {
                if self.nodes[node].frozen_until.is_some_and(|until| until <= now) {
                    self.thaw(node);
                }
            }
            Event::Reread { node, life } => {
                if self.nodes[node].life != life {
                    return;
                }
                if let Some(until) = self.nodes[node].frozen_until {
                    self.at(until, Event::Reread { node, life });
                    return;
                }
                if let Some(engine) = &mut self.nodes[node].engine {
                    engine.reread(now);
                }
                self.carry_out(node);
            }
        }
    }

    fn carry_out(&mut self, node: usize) {
        let life = self.nodes[node].life;
        let Some(engine) = &mut self.nodes[node].engine else { return };
        for output in engine.outputs() {
            match output {
                Output::Announce(key) => {
                    self.moves += 1;
                    assert!(self.nodes[node].announces.insert(key), "announced twice");
                }
                Output::Withdraw(key) => {
                    assert!(self.nodes[node].announces.remove(&key), "was not announced");
                }
                Output::Renew(key) => assert!(self.nodes[node].announces.contains(&key)),
                Output::Send { address, bytes, .. } => {
                    let IpAddr::V4(address) = address else { panic!("the world is IPv4") };
                    self.send(node, usize::from(address.octets()[3]), &bytes);
                }
                Output::Dead(dead) => self.nodes[node].dead = dead,
                Output::Reread => {
                    let when = self.now + Duration::from_millis(10 + self.chance.below(80));
                    self.at(when, Event::Reread { node, life });
                }
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, bytes: &[u8]) {
        assert!(bytes.len() <= 1400);
        // What comes at once is only late. What comes again, or comes when it is long over, is a replay.
        let old = self.recorded.partition_point(|(at, _)| *at + Duration::from_secs(1) < self.now);
        if self.chance.below(1000) < self.network.replayed && old > 0 {
            let old = usize::try_from(self.chance.below(old as u64)).unwrap();
            let bytes = self.recorded[old].1.clone();
            let victim = usize::try_from(self.chance.below(self.nodes.len() as u64)).unwrap();
            self.at(self.now, Event::Deliver { to: victim, bytes });
        }
        if self.recorded.len() < 500 || self.chance.below(50) == 0 {
            self.recorded.push((self.now, bytes.to_vec()));
        }
        if self.cut.contains(&(from, to)) || self.chance.below(1000) < self.network.lost {
            return;
        }
        let copies = if self.chance.below(1000) < self.network.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let way = Duration::from_micros(50 + self.chance.below(self.network.delay));
            self.at(self.now + way, Event::Deliver { to, bytes: bytes.to_vec() });
        }
    }

    /// Notes for how long nobody answers.
    fn listen(&mut self) {
        for key in &self.keys {
            let silent = !(0..self.nodes.len()).any(|node| self.answers(node, *key));
            if silent {
                let since = *self.silent_since.entry(*key).or_insert(self.now);
                // The time before anybody announced at all is nobody's fault.
                if self.moves > 0 && self.now > Duration::from_millis(1_003_500) {
                    self.longest_silence = self.longest_silence.max(self.now.saturating_sub(since));
                }
            } else {
                self.silent_since.remove(key);
            }
        }
    }

    fn answers(&self, node: usize, key: IpAddr) -> bool {
        !self.frozen(node) && self.nodes[node].announces.contains(&key)
    }

    pub fn announced_by(&self, node: usize) -> Vec<IpAddr> {
        self.keys.iter().copied().filter(|key| self.answers(node, *key)).collect()
    }

    pub fn announced_elsewhere(&self, key: IpAddr, but: usize) -> bool {
        (0..self.nodes.len()).any(|node| node != but && self.answers(node, key))
    }

    pub fn announcers(&self) -> BTreeMap<IpAddr, Vec<usize>> {
        let of = |key: &IpAddr| {
            let nodes = (0..self.nodes.len()).filter(|node| self.answers(*node, *key));
            (*key, nodes.collect())
        };
        self.keys.iter().map(of).collect()
    }

    pub fn expect_one_each(&self, when: &str) {
        for (key, nodes) in self.announcers() {
            assert_eq!(
                nodes.len(),
                1,
                "{when}: {key} is announced by {nodes:?}\n{}",
                self.describe()
            );
        }
    }

    pub fn expect_at_most_one(&self, when: &str) {
        for (key, nodes) in self.announcers() {
            assert!(nodes.len() < 2, "{when}: {key} is announced by {nodes:?}");
        }
    }

    /// For who has to find out why.
    fn describe(&self) -> String {
        let of = |(number, node): (usize, &Node)| match &node.engine {
            None => format!("{number}: does not run\n"),
            Some(engine) => format!("{number}: {}\n", engine.describe()),
        };
        self.nodes.iter().enumerate().map(of).collect()
    }

    pub fn dead(&self, node: usize) -> &BTreeSet<String> {
        &self.nodes[node].dead
    }

    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Silence before now is not counted.
    pub fn forget_silence(&mut self) {
        self.silent_since.clear();
        self.longest_silence = Duration::ZERO;
    }

    pub fn longest_silence(&self) -> Duration {
        self.longest_silence
    }
}
