//! Laying an applied configuration over a live object.
//!
//! Nothing is removed here. Leaves of the configuration win, maps and keyed lists merge. A list the
//! configuration says nothing new about keeps its order; otherwise shared and applied elements are
//! in the order of the configuration, and those it does not mention stay where they were between
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::PathElement;
use super::shape::{self, Place, Shape};
use crate::schema::NodeRef;

/// The live value with the configuration laid over it.
pub(super) fn merge(place: Place<'_>, live: &Value, config: &Value) -> Value {
    match Shape::of(place, config) {
        Shape::Leaf => config.clone(),
        Shape::Map(place) => match (live.as_object(), config.as_object()) {
            (Some(live), Some(config)) => Value::Object(maps(place, live, config)),
            // Null says nothing about a map that is there.
            (Some(map), None) if !map.is_empty() => live.clone(),
            _ => config.clone(),
        },
        Shape::List(list) => match (live.as_array(), config.as_array()) {
            (Some(live), Some(config)) => Value::Array(lists(list, live, config)),
            (Some(items), None) if !items.is_empty() => live.clone(),
            _ => config.clone(),
        },
    }
}

fn maps(
    place: Place<'_>,
    live: &Map<String, Value>,
    config: &Map<String, Value>,
) -> Map<String, Value> {
    let mut out = live.clone();
    for (name, value) in config {
        let merged = match live.get(name) {
            Some(live) => merge(shape::child(place, name), live, value),
            None => value.clone(),
        };
        out.insert(name.clone(), merged);
    }
    out
}

/// The elements of a live list by what tells them apart. One that stands there several times has
/// nothing a configuration could be merged with, hence `None`.
fn index(list: NodeRef<'_>, live: &[Value]) -> (Vec<Option<PathElement>>, Index) {
    let mut found = Index::new();
    let elements = live.iter().enumerate().map(|(i, item)| {
        let element = shape::element(list, item).ok()?;
        found.entry(element.clone()).and_modify(|place| *place = None).or_insert(Some(i));
        Some(element)
    });
    (elements.collect(), found)
}

type Index = BTreeMap<PathElement, Option<usize>>;

fn lists(list: NodeRef<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let (lefts, found) = index(list, live);
    let rights: Vec<(PathElement, &Value)> =
        config.iter().filter_map(|item| Some((shape::element(list, item).ok()?, item))).collect();
    let wanted: BTreeSet<&PathElement> = rights.iter().map(|(element, _)| element).collect();
    let combine = |element: &PathElement, item: &Value| match found.get(element) {
        Some(Some(place)) => merge(list.items(), &live[*place], item),
        _ => item.clone(),
    };
    // The elements both sides have, in the order they must come out.
    let mut shared =
        rights.iter().map(|(element, _)| element).filter(|element| found.contains_key(*element));
    let mut next = shared.next();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(config.len()));
    let (mut l, mut r) = (0, 0);
    while l < live.len() || r < rights.len() {
        let left = lefts.get(l).and_then(Option::as_ref);
        let is_wanted = left.is_some_and(|element| wanted.contains(element));
        if l < live.len() && !is_wanted {
            out.push(live[l].clone());
            l += 1;
            continue;
        }
        if let Some(left) = left
            && r < rights.len()
            && *left != rights[r].0
            && next.is_some_and(|next| next != left)
        {
            // Wanted, but it is not its turn yet.
            l += 1;
            continue;
        }
        if left.is_some_and(|left| done.contains(left)) {
            l += 1;
        }
        if let Some((element, item)) = rights.get(r) {
            if left == Some(element) && !done.contains(element) {
                l += 1;
            }
            done.insert(element);
            out.push(combine(element, item));
            r += 1;
            if next == Some(element) {
                next = shared.next();
            }
        }
    }
    out
}
