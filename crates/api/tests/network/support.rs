//! A small world of objects, and the road an object takes into it.

use std::sync::Arc;

use landbridge_api::network::{GROUP, VERSION};
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::gvk::{GroupKind, GroupVersionKind};
use landbridge_machinery::hooks::{Hooks, Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "openstack";

/// All objects there are.
#[derive(Default)]
pub struct World(Vec<Arc<Value>>);

impl Objects for World {
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.list(kind, namespace).into_iter().find(|found| object::name(found) == name)
    }

    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let matches = |found: &&Arc<Value>| {
            object::kind(found).is_some_and(|gvk| gvk.group_kind() == *kind)
                && namespace.is_none_or(|namespace| object::namespace(found) == namespace)
        };
        self.0.iter().filter(matches).cloned().collect()
    }
}

impl World {
    /// A world that holds these objects, however wrong they are.
    pub fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        Self(objects.into_iter().map(Arc::new).collect())
    }

    fn hooks(kind: &str) -> Arc<dyn Hooks> {
        landbridge_api::hooks(GROUP, kind).expect("kind without hooks")
    }

    fn ask(
        &self,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> ApiResult<Vec<String>> {
        let kind = object::kind(object).expect("kind");
        let request = self.request(operation, &kind, old, object);
        Self::hooks(&kind.kind).validate(&request, object)
    }

    fn request<'a>(
        &'a self,
        operation: Operation,
        kind: &'a GroupVersionKind,
        old: Option<&'a Value>,
        object: &'a Value,
    ) -> Request<'a> {
        Request {
            operation,
            kind,
            namespace: Some(object::namespace(object)),
            name: object::name(object),
            old,
            user: "tester",
            dry_run: false,
            objects: self,
        }
    }

    /// Asks whether `object` may be created.
    pub fn create(&self, object: &Value) -> ApiResult<Vec<String>> {
        self.ask(Operation::Create, None, object)
    }

    /// Asks whether `old` may become `new`.
    pub fn update(&self, old: &Value, new: &Value) -> ApiResult<Vec<String>> {
        self.ask(Operation::Update, Some(old), new)
    }

    /// Asks whether `object` may go.
    pub fn delete(&self, object: &Value) -> ApiResult<Vec<String>> {
        self.ask(Operation::Delete, Some(object), object)
    }

    /// What the mutating rules make of `object`.
    pub fn mutate(&self, mut object: Value) -> Value {
        let before = object.clone();
        let kind = object::kind(&before).expect("kind");
        let request = self.request(Operation::Create, &kind, None, &before);
        Self::hooks(&kind.kind).mutate(&request, &mut object).unwrap();
        object
    }

    /// The whole road of a manifest, as the server takes it: unknown fields, defaults, mutating
    /// rules, schema, validating rules. The object is in the world afterwards.
    pub fn apply(&mut self, mut object: Value) -> ApiResult<Vec<String>> {
        if object::namespace(&object).is_empty() {
            object::set_meta(&mut object, "namespace", NAMESPACE);
        }
        let kind = object::kind(&object).expect("kind");
        let schema = schema(&kind.kind);
        assert_eq!(schema.unknown_fields(&object), Vec::<String>::new(), "unknown fields");
        schema.prune_nulls(&mut object);
        schema.apply_defaults(&mut object);
        let mut object = self.mutate(object);
        schema.apply_defaults(&mut object);
        let errors = schema.validate(&object, None);
        if !errors.is_empty() {
            let name = object::name(&object);
            return Err(ApiError::invalid(&kind.group_kind(), name, &errors));
        }
        let warnings = self.create(&object)?;
        self.0.push(Arc::new(object));
        Ok(warnings)
    }
}

/// The compiled schema of a kind.
pub fn schema(kind: &str) -> Schema {
    let crd = landbridge_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref();
    let schema = serde_json::to_value(schema.unwrap()).unwrap();
    Schema::structural(&schema, &FieldPath::root()).unwrap_or_else(|e| panic!("{kind}: {e:?}"))
}

/// An object of one of our kinds.
pub fn object(kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
    });
    object["spec"] = spec;
    object
}

/// `object` with a change to its JSON.
pub fn changed(object: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = object.clone();
    change(&mut changed);
    changed
}

/// The lines of a 422, without `Kind "name" is invalid:`.
pub fn refusals(answer: ApiResult<Vec<String>>) -> Vec<String> {
    let error = match answer {
        Ok(warnings) => panic!("accepted, with warnings {warnings:?}"),
        Err(error) => error,
    };
    assert_eq!((error.code, error.reason), (422, "Invalid"), "{error}");
    let causes = error.details["causes"].as_array().unwrap();
    causes
        .iter()
        .map(|cause| {
            let part = |field: &str| cause[field].as_str().unwrap();
            format!("{}: {}", part("field"), part("message"))
        })
        .collect()
}

/// Code and text of any other refusal.
pub fn refusal(answer: ApiResult<Vec<String>>) -> (u16, String) {
    let error = answer.expect_err("accepted");
    (error.code, error.message)
}

/// A block of the ledger.
pub fn block(segment: &str, base: &str, claims: &Value) -> Value {
    json!({
        "apiVersion": "landbridge.dev/v1alpha1", "kind": "AddressBlock",
        "metadata": {"name": format!("{segment}.{base}")},
        "spec": {"segment": segment, "block": format!("{base}/26"), "claims": claims},
    })
}

/// The claim of an IPSet.
pub fn claim(name: &str, fixed: bool) -> Value {
    json!({"kind": "IPSet", "namespace": NAMESPACE, "name": name, "uid": "u", "fixed": fixed})
}
