//! What a value is for the purpose of merging: a map, a list or a scalar, granular or atomic.
//!
//! The schema says so. Where it is silent (unknown fields that are preserved, no schema at all)
//! or the value is not what the schema says (validation will have its say later), the shape is
//! deduced from the value: maps are granular, lists are atomic.

use serde_json::{Map, Value};

use super::element::PathElement;
use crate::schema::NodeRef;

/// A place in a schema; `None` where the schema is silent.
pub(super) type Place<'a> = Option<NodeRef<'a>>;

/// How a value takes part in merges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// A map whose fields have owners of their own.
    Map(Place<'a>),
    /// A list whose elements have owners of their own.
    List(NodeRef<'a>),
    /// One whole: scalars, atomic maps, atomic lists.
    Leaf,
}

impl<'a> Shape<'a> {
    pub(super) fn of(place: Place<'a>, value: &Value) -> Self {
        let declared = place.and_then(NodeRef::type_name);
        let (map, list) = match value {
            Value::Object(_) => (true, false),
            Value::Array(_) => (false, true),
            // Null stands for an empty map or list where one is expected.
            Value::Null => (declared == Some("object"), declared == Some("array")),
            _ => (false, false),
        };
        match place {
            Some(node) if map && matches!(declared, None | Some("object")) => {
                if node.map_type() == Some("atomic") { Self::Leaf } else { Self::Map(place) }
            }
            Some(node) if list && declared == Some("array") => {
                if is_associative(node) {
                    Self::List(node)
                } else {
                    Self::Leaf
                }
            }
            _ if map => Self::Map(None),
            _ => Self::Leaf,
        }
    }

    /// Whether two values are handled in the same way.
    pub(super) fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Map(_), Self::Map(_))
                | (Self::List(_), Self::List(_))
                | (Self::Leaf, Self::Leaf)
        )
    }
}

/// What lies below a field of a map.
pub(super) fn child<'a>(place: Place<'a>, field: &str) -> Place<'a> {
    place.and_then(|node| node.field(field))
}

/// Whether the schema names the field. Such fields are not owned apart from what they hold; keys
/// of maps are.
pub(super) fn is_declared(place: Place<'_>, field: &str) -> bool {
    place.is_some_and(|node| node.property(field).is_some())
}

/// The elements of the list are told apart by key or value. Old built-in types say so in the words
/// of the strategic merge patch only.
fn is_associative(node: NodeRef<'_>) -> bool {
    match node.list_type() {
        Some("map") => !keys(node).is_empty(),
        Some(kind) => kind == "set",
        None => matches!(node.patch_strategy(), Some("merge" | "merge,retainKeys")),
    }
}

fn keys(node: NodeRef<'_>) -> Vec<&str> {
    match node.list_type() {
        Some("map") => node.list_map_keys().iter().map(String::as_str).collect(),
        Some(_) => Vec::new(),
        None => node.patch_merge_key().filter(|key| !key.is_empty()).into_iter().collect(),
    }
}

/// How an element of an associative list is told apart from the others; `Err` says why it cannot.
pub(super) fn element(list: NodeRef<'_>, item: &Value) -> Result<PathElement, String> {
    let keys = keys(list);
    if keys.is_empty() {
        return match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => {
                Err("not supported: associative list with lists as elements".to_owned())
            }
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null"
                    .to_owned())
            }
            scalar => Ok(PathElement::Value(scalar.clone())),
        };
    }
    let Value::Object(item) = item else {
        let what = if item.is_null() { "a null element" } else { "non-map elements" };
        return Err(format!("associative list with keys may not have {what}"));
    };
    let fields: Result<Vec<_>, String> =
        keys.into_iter().map(|key| Ok((key.to_owned(), key_value(list, item, key)?))).collect();
    fields.map(PathElement::key)
}

/// The value of a key field; an absent one counts as its default.
fn key_value(list: NodeRef<'_>, item: &Map<String, Value>, key: &str) -> Result<Value, String> {
    let default = || list.items()?.property(key)?.default_value();
    item.get(key).or_else(default).cloned().ok_or_else(|| {
        format!(
            "associative list with keys has an element that omits key field {key:?} \
             (and doesn't have default value)"
        )
    })
}
