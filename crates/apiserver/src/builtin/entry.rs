//! One built-in kind as a row of a table, and how it becomes a [`Resource`].

use std::sync::Arc;

use landbridge_machinery::names::NameRule;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::table::Columns;

use super::columns;
use super::hooks::{KindHooks, Rules};
use super::schemas::{self, Shapes};
use crate::registry::{Resource, ScalePaths, Strategy, Version};

/// Everything that differs between built-in kinds. All are served in one version, `v1`.
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
pub(super) struct Entry {
    pub group: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    /// Definition of the kind, shortened as in [`schemas::full_name`].
    pub definition: &'static str,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub namespaced: bool,
    pub names: NameRule,
    pub generation: bool,
    pub create_on_update: bool,
    pub unconditional_update: bool,
    pub status: bool,
    pub scale: bool,
    pub selectable: &'static [&'static str],
    /// Group whose store holds the objects, when it is not the own one.
    pub stored_in: Option<&'static str>,
    /// Definition of the stored form, when it is another one.
    pub stored_definition: Option<&'static str>,
    pub rules: Rules,
    /// Only `create` is served and nothing is stored.
    pub virtual_only: bool,
    /// Deleted with a grace period.
    pub graceful: bool,
    /// The status endpoint takes some metadata as well.
    pub status_with_metadata: bool,
}

/// What most kinds have in common: in namespaces, no subresources, no rules.
pub(super) const NAMESPACED: Entry = Entry {
    group: "",
    kind: "",
    plural: "",
    definition: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    names: NameRule::Subdomain,
    generation: false,
    create_on_update: false,
    unconditional_update: true,
    status: false,
    scale: false,
    selectable: &[],
    stored_in: None,
    stored_definition: None,
    rules: Rules::NONE,
    virtual_only: false,
    graceful: false,
    status_with_metadata: false,
};

/// As [`NAMESPACED`], for the whole cluster.
pub(super) const CLUSTER: Entry = Entry { namespaced: false, ..NAMESPACED };

/// Category of the kinds `kubectl get all` shows.
pub(super) const ALL: &[&str] = &["all"];

impl Entry {
    /// The entry of the registry. Schemas come from the shared definitions.
    pub fn resource(&self, shapes: &Shapes) -> Resource {
        let root = schemas::full_name(self.definition);
        let version = self.version(&root, shapes);
        let stored = schemas::full_name(self.stored_definition.unwrap_or(self.definition));
        let schema =
            if stored == root { Arc::clone(&version.schema) } else { compiled(&stored, shapes) };
        Resource {
            group: self.group.into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: owned(self.short_names),
            categories: owned(self.categories),
            namespaced: self.namespaced,
            versions: vec![version],
            storage: 0,
            strategy: Strategy {
                names: self.names,
                generation: self.generation,
                create_on_update: self.create_on_update,
                unconditional_update: self.unconditional_update,
                virtual_only: self.virtual_only,
                graceful: self.graceful,
                status_with_metadata: self.status_with_metadata,
                ..Strategy::BUILT_IN
            },
            hooks: Arc::new(KindHooks { definition: stored, schema, rules: self.rules }),
            crd_uid: None,
            crd_generation: 0,
            schema_revision: 0,
            storage_prefix: self.storage_prefix(),
            terminating: false,
        }
    }

    fn version(&self, root: &str, shapes: &Shapes) -> Version {
        let openapi_root = root.to_owned();
        Version {
            name: "v1".into(),
            served: true,
            schema: compiled(root, shapes),
            rules: None,
            openapi: Arc::new(move || schemas::openapi(&openapi_root)),
            status: self.status,
            scale: self.scale.then(scale_paths),
            columns: columns::for_kind(self.group, self.kind)
                .unwrap_or_else(|| Columns::Declared(Vec::new())),
            selectable: owned(self.selectable),
            deprecation: None,
        }
    }

    fn storage_prefix(&self) -> String {
        let group = match self.stored_in.unwrap_or(self.group) {
            "" => "core",
            group => group,
        };
        format!("/{group}/{}/", self.plural)
    }
}

/// The tests compile every kind; should one fail nevertheless, it is served unchecked.
fn compiled(definition: &str, shapes: &Shapes) -> Arc<Schema> {
    Arc::new(shapes.compile(definition).unwrap_or_else(|_| Schema::any()))
}

/// The selector of built-in kinds is structured; the reader serialises it.
fn scale_paths() -> ScalePaths {
    ScalePaths {
        spec_replicas: ".spec.replicas".into(),
        status_replicas: ".status.replicas".into(),
        label_selector: Some(".spec.selector".into()),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
