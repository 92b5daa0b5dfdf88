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
        let set = |service: &Service, there: bool| {
            let (namespace, name) = key(service);
            self.write(|zone| zone.set_service(&namespace, &name, there.then_some(service)));
        };
        match event {
            Event::Init => self.services.begin(),
            Event::InitApply(service) => {
                self.services.name(key(service));
                set(service, true);
            }
            Event::InitDone => {
                let (named, first) = self.services.end();
                let known = self.read(|zone| zone.known().0);
                for (namespace, name) in known.difference(&named) {
                    self.write(|zone| zone.set_service(namespace, name, None));
                }
                self.listed(first);
            }
            Event::Apply(service) => set(service, true),
            Event::Delete(service) => set(service, false),
        }
    }

    /// What a watch of slices tells.
    pub fn hear_slice(&self, event: &Event<EndpointSlice>) {
        let set = |slice: &EndpointSlice, there: bool| {
            let (namespace, name) = key(slice);
            self.write(|zone| zone.set_slice(&namespace, &name, there.then_some(slice)));
        };
        match event {
            Event::Init => self.slices.begin(),
            Event::InitApply(slice) => {
                self.slices.name(key(slice));
                set(slice, true);
            }
            Event::InitDone => {
                let (named, first) = self.slices.end();
                let known = self.read(|zone| zone.known().1);
                for (namespace, name) in known.difference(&named) {
                    self.write(|zone| zone.set_slice(namespace, name, None));
                }
                self.listed(first);
            }
            Event::Apply(slice) => set(slice, true),
            Event::Delete(slice) => set(slice, false),
        }
    }

    /// What a watch of namespaces tells.
    pub fn hear_namespace(&self, event: &Event<Namespace>) {
        let set = |name: &str, there: bool| self.write(|zone| zone.set_namespace(name, there));
        match event {
            Event::Init => self.namespaces.begin(),
            Event::InitApply(namespace) => {
                let (_, name) = key(namespace);
                set(&name, true);
                self.namespaces.name(name);
            }
            Event::InitDone => {
                let (named, first) = self.namespaces.end();
                let known = self.read(|zone| zone.namespaces().clone());
                for name in known.difference(&named) {
                    set(name, false);
                }
                self.listed(first);
            }
            Event::Apply(namespace) => set(&key(namespace).1, true),
            Event::Delete(namespace) => set(&key(namespace).1, false),
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
