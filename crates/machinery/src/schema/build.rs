//! Turns schema documents into nodes; what both dialects have in common.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::format::Format;
use super::node::{Additional, Extensions, Node, NodeId, Rules, Type};
use super::{MAX_DEPTH, definitions, pattern};
use crate::field::{FieldError, FieldPath};

/// The arena under construction.
#[derive(Default)]
pub(super) struct Builder<'a> {
    pub(super) nodes: Vec<Node>,
    /// Problems found on the way.
    pub(super) errors: Vec<FieldError>,
    /// Where each default was declared, for checking it once all nodes are there.
    pub(super) defaults: Vec<(NodeId, FieldPath)>,
    /// Definitions `$ref` may name; `None` in the structural dialect.
    pub(super) definitions: Option<&'a BTreeMap<String, Value>>,
    /// Definitions that have a node already (or are about to).
    pub(super) named: HashMap<String, NodeId>,
    /// Definitions with a node that is still empty.
    pub(super) pending: Vec<(NodeId, String)>,
    /// Nodes that are another node with something added.
    pub(super) aliases: Vec<(NodeId, NodeId)>,
}

impl Builder<'_> {
    /// Adds a finished node.
    pub(super) fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Compiles one schema and all below it.
    pub(super) fn read(&mut self, schema: &Value, path: &FieldPath, depth: usize) -> NodeId {
        if depth > MAX_DEPTH {
            self.errors.push(FieldError::forbidden(path, "schema is nested too deeply"));
            return self.add(Node::anything());
        }
        let Some(schema) = schema.as_object() else { return self.add(Node::anything()) };
        if self.definitions.is_some() {
            return definitions::read(self, schema, path, depth);
        }
        let id = self.add(Node::default());
        let node = self.node(schema, path, depth);
        if node.default.is_some() {
            self.defaults.push((id, path.clone()));
        }
        self.nodes[id] = node;
        id
    }

    /// Compiles the keywords of one schema; children go to the arena.
    pub(super) fn node(
        &mut self,
        schema: &Map<String, Value>,
        path: &FieldPath,
        depth: usize,
    ) -> Node {
        let mut node = Node {
            kind: schema.get("type").and_then(Value::as_str).and_then(Type::parse),
            nullable: flag(schema, "nullable"),
            // `default: null` is no default, as Go reads it.
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            description: text(schema, "description").unwrap_or_default(),
            extensions: extensions(schema),
            rules: self.rules(schema, path, depth),
            ..Node::default()
        };
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let path = path.child("properties");
            for (name, property) in properties {
                let id = self.read(property, &path.key(name), depth + 1);
                node.properties.insert(name.clone(), id);
            }
        }
        if let Some(items) = schema.get("items") {
            node.items = Some(self.read(items, &path.child("items"), depth + 1));
        }
        node.additional = match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Additional::Any,
            Some(schema @ Value::Object(_)) => {
                Additional::Node(self.read(schema, &path.child("additionalProperties"), depth + 1))
            }
            _ => Additional::No,
        };
        node
    }

    fn rules(&mut self, schema: &Map<String, Value>, path: &FieldPath, depth: usize) -> Rules {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let number = |key: &str| match schema.get(key) {
            Some(Value::Number(number)) => Some(number.clone()),
            _ => None,
        };
        Rules {
            required: texts(schema, "required"),
            allowed: schema.get("enum").and_then(Value::as_array).cloned(),
            pattern: self.pattern(schema, path),
            pattern_text: text(schema, "pattern"),
            format: text(schema, "format").and_then(|name| Format::parse(&name)),
            minimum: number("minimum"),
            exclusive_minimum: flag(schema, "exclusiveMinimum"),
            maximum: number("maximum"),
            exclusive_maximum: flag(schema, "exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            unique_items: flag(schema, "uniqueItems"),
            all_of: self.alternatives(schema, "allOf", path, depth),
            any_of: self.alternatives(schema, "anyOf", path, depth),
            one_of: self.alternatives(schema, "oneOf", path, depth),
            not: schema.get("not").map(|not| self.read(not, &path.child("not"), depth + 1)),
        }
    }

    fn pattern(&mut self, schema: &Map<String, Value>, path: &FieldPath) -> Option<regex::Regex> {
        let pattern = text(schema, "pattern").filter(|pattern| !pattern.is_empty())?;
        match pattern::compile(&pattern) {
            Ok(regex) => Some(regex),
            Err(why) => {
                let why = format!("must be a valid regular expression, but isn't: {why}");
                self.errors.push(FieldError::invalid(&path.child("pattern"), pattern, why));
                None
            }
        }
    }

    fn alternatives(
        &mut self,
        schema: &Map<String, Value>,
        key: &str,
        path: &FieldPath,
        depth: usize,
    ) -> Vec<NodeId> {
        let list = schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let path = path.child(key);
        let read = |(i, schema)| self.read(schema, &path.index(i), depth + 1);
        list.iter().enumerate().map(read).collect()
    }
}

/// Reads the `x-kubernetes-*` keywords.
pub(super) fn extensions(schema: &Map<String, Value>) -> Extensions {
    Extensions {
        preserve_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
        int_or_string: flag(schema, "x-kubernetes-int-or-string"),
        embedded_resource: flag(schema, "x-kubernetes-embedded-resource"),
        list_type: text(schema, "x-kubernetes-list-type"),
        list_map_keys: texts(schema, "x-kubernetes-list-map-keys"),
        map_type: text(schema, "x-kubernetes-map-type"),
        patch_strategy: text(schema, "x-kubernetes-patch-strategy"),
        patch_merge_key: text(schema, "x-kubernetes-patch-merge-key"),
        validations: schema
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
    }
}

/// A keyword that is `true`.
pub(super) fn flag(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// A keyword that is a text.
pub(super) fn text(schema: &Map<String, Value>, key: &str) -> Option<String> {
    schema.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// A keyword that is a list of texts.
pub(super) fn texts(schema: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
