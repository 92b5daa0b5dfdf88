//! What one object declares for Keystone, and what it has claimed there.

use std::collections::BTreeMap;

use landbridge_machinery::object;
use serde_json::Value;

use crate::mirror::{Key, Observed};

/// Keeps an object until what was made of it is gone from Keystone.
pub const FINALIZER: &str = "landbridge.dev/keystone";

/// The two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// KeystoneService.
    Service,
    /// KeystoneEndpoint.
    Endpoint,
}

impl Kind {
    /// Both of them: services come first.
    pub const ALL: [Self; 2] = [Self::Service, Self::Endpoint];

    /// Kind and plural.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Service => ("KeystoneService", "keystoneservices"),
            Self::Endpoint => ("KeystoneEndpoint", "keystoneendpoints"),
        }
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Which kind.
    pub kind: Kind,
    /// Where it stands.
    pub key: Key,
    /// The object.
    pub object: Value,
}

/// What a KeystoneService declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared<'r> {
    /// For example glance.
    pub name: &'r str,
    /// For example image.
    pub type_: &'r str,
    /// For people.
    pub description: &'r str,
    /// Whether it is offered.
    pub enabled: bool,
}

impl Record {
    /// An object of a kind.
    pub fn new(kind: Kind, object: Value) -> Self {
        let key = Key::new(object::namespace(&object), object::name(&object));
        Self { kind, key, object }
    }

    /// Its identity.
    pub fn uid(&self) -> &str {
        object::uid(&self.object)
    }

    /// Whether it is to go.
    pub fn is_leaving(&self) -> bool {
        object::is_terminating(&self.object)
    }

    /// Whether it waits for us before it goes.
    pub fn is_held(&self) -> bool {
        self.finalizers().any(|name| name == FINALIZER)
    }

    /// Everybody it waits for before it goes.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let list = self.object["metadata"]["finalizers"].as_array();
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Of two that declare the same, the older one counts.
    pub fn age(&self) -> (&str, &Key) {
        (self.object["metadata"]["creationTimestamp"].as_str().unwrap_or_default(), &self.key)
    }

    fn spec(&self, field: &str) -> &str {
        self.object["spec"][field].as_str().unwrap_or_default()
    }

    /// What a KeystoneService declares.
    pub fn declared(&self) -> Declared<'_> {
        Declared {
            name: self.spec("serviceName"),
            type_: self.spec("serviceType"),
            description: self.spec("serviceDescription"),
            enabled: self.object["spec"]["enabled"].as_bool().unwrap_or(true),
        }
    }

    /// The service a KeystoneEndpoint is about.
    pub fn service_name(&self) -> &str {
        self.spec("serviceName")
    }

    /// The URLs a KeystoneEndpoint declares, by interface.
    pub fn urls(&self) -> BTreeMap<&str, &str> {
        let fields = self.object["spec"]["endpoints"].as_object();
        let pairs = fields.into_iter().flatten();
        pairs.filter_map(|(name, url)| Some((name.as_str(), url.as_str()?))).collect()
    }

    /// The service that was claimed: its id, or an empty text while it is not known yet.
    pub fn service_claim(&self) -> Option<&str> {
        self.object["status"]["serviceID"].as_str()
    }

    /// The endpoints that were claimed, by interface: ids, or empty texts.
    pub fn endpoint_claims(&self) -> BTreeMap<&str, &str> {
        let fields = self.object["status"]["endpointIDs"].as_object();
        let pairs = fields.into_iter().flatten();
        pairs.filter_map(|(name, id)| Some((name.as_str(), id.as_str()?))).collect()
    }
}

impl Observed for Record {
    fn key(&self) -> &Key {
        &self.key
    }

    fn revision(&self) -> u64 {
        object::resource_version(&self.object).parse().unwrap_or(0)
    }
}
