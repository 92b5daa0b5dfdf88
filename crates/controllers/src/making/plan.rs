//! What should be there for one object, as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use landbridge_machinery::object;
use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::world::{Spot, World, controller};
use super::writes::is_ours;
use crate::mirror::Key;

/// What the API said to the last try of a write, as long as it was not done.
pub type Errors = BTreeMap<Spot, String>;

/// An object that should be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Its kind.
    pub kind: Kind,
    /// What is said about it; what is not said stays as it is.
    pub object: Value,
    /// Where nothing may stand besides what is said.
    pub whole: &'static [&'static str],
}

impl Wanted {
    /// Its name.
    pub fn name(&self) -> &str {
        object::name(&self.object)
    }
}

/// All that should be there for one object, and what is said about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What should be there.
    pub wanted: Vec<Wanted>,
    /// What is left alone if it is there: it cannot be said yet what it should look like.
    pub kept: BTreeSet<(Kind, String)>,
    /// What was made here and is somebody else's by now: it stays, and belongs to nobody.
    pub released: BTreeSet<(Kind, String)>,
    /// The status.
    pub status: Map<String, Value>,
    /// What people are told by an Event when a condition begins to say it.
    pub notices: Vec<Notice>,
}

/// Something that people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// One word for programs.
    pub reason: &'static str,
    /// The words of the condition that says it.
    pub note: String,
}

impl fmt::Display for Plan {
    /// Readable, and the same for the same plan: snapshots are compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wanted in &self.wanted {
            writeln!(f, "{} {}", wanted.kind.name(), wanted.name())?;
            for field in ["metadata", "spec", "data", "rules", "roleRef", "subjects"] {
                let mut value = wanted.object[field].clone();
                if let Some(fields) = value.as_object_mut() {
                    for known in ["name", "namespace", "ownerReferences"] {
                        fields.remove(known);
                    }
                }
                lines(f, field, &value, 1)?;
            }
        }
        for (kind, name) in &self.kept {
            writeln!(f, "{} {name}: left as it is", kind.name())?;
        }
        writeln!(f, "status")?;
        for (field, value) in &self.status {
            lines(f, field, value, 1)?;
        }
        Ok(())
    }
}

fn lines(f: &mut fmt::Formatter<'_>, name: &str, value: &Value, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            writeln!(f, "{indent}{name}:")?;
            fields.iter().try_for_each(|(name, value)| lines(f, name, value, depth + 1))
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            writeln!(f, "{indent}{name}:")?;
            list.iter().try_for_each(|value| lines(f, "-", value, depth + 1))
        }
        Value::Object(_) | Value::Null => Ok(()),
        value => writeln!(f, "{indent}{name}: {value}"),
    }
}

/// What a plan is made from.
pub struct Context<'w> {
    /// Everything that is known.
    pub world: &'w World,
    /// The object that is planned for.
    pub owner: &'w Arc<Value>,
    /// Its kind.
    pub kind: Kind,
    /// What could not be written lately.
    pub errors: &'w Errors,
    /// For the times of conditions.
    pub now: Timestamp,
    /// The name under which is written.
    pub manager: &'static str,
}

/// What is there under a name that is wanted.
pub enum Standing<'w> {
    /// Nothing.
    Absent,
    /// An object of ours.
    Ours(&'w Arc<Value>),
    /// Somebody else's.
    Taken(String),
}

impl<'w> Context<'w> {
    /// The namespace of the object.
    pub fn namespace(&self) -> &'w str {
        object::namespace(self.owner)
    }

    /// Its name.
    pub fn name(&self) -> &'w str {
        object::name(self.owner)
    }

    /// Its identity.
    pub fn uid(&self) -> &'w str {
        object::uid(self.owner)
    }

    /// Its spec.
    pub fn spec(&self) -> &'w Value {
        &self.owner["spec"]
    }

    /// Who is under a name.
    pub fn standing(&self, kind: Kind, name: &str) -> Standing<'w> {
        let Some(found) = self.world.get(kind, self.namespace(), name) else {
            return Standing::Absent;
        };
        if is_ours(kind, found, self.uid()) {
            return Standing::Ours(found);
        }
        let whose = controller(found).map_or_else(
            || "was made by somebody else".to_owned(),
            |owner| {
                let part = |field: &str| owner[field].as_str().unwrap_or_default();
                format!("belongs to {} {}", part("kind"), part("name"))
            },
        );
        Standing::Taken(format!(
            "{} {name} {whose}: it is left alone; delete it, or name one of the two differently",
            kind.name()
        ))
    }

    /// What went wrong when the object was last written.
    pub fn error(&self, kind: Kind, name: &str) -> Option<&'w str> {
        self.errors.get(&(kind, Key::new(self.namespace(), name))).map(String::as_str)
    }

    /// The control plane this service belongs to, if any.
    pub fn plane(&self) -> Option<&'w Arc<Value>> {
        let owner = controller(self.owner)?;
        let plane = Kind::OpenStackControlPlane;
        let name = owner["name"].as_str().filter(|_| owner["kind"] == plane.name())?;
        let found = self.world.get(plane, self.namespace(), name)?;
        (owner["uid"] == object::uid(found)).then_some(found)
    }

    /// The reference that makes an object belong to this one.
    pub fn reference(&self, is_controller: bool) -> Value {
        reference(self.kind, self.owner, is_controller)
    }

    /// An object that belongs to this one.
    pub fn object(&self, kind: Kind, name: &str, spec: Value) -> Value {
        let mut object = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.name(),
            "metadata": {
                "name": name,
                "namespace": self.namespace(),
                "ownerReferences": [self.reference(true)],
            },
        });
        object["spec"] = spec;
        object
    }
}

/// A reference to an owner.
pub fn reference(kind: Kind, owner: &Value, is_controller: bool) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "name": object::name(owner),
        "uid": object::uid(owner),
        "controller": is_controller,
        "blockOwnerDeletion": true,
    })
}
