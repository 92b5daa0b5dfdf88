//! Structural schemas: validate, prune, default.
//!
//! A schema is compiled once into an arena of nodes and then only read. Nodes name each other by
//! index, so recursive definitions (`JSONSchemaProps` holds `JSONSchemaProps`) cost nothing and
//! cannot leak. All walks follow the *value*, so a recursive schema always ends; how deep a value
//! may be nested is bounded by [`MAX_DEPTH`].
//!
//! ```text
//!  CRD openAPIV3Schema ── structural ──┐                    ┌─ validate / type_errors
//!                                      ├─ arena of nodes ───┼─ prune / unknown_fields
//!  OpenAPI definitions ─ definitions ──┘                    ├─ apply_defaults / prune_nulls
//!                                                           └─ root() ── NodeRef, for patches
//! ```
//!
//! There are two dialects. *Structural* schemas are what a CRD may hold and are checked like
//! upstream checks them. *Definitions* describe built-in kinds; they mirror Go structs, hence
//! `null` means "absent" there and nothing but types is checked.

mod build;
mod cursor;
mod defaults;
mod definitions;
mod format;
mod meta;
mod node;
mod number;
mod pattern;
mod prune;
mod structural;
mod trail;
mod validate;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::cursor::NodeRef;
use self::node::{Node, NodeId};
use crate::field::{FieldError, FieldPath};

/// How deep a value (or a schema) may be nested before we stop looking at it. Keeps hostile input
/// from overflowing the stack.
pub const MAX_DEPTH: usize = 200;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    nodes: Vec<Node>,
    root: NodeId,
    has_defaults: bool,
}

impl Schema {
    /// Compiles a CRD's `openAPIV3Schema`, which must be structural. All errors are returned, with
    /// paths below `path`.
    pub fn structural(schema: &Value, path: &FieldPath) -> Result<Self, Vec<FieldError>> {
        structural::compile(schema, path)
    }

    /// Compiles the definition `root` and all it refers to by `$ref`, for built-in kinds. Lenient:
    /// nothing structural is checked, recursion is allowed.
    pub fn from_definitions(
        root: &str,
        definitions: &BTreeMap<String, Value>,
    ) -> Result<Self, String> {
        definitions::compile(root, definitions)
    }

    /// Accepts anything.
    pub fn any() -> Self {
        Self::new(vec![Node::anything()], 0)
    }

    /// Everything wrong with `value`, in document order. What `old` holds unchanged at the same
    /// place is not complained about again ("ratcheting"): a rule that became stricter does not
    /// lock users out of objects they already have.
    pub fn validate(&self, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::run(self, value, old)
    }

    /// Only wrong JSON types, which is all that is checked of a built-in kind here.
    pub fn type_errors(&self, value: &Value) -> Vec<FieldError> {
        validate::types(self, value)
    }

    /// Removes fields the schema does not know; returns their dotted paths in document order.
    pub fn prune(&self, value: &mut Value) -> Vec<String> {
        prune::prune(self, value)
    }

    /// What [`Schema::prune`] would remove.
    pub fn unknown_fields(&self, value: &Value) -> Vec<String> {
        self.prune(&mut value.clone())
    }

    /// Fills absent properties of the objects that are there, and replaces `null` where the field
    /// is not nullable but has a default.
    pub fn apply_defaults(&self, value: &mut Value) {
        defaults::apply(self, value);
    }

    /// Drops `null` from fields that are not nullable and have no default.
    pub fn prune_nulls(&self, value: &mut Value) {
        defaults::prune_nulls(self, value);
    }

    /// Whether [`Schema::apply_defaults`] can ever change anything.
    pub fn has_defaults(&self) -> bool {
        self.has_defaults
    }

    /// A cursor at the top, for those who walk schema and value together.
    pub fn root(&self) -> NodeRef<'_> {
        NodeRef::new(self, self.root)
    }

    fn new(nodes: Vec<Node>, root: NodeId) -> Self {
        let has_defaults = nodes.iter().any(|node| node.default.is_some());
        Self { nodes, root, has_defaults }
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }
}
