//! A Kubernetes API as far as this controller needs one: revisions, preconditions, finalizers,
//! owners, and a log of what happened.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt as _;
use landbridge_api::ledger::AddressBlock;
use landbridge_api::network::{IPSet, NetConfig, Reservation};
use landbridge_controllers::mirror::Told;

/// One kind: what is there, and what happened.
pub struct Shelf<T> {
    pub objects: BTreeMap<(String, String), T>,
    pub log: Vec<Told<T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), log: Vec::new() }
    }
}

/// Why a write was refused.
#[derive(Debug, PartialEq)]
pub struct Refused;

#[derive(Default)]
pub struct Server {
    pub revision: u64,
    pub configs: Shelf<NetConfig>,
    pub ipsets: Shelf<IPSet>,
    pub records: Shelf<Reservation>,
    pub blocks: Shelf<AddressBlock>,
    pub writes: usize,
}

/// The shelf of a kind.
pub trait Kept: kube::Resource<DynamicType = ()> + Clone + PartialEq {
    fn shelf(server: &mut Server) -> &mut Shelf<Self>;
}

macro_rules! kept {
    ($($kind:ty => $field:ident),*) => {$(
        impl Kept for $kind {
            fn shelf(server: &mut Server) -> &mut Shelf<Self> {
                &mut server.$field
            }
        }
    )*};
}
kept!(NetConfig => configs, IPSet => ipsets, Reservation => records, AddressBlock => blocks);

fn key<T: kube::Resource>(object: &T) -> (String, String) {
    let meta = object.meta();
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

impl Server {
    fn next(&mut self) -> String {
        self.revision += 1;
        self.writes += 1;
        self.revision.to_string()
    }

    pub fn get<T: Kept>(&mut self, namespace: &str, name: &str) -> Option<T> {
        T::shelf(self).objects.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    pub fn create<T: Kept>(&mut self, mut object: T) -> Result<T, Refused> {
        if T::shelf(self).objects.contains_key(&key(&object)) {
            return Err(Refused);
        }
        let revision = self.next();
        let meta = object.meta_mut();
        meta.uid = Some(format!("uid-{revision}"));
        meta.resource_version = Some(revision);
        meta.generation = Some(1);
        let shelf = T::shelf(self);
        shelf.objects.insert(key(&object), object.clone());
        shelf.log.push(Told::Applied(object.clone()));
        Ok(object)
    }

    /// Changes an object; removes it when its last finalizer goes while it is being deleted.
    pub fn change<T: Kept>(
        &mut self,
        namespace: &str,
        name: &str,
        revision: Option<u64>,
        change: impl FnOnce(&mut T),
    ) -> Result<T, Refused> {
        let place = (namespace.to_owned(), name.to_owned());
        let Some(mut object) = T::shelf(self).objects.get(&place).cloned() else {
            return Err(Refused);
        };
        if revision.is_some_and(|revision| object.resource_version() != Some(revision.to_string()))
        {
            return Err(Refused);
        }
        let before = object.clone();
        change(&mut object);
        if object == before {
            return Ok(object);
        }
        object.meta_mut().resource_version = Some(self.next());
        let goes = object.meta().deletion_timestamp.is_some() && !held(object.meta());
        let shelf = T::shelf(self);
        if goes {
            shelf.objects.remove(&place);
            shelf.log.push(Told::Deleted(object.clone()));
        } else {
            shelf.objects.insert(place, object.clone());
            shelf.log.push(Told::Applied(object.clone()));
        }
        Ok(object)
    }

    pub fn delete<T: Kept>(&mut self, namespace: &str, name: &str) {
        let _ = self.change::<T>(namespace, name, None, |object| {
            object.meta_mut().deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        });
    }

    /// One round of garbage collection: Reservations whose owner is gone.
    pub fn collect(&mut self) {
        let orphans: Vec<(String, String)> = self
            .records
            .objects
            .iter()
            .filter(|(place, record)| {
                let owner = self.ipsets.objects.get(*place).and_then(IPSet::uid);
                let owners = record.owner_references();
                !owners.is_empty() && owners.iter().all(|o| Some(&o.uid) != owner.as_ref())
            })
            .map(|(place, _)| place.clone())
            .collect();
        for (namespace, name) in orphans {
            self.delete::<Reservation>(&namespace, &name);
        }
    }
}

fn held(meta: &ObjectMeta) -> bool {
    meta.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}
