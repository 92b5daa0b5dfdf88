//! What is known of the API, with indices.
//!
//! - An object that the API said is gone stays out of sight, even if the watch still tells of it.
//! - A pod that was bound counts as bound before the watch tells of it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use landbridge_controllers::mirror::{Change, Epoch, Key, Mirror, Observed, Told};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::action::Kind;
use crate::endpoint_slices;
use crate::labels::Labels;
use crate::pods;

/// Where the nodes' leases are.
pub const LEASES: &str = "kube-node-lease";

/// An object, and where it stands.
#[derive(Clone, Debug)]
pub struct Seen<T> {
    key: Key,
    revision: u64,
    /// The object.
    pub object: Arc<T>,
}

impl<T: Resource> From<T> for Seen<T> {
    fn from(object: T) -> Self {
        let meta = object.meta();
        let revision = meta.resource_version.as_deref().and_then(|text| text.parse().ok());
        Self { key: key_of(meta), revision: revision.unwrap_or(0), object: Arc::new(object) }
    }
}

impl<T> Observed for Seen<T> {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

/// Where an object stands.
pub fn key_of(meta: &ObjectMeta) -> Key {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Key::new(&text(&meta.namespace), &text(&meta.name))
}

/// The uid; empty if there is none yet.
pub fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

/// The owner that controls this object.
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// What a watch tells, of one kind.
#[derive(Clone, Debug)]
pub enum News {
    /// Of Deployments.
    Deployment(Told<Seen<Deployment>>),
    /// Of ReplicaSets.
    ReplicaSet(Told<Seen<ReplicaSet>>),
    /// Of StatefulSets.
    StatefulSet(Told<Seen<StatefulSet>>),
    /// Of DaemonSets.
    DaemonSet(Told<Seen<DaemonSet>>),
    /// Of ControllerRevisions.
    Revision(Told<Seen<ControllerRevision>>),
    /// Of pods.
    Pod(Told<Seen<Pod>>),
    /// Of nodes.
    Node(Told<Seen<Node>>),
    /// Of leases, in every namespace.
    Lease(Told<Seen<Lease>>),
    /// Of Services.
    Service(Told<Seen<Service>>),
    /// Of EndpointSlices.
    Slice(Told<Seen<EndpointSlice>>),
}

/// What became different.
#[derive(Debug)]
pub enum Changed {
    /// A Deployment.
    Deployment(Key),
    /// A ReplicaSet, from this to that.
    ReplicaSet(Key, Option<Arc<ReplicaSet>>, Option<Arc<ReplicaSet>>),
    /// A StatefulSet.
    StatefulSet(Key),
    /// A DaemonSet.
    DaemonSet(Key),
    /// A ControllerRevision, from this to that.
    Revision(Key, Option<Arc<ControllerRevision>>, Option<Arc<ControllerRevision>>),
    /// A pod, from this to that.
    Pod(Key, Option<Arc<Pod>>, Option<Arc<Pod>>),
    /// A node, from this to that.
    Node(Key, Option<Arc<Node>>, Option<Arc<Node>>),
    /// A lease.
    Lease(Key),
    /// A Service.
    Service(Key),
    /// An EndpointSlice, from this to that.
    Slice(Key, Option<Arc<EndpointSlice>>, Option<Arc<EndpointSlice>>),
}

/// Objects by what they belong to.
type Index = HashMap<String, BTreeSet<Key>>;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct World {
    deployments: Mirror<Seen<Deployment>>,
    replica_sets: Mirror<Seen<ReplicaSet>>,
    stateful_sets: Mirror<Seen<StatefulSet>>,
    daemon_sets: Mirror<Seen<DaemonSet>>,
    revisions: Mirror<Seen<ControllerRevision>>,
    pods: Mirror<Seen<Pod>>,
    nodes: Mirror<Seen<Node>>,
    leases: Mirror<Seen<Lease>>,
    services: Mirror<Seen<Service>>,
    slices: Mirror<Seen<EndpointSlice>>,
    /// Uids of what the API said is gone.
    doomed: HashSet<String>,
    /// Pods that were bound, by uid.
    assumed: HashMap<String, String>,
    pods_of: Index,
    orphan_pods: Index,
    pods_on: Index,
    unscheduled: BTreeSet<Key>,
    sets_of: Index,
    revisions_of: Index,
    orphan_sets: Index,
    /// Pods by each of their labels.
    pods_by_label: Index,
    /// Services by the first label they select.
    services_by_label: Index,
    slices_of: Index,
    /// Which pod of an owner went last: so that no name comes back.
    last_gone: HashMap<String, String>,
    heard: HashMap<Arc<str>, Timestamp>,
    absent: HashMap<String, Timestamp>,
}

fn put(index: &mut Index, of: &str, key: &Key) {
    index.entry(of.to_owned()).or_default().insert(key.clone());
}

fn take(index: &mut Index, of: &str, key: &Key) {
    if let Some(keys) = index.get_mut(of) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(of);
        }
    }
}

/// Labels as names in an [`Index`]: each with its namespace.
fn labels_of<'a>(key: &'a Key, labels: Option<&'a Labels>) -> impl Iterator<Item = String> + 'a {
    let labels = labels.into_iter().flatten();
    labels.map(|(name, value)| format!("{} {name}={value}", key.namespace))
}

fn has_all(labels: Option<&Labels>, wanted: &Labels) -> bool {
    wanted.iter().all(|(name, value)| pods::has_label(labels, name, value))
}

impl World {
    /// Takes what a watch tells.
    pub fn tell(&mut self, news: News, now: Timestamp) -> Vec<Changed> {
        match news {
            News::Deployment(told) => {
                let changes = self.deployments.tell(told);
                changes.into_iter().map(|change| Changed::Deployment(change.key)).collect()
            }
            News::StatefulSet(told) => {
                let changes = self.stateful_sets.tell(told);
                changes.into_iter().map(|change| Changed::StatefulSet(change.key)).collect()
            }
            News::DaemonSet(told) => {
                let changes = self.daemon_sets.tell(told);
                changes.into_iter().map(|change| Changed::DaemonSet(change.key)).collect()
            }
            News::ReplicaSet(told) => {
                let changes = self.replica_sets.tell(told);
                changes.into_iter().map(|change| self.set_changed(change)).collect()
            }
            News::Revision(told) => {
                let changes = self.revisions.tell(told);
                changes.into_iter().map(|change| self.revision_changed(change)).collect()
            }
            News::Pod(told) => {
                let changes = self.pods.tell(told);
                changes.into_iter().map(|change| self.pod_changed(change, now)).collect()
            }
            News::Node(told) => {
                let changes = self.nodes.tell(told);
                changes.into_iter().map(|change| self.node_changed(change, now)).collect()
            }
            News::Lease(told) => {
                let changes = self.leases.tell(told);
                changes.into_iter().map(|change| self.lease_changed(change.key, now)).collect()
            }
            News::Service(told) => {
                let changes = self.services.tell(told);
                changes.into_iter().map(|change| self.service_changed(change)).collect()
            }
            News::Slice(told) => {
                let changes = self.slices.tell(told);
                changes.into_iter().map(|change| self.slice_changed(change)).collect()
            }
        }
    }

    /// Takes the answer to a write that was sent in that epoch.
    pub fn learn(
        &mut self,
        kind: Kind,
        epoch: Epoch,
        object: Value,
        now: Timestamp,
    ) -> Option<Changed> {
        fn read<T: DeserializeOwned + Resource>(object: Value) -> Option<Seen<T>> {
            serde_json::from_value::<T>(object).ok().map(Seen::from)
        }
        match kind {
            Kind::Deployment => {
                let change = self.deployments.learn(epoch, read(object)?)?;
                Some(Changed::Deployment(change.key))
            }
            Kind::StatefulSet => {
                let change = self.stateful_sets.learn(epoch, read(object)?)?;
                Some(Changed::StatefulSet(change.key))
            }
            Kind::DaemonSet => {
                let change = self.daemon_sets.learn(epoch, read(object)?)?;
                Some(Changed::DaemonSet(change.key))
            }
            Kind::ReplicaSet => {
                let change = self.replica_sets.learn(epoch, read(object)?)?;
                Some(self.set_changed(change))
            }
            Kind::ControllerRevision => {
                let change = self.revisions.learn(epoch, read(object)?)?;
                Some(self.revision_changed(change))
            }
            Kind::Pod => {
                let change = self.pods.learn(epoch, read(object)?)?;
                Some(self.pod_changed(change, now))
            }
            Kind::Node => {
                let change = self.nodes.learn(epoch, read(object)?)?;
                Some(self.node_changed(change, now))
            }
            Kind::EndpointSlice => {
                let change = self.slices.learn(epoch, read(object)?)?;
                Some(self.slice_changed(change))
            }
            Kind::Lease | Kind::Service => None,
        }
    }

    /// The API said that the object of this key is gone, if it is still the one of that uid.
    pub fn forget(&mut self, kind: Kind, key: &Key, gone: &str) -> Option<Changed> {
        match kind {
            Kind::Pod => {
                let pod = self.pod(key)?.clone();
                if uid(&pod.metadata) != gone {
                    return None;
                }
                self.doomed.insert(gone.to_owned());
                Some(Changed::Pod(key.clone(), Some(pod), None))
            }
            Kind::ReplicaSet => {
                let set = self.replica_set(key)?.clone();
                if uid(&set.metadata) != gone {
                    return None;
                }
                self.doomed.insert(gone.to_owned());
                Some(Changed::ReplicaSet(key.clone(), Some(set), None))
            }
            Kind::ControllerRevision => {
                let revision = self.revision(key)?.clone();
                if uid(&revision.metadata) != gone {
                    return None;
                }
                self.doomed.insert(gone.to_owned());
                Some(Changed::Revision(key.clone(), Some(revision), None))
            }
            Kind::EndpointSlice => {
                let slice = self.slice(key)?.clone();
                if uid(&slice.metadata) != gone {
                    return None;
                }
                self.doomed.insert(gone.to_owned());
                Some(Changed::Slice(key.clone(), Some(slice), None))
            }
            _ => None,
        }
    }

    /// The pod of that uid was bound to a node.
    pub fn assume(&mut self, key: &Key, pod_uid: &str, node: &str) {
        if self.pod(key).is_some_and(|pod| uid(&pod.metadata) == pod_uid) {
            self.assumed.insert(pod_uid.to_owned(), node.to_owned());
        }
    }

    /// To be handed to [`learn`](Self::learn) with the answer to a write that is sent now.
    pub fn epoch(&self, kind: Kind) -> Epoch {
        match kind {
            Kind::Deployment => self.deployments.epoch(),
            Kind::ReplicaSet => self.replica_sets.epoch(),
            Kind::StatefulSet => self.stateful_sets.epoch(),
            Kind::DaemonSet => self.daemon_sets.epoch(),
            Kind::ControllerRevision => self.revisions.epoch(),
            Kind::Pod => self.pods.epoch(),
            Kind::Node => self.nodes.epoch(),
            Kind::Lease => self.leases.epoch(),
            Kind::Service => self.services.epoch(),
            Kind::EndpointSlice => self.slices.epoch(),
        }
    }

    /// Whether enough has been seen to decide anything.
    pub fn is_complete(&self) -> bool {
        self.deployments.is_complete()
            && self.replica_sets.is_complete()
            && self.stateful_sets.is_complete()
            && self.daemon_sets.is_complete()
            && self.revisions.is_complete()
            && self.pods.is_complete()
            && self.nodes.is_complete()
            && self.leases.is_complete()
            && self.services.is_complete()
            && self.slices.is_complete()
    }

    fn set_changed(&mut self, change: Change<Seen<ReplicaSet>>) -> Changed {
        let key = change.key;
        let before = change.before.map(|seen| seen.object);
        let after = self.replica_sets.get(&key).map(|seen| seen.object.clone());
        if let Some(set) = &before {
            match controller(&set.metadata) {
                Some(owner) => take(&mut self.sets_of, &owner.uid, &key),
                None => take(&mut self.orphan_sets, &key.namespace, &key),
            }
            if after.as_ref().is_none_or(|after| after.metadata.uid != set.metadata.uid) {
                self.doomed.remove(uid(&set.metadata));
                self.last_gone.remove(uid(&set.metadata));
            }
        }
        if let Some(set) = &after {
            match controller(&set.metadata) {
                Some(owner) => put(&mut self.sets_of, &owner.uid, &key),
                None => put(&mut self.orphan_sets, &key.namespace, &key),
            }
        }
        Changed::ReplicaSet(key, before, after)
    }

    fn revision_changed(&mut self, change: Change<Seen<ControllerRevision>>) -> Changed {
        let key = change.key;
        let before = change.before.map(|seen| seen.object);
        let after = self.revisions.get(&key).map(|seen| seen.object.clone());
        if let Some(revision) = &before {
            if let Some(owner) = controller(&revision.metadata) {
                take(&mut self.revisions_of, &owner.uid, &key);
            }
            if after.as_ref().is_none_or(|after| after.metadata.uid != revision.metadata.uid) {
                self.doomed.remove(uid(&revision.metadata));
            }
        }
        if let Some(owner) = after.as_ref().and_then(|revision| controller(&revision.metadata)) {
            put(&mut self.revisions_of, &owner.uid, &key);
        }
        Changed::Revision(key, before, after)
    }

    fn pod_changed(&mut self, change: Change<Seen<Pod>>, now: Timestamp) -> Changed {
        let key = change.key;
        let before = change.before.map(|seen| seen.object);
        let after = self.pods.get(&key).map(|seen| seen.object.clone());
        if let Some(pod) = &before {
            match controller(&pod.metadata) {
                Some(owner) => take(&mut self.pods_of, &owner.uid, &key),
                None => take(&mut self.orphan_pods, &key.namespace, &key),
            }
            if let Some(node) = pods::node(pod) {
                take(&mut self.pods_on, node, &key);
            }
            for label in labels_of(&key, pod.metadata.labels.as_ref()) {
                take(&mut self.pods_by_label, &label, &key);
            }
            if after.as_ref().is_none_or(|after| after.metadata.uid != pod.metadata.uid) {
                self.doomed.remove(uid(&pod.metadata));
                self.assumed.remove(uid(&pod.metadata));
                if let Some(owner) = controller(&pod.metadata) {
                    self.last_gone.insert(owner.uid.clone(), uid(&pod.metadata).to_owned());
                }
            }
        }
        self.unscheduled.remove(&key);
        if let Some(pod) = &after {
            for label in labels_of(&key, pod.metadata.labels.as_ref()) {
                put(&mut self.pods_by_label, &label, &key);
            }
            match controller(&pod.metadata) {
                Some(owner) => put(&mut self.pods_of, &owner.uid, &key),
                None => put(&mut self.orphan_pods, &key.namespace, &key),
            }
            if let Some(node) = pods::node(pod) {
                self.assumed.remove(uid(&pod.metadata));
                put(&mut self.pods_on, node, &key);
                if self.node(node).is_none() {
                    self.absent.entry(node.to_owned()).or_insert(now);
                }
            } else {
                self.unscheduled.insert(key.clone());
            }
        }
        Changed::Pod(key, before, after)
    }

    fn node_changed(&mut self, change: Change<Seen<Node>>, now: Timestamp) -> Changed {
        let key = change.key;
        let before = change.before.map(|seen| seen.object);
        let after = self.nodes.get(&key).map(|seen| seen.object.clone());
        if let Some(node) = &after {
            self.absent.remove(&*key.name);
            let beat = |node: &Node| {
                let mut conditions = node.status.iter().flat_map(|s| s.conditions.iter().flatten());
                let ready = conditions.find(|c| c.type_ == "Ready" && c.status != "Unknown");
                ready.and_then(|ready| ready.last_heartbeat_time.clone())
            };
            let beats = beat(node).is_some() && before.as_deref().and_then(beat) != beat(node);
            if beats {
                self.heard.insert(key.name.clone(), now);
            } else {
                self.heard.entry(key.name.clone()).or_insert(now);
            }
        } else {
            self.heard.remove(&key.name);
            self.absent.insert(key.name.to_string(), now);
        }
        Changed::Node(key, before, after)
    }

    fn lease_changed(&mut self, key: Key, now: Timestamp) -> Changed {
        let alive = self.leases.get(&key).is_some();
        if *key.namespace == *LEASES
            && alive
            && let Some(heard) = self.heard.get_mut(&key.name)
        {
            *heard = now;
        }
        Changed::Lease(key)
    }

    fn service_changed(&mut self, change: Change<Seen<Service>>) -> Changed {
        let key = change.key;
        let after = self.services.get(&key).map(|seen| seen.object.clone());
        let first = |service: &Service| {
            labels_of(&key, service.spec.as_ref().and_then(|spec| spec.selector.as_ref())).next()
        };
        if let Some(label) = change.before.as_ref().and_then(|seen| first(&seen.object)) {
            take(&mut self.services_by_label, &label, &key);
        }
        if let Some(label) = after.as_deref().and_then(first) {
            put(&mut self.services_by_label, &label, &key);
        }
        Changed::Service(key)
    }

    fn slice_changed(&mut self, change: Change<Seen<EndpointSlice>>) -> Changed {
        let key = change.key;
        let before = change.before.map(|seen| seen.object);
        let after = self.slices.get(&key).map(|seen| seen.object.clone());
        let of = |slice: &EndpointSlice| {
            let name = endpoint_slices::service_of(&slice.metadata)?;
            Some(Key::new(&key.namespace, name).to_string())
        };
        if let Some(slice) = &before {
            if let Some(service) = of(slice) {
                take(&mut self.slices_of, &service, &key);
            }
            if after.as_ref().is_none_or(|after| after.metadata.uid != slice.metadata.uid) {
                self.doomed.remove(uid(&slice.metadata));
            }
        }
        if let Some(service) = after.as_deref().and_then(of) {
            put(&mut self.slices_of, &service, &key);
        }
        Changed::Slice(key, before, after)
    }

    /// A Service.
    pub fn service(&self, key: &Key) -> Option<&Arc<Service>> {
        self.services.get(key).map(|seen| &seen.object)
    }

    /// An EndpointSlice.
    pub fn slice(&self, key: &Key) -> Option<&Arc<EndpointSlice>> {
        let slice = &self.slices.get(key)?.object;
        (!self.doomed.contains(uid(&slice.metadata))).then_some(slice)
    }

    /// EndpointSlices that say they are of a Service, by name.
    pub fn slices_of(&self, service: &Key) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        let keys = self.slices_of.get(&service.to_string());
        keys.into_iter().flatten().filter_map(|key| self.slice(key))
    }

    /// Pods of a namespace that have all these labels, by name. No label selects nobody.
    pub fn pods_with(&self, namespace: &str, wanted: &Labels) -> Vec<&Arc<Pod>> {
        let at = Key::new(namespace, "");
        let Some(first) = labels_of(&at, Some(wanted)).next() else { return Vec::new() };
        let pods = self.pods_at(&self.pods_by_label, &first);
        pods.filter(|pod| has_all(pod.metadata.labels.as_ref(), wanted)).collect()
    }

    /// Services that select a pod.
    pub fn services_of(&self, pod: &Pod) -> impl Iterator<Item = &Key> {
        let labels = pod.metadata.labels.as_ref();
        let at = key_of(&pod.metadata);
        let near = labels_of(&at, labels).filter_map(|label| self.services_by_label.get(&label));
        let near: Vec<&Key> = near.flatten().collect();
        near.into_iter().filter(move |key| {
            let spec = self.service(key).and_then(|service| service.spec.as_ref());
            let selector = spec.and_then(|spec| spec.selector.as_ref());
            selector.is_some_and(|selector| has_all(labels, selector))
        })
    }

    /// A Deployment.
    pub fn deployment(&self, key: &Key) -> Option<&Arc<Deployment>> {
        self.deployments.get(key).map(|seen| &seen.object)
    }

    /// A StatefulSet.
    pub fn stateful_set(&self, key: &Key) -> Option<&Arc<StatefulSet>> {
        self.stateful_sets.get(key).map(|seen| &seen.object)
    }

    /// A DaemonSet.
    pub fn daemon_set(&self, key: &Key) -> Option<&Arc<DaemonSet>> {
        self.daemon_sets.get(key).map(|seen| &seen.object)
    }

    /// A ReplicaSet.
    pub fn replica_set(&self, key: &Key) -> Option<&Arc<ReplicaSet>> {
        let set = &self.replica_sets.get(key)?.object;
        (!self.doomed.contains(uid(&set.metadata))).then_some(set)
    }

    /// A ControllerRevision.
    pub fn revision(&self, key: &Key) -> Option<&Arc<ControllerRevision>> {
        let revision = &self.revisions.get(key)?.object;
        (!self.doomed.contains(uid(&revision.metadata))).then_some(revision)
    }

    /// ControllerRevisions of the owner of this uid, by name.
    pub fn revisions_of(&self, owner: &str) -> impl Iterator<Item = &Arc<ControllerRevision>> {
        self.revisions_of.get(owner).into_iter().flatten().filter_map(|key| self.revision(key))
    }

    /// At which resourceVersion an object is known.
    pub fn known_at(&self, kind: Kind, key: &Key) -> Option<u64> {
        match kind {
            Kind::Deployment => self.deployments.get(key).map(Observed::revision),
            Kind::ReplicaSet => self.replica_sets.get(key).map(Observed::revision),
            Kind::StatefulSet => self.stateful_sets.get(key).map(Observed::revision),
            Kind::DaemonSet => self.daemon_sets.get(key).map(Observed::revision),
            Kind::ControllerRevision => self.revisions.get(key).map(Observed::revision),
            Kind::Pod => self.pods.get(key).map(Observed::revision),
            Kind::Node => self.nodes.get(key).map(Observed::revision),
            Kind::Lease => self.leases.get(key).map(Observed::revision),
            Kind::Service => self.services.get(key).map(Observed::revision),
            Kind::EndpointSlice => self.slices.get(key).map(Observed::revision),
        }
    }

    /// A pod.
    pub fn pod(&self, key: &Key) -> Option<&Arc<Pod>> {
        let pod = &self.pods.get(key)?.object;
        (!self.doomed.contains(uid(&pod.metadata))).then_some(pod)
    }

    /// A node.
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(&Key::new("", name)).map(|seen| &seen.object)
    }

    /// All nodes, by name.
    pub fn nodes(&self) -> Vec<&Arc<Node>> {
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by(|a, b| a.key.cmp(&b.key));
        nodes.into_iter().map(|seen| &seen.object).collect()
    }

    /// All pods, in no order.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let seen = self.pods.iter().map(|seen| &seen.object);
        seen.filter(|pod| !self.doomed.contains(uid(&pod.metadata)))
    }

    fn pods_at<'a>(&'a self, index: &'a Index, at: &str) -> impl Iterator<Item = &'a Arc<Pod>> {
        index.get(at).into_iter().flatten().filter_map(|key| self.pod(key))
    }

    /// Pods that the owner of this uid controls, by name.
    pub fn pods_of(&self, owner: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_at(&self.pods_of, owner)
    }

    /// The uid of the pod of this owner that went last.
    pub fn last_gone(&self, owner: &str) -> &str {
        self.last_gone.get(owner).map(String::as_str).unwrap_or_default()
    }

    /// Pods of a namespace that nobody controls, by name.
    pub fn orphan_pods(&self, namespace: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_at(&self.orphan_pods, namespace)
    }

    /// Pods that are bound to a node, by name.
    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_at(&self.pods_on, node)
    }

    /// Pods without a node, by name.
    pub fn unscheduled(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let pods = self.unscheduled.iter().filter_map(|key| self.pod(key));
        pods.filter(|pod| !self.assumed.contains_key(uid(&pod.metadata)))
    }

    /// The node of a pod, even if the watch has not told of it yet.
    pub fn node_of<'a>(&'a self, pod: &'a Pod) -> Option<&'a str> {
        pods::node(pod).or_else(|| self.assumed.get(uid(&pod.metadata)).map(String::as_str))
    }

    /// ReplicaSets that the Deployment of this uid controls, by name.
    pub fn sets_of(&self, owner: &str) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.sets_of.get(owner).into_iter().flatten().filter_map(|key| self.replica_set(key))
    }

    /// ReplicaSets of a namespace that nobody controls, by name.
    pub fn orphan_sets(&self, namespace: &str) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        let keys = self.orphan_sets.get(namespace).into_iter().flatten();
        keys.filter_map(|key| self.replica_set(key))
    }

    /// Everything in a namespace that may adopt pods or ReplicaSets.
    pub fn adopters(&self, namespace: &str) -> Adopters<'_> {
        fn within<'a, T>(
            mirror: &'a Mirror<Seen<T>>,
            namespace: &str,
        ) -> Vec<(&'a Key, &'a Arc<T>)> {
            let here = mirror.iter().filter(|seen| *seen.key.namespace == *namespace);
            here.map(|seen| (&seen.key, &seen.object)).collect()
        }
        Adopters {
            deployments: within(&self.deployments, namespace),
            replica_sets: within(&self.replica_sets, namespace),
            stateful_sets: within(&self.stateful_sets, namespace),
            daemon_sets: within(&self.daemon_sets, namespace),
        }
    }

    /// All DaemonSets, in no order.
    pub fn daemon_sets(&self) -> impl Iterator<Item = &Key> {
        self.daemon_sets.iter().map(Observed::key)
    }

    /// Everything that needs a look when work begins.
    pub fn everything(&self) -> Vec<Changed> {
        let mut all: Vec<Changed> = Vec::new();
        all.extend(self.deployments.iter().map(|seen| Changed::Deployment(seen.key.clone())));
        all.extend(self.stateful_sets.iter().map(|seen| Changed::StatefulSet(seen.key.clone())));
        all.extend(self.daemon_sets.iter().map(|seen| Changed::DaemonSet(seen.key.clone())));
        let sets = self.replica_sets.iter();
        all.extend(sets.map(|s| Changed::ReplicaSet(s.key.clone(), None, Some(s.object.clone()))));
        let pods = self.pods.iter();
        all.extend(pods.map(|s| Changed::Pod(s.key.clone(), None, Some(s.object.clone()))));
        let nodes = self.nodes.iter();
        all.extend(nodes.map(|s| Changed::Node(s.key.clone(), None, Some(s.object.clone()))));
        all.extend(self.services.iter().map(|seen| Changed::Service(seen.key.clone())));
        all
    }

    /// When a node was last heard of: its lease was renewed, or it reported.
    pub fn heard(&self, node: &str) -> Option<Timestamp> {
        self.heard.get(node).copied()
    }

    /// Since when a node that pods are bound to is known to be missing.
    pub fn absent_since(&self, node: &str) -> Option<Timestamp> {
        self.absent.get(node).copied()
    }
}

/// See [`World::adopters`].
pub struct Adopters<'a> {
    /// Deployments.
    pub deployments: Vec<(&'a Key, &'a Arc<Deployment>)>,
    /// ReplicaSets.
    pub replica_sets: Vec<(&'a Key, &'a Arc<ReplicaSet>)>,
    /// StatefulSets.
    pub stateful_sets: Vec<(&'a Key, &'a Arc<StatefulSet>)>,
    /// DaemonSets.
    pub daemon_sets: Vec<(&'a Key, &'a Arc<DaemonSet>)>,
}
