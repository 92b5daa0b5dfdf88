//! One object, several managers, a clock.

use landbridge_machinery::apply::{
    ApplyRequest, FieldSet, ManagedFields, Operation, Write, apply, track_update,
};
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::status::ApiError;
use serde_json::{Value, json};

pub const VERSION: &str = "example.org/v1";

pub fn schema() -> Schema {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let with = |mut schema: Value, key: &str, value: Value| {
        schema[key] = value;
        schema
    };
    let set = with(texts.clone(), "x-kubernetes-list-type", json!("set"));
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let keyed = |keys: Value, item: Value| {
        json!({"type": "array", "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys})
    };
    let element = with(
        object(json!({"name": text, "value": {"type": "integer"}, "values": set})),
        "required",
        json!(["name"]),
    );
    let port = with(
        object(json!({
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": text,
        })),
        "required",
        json!(["port"]),
    );
    let spec = object(json!({
        "replicas": {"type": "integer"},
        "name": text,
        "maybe": {"type": "string", "nullable": true},
        "list": keyed(json!(["name"]), element),
        "ports": keyed(json!(["port", "protocol"]), port),
        "set": set,
        "atomic": texts,
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic",
            "properties": {"a": text, "b": text}},
        "tags": {"type": "object", "additionalProperties": text},
        "nested": object(json!({"inner": object(json!({"a": text, "b": text})), "c": text})),
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }));
    let status = object(json!({"phase": text, "ready": {"type": "integer"}}));
    let root = object(json!({"spec": spec, "status": status}));
    Schema::structural(&root, &FieldPath::root()).unwrap()
}

/// An object with this spec.
pub fn with_spec(spec: Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": "o"}, "spec": spec})
}

/// A server that holds one object.
pub struct Bench {
    pub schema: Schema,
    pub live: Option<Value>,
    pub version: String,
    pub subresource: Option<String>,
    pub ignored: FieldSet,
    ticks: u32,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            schema: schema(),
            live: None,
            version: VERSION.to_owned(),
            subresource: None,
            ignored: FieldSet::of_fields(&["status"]),
            ticks: 0,
        }
    }

    pub fn now(&mut self) -> String {
        self.ticks += 1;
        format!("2024-01-01T00:{:02}:{:02}Z", self.ticks / 60, self.ticks % 60)
    }

    fn write<'a>(&'a self, manager: &'a str, now: &'a str) -> Write<'a> {
        Write {
            schema: &self.schema,
            manager,
            api_version: &self.version,
            subresource: self.subresource.as_deref(),
            now,
            ignored: &self.ignored,
        }
    }

    /// Applies a whole object.
    pub fn try_apply(
        &mut self,
        manager: &str,
        config: &Value,
        force: bool,
    ) -> Result<(), ApiError> {
        let now = self.now();
        let write = self.write(manager, &now);
        let live = self.live.as_ref();
        let new = apply(ApplyRequest { live, config, force, write })?;
        self.live = Some(new);
        Ok(())
    }

    pub fn apply(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.try_apply(manager, &with_spec(spec), false).unwrap();
        self
    }

    pub fn force(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.try_apply(manager, &with_spec(spec), true).unwrap();
        self
    }

    /// Applies in vain; returns `manager path` of each conflict.
    pub fn conflict(&mut self, manager: &str, spec: Value) -> Vec<String> {
        let before = self.live.clone();
        let error = self.try_apply(manager, &with_spec(spec), false).unwrap_err();
        assert_eq!((error.code, error.reason), (409, "Conflict"), "{error}");
        assert_eq!(self.live, before);
        let causes = error.details["causes"].as_array().unwrap().clone();
        let cause = |cause: &Value| {
            assert_eq!(cause["reason"], "FieldManagerConflict");
            let who = cause["message"].as_str().unwrap().strip_prefix("conflict with ").unwrap();
            format!("{who} {}", cause["field"].as_str().unwrap())
        };
        causes.iter().map(cause).collect()
    }

    /// Creates or replaces, keeping metadata and status.
    pub fn update(&mut self, manager: &str, spec: Value) -> &mut Self {
        let mut new = self.live.clone().unwrap_or_else(|| with_spec(json!({})));
        new["metadata"].as_object_mut().unwrap().remove("managedFields");
        new["spec"] = spec;
        self.put(manager, new)
    }

    pub fn put(&mut self, manager: &str, mut new: Value) -> &mut Self {
        let now = self.now();
        track_update(self.live.as_ref(), &mut new, &self.write(manager, &now));
        self.live = Some(new);
        self
    }

    pub fn object(&self) -> &Value {
        self.live.as_ref().unwrap()
    }

    pub fn spec(&self) -> &Value {
        &self.object()["spec"]
    }

    pub fn managed(&self) -> ManagedFields {
        let json = &self.object()["metadata"]["managedFields"];
        ManagedFields::parse(json).unwrap()
    }

    /// What a manager owns: paths without `.spec`.
    pub fn owned(&self, manager: &str, operation: Operation) -> Vec<String> {
        let all = self.managed();
        let entry = all
            .entries
            .iter()
            .find(|e| e.owner.manager == manager && e.owner.operation == operation);
        let paths = entry.map(|e| e.fields.paths()).unwrap_or_default();
        paths.iter().map(|p| p.to_string().replacen(".spec", "", 1)).collect()
    }

    pub fn applied(&self, manager: &str) -> Vec<String> {
        self.owned(manager, Operation::Apply)
    }

    pub fn updated(&self, manager: &str) -> Vec<String> {
        self.owned(manager, Operation::Update)
    }

    /// All managers, as `Operation manager`, in stored order.
    pub fn managers(&self) -> Vec<String> {
        let list = self.object()["metadata"]["managedFields"].as_array().cloned();
        let name = |e: &Value| {
            format!("{} {}", e["operation"].as_str().unwrap(), e["manager"].as_str().unwrap())
        };
        list.unwrap_or_default().iter().map(name).collect()
    }
}
