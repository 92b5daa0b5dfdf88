//! What the API would say to each of our own objects.
//!
//! The road is the one an object takes into the server: unknown fields, defaults, schema, and the
//! rules of its kind. Warnings that the plan gives itself, with both places, are left out.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use landbridge_api::foreign::{Node, Place};
use landbridge_api::network;
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::gvk::{GroupKind, GroupVersionKind};
use landbridge_machinery::hooks::{Hooks, Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::schema::{NodeRef, Schema};
use landbridge_machinery::status::ApiError;
use serde_json::Value;

use super::{View, fields};
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::spelling;

/// Texts of warnings that other rules give.
const TOLD_ELSEWHERE: [&str; 4] =
    ["overlaps ", "holds the gateway", "holds the next hop", "is the gateway of subnet"];

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let world = World::new(view);
    for (at, source) in view.sources.effective() {
        if source.object.group() != network::GROUP {
            continue;
        }
        let Some(kind) = KINDS.get(&source.object.kind) else { continue };
        let mut judge = Judge { view, world: &world, at, found };
        judge.object(kind, source.value);
    }
}

/// Schema and rules of a kind.
struct Kind {
    schema: Schema,
    hooks: Arc<dyn Hooks>,
}

/// Our kinds. They are the same in every run, and compiling their schemas takes longer than using
/// them.
static KINDS: LazyLock<HashMap<String, Kind>> = LazyLock::new(|| {
    let kinds = landbridge_api::crds().into_iter().filter_map(|crd| {
        let kind = crd.spec.names.kind;
        let hooks = landbridge_api::hooks(network::GROUP, &kind)?;
        let version = crd.spec.versions.into_iter().next()?;
        let schema = serde_json::to_value(version.schema?.open_api_v3_schema?).ok()?;
        let schema = Schema::structural(&schema, &FieldPath::root()).ok()?;
        Some((kind, Kind { schema, hooks }))
    });
    kinds.collect()
});

/// The NetConfigs by namespace. Other kinds are looked at by the rules across all sources, which
/// ask once for all instead of once for each object.
struct World(HashMap<String, Vec<Arc<Value>>>);

impl World {
    fn new(view: &View<'_, '_>) -> Self {
        let mut all: HashMap<String, Vec<_>> = HashMap::new();
        for (namespace, at) in &view.facts.netconfigs {
            let object = Arc::new(view.sources.list[*at].value.clone());
            all.entry((*namespace).to_owned()).or_default().push(object);
        }
        Self(all)
    }
}

impl Objects for World {
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.list(kind, namespace).into_iter().find(|found| object::name(found) == name)
    }

    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let netconfigs = (kind.kind == "NetConfig").then(|| self.0.get(namespace?)).flatten();
        netconfigs.cloned().unwrap_or_default()
    }
}

struct Judge<'v, 'w> {
    view: &'v View<'v, 'w>,
    world: &'v World,
    at: usize,
    found: &'v mut Vec<Finding>,
}

impl Judge<'_, '_> {
    fn mark(&self, path: &str) -> Mark {
        Mark::new(self.at, &Place::new(path))
    }

    fn object(&mut self, kind: &Kind, value: &Value) {
        self.unknown(&Node::root(value), kind.schema.root(), 0);
        let mut object = value.clone();
        kind.schema.prune(&mut object);
        kind.schema.prune_nulls(&mut object);
        kind.schema.apply_defaults(&mut object);
        let errors = kind.schema.validate(&object, None);
        if !errors.is_empty() {
            for error in errors {
                let mark = self.mark(error.path.as_str());
                let finding = Finding::new(&codes::REFUSED, error.to_string());
                self.found.push(finding.at(&mark, error.message()));
            }
            return;
        }
        let source = &self.view.sources.list[self.at].object;
        let Some(gvk) = GroupVersionKind::parse(&source.api_version, &source.kind) else { return };
        let request = Request {
            operation: Operation::Create,
            kind: &gvk,
            namespace: Some(self.view.sources.namespaces[self.at]),
            name: &source.name,
            old: None,
            user: "",
            dry_run: true,
            objects: self.world,
        };
        match kind.hooks.validate(&request, &object) {
            Ok(warnings) => warnings.iter().for_each(|warning| self.warning(warning)),
            Err(error) => self.refusal(&error),
        }
    }

    fn warning(&mut self, text: &str) {
        let (path, why) = text.split_once(": ").unwrap_or(("", text));
        if TOLD_ELSEWHERE.iter().any(|told| why.contains(told)) {
            return;
        }
        let mark = self.mark(path);
        self.found.push(Finding::new(&codes::ADVISED, text).at(&mark, why));
    }

    fn refusal(&mut self, error: &ApiError) {
        let causes = error.details.get("causes").and_then(Value::as_array);
        let Some(causes) = causes else {
            // Without a NetConfig among the sources nothing can be said about what needs one.
            if self.world.0.is_empty() && !self.view.options.complete {
                return;
            }
            let mark = self.mark("metadata.name");
            let finding = Finding::new(&codes::REFUSED, error.message.clone());
            self.found.push(finding.at(&mark, "the API would refuse this"));
            return;
        };
        for cause in causes {
            let part = |field: &str| cause[field].as_str().unwrap_or_default();
            let (path, why) = (part("field"), part("message"));
            let mark = self.mark(path);
            let unknown = why.contains(" not in NetConfig") || why.contains(" of the NetConfig");
            let code = if unknown { &codes::UNKNOWN_NETWORK } else { &codes::REFUSED };
            let mut finding = Finding::new(code, format!("{path}: {why}")).at(&mark, why);
            if unknown {
                finding = finding.help(self.meant(path));
            }
            self.found.push(finding);
        }
    }

    /// The network or subnet an IPSet probably means.
    fn meant(&self, path: &str) -> String {
        let namespace = self.view.sources.namespaces[self.at];
        let object = self.view.sources.list[self.at].value;
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        let word = object.pointer(&pointer).and_then(Value::as_str).unwrap_or_default();
        let subnets = self.view.facts.subnets.iter().filter(|subnet| subnet.namespace == namespace);
        let names: Vec<&str> = if path.ends_with("subnetName") {
            subnets.map(|subnet| subnet.name).collect()
        } else {
            subnets.map(|subnet| subnet.network).collect()
        };
        match spelling::meant(word, names.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "correct the name, or add it to the NetConfig".to_owned(),
        }
    }

    /// Fields the schema does not know.
    fn unknown(&mut self, node: &Node<'_>, schema: NodeRef<'_>, depth: usize) {
        if depth > landbridge_machinery::schema::MAX_DEPTH
            || schema.is_preserve_unknown()
            || schema.takes_any_key()
        {
            return;
        }
        if let Some(items) = schema.items() {
            node.elements().for_each(|element| self.unknown(&element, items, depth + 1));
            return;
        }
        if !matches!(schema.type_name(), None | Some("object")) {
            return;
        }
        for (key, value) in node.value.as_object().into_iter().flatten() {
            let below = || Node { value, place: node.place.child(key) };
            if depth == 0 && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                continue;
            }
            if let Some(field) = schema.field(key) {
                if value.is_object() || value.is_array() {
                    self.unknown(&below(), field, depth + 1);
                }
                continue;
            }
            let meant = spelling::meant(key, schema.properties().map(|(name, _)| name));
            let mark = Mark::new(self.at, &below().place);
            self.found.push(fields::unknown(&mark, key, meant));
        }
    }
}
