//! The dialect of built-in kinds: OpenAPI definitions that name each other by `$ref`.
//!
//! These documents are generated from Go structs (or by schemars) and describe them loosely, so we
//! read them with good will:
//!
//! - a `$ref`, alone, with siblings, or wrapped in a one-element `allOf`, is the definition named;
//! - "that or null" (`anyOf`, `oneOf`, a list of types) is that, nullable;
//! - a type nobody describes (raw JSON) takes anything;
//! - a default that is a Go zero value says nothing and is dropped.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Schema;
use super::build::{self, Builder};
use super::node::{Additional, Extensions, Node, NodeId, Type};
use crate::field::{FieldError, FieldPath, Problem};

/// Compiles `root` and all definitions it reaches.
pub(super) fn compile(root: &str, definitions: &BTreeMap<String, Value>) -> Result<Schema, String> {
    let mut builder = Builder { definitions: Some(definitions), ..Builder::default() };
    let root = named(&mut builder, root, &FieldPath::root());
    // Compiling one definition may ask for others.
    while let Some((id, name)) = builder.pending.pop() {
        let Some(schema) = definitions.get(&name) else { continue };
        if let Some(node) = special(&name) {
            builder.nodes[id] = node;
        } else {
            let inner = builder.read(schema, &FieldPath::new(&name), 0);
            builder.aliases.push((id, inner));
        }
    }
    // A pattern we cannot read is no reason to refuse a built-in kind; a dangling reference is.
    if let Some(error) = builder.errors.iter().find(|e| e.problem != Problem::Invalid) {
        return Err(error.to_string());
    }
    resolve(&mut builder)?;
    Ok(Schema::new(builder.nodes, root))
}

/// The node of a definition, made (still empty) when it is new.
fn named(builder: &mut Builder<'_>, name: &str, path: &FieldPath) -> NodeId {
    if let Some(id) = builder.named.get(name) {
        return *id;
    }
    if !builder.definitions.is_some_and(|all| all.contains_key(name)) {
        let error = FieldError::new(Problem::NotFound, path, name, "no such definition");
        builder.errors.push(error);
    }
    let id = builder.add(Node::default());
    builder.named.insert(name.to_owned(), id);
    builder.pending.push((id, name.to_owned()));
    id
}

/// Definitions that mean something their schema does not say.
fn special(name: &str) -> Option<Node> {
    let node = Node { null_is_absent: true, ..Node::default() };
    if name.ends_with("api.resource.Quantity") {
        return Some(Node { quantity: true, ..node });
    }
    if name.ends_with("intstr.IntOrString") {
        let extensions = Extensions { int_or_string: true, ..Extensions::default() };
        return Some(Node { extensions, ..node });
    }
    if name.ends_with("apis.meta.v1.Time") || name.ends_with("apis.meta.v1.MicroTime") {
        return Some(Node { kind: Some(Type::String), ..node });
    }
    None
}

/// Compiles one schema of this dialect.
pub(super) fn read(
    builder: &mut Builder<'_>,
    schema: &Map<String, Value>,
    path: &FieldPath,
    depth: usize,
) -> NodeId {
    if let Some(reference) = build::text(schema, "$ref") {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = named(builder, &name.replace("~1", "/").replace("~0", "~"), path);
        return with_siblings(builder, schema, target, "$ref", false);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(list) = schema.get(key).and_then(Value::as_array) else { continue };
        let said: Vec<&Value> = list.iter().filter(|choice| !is_null_type(choice)).collect();
        if let [only] = said[..] {
            let target = builder.read(only, &path.child(key), depth + 1);
            return with_siblings(builder, schema, target, key, said.len() < list.len());
        }
    }
    let id = builder.add(Node::default());
    let mut node = builder.node(schema, path, depth);
    if let Some(types) = schema.get("type").and_then(Value::as_array) {
        node.kind = types.iter().filter_map(Value::as_str).find_map(Type::parse);
    }
    loosen(&mut node, schema);
    builder.nodes[id] = node;
    id
}

/// `{"type": "null"}`, or how schemars writes it for OpenAPI 3.0.
fn is_null_type(schema: &Value) -> bool {
    schema["type"] == "null" || schema["enum"] == Value::Array(vec![Value::Null])
}

/// The target itself when nothing is added to it, else a node to be filled in by [`resolve`].
fn with_siblings(
    builder: &mut Builder<'_>,
    schema: &Map<String, Value>,
    target: NodeId,
    key: &str,
    nullable: bool,
) -> NodeId {
    if schema.len() == 1 && schema.contains_key(key) && !nullable {
        return target;
    }
    let overlay = Node {
        nullable: nullable || build::flag(schema, "nullable"),
        default: schema.get("default").filter(|value| !is_zero(value)).cloned(),
        description: build::text(schema, "description").unwrap_or_default(),
        extensions: build::extensions(schema),
        ..Node::default()
    };
    let id = builder.add(overlay);
    builder.aliases.push((id, target));
    id
}

/// Makes a node forgive what Go forgives.
fn loosen(node: &mut Node, schema: &Map<String, Value>) {
    node.null_is_absent = true;
    node.default = node.default.take().filter(|value| !is_zero(value));
    node.extensions.int_or_string |= schema.get("format").is_some_and(|f| f == "int-or-string");
    if node.extensions.int_or_string {
        node.kind = None;
        return;
    }
    if node.kind.is_none() && !node.properties.is_empty() {
        node.kind = Some(Type::Object);
    }
    let opaque = node.properties.is_empty() && node.additional == Additional::No;
    if opaque && matches!(node.kind, None | Some(Type::Object)) {
        node.extensions.preserve_unknown = true;
    }
}

/// The value a Go field has when nobody sets it.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// Fills every alias with a copy of its target, keeping what the alias adds.
fn resolve(builder: &mut Builder<'_>) -> Result<(), String> {
    let targets: BTreeMap<NodeId, NodeId> = builder.aliases.iter().copied().collect();
    for alias in targets.keys() {
        // Layers from the outside in: the first to say something wins.
        let mut layers = vec![*alias];
        let mut at = *alias;
        while let Some(next) = targets.get(&at) {
            if layers.contains(next) {
                return Err("a definition refers to nothing but itself".to_owned());
            }
            layers.push(*next);
            at = *next;
        }
        let overlay = layers
            .iter()
            .rev()
            .map(|id| builder.nodes[*id].clone())
            .reduce(|base, over| overlaid(base, &over))
            .unwrap_or_default();
        builder.nodes[*alias] = overlay;
    }
    Ok(())
}

fn overlaid(mut base: Node, over: &Node) -> Node {
    base.nullable |= over.nullable;
    base.default = over.default.clone().or(base.default);
    if !over.description.is_empty() {
        base.description.clone_from(&over.description);
    }
    let (to, from) = (&mut base.extensions, over.extensions.clone());
    to.preserve_unknown |= from.preserve_unknown;
    to.embedded_resource |= from.embedded_resource;
    to.list_type = from.list_type.or(to.list_type.take());
    to.map_type = from.map_type.or(to.map_type.take());
    to.patch_strategy = from.patch_strategy.or(to.patch_strategy.take());
    to.patch_merge_key = from.patch_merge_key.or(to.patch_merge_key.take());
    if !from.list_map_keys.is_empty() {
        to.list_map_keys = from.list_map_keys;
    }
    to.validations.extend(from.validations);
    base
}
