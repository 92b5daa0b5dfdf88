//! Strategic merge patch: a merge patch that knows which lists are keyed.
//!
//! The schema says of each field how it merges (`x-kubernetes-patch-strategy`) and by which key the
//! elements of a list are told apart (`x-kubernetes-patch-merge-key`). Where it says nothing maps
//! merge and lists are replaced. The patch may hold directives:
//!
//! | directive | in | meaning |
//! |---|---|---|
//! | `$patch: replace` | a map, or an element of a list | the patch replaces the map, or the whole list |
//! | `$patch: delete` | a map, or an element of a list | the map is emptied, the element of that key goes |
//! | `$retainKeys` | a map | keys not listed go |
//! | `$deleteFromPrimitiveList/FIELD` | a map | these elements of the list `FIELD` go |
//! | `$setElementOrder/FIELD` | a map | the order of the list `FIELD` |
//!
//! No directive is left in the result. The algorithm and its order of steps are upstream's, as the
//! order decides what wins.

mod directive;
mod list;
mod order;

use serde_json::{Map, Value};

use self::directive::{DELETE_FROM, PATCH, Patching, RETAIN_KEYS, SET_ORDER};
use crate::field::FieldPath;
use crate::schema::{NodeRef, Schema};
use crate::status::{ApiError, ApiResult};

/// Applies a strategic merge patch. What cannot be applied is a bad request (400) that names the
/// field; the document may then be half changed.
pub fn strategic(document: &mut Value, patch: &Value, schema: &Schema) -> ApiResult<()> {
    let Value::Object(patch) = patch else {
        return Err(ApiError::bad_request("invalid JSON document: a patch must be an object"));
    };
    let Value::Object(document) = document else {
        return Err(ApiError::bad_request("invalid JSON document: only objects can be patched"));
    };
    merge_map(document, patch, Some(schema.root()), &FieldPath::root())
}

/// How a field merges.
#[derive(Clone, Copy)]
struct Strategy<'a> {
    merge: bool,
    replace: bool,
    merge_key: Option<&'a str>,
}

impl<'a> Strategy<'a> {
    fn of(node: Option<NodeRef<'a>>) -> Self {
        let words = node.and_then(NodeRef::patch_strategy).unwrap_or_default();
        let has = |word| words.split(',').any(|w| w.trim() == word);
        let merge_key = node.and_then(NodeRef::patch_merge_key).filter(|key| !key.is_empty());
        Self { merge: has("merge"), replace: has("replace"), merge_key }
    }
}

fn bad(at: &FieldPath, why: impl std::fmt::Display) -> ApiError {
    ApiError::bad_request(format!("error applying patch: {at}: {why}"))
}

fn merge_map(
    document: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    node: Option<NodeRef<'_>>,
    at: &FieldPath,
) -> ApiResult<()> {
    match Patching::of(patch, at)? {
        Patching::Merge => {}
        Patching::Delete => {
            document.clear();
            return Ok(());
        }
        Patching::Replace => {
            // What replaces is still cleaned of nulls and directives further in.
            document.clear();
            for (key, value) in patch.iter().filter(|(key, _)| !directive::is(key)) {
                if let Some(value) = fresh(value, node.and_then(|n| n.field(key)), &at.child(key))?
                {
                    document.insert(key.clone(), value);
                }
            }
            return Ok(());
        }
    }
    directive::retain_keys(document, patch, at)?;
    let ordered = order::apply(document, patch, node, at)?;
    for (key, value) in patch {
        if key == PATCH
            || key == RETAIN_KEYS
            || key.starts_with(SET_ORDER)
            || ordered.contains(&key)
        {
            continue;
        }
        if let Some(field) = key.strip_prefix(DELETE_FROM) {
            directive::delete_from(document, field, value, &at.child(field))?;
            continue;
        }
        let at = at.child(key);
        let node = node.and_then(|node| node.field(key));
        let merged = match document.remove(key) {
            None => fresh(value, node, &at)?,
            Some(old) => merge_field(old, value, node, &at)?,
        };
        if let Some(merged) = merged {
            document.insert(key.clone(), merged);
        }
    }
    Ok(())
}

/// What becomes of one field; `None` when it goes.
fn merge_field(
    old: Value,
    patch: &Value,
    node: Option<NodeRef<'_>>,
    at: &FieldPath,
) -> ApiResult<Option<Value>> {
    let strategy = Strategy::of(node);
    match (old, patch) {
        (Value::Object(mut old), Value::Object(patch)) if !strategy.replace => {
            merge_map(&mut old, patch, node, at)?;
            Ok(Some(Value::Object(old)))
        }
        (Value::Array(old), Value::Array(patch)) if strategy.merge => {
            Ok(Some(Value::Array(list::merge(old, patch, node, at)?)))
        }
        _ => fresh(patch, node, at),
    }
}

/// A patch where nothing was before: without nulls and directives. `None` for null.
fn fresh(patch: &Value, node: Option<NodeRef<'_>>, at: &FieldPath) -> ApiResult<Option<Value>> {
    match patch {
        Value::Null => Ok(None),
        Value::Object(patch) => {
            let mut map = Map::new();
            merge_map(&mut map, patch, node, at)?;
            Ok(Some(Value::Object(map)))
        }
        Value::Array(patch) if Strategy::of(node).merge => {
            Ok(Some(Value::Array(list::merge(Vec::new(), patch, node, at)?)))
        }
        Value::Array(patch) => Ok(Some(directive::stripped_list(patch))),
        scalar => Ok(Some(scalar.clone())),
    }
}
