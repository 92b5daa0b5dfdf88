//! What each subnet has left, and who waits for it.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_addr::Pool;

use crate::ipam::ledger::{Ledger, Place};
use crate::ipam::networks::{self, Networks};
use crate::mirror::Key;

/// A subnet: namespace, and place in its NetConfig.
pub(super) type SubnetId = (Arc<str>, (usize, usize));

/// The pool of one subnet, and who waits for an address of it, oldest first.
#[derive(Debug)]
struct Source {
    pool: Pool,
    segment: Arc<str>,
    waiting: BTreeSet<(i64, Key)>,
}

/// What somebody waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Any address of a subnet; since when the request is there.
    Pool(SubnetId, i64),
    /// One address in particular.
    Address(Place),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Supply {
    sources: HashMap<SubnetId, Source>,
    on_segment: HashMap<Arc<str>, Vec<SubnetId>>,
    /// Who waits for one address in particular.
    awaited: HashMap<Place, BTreeSet<Key>>,
    /// What everybody waits for, so that it can be struck off.
    waits: HashMap<Key, Vec<Wait>>,
}

impl Supply {
    /// Replaces the subnets of a namespace. Whoever waited there has to be looked at again.
    pub fn replace(&mut self, namespace: &Arc<str>, with: Option<&Networks>, ledger: &Ledger) {
        self.sources.retain(|(place, _), _| place != namespace);
        for subnets in self.on_segment.values_mut() {
            subnets.retain(|(place, _)| place != namespace);
        }
        self.on_segment.retain(|_, subnets| !subnets.is_empty());
        for (index, site, subnet) in with.into_iter().flat_map(Networks::sites) {
            let pool = networks::pool(site, subnet, ledger.held_on(&site.segment));
            let id = (namespace.clone(), index);
            self.on_segment.entry(site.segment.clone()).or_default().push(id.clone());
            let segment = site.segment.clone();
            self.sources.insert(id, Source { pool, segment, waiting: BTreeSet::new() });
        }
    }

    /// The address to hand out next.
    pub fn lowest(&self, subnet: &SubnetId) -> Option<IpAddr> {
        self.sources.get(subnet)?.pool.lowest()
    }

    /// An address is held now.
    pub fn take(&mut self, place: &Place) {
        for id in self.on_segment.get(&place.segment).into_iter().flatten() {
            if let Some(source) = self.sources.get_mut(id) {
                source.pool.take(place.address);
            }
        }
    }

    /// An address is free again: who waited for just this one.
    pub fn release(&mut self, place: &Place) -> impl Iterator<Item = &Key> {
        for id in self.on_segment.get(&place.segment).into_iter().flatten() {
            if let Some(source) = self.sources.get_mut(id) {
                source.pool.release(place.address);
            }
        }
        self.awaited.get(place).into_iter().flatten()
    }

    /// As many of those who wait for any address as there are addresses, oldest first.
    pub fn served_next(&self) -> impl Iterator<Item = &Key> {
        self.sources.values().filter(|source| !source.waiting.is_empty()).flat_map(|source| {
            let free = usize::try_from(source.pool.free()).unwrap_or(usize::MAX);
            source.waiting.iter().take(free).map(|(_, key)| key)
        })
    }

    /// Somebody has to wait.
    pub fn wait(&mut self, key: &Key, wait: Wait) {
        match &wait {
            Wait::Pool(id, created) => {
                if let Some(source) = self.sources.get_mut(id) {
                    source.waiting.insert((*created, key.clone()));
                }
            }
            Wait::Address(place) => {
                self.awaited.entry(place.clone()).or_default().insert(key.clone());
            }
        }
        self.waits.entry(key.clone()).or_default().push(wait);
    }

    /// Somebody waits no longer.
    pub fn stop_waiting(&mut self, key: &Key) {
        for wait in self.waits.remove(key).unwrap_or_default() {
            match wait {
                Wait::Pool(id, created) => {
                    if let Some(source) = self.sources.get_mut(&id) {
                        source.waiting.remove(&(created, key.clone()));
                    }
                }
                Wait::Address(place) => {
                    if let Some(keys) = self.awaited.get_mut(&place) {
                        keys.remove(key);
                        if keys.is_empty() {
                            self.awaited.remove(&place);
                        }
                    }
                }
            }
        }
    }

    /// How many addresses a subnet has left, in words.
    pub fn left(&self, subnet: &SubnetId) -> String {
        let Some(source) = self.sources.get(subnet) else { return "no addresses".to_owned() };
        let (free, all) = (source.pool.free(), source.pool.capacity());
        format!("{free} of {all} addresses of its ranges on {} are left", source.segment)
    }
}
