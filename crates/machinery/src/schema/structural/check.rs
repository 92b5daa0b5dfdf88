//! The shape-giving part of a structural schema.

use serde_json::{Map, Value};

use super::super::build::{flag, text};
use super::super::{MAX_DEPTH, node::Type};
use super::{lists, nested};
use crate::field::{FieldError, FieldPath, Problem};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Root,
    Item,
    Field,
}

/// Everything wrong with a root schema.
pub(super) fn run(schema: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut check = Check { errors: Vec::new() };
    check.schema(schema, Level::Root, path, 0);
    check.errors
}

pub(super) struct Check {
    pub(super) errors: Vec<FieldError>,
}

impl Check {
    pub(super) fn forbid(&mut self, path: &FieldPath, key: &str, why: &str) {
        self.errors.push(FieldError::forbidden(&path.child(key), why));
    }

    pub(super) fn require(&mut self, path: &FieldPath, key: &str, why: &str) {
        self.errors.push(FieldError::required(&path.child(key), why));
    }

    pub(super) fn invalid(
        &mut self,
        path: &FieldPath,
        key: &str,
        value: impl Into<Value>,
        why: &str,
    ) {
        self.errors.push(FieldError::invalid(&path.child(key), value, why));
    }

    /// A schema as a map, or an error.
    pub(super) fn map<'a>(
        &mut self,
        schema: &'a Value,
        path: &FieldPath,
        depth: usize,
    ) -> Option<&'a Map<String, Value>> {
        if depth > MAX_DEPTH {
            self.errors.push(FieldError::forbidden(path, "schema is nested too deeply"));
            return None;
        }
        if let Value::Object(map) = schema {
            return Some(map);
        }
        let detail = "must be a schema object";
        self.errors.push(FieldError::new(
            Problem::TypeInvalid,
            path,
            Type::name_of(schema),
            detail,
        ));
        None
    }

    fn schema(&mut self, schema: &Value, level: Level, path: &FieldPath, depth: usize) {
        let Some(s) = self.map(schema, path, depth) else { return };
        self.keywords(s, path);
        self.children(s, level, path, depth);
        self.extensions(s, path);
        lists::check(self, s, path);
        nested::value_validations(self, s, path, depth);
        self.type_rules(s, level, path);
        self.resource_rules(s, level, path);
    }

    /// What holds for every schema, also inside value validations.
    pub(super) fn keywords(&mut self, s: &Map<String, Value>, path: &FieldPath) {
        const UNSUPPORTED: [&str; 6] =
            ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
        for key in UNSUPPORTED {
            if s.contains_key(key) {
                self.forbid(path, key, &format!("{key} is not supported"));
            }
        }
        if flag(s, "uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(path, "uniqueItems", why);
        }
        if s.get("items").is_some_and(Value::is_array) {
            self.forbid(path, "items", "items must be a schema object and not an array");
        }
        self.keyword_types(s, path);
        let Some(name) = text(s, "type").filter(|name| !name.is_empty()) else { return };
        if name == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.forbid(path, "type", why);
        } else if Type::parse(&name).is_none() {
            let known = ["array", "boolean", "integer", "number", "object", "string"];
            self.errors.push(FieldError::not_supported(&path.child("type"), name, &known));
        }
    }

    /// Upstream decodes into a struct first, so a keyword of the wrong type never gets this far.
    fn keyword_types(&mut self, s: &Map<String, Value>, path: &FieldPath) {
        for (key, value) in s {
            let expected = match key.as_str() {
                "type"
                | "format"
                | "pattern"
                | "description"
                | "title"
                | "$ref"
                | "id"
                | "x-kubernetes-list-type"
                | "x-kubernetes-map-type" => "string",
                "nullable"
                | "exclusiveMinimum"
                | "exclusiveMaximum"
                | "uniqueItems"
                | "x-kubernetes-preserve-unknown-fields"
                | "x-kubernetes-embedded-resource"
                | "x-kubernetes-int-or-string" => "boolean",
                "properties" => "object",
                "required"
                | "enum"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "x-kubernetes-list-map-keys"
                | "x-kubernetes-validations" => "array",
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" => "integer",
                "minimum" | "maximum" | "multipleOf" => "number",
                _ => continue,
            };
            let actual = Type::name_of(value);
            if actual != expected && !(expected == "number" && actual == "integer") {
                let detail = format!("must be of type {expected}: {actual:?}");
                let path = path.child(key);
                self.errors.push(FieldError::new(Problem::TypeInvalid, &path, actual, detail));
            }
        }
    }

    fn children(&mut self, s: &Map<String, Value>, level: Level, path: &FieldPath, depth: usize) {
        let has_properties = s.get("properties").and_then(Value::as_object);
        match s.get("items") {
            Some(items) if !items.is_array() => {
                self.schema(items, Level::Item, &path.child("items"), depth + 1);
            }
            None if text(s, "type").as_deref() == Some("array") => {
                self.require(path, "items", "must be specified");
            }
            _ => {}
        }
        for (name, property) in has_properties.into_iter().flatten() {
            let path = path.child("properties").key(name);
            self.schema(property, Level::Field, &path, depth + 1);
        }
        let Some(additional) = s.get("additionalProperties") else { return };
        if level == Level::Root {
            self.forbid(path, "additionalProperties", "must not be used at the root");
        }
        if has_properties.is_some_and(|p| !p.is_empty()) && additional != &Value::Bool(true) {
            let why = "additionalProperties and properties are mutual exclusive";
            self.forbid(path, "additionalProperties", why);
        }
        if !additional.is_boolean() {
            let path = path.child("additionalProperties");
            self.schema(additional, Level::Field, &path, depth + 1);
        }
    }

    fn extensions(&mut self, s: &Map<String, Value>, path: &FieldPath) {
        let preserve = "x-kubernetes-preserve-unknown-fields";
        if s.get(preserve) == Some(&Value::Bool(false)) {
            self.invalid(path, preserve, false, "must be true or undefined");
        }
        if flag(s, "x-kubernetes-int-or-string") {
            let why = "must be false if x-kubernetes-int-or-string is true";
            for key in [preserve, "x-kubernetes-embedded-resource"] {
                if flag(s, key) {
                    self.invalid(path, key, true, why);
                }
            }
        }
    }

    fn type_rules(&mut self, s: &Map<String, Value>, level: Level, path: &FieldPath) {
        let kind = text(s, "type").unwrap_or_default();
        let embedded = flag(s, "x-kubernetes-embedded-resource");
        if embedded && kind != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            if kind.is_empty() {
                self.require(path, "type", why);
            } else {
                self.invalid(path, "type", kind.clone(), why);
            }
        } else if kind.is_empty()
            && !flag(s, "x-kubernetes-int-or-string")
            && !flag(s, "x-kubernetes-preserve-unknown-fields")
        {
            let why = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.require(path, "type", why);
        }
        if embedded && s.contains_key("additionalProperties") {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbid(path, "additionalProperties", why);
        }
        if level == Level::Root && !kind.is_empty() && kind != "object" {
            self.invalid(path, "type", kind, "must be object at the root");
        }
    }

    /// The fields every resource has are described by us, not by the schema.
    fn resource_rules(&mut self, s: &Map<String, Value>, level: Level, path: &FieldPath) {
        let embedded = flag(s, "x-kubernetes-embedded-resource");
        let empty = Map::new();
        let properties = s.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        if embedded && properties.is_empty() && !flag(s, "x-kubernetes-preserve-unknown-fields") {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            self.require(path, "properties", why);
        }
        if level != Level::Root && !embedded {
            return;
        }
        let path = path.child("properties");
        for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
            let Some(Value::Object(property)) = properties.get(name) else { continue };
            let declared = text(property, "type").unwrap_or_default();
            let path = path.key(name);
            if declared != kind {
                self.invalid(&path, "type", declared, &format!("must be {kind}"));
            }
            if level == Level::Root && property.contains_key("default") {
                let why = format!("must not be set in top-level {name}");
                self.forbid(&path, "default", &why);
            }
        }
        if level == Level::Root && properties.get("metadata").is_some_and(says_too_much) {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.errors.push(FieldError::forbidden(&path.key("metadata"), why));
        }
    }
}

/// Whether a schema of the root's metadata does more than restrict the name.
fn says_too_much(metadata: &Value) -> bool {
    let Value::Object(metadata) = metadata else { return false };
    metadata.iter().any(|(key, value)| match key.as_str() {
        "type" | "default" => false,
        "properties" => value
            .as_object()
            .is_some_and(|p| p.keys().any(|name| name != "name" && name != "generateName")),
        _ => true,
    })
}
