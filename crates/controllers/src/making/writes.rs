//! From what is there to what should be: the writes.
//!
//! - What somebody else made is never written and never deleted.
//! - What is not said about an object of ours stays as it is, except for labels and annotations that
//!   were set here once and are not wanted any more, and for parts that are said as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use landbridge_machinery::object;
use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::plan::{Context, Notice, Plan, Wanted};
use super::world::{World, controller, owners};
use crate::mirror::Key;

/// One write, or one look at what was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Of what kind.
    pub kind: Kind,
    /// Where.
    pub key: Key,
    /// How.
    pub verb: Verb,
}

/// How something is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// A new object.
    Create(Value),
    /// In place of exactly the state it names.
    Update(Value),
    /// A merge patch that names the state it is for.
    Patch(Value),
    /// A merge patch of the status that names the object it is for.
    Status(Value),
    /// Away with this very object.
    Delete {
        /// Its uid.
        uid: String,
    },
    /// No write: it may be there, and was not seen.
    Read,
    /// An Event about the object.
    Tell {
        /// Its uid.
        uid: String,
        /// What is said.
        notice: Notice,
    },
}

/// Whether an object belongs to the one with this uid. A Route of a service belongs to the control
/// plane first.
pub fn is_ours(kind: Kind, object: &Value, uid: &str) -> bool {
    if kind == Kind::Route {
        return owners(object).any(|owner| owner == uid);
    }
    controller(object).is_some_and(|owner| owner["uid"] == uid)
}

/// What has to be written for a plan.
pub fn writes(context: &Context<'_>, plan: &Plan) -> Vec<Action> {
    let mut actions = Vec::new();
    let namespace = context.namespace();
    let stays = plan.kept.iter().chain(&plan.released);
    let mut names: BTreeSet<(Kind, &str)> =
        stays.map(|(kind, name)| (*kind, name.as_str())).collect();
    for (kind, name) in &plan.released {
        let key = Key::new(namespace, name);
        let live = context.world.at(*kind, &key);
        let ours = live.filter(|live| is_ours(*kind, live, context.uid()));
        actions.extend(ours.map(|live| {
            let verb = Verb::Update(released(live, context.uid()));
            Action { kind: *kind, key: key.clone(), verb }
        }));
    }
    for wanted in &plan.wanted {
        names.insert((wanted.kind, wanted.name()));
        let key = Key::new(namespace, wanted.name());
        let verb = match context.world.at(wanted.kind, &key) {
            None => Some(Verb::Create(without_nulls(&wanted.object))),
            Some(live) if !is_ours(wanted.kind, live, context.uid()) => None,
            // It comes back when it is gone.
            Some(live) if object::is_terminating(live) => None,
            Some(live) => {
                let merged = merged(live, wanted, context.manager);
                (merged != **live).then_some(Verb::Update(merged))
            }
        };
        actions.extend(verb.map(|verb| Action { kind: wanted.kind, key, verb }));
    }
    let is_wanted = |kind: Kind, live: &Value| names.contains(&(kind, object::name(live)));
    actions.extend(
        next_stage(context.world, context.kind, context.uid(), is_wanted).into_iter().flatten(),
    );
    actions.extend(status(context, &plan.status));
    actions.extend(tell(context, &plan.notices));
    actions
}

/// Takes away what is not wanted of an object's own, one stage after the other: what comes later stays
/// until the earlier is gone. `None` when nothing is left.
pub fn next_stage(
    world: &World,
    kind: Kind,
    uid: &str,
    is_wanted: impl Fn(Kind, &Value) -> bool,
) -> Option<Vec<Action>> {
    kind.makes().iter().find_map(|stage| {
        let mut left =
            ours(world, uid, stage).filter(|(kind, live)| !is_wanted(*kind, live)).peekable();
        left.peek()?;
        Some(left.filter_map(|(kind, live)| deletion(kind, live)).collect())
    })
}

/// What belongs to an object, of some kinds.
fn ours<'w>(
    world: &'w World,
    uid: &'w str,
    kinds: &'w [Kind],
) -> impl Iterator<Item = (Kind, &'w Arc<Value>)> {
    let owned = world.owned_by(uid).filter(|(kind, _)| kinds.contains(kind));
    owned.filter(move |(kind, object)| is_ours(*kind, object, uid))
}

/// The deletion of an object, if it has not begun.
fn deletion(kind: Kind, live: &Value) -> Option<Action> {
    if object::is_terminating(live) {
        return None;
    }
    let key = Key::new(object::namespace(live), object::name(live));
    Some(Action { kind, key, verb: Verb::Delete { uid: object::uid(live).to_owned() } })
}

fn status(context: &Context<'_>, wanted: &Map<String, Value>) -> Option<Action> {
    let live = &context.owner["status"];
    let mut patch = Map::new();
    for (field, value) in wanted {
        if let Some(difference) = difference(&live[field], value) {
            patch.insert(field.clone(), difference);
        }
    }
    if patch.is_empty() {
        return None;
    }
    let key = Key::new(context.namespace(), context.name());
    let patch = json!({"metadata": {"uid": context.uid()}, "status": patch});
    Some(Action { kind: context.kind, key, verb: Verb::Status(patch) })
}

/// What is to be said once: as long as a condition of the object says it, it was said.
fn tell(context: &Context<'_>, notices: &[Notice]) -> Vec<Action> {
    let conditions =
        context.owner["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let is_said =
        |notice: &&Notice| conditions.iter().any(|condition| condition["message"] == *notice.note);
    let new = notices.iter().filter(|notice| !is_said(notice));
    new.map(|notice| Action {
        kind: context.kind,
        key: Key::new(context.namespace(), context.name()),
        verb: Verb::Tell { uid: context.uid().to_owned(), notice: notice.clone() },
    })
    .collect()
}

/// The merge patch from one value to another; `None` when there is nothing to change.
fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        let is_nothing =
            |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        return (from != to && !(is_nothing(from) && is_nothing(to))).then(|| to.clone());
    };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let before = old.get(name).unwrap_or(&Value::Null);
        if let Some(difference) = difference(before, value) {
            patch.insert(name.clone(), difference);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, v)| (name.clone(), without_nulls(v))).collect())
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The object as it should be: what is there, and what is said about it.
pub fn merged(live: &Value, wanted: &Wanted, manager: &str) -> Value {
    let mut merged = live.clone();
    let mut said = without_nulls(&wanted.object);
    let references = said["metadata"].as_object_mut().and_then(|m| m.remove("ownerReferences"));
    for field in ["labels", "annotations"] {
        for key in set_here(live, field, manager) {
            let pointer = format!("/metadata/{field}");
            if said["metadata"][field].get(&key).is_none()
                && let Some(map) = merged.pointer_mut(&pointer).and_then(Value::as_object_mut)
            {
                map.remove(&key);
            }
        }
    }
    overlay(&mut merged, &said);
    adopt(&mut merged, references.as_ref());
    for pointer in wanted.whole {
        as_said(&mut merged, &said, pointer);
    }
    if wanted.kind == Kind::Service {
        drop_what_the_type_forbids(&mut merged);
    }
    merged
}

/// Without the references to an owner; those to others stay.
fn released(live: &Value, uid: &str) -> Value {
    let mut object = live.clone();
    let mut list: Vec<Value> = object::owner_references(live).to_vec();
    list.retain(|reference| reference["uid"] != uid);
    object["metadata"]["ownerReferences"] = list.into();
    object
}

/// Whether somebody else said last what a field of the spec is.
pub fn is_anothers(live: &Value, field: &str, manager: &str) -> bool {
    let mut entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
    let names = format!("f:{field}");
    entries.any(|entry| {
        entry["manager"] != manager && entry["fieldsV1"]["f:spec"].get(&names).is_some()
    })
}

/// Adds the references that are missing; those of others stay.
fn adopt(object: &mut Value, references: Option<&Value>) {
    let mut list: Vec<Value> = object::owner_references(object).to_vec();
    let before = list.len();
    for reference in references.and_then(Value::as_array).into_iter().flatten() {
        match list.iter_mut().find(|known| known["uid"] == reference["uid"]) {
            Some(known) => overlay(known, reference),
            None => list.push(reference.clone()),
        }
    }
    if before != list.len() || object::owner_references(object) != list.as_slice() {
        object["metadata"]["ownerReferences"] = list.into();
    }
}

/// Puts what is said over what is there. Lists of the same length are gone through one by one,
/// because the API adds to their elements.
fn overlay(there: &mut Value, said: &Value) {
    match (there, said) {
        (Value::Object(there), Value::Object(said)) => {
            for (name, value) in said {
                match there.get_mut(name) {
                    Some(known) => overlay(known, value),
                    None => {
                        there.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(there), Value::Array(said))
            if there.len() == said.len() && said.iter().all(Value::is_object) =>
        {
            there.iter_mut().zip(said).for_each(|(there, said)| overlay(there, said));
        }
        (there, said) => *there = said.clone(),
    }
}

/// Makes a part exactly as said, or takes it away.
fn as_said(object: &mut Value, said: &Value, pointer: &str) {
    if let Some(value) = said.pointer(pointer) {
        if let Some(place) = object.pointer_mut(pointer) {
            *place = value.clone();
        }
        return;
    }
    let Some((above, name)) = pointer.rsplit_once('/') else { return };
    if let Some(fields) = object.pointer_mut(above).and_then(Value::as_object_mut) {
        fields.remove(name);
    }
}

/// Labels or annotations that were last set here, as the API has recorded it.
fn set_here(live: &Value, field: &str, manager: &str) -> Vec<String> {
    let entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
    let own = entries.filter(|entry| entry["manager"] == manager);
    own.flat_map(|entry| {
        let keys = entry["fieldsV1"]["f:metadata"][format!("f:{field}")].as_object();
        keys.into_iter().flatten().filter_map(|(key, _)| Some(key.strip_prefix("f:")?.to_owned()))
    })
    .collect()
}

fn drop_what_the_type_forbids(service: &mut Value) {
    let kind = service["spec"]["type"].as_str().unwrap_or("ClusterIP").to_owned();
    let Some(spec) = service["spec"].as_object_mut() else { return };
    if kind != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "healthCheckNodePort", "loadBalancerClass"] {
            spec.remove(field);
        }
    }
    if kind == "ClusterIP" {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
        for port in ports.filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANAGER: &str = "landbridge-test";

    fn service(spec: &Value) -> Wanted {
        let object = json!({"metadata": {"name": "a", "annotations": {"x": "1"}}, "spec": spec});
        Wanted {
            kind: Kind::Service,
            object,
            whole: &["/spec/selector", "/spec/externalTrafficPolicy"],
        }
    }

    #[test]
    fn what_is_not_said_stays_and_what_was_said_once_goes() {
        let live = json!({
            "metadata": {
                "name": "a", "annotations": {"x": "0", "old": "1", "theirs": "1"},
                "managedFields": [
                    {"manager": MANAGER, "fieldsV1": {"f:metadata": {"f:annotations": {"f:x": {}, "f:old": {}}}}},
                    {"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:annotations": {"f:theirs": {}}}}},
                ],
            },
            "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.9", "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": true, "selector": {"gone": "1"},
                "ports": [{"port": 80, "nodePort": 30000}]},
        });
        let wanted =
            service(&json!({"type": "ClusterIP", "selector": {"a": "b"}, "ports": [{"port": 81}]}));
        let merged = merged(&live, &wanted, MANAGER);
        assert_eq!(merged["metadata"]["annotations"], json!({"x": "1", "theirs": "1"}));
        let spec = json!({"type": "ClusterIP", "clusterIP": "10.96.0.9", "selector": {"a": "b"}, "ports": [{"port": 81}]});
        assert_eq!(merged["spec"], spec);
    }

    #[test]
    fn a_second_look_changes_nothing() {
        let wanted =
            service(&json!({"type": "ClusterIP", "selector": {"a": "b"}, "ports": [{"port": 81}]}));
        let live = json!({"metadata": {"name": "a"}, "spec": {"sessionAffinity": "None", "ports": [{"port": 81, "protocol": "TCP"}]}});
        let once = merged(&live, &wanted, MANAGER);
        assert_eq!(merged(&once, &wanted, MANAGER), once);
    }

    #[test]
    fn differences_are_the_smallest_patch() {
        let from = json!({"a": 1, "b": {"c": 1, "d": 2}});
        assert_eq!(difference(&from, &from), None);
        let to = json!({"a": 1, "b": {"c": 3}});
        assert_eq!(difference(&from, &to), Some(json!({"b": {"c": 3, "d": null}})));
        assert_eq!(difference(&Value::Null, &json!({})), None);
        assert_eq!(difference(&Value::Null, &json!([])), Some(json!([])));
    }

    #[test]
    fn references_of_others_stay() {
        let mut live = json!({"metadata": {"ownerReferences": [{"uid": "1"}]}});
        adopt(&mut live, Some(&json!([{"uid": "2"}])));
        assert_eq!(live["metadata"]["ownerReferences"], json!([{"uid": "1"}, {"uid": "2"}]));
    }
}
