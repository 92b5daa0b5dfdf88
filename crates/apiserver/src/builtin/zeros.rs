//! Defaults that are zero values: `{}`, `""`, `0`, `false`.
//!
//! Compiled schemas pass over them, because in OpenAPI documents they mostly mean nothing. The ones
//! in our own table mean something: a container always shows its `resources`, a service its
//! `status.loadBalancer`. They are filled in along the definitions, after the client's status was
//! dropped and before the rules of the kind run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::defaults::DEFAULTS;
use super::schemas::{Definitions, definitions, full_name, reference};

/// What to do with a value of one definition.
#[derive(Default)]
struct Plan {
    zeros: Vec<(&'static str, Value)>,
    /// Fields that lead to further zeros, with the definition of the field or of its elements.
    below: Vec<(String, String)>,
}

static PLANS: LazyLock<BTreeMap<String, Plan>> = LazyLock::new(plans);

/// Makes the plans now, while the definitions are at hand.
pub fn prepare() {
    LazyLock::force(&PLANS);
}

/// Fills in what is absent; says whether anything was.
pub fn fill(definition: &str, value: &mut Value) -> bool {
    let Some(plan) = PLANS.get(definition) else { return false };
    let Some(map) = value.as_object_mut() else { return false };
    let mut filled = false;
    for (field, zero) in &plan.zeros {
        if map.get(*field).is_none_or(Value::is_null) {
            map.insert((*field).to_owned(), zero.clone());
            filled = true;
        }
    }
    for (field, definition) in &plan.below {
        match map.get_mut(field) {
            Some(Value::Array(list)) => {
                for item in list {
                    filled |= fill(definition, item);
                }
            }
            Some(child) => filled |= fill(definition, child),
            None => {}
        }
    }
    filled
}

fn plans() -> BTreeMap<String, Plan> {
    let mut plans = BTreeMap::<String, Plan>::new();
    for (definition, field, default) in DEFAULTS {
        if let Some(zero) = serde_json::from_str(default).ok().filter(is_zero) {
            plans.entry(full_name(definition)).or_default().zeros.push((field, zero));
        }
    }
    let all = definitions();
    // Definitions lead to zeros when they have some, or a field that leads there.
    let mut leading: BTreeSet<String> = plans.keys().cloned().collect();
    let mut before = 0;
    while before != leading.len() {
        before = leading.len();
        for (name, _, target) in fields(&all) {
            if leading.contains(target) {
                leading.insert(name.to_owned());
            }
        }
    }
    for (name, field, target) in fields(&all).filter(|(_, _, target)| leading.contains(*target)) {
        let below = &mut plans.entry(name.to_owned()).or_default().below;
        below.push((field.to_owned(), target.to_owned()));
    }
    plans
}

/// All fields that hold a definition, or a list of one: definition, field, target.
fn fields(all: &Definitions) -> impl Iterator<Item = (&str, &str, &str)> {
    all.iter().flat_map(|(name, definition)| {
        let properties = definition["properties"].as_object().into_iter().flatten();
        properties.filter_map(move |(field, schema)| {
            let target = reference(schema).or_else(|| reference(&schema["items"]))?;
            Some((name.as_str(), field.as_str(), target))
        })
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zeros_are_filled_in_everywhere() {
        let cases = [
            (
                "core.v1.Service",
                json!({"spec": {"ports": []}}),
                json!({"spec": {"ports": []}, "status": {"loadBalancer": {}}}),
            ),
            (
                "core.v1.PodTemplateSpec",
                json!({"spec": {"containers": [{"name": "a"}, {"resources": {"limits": {}}}]}}),
                json!({"metadata": {}, "spec": {"securityContext": {}, "containers": [
                    {"name": "a", "resources": {}}, {"resources": {"limits": {}}}]}}),
            ),
            (
                "apps.v1.ReplicaSet",
                json!({"spec": {}, "status": {"replicas": 2}}),
                json!({"spec": {}, "status": {"replicas": 2}}),
            ),
            (
                "core.v1.PodSpec", // a volume has no zeros itself, but leads to some
                json!({"securityContext": {}, "volumes": [{"hostPath": {"path": "/"}}]}),
                json!({"securityContext": {}, "volumes": [{"hostPath": {"path": "/", "type": ""}}]}),
            ),
            ("core.v1.ConfigMap", json!({}), json!({})),
        ];
        for (definition, mut value, wanted) in cases {
            let changed = value != wanted;
            assert_eq!(fill(&full_name(definition), &mut value), changed, "{definition}");
            assert_eq!(value, wanted, "{definition}");
            assert!(!fill(&full_name(definition), &mut value), "{definition}: only once");
        }
    }

    #[test]
    fn plans_are_few() {
        let name = |short: &str| PLANS.contains_key(&full_name(short));
        assert!(name("apps.v1.Deployment") && name("core.v1.PodSpec"));
        assert!(!name("core.v1.ConfigMap") && !name("meta.v1.ObjectMeta"));
    }
}
