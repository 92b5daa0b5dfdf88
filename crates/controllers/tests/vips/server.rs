//! A Kubernetes API as far as this controller needs one: revisions, preconditions, and a log of what
//! happened.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::ResourceExt as _;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_api::ledger::AddressBlock;
use landbridge_controllers::mirror::Told;
use landbridge_plan::Site;

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
    pub services: Shelf<Service>,
    pub pools: Shelf<IPAddressPool>,
    pub namespaces: Shelf<Namespace>,
    pub blocks: Shelf<AddressBlock>,
    pub sites: BTreeMap<String, Vec<Site>>,
    /// What was said about the configuration last.
    #[allow(clippy::option_option, reason = "nothing said, and nothing wrong, are two things")]
    pub configuration: Option<Option<String>>,
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
kept!(Service => services, IPAddressPool => pools, Namespace => namespaces, AddressBlock => blocks);

pub fn key<T: kube::Resource>(object: &T) -> (String, String) {
    let meta = object.meta();
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

impl Server {
    fn next(&mut self) -> String {
        self.revision += 1;
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
        let shelf = T::shelf(self);
        shelf.objects.insert(key(&object), object.clone());
        shelf.log.push(Told::Applied(object.clone()));
        Ok(object)
    }

    /// Changes an object, if it is in that revision.
    pub fn change<T: Kept>(
        &mut self,
        namespace: &str,
        name: &str,
        revision: Option<u64>,
        change: impl FnOnce(&mut T),
    ) -> Result<T, Refused> {
        let place = (namespace.to_owned(), name.to_owned());
        let mut object = T::shelf(self).objects.get(&place).cloned().ok_or(Refused)?;
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
        let shelf = T::shelf(self);
        shelf.objects.insert(place, object.clone());
        shelf.log.push(Told::Applied(object.clone()));
        Ok(object)
    }

    pub fn delete<T: Kept>(&mut self, namespace: &str, name: &str) -> Option<T> {
        let place = (namespace.to_owned(), name.to_owned());
        let mut object = T::shelf(self).objects.remove(&place)?;
        object.meta_mut().resource_version = Some(self.next());
        T::shelf(self).log.push(Told::Deleted(object.clone()));
        Some(object)
    }
}
