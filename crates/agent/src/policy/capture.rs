//! Captures: named questions about the state of a node, whose answers a desired state can use.
//!
//! ```text
//!  expression = [ "capture." name "|" ] path [ "==" value | ":=" value ]
//!  value      = "text" | 'text' | number | true | false | capture.name.path
//!  path       = step { "." step }        step: a key, or a number as the place in a list
//! ```
//!
//! `path == value` keeps, of the list on the way, the elements that match, whole; `path` keeps what
//! lies there; `path := value` is the state with that value put in. In a desired state
//! `"{{ capture.name.path }}"` stands for the value that lies there.

mod expression;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use self::expression::{Expression, Operand, Operation, Path, Step};

/// A policy has at most so many captures.
const MOST: usize = 64;
/// A capture has at most so many bytes.
const LONGEST: usize = 1024;

/// What was captured, by name.
pub type Captured = BTreeMap<String, Value>;

/// Answers all questions. What is in `known` is not asked again.
pub fn capture(
    questions: &BTreeMap<String, String>,
    current: &Value,
    known: &Captured,
) -> Result<Captured, String> {
    if questions.len() > MOST {
        return Err(format!("{} captures; at most {MOST} are possible", questions.len()));
    }
    let mut parsed = BTreeMap::new();
    for (name, text) in questions {
        if text.len() > LONGEST {
            return Err(format!("capture {name}: longer than {LONGEST} bytes"));
        }
        let expression =
            expression::parse(text).map_err(|why| format!("capture {name}: {text:?}: {why}"))?;
        parsed.insert(name.clone(), expression);
    }
    let mut answers = Answers { parsed, current, done: Captured::new(), open: BTreeSet::new() };
    for name in questions.keys() {
        if let Some(answer) = known.get(name) {
            answers.done.insert(name.clone(), answer.clone());
        }
    }
    for name in questions.keys() {
        answers.answer(name)?;
    }
    Ok(answers.done)
}

/// The desired state with every `{{ capture… }}` filled in.
pub fn fill_in(desired: &Value, captured: &Captured) -> Result<Value, String> {
    Ok(match desired {
        Value::String(text) => fill_in_text(text, captured)?,
        Value::Array(list) => {
            let filled: Result<_, _> = list.iter().map(|item| fill_in(item, captured)).collect();
            Value::Array(filled?)
        }
        Value::Object(map) => {
            let mut filled = Map::new();
            for (key, value) in map {
                filled.insert(key.clone(), fill_in(value, captured)?);
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

fn fill_in_text(text: &str, captured: &Captured) -> Result<Value, String> {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inside, behind)) = after.split_once("}}") else {
            return Err(format!("{text:?}: {{{{ without }}}}"));
        };
        let value = refer(inside.trim(), captured).map_err(|why| format!("{text:?}: {why}"))?;
        if before.is_empty() && behind.trim().is_empty() && out.is_empty() {
            return Ok(value); // of whatever type
        }
        out.push_str(before);
        match value {
            Value::String(text) => out.push_str(&text),
            Value::Object(_) | Value::Array(_) => {
                return Err(format!("{text:?}: {inside} is no single value"));
            }
            other => out.push_str(&other.to_string()),
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(Value::String(out))
}

fn refer(text: &str, captured: &Captured) -> Result<Value, String> {
    let Path(steps) = expression::path(text)?;
    let [Step::Key(first), Step::Key(name), rest @ ..] = &steps[..] else {
        return Err("only capture.<name>.<path> can be referred to".to_owned());
    };
    if first != "capture" {
        return Err("only capture.<name>.<path> can be referred to".to_owned());
    }
    let state = captured.get(name).ok_or_else(|| format!("there is no capture {name}"))?;
    look_up(state, rest).cloned().map_err(|why| format!("capture {name}: {why}"))
}

fn look_up<'a>(state: &'a Value, steps: &[Step]) -> Result<&'a Value, String> {
    let mut at = state;
    for step in steps {
        let next = match (step, at) {
            (Step::Key(key), Value::Object(map)) => map.get(key),
            (Step::Index(index), Value::Array(list)) => list.get(*index),
            (Step::Index(index), Value::Object(map)) => map.get(&index.to_string()),
            (Step::Key(key), Value::Array(_)) => {
                return Err(format!("{key}: a list needs a number here"));
            }
            _ => None,
        };
        at = next.ok_or_else(|| format!("nothing was found at {step}"))?;
    }
    Ok(at)
}

struct Answers<'a> {
    parsed: BTreeMap<String, Expression>,
    current: &'a Value,
    done: Captured,
    open: BTreeSet<String>,
}

impl Answers<'_> {
    fn answer(&mut self, name: &str) -> Result<(), String> {
        if self.done.contains_key(name) {
            return Ok(());
        }
        let Some(expression) = self.parsed.get(name).cloned() else {
            return Err(format!("there is no capture {name}"));
        };
        if !self.open.insert(name.to_owned()) {
            return Err(format!("capture {name} asks for itself"));
        }
        if let Some(from) = &expression.from {
            self.answer(from)?;
        }
        let operand = match expression.operation.operand() {
            None => None,
            Some(Operand::Plain(value)) => Some(value.clone()),
            Some(Operand::Capture(other, path)) => {
                self.answer(other)?;
                let state = self.done.get(other).unwrap_or(&Value::Null);
                let found = look_up(state, path);
                Some(found.cloned().map_err(|why| format!("capture {name}: {other}: {why}"))?)
            }
        };
        let from = match &expression.from {
            None => self.current,
            Some(other) => self.done.get(other).unwrap_or(&Value::Null),
        };
        let steps = &expression.path.0;
        let answer = match (&expression.operation, operand) {
            (Operation::Equals(_), Some(value)) => keep_equal(from, steps, &value),
            (Operation::Replace(_), Some(value)) => Some(replaced(from, steps, &value)),
            _ => Some(keep(from, steps).map_err(|why| format!("capture {name}: {why}"))?),
        };
        self.open.remove(name);
        self.done.insert(name.to_owned(), answer.unwrap_or_else(|| Value::Object(Map::new())));
        Ok(())
    }
}

/// Only what lies at the path, with the way to it.
fn keep(state: &Value, steps: &[Step]) -> Result<Value, String> {
    let Some((step, rest)) = steps.split_first() else { return Ok(state.clone()) };
    match (step, state) {
        (Step::Key(key), Value::Object(map)) => {
            let below = map.get(key).ok_or_else(|| format!("nothing was found at {key}"))?;
            let mut kept = Map::new();
            kept.insert(key.clone(), keep(below, rest)?);
            Ok(Value::Object(kept))
        }
        (Step::Index(index), Value::Array(list)) => {
            let below = list.get(*index).ok_or_else(|| format!("nothing was found at {index}"))?;
            Ok(Value::Array(vec![keep(below, rest)?]))
        }
        (_, Value::Array(list)) => {
            let kept = list.iter().filter_map(|item| keep(item, steps).ok()).collect();
            Ok(Value::Array(kept))
        }
        _ => Err(format!("nothing was found at {step}")),
    }
}

/// Of the lists on the way, the elements in which the value lies at the rest of the path.
fn keep_equal(state: &Value, steps: &[Step], value: &Value) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return same(state, value).then(|| state.clone());
    };
    match (step, state) {
        (Step::Key(key), Value::Object(map)) => {
            let below = keep_equal(map.get(key)?, rest, value)?;
            let mut kept = Map::new();
            kept.insert(key.clone(), below);
            Some(Value::Object(kept))
        }
        (Step::Index(index), Value::Array(list)) => {
            Some(Value::Array(vec![keep_equal(list.get(*index)?, rest, value)?]))
        }
        (Step::Key(_), Value::Array(list)) => {
            let matches = |item: &&Value| keep_equal(item, steps, value).is_some();
            Some(Value::Array(list.iter().filter(matches).cloned().collect()))
        }
        _ => None,
    }
}

fn replaced(state: &Value, steps: &[Step], value: &Value) -> Value {
    let Some((step, rest)) = steps.split_first() else { return value.clone() };
    match (step, state) {
        (Step::Key(key), Value::Object(map)) => {
            let mut map = map.clone();
            let below = map.get(key).cloned().unwrap_or_else(|| Value::Object(Map::new()));
            map.insert(key.clone(), replaced(&below, rest, value));
            Value::Object(map)
        }
        (Step::Index(index), Value::Array(list)) => {
            let mut list = list.clone();
            if let Some(item) = list.get_mut(*index) {
                *item = replaced(item, rest, value);
            }
            Value::Array(list)
        }
        (Step::Key(_), Value::Array(list)) => {
            Value::Array(list.iter().map(|item| replaced(item, steps, value)).collect())
        }
        _ => state.clone(),
    }
}

/// Numbers may be written as text.
fn same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    one == other || text(one).is_some_and(|one| Some(one) == text(other))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state() -> Value {
        json!({
            "dns-resolver": {"running": {"server": ["192.0.2.1"]}, "config": {}},
            "routes": {"running": [
                {"destination": "0.0.0.0/0", "next-hop-interface": "eth1", "next-hop-address": "192.0.2.1", "table-id": 254},
                {"destination": "198.51.100.0/24", "next-hop-interface": "eth1"},
                {"destination": "203.0.113.0/24", "next-hop-interface": "eth2"},
            ], "config": []},
            "interfaces": [
                {"name": "eth1", "type": "ethernet", "mac-address": "02:00:00:00:00:01", "ipv4": {"address": [{"ip": "192.0.2.10", "prefix-length": 24}]}},
                {"name": "eth2", "type": "ethernet"},
            ],
        })
    }

    fn ask(questions: &[(&str, &str)]) -> Result<Captured, String> {
        let questions = questions.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        capture(&questions, &state(), &Captured::new())
    }

    /// The example of the upstream guide: a bridge over the NIC of the default route.
    #[test]
    fn a_bridge_takes_over_the_default_route() {
        let captured = ask(&[
            ("base-iface", "interfaces.name == capture.default-gw.routes.running.0.next-hop-interface"),
            ("base-iface-routes", "routes.running.next-hop-interface==capture.default-gw.routes.running.0.next-hop-interface"),
            ("bridge-routes", r#"capture.base-iface-routes | routes.running.next-hop-interface := "br1""#),
            ("default-gw", r#"routes.running.destination=="0.0.0.0/0""#),
            ("dns", "dns-resolver.running"),
        ])
        .unwrap();
        let desired = json!({
            "interfaces": [
                {"name": "br1", "type": "linux-bridge",
                 "ipv4": "{{ capture.base-iface.interfaces.0.ipv4 }}",
                 "bridge": {"port": [{"name": "{{ capture.base-iface.interfaces.0.name }}"}]}},
                {"name": "x", "description": "over {{ capture.base-iface.interfaces.0.name }}, table {{ capture.default-gw.routes.running.0.table-id }}"},
            ],
            "routes": {"config": "{{ capture.bridge-routes.routes.running }}"},
            "dns-resolver": {"config": {"server": "{{ capture.dns.dns-resolver.running.server }}"}},
        });
        assert_eq!(
            fill_in(&desired, &captured).unwrap(),
            json!({
                "interfaces": [
                    {"name": "br1", "type": "linux-bridge",
                     "ipv4": {"address": [{"ip": "192.0.2.10", "prefix-length": 24}]},
                     "bridge": {"port": [{"name": "eth1"}]}},
                    {"name": "x", "description": "over eth1, table 254"},
                ],
                "routes": {"config": [
                    {"destination": "0.0.0.0/0", "next-hop-interface": "br1", "next-hop-address": "192.0.2.1", "table-id": 254},
                    {"destination": "198.51.100.0/24", "next-hop-interface": "br1"},
                ]},
                "dns-resolver": {"config": {"server": ["192.0.2.1"]}},
            })
        );
        assert_eq!(
            captured["dns"],
            json!({"dns-resolver": {"running": {"server": ["192.0.2.1"]}}})
        );
        assert_eq!(captured["default-gw"]["routes"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn what_is_known_is_not_asked_again() {
        let known = Captured::from([("gw".to_owned(), json!({"then": 1}))]);
        let questions = BTreeMap::from([("gw".to_owned(), "interfaces.0".to_owned())]);
        assert_eq!(capture(&questions, &state(), &known).unwrap(), known);
    }

    #[test]
    fn mistakes_are_explained() {
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[("a", "capture.b | x"), ("b", "capture.a | x")], "capture a asks for itself"),
            (&[("a", "x == capture.none.y")], "there is no capture none"),
            (&[("a", "")], "expected a path"),
            (&[("a", "x ==")], "expected a value"),
            (&[("a", "x == \"open")], "the text has no end"),
            (&[("a", "x == 1 y")], "unexpected"),
            (&[("a", "nothing.here")], "nothing was found at nothing"),
            (&[("a", "x..y")], "expected"),
        ];
        for (questions, part) in cases {
            let error = ask(questions).unwrap_err();
            assert!(error.contains(part), "{questions:?}: {error}");
        }
        let captured = ask(&[("gw", r#"routes.running.destination == "none""#)]).unwrap();
        for (text, part) in [
            ("{{ capture.gw.routes.running.0.next-hop-interface }}", "nothing was found at 0"),
            ("{{ capture.gw.routes.running.destination }}", "a list needs a number here"),
            ("{{ capture.other.x }}", "there is no capture other"),
            ("{{ interfaces.0 }}", "only capture."),
            ("{{ capture.gw", "without"),
            ("a {{ capture.gw.routes }}", "is no single value"),
        ] {
            let error = fill_in(&json!([text]), &captured).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
