//! The order of merged lists.
//!
//! What the patch (or its `$setElementOrder`) names comes in the order it names it. Elements only
//! the server has keep their order too, and each is put before the first named element that stood
//! behind it on the server.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::directive::{Patching, SET_ORDER};
use super::{Strategy, bad, list};
use crate::field::FieldPath;
use crate::schema::NodeRef;
use crate::status::ApiResult;

/// Merges and orders all lists that have a `$setElementOrder`; returns the keys that are done.
pub(super) fn apply<'p>(
    document: &mut Map<String, Value>,
    patch: &'p Map<String, Value>,
    node: Option<NodeRef<'_>>,
    at: &FieldPath,
) -> ApiResult<Vec<&'p String>> {
    let mut done = Vec::new();
    for (key, wanted) in patch {
        let Some(field) = key.strip_prefix(SET_ORDER) else { continue };
        let at = at.child(field);
        let Value::Array(wanted) = wanted else {
            return Err(bad(&at, "invalid patch format of setElementOrder list"));
        };
        let node = node.and_then(|node| node.field(field));
        let strategy = Strategy::of(node);
        // Only lists that merge can be told an order; others are replaced as they come.
        if !strategy.merge {
            continue;
        }
        let patched = patch.get_key_value(field);
        let patch_list = match patched {
            None => &[][..],
            Some((_, Value::Array(list))) => list.as_slice(),
            // Null deletes, anything else replaces; either way there is nothing to order.
            Some(_) => continue,
        };
        check(patch_list, wanted, strategy.merge_key, &at)?;
        let server = match document.get(field) {
            Some(Value::Array(list)) => list.clone(),
            Some(_) => return Err(bad(&at, "only a list can have an order")),
            None if patched.is_none() => continue,
            None => Vec::new(),
        };
        let merged = list::merge(server.clone(), patch_list, node, &at)?;
        let merged = arrange(merged, wanted, &server, strategy.merge_key);
        document.insert(field.to_owned(), Value::Array(merged));
        done.extend(patched.map(|(key, _)| key));
    }
    Ok(done)
}

/// The patch must list its elements in the order it asks for.
fn check(
    patch: &[Value],
    wanted: &[Value],
    merge_key: Option<&str>,
    at: &FieldPath,
) -> ApiResult<()> {
    let mut rest = wanted.iter();
    for (i, element) in patch.iter().enumerate() {
        if let Value::Object(map) = element
            && Patching::of(map, &at.index(i))? != Patching::Merge
        {
            continue;
        }
        let identity = identity(element, merge_key);
        if wanted.is_empty() || rest.any(|next| self::identity(next, merge_key) == identity) {
            continue;
        }
        let (patch, wanted) = (Value::from(patch), Value::from(wanted));
        let why = format!(
            "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{wanted}\n"
        );
        return Err(bad(at, why));
    }
    Ok(())
}

/// What tells an element from others: its key, or itself.
fn identity<'a>(element: &'a Value, merge_key: Option<&str>) -> Option<&'a Value> {
    match merge_key {
        Some(key) => element.get(key),
        None => Some(element),
    }
}

/// Orders `merged`: named elements as in `wanted`, others as near as can be to where they were.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    server: &[Value],
    merge_key: Option<&str>,
) -> Vec<Value> {
    let wanted = places(wanted, merge_key);
    let server = places(server, merge_key);
    let place = |places: &HashMap<String, usize>, value: &Value| {
        identity(value, merge_key).and_then(|id| places.get(&id.to_string()).copied())
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|value| place(&wanted, value).is_some());
    named.sort_by_key(|value| place(&wanted, value));
    others.sort_by_key(|value| place(&server, value).unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for next in named {
        let before = |other: &Value| match (place(&server, other), place(&server, &next)) {
            (Some(other), Some(next)) => other < next,
            _ => false,
        };
        while let Some(other) = others.next_if(before) {
            out.push(other);
        }
        out.push(next);
    }
    out.extend(others);
    out
}

/// Where each element stands; the first of equals counts.
fn places(list: &[Value], merge_key: Option<&str>) -> HashMap<String, usize> {
    let mut places = HashMap::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        if let Some(id) = identity(value, merge_key) {
            places.entry(id.to_string()).or_insert(i);
        }
    }
    places
}
