//! Every resource the server knows, as data: one entry per kind, one handler for all of them.
//!
//! Built-in kinds are entries made at start; each established CRD adds one. A [`Registry`] is
//! immutable: a change of CRDs makes a new one and swaps it in, so a request sees one registry from
//! beginning to end.

use std::collections::BTreeMap;
use std::sync::Arc;

use landbridge_cel::CompiledRules;
use landbridge_machinery::gvk::{GroupKind, GroupResource, GroupVersionKind, api_version};
use landbridge_machinery::hooks::Hooks;
use landbridge_machinery::names::NameRule;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::table::Columns;
use serde_json::Value;

/// The core group in keys, where an empty segment would be hard to read.
pub const CORE: &str = "core";

/// What makes one kind differ from another beyond its schema.
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// How names are judged.
    pub names: NameRule,
    /// `metadata.generation` is kept (kinds with a spec).
    pub generation: bool,
    /// PUT of an object that is not there creates it.
    pub create_on_update: bool,
    /// PUT without a resourceVersion overwrites; otherwise it is refused.
    pub unconditional_update: bool,
    /// Required fields and limits of the schema are enforced with upstream's CRD wording.
    /// Built-in kinds are decoded leniently, as Go does, and judged by their own rules.
    pub enforce_schema: bool,
    /// Only `create` is served and nothing is stored (reviews).
    pub virtual_only: bool,
    /// Somebody has to end what the object stands for, and gets time for it: pods.
    pub graceful: bool,
    /// The status endpoint takes labels, annotations and finalizers as well.
    pub status_with_metadata: bool,
}

impl Strategy {
    /// How custom resources behave.
    pub const CUSTOM: Self = Self {
        names: NameRule::Subdomain,
        generation: true,
        create_on_update: false,
        unconditional_update: false,
        enforce_schema: true,
        virtual_only: false,
        graceful: false,
        status_with_metadata: false,
    };

    /// How most built-in kinds behave.
    pub const BUILT_IN: Self = Self {
        names: NameRule::Subdomain,
        generation: false,
        create_on_update: false,
        unconditional_update: true,
        enforce_schema: false,
        virtual_only: false,
        graceful: false,
        status_with_metadata: false,
    };
}

/// One version of a resource.
pub struct Version {
    /// For example `v1beta1`.
    pub name: String,
    /// Whether clients may use it.
    pub served: bool,
    /// Compiled schema: validation, pruning, defaults, merge strategies.
    pub schema: Arc<Schema>,
    /// The CEL rules of the schema, where a CRD has some.
    pub rules: Option<Arc<CompiledRules>>,
    /// OpenAPI v3 schemas of this version: the name of the root definition, and all definitions it
    /// refers to by `#/components/schemas/NAME`. Made on first use: built-in kinds have large ones.
    pub openapi: Arc<dyn Fn() -> OpenApiSchemas + Send + Sync>,
    /// `status` subresource.
    pub status: bool,
    /// `scale` subresource: specReplicasPath, statusReplicasPath, labelSelectorPath.
    pub scale: Option<ScalePaths>,
    /// Columns of `kubectl get`.
    pub columns: Columns,
    /// Fields that field selectors may name, beside metadata.name and metadata.namespace.
    pub selectable: Vec<String>,
    /// Warning sent to users of a deprecated version.
    pub deprecation: Option<String>,
}

/// Definitions for the OpenAPI document of a group version.
pub struct OpenApiSchemas {
    /// Name of the definition of the kind itself, for example `io.k8s.api.core.v1.ConfigMap`.
    pub root: String,
    /// All definitions, by name.
    pub definitions: BTreeMap<String, Value>,
}

/// Where the scale subresource finds its numbers, as dotted paths (`.spec.replicas`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Replicas wanted.
    pub spec_replicas: String,
    /// Replicas there are.
    pub status_replicas: String,
    /// Serialised label selector; optional.
    pub label_selector: Option<String>,
}

/// One resource: everything the generic handler needs to serve it.
pub struct Resource {
    /// API group; empty for core.
    pub group: String,
    /// Plural in paths.
    pub plural: String,
    /// Singular, for kubectl.
    pub singular: String,
    /// Kind.
    pub kind: String,
    /// Kind of its lists.
    pub list_kind: String,
    /// For example `cm`.
    pub short_names: Vec<String>,
    /// For example `all`.
    pub categories: Vec<String>,
    /// Objects live in namespaces.
    pub namespaced: bool,
    /// All versions, the preferred one first.
    pub versions: Vec<Version>,
    /// Index of the version objects are stored in.
    pub storage: usize,
    /// Behaviour beyond the schema.
    pub strategy: Strategy,
    /// Rules the kind brings.
    pub hooks: Arc<dyn Hooks>,
    /// uid of the CRD that defines it; `None` for built-in kinds.
    pub crd_uid: Option<String>,
    /// Generation of that CRD the resource was made from.
    pub crd_generation: i64,
    /// Another name objects are stored under: events of both groups are one store.
    pub storage_prefix: String,
    /// The CRD is being deleted: instances go, new ones are refused.
    pub terminating: bool,
    /// Objects written at this revision or later went through the current schema, so their bytes
    /// can be served as they are; older ones may lack defaults that were added since.
    pub schema_revision: u64,
}

impl Resource {
    /// For messages and keys.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.plural)
    }

    /// The kind without version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// The kind in one version.
    pub fn gvk(&self, version: &str) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, version, &self.kind)
    }

    /// `apiVersion` of one version.
    pub fn api_version(&self, version: &str) -> String {
        api_version(&self.group, version)
    }

    /// A served version by name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.served && v.name == name)
    }

    /// The version objects are stored in.
    pub fn storage_version(&self) -> &Version {
        &self.versions[self.storage]
    }

    /// Where the objects of this resource stand in the store.
    pub fn key(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}{name}", self.prefix(namespace))
    }

    /// Common beginning of the keys of all objects, or of all in one namespace.
    pub fn prefix(&self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) if self.namespaced => format!("{}{namespace}/", self.storage_prefix),
            _ => self.storage_prefix.clone(),
        }
    }
}

/// All resources at one moment.
#[derive(Default)]
pub struct Registry {
    by_resource: BTreeMap<(String, String), Arc<Resource>>,
}

impl Registry {
    /// A registry of these resources; a later one replaces an earlier one of the same name.
    pub fn new(resources: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let by_resource =
            resources.into_iter().map(|r| ((r.group.clone(), r.plural.clone()), r)).collect();
        Self { by_resource }
    }

    /// The resource at a path.
    pub fn get(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_resource.get(&(group.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind.
    pub fn of_kind(&self, kind: &GroupKind) -> Option<&Arc<Resource>> {
        self.all().find(|r| r.group == kind.group && r.kind == kind.kind)
    }

    /// The resource whose objects are stored under such a key.
    pub fn of_key(&self, key: &str) -> Option<&Arc<Resource>> {
        let mut parts = key.split('/').skip(1);
        let (group, plural) = (parts.next()?, parts.next()?);
        self.get(if group == CORE { "" } else { group }, plural)
    }

    /// All resources, ordered by group and plural.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_resource.values()
    }
}
