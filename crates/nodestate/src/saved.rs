//! What is remembered on disk: the state before a change, while it is under way; and everything that
//! has been applied so far, for a boot without the API.

use landbridge_linux::Checkpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::files::{self, Files};
use crate::state::State;

/// The version of both files.
const VERSION: u32 = 1;

/// A node before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) version: u32,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) state: State,
    /// The files as they were, to the letter.
    pub(crate) resolver: Option<String>,
    pub(crate) hostname: Option<String>,
}

impl Before {
    pub(crate) fn new(checkpoint: Checkpoint, state: State, files: &Files) -> Result<Self, Error> {
        Ok(Self {
            version: VERSION,
            checkpoint,
            state,
            resolver: files::read(&files.resolver)?,
            hostname: files::read(&files.hostname)?,
        })
    }

    pub(crate) fn write(&self, files: &Files) -> Result<(), Error> {
        files.prepare()?;
        let text = serde_json::to_string(self).map_err(|error| broken(files, error))?;
        files::replace(&files.checkpoint(), &text, 0o600)
    }

    /// What a change that was cut short left behind.
    pub(crate) fn read(files: &Files) -> Result<Option<Self>, Error> {
        let Some(text) = files::read(&files.checkpoint())? else { return Ok(None) };
        let before: Self = serde_json::from_str(&text).map_err(|error| broken(files, error))?;
        if before.version != VERSION {
            let why = format!("version {} is not {VERSION}", before.version);
            return Err(broken(files, std::io::Error::other(why)));
        }
        Ok(Some(before))
    }
}

fn broken(files: &Files, error: impl Into<std::io::Error>) -> Error {
    Error::File { what: "understand", path: files.checkpoint(), source: error.into() }
}

/// Everything that has been applied so far, as one desired state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Applied {
    pub(crate) version: u32,
    pub(crate) desired: Value,
}

impl Applied {
    pub(crate) fn read(files: &Files) -> Result<Option<Self>, Error> {
        let path = files.applied();
        let Some(text) = files::read(&path)? else { return Ok(None) };
        let failed = |source| Error::File { what: "understand", path: path.clone(), source };
        let applied: Self = serde_json::from_str(&text).map_err(|error| failed(error.into()))?;
        if applied.version != VERSION {
            let why = format!("version {} is not {VERSION}", applied.version);
            return Err(failed(std::io::Error::other(why)));
        }
        Ok(Some(applied))
    }

    /// Adds what has been applied now to what was before.
    pub(crate) fn remember(files: &Files, desired: &Value) -> Result<(), Error> {
        files.prepare()?;
        // What cannot be understood any more is replaced: the newest word counts.
        let old = Self::read(files).ok().flatten().unwrap_or_default().desired;
        let applied = Self { version: VERSION, desired: accumulated(&old, desired) };
        let path = files.applied();
        let text = serde_json::to_string(&applied).map_err(|error| Error::File {
            what: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        files::replace(&path, &text, 0o600)
    }
}

/// One desired state that means: first the old one, then the new one.
///
/// Interfaces go by name and merge key by key, lists are replaced, and what is absent is forgotten, for
/// a fresh boot has it not. Routes and rules are collected.
pub(crate) fn accumulated(old: &Value, new: &Value) -> Value {
    let mut all = old.as_object().cloned().unwrap_or_default();
    for (key, value) in new.as_object().into_iter().flatten() {
        let before = all.remove(key).unwrap_or_default();
        let after = match key.as_str() {
            "interfaces" => interfaces(&before, value),
            "routes" | "route-rules" => collected(&before, value),
            _ => over(&before, value),
        };
        all.insert(key.clone(), after);
    }
    Value::Object(all)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn interfaces(old: &Value, new: &Value) -> Value {
    let mut all: Vec<Value> = list(old).cloned().collect();
    for wish in list(new) {
        let at = all.iter().position(|other| other.get("name") == wish.get("name"));
        let state = wish.get("state").and_then(Value::as_str).unwrap_or("up");
        match (at, state) {
            (_, "ignore") | (None, "absent") => {}
            (Some(at), "absent") => {
                all.remove(at);
            }
            (Some(at), _) => all[at] = over(&all[at], wish),
            (None, _) => all.push(wish.clone()),
        }
    }
    Value::Array(all)
}

/// The new value over the old one, key by key.
fn over(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut all = old.clone();
            for (key, value) in new {
                let merged = over(all.get(key).unwrap_or(&Value::Null), value);
                all.insert(key.clone(), merged);
            }
            Value::Object(all)
        }
        (_, new) => new.clone(),
    }
}

/// Entries of `config`: new ones are added, patterns of absent ones take old ones away.
fn collected(old: &Value, new: &Value) -> Value {
    let mut all: Vec<Value> = list(&old["config"]).cloned().collect();
    for entry in list(&new["config"]) {
        let absent = entry.get("state").and_then(Value::as_str) == Some("absent");
        if absent {
            let given = entry.as_object().into_iter().flatten().filter(|(key, _)| *key != "state");
            let given: Vec<_> = given.collect();
            all.retain(|other| !given.iter().all(|(key, value)| other.get(key) == Some(value)));
        } else if !all.contains(entry) {
            all.push(entry.clone());
        }
    }
    serde_json::json!({ "config": all })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_policies_are_one_at_boot() {
        let first = json!({
            "interfaces": [
                {"name": "a.20", "type": "vlan", "mtu": 1500, "vlan": {"base-iface": "a", "id": 20}},
                {"name": "b", "type": "linux-bridge", "bridge": {"port": [{"name": "a.20"}]}},
            ],
            "routes": {"config": [
                {"destination": "192.0.2.0/24", "next-hop-interface": "b"},
                {"destination": "198.51.100.0/24", "next-hop-interface": "b"},
            ]},
        });
        let second = json!({
            "interfaces": [
                {"name": "a.20", "mtu": 1400},
                {"name": "b", "bridge": {"port": []}},
                {"name": "c", "state": "absent"},
                {"name": "d", "state": "ignore"},
            ],
            "routes": {"config": [
                {"state": "absent", "next-hop-interface": "b", "destination": "192.0.2.0/24"},
            ]},
            "hostname": {"config": "x"},
        });
        let all = accumulated(&accumulated(&Value::Null, &first), &second);
        assert_eq!(
            all,
            json!({
                "interfaces": [
                    {"name": "a.20", "type": "vlan", "mtu": 1400, "vlan": {"base-iface": "a", "id": 20}},
                    {"name": "b", "type": "linux-bridge", "bridge": {"port": []}},
                ],
                "routes": {"config": [
                    {"destination": "198.51.100.0/24", "next-hop-interface": "b"},
                ]},
                "hostname": {"config": "x"},
            })
        );
        assert_eq!(accumulated(&all, &second), all);
        let gone = json!({"interfaces": [{"name": "b", "state": "absent"}]});
        assert_eq!(list(&accumulated(&all, &gone)["interfaces"]).count(), 1);
    }
}
