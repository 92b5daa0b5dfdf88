//! What a configuration must look like before it can be applied.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::shape::{self, Place, Shape};
use crate::schema::{NodeRef, Schema};

/// Everything that makes a configuration unfit for merging, one line per problem as upstream words
/// it: unknown fields, and elements of lists that cannot be told apart.
pub(super) fn problems(schema: &Schema, config: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk(Some(schema.root()), config, false, "", &mut out);
    out
}

fn walk(place: Place<'_>, value: &Value, preserve: bool, at: &str, out: &mut Vec<String>) {
    let preserve = preserve || place.is_some_and(NodeRef::is_preserve_unknown);
    match value {
        Value::Object(map) => {
            let object = place.filter(|node| matches!(node.type_name(), None | Some("object")));
            for (name, value) in map {
                let implicit =
                    at.is_empty() && matches!(&**name, "apiVersion" | "kind" | "metadata");
                let at = format!("{at}{}", PathElement::field(name));
                if !implicit && object.is_some_and(|node| refuses(node, name, preserve)) {
                    out.push(format!("{at}: field not declared in schema"));
                } else {
                    walk(shape::child(object, name), value, preserve, &at, out);
                }
            }
        }
        Value::Array(items) => elements(place, value, items, preserve, at, out),
        _ => {}
    }
}

/// A map that lists its fields takes no others.
fn refuses(node: NodeRef<'_>, name: &str, preserve: bool) -> bool {
    let closed = node.properties().next().is_some() && !node.takes_any_key();
    closed && !preserve && node.field(name).is_none()
}

fn elements(
    place: Place<'_>,
    list: &Value,
    items: &[Value],
    preserve: bool,
    at: &str,
    out: &mut Vec<String>,
) {
    let inner = place.and_then(NodeRef::items);
    let shape = Shape::of(place, list);
    let mut seen = BTreeSet::new();
    for (i, item) in items.iter().enumerate() {
        let step = match shape {
            Shape::List(list) => match shape::element(list, item) {
                Ok(element) => {
                    let step = element.to_string();
                    if !seen.insert(element) {
                        out.push(format!("{at}: duplicate entries for key {step}"));
                    }
                    step
                }
                Err(why) => {
                    out.push(format!("{at}: element {i}: {why}"));
                    continue;
                }
            },
            _ => format!("[{i}]"),
        };
        walk(inner, item, preserve, &format!("{at}{step}"), out);
    }
}

/// Drops `null` where the schema takes none. It means "nothing said" there: generators like to
/// write `creationTimestamp: null`. The server drops such nulls before it stores an object, hence
/// nobody can own them.
pub(super) fn without_nulls(place: Place<'_>, value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter_map(|(name, value)| {
                let inner = shape::child(place, name);
                let refused = value.is_null() && inner.is_some_and(NodeRef::refuses_null);
                (!refused).then(|| (name.clone(), without_nulls(inner, value)))
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let inner = place.and_then(NodeRef::items);
            items.iter().map(|item| without_nulls(inner, item)).collect()
        }
        scalar => scalar.clone(),
    }
}
