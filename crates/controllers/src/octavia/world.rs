//! What is known of Kubernetes: Octavias, and what each of them looks at.

use std::sync::Arc;

use landbridge_machinery::object;
use landbridge_plan::octavia::predictable::MAP;
use serde_json::{Value, json};

use super::assess::{Around, attachment_of};
use crate::mirror::{Key, Mirror, Observed, Told};

/// A kind that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Octavias.
    Octavia,
    /// Attachments.
    Attachment,
    /// Nodes.
    Node,
    /// Records of addresses.
    Map,
    /// Pods.
    Pod,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Octavia, Self::Attachment, Self::Node, Self::Map, Self::Pod];

    /// Group, version, kind, name in URLs.
    pub fn resource(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Octavia => ("octavia.openstack.org", "v1beta1", "Octavia", "octavias"),
            Self::Attachment => (
                "k8s.cni.cncf.io",
                "v1",
                "NetworkAttachmentDefinition",
                "network-attachment-definitions",
            ),
            Self::Node => ("", "v1", "Node", "nodes"),
            Self::Map => ("", "v1", "ConfigMap", "configmaps"),
            Self::Pod => ("", "v1", "Pod", "pods"),
        }
    }

    /// What of all of them is asked for: a selector of fields, and one of labels.
    pub fn selectors(self) -> (Option<String>, Option<&'static str>) {
        match self {
            Self::Map => (Some(format!("metadata.name={MAP}")), None),
            Self::Pod => (None, Some("service=octavia")),
            _ => (None, None),
        }
    }
}

/// An object as it was last seen.
#[derive(Clone, Debug)]
pub struct Object {
    key: Key,
    revision: u64,
    /// The object.
    pub value: Arc<Value>,
}

impl Object {
    /// Takes an object in.
    pub fn new(kind: Kind, value: Value) -> Self {
        let key = Key::new(object::namespace(&value), object::name(&value));
        let revision = object::resource_version(&value).parse().unwrap_or(0);
        // Nodes and pods tell of themselves every few seconds, and nothing of it matters here.
        let value = match kind {
            Kind::Pod => {
                let mut meta = value["metadata"].clone();
                for (field, own) in meta.as_object_mut().into_iter().flatten() {
                    if !matches!(
                        field.as_str(),
                        "name" | "namespace" | "uid" | "labels" | "deletionTimestamp"
                    ) {
                        own.take();
                    }
                }
                json!({"metadata": meta, "spec": {"nodeName": value["spec"]["nodeName"]}})
            }
            Kind::Node => {
                let meta = &value["metadata"];
                json!({"metadata": {"name": meta["name"], "labels": meta["labels"]}})
            }
            _ => value,
        };
        Self { key, revision, value: Arc::new(value) }
    }
}

impl Observed for Object {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct World {
    octavias: Mirror<Object>,
    attachments: Mirror<Object>,
    nodes: Mirror<Object>,
    maps: Mirror<Object>,
    pods: Mirror<Object>,
}

impl World {
    /// Takes news; returns the Octavias that are concerned.
    pub fn tell(&mut self, kind: Kind, told: Told<Object>) -> Vec<Key> {
        let mirror = match kind {
            Kind::Octavia => &mut self.octavias,
            Kind::Attachment => &mut self.attachments,
            Kind::Node => &mut self.nodes,
            Kind::Map => &mut self.maps,
            Kind::Pod => &mut self.pods,
        };
        let was_complete = mirror.is_complete();
        let changes = mirror.tell(told);
        let mut concerned: Vec<Key> = Vec::new();
        for change in changes {
            let after = self.value(kind, &change.key);
            let before = change.before.as_ref().map(|object| &object.value);
            if is_same(kind, before.map(|value| &**value), after.map(|value| &**value)) {
                continue;
            }
            match kind {
                Kind::Octavia => concerned.push(change.key),
                Kind::Node => concerned.extend(self.all().map(|(key, _)| key)),
                Kind::Attachment => {
                    let named = |(key, value): &(Key, &Arc<Value>)| {
                        key.namespace == change.key.namespace
                            && *attachment_of(value) == *change.key.name
                    };
                    concerned.extend(self.all().filter(named).map(|(key, _)| key));
                }
                Kind::Map | Kind::Pod => {
                    let beside =
                        self.all().filter(|(key, _)| key.namespace == change.key.namespace);
                    concerned.extend(beside.map(|(key, _)| key));
                }
            }
        }
        if !was_complete && self.is_complete() {
            concerned.extend(self.all().map(|(key, _)| key));
        }
        concerned
    }

    fn value(&self, kind: Kind, key: &Key) -> Option<&Arc<Value>> {
        let mirror = match kind {
            Kind::Octavia => &self.octavias,
            Kind::Attachment => &self.attachments,
            Kind::Node => &self.nodes,
            Kind::Map => &self.maps,
            Kind::Pod => &self.pods,
        };
        mirror.get(key).map(|object| &object.value)
    }

    fn all(&self) -> impl Iterator<Item = (Key, &Arc<Value>)> {
        self.octavias.iter().map(|object| (object.key.clone(), &object.value))
    }

    /// Whether everything was listed once. Before, nobody can say what is missing.
    pub fn is_complete(&self) -> bool {
        [&self.octavias, &self.attachments, &self.nodes, &self.maps, &self.pods]
            .iter()
            .all(|mirror| mirror.is_complete())
    }

    /// An Octavia.
    pub fn octavia(&self, key: &Key) -> Option<&Arc<Value>> {
        self.value(Kind::Octavia, key)
    }

    /// What concerns an Octavia.
    pub fn around(&self, key: &Key, octavia: &Value) -> Around<'_> {
        let here = |name: &str| Key::new(&key.namespace, name);
        let attachment = self.value(Kind::Attachment, &here(attachment_of(octavia)));
        let mut nodes: Vec<&Value> = self.nodes.iter().map(|node| &*node.value).collect();
        nodes.sort_by_key(|node| object::name(node));
        let pods = self.pods.iter().filter(|pod| pod.key.namespace == key.namespace);
        Around {
            attachment: attachment.map(|nad| &**nad).filter(|nad| !object::is_terminating(nad)),
            nodes,
            map: self.value(Kind::Map, &here(MAP)).map(|map| &**map),
            pods: pods.map(|pod| &*pod.value).collect(),
        }
    }
}

/// Whether nothing changed that anything follows from. Two controllers write the status of an Octavia, and one of them is
/// this: what it says is not news to itself.
fn is_same(kind: Kind, before: Option<&Value>, after: Option<&Value>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return before.is_none() && after.is_none();
    };
    if kind != Kind::Octavia {
        return before == after;
    }
    let wanted = ["uid", "annotations", "finalizers", "deletionTimestamp"];
    before["spec"] == after["spec"]
        && wanted.iter().all(|field| before["metadata"][field] == after["metadata"][field])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(world: &mut World, kind: Kind, value: Value) -> usize {
        world.tell(kind, Told::Applied(Object::new(kind, value))).len()
    }

    #[test]
    fn what_controllers_say_themselves_is_no_news() {
        let mut world = World::default();
        for kind in Kind::ALL {
            world.tell(kind, Told::Restart);
            world.tell(kind, Told::Complete);
        }
        let octavia = |revision: u64, spec: Value, status: &str| {
            json!({"metadata": {"name": "o", "namespace": "n", "uid": "u", "resourceVersion": revision.to_string()},
                "spec": spec, "status": {"conditions": [status]}})
        };
        assert_eq!(told(&mut world, Kind::Octavia, octavia(1, json!({}), "a")), 1);
        assert_eq!(
            told(&mut world, Kind::Octavia, octavia(2, json!({}), "b")),
            0,
            "only the status"
        );
        assert_eq!(told(&mut world, Kind::Octavia, octavia(3, json!({"x": 1}), "b")), 1);
        // The newest is known all the same: writes name its revision.
        let key = Key::new("n", "o");
        told(&mut world, Kind::Octavia, octavia(4, json!({"x": 1}), "c"));
        assert_eq!(object::resource_version(world.octavia(&key).unwrap()), "4");
        let pod = |revision: u64, node: &str, label: &str, phase: &str| {
            json!({"metadata": {"name": "p", "namespace": "n", "resourceVersion": revision.to_string(), "labels": {"l": label}},
                "spec": {"nodeName": node}, "status": {"phase": phase}})
        };
        assert_eq!(told(&mut world, Kind::Pod, pod(5, "", "a", "Pending")), 1);
        assert_eq!(told(&mut world, Kind::Pod, pod(6, "w", "a", "Pending")), 1);
        assert_eq!(told(&mut world, Kind::Pod, pod(7, "w", "a", "Running")), 0, "only its status");
        assert_eq!(told(&mut world, Kind::Pod, pod(8, "w", "b", "Running")), 1);
    }
}
