//! Which fields a value holds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::element::PathElement;
use super::set::{Branch, FieldSet};
use super::shape::{self, Place, Shape};
use crate::schema::{NodeRef, Schema};

impl FieldSet {
    /// The fields of an object: its leaves, the elements of its keyed lists and sets, and the keys
    /// of its maps. Fields the schema names count by what they hold, unless that is nothing.
    pub fn of(schema: &Schema, object: &Value) -> Self {
        held(Some(schema.root()), object).below
    }
}

pub(super) fn held(place: Place<'_>, value: &Value) -> Branch {
    match (Shape::of(place, value), value) {
        (Shape::Leaf, _) => Branch::leaf(),
        (Shape::Map(place), Value::Object(map)) => {
            let mut below = FieldSet::new();
            for (name, value) in map {
                let mut branch = held(shape::child(place, name), value);
                let empty = match value {
                    Value::Null => true,
                    Value::Object(map) => map.is_empty(),
                    _ => false,
                };
                branch.member |= empty || !shape::is_declared(place, name);
                below.attach(PathElement::field(name), branch);
            }
            Branch { member: false, below }
        }
        (Shape::List(list), Value::Array(items)) => {
            Branch { member: false, below: elements(list, items) }
        }
        _ => Branch::default(),
    }
}

fn elements(list: NodeRef<'_>, items: &[Value]) -> FieldSet {
    let named: Vec<_> =
        items.iter().filter_map(|item| Some((shape::element(list, item).ok()?, item))).collect();
    let (mut seen, mut repeated) = (BTreeSet::new(), BTreeSet::new());
    for (element, _) in &named {
        if !seen.insert(element) {
            repeated.insert(element);
        }
    }
    let mut out = FieldSet::new();
    for (element, item) in &named {
        // What stands there twice is owned as one whole: its fields cannot be told apart.
        let below = if repeated.contains(element) {
            FieldSet::new()
        } else {
            held(list.items(), item).below
        };
        out.attach(element.clone(), Branch { member: true, below });
    }
    out
}
