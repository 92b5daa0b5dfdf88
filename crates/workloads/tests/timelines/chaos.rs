//! Random timelines. Whatever happens: it ends as wished. And as long as nothing but the
//! controllers takes pods away, no promise is broken on the way.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use landbridge_controllers::mirror::Key;
use landbridge_workloads::Settings;
use landbridge_workloads::action::Kind::{
    self, ControllerRevision, DaemonSet, Deployment, Node, Pod, ReplicaSet, StatefulSet,
};
use serde_json::{Value, json};

use crate::lab::{Lab, at};
use crate::operator::Operator;
use crate::server::{is_active, is_leaving, is_ready, key, owner, phase, uid};

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// One instance, late news, broken watches and lost answers; people change templates when
    /// the last change is through.
    Calm,
    /// Two instances, crashes, pods that fail, nodes that come and go, people in a hurry.
    Wild,
}

struct Timeline {
    lab: Lab,
    mode: Mode,
    surge: i64,
    unavailable: i64,
    replicas: i64,
    /// Whether the Deployment has come up once.
    up: bool,
    /// Up to which revision promises were checked.
    seen: u64,
    /// How much of the log of pods was checked.
    checked: usize,
}

impl Timeline {
    fn new(seed: u64, mode: Mode) -> Self {
        let operators = if mode == Mode::Wild { 1 + usize::try_from(seed % 2).unwrap() } else { 1 };
        let mut lab = Lab::new(seed, 4, operators);
        let replicas = i64::try_from(lab.chance.below(6)).unwrap() + 1;
        let surge = i64::try_from(lab.chance.below(3)).unwrap();
        let unavailable = i64::try_from(lab.chance.below(3)).unwrap().max(i64::from(surge == 0));
        let strategy = if mode == Mode::Wild && lab.chance.one_in(4) {
            json!({"type": "Recreate"})
        } else {
            json!({"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
        };
        lab.create(
            Deployment,
            "web",
            &json!({"replicas": replicas, "strategy": strategy, "revisionHistoryLimit": 2}),
        );
        let policy = if lab.chance.one_in(3) { "Parallel" } else { "OrderedReady" };
        let ordinals = lab.chance.below(4);
        lab.create(
            StatefulSet,
            "db",
            &json!({"replicas": ordinals, "serviceName": "db", "podManagementPolicy": policy,
                "revisionHistoryLimit": 1,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}),
        );
        lab.create(DaemonSet, "ds", &json!({"revisionHistoryLimit": 1}));
        Self { lab, mode, surge, unavailable, replicas, up: false, seen: 0, checked: 0 }
    }

    fn any_pod(&mut self) -> Option<Key> {
        let pods: Vec<Key> = self.lab.server.all(Pod).map(key).collect();
        (!pods.is_empty()).then(|| self.lab.chance.pick(&pods).clone())
    }

    /// What people, kubelets and the network do.
    fn happen(&mut self) {
        let wild = self.mode == Mode::Wild;
        match self.lab.chance.below(100) {
            0..=9 => {
                if let Some(pod) = self.any_pod() {
                    self.lab.server.kubelet(&pod);
                }
            }
            10 => self.change_template(),
            11 => self.lab.server.collect(),
            12 => {
                let kind = *self.lab.chance.pick(&Kind::ALL);
                let at = self.lab.chance.below(self.lab.operators.len());
                self.lab.operators[at].list(&self.lab.server, kind);
            }
            13 if wild => self.wild(),
            14 => self.lab.renew_leases(),
            _ => {
                let at = self.lab.chance.below(self.lab.operators.len());
                let lab = &mut self.lab;
                let operator = &mut lab.operators[at];
                match lab.chance.below(3) {
                    0 => {
                        let kind = *lab.chance.pick(&Kind::ALL);
                        operator.hear(&lab.server, kind);
                    }
                    1 => operator.act(lab.server.now, 1 + lab.chance.below(5)),
                    _ => {
                        operator.travel(&mut lab.server, &mut lab.chance, false);
                    }
                }
            }
        }
        let step = SignedDuration::from_millis(10);
        self.lab.server.now = self.lab.server.now.checked_add(step).unwrap();
    }

    fn change_template(&mut self) {
        let image = format!("v{}", self.lab.chance.below(5));
        let kind = *self.lab.chance.pick(&[Deployment, StatefulSet, DaemonSet]);
        let name = match kind {
            Deployment => "web",
            StatefulSet => "db",
            _ => "ds",
        };
        if self.mode == Mode::Calm && kind == Deployment && !self.deployment_is_through() {
            return;
        }
        if self.lab.server.get(kind, &at(name)).is_some() {
            self.lab.set_image(kind, name, &image);
        }
    }

    fn deployment_is_through(&self) -> bool {
        let deployment = self.lab.object(Deployment, "web");
        let status = &deployment["status"];
        status["observedGeneration"] == deployment["metadata"]["generation"]
            && ["replicas", "updatedReplicas", "availableReplicas"]
                .iter()
                .all(|field| status[*field] == self.replicas)
    }

    fn wild(&mut self) {
        match self.lab.chance.below(12) {
            0 | 1 => {
                if let Some(pod) = self.any_pod() {
                    let ready = self.lab.chance.one_in(2);
                    let phase = *self.lab.chance.pick(&["Running", "Failed", "Running"]);
                    let bound =
                        self.lab.server.get(Pod, &pod).unwrap()["spec"]["nodeName"].is_string();
                    if bound {
                        self.lab.server.set_pod(&pod, phase, ready && phase == "Running");
                    }
                }
            }
            2 => {
                if let Some(pod) = self.any_pod() {
                    let now = self.lab.chance.one_in(3);
                    self.lab.server.delete(Pod, &pod, now);
                }
            }
            3 => {
                let replicas = self.lab.chance.below(7);
                self.replicas = i64::try_from(replicas).unwrap();
                self.lab.set(Deployment, "web", &json!({"replicas": replicas}));
            }
            4 => {
                let replicas = self.lab.chance.below(5);
                self.lab.set(StatefulSet, "db", &json!({"replicas": replicas}));
            }
            5 => {
                let name = format!("worker-{}", self.lab.chance.below(4));
                if self.lab.server.get(Node, &Key::new("", &name)).is_some() {
                    self.lab.server.remove(Node, &Key::new("", &name));
                } else {
                    self.lab.server.node(&name, &json!({"kubernetes.io/hostname": name}), 110);
                }
            }
            6 => {
                let name = format!("worker-{}", self.lab.chance.below(4));
                let effect = *self.lab.chance.pick(&["NoSchedule", "NoExecute"]);
                let taints =
                    self.lab.chance.one_in(2).then(|| json!([{"key": "x", "effect": effect}]));
                self.lab.server.change(Node, &Key::new("", &name), |node| {
                    node["spec"]["taints"] = taints.unwrap_or(Value::Null);
                });
            }
            7 => {
                let name = format!("worker-{}", self.lab.chance.below(4));
                if self.lab.silent.contains(&name) {
                    self.lab.silent.clear();
                } else {
                    self.lab.silent.push(name);
                }
            }
            8 => {
                self.lab.renew_leases();
                let seconds = i64::try_from(self.lab.chance.below(60)).unwrap();
                self.lab.pass(seconds);
            }
            9 => {
                let at = self.lab.chance.below(self.lab.operators.len());
                let lab = &mut self.lab;
                let fresh = Operator::start(&lab.server, Settings::default());
                let old = std::mem::replace(&mut lab.operators[at], fresh);
                old.die(&mut lab.server, &mut lab.chance);
            }
            10 => {
                if let Some(pod) = self.any_pod() {
                    // Somebody plays with labels: pods are released, or taken.
                    let app = *self.lab.chance.pick(&["web", "db", "ds", "nobody"]);
                    self.lab.server.change(Pod, &pod, |pod| {
                        pod["metadata"]["labels"]["app"] = json!(app);
                    });
                }
            }
            _ => {
                let paused = self.lab.chance.one_in(2);
                self.lab.set(Deployment, "web", &json!({"paused": paused}));
            }
        }
    }

    /// True at every moment of a calm timeline.
    fn check_promises(&mut self) {
        let news = std::mem::replace(&mut self.seen, self.lab.server.revision);
        if self.mode == Mode::Wild || news == self.seen {
            return;
        }
        let count = |n: usize| i64::try_from(n).unwrap();
        let active = count(self.lab.active(Deployment, "web").len());
        let ready = count(self.lab.ready(Deployment, "web"));
        assert!(active <= self.replicas + self.surge, "{active} pods of {}", self.replicas);
        self.up |= ready == self.replicas && self.deployment_is_through();
        if self.up {
            let least = self.replicas - self.unavailable;
            assert!(ready >= least, "{ready} ready, {least} are promised");
        }
        let mut nodes = BTreeSet::new();
        for pod in self.lab.active(DaemonSet, "ds") {
            let term = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                ["nodeSelectorTerms"][0];
            let node = term["matchFields"][0]["values"][0].as_str().unwrap();
            assert!(nodes.insert(node.to_owned()), "two daemons for {node}");
        }
        self.check_order();
    }

    /// Every new pod of an ordered StatefulSet finds all before it ready.
    fn check_order(&mut self) {
        let log = self.lab.server.log.get(&Pod).map_or(&[][..], Vec::as_slice);
        let news: Vec<Value> = log[self.checked.min(log.len())..]
            .iter()
            .filter(|(gone, pod)| {
                !gone && pod["status"].is_null() && pod["spec"]["nodeName"].is_null()
            })
            .map(|(_, pod)| pod.clone())
            .collect();
        self.checked = log.len();
        let set = self.lab.object(StatefulSet, "db");
        if set["spec"]["podManagementPolicy"] == "Parallel" {
            return;
        }
        let owner_uid = uid(set).to_owned();
        for pod in news.iter().filter(|pod| owner(pod) == Some(&owner_uid)) {
            let name = key(pod).name.to_string();
            let ordinal: i32 = name.rsplit('-').next().unwrap().parse().unwrap();
            for below in 0..ordinal {
                let other = self.lab.server.get(Pod, &at(&format!("db-{below}")));
                assert!(
                    other.is_some_and(|pod| is_ready(pod) && !is_leaving(pod)),
                    "{name} was made before db-{below} was ready"
                );
            }
        }
        let pods = self.lab.pods_of(StatefulSet, "db");
        let down = pods.iter().filter(|pod| !is_ready(pod) || is_leaving(pod)).count();
        assert!(down <= 1, "{down} pods of an ordered StatefulSet are down at once");
    }

    /// Peace: nodes are heard, nothing fails any more.
    fn pacify(&mut self) {
        self.lab.silent.clear();
        self.lab.set(Deployment, "web", &json!({"paused": false}));
        // Strangers with our labels but no owner would be adopted; those without go.
        let strangers: Vec<Key> =
            self.lab.server.all(Pod).filter(|pod| owner(pod).is_none()).map(key).collect();
        for pod in strangers {
            self.lab.server.delete(Pod, &pod, true);
        }
        self.lab.settle();
        // People played with labels: whoever was taken over by nobody goes.
        let strangers: Vec<Key> =
            self.lab.server.all(Pod).filter(|pod| owner(pod).is_none()).map(key).collect();
        for pod in strangers {
            self.lab.server.delete(Pod, &pod, true);
        }
        self.lab.settle();
    }

    fn check_rest(&self) {
        let lab = &self.lab;
        let nodes: BTreeMap<String, &Value> =
            lab.server.all(Node).map(|node| (key(node).name.to_string(), node)).collect();
        let open = |node: &&Value| node["spec"]["taints"].as_array().is_none_or(Vec::is_empty);
        let eligible: BTreeSet<String> =
            nodes.iter().filter(|(_, node)| open(node)).map(|(name, _)| name.clone()).collect();
        let cidrs: Vec<&Value> = nodes.values().map(|node| &node["spec"]["podCIDRs"]).collect();
        assert!(cidrs.iter().all(|list| list.as_array().is_some_and(|l| l.len() == 2)));
        let places = !eligible.is_empty();

        let active = lab.active(Deployment, "web");
        assert_eq!(
            active.len(),
            usize::try_from(self.replicas).unwrap(),
            "{:#?}",
            lab.sizes("web")
        );
        let image = |object: &Value| object["spec"]["containers"][0]["image"].clone();
        if places {
            let wanted = image(&lab.object(Deployment, "web")["spec"]["template"]);
            assert!(active.iter().all(|pod| image(pod) == wanted && is_ready(pod)));
            let sizes = lab.sizes("web");
            assert_eq!(sizes.last().map(|(_, size)| *size), Some(self.replicas), "{sizes:?}");
            assert!(sizes.len() <= 3, "the history is too long: {sizes:?}");
            assert!(self.deployment_is_through(), "{}", lab.object(Deployment, "web")["status"]);
            let (_, reason) = lab.condition(Deployment, "web", "Progressing");
            assert_eq!(reason, "NewReplicaSetAvailable");
        }
        for set in lab.server.all(ReplicaSet) {
            let pods = lab.server.all(Pod).filter(|p| owner(p) == Some(uid(set)) && is_active(p));
            let count = pods.count();
            assert_eq!(set["status"]["replicas"], count);
            assert_eq!(set["spec"]["replicas"], count);
        }
        let set = lab.object(StatefulSet, "db");
        let wanted = set["spec"]["replicas"].as_i64().unwrap();
        let names: Vec<String> = (0..wanted).map(|number| format!("db-{number}")).collect();
        if places {
            assert_eq!(lab.names(StatefulSet, "db"), names);
            let template = image(&set["spec"]["template"]);
            assert!(lab.active(StatefulSet, "db").iter().all(|pod| image(pod) == template));
            assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
            assert_eq!(set["status"]["readyReplicas"], wanted);
        }
        let template = image(&lab.object(DaemonSet, "ds")["spec"]["template"]);
        let mut on = BTreeMap::new();
        for pod in lab.active(DaemonSet, "ds") {
            // One that was made for a node that closed meanwhile waits.
            let Some(node) = pod["spec"]["nodeName"].as_str() else { continue };
            // One that may stay on a closed node but could not come back there is left alone.
            assert!(!eligible.contains(node) || image(pod) == template, "{:?}", key(pod));
            *on.entry(node.to_owned()).or_insert(0) += 1;
        }
        assert!(on.values().all(|count| *count == 1), "{on:?}");
        for node in &eligible {
            assert!(on.contains_key(node), "no daemon on {node}");
        }
        assert!(lab.server.all(ControllerRevision).count() <= 6);
        for pod in lab.server.all(Pod) {
            let node = pod["spec"]["nodeName"].as_str();
            assert!(node.is_none_or(|node| nodes.contains_key(node)), "on a node that is gone");
            assert!(phase(pod) != "Failed" || owner(pod).is_some());
        }
    }
}

fn play(seed: u64, mode: Mode, length: usize) {
    let mut timeline = Timeline::new(seed, mode);
    for _ in 0..length {
        timeline.happen();
        timeline.check_promises();
    }
    timeline.pacify();
    timeline.check_rest();
    // Everything goes, and nothing stays behind.
    for (kind, name) in [(Deployment, "web"), (StatefulSet, "db"), (DaemonSet, "ds")] {
        timeline.lab.server.delete(kind, &at(name), false);
    }
    timeline.lab.settle();
    let left: Vec<_> = timeline
        .lab
        .server
        .objects
        .keys()
        .filter(|(kind, _)| !matches!(kind, Kind::Node | Kind::Lease))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn timelines(mode: Mode) {
    let count = number("LANDBRIDGE_TIMELINES", 250);
    let first = number("LANDBRIDGE_TIMELINE", 0);
    for seed in first..first + count {
        let result = std::panic::catch_unwind(|| play(seed, mode, 600));
        assert!(result.is_ok(), "seed {seed}: LANDBRIDGE_TIMELINE={seed} LANDBRIDGE_TIMELINES=1");
    }
}

#[test]
fn calm_timelines() {
    timelines(Mode::Calm);
}

#[test]
fn wild_timelines() {
    timelines(Mode::Wild);
}
