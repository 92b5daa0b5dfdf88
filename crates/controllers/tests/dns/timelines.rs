//! Random timelines: late news, lost races, lost answers, crashes, two controllers, users who change and
//! delete things. Whatever happens, nothing of others is touched, and once it is quiet the name server
//! reads exactly what was declared.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use landbridge_controllers::dns::Settings;
use landbridge_controllers::dns::domain::Names;
use landbridge_controllers::making::Domain as _;
use landbridge_controllers::making::kinds::{Kind, Role};
use landbridge_controllers::making::world::{Spot, controller};
use landbridge_controllers::making::writes::is_ours;
use landbridge_controllers::mirror::Key;
use landbridge_machinery::object;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::operator::Operator;
use crate::server::{Server, key_of};

const SPACE: &str = "openstack";
/// Names that are made here, so that others may be faster.
const CONTESTED: [(Kind, &str); 8] = [
    (Kind::ConfigMap, "dns"),
    (Kind::ConfigMap, "a"),
    (Kind::ConfigMap, "dns-svc"),
    (Kind::ConfigMap, "dnsmasq-dns-hosts-0"),
    (Kind::Service, "dnsmasq-dns"),
    (Kind::Deployment, "dnsmasq-dns"),
    (Kind::ServiceAccount, "dnsmasq-dns"),
    (Kind::RoleBinding, "dnsmasq-dns-rolebinding"),
];
const PUBLISH: &str = "landbridge.dev/publish-ipsets";

struct World {
    server: Server,
    operators: Vec<Operator>,
    chance: Chance,
    now: Timestamp,
    /// What others made, as it was: nobody here may touch it.
    foreign: BTreeMap<Spot, Value>,
}

fn start(server: &Server) -> Operator {
    Operator::start(server, Names::new(Settings::default()))
}

fn kinds() -> Vec<Kind> {
    Names::new(Settings::default()).kinds().to_vec()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let server = Server::default();
        let count = 1 + chance.below(2);
        let operators = (0..count).map(|_| start(&server)).collect();
        Self { server, operators, chance, now: Timestamp::UNIX_EPOCH, foreign: BTreeMap::new() }
    }

    fn hosts(&mut self) -> Value {
        let count = self.chance.below(4);
        let host = |chance: &mut Chance| {
            let ips = ["10.0.0.1", "10.0.0.2", "fd00::1", "host-ip-1", "10.0.0.1\n10.0.0.9 evil"];
            let names = ["a.example", "b.example", "A.example", "not a name", ""];
            let count = chance.below(3);
            let names: Vec<&str> = (0..count).map(|_| *chance.pick(&names)).collect();
            json!({"ip": chance.pick(&ips), "hostnames": names})
        };
        (0..count).map(|_| host(&mut self.chance)).collect()
    }

    fn server_spec(&mut self) -> Value {
        let mut spec = json!({
            "containerImage": self.chance.pick(&["dnsmasq:1", "site/landbridge:1", "dnsmasq:2"]),
            "replicas": self.chance.below(3),
            "dnsDataLabelSelectorValue": self.chance.pick(&["dnsdata", "dnsdata", "Other"]),
        });
        if self.chance.one_in(2) {
            spec["options"] =
                json!([{"key": "server", "values": [format!("10.0.0.{}", self.chance.below(3))]}]);
        }
        match self.chance.below(4) {
            0 => {}
            1 => {
                spec["externalEndpoints"] =
                    json!([{"ipAddressPool": self.chance.pick(&["ctlplane", "internalapi"])}]);
            }
            _ => {
                let ip = format!("192.168.122.{}", 80 + self.chance.below(2));
                spec["override"] = json!({"service": {
                    "metadata": {"annotations": {"metallb.universe.tf/loadBalancerIPs": ip}},
                    "spec": {"type": self.chance.pick(&["LoadBalancer", "ClusterIP"])}}});
            }
        }
        if self.chance.one_in(6) {
            spec["topologyRef"] = json!({"name": "spread"});
        }
        spec
    }

    fn put(&mut self, kind: Kind, name: &str, spec: Value) {
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

    fn apply(&mut self) {
        if self.chance.one_in(3) {
            let name = *self.chance.pick(&["dns", "dns", "other"]);
            let spec = self.server_spec();
            self.put(Kind::DNSMasq, name, spec);
            if self.chance.one_in(2) {
                let value = *self.chance.pick(&["true", "false", "InternalApi"]);
                let patch = json!({"metadata": {"annotations": {PUBLISH: value}}});
                let spot = (Kind::DNSMasq, Key::new(SPACE, name));
                self.server.patch(&spot, &patch, false, "user").unwrap();
            }
        } else {
            // One of them may be there because it was made for a name server.
            let name = *self.chance.pick(&["a", "b", "c", "dns"]);
            let label = *self.chance.pick(&["dnsdata", "DNSData", "other"]);
            let spec = json!({"hosts": self.hosts(), "dnsDataLabelSelectorValue": label});
            self.put(Kind::DNSData, name, spec);
        }
    }

    /// Those beside names: Services with virtual addresses, IPSets, ConfigMaps by hand, a Topology.
    fn neighbours(&mut self) {
        let n = self.chance.below(3);
        match self.chance.below(4) {
            0 => {
                let name = format!("api-{n}");
                let spot = (Kind::Service, Key::new(SPACE, &name));
                if self.server.objects.contains_key(&spot) {
                    let ips: Vec<Value> = (0..self.chance.below(3))
                        .map(|_| match self.chance.below(4) {
                            0 => json!({"hostname": "lb.cloud.example"}),
                            n => json!({"ip": format!("172.17.0.{}", 80 + n)}),
                        })
                        .collect();
                    let patch = json!({"status": {"loadBalancer": {"ingress": ips}}});
                    self.server.patch(&spot, &patch, true, "vips").unwrap();
                } else {
                    let note =
                        json!({"dnsmasq.network.openstack.org/hostname": format!("{name}.svc")});
                    let object = json!({"metadata": {"name": name, "namespace": SPACE, "annotations": note},
                        "spec": {"type": "LoadBalancer", "ports": []}});
                    self.server.create(Kind::Service, object, "user").unwrap();
                }
            }
            1 => {
                let name = format!("compute-{n}");
                let spot = (Kind::IPSet, Key::new(SPACE, &name));
                if !self.server.objects.contains_key(&spot) {
                    let object = json!({"metadata": {"name": name, "namespace": SPACE}});
                    self.server.create(Kind::IPSet, object, "user").unwrap();
                }
                let address = format!("172.17.0.{}", 100 + self.chance.below(9));
                let patch = json!({"status": {"reservations": [{"network": "InternalApi",
                    "address": address, "dnsDomain": "internalapi.example.com"}]}});
                self.server.patch(&spot, &patch, true, "ipam").unwrap();
            }
            2 => {
                let name = format!("by-hand-{n}");
                let text = format!("10.9.0.{n} compute-{n}.internalapi.example.com\n");
                let object = json!({"metadata": {"name": name, "namespace": SPACE,
                    "labels": {"dnsmasqhosts": "dnsdata"}}, "data": {name.clone(): text}});
                if let Ok(object) = self.server.create(Kind::ConfigMap, object, "user") {
                    self.foreign.insert((Kind::ConfigMap, key_of(&object)), object);
                }
            }
            _ => self.put(Kind::Topology, "spread", json!({"affinity": {"x": n}})),
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

    fn intrude(&mut self) {
        let (kind, name) = *self.chance.pick(&CONTESTED);
        let object = json!({"metadata": {"name": name, "namespace": SPACE}, "spec": {"theirs": true, "ports": []}});
        if let Ok(object) = self.server.create(kind, object, "user") {
            self.foreign.insert((kind, key_of(&object)), object);
        }
    }

    /// A user changes something that was made.
    fn meddle(&mut self) {
        let made = self.server.objects.iter().filter(|((kind, _), object)| {
            kind.role() == Role::Made && controller(object).is_some()
        });
        let spots: Vec<Spot> = made.map(|(spot, _)| spot.clone()).collect();
        if spots.is_empty() {
            return;
        }
        let spot = self.chance.pick(&spots).clone();
        let patch = match self.chance.below(3) {
            0 => json!({"metadata": {"annotations": {"mine": "1"}}}),
            1 if spot.0 == Kind::ConfigMap => json!({"data": {"mine": "10.0.0.66 changed\n"}}),
            1 => json!({"spec": {"replicas": 7, "type": "ClusterIP"}}),
            _ => json!({"metadata": {"labels": null}}),
        };
        self.server.patch(&spot, &patch, false, "user").unwrap();
    }

    fn happen(&mut self) {
        let who = self.chance.below(self.operators.len());
        match self.chance.below(100) {
            0..=4 => self.apply(),
            5..=8 => self.neighbours(),
            9 => self.delete_something(),
            10 => self.intrude(),
            11..=12 => self.meddle(),
            13 => self.operators[who] = start(&self.server),
            14 => {
                let kind = *self.chance.pick(&kinds());
                self.operators[who].list(&self.server, kind);
            }
            15..=19 => {
                let spots: Vec<Spot> = self.server.objects.keys().cloned().collect();
                if !spots.is_empty() {
                    let spot = self.chance.pick(&spots).clone();
                    self.others_at(&spot);
                }
            }
            20 => self.server.collect(),
            21..=23 => {
                let step = i64::try_from(self.chance.below(2000)).unwrap();
                self.now = self.now.checked_add(SignedDuration::from_millis(step)).unwrap();
            }
            24..=55 => {
                let kind = *self.chance.pick(&kinds());
                let most = 1 + self.chance.below(4);
                self.operators[who].hear(&self.server, kind, most);
            }
            56..=70 => {
                let room = 1 + self.chance.below(5);
                self.operators[who].decide(self.now, room);
            }
            _ => {
                let operator = &mut self.operators[who];
                operator.write(&mut self.server, &mut self.chance, self.now, true);
            }
        }
        self.check_foreign();
    }

    /// Whoever runs workloads and gives out addresses. Services of users have theirs already.
    fn others_at(&mut self, spot: &Spot) {
        match spot.0 {
            Kind::Deployment => self.server.run_workload(spot),
            Kind::Service if spot.1.name.starts_with("dnsmasq") => self.server.balance(spot),
            _ => {}
        }
    }

    fn check_foreign(&self) {
        for (spot, before) in &self.foreign {
            let is_same = self.server.objects.get(spot).is_some_and(|live| {
                live["spec"] == before["spec"]
                    && live["data"] == before["data"]
                    && live["metadata"]["uid"] == before["metadata"]["uid"]
                    && !object::is_terminating(live)
            });
            assert!(is_same, "{spot:?} of somebody else was touched");
        }
    }

    /// Nobody does anything new any more.
    fn quiet(&mut self) {
        for round in 0.. {
            assert!(round < 400, "it never gets quiet");
            let before = self.server.revision;
            self.now = self.now.checked_add(SignedDuration::from_secs(60)).unwrap();
            let mut is_idle = true;
            for operator in &mut self.operators {
                for kind in kinds() {
                    operator.hear(&self.server, kind, usize::MAX);
                }
                operator.decide(self.now, usize::MAX);
                while operator.is_busy() {
                    operator.write(&mut self.server, &mut self.chance, self.now, false);
                }
                is_idle &= operator.engine.is_idle();
            }
            let spots: Vec<Spot> = self.server.objects.keys().cloned().collect();
            for spot in &spots {
                self.others_at(spot);
            }
            self.server.collect();
            if self.server.revision == before && is_idle {
                break;
            }
        }
        self.check_foreign();
    }

    fn check_end(&self) {
        let mut fresh = start(&self.server);
        fresh.decide(self.now, usize::MAX);
        assert!(!fresh.is_busy(), "something is left to do: {:#?}", fresh.left());
        for ((kind, key), found) in &self.server.objects {
            assert!(!object::is_terminating(found), "{kind:?} {key} does not go");
            if let Some(owner) = controller(found) {
                let uid = &owner["uid"];
                let all = &mut self.server.objects.values();
                assert!(
                    all.any(|o| o["metadata"]["uid"] == *uid),
                    "{kind:?} {key} belongs to nobody"
                );
            }
            match kind {
                Kind::DNSData => self.check_data(found),
                Kind::DNSMasq => self.check_server(found),
                _ => continue,
            }
            let settled = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            assert!(settled, "{kind:?} {key} was not looked at");
        }
    }

    fn ours(&self, kind: Kind, name: &str, owner: &Value) -> Option<&Value> {
        self.server.get(kind, name).filter(|live| is_ours(kind, live, object::uid(owner)))
    }

    /// Written down once more, without anything of the controller.
    fn check_data(&self, data: &Value) {
        let name = object::name(data);
        let Some(map) = self.ours(Kind::ConfigMap, name, data) else {
            assert!(self.server.get(Kind::ConfigMap, name).is_some(), "{name} has no ConfigMap");
            return;
        };
        let mut lines = String::new();
        for host in data["spec"]["hosts"].as_array().into_iter().flatten() {
            let names = host["hostnames"].as_array().unwrap().iter();
            let mut names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
            names.sort_unstable();
            let line = [vec![host["ip"].as_str().unwrap()], names].concat().join(" ");
            if !line.contains('\n') {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        assert_eq!(map["data"], json!({name: lines}));
        let label = data["spec"]["dnsDataLabelSelectorValue"].as_str().unwrap().to_lowercase();
        assert_eq!(map["metadata"]["labels"]["dnsmasqhosts"], label);
    }

    /// What the pods read is what all the others have written.
    fn check_server(&self, server: &Value) {
        let name = object::name(server);
        let spec = &server["spec"];
        let label = spec["dnsDataLabelSelectorValue"].as_str().unwrap().to_lowercase();
        let texts: BTreeMap<&str, &str> = self
            .server
            .objects
            .iter()
            .filter(|((kind, _), map)| {
                *kind == Kind::ConfigMap && map["metadata"]["labels"]["dnsmasqhosts"] == label
            })
            .filter_map(|((_, key), map)| {
                Some((&*key.name, map["data"].get(&*key.name)?.as_str()?))
            })
            .collect();
        if let Some(data) = self.ours(Kind::DNSData, &format!("{name}-svc"), server) {
            let mut pairs: Vec<(String, String)> = Vec::new();
            for ((kind, key), service) in &self.server.objects {
                let ingress = service["status"]["loadBalancer"]["ingress"].as_array();
                let note = object::annotation(service, "dnsmasq.network.openstack.org/hostname");
                let (Kind::Service, Some(note)) = (kind, note) else { continue };
                if service["spec"]["type"] == "LoadBalancer" {
                    let ips =
                        ingress.into_iter().flatten().filter_map(|entry| entry["ip"].as_str());
                    pairs.extend(ips.map(|ip| (ip.to_owned(), note.to_owned())));
                }
                assert!(!key.name.is_empty());
            }
            pairs.sort();
            pairs.dedup();
            let hosts = data["spec"]["hosts"].as_array().into_iter().flatten();
            let registered: Vec<(String, String)> = hosts
                .flat_map(|host| {
                    let names = host["hostnames"].as_array().unwrap().iter();
                    names.map(|name| {
                        (host["ip"].as_str().unwrap().to_owned(), name.as_str().unwrap().to_owned())
                    })
                })
                .collect();
            assert_eq!(registered, pairs);
        }
        let published = self.server.get(Kind::DNSData, &format!("{name}-ipsets")).is_some();
        let asked = object::annotation(server, PUBLISH).is_some_and(|value| value != "false");
        assert_eq!(published, asked, "{server:#}");
        let is_own = spec["containerImage"].as_str().unwrap().contains("landbridge");
        let Some(runs) = self.ours(Kind::Deployment, &format!("dnsmasq-{name}"), server) else {
            return;
        };
        let has_place =
            spec["topologyRef"].is_null() || self.server.get(Kind::Topology, "spread").is_some();
        if !has_place {
            return; // left as it was
        }
        let pod = &runs["spec"]["template"]["spec"];
        let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        if is_own {
            assert_eq!(mounts.len(), 2);
            assert!(pod["initContainers"].is_null());
            let mut read = BTreeMap::new();
            for at in 0..16 {
                let part = format!("dnsmasq-{name}-hosts-{at}");
                match self.ours(Kind::ConfigMap, &part, server) {
                    Some(map) => {
                        for (name, text) in map["data"].as_object().unwrap() {
                            assert!(read.insert(name.as_str(), text.as_str().unwrap()).is_none());
                        }
                    }
                    None if self.server.get(Kind::ConfigMap, &part).is_some() => return, // somebody else's
                    None => {}
                }
            }
            assert_eq!(read, texts);
        } else {
            let read: Vec<&str> =
                mounts[1..].iter().map(|m| m["subPath"].as_str().unwrap()).collect();
            assert_eq!(read, texts.keys().copied().collect::<Vec<_>>());
            let hash = &pod["containers"][0]["env"][0]["value"];
            assert_eq!(*hash, server["status"]["hash"]["input"]);
        }
        let outer: Vec<&Value> = self
            .server
            .objects
            .iter()
            .filter(|((kind, _), o)| {
                *kind == Kind::Service && is_ours(*kind, o, object::uid(server))
            })
            .flat_map(|(_, o)| {
                o["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten()
            })
            .map(|entry| &entry["ip"])
            .collect();
        assert_eq!(server["status"]["dnsAddresses"], json!(outer));
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
    for ((kind, key), object) in &world.server.objects {
        // What users made stays, and pods of a workload of theirs.
        let is_kept = controller(object).is_none() || *kind == Kind::Pod;
        assert!(is_kept && !kind.is_planned(), "{kind:?} {key} stays");
    }
}

#[test]
fn names_are_served_as_declared_and_nothing_of_others_is_touched() {
    let count = std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("LANDBRIDGE_TIMELINE").ok().and_then(|text| text.parse().ok());
    let first: u64 = first.unwrap_or(0);
    for seed in first..first + count.unwrap_or(200) {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(why) = result {
            eprintln!("timeline {seed}");
            std::panic::resume_unwind(why);
        }
    }
}
