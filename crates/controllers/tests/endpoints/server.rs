//! A Kubernetes API as far as this controller needs one: revisions, generations, preconditions,
//! finalizers, owners, who set what; and those who act beside the controller.

use std::collections::{BTreeMap, BTreeSet};

use landbridge_controllers::making::kinds::Kind;
use landbridge_controllers::making::world::{Spot, owners};
use landbridge_controllers::mirror::{Key, Told};
use landbridge_machinery::object;
use landbridge_machinery::patch::merge_patch;
use serde_json::{Value, json};

/// Why a write was not done.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// Another state, another object, or there already.
    Conflict,
    /// Not there.
    Missing,
}

#[derive(Default)]
pub struct Server {
    pub revision: u64,
    pub objects: BTreeMap<Spot, Value>,
    pub logs: BTreeMap<Kind, Vec<Told<Value>>>,
    /// Everything the controller has deleted, in order.
    pub deletions: Vec<Spot>,
    /// What people were told.
    pub notices: Vec<(Spot, String)>,
    pub writes: usize,
}

pub fn key_of(object: &Value) -> Key {
    Key::new(object::namespace(object), object::name(object))
}

impl Server {
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, Key::new("openstack", name)))
    }

    fn put(&mut self, kind: Kind, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let spot = (kind, key_of(&object));
        let log = self.logs.entry(kind).or_default();
        if object::is_terminating(&object) && object::finalizers(&object).is_empty() {
            self.objects.remove(&spot);
            log.push(Told::Deleted(object.clone()));
        } else {
            self.objects.insert(spot, object.clone());
            log.push(Told::Applied(object.clone()));
        }
        object
    }

    pub fn create(&mut self, kind: Kind, mut object: Value, who: &str) -> Result<Value, Refused> {
        if self.objects.contains_key(&(kind, key_of(&object))) {
            return Err(Refused::Conflict);
        }
        self.writes += 1;
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.name().into();
        object["metadata"]["uid"] = format!("uid-{}", self.revision + 1).into();
        object["metadata"]["generation"] = 1.into();
        remember(&Value::Null, &mut object, who);
        fill(kind, &mut object);
        Ok(self.put(kind, object))
    }

    /// A full update of exactly the state it names.
    pub fn update(&mut self, kind: Kind, object: &Value, who: &str) -> Result<Value, Refused> {
        let spot = (kind, key_of(object));
        let live = self.objects.get(&spot).cloned().ok_or(Refused::Missing)?;
        if object::resource_version(object) != object::resource_version(&live) {
            return Err(Refused::Conflict);
        }
        let mut new = object.clone();
        new["status"] = live["status"].clone();
        for field in ["uid", "generation", "deletionTimestamp"] {
            new["metadata"][field] = live["metadata"][field].clone();
        }
        Ok(self.change(kind, &live, new, who))
    }

    /// A merge patch; what it says about resourceVersion and uid must be true.
    pub fn patch(
        &mut self,
        spot: &Spot,
        patch: &Value,
        status: bool,
        who: &str,
    ) -> Result<Value, Refused> {
        let live = self.objects.get(spot).cloned().ok_or(Refused::Missing)?;
        for field in ["uid", "resourceVersion"] {
            let said = &patch["metadata"][field];
            if !said.is_null() && *said != live["metadata"][field] {
                return Err(Refused::Conflict);
            }
        }
        let mut new = live.clone();
        if status {
            merge_patch(&mut new["status"], &patch["status"]);
        } else {
            merge_patch(&mut new, patch);
        }
        Ok(self.change(spot.0, &live, new, who))
    }

    fn change(&mut self, kind: Kind, live: &Value, mut new: Value, who: &str) -> Value {
        remember(live, &mut new, who);
        fill(kind, &mut new);
        if new == *live {
            return new;
        }
        self.writes += 1;
        if new["spec"] != live["spec"] {
            new["metadata"]["generation"] = (object::generation(live) + 1).into();
        }
        self.put(kind, new)
    }

    pub fn delete(&mut self, spot: &Spot, uid: Option<&str>) -> Result<(), Refused> {
        let live = self.objects.get(spot).cloned().ok_or(Refused::Missing)?;
        if uid.is_some_and(|uid| uid != object::uid(&live)) {
            return Err(Refused::Conflict);
        }
        if object::is_terminating(&live) {
            return Ok(());
        }
        let mut new = live;
        new["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:00Z".into();
        self.put(spot.0, new);
        Ok(())
    }

    /// One round of garbage collection.
    pub fn collect(&mut self) {
        let uids: BTreeSet<String> =
            self.objects.values().map(|object| object::uid(object).to_owned()).collect();
        let orphans: Vec<Spot> = self
            .objects
            .iter()
            .filter(|(_, object)| {
                let mut all = owners(object).peekable();
                all.peek().is_some() && all.all(|uid| !uids.contains(uid))
            })
            .map(|(spot, _)| spot.clone())
            .collect();
        for spot in orphans {
            let _ = self.delete(&spot, None);
        }
    }

    /// Those who run workloads: pods come and go, and have what they ask for.
    pub fn run_workload(&mut self, spot: &Spot) {
        let Some(live) = self.objects.get(spot).cloned() else { return };
        if object::is_terminating(&live) {
            return;
        }
        let replicas = match spot.0 {
            Kind::DaemonSet => 2,
            _ => live["spec"]["replicas"].as_i64().unwrap_or(1),
        };
        let generation = object::generation(&live);
        let status = if spot.0 == Kind::DaemonSet {
            json!({"observedGeneration": generation, "numberReady": replicas,
                "desiredNumberScheduled": replicas, "updatedNumberScheduled": replicas})
        } else {
            json!({"observedGeneration": generation, "readyReplicas": replicas, "updatedReplicas": replicas})
        };
        let patch = json!({"status": status});
        let _ = self.patch(spot, &patch, true, "workloads");
        let template = &live["spec"]["template"];
        let annotation =
            template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str();
        let wanted: Vec<Value> = serde_json::from_str(annotation.unwrap_or("[]")).unwrap();
        for i in 0..replicas {
            let ip = |n: usize| format!("10.{}.0.{}", n, i + 1);
            let mut networks = vec![json!({"name": "cluster", "ips": [ip(0)]})];
            for (n, network) in wanted.iter().enumerate() {
                let name = format!(
                    "{}/{}",
                    network["namespace"].as_str().unwrap(),
                    network["name"].as_str().unwrap()
                );
                networks.push(json!({"name": name, "ips": [ip(n + 1)]}));
            }
            let text = Value::from(networks).to_string();
            let pod = json!({
                "metadata": {
                    "name": format!("{}-{i}", object::name(&live)), "namespace": "openstack",
                    "labels": template["metadata"]["labels"],
                    "annotations": {"k8s.v1.cni.cncf.io/network-status": text},
                    "ownerReferences": [{"kind": spot.0.name(), "name": object::name(&live),
                        "uid": object::uid(&live), "controller": true}],
                },
            });
            let place = (Kind::Pod, key_of(&pod));
            if self.create(Kind::Pod, pod, "workloads").is_err() {
                let patch = json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": text}}});
                let _ = self.patch(&place, &patch, false, "workloads");
            }
        }
    }

    /// Whoever gives out virtual addresses: everybody gets the one asked for, unless somebody on the
    /// same port has it.
    pub fn balance(&mut self, spot: &Spot) {
        let Some(live) = self.objects.get(spot).cloned() else { return };
        let ask = object::annotation(&live, "metallb.universe.tf/loadBalancerIPs");
        let has = &live["status"]["loadBalancer"];
        let wants = match (live["spec"]["type"].as_str(), ask) {
            (Some("LoadBalancer"), Some(ip)) => Some(ip.to_owned()),
            (Some("LoadBalancer"), None) => Some("172.17.0.90".to_owned()),
            _ => None,
        };
        let ports = |service: &Value| -> Vec<String> {
            let list = service["spec"]["ports"].as_array().unwrap().iter();
            list.map(|port| format!("{}{}", port["protocol"], port["port"])).collect()
        };
        let own = ports(&live);
        let is_taken = |ip: &str| {
            self.objects.iter().any(|((kind, key), other)| {
                *kind == Kind::Service
                    && *key != spot.1
                    && other["status"]["loadBalancer"]["ingress"][0]["ip"] == ip
                    && ports(other).iter().any(|port| own.contains(port))
            })
        };
        let given = wants.filter(|ip| !is_taken(ip));
        let status = given.map_or(Value::Null, |ip| json!({"ingress": [{"ip": ip}]}));
        if *has != status {
            let patch = json!({"status": {"loadBalancer": status}});
            let _ = self.patch(spot, &patch, true, "vips");
        }
    }

    /// Everybody beside the controller does what is to be done, once.
    pub fn others(&mut self) {
        let spots: Vec<Spot> = self.objects.keys().cloned().collect();
        for spot in spots {
            match spot.0 {
                Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => self.run_workload(&spot),
                Kind::Service => self.balance(&spot),
                _ => {}
            }
        }
        self.collect();
    }
}

/// What a real API fills in, and what it leaves out.
fn fill(kind: Kind, object: &mut Value) {
    for field in ["labels", "annotations"] {
        let is_empty = object["metadata"][field].as_object().is_none_or(serde_json::Map::is_empty);
        if is_empty && let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove(field);
        }
    }
    match kind {
        Kind::Service if object["spec"]["clusterIP"].is_null() => {
            object["spec"]["clusterIP"] = "10.96.0.1".into();
        }
        Kind::Route if object["spec"]["host"].is_null() => {
            let host = format!("{}-openstack.apps.landbridge.test", object::name(object));
            object["spec"]["host"] = host.into();
        }
        Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => {
            let pod = &mut object["spec"]["template"]["spec"];
            pod["dnsPolicy"] = "ClusterFirst".into();
            for list in ["containers", "initContainers"] {
                for container in pod[list].as_array_mut().into_iter().flatten() {
                    container["imagePullPolicy"] = "IfNotPresent".into();
                }
            }
            if pod["initContainers"].is_null() {
                pod.as_object_mut().unwrap().remove("initContainers");
            }
        }
        _ => {}
    }
    if kind == Kind::Service && object["spec"]["type"] == "LoadBalancer" {
        object["spec"]["allocateLoadBalancerNodePorts"] = true.into();
    }
}

/// Those whose writes are told apart.
const MANAGERS: [&str; 2] =
    [landbridge_controllers::endpoints::MANAGER, landbridge_controllers::dns::MANAGER];

/// Notes who set which labels and annotations, and which configuration.
fn remember(before: &Value, after: &mut Value, who: &str) {
    let entries = MANAGERS.map(|manager| {
        let fields = set_by(manager, before, after, who);
        json!({"manager": manager, "fieldsV1": {"f:metadata": fields}})
    });
    let mut entries = entries.to_vec();
    let is_new = before["spec"]["config"] != after["spec"]["config"];
    let said_before = before["metadata"]["managedFields"].as_array().into_iter().flatten();
    let config = if is_new {
        Some(json!({"manager": who, "fieldsV1": {"f:spec": {"f:config": {}}}}))
    } else {
        said_before.into_iter().find(|entry| entry["fieldsV1"]["f:spec"].is_object()).cloned()
    };
    entries.extend(config);
    after["metadata"]["managedFields"] = json!(entries);
}

fn set_by(manager: &str, before: &Value, after: &Value, who: &str) -> Value {
    let mut fields = json!({});
    for (field, name) in [("labels", "f:labels"), ("annotations", "f:annotations")] {
        let mut own: BTreeSet<String> = BTreeSet::new();
        let entries = before["metadata"]["managedFields"].as_array().into_iter().flatten();
        for entry in entries.filter(|entry| entry["manager"] == manager) {
            let keys = entry["fieldsV1"]["f:metadata"][name].as_object();
            own.extend(keys.into_iter().flatten().map(|(key, _)| key.clone()));
        }
        let old = before["metadata"][field].as_object().cloned().unwrap_or_default();
        let new = after["metadata"][field].as_object().cloned().unwrap_or_default();
        own.retain(|key| new.contains_key(&key[2..]));
        for (key, value) in &new {
            if old.get(key) != Some(value) {
                let key = format!("f:{key}");
                if who == manager {
                    own.insert(key)
                } else {
                    own.remove(&key)
                };
            }
        }
        fields[name] =
            own.into_iter().map(|key| (key, json!({}))).collect::<serde_json::Map<_, _>>().into();
    }
    fields
}
