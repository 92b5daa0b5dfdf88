//! A Kubernetes API as far as the controllers need one: revisions, preconditions, owners, a log of
//! what happened; and kubelets.

use std::collections::BTreeMap;

use jiff::Timestamp;
use landbridge_controllers::mirror::Key;
use landbridge_workloads::action::{Answer, Guard, Kind, Verb};
use serde_json::{Value, json};

#[derive(Default)]
pub struct Server {
    pub revision: u64,
    pub objects: BTreeMap<(Kind, Key), Value>,
    /// What happened to each kind; true: it went.
    pub log: BTreeMap<Kind, Vec<(bool, Value)>>,
    pub now: Timestamp,
    pub calls: usize,
    /// Up to which revision garbage was collected.
    pub collected: u64,
    /// Pods that were made and deleted, in order: for checks of order.
    pub made: Vec<String>,
}

pub fn key(object: &Value) -> Key {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    Key::new(text("namespace"), text("name"))
}

pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

pub fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or("Pending")
}

pub fn is_active(pod: &Value) -> bool {
    !is_leaving(pod) && !matches!(phase(pod), "Failed" | "Succeeded")
}

pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

pub fn owner(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["uid"].as_str()
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

impl Server {
    fn put(&mut self, kind: Kind, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert((kind, key(&object)), object.clone());
        self.log.entry(kind).or_default().push((false, object.clone()));
        object
    }

    pub fn remove(&mut self, kind: Kind, at: &Key) {
        if let Some(mut object) = self.objects.remove(&(kind, at.clone())) {
            self.revision += 1;
            object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
            self.log.entry(kind).or_default().push((true, object));
        }
    }

    pub fn get(&self, kind: Kind, at: &Key) -> Option<&Value> {
        self.objects.get(&(kind, at.clone()))
    }

    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        let from = self.objects.range((kind, Key::default())..);
        from.take_while(move |((k, _), _)| *k == kind).map(|(_, object)| object)
    }

    pub fn create(&mut self, kind: Kind, mut object: Value) -> Option<Value> {
        if self.get(kind, &key(&object)).is_some() {
            return None;
        }
        let meta = &mut object["metadata"];
        meta["uid"] = json!(format!("uid-{}", self.revision + 1));
        meta["generation"] = json!(1);
        meta["creationTimestamp"] = json!(self.now.to_string());
        if kind == Kind::Pod {
            self.made.push(key(&object).name.to_string());
        }
        Some(self.put(kind, object))
    }

    /// Changes an object, whoever does it.
    pub fn change(
        &mut self,
        kind: Kind,
        at: &Key,
        change: impl FnOnce(&mut Value),
    ) -> Option<Value> {
        let before = self.get(kind, at)?.clone();
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return Some(before);
        }
        if after["spec"] != before["spec"] {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0);
            after["metadata"]["generation"] = json!(generation + 1);
        }
        Some(self.put(kind, after))
    }

    pub fn delete(&mut self, kind: Kind, at: &Key, now: bool) -> Option<Value> {
        let object = self.get(kind, at)?;
        let bound = kind == Kind::Pod && object["spec"]["nodeName"].is_string();
        if !bound || now || !is_active(object) && !is_leaving(object) {
            self.remove(kind, at);
            return None;
        }
        let time = self.now.to_string();
        self.change(kind, at, |pod| {
            let meta = &mut pod["metadata"];
            if meta["deletionTimestamp"].is_null() {
                meta["deletionTimestamp"] = json!(time);
            }
        })
    }

    /// What the driver does, here without a network.
    pub fn carry_out(
        &mut self,
        kind: Kind,
        at: &Key,
        verb: &Verb,
        guard: Option<&Guard>,
    ) -> Answer {
        self.calls += 1;
        let held = match guard {
            None => true,
            Some(Guard::Alive(kind, key, wanted)) => self
                .get(*kind, key)
                .is_some_and(|object| uid(object) == wanted && !is_leaving(object)),
            Some(Guard::Gone(kind, key)) => self.get(*kind, key).is_none(),
        };
        if !held {
            return Answer::Failed("the guard does not hold".to_owned());
        }
        let lost = |server: &Self| match server.get(kind, at) {
            Some(object) => Answer::Lost(object.clone()),
            None => Answer::Gone,
        };
        match verb {
            Verb::Read(_) => self.get(kind, at).cloned().map_or(Answer::Gone, Answer::Now),
            Verb::Create(object) => {
                let created = self.create(kind, object.clone());
                created.map_or_else(|| lost(self), Answer::Now)
            }
            Verb::Patch(patch) | Verb::PatchStatus(patch) => {
                let Some(object) = self.get(kind, at) else { return Answer::Gone };
                let meta = &patch["metadata"];
                for field in ["uid", "resourceVersion"] {
                    if !meta[field].is_null() && meta[field] != object["metadata"][field] {
                        return lost(self);
                    }
                }
                let status = matches!(verb, Verb::PatchStatus(_));
                assert!(status == patch.get("status").is_some(), "{patch}");
                Answer::Now(self.change(kind, at, |object| merge(object, patch)).unwrap())
            }
            Verb::Delete { uid: wanted, now } => {
                if self.get(kind, at).is_none_or(|object| uid(object) != wanted) {
                    return lost(self);
                }
                self.delete(kind, at, *now).map_or(Answer::Gone, Answer::Now)
            }
            Verb::Bind { uid: wanted, node } => {
                let fits = |pod: &Value| {
                    uid(pod) == wanted && pod["spec"]["nodeName"].is_null() && !is_leaving(pod)
                };
                if !self.get(kind, at).is_some_and(fits) {
                    return lost(self);
                }
                self.change(kind, at, |pod| pod["spec"]["nodeName"] = json!(node));
                Answer::Done
            }
        }
    }

    /// One round of garbage collection.
    pub fn collect(&mut self) {
        if std::mem::replace(&mut self.collected, self.revision) == self.revision {
            return;
        }
        let alive: std::collections::BTreeSet<String> =
            self.objects.values().map(|object| uid(object).to_owned()).collect();
        let orphaned = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| {
                !owners.is_empty()
                    && !owners.iter().any(|o| alive.contains(o["uid"].as_str().unwrap()))
            })
        };
        let gone: Vec<(Kind, Key)> = self
            .objects
            .iter()
            .filter(|(_, object)| orphaned(object) && !is_leaving(object))
            .map(|(at, _)| at.clone())
            .collect();
        for (kind, at) in gone {
            self.delete(kind, &at, false);
        }
    }

    /// The kubelet of a pod takes one step: starts it, makes it ready, or ends it.
    pub fn kubelet(&mut self, at: &Key) -> bool {
        let Some(pod) = self.get(Kind::Pod, at) else { return false };
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if self.get(Kind::Node, &Key::new("", node)).is_none() {
            return false;
        }
        if is_leaving(pod) {
            self.remove(Kind::Pod, at);
            return true;
        }
        let next = match (phase(pod), is_ready(pod)) {
            ("Pending", _) => ("Running", false),
            ("Running", false) => ("Running", true),
            _ => return false,
        };
        self.set_pod(at, next.0, next.1);
        true
    }

    pub fn set_pod(&mut self, at: &Key, phase: &str, ready: bool) {
        let time = Timestamp::from_second(self.now.as_second()).unwrap().to_string();
        self.change(Kind::Pod, at, |pod| {
            let status = if ready { "True" } else { "False" };
            pod["status"]["phase"] = json!(phase);
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": status, "lastTransitionTime": time}]);
        });
    }

    /// A node that reports.
    pub fn node(&mut self, name: &str, labels: &Value, pods: usize) {
        let time = self.now.to_string();
        self.create(
            Kind::Node,
            json!({
                "metadata": {"name": name, "labels": labels}, "spec": {},
                "status": {
                    "allocatable": {"cpu": "4", "memory": "8Gi", "pods": pods.to_string()},
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                        "lastHeartbeatTime": time, "lastTransitionTime": time}],
                },
            }),
        );
        self.renew(name);
    }

    /// A node renews its lease.
    pub fn renew(&mut self, name: &str) {
        let at = Key::new("kube-node-lease", name);
        let time = self.now.to_string();
        let spec = json!({"holderIdentity": name, "renewTime": time});
        if self.get(Kind::Lease, &at).is_some() {
            self.change(Kind::Lease, &at, |lease| lease["spec"]["renewTime"] = json!(time));
        } else {
            let meta = json!({"name": name, "namespace": "kube-node-lease"});
            self.create(Kind::Lease, json!({"metadata": meta, "spec": spec}));
        }
    }
}
