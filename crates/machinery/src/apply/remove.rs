//! Taking fields out of a value.

use serde_json::{Map, Value};

use super::element::PathElement;
use super::set::{Branch, FieldSet};
use super::shape::{self, Place, Shape};
use crate::schema::NodeRef;

/// The value without some fields. A map or list that thereby loses everything stays, empty.
pub(super) fn remove(place: Place<'_>, value: &Value, gone: &FieldSet) -> Value {
    match (Shape::of(place, value), value) {
        (Shape::Map(place), Value::Object(map)) => {
            let mut out = Map::new();
            for (name, value) in map {
                let element = PathElement::field(name);
                if let Some(left) = left_of(shape::child(place, name), value, &element, gone) {
                    out.insert(name.clone(), left);
                }
            }
            Value::Object(out)
        }
        (Shape::List(list), Value::Array(items)) => items
            .iter()
            .filter_map(|item| match shape::element(list, item) {
                Ok(element) => left_of(list.items(), item, &element, gone),
                Err(_) => Some(item.clone()),
            })
            .collect(),
        _ => value.clone(),
    }
}

/// What is left of a child; `None` when all of it goes.
fn left_of(
    place: Place<'_>,
    value: &Value,
    element: &PathElement,
    gone: &FieldSet,
) -> Option<Value> {
    match gone.branches.get(element) {
        None => Some(value.clone()),
        Some(branch) if branch.member => None,
        Some(branch) => Some(remove(place, value, &branch.below)),
    }
}

/// Adds the fields the schema names to a set that holds anything below them. Sets do not list
/// such fields, as they are owned with their content; they go with it as well.
pub(super) fn with_named(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for (element, branch) in &set.branches {
        let (inner, named) = match element {
            PathElement::Field(name) => {
                (shape::child(place, name), shape::is_declared(place, name))
            }
            PathElement::Key(_) => (place.and_then(NodeRef::items), false),
            PathElement::Value(_) | PathElement::Index(_) => (None, false),
        };
        let member = branch.member || (named && !branch.below.is_empty());
        let below = with_named(inner, &branch.below);
        out.attach(element.clone(), Branch { member, below });
    }
    out
}

/// A set written when the schema was finer: what has become atomic since is owned as one whole.
pub(super) fn coarsened(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for (element, branch) in &set.branches {
        let inner = match element {
            PathElement::Field(name) => shape::child(place, name),
            PathElement::Key(_) => place.and_then(NodeRef::items),
            PathElement::Value(_) | PathElement::Index(_) => None,
        };
        let atomic = inner.is_some_and(|node| match node.type_name() {
            Some("object") => matches!(Shape::of(inner, &Value::Object(Map::new())), Shape::Leaf),
            Some("array") => matches!(Shape::of(inner, &Value::Array(Vec::new())), Shape::Leaf),
            _ => false,
        });
        let branch = if atomic && !branch.below.is_empty() {
            Branch::leaf()
        } else {
            Branch { member: branch.member, below: coarsened(inner, &branch.below) }
        };
        out.attach(element.clone(), branch);
    }
    out
}
