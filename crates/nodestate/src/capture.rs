//! Captures: parts of the current state by name, and references to them in a desired state.
//!
//! ```text
//!  base-iface:  interfaces.name == "eth1"                        elements that match, whole
//!  default-gw:  routes.running.destination == "0.0.0.0/0"
//!  moved:       capture.default-gw | routes.running.next-hop-interface := "br1"
//!  resolvers:   dns-resolver.running                             a part as it is
//!
//!  "{{ capture.default-gw.routes.running.0.next-hop-interface }}"
//! ```
//!
//! A filter keeps the elements of the first list on its path that match, and nothing beside that path.

mod expression;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::expression::{Action, Expression, Operand};
use crate::error::Fault;

/// More captures than this are a mistake.
const MAX_CAPTURES: usize = 256;

/// A desired state with its references filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    pub desired: Value,
    /// What each capture found.
    pub captured: BTreeMap<String, Value>,
}

/// Finds the captures in the current state and fills them in.
pub fn render(
    desired: &Value,
    capture: &BTreeMap<String, String>,
    current: &Value,
) -> Result<Rendered, Fault> {
    let captured = evaluate(capture, current)?;
    let desired = fill(desired, &captured, "")?;
    Ok(Rendered { desired, captured })
}

/// All captures, each after those it refers to.
fn evaluate(
    capture: &BTreeMap<String, String>,
    current: &Value,
) -> Result<BTreeMap<String, Value>, Fault> {
    if capture.len() > MAX_CAPTURES {
        return Err(Fault::new("capture", format!("at most {MAX_CAPTURES} are allowed")));
    }
    let mut open: Vec<(&String, Expression)> = Vec::new();
    for (name, text) in capture {
        let place = format!("capture.{name}");
        let expression = Expression::parse(text).map_err(|why| Fault::new(place, why))?;
        open.push((name, expression));
    }
    let mut found = BTreeMap::new();
    while !open.is_empty() {
        let ready = |(_, expression): &(&String, Expression)| {
            expression.needs().all(|name| found.contains_key(name))
        };
        let Some(at) = open.iter().position(ready) else {
            let (name, expression) = &open[0];
            let missing = expression.needs().find(|name| !capture.contains_key(*name));
            let why = match missing {
                Some(missing) => format!("there is no capture {missing}"),
                None => "it refers to itself by way of others".to_owned(),
            };
            return Err(Fault::new(format!("capture.{name}"), why));
        };
        let (name, expression) = open.remove(at);
        let value = run(&expression, current, &found)
            .map_err(|why| Fault::new(format!("capture.{name}"), why))?;
        found.insert(name.clone(), value);
    }
    Ok(found)
}

fn run(
    expression: &Expression,
    current: &Value,
    found: &BTreeMap<String, Value>,
) -> Result<Value, String> {
    let input = match &expression.input {
        Some(name) => found.get(name).ok_or_else(|| format!("there is no capture {name}"))?,
        None => current,
    };
    let operand = |operand: &Operand| match operand {
        Operand::Plain(value) => Ok(value.clone()),
        Operand::Captured(name, path) => {
            let from = found.get(name).ok_or_else(|| format!("there is no capture {name}"))?;
            lookup(from, path).ok_or_else(|| format!("capture {name} has no {}", path.join(".")))
        }
    };
    let path = &expression.path;
    match &expression.action {
        Action::Take => taken(input, path).ok_or_else(|| format!("there is no {}", path.join("."))),
        Action::Filter(wanted) => {
            let wanted = operand(wanted)?;
            let none = || format!("nothing has {} == {wanted}", path.join("."));
            filtered(input, path, &wanted).ok_or_else(none)
        }
        Action::Replace(new) => {
            let new = operand(new)?;
            let mut output = input.clone();
            replace(&mut output, path, &new);
            Ok(output)
        }
    }
}

/// Only what is on the path.
fn taken(value: &Value, path: &[String]) -> Option<Value> {
    let Some((step, rest)) = path.split_first() else { return Some(value.clone()) };
    let inner = taken(value.get(step)?, rest)?;
    Some(Value::Object(Map::from_iter([(step.clone(), inner)])))
}

/// The path down to the first list, and of that the elements that match.
fn filtered(value: &Value, path: &[String], wanted: &Value) -> Option<Value> {
    match (value, path.split_first()) {
        (Value::Array(list), _) => {
            let kept: Vec<Value> =
                list.iter().filter(|element| matches(element, path, wanted)).cloned().collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Value::Object(map), Some((step, rest))) => {
            let inner = filtered(map.get(step)?, rest, wanted)?;
            Some(Value::Object(Map::from_iter([(step.clone(), inner)])))
        }
        (value, None) => is_same(value, wanted).then(|| value.clone()),
        _ => None,
    }
}

fn matches(value: &Value, path: &[String], wanted: &Value) -> bool {
    match (value, path.split_first()) {
        (Value::Array(list), _) => list.iter().any(|element| matches(element, path, wanted)),
        (Value::Object(map), Some((step, rest))) => {
            map.get(step).is_some_and(|inner| matches(inner, rest, wanted))
        }
        (value, None) => is_same(value, wanted),
        _ => false,
    }
}

/// `1500` is `"1500"` here, as in nmstate.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || matches!((word(one), word(other)), (Some(one), Some(other)) if one == other)
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        _ => None,
    }
}

fn replace(value: &mut Value, path: &[String], new: &Value) {
    match (value, path) {
        (Value::Array(list), _) => list.iter_mut().for_each(|element| replace(element, path, new)),
        (Value::Object(map), [last]) => {
            map.insert(last.clone(), new.clone());
        }
        (Value::Object(map), [step, rest @ ..]) => {
            let inner = map.entry(step.clone()).or_insert_with(|| Value::Object(Map::new()));
            replace(inner, rest, new);
        }
        _ => {}
    }
}

/// A value by its path: numbers count in lists, names gather from every element.
fn lookup(value: &Value, path: &[String]) -> Option<Value> {
    let Some((step, rest)) = path.split_first() else { return Some(value.clone()) };
    match value {
        Value::Array(list) => {
            if let Ok(number) = step.parse::<usize>() {
                return lookup(list.get(number)?, rest);
            }
            let gathered: Vec<Value> =
                list.iter().filter_map(|element| lookup(element, path)).collect();
            (!gathered.is_empty()).then_some(Value::Array(gathered))
        }
        other => lookup(other.get(step)?, rest),
    }
}

fn fill(value: &Value, found: &BTreeMap<String, Value>, place: &str) -> Result<Value, Fault> {
    let at =
        |step: &str| if place.is_empty() { step.to_owned() } else { format!("{place}.{step}") };
    Ok(match value {
        Value::String(text) => fill_text(text, found).map_err(|why| Fault::new(place, why))?,
        Value::Array(list) => {
            let fill = |(number, value)| fill(value, found, &format!("{place}[{number}]"));
            list.iter().enumerate().map(fill).collect::<Result<_, _>>()?
        }
        Value::Object(map) => {
            let fill =
                |(key, value): (&String, &Value)| Ok((key.clone(), fill(value, found, &at(key))?));
            Value::Object(map.iter().map(fill).collect::<Result<_, Fault>>()?)
        }
        other => other.clone(),
    })
}

/// A text that is one reference becomes what it refers to; within a text only words can stand.
fn fill_text(text: &str, found: &BTreeMap<String, Value>) -> Result<Value, String> {
    let Some((before, rest)) = text.split_once("{{") else { return Ok(text.into()) };
    let Some((reference, after)) = rest.split_once("}}") else {
        return Err(format!("{text:?} has {{{{ without }}}}"));
    };
    let reference = reference.trim();
    let mut steps = reference.split('.').map(str::to_owned);
    let (Some("capture"), Some(name)) = (steps.next().as_deref(), steps.next()) else {
        return Err(format!(
            "{reference:?} does not refer to a capture, as capture.NAME.PATH does"
        ));
    };
    let path: Vec<String> = steps.collect();
    let value = found
        .get(&name)
        .ok_or_else(|| format!("there is no capture {name}"))
        .and_then(|from| lookup(from, &path).ok_or_else(|| format!("{reference} leads nowhere")))?;
    if before.trim().is_empty() && after.trim().is_empty() {
        return Ok(value);
    }
    let inner = word(&value).ok_or_else(|| {
        format!("{reference} is a list or an object, which cannot stand within a text")
    })?;
    let after = fill_text(after, found)?;
    let after = word(&after).ok_or_else(|| format!("{text:?} refers to a list within a text"))?;
    Ok(format!("{before}{inner}{after}").into())
}
