//! One node of a compiled schema.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Number, Value};

use super::format::Format;

/// Index of a node in the arena of its schema.
pub(super) type NodeId = usize;

/// JSON types a schema can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type name of a value, as JSON schema has it.
    pub(super) fn name_of(value: &Value) -> &'static str {
        match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }
}

/// What `additionalProperties` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Additional {
    /// Nothing, or `false`: keys beyond `properties` are unknown.
    #[default]
    No,
    /// `true`.
    Any,
    /// Values must fit this node.
    Node(NodeId),
}

/// Rules that judge a value but do not shape it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) required: Vec<String>,
    pub(super) allowed: Option<Vec<Value>>,
    pub(super) pattern: Option<Regex>,
    /// The pattern as written, for messages.
    pub(super) pattern_text: Option<String>,
    pub(super) format: Option<Format>,
    pub(super) minimum: Option<Number>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<Number>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<Number>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
}

/// `x-kubernetes-*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Extensions {
    pub(super) preserve_unknown: bool,
    pub(super) int_or_string: bool,
    pub(super) embedded_resource: bool,
    pub(super) list_type: Option<String>,
    pub(super) list_map_keys: Vec<String>,
    pub(super) map_type: Option<String>,
    pub(super) patch_strategy: Option<String>,
    pub(super) patch_merge_key: Option<String>,
    pub(super) validations: Vec<Value>,
}

/// One node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) kind: Option<Type>,
    pub(super) nullable: bool,
    /// `null` means the same as nothing, as for a field of a Go struct.
    pub(super) null_is_absent: bool,
    pub(super) properties: BTreeMap<String, NodeId>,
    pub(super) additional: Additional,
    pub(super) items: Option<NodeId>,
    pub(super) default: Option<Value>,
    pub(super) description: String,
    pub(super) rules: Rules,
    pub(super) extensions: Extensions,
    /// A quantity: text or number.
    pub(super) quantity: bool,
}

impl Node {
    /// Takes every value and keeps it whole.
    pub(super) fn anything() -> Self {
        let extensions = Extensions { preserve_unknown: true, ..Extensions::default() };
        Self { nullable: true, extensions, ..Self::default() }
    }

    /// Whether the node says anything about objects: it is one, or does not name its type.
    pub(super) fn may_be_object(&self) -> bool {
        self.kind == Some(Type::Object) || (self.kind.is_none() && !self.extensions.int_or_string)
    }

    /// The node of a key below this one: the declared property, or that of all map values.
    pub(super) fn below(&self, key: &str) -> Option<NodeId> {
        self.properties.get(key).copied().or(match self.additional {
            Additional::Node(id) => Some(id),
            Additional::No | Additional::Any => None,
        })
    }

    /// Whether `null` stands here wrongly and may be dropped or replaced by the default.
    pub(super) fn refuses_null(&self) -> bool {
        self.null_is_absent || !self.nullable
    }
}
