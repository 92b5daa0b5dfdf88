//! Server and operators together, and words to write tests in.

use jiff::{SignedDuration, Timestamp};
use landbridge_controllers::mirror::Key;
use landbridge_workloads::Settings;
use landbridge_workloads::action::Kind;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::operator::Operator;
use crate::server::{Server, is_active, is_ready, key, owner, uid};

pub const SPACE: &str = "lab";

pub struct Lab {
    pub server: Server,
    pub operators: Vec<Operator>,
    pub chance: Chance,
    /// Nodes that do not renew their lease.
    pub silent: Vec<String>,
}

pub fn at(name: &str) -> Key {
    Key::new(SPACE, name)
}

pub fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": image}], "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists",
                    "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists",
                    "effect": "NoExecute", "tolerationSeconds": 300}]},
    })
}

/// A workload as the API has it after defaulting.
pub fn workload(kind: Kind, name: &str, spec: &Value) -> Value {
    let mut template = template("v1");
    template["metadata"]["labels"] = json!({"app": name});
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.name(),
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

impl Lab {
    pub fn new(seed: u64, nodes: usize, operators: usize) -> Self {
        let mut server =
            Server { now: Timestamp::from_second(1_000_000).unwrap(), ..Server::default() };
        for number in 0..nodes {
            let name = format!("worker-{number}");
            server.node(&name, &json!({"kubernetes.io/hostname": name}), 110);
        }
        let mut lab =
            Self { server, operators: Vec::new(), chance: Chance::new(seed), silent: Vec::new() };
        for _ in 0..operators {
            lab.operators.push(Operator::start(&lab.server, Settings::default()));
        }
        lab
    }

    pub fn create(&mut self, kind: Kind, name: &str, spec: &Value) {
        self.server.create(kind, workload(kind, name, spec)).unwrap();
    }

    pub fn set(&mut self, kind: Kind, name: &str, spec: &Value) {
        self.server.change(kind, &at(name), |object| {
            for (field, value) in spec.as_object().unwrap() {
                object["spec"][field] = value.clone();
            }
        });
    }

    pub fn set_image(&mut self, kind: Kind, name: &str, image: &str) {
        self.server.change(kind, &at(name), |object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        });
    }

    pub fn pass(&mut self, seconds: i64) {
        let step = SignedDuration::from_secs(seconds);
        self.server.now = self.server.now.checked_add(step).unwrap();
    }

    pub fn renew_leases(&mut self) {
        let nodes: Vec<String> =
            self.server.all(Kind::Node).map(|node| key(node).name.to_string()).collect();
        for node in nodes.into_iter().filter(|node| !self.silent.contains(node)) {
            self.server.renew(&node);
        }
    }

    /// The controllers work until they have nothing left to do now. Kubelets do nothing.
    pub fn controllers(&mut self) {
        for round in 0.. {
            assert!(round < 5000, "the controllers never come to rest");
            let mut moved = false;
            self.server.collect();
            for operator in &mut self.operators {
                moved |= operator.hear_all(&self.server);
                operator.act(self.server.now, usize::MAX);
                while operator.travel(&mut self.server, &mut self.chance, true) {
                    moved = true;
                }
            }
            if !moved && self.operators.iter().all(Operator::is_idle) {
                return;
            }
        }
    }

    /// Every kubelet takes one step for every pod.
    pub fn kubelets(&mut self) -> bool {
        let pods: Vec<Key> = self.server.all(Kind::Pod).map(key).collect();
        let mut moved = false;
        for pod in pods {
            moved |= self.server.kubelet(&pod);
        }
        moved
    }

    /// Everything works until nothing moves any more, for longer than anybody waits to retry.
    pub fn settle(&mut self) {
        let mut still = 0;
        for round in 0.. {
            assert!(round < 3000, "never comes to rest");
            self.controllers();
            let before = self.server.revision;
            self.kubelets();
            self.server.collect();
            still = if self.server.revision == before { still + 1 } else { 0 };
            if still == 8 {
                return;
            }
            self.pass(if still == 0 { 1 } else { 5 });
            self.renew_leases();
            let leases = self.server.revision;
            self.controllers();
            if self.server.revision != leases {
                still = 0;
            }
        }
    }

    pub fn object(&self, kind: Kind, name: &str) -> &Value {
        self.server.get(kind, &at(name)).unwrap_or_else(|| panic!("no {kind:?} {name}"))
    }

    pub fn status(&self, kind: Kind, name: &str, field: &str) -> Value {
        self.object(kind, name)["status"][field].clone()
    }

    /// Pods of an owner, directly or through a ReplicaSet.
    pub fn pods_of(&self, kind: Kind, name: &str) -> Vec<&Value> {
        let owner_uid = uid(self.object(kind, name)).to_owned();
        let sets: Vec<&str> = self
            .server
            .all(Kind::ReplicaSet)
            .filter(|set| owner(set) == Some(&owner_uid))
            .map(uid)
            .collect();
        self.server
            .all(Kind::Pod)
            .filter(|pod| owner(pod).is_some_and(|o| o == owner_uid || sets.contains(&o)))
            .collect()
    }

    pub fn active(&self, kind: Kind, name: &str) -> Vec<&Value> {
        self.pods_of(kind, name).into_iter().filter(|pod| is_active(pod)).collect()
    }

    pub fn ready(&self, kind: Kind, name: &str) -> usize {
        self.active(kind, name).into_iter().filter(|pod| is_ready(pod)).count()
    }

    pub fn names(&self, kind: Kind, name: &str) -> Vec<String> {
        self.active(kind, name).into_iter().map(|pod| key(pod).name.to_string()).collect()
    }

    /// Sizes of the ReplicaSets of a Deployment, by revision.
    pub fn sizes(&self, name: &str) -> Vec<(i64, i64)> {
        let owner_uid = uid(self.object(Kind::Deployment, name)).to_owned();
        let mut sizes: Vec<(i64, i64)> = self
            .server
            .all(Kind::ReplicaSet)
            .filter(|set| owner(set) == Some(&owner_uid))
            .map(|set| {
                let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
                (
                    revision.as_str().unwrap().parse().unwrap(),
                    set["spec"]["replicas"].as_i64().unwrap(),
                )
            })
            .collect();
        sizes.sort_unstable();
        sizes
    }

    pub fn condition(&self, kind: Kind, name: &str, condition: &str) -> (String, String) {
        let status = self.status(kind, name, "conditions");
        let found = status.as_array().unwrap().iter().find(|c| c["type"] == condition).cloned();
        let found = found.unwrap_or_else(|| panic!("no condition {condition}"));
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }
}
