//! Lists that merge: of scalars as sets, of maps by key.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::directive::{Patching, stripped_list};
use super::{Strategy, bad, merge_map, order};
use crate::field::FieldPath;
use crate::schema::NodeRef;
use crate::status::{ApiError, ApiResult};

/// Merges `patch` into `old`; the strategy of the list is known to be `merge`.
pub(super) fn merge(
    old: Vec<Value>,
    patch: &[Value],
    node: Option<NodeRef<'_>>,
    at: &FieldPath,
) -> ApiResult<Vec<Value>> {
    let maps = old.iter().chain(patch).filter(|value| value.is_object()).count();
    if old.iter().chain(patch).any(Value::is_array) {
        return Err(bad(at, "lists of lists are not supported"));
    }
    if maps == 0 {
        return Ok(merge_scalars(&old, patch));
    }
    if maps < old.len() + patch.len() {
        return Err(bad(at, "list element types are not identical"));
    }
    let Some(key) = Strategy::of(node).merge_key else {
        return Err(bad(at, "cannot merge lists without merge key for type map"));
    };
    merge_maps(old, patch, key, node.and_then(NodeRef::items), at)
}

fn merge_scalars(old: &[Value], patch: &[Value]) -> Vec<Value> {
    let mut seen = HashSet::new();
    let merged =
        old.iter().chain(patch).filter(|value| seen.insert(value.to_string())).cloned().collect();
    order::arrange(merged, patch, old, None)
}

fn merge_maps(
    mut old: Vec<Value>,
    patch: &[Value],
    key: &str,
    items: Option<NodeRef<'_>>,
    at: &FieldPath,
) -> ApiResult<Vec<Value>> {
    let mut wanted: Vec<(usize, &Map<String, Value>)> = Vec::new();
    let mut gone = HashSet::new();
    let mut replace = false;
    for (i, element) in patch.iter().enumerate() {
        let Value::Object(element) = element else { continue };
        match Patching::of(element, &at.index(i))? {
            Patching::Merge => wanted.push((i, element)),
            Patching::Replace => replace = true,
            Patching::Delete => {
                let name = element.get(key).ok_or_else(|| no_key(element, key, &at.index(i)))?;
                gone.insert(name.to_string());
            }
        }
    }
    if replace {
        // Taken over as it is, also where two elements have one key: addresses of nodes do.
        return Ok(match stripped_list(patch) {
            Value::Array(whole) => whole,
            _ => Vec::new(),
        });
    }
    // Lists may be long, so elements are found by index, not by searching.
    let name_of = |value: &Value| value.get(key).map(ToString::to_string);
    old.retain(|value| name_of(value).is_none_or(|name| !gone.contains(&name)));
    let server = old.clone();
    let mut places: HashMap<String, usize> = HashMap::with_capacity(old.len());
    for (i, name) in old.iter().enumerate().filter_map(|(i, value)| Some((i, name_of(value)?))) {
        places.entry(name).or_insert(i);
    }
    let mut merged = old;
    for (i, element) in &wanted {
        let at = at.index(*i);
        let name = element.get(key).ok_or_else(|| no_key(element, key, &at))?;
        let place = *places.entry(name.to_string()).or_insert(merged.len());
        if let Some(Value::Object(found)) = merged.get_mut(place) {
            merge_map(found, element, items, &at)?;
        } else {
            let mut new = Map::new();
            merge_map(&mut new, element, items, &at)?;
            merged.push(Value::Object(new));
        }
    }
    let wanted: Vec<Value> = wanted.iter().map(|(_, map)| Value::Object((*map).clone())).collect();
    Ok(order::arrange(merged, &wanted, &server, Some(key)))
}

fn no_key(map: &Map<String, Value>, key: &str, at: &FieldPath) -> ApiError {
    let map = Value::Object(map.clone());
    bad(at, format!("map: {map} does not contain declared merge key: {key}"))
}
