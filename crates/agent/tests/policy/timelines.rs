//! Whatever happens, in whatever order: never more nodes at work than allowed, and in the end
//! every node has an answer and every policy says what its enactments say.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use landbridge_agent::policy::ApplyError;
use landbridge_agent::policy::conditions::same_words;
use landbridge_agent::policy::limit::limit;
use landbridge_agent::policy::seen::Enactment;
use landbridge_agent::policy::standing::Overview;
use landbridge_api::foreign::nmstate::objects::{PolicySpec, enactment_name};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::chance::Chance;
use crate::server::Server;

const POLICIES: [&str; 3] = ["a", "b", "c"];
const LABELS: [&str; 3] = ["worker", "storage", "infra"];

/// What a node looks like, and what its agent remembers.
type Remains = (BTreeMap<String, Value>, BTreeMap<String, i64>);

struct World {
    server: Server,
    agents: BTreeMap<String, Agent>,
    /// Agents that are not running.
    dead: BTreeMap<String, Remains>,
    chance: Chance,
    now: Timestamp,
    /// A policy's maxUnavailable stays the same over all of its lives.
    most: BTreeMap<&'static str, Option<IntOrString>>,
    nodes: usize,
    failing: usize,
    serial: u64,
    /// The policies that failed somewhere, with their generation.
    failed: BTreeSet<(String, i64)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let nodes = 1 + chance.below(6);
        let mut most = BTreeMap::new();
        for policy in POLICIES {
            let value = match chance.below(4) {
                0 => None,
                1 => Some(IntOrString::Int(1)),
                2 => Some(IntOrString::Int(2)),
                _ => Some(IntOrString::String("34%".into())),
            };
            most.insert(policy, value);
        }
        let failing = [3, 10, 1000][chance.below(3)];
        let mut world = Self {
            server: Server::default(),
            agents: BTreeMap::new(),
            dead: BTreeMap::new(),
            chance,
            now: Timestamp::from_second(1_000_000).unwrap(),
            most,
            nodes,
            failing,
            serial: 0,
            failed: BTreeSet::new(),
        };
        for node in 0..nodes {
            let name = format!("w{node}");
            world.server.add_node(&name, "worker");
            world.dead.insert(name, (BTreeMap::new(), BTreeMap::new()));
        }
        for node in 0..nodes {
            world.revive(&format!("w{node}"));
        }
        world
    }

    fn spec(&mut self, policy: &str) -> PolicySpec {
        self.serial += 1;
        let label = if self.chance.one_in(5) { "nobody" } else { *self.chance.pick(&LABELS) };
        let selector =
            self.chance.one_in(2).then(|| BTreeMap::from([("role".to_owned(), label.to_owned())]));
        let desired = match self.chance.below(12) {
            0 => json!("no state"),
            _ => json!({"interfaces": [], "serial": self.serial}),
        };
        PolicySpec {
            node_selector: selector,
            desired_state: desired,
            max_unavailable: self.most[policy].clone(),
            ..PolicySpec::default()
        }
    }

    fn revive(&mut self, name: &str) {
        let Some((looks, applied)) = self.dead.remove(name) else { return };
        let agent = Agent::start(name, &self.server, looks, applied);
        self.agents.insert(name.to_owned(), agent);
    }

    fn kill(&mut self, name: &str) {
        let Some(agent) = self.agents.remove(name) else { return };
        let mut applied = agent.engine.applied().clone();
        if self.chance.one_in(4) {
            applied.pop_first(); // not on disk yet
        }
        let mut looks = agent.die(&mut self.server, &mut self.chance);
        if self.chance.one_in(4) {
            looks.clear(); // the whole node went down
            applied.clear();
        }
        self.dead.insert(name.to_owned(), (looks, applied));
    }

    fn node(&mut self) -> String {
        format!("w{}", self.chance.below(self.nodes))
    }

    fn happen(&mut self) {
        let node = self.node();
        let policy = *self.chance.pick(&POLICIES);
        match self.chance.below(200) {
            0..=2 => {
                let spec = self.spec(policy);
                self.server.add_policy(policy, spec);
            }
            3 | 4 => {
                let spec = self.spec(policy);
                self.server.edit_policy(policy, |old| *old = spec);
            }
            5 => self.server.remove_policy(policy),
            6 => {
                let label = (*self.chance.pick(&LABELS)).to_owned();
                self.server.change_node(&node, |node| {
                    node.labels.insert("role".into(), label);
                });
            }
            7 => self.server.change_node(&node, |node| node.ready = !node.ready),
            8 => self.kill(&node),
            9..=11 => self.revive(&node),
            12 => {
                if let Some(agent) = self.agents.get_mut(&node) {
                    agent.list(&self.server, self.chance.below(4));
                }
            }
            13 if self.chance.one_in(8) => {
                self.kill(&node);
                self.server.remove_node(&node);
            }
            14 if !self.server.nodes.objects.contains_key(&node) => {
                self.server.add_node(&node, "worker");
            }
            _ => {
                let outcome = self.outcome();
                if let Some(agent) = self.agents.get_mut(&node) {
                    match self.chance.below(4) {
                        0 => drop(agent.hear(&self.server, self.chance.below(4))),
                        1 => agent.act(self.now, &mut self.chance),
                        2 => drop(agent.finish(self.now, outcome)),
                        _ => {
                            let _ = agent.travel(&mut self.server, &mut self.chance, self.now);
                        }
                    }
                }
            }
        }
        let step = i64::try_from(self.chance.below(60)).unwrap();
        self.now += SignedDuration::from_millis(step);
    }

    fn outcome(&mut self) -> Result<(), ApplyError> {
        if self.chance.one_in(self.failing) {
            let retry = !self.chance.one_in(5);
            return Err(ApplyError { text: "no such NIC".into(), retry });
        }
        Ok(())
    }

    /// True at every moment.
    fn check_always(&mut self) {
        for enactment in self.server.enactments.objects.values() {
            if enactment.is("Failing") && !enactment.is("Progressing") {
                let uid = enactment.policy_uid.clone().unwrap();
                self.failed.insert((uid, enactment.status.policy_generation.unwrap()));
            }
        }
        for policy in POLICIES {
            let at_work = self.agents.values().filter(|a| a.works_on() == Some(policy)).count();
            let most = limit(self.most[policy].as_ref(), self.nodes);
            assert!(at_work <= most, "{at_work} nodes at work on {policy}, {most} are allowed");
        }
    }

    /// Lets everything come to rest.
    fn quiet(&mut self) {
        for round in 0.. {
            assert!(round < 5_000, "never comes to rest");
            let mut moved = true;
            let mut turns = 0;
            while moved {
                turns += 1;
                assert!(turns < 3_000, "goes on and on at {}", self.now);
                moved = false;
                let names: Vec<String> = self.agents.keys().cloned().collect();
                for name in names {
                    let outcome = self.outcome();
                    let agent = self.agents.get_mut(&name).unwrap();
                    for kind in 0..4 {
                        while agent.hear(&self.server, kind) {
                            moved = true;
                        }
                    }
                    moved |= agent.finish(self.now, outcome);
                    agent.act(self.now, &mut self.chance);
                    while agent.travel(&mut self.server, &mut self.chance, self.now) {
                        moved = true;
                    }
                    self.check_always();
                }
            }
            let wakes = self.agents.values().filter_map(|agent| agent.engine.wake());
            let ends = self.agents.values().filter_map(|a| a.applying.as_ref().map(|a| a.ends));
            let Some(next) = wakes.chain(ends).min() else {
                assert!(self.agents.values().all(Agent::is_idle));
                return;
            };
            self.now = next.max(self.now + SignedDuration::from_millis(1));
        }
    }

    /// True once it is quiet.
    fn check_rest(&self) {
        for enactment in self.server.enactments.objects.values() {
            if !self.agents.contains_key(&enactment.node) {
                continue;
            }
            let labels = &self.server.nodes.objects[&enactment.node].labels;
            let policy = self.server.policies.objects.get(&enactment.policy);
            assert!(policy.is_some_and(|policy| policy.matches(labels)), "left: {enactment:?}");
        }
        for policy in self.server.policies.objects.values() {
            let name = policy.id.name();
            let overview = Overview::new(
                policy,
                self.server.nodes.objects.values(),
                self.server.enactments.objects.values(),
            );
            if !self.agents.is_empty() {
                let wanted = overview.standing().conditions(&[], self.now);
                let said = &policy.status.conditions;
                assert!(same_words(said, &wanted), "{name}: {said:#?}\nshould be {wanted:#?}");
            }
            for node in
                overview.nodes.iter().filter(|node| self.agents.contains_key(node.id.name()))
            {
                let found =
                    self.server.enactments.objects.get(&enactment_name(node.id.name(), name));
                let own =
                    found.unwrap_or_else(|| panic!("{name} on {} is missing", node.id.name()));
                assert!(own.is_of(policy.generation), "{own:?}");
                let states = ["Available", "Failing", "Aborted"];
                let ended = states.iter().filter(|state| own.is(state)).count();
                assert!(ended == 1 && !own.is("Progressing") && !own.is("Pending"), "{own:?}");
                if own.is("Available") {
                    let looks = &self.agents[node.id.name()].looks;
                    assert_eq!(looks.get(name), Some(&policy.spec.desired_state), "{own:?}");
                }
                if own.is("Aborted") {
                    let failed = (policy.id.uid.clone(), policy.generation);
                    assert!(self.failed.contains(&failed), "without a reason: {own:?}");
                }
            }
        }
    }
}

fn play(seed: u64, length: usize) {
    let mut world = World::new(seed);
    for _ in 0..length {
        world.happen();
        world.check_always();
    }
    // With some agents dead for good …
    world.quiet();
    world.check_rest();
    // … and with all of them back.
    for node in 0..world.nodes {
        world.revive(&format!("w{node}"));
    }
    world.quiet();
    world.check_rest();
    let writes = world.server.writes;
    world.now += SignedDuration::from_hours(2);
    world.quiet();
    assert_eq!(world.server.writes, writes, "nothing is written when nothing happens");
    for policy in POLICIES {
        world.server.remove_policy(policy);
    }
    world.quiet();
    let lost = |e: &&Enactment| world.server.nodes.objects.contains_key(&e.node);
    assert_eq!(world.server.enactments.objects.values().find(lost), None);
}

#[test]
fn random_timelines() {
    let count: u64 =
        std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let first: u64 =
        std::env::var("LANDBRIDGE_TIMELINE").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let result = std::panic::catch_unwind(|| play(seed, 1500));
        assert!(result.is_ok(), "seed {seed}: LANDBRIDGE_TIMELINE={seed} LANDBRIDGE_TIMELINES=1");
    }
}
