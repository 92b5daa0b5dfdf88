//! The dialect of CRDs: structural schemas.
//!
//! *Structural* means that the shape of every value can be read off the schema without looking at
//! `allOf` and its like, so that pruning and defaulting have one answer. The checks and their
//! wording follow upstream; they work on the document, before anything is compiled.

mod check;
mod complete;
mod lists;
mod nested;

use serde_json::Value;

use super::build::Builder;
use super::node::NodeId;
use super::{Schema, defaults, meta, prune, validate};
use crate::field::{FieldError, FieldPath};

/// Checks and compiles.
pub(super) fn compile(schema: &Value, path: &FieldPath) -> Result<Schema, Vec<FieldError>> {
    let mut errors = check::run(schema, path);
    errors.extend(complete::run(schema, path));
    let mut builder = Builder::default();
    let root = builder.read(schema, path, 0);
    errors.append(&mut builder.errors);
    if !errors.is_empty() {
        return Err(sorted(errors));
    }
    let embedded: Vec<NodeId> = (0..builder.nodes.len())
        .filter(|id| builder.nodes[*id].extensions.embedded_resource)
        .collect();
    let object_meta = meta::object_meta(&mut builder);
    meta::complete(&mut builder, root, object_meta);
    for id in embedded {
        meta::complete(&mut builder, id, object_meta);
    }
    let declared = std::mem::take(&mut builder.defaults);
    let schema = Schema::new(builder.nodes, root);
    for (id, path) in declared {
        errors.extend(check_default(&schema, id, &path.child("default")));
    }
    if errors.is_empty() { Ok(schema) } else { Err(sorted(errors)) }
}

/// A default must fit the schema it stands in, or it would make every object invalid.
fn check_default(schema: &Schema, id: NodeId, path: &FieldPath) -> Vec<FieldError> {
    let Some(default) = &schema.node(id).default else { return Vec::new() };
    let mut value = default.clone();
    let mut errors = Vec::new();
    if !prune::below(schema, id, &mut value).is_empty() {
        errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
    }
    // Defaults further in fill what this one leaves out, so judge the whole.
    defaults::below(schema, id, &mut value);
    for mut error in validate::below(schema, id, &value) {
        error.path = match error.path.as_str() {
            "" => path.clone(),
            inner if inner.starts_with('[') => FieldPath::new(&format!("{}{inner}", path.as_str())),
            inner => path.child(inner),
        };
        errors.push(error);
    }
    errors
}

/// Upstream sorts by text, as it walks maps in random order.
fn sorted(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    errors.sort_by_cached_key(ToString::to_string);
    errors.dedup();
    errors
}
