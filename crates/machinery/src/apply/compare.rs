//! What changed between two values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::{PathElement, same};
use super::set::{Branch, FieldSet};
use super::shape::{self, Place, Shape};
use crate::schema::{NodeRef, Schema};

/// What changed, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// In the new value only.
    pub added: FieldSet,
    /// In both, but different.
    pub modified: FieldSet,
    /// In the old value only.
    pub removed: FieldSet,
}

impl Comparison {
    /// Compares two objects of the same schema.
    pub fn of(schema: &Schema, old: &Value, new: &Value) -> Self {
        let change = compare(Some(schema.root()), Some(old), Some(new));
        Self {
            added: change.added.below,
            modified: change.modified.below,
            removed: change.removed.below,
        }
    }

    /// Nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Without some fields and all that lies below them.
    #[must_use]
    pub fn without(&self, fields: &FieldSet) -> Self {
        Self {
            added: self.added.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            removed: self.removed.recursive_difference(fields),
        }
    }
}

/// A comparison below one path element.
#[derive(Default)]
struct Change {
    added: Branch,
    modified: Branch,
    removed: Branch,
}

impl Change {
    /// Records what happened further in.
    fn attach(&mut self, element: &PathElement, change: Self) {
        self.added.below.attach(element.clone(), change.added);
        self.modified.below.attach(element.clone(), change.modified);
        self.removed.below.attach(element.clone(), change.removed);
    }
}

fn compare(place: Place<'_>, old: Option<&Value>, new: Option<&Value>) -> Change {
    let mut change = Change::default();
    match (old, new) {
        (None, None) => {}
        (Some(value), None) | (None, Some(value)) => {
            walk(Shape::of(place, value), old, new, &mut change);
            change.removed.member |= new.is_none();
            change.added.member |= old.is_none();
        }
        (Some(was), Some(is)) => {
            let (before, after) = (Shape::of(place, was), Shape::of(place, is));
            if !before.is_like(after) {
                walk(before, old, new, &mut change);
            }
            walk(after, old, new, &mut change);
        }
    }
    change
}

/// Records changes as seen by one shape. A side that is not of this shape counts as empty.
fn walk(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>, change: &mut Change) {
    match shape {
        Shape::Map(place) => {
            let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            if before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty) {
                return leaf(old, new, change);
            }
            let names: BTreeSet<&String> =
                [before, after].into_iter().flatten().flat_map(Map::keys).collect();
            for name in names {
                let (old, new) =
                    (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
                let inner = compare(shape::child(place, name), old, new);
                change.attach(&PathElement::field(name), inner);
            }
        }
        Shape::List(list) => {
            let (before, after) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
            if before.is_none_or(Vec::is_empty) && after.is_none_or(Vec::is_empty) {
                return leaf(old, new, change);
            }
            elements(list.items(), &by_element(list, before), &by_element(list, after), change);
        }
        Shape::Leaf => leaf(old, new, change),
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>, change: &mut Change) {
    if let (Some(old), Some(new)) = (old, new) {
        change.modified.member |= !same(old, new);
    }
}

fn by_element<'v>(
    list: NodeRef<'_>,
    items: Option<&'v Vec<Value>>,
) -> BTreeMap<PathElement, Vec<&'v Value>> {
    let mut out: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in items.into_iter().flatten() {
        if let Ok(element) = shape::element(list, item) {
            out.entry(element).or_default().push(item);
        }
    }
    out
}

/// Compares elements that are told apart. What stands there several times is one whole.
fn elements(
    place: Place<'_>,
    before: &BTreeMap<PathElement, Vec<&Value>>,
    after: &BTreeMap<PathElement, Vec<&Value>>,
    change: &mut Change,
) {
    let names: BTreeSet<&PathElement> = before.keys().chain(after.keys()).collect();
    for element in names {
        let old = before.get(element).map_or(&[][..], Vec::as_slice);
        let new = after.get(element).map_or(&[][..], Vec::as_slice);
        let mut inner = Change::default();
        match (old, new) {
            ([] | [_], [] | [_]) => {
                inner = compare(place, old.first().copied(), new.first().copied());
            }
            ([_, _, ..], [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
                inner.modified.member = !equal;
            }
            ([_, _, ..], _) => {
                if let Some(new) = new.first() {
                    inner = compare(place, None, Some(new));
                }
                inner.removed.member = true;
            }
            _ => {
                if let Some(old) = old.first() {
                    inner = compare(place, Some(old), None);
                }
                inner.added.member = true;
            }
        }
        change.attach(element, inner);
    }
}
