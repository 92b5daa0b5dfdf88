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
        // Nodes tell of themselves every few seconds, and nothing of it matters here.
        let value = match kind {
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
            if change.before.as_ref().map(|object| &object.value) == after {
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
