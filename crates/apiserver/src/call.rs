//! One request about objects, with everything that was looked up for it.

use std::sync::Arc;

use http::HeaderMap;
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::Objects;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::identity::Identity;
use crate::meta::{self, Snapshot};
use crate::path::Target;
use crate::query::Query;
use crate::registry::{Registry, Resource, Version};
use crate::server::Inner;

/// The request and its surroundings. Lives as long as the request.
pub struct Call<'a> {
    /// The server.
    pub server: &'a Arc<Inner>,
    /// All resources, as they were when the request came in.
    pub registry: Arc<Registry>,
    /// Who asks.
    pub identity: &'a Identity,
    /// What the objects are.
    pub resource: Arc<Resource>,
    /// Index of the version the client speaks.
    pub version: usize,
    /// Which objects.
    pub target: &'a Target,
    /// Parameters.
    pub query: &'a Query,
    /// Headers.
    pub headers: &'a HeaderMap,
    /// What the user should hear although the request succeeds.
    pub warnings: Vec<String>,
}

impl Call<'_> {
    /// The version the client speaks.
    pub fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    /// Namespace of the objects; `None` for cluster-scoped kinds.
    pub fn namespace(&self) -> Option<&str> {
        self.target.namespace.as_deref().filter(|_| self.resource.namespaced)
    }

    /// The name in the path.
    pub fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// Where the object of the path is stored.
    pub fn key(&self) -> String {
        self.resource.key(self.namespace(), self.name())
    }

    /// 404 about the object of the path.
    pub fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group_resource(), self.name())
    }

    /// The other objects, as they are now.
    pub fn objects(&self) -> StoredObjects {
        StoredObjects {
            snapshot: self.server.store.snapshot(),
            registry: Arc::clone(&self.registry),
        }
    }

    /// Paths of namespaced kinds carry a namespace, those of other kinds do not.
    pub fn check_scope(&self) -> ApiResult<()> {
        let collection_of_all = self.target.name.is_none();
        match (self.resource.namespaced, &self.target.namespace) {
            (true, None) if !collection_of_all => Err(ApiError::no_such_path()),
            (false, Some(_)) => Err(ApiError::no_such_path()),
            _ => Ok(()),
        }
    }
}

/// A request of the server to itself: what a [`Call`] borrows, owned.
pub struct SystemRequest {
    target: Target,
    query: Query,
    headers: HeaderMap,
    identity: Identity,
}

impl SystemRequest {
    /// A request of one of the server's own components.
    pub fn new(component: &str, target: Target) -> Self {
        let identity = Identity::system(component);
        let query = Query { field_manager: component.to_owned(), ..Query::default() };
        Self { target, query, headers: HeaderMap::new(), identity }
    }

    /// The call, in the stored version.
    pub fn call<'a>(&'a self, server: &'a Arc<Inner>, resource: &Arc<Resource>) -> Call<'a> {
        Call {
            server,
            registry: server.registry(),
            identity: &self.identity,
            version: resource.storage,
            resource: Arc::clone(resource),
            target: &self.target,
            query: &self.query,
            headers: &self.headers,
            warnings: Vec::new(),
        }
    }
}

/// Hooks see the other objects of the store through this.
pub struct StoredObjects {
    snapshot: Snapshot,
    registry: Arc<Registry>,
}

impl Objects for StoredObjects {
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let resource = self.registry.of_kind(kind)?;
        let entry = self.snapshot.get(&resource.key(namespace, name))?;
        Some(Arc::new(meta::parse(entry)))
    }

    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let Some(resource) = self.registry.of_kind(kind) else { return Vec::new() };
        self.snapshot
            .range(&resource.prefix(namespace), None)
            .map(|entry| Arc::new(meta::parse(entry)))
            .collect()
    }
}
