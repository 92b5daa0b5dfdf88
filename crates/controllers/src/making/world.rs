//! What is known of the API: a mirror for each kind, and who belongs to whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use landbridge_machinery::object;
use serde_json::Value;

use super::kinds::Kind;
use crate::mirror::{Change, Epoch, Key, Mirror, Observed, Told};

/// ConfigMaps with this label hold names.
pub const HOSTS_LABEL: &str = "dnsmasqhosts";
/// Labels of ConfigMaps that were made for names begin so.
pub const OWNER_LABELS: &str = "dnsmasq.openstack.org/";

/// An object of any kind, by kind and place.
pub type Spot = (Kind, Key);

/// An object as it was last seen.
#[derive(Clone, Debug)]
pub struct Seen {
    key: Key,
    revision: u64,
    /// The object.
    pub object: Arc<Value>,
}

impl Seen {
    /// Takes an object in.
    pub fn new(kind: Kind, object: Value) -> Self {
        let mut object = match kind {
            Kind::Pod => slim(&object),
            Kind::ConfigMap => without_foreign_data(object),
            _ => object,
        };
        // In lists of the API they may be left out.
        if object.is_object() {
            object["apiVersion"] = kind.api_version().into();
            object["kind"] = kind.name().into();
        }
        Self {
            key: Key::new(object::namespace(&object), object::name(&object)),
            revision: object::resource_version(&object).parse().unwrap_or(0),
            object: Arc::new(object),
        }
    }
}

impl Observed for Seen {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

/// What of a pod matters here; there may be very many.
fn slim(pod: &Value) -> Value {
    let meta = &pod["metadata"];
    let status = "k8s.v1.cni.cncf.io/network-status";
    let mut slim = serde_json::json!({
        "metadata": {
            "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"], "labels": meta["labels"],
            "deletionTimestamp": meta["deletionTimestamp"],
            "annotations": {},
        },
        "status": {"phase": pod["status"]["phase"]},
    });
    if let Some(text) = meta["annotations"][status].as_str() {
        slim["metadata"]["annotations"][status] = text.into();
    }
    slim
}

/// A cluster is full of ConfigMaps, and only those about names are read here.
fn without_foreign_data(mut object: Value) -> Value {
    let is_about_names = |labels: &serde_json::Map<String, Value>| {
        labels.contains_key(HOSTS_LABEL) || labels.keys().any(|key| key.starts_with(OWNER_LABELS))
    };
    if !object["metadata"]["labels"].as_object().is_some_and(is_about_names)
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("data");
        fields.remove("binaryData");
    }
    object
}

/// What a watch tells of a kind.
#[derive(Clone, Debug)]
pub struct News {
    /// The kind.
    pub kind: Kind,
    /// What is told.
    pub told: Told<Seen>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct World {
    mirrors: BTreeMap<Kind, Mirror<Seen>>,
    /// Who has an owner reference to this uid.
    owned: HashMap<String, BTreeSet<Spot>>,
    /// Names by kind and namespace.
    names: HashMap<(Kind, Arc<str>), BTreeSet<Arc<str>>>,
}

impl World {
    /// Takes news; returns what became different, each with its owners before and after.
    pub fn tell(&mut self, news: News) -> Vec<Changed> {
        let News { kind, told } = news;
        let changes = self.mirrors.entry(kind).or_default().tell(told);
        changes.into_iter().map(|change| self.follow(kind, change)).collect()
    }

    /// Takes the answer to a write.
    pub fn learn(&mut self, kind: Kind, epoch: Epoch, object: Value) -> Option<Changed> {
        let seen = Seen::new(kind, object);
        let change = self.mirrors.entry(kind).or_default().learn(epoch, seen)?;
        Some(self.follow(kind, change))
    }

    /// To be handed to [`learn`](Self::learn).
    pub fn epoch(&self, kind: Kind) -> Epoch {
        self.mirrors.get(&kind).map(Mirror::epoch).unwrap_or_default()
    }

    /// Whether each of these kinds was listed once.
    pub fn is_complete(&self, kinds: &[Kind]) -> bool {
        kinds.iter().all(|kind| self.mirrors.get(kind).is_some_and(Mirror::is_complete))
    }

    /// An object.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.at(kind, &Key::new(namespace, name))
    }

    /// An object.
    pub fn at(&self, kind: Kind, key: &Key) -> Option<&Arc<Value>> {
        Some(&self.mirrors.get(&kind)?.get(key)?.object)
    }

    /// The objects of a kind in a namespace, by name.
    pub fn list(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Arc<Value>> {
        let names = self.names.get(&(kind, Arc::from(namespace)));
        names.into_iter().flatten().filter_map(move |name| self.get(kind, namespace, name))
    }

    /// All objects of a kind, in no particular order.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Arc<Value>> {
        self.mirrors.get(&kind).into_iter().flat_map(Mirror::iter).map(|seen| &seen.object)
    }

    /// Everything that has an owner reference to this uid, by kind and name.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = (Kind, &Arc<Value>)> {
        let spots = self.owned.get(uid);
        spots.into_iter().flatten().filter_map(|(kind, key)| Some((*kind, self.at(*kind, key)?)))
    }

    /// All objects of some kinds.
    pub fn spots(&self, is_meant: impl Fn(Kind) -> bool) -> Vec<Spot> {
        let kinds = self.mirrors.iter().filter(|(kind, _)| is_meant(**kind));
        kinds.flat_map(|(kind, all)| all.iter().map(|seen| (*kind, seen.key.clone()))).collect()
    }

    fn follow(&mut self, kind: Kind, change: Change<Seen>) -> Changed {
        let Change { key, before } = change;
        let before = before.map(|seen| seen.object);
        let after = self.at(kind, &key).cloned();
        let spot = (kind, key);
        for uid in before.iter().flat_map(|object| owners(object)) {
            if let Some(spots) = self.owned.get_mut(uid) {
                spots.remove(&spot);
                if spots.is_empty() {
                    self.owned.remove(uid);
                }
            }
        }
        for uid in after.iter().flat_map(|object| owners(object)) {
            self.owned.entry(uid.to_owned()).or_default().insert(spot.clone());
        }
        let names = self.names.entry((kind, spot.1.namespace.clone())).or_default();
        if after.is_some() {
            names.insert(spot.1.name.clone());
        } else {
            names.remove(&spot.1.name);
        }
        Changed { spot, before, after }
    }
}

/// What became different.
#[derive(Debug)]
pub struct Changed {
    /// Where.
    pub spot: Spot,
    /// What was there.
    pub before: Option<Arc<Value>>,
    /// What is there.
    pub after: Option<Arc<Value>>,
}

/// The uids of the owners of an object.
pub fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object::owner_references(object).iter().filter_map(|owner| owner["uid"].as_str())
}

/// The owner that looks after the object.
pub fn controller(object: &Value) -> Option<&Value> {
    object::owner_references(object).iter().find(|owner| owner["controller"] == true)
}
