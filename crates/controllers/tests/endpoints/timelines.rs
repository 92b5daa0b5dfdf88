//! Random timelines: late news, lost races, lost answers, crashes, two controllers, users who change
//! and delete things. Whatever happens, nothing of others is touched, what goes goes in order, and once
//! it is quiet everything that should be there is, and nothing else.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use landbridge_controllers::endpoints::domain::Endpoints;
use landbridge_controllers::endpoints::engine::Task;
use landbridge_controllers::endpoints::kinds::{Kind, Role};
use landbridge_controllers::endpoints::plan::Plan;
use landbridge_controllers::endpoints::world::{Spot, controller};
use landbridge_controllers::endpoints::writes::{Verb, is_ours};
use landbridge_controllers::mirror::Key;
use landbridge_machinery::object;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::operator::Operator;
use crate::server::{Server, key_of};

const SPACE: &str = "openstack";
/// Names that services make, so that others may be faster.
const CONTESTED: [(Kind, &str); 6] = [
    (Kind::Service, "keystone-internal"),
    (Kind::Service, "glance-default-public"),
    (Kind::Route, "keystone-public"),
    (Kind::Deployment, "keystone"),
    (Kind::NetworkAttachmentDefinition, "datacentre"),
    (Kind::KeystoneAPI, "keystone"),
];
const NETWORKS: [&str; 3] = ["internalapi", "storage", "tenant"];

struct World {
    server: Server,
    operators: Vec<Operator>,
    chance: Chance,
    now: Timestamp,
    /// What others made, as it was: nobody here may touch it.
    foreign: BTreeMap<Spot, Value>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let server = Server::default();
        let count = 1 + chance.below(2);
        let operators =
            (0..count).map(|_| Operator::start(&server, Endpoints::default())).collect();
        Self { server, operators, chance, now: Timestamp::UNIX_EPOCH, foreign: BTreeMap::new() }
    }

    fn maybe(&mut self, value: Value) -> Value {
        if self.chance.one_in(3) { Value::Null } else { value }
    }

    fn attachments(&mut self) -> Value {
        let names = NETWORKS.iter().filter(|_| self.chance.one_in(3));
        names.map(|name| Value::from(*name)).collect()
    }

    fn balanced(&mut self) -> Value {
        let address = format!("172.17.0.{}", 80 + self.chance.below(2));
        let kind = *self.chance.pick(&["LoadBalancer", "ClusterIP"]);
        json!({"metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": address}}, "spec": {"type": kind}})
    }

    /// A spec, in either generation.
    fn spec(&mut self, kind: Kind) -> Value {
        let mut spec = json!({});
        match kind {
            Kind::OpenStackControlPlane => {
                for (name, made) in [
                    ("keystone", Kind::KeystoneAPI),
                    ("glance", Kind::Glance),
                    ("nova", Kind::Nova),
                ] {
                    let template = self.spec(made);
                    let section = self.maybe(json!({"template": template}));
                    if !section.is_null() {
                        spec[name] = section;
                    }
                }
                if self.chance.one_in(2) {
                    let templates: serde_json::Map<String, Value> = ["rabbitmq", "rabbitmq-cell1"]
                        .iter()
                        .map(|name| {
                            ((*name).to_owned(), json!({"override": {"service": self.balanced()}}))
                        })
                        .collect();
                    spec["rabbitmq"] = json!({"templates": templates});
                }
                if self.chance.one_in(2) {
                    let database =
                        json!({"dbType": "NB", "networkAttachment": "internalapi", "replicas": 1});
                    spec["ovn"] = json!({"template": {"ovnDBCluster": {"nb": database},
                        "ovnController": {"nicMappings": {"datacentre": "ospbr"}}}});
                }
                if self.chance.one_in(3) {
                    spec["nodeSelector"] = json!({"role": "control"});
                }
            }
            Kind::KeystoneAPI | Kind::PlacementAPI => {
                spec["networkAttachments"] = self.attachments();
                match self.chance.below(4) {
                    0 | 1 => {
                        let (internal, public) = (self.balanced(), self.balanced());
                        spec["override"] =
                            json!({"service": {"internal": internal, "public": public}});
                    }
                    2 => {
                        spec["externalEndpoints"] =
                            json!([{"endpoint": "internal", "ipAddressPool": "internalapi"}]);
                    }
                    _ => {}
                }
                spec["replicas"] = self.chance.below(3).into();
            }
            Kind::Glance => {
                spec["glanceAPIs"] = json!({"default": {"networkAttachments": self.attachments()}});
            }
            _ => {}
        }
        spec
    }

    fn apply(&mut self) {
        let (kind, name) = *self.chance.pick(&[
            (Kind::OpenStackControlPlane, "openstack"),
            (Kind::OpenStackControlPlane, "openstack"),
            (Kind::PlacementAPI, "placement"),
            (Kind::KeystoneAPI, "other"),
        ]);
        let spec = self.spec(kind);
        let spot = (kind, Key::new(SPACE, name));
        if let Some(live) = self.server.objects.get(&spot) {
            let mut object = live.clone();
            object["spec"] = spec;
            self.server.update(kind, &object, "user").unwrap();
        } else {
            let object = json!({"metadata": {"name": name, "namespace": SPACE}, "spec": spec});
            self.server.create(kind, object, "user").unwrap();
        }
    }

    fn delete_something(&mut self) {
        let spots: Vec<Spot> = self.server.objects.keys().cloned().collect();
        if spots.is_empty() {
            return;
        }
        let spot = self.chance.pick(&spots).clone();
        self.foreign.remove(&spot);
        self.server.delete(&spot, None).unwrap();
    }

    /// Somebody else makes something under a name that may be wanted.
    fn intrude(&mut self) {
        let (kind, name) = *self.chance.pick(&CONTESTED);
        let mut spec = json!({"theirs": true});
        if kind == Kind::Service {
            spec["ports"] = json!([]);
        }
        // A service of theirs is served like any other, so only things that are made stay as they are.
        if kind.role() == Role::Service {
            spec = json!({});
        }
        let object = json!({"metadata": {"name": name, "namespace": SPACE}, "spec": spec});
        if let Ok(object) = self.server.create(kind, object, "user")
            && kind.role() == Role::Made
        {
            self.foreign.insert((kind, key_of(&object)), object);
        }
    }

    fn network(&mut self) {
        let name = *self.chance.pick(&NETWORKS);
        let kind = Kind::NetworkAttachmentDefinition;
        let config = *self.chance.pick(&["", "{}", "{", r#"{"ipam":{"gateway":"10.0.0.1"}}"#]);
        let object =
            json!({"metadata": {"name": name, "namespace": SPACE}, "spec": {"config": config}});
        if let Ok(object) = self.server.create(kind, object, "user") {
            self.foreign.insert((kind, key_of(&object)), object);
        }
    }

    /// A user changes something that was made.
    fn meddle(&mut self) {
        let spots: Vec<Spot> = self
            .server
            .objects
            .iter()
            .filter(|((kind, _), object)| kind.role() == Role::Made && controller(object).is_some())
            .map(|(spot, _)| spot.clone())
            .collect();
        if spots.is_empty() {
            return;
        }
        let spot = self.chance.pick(&spots).clone();
        let patch = match self.chance.below(3) {
            0 => json!({"metadata": {"annotations": {"mine": "1", "endpoint": "changed"}}}),
            1 => json!({"spec": {"replicas": 7, "type": "ClusterIP", "selector": {"x": "y"}}}),
            _ => json!({"metadata": {"labels": null}}),
        };
        self.server.patch(&spot, &patch, false, "user").unwrap();
    }

    fn happen(&mut self) {
        let who = self.chance.below(self.operators.len());
        match self.chance.below(100) {
            0..=3 => self.apply(),
            4 => self.delete_something(),
            5 => self.intrude(),
            6..=8 => self.network(),
            9..=10 => self.meddle(),
            11 => self.operators[who] = Operator::start(&self.server, Endpoints::default()),
            12 => {
                let kind = *self.chance.pick(Kind::ALL);
                self.operators[who].list(&self.server, kind);
            }
            13..=20 => {
                let spots: Vec<Spot> = self.server.objects.keys().cloned().collect();
                if !spots.is_empty() {
                    let spot = self.chance.pick(&spots).clone();
                    match spot.0 {
                        Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => {
                            self.server.run_workload(&spot);
                        }
                        Kind::Service => self.server.balance(&spot),
                        _ => {}
                    }
                }
            }
            21 => self.server.collect(),
            22..=23 => {
                let step = self.chance.below(2000);
                self.now = self
                    .now
                    .checked_add(SignedDuration::from_millis(i64::try_from(step).unwrap()))
                    .unwrap();
            }
            24..=55 => {
                let kind = *self.chance.pick(Kind::ALL);
                let most = 1 + self.chance.below(4);
                self.operators[who].hear(&self.server, kind, most);
            }
            56..=70 => {
                let room = 1 + self.chance.below(5);
                let decided = self.operators[who].decide(self.now, room);
                self.check_order(who, &decided);
            }
            _ => {
                let operator = &mut self.operators[who];
                operator.write(&mut self.server, &mut self.chance, self.now, true);
            }
        }
        self.check_foreign();
    }

    fn check_foreign(&mut self) {
        for (spot, before) in &self.foreign {
            let live = self.server.objects.get(spot);
            let same = live.is_some_and(|live| {
                live["spec"] == before["spec"]
                    && live["metadata"]["uid"] == before["metadata"]["uid"]
                    && !object::is_terminating(live)
            });
            assert!(same, "{spot:?} of somebody else was touched");
        }
    }

    /// When a control plane goes, or some of its sections, Keystone goes after whatever is registered in
    /// it.
    fn check_order(&self, who: usize, decided: &[Task]) {
        if self.operators.len() > 1 {
            return; // the other one may know less, and make what this one has taken away
        }
        let engine = &self.operators[who].engine;
        for Task { item, action, .. } in decided {
            let is_end = matches!(action.verb, Verb::Delete { .. });
            if item.0 != Kind::OpenStackControlPlane || action.kind != Kind::KeystoneAPI || !is_end
            {
                continue;
            }
            let plane = engine.world().at(item.0, &item.1).unwrap();
            let stays = match engine.plan(item, self.now) {
                Some(plan) if !object::is_terminating(plane) => plan,
                _ => Plan::default(),
            };
            let is_wanted = |kind: Kind, name: &str| {
                stays.wanted.iter().any(|wanted| wanted.kind == kind && wanted.name() == name)
                    || stays.kept.contains(&(kind, name.to_owned()))
            };
            let left = self.server.objects.iter().find(|((kind, key), object)| {
                Kind::OpenStackControlPlane.makes()[0].contains(kind)
                    && is_ours(*kind, object, object::uid(plane))
                    && !is_wanted(*kind, &key.name)
            });
            assert!(left.is_none(), "Keystone goes before {:?}", left.map(|(spot, _)| spot));
        }
    }

    /// Nobody does anything new any more.
    fn quiet(&mut self) {
        for round in 0.. {
            assert!(round < 400, "it never gets quiet");
            let before = self.server.revision;
            self.now = self.now.checked_add(SignedDuration::from_secs(60)).unwrap();
            let mut is_idle = true;
            for who in 0..self.operators.len() {
                for kind in Kind::ALL {
                    self.operators[who].hear(&self.server, *kind, usize::MAX);
                }
                let decided = self.operators[who].decide(self.now, usize::MAX);
                self.check_order(who, &decided);
                let operator = &mut self.operators[who];
                while operator.is_busy() {
                    operator.write(&mut self.server, &mut self.chance, self.now, false);
                }
                is_idle &= operator.engine.is_idle();
            }
            self.server.others();
            if self.server.revision == before && is_idle {
                break;
            }
        }
        self.check_foreign();
    }

    fn check_end(&self) {
        // Whoever starts now has nothing to do.
        let mut fresh = Operator::start(&self.server, Endpoints::default());
        fresh.decide(self.now, usize::MAX);
        assert!(!fresh.is_busy(), "something is left to do: {:#?}", fresh.left());
        for ((kind, key), found) in &self.server.objects {
            assert!(!object::is_terminating(found), "{kind:?} {key} does not go");
            if let Some(owner) = controller(found) {
                let uid = &owner["uid"];
                let is_there =
                    self.server.objects.values().any(|other| other["metadata"]["uid"] == *uid);
                assert!(is_there, "{kind:?} {key} belongs to nobody");
            }
            let Some(plan) = fresh.engine.plan(&(*kind, key.clone()), self.now) else { continue };
            for wanted in &plan.wanted {
                let live = self.server.get(wanted.kind, wanted.name());
                assert!(
                    live.is_some_and(|live| is_ours(wanted.kind, live, object::uid(found))),
                    "{kind:?} {key} lacks {:?} {}",
                    wanted.kind,
                    wanted.name()
                );
            }
            let settled = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            assert!(settled, "{kind:?} {key} was not looked at");
        }
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    let steps = 200 + world.chance.below(400);
    for _ in 0..steps {
        world.happen();
    }
    world.quiet();
    world.check_end();
    // All go.
    let planned: Vec<Spot> =
        world.server.objects.keys().filter(|(kind, _)| kind.is_planned()).cloned().collect();
    for spot in planned {
        world.server.delete(&spot, None).unwrap();
    }
    world.quiet();
    for (kind, key) in world.server.objects.keys() {
        // Pods of somebody else's workload stay with it.
        let is_foreign = world.foreign.contains_key(&(*kind, key.clone()));
        assert!(is_foreign || *kind == Kind::Pod, "{kind:?} {key} stays");
    }
}

#[test]
fn nothing_is_lost_nothing_stays_and_nothing_of_others_is_touched() {
    let count = std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("LANDBRIDGE_TIMELINE").ok().and_then(|text| text.parse().ok());
    let first: u64 = first.unwrap_or(0);
    for seed in first..first + count.unwrap_or(100) {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(why) = result {
            eprintln!("timeline {seed}");
            std::panic::resume_unwind(why);
        }
    }
}
