//! The [zone](super::zone) as it is written by who follows the API and read by who answers.
//!
//! Writers hold the lock for one Service, readers for one answer. While a list comes in after a watch
//! broke, what was known before is answered; what the list lacks goes when it is complete.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError, RwLock};

use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Resource;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::zone::Zone;

/// The lists that are waited for before the first answer.
const LISTS: usize = 3;

/// See the [module](self).
#[derive(Debug)]
pub struct Book {
    zone: RwLock<Zone>,
    services: Listing<(String, String)>,
    slices: Listing<(String, String)>,
    namespaces: Listing<String>,
    /// How many of the lists came in once.
    complete: watch::Sender<usize>,
}

/// What a list that comes in has named so far.
#[derive(Debug)]
struct Listing<K> {
    named: Mutex<(HashSet<K>, bool)>,
}

impl<K> Default for Listing<K> {
    fn default() -> Self {
        Self { named: Mutex::new((HashSet::new(), false)) }
    }
}

impl<K: Hash + Eq> Listing<K> {
    fn begin(&self) {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).0.clear();
    }

    fn name(&self, key: K) {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).0.insert(key);
    }

    /// What it has named, and whether it is the first that is complete.
    fn end(&self) -> (HashSet<K>, bool) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !std::mem::replace(&mut named.1, true);
        (std::mem::take(&mut named.0), first)
    }
}

impl Book {
    /// Begins with what a zone holds.
    pub fn new(zone: Zone) -> Self {
        Self {
            zone: RwLock::new(zone),
            services: Listing::default(),
            slices: Listing::default(),
            namespaces: Listing::default(),
            complete: watch::channel(0).0,
        }
    }

    /// Looks something up.
    pub fn read<T>(&self, look: impl FnOnce(&Zone) -> T) -> T {
        look(&self.zone.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, work: impl FnOnce(&mut Zone)) {
        work(&mut self.zone.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until everything was listed once: before that, what is missing may be there.
    pub async fn complete(&self) {
        let mut lists = self.complete.subscribe();
        // The sender is ours: it cannot be gone.
        let _ = lists.wait_for(|lists| *lists >= LISTS).await;
    }

    /// What a watch of Services tells.
    pub fn hear_service(&self, event: &Event<Service>) {
        self.hear(
            &self.services,
            event,
            key,
            |zone| zone.known().0,
            |zone, (namespace, name), service| zone.set_service(namespace, name, service),
        );
    }

    /// What a watch of slices tells.
    pub fn hear_slice(&self, event: &Event<EndpointSlice>) {
        self.hear(
            &self.slices,
            event,
            key,
            |zone| zone.known().1,
            |zone, (namespace, name), slice| zone.set_slice(namespace, name, slice),
        );
    }

    /// What a watch of namespaces tells.
    pub fn hear_namespace(&self, event: &Event<Namespace>) {
        self.hear(
            &self.namespaces,
            event,
            |namespace| key(namespace).1,
            |zone| zone.namespaces().clone(),
            |zone, name, namespace| zone.set_namespace(name, namespace.is_some()),
        );
    }

    fn hear<T, K: Hash + Eq>(
        &self,
        listing: &Listing<K>,
        event: &Event<T>,
        key: impl Fn(&T) -> K,
        known: impl FnOnce(&Zone) -> HashSet<K>,
        set: impl Fn(&mut Zone, &K, Option<&T>),
    ) {
        match event {
            Event::Init => listing.begin(),
            Event::InitApply(object) => {
                let key = key(object);
                self.write(|zone| set(zone, &key, Some(object)));
                listing.name(key);
            }
            Event::InitDone => {
                let (named, first) = listing.end();
                for gone in self.read(known).difference(&named) {
                    self.write(|zone| set(zone, gone, None));
                }
                self.listed(first);
            }
            Event::Apply(object) => self.write(|zone| set(zone, &key(object), Some(object))),
            Event::Delete(object) => self.write(|zone| set(zone, &key(object), None)),
        }
    }

    fn listed(&self, first: bool) {
        if first {
            self.complete.send_modify(|lists| *lists += 1);
        }
    }
}

fn key(object: &impl Resource) -> (String, String) {
    let meta = object.meta();
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}
