//! A place in a schema, for those who walk schema and value together.

use serde_json::Value;

use super::Schema;
use super::node::{Additional, Node, NodeId};

/// A place in a schema. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'a> {
    schema: &'a Schema,
    id: NodeId,
}

impl<'a> NodeRef<'a> {
    pub(super) fn new(schema: &'a Schema, id: NodeId) -> Self {
        Self { schema, id }
    }

    fn node(self) -> &'a Node {
        self.schema.node(self.id)
    }

    fn at(self, id: NodeId) -> Self {
        Self { schema: self.schema, id }
    }

    /// A declared property.
    pub fn property(self, name: &str) -> Option<Self> {
        self.node().properties.get(name).map(|id| self.at(*id))
    }

    /// All declared properties, by name.
    pub fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.node().properties.iter().map(move |(name, id)| (name.as_str(), self.at(*id)))
    }

    /// The schema of all list elements.
    pub fn items(self) -> Option<Self> {
        self.node().items.map(|id| self.at(id))
    }

    /// The schema of the values of a map with arbitrary keys.
    pub fn additional(self) -> Option<Self> {
        match self.node().additional {
            Additional::Node(id) => Some(self.at(id)),
            Additional::No | Additional::Any => None,
        }
    }

    /// What lies below a key: the declared property, or else what all map values have in common.
    pub fn field(self, name: &str) -> Option<Self> {
        self.property(name).or_else(|| self.additional())
    }

    /// `x-kubernetes-list-type`: `atomic`, `set` or `map`.
    pub fn list_type(self) -> Option<&'a str> {
        self.node().extensions.list_type.as_deref()
    }

    /// `x-kubernetes-list-map-keys`.
    pub fn list_map_keys(self) -> &'a [String] {
        &self.node().extensions.list_map_keys
    }

    /// `x-kubernetes-map-type`: `granular` or `atomic`.
    pub fn map_type(self) -> Option<&'a str> {
        self.node().extensions.map_type.as_deref()
    }

    /// `x-kubernetes-patch-strategy`: `merge`, `replace`, `retainKeys` or `merge,retainKeys`.
    pub fn patch_strategy(self) -> Option<&'a str> {
        self.node().extensions.patch_strategy.as_deref()
    }

    /// `x-kubernetes-patch-merge-key`.
    pub fn patch_merge_key(self) -> Option<&'a str> {
        self.node().extensions.patch_merge_key.as_deref()
    }

    /// `type`, where there is one.
    pub fn type_name(self) -> Option<&'static str> {
        self.node().kind.map(super::node::Type::name)
    }

    /// `format`, where it is one that is checked.
    pub fn format(self) -> Option<&'static str> {
        self.node().rules.format.map(super::format::Format::name)
    }

    /// `description`; empty where there is none.
    pub fn description(self) -> &'a str {
        &self.node().description
    }

    /// `default`.
    pub fn default_value(self) -> Option<&'a Value> {
        self.node().default.as_ref()
    }

    /// `required`.
    pub fn required(self) -> &'a [String] {
        &self.node().rules.required
    }

    /// `enum`; empty where there is none.
    pub fn allowed_values(self) -> &'a [Value] {
        self.node().rules.allowed.as_deref().unwrap_or_default()
    }

    /// `x-kubernetes-validations`, as written.
    pub fn validations(self) -> &'a [Value] {
        &self.node().extensions.validations
    }

    /// `nullable`.
    pub fn is_nullable(self) -> bool {
        self.node().nullable
    }

    /// `null` may not stand here, or means the same as nothing.
    pub fn refuses_null(self) -> bool {
        self.node().refuses_null()
    }

    /// `additionalProperties: true`: a map that takes any key with any value.
    pub fn takes_any_key(self) -> bool {
        self.node().additional == Additional::Any
    }

    /// `x-kubernetes-preserve-unknown-fields`.
    pub fn is_preserve_unknown(self) -> bool {
        self.node().extensions.preserve_unknown
    }

    /// `x-kubernetes-embedded-resource`.
    pub fn is_embedded_resource(self) -> bool {
        self.node().extensions.embedded_resource
    }

    /// `x-kubernetes-int-or-string`.
    pub fn is_int_or_string(self) -> bool {
        self.node().extensions.int_or_string
    }
}
