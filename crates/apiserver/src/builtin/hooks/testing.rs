//! Runs hooks in tests as the server does.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use landbridge_machinery::gvk::{GroupKind, GroupVersionKind};
use landbridge_machinery::hooks::{Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use super::super::{events, resources};
use crate::registry::Resource;

static RESOURCES: LazyLock<Vec<Arc<Resource>>> = LazyLock::new(resources);

/// A handful of objects, by kind and name.
#[derive(Default)]
pub struct Known(BTreeMap<(String, String), Arc<Value>>);

impl Known {
    /// These objects and no others.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let key = |o: &Value| {
            (o["kind"].as_str().unwrap_or_default().to_owned(), object::name(o).to_owned())
        };
        Self(objects.into_iter().map(|o| (key(&o), Arc::new(o))).collect())
    }
}

impl Objects for Known {
    fn get(&self, kind: &GroupKind, _: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.0.get(&(kind.kind.clone(), name.to_owned())).cloned()
    }

    fn list(&self, kind: &GroupKind, _: Option<&str>) -> Vec<Arc<Value>> {
        self.0.iter().filter(|((k, _), _)| *k == kind.kind).map(|(_, o)| o.clone()).collect()
    }
}

/// Defaults, mutates and judges `object`, as the server does; returns what would be stored.
pub fn admit_with(
    group: &str,
    kind: &str,
    old: Option<&Value>,
    mut object: Value,
    objects: &Known,
) -> ApiResult<Value> {
    let resource = RESOURCES.iter().find(|r| r.group == group && r.kind == kind).expect("kind");
    let gvk = GroupVersionKind::new(group, "v1", kind);
    resource.versions[0].schema.apply_defaults(&mut object);
    if group == events::GROUP {
        events::to_core(&mut object);
    }
    let name = object::name(&object).to_owned();
    let namespace = object::namespace(&object).to_owned();
    let request = Request {
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        kind: &gvk,
        namespace: resource.namespaced.then_some(namespace.as_str()),
        name: &name,
        old,
        user: "tester",
        dry_run: false,
        objects,
    };
    resource.hooks.mutate(&request, &mut object)?;
    resource.hooks.validate(&request, &object)?;
    Ok(object)
}

/// [`admit_with`] and no other objects.
pub fn admit(group: &str, kind: &str, old: Option<&Value>, object: Value) -> ApiResult<Value> {
    admit_with(group, kind, old, object, &Known::default())
}

/// What is stored on create.
pub fn created(group: &str, kind: &str, object: Value) -> Value {
    admit(group, kind, None, object).expect("admitted")
}

/// The lines of a refusal: `path: message`, or the message of one without causes.
pub fn lines(result: &ApiResult<Value>) -> Vec<String> {
    let Err(ApiError { details, message, .. }) = result else { return Vec::new() };
    let causes = details.get("causes").and_then(Value::as_array).cloned().unwrap_or_default();
    if causes.is_empty() {
        return vec![message.clone()];
    }
    causes
        .iter()
        .map(|c| {
            format!(
                "{}: {}",
                c["field"].as_str().unwrap_or(""),
                c["message"].as_str().unwrap_or("")
            )
        })
        .collect()
}
