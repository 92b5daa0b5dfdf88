//! OpenAPI v3: one document per group version, and an index of them.
//!
//! kubectl needs these documents, not just people: `explain` finds the kind of a path by the
//! `x-kubernetes-group-version-kind` of its operations and walks the schemas; `create`, `apply` and
//! `replace` look for a PATCH operation with a `fieldValidation` parameter and leave validation to
//! the server when they find it; `apply` takes merge keys from the schemas of kinds whose PATCH
//! accepts a strategic merge patch.
//!
//! ```text
//! Registry ──group_versions──▶ document ──bytes──▶ content hash ──▶ index
//!                              paths   components.schemas (only what is referred to)
//! ```
//!
//! Documents are made on first use and kept by [`Documents`]; when CRDs change,
//! [`Documents::successor`] takes over those whose resources stayed the same.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::builtin;
use crate::discovery::{group_versions, resources_of};
use crate::registry::{OpenApiSchemas, Registry, Resource};

mod operations;
mod paths;
mod schemas;
pub mod v2;

pub use schemas::crd_schemas;

/// Definitions shared by all documents (ObjectMeta, ListMeta, Status, …), by name.
pub type MetaDefinitions = BTreeMap<String, Value>;

/// Makes them: they are too large to be kept for the rare reader.
pub type MakeMeta = fn() -> MetaDefinitions;

/// One document as it goes over the wire.
#[derive(Debug)]
pub struct Document {
    /// JSON.
    pub bytes: Vec<u8>,
    /// [`content_hash`] of the bytes, 32 hexadecimal digits: `?hash=` and `ETag`.
    pub hash: String,
}

/// All documents of one registry, each made when first asked for.
pub struct Documents {
    meta: MakeMeta,
    entries: BTreeMap<(String, String), Entry>,
}

/// The resources a document is made of, and the document once it is made.
#[derive(Clone)]
struct Entry {
    resources: Vec<Arc<Resource>>,
    document: Arc<OnceLock<Document>>,
}

impl Entry {
    /// Whether both are made of the very same resources.
    fn same(&self, other: &Self) -> bool {
        self.resources.len() == other.resources.len()
            && self.resources.iter().zip(&other.resources).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

impl Documents {
    /// Documents of a registry; none is made yet.
    pub fn new(registry: &Registry, meta: MakeMeta) -> Self {
        let entries = group_versions(registry)
            .into_iter()
            .map(|(group, version)| {
                let resources =
                    resources_of(registry, &group, &version).map(|(r, _)| r.clone()).collect();
                ((group, version), Entry { resources, document: Arc::default() })
            })
            .collect();
        Self { meta, entries }
    }

    /// Documents of the registry that follows; unchanged ones are taken over.
    #[must_use]
    pub fn successor(&self, registry: &Registry) -> Self {
        let mut next = Self::new(registry, self.meta);
        for (key, entry) in &mut next.entries {
            if let Some(known) = self.entries.get(key).filter(|known| known.same(entry)) {
                *entry = known.clone();
            }
        }
        next
    }

    /// The document of a group version; `None` when it is not served.
    pub fn get(&self, group: &str, version: &str) -> Option<&Document> {
        let entry = self.entries.get(&(group.to_owned(), version.to_owned()))?;
        Some(entry.document.get_or_init(|| {
            let _kept = builtin::schemas::definitions();
            let value = assemble(&entry.resources, version, &(self.meta)());
            let bytes = value.to_string().into_bytes();
            let hash = format!("{:032x}", content_hash(&bytes));
            Document { bytes, hash }
        }))
    }

    /// `/openapi/v3`. Makes every document that is not there yet: the index names their hashes.
    pub fn index(&self) -> Value {
        let _kept = builtin::schemas::definitions();
        let mut paths = Map::new();
        for (group, version) in self.entries.keys() {
            let Some(document) = self.get(group, version) else { continue };
            let path = path_of(group, version);
            let url = format!("/openapi/v3/{path}?hash={}", document.hash);
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
        json!({"paths": paths})
    }
}

/// The document of one group version; `None` when it is not served.
#[cfg(test)]
pub fn document(
    registry: &Registry,
    group: &str,
    version: &str,
    meta: &MetaDefinitions,
) -> Option<Value> {
    let resources: Vec<_> =
        resources_of(registry, group, version).map(|(r, _)| r.clone()).collect();
    (!resources.is_empty()).then(|| assemble(&resources, version, meta))
}

/// `api/v1` or `apis/GROUP/VERSION`: the last part of the URL of a document.
pub fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// A stable hash of any bytes (FNV-1a, 128 bits): the same on every machine and after every
/// restart. It notices change; it does not withstand an attacker.
pub fn content_hash(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

fn assemble(resources: &[Arc<Resource>], version: &str, meta: &MetaDefinitions) -> Value {
    let mut paths = Map::new();
    let mut own = BTreeMap::new();
    for resource in resources {
        let Some(version) = resource.version(version) else { continue };
        let OpenApiSchemas { root, definitions } = (version.openapi)();
        let kind = schemas::KindNames::new(resource, &version.name, root);
        own.extend(definitions);
        schemas::add_kind(&mut own, &kind, resource, &version.name);
        paths::add(&mut paths, resource, version, &kind);
    }
    let schemas = schemas::reachable(&paths, own, meta);
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Landbridge", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "BearerToken": {
                    "description": "Bearer Token authentication",
                    "type": "apiKey",
                    "name": "authorization",
                    "in": "header",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests;
