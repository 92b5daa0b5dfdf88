//! Kinds of OpenStack against their schemas: fields that do not exist where the schema knows them all,
//! network fields where nothing reads them, and what the API would refuse.
//!
//! Most of such an object is kept as given, so only what touches networks is judged.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use landbridge_api::foreign::controlplane::{self, SECTIONS};
use landbridge_api::foreign::{Node, Place, openstack};
use landbridge_api::network;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::{GroupKind, GroupVersionKind};
use landbridge_machinery::hooks::{Objects, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::schema::{MAX_DEPTH, NodeRef, Schema};
use landbridge_machinery::status::ApiError;
use serde_json::Value;

use super::{View, fields, shapes};
use crate::codes;
use crate::finding::{Finding, Mark};
use crate::spelling;

/// Fields that mean something only in certain places.
const PLACED: [&str; 7] = [
    "networkAttachments",
    "networkAttachment",
    "externalEndpoints",
    "externalEndpoint",
    "override",
    "nicMappings",
    "bondConfiguration",
];
/// Said by the rule about ports, which shows both places.
const TOLD_ELSEWHERE: &str = "has this address already";

static SCHEMAS: LazyLock<HashMap<(String, String), Schema>> = LazyLock::new(|| {
    let ours = |group: &str| openstack::is_group(group) && group != network::GROUP;
    let crds = landbridge_api::all_crds().into_iter().filter(|crd| ours(&crd.spec.group));
    let schemas = crds.filter_map(|crd| {
        let version = crd.spec.versions.into_iter().next()?;
        let schema = serde_json::to_value(version.schema?.open_api_v3_schema?).ok()?;
        let schema = Schema::structural(&schema, &FieldPath::root()).ok()?;
        Some(((crd.spec.group, crd.spec.names.kind), schema))
    });
    schemas.collect()
});

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<Finding>) {
    let planes = Planes::new(view);
    for (at, source) in view.sources.effective() {
        let (group, kind) = (source.object.group().to_owned(), source.object.kind.clone());
        let Some(schema) = SCHEMAS.get(&(group, kind)) else { continue };
        let mut judge = Judge { at, found };
        if let (Some(spec), Some(shape)) =
            (Node::root(source.value).get("spec"), schema.root().field("spec"))
        {
            judge.walk(&spec, shape, 0);
            if source.object.kind == controlplane::KIND {
                judge.sections(&spec);
            }
        }
        judge.refusals(view, &planes);
    }
}

struct Judge<'f> {
    at: usize,
    found: &'f mut Vec<Finding>,
}

impl Judge<'_> {
    fn push(&mut self, finding: Finding) {
        // What is almost right was told by name already.
        let same = |other: &Finding| {
            other.code == finding.code && other.subjects.first() == finding.subjects.first()
        };
        if !self.found.iter().any(same) {
            self.found.push(finding);
        }
    }

    fn walk(&mut self, node: &Node<'_>, schema: NodeRef<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(items) = schema.items() {
            return node.elements().for_each(|element| self.walk(&element, items, depth + 1));
        }
        for (key, value) in node.value.as_object().into_iter().flatten() {
            let below = || Node { value, place: node.place.child(key) };
            if let Some(field) = schema.field(key) {
                if value.is_object() || value.is_array() {
                    self.walk(&below(), field, depth + 1);
                } else {
                    self.allowed(&below(), field);
                }
                continue;
            }
            if schema.takes_any_key() {
                continue;
            }
            let mark = Mark::new(self.at, &below().place);
            if !schema.is_preserve_unknown() {
                let meant = spelling::meant(key, schema.properties().map(|(name, _)| name));
                self.push(fields::unknown(&mark, key, meant));
            } else if PLACED.contains(&key.as_str()) && !is_ambiguous(key, value) {
                self.push(misplaced(&mark, key, schema));
            } else if value.is_object() && !shapes::FREE.contains(&key.as_str()) {
                self.stray(&below(), depth + 1);
            }
        }
    }

    /// One of few values.
    fn allowed(&mut self, node: &Node<'_>, schema: NodeRef<'_>) {
        let values = schema.allowed_values();
        if !values.is_empty() && node.value.is_string() && !values.contains(node.value) {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            let error = FieldError::not_supported(&node.place.path, node.value.clone(), &texts);
            let mark = Mark::new(self.at, &node.place);
            let finding = Finding::new(&codes::REFUSED, error.to_string());
            self.push(finding.at(&mark, error.message()));
        }
    }

    /// Below fields that the schema leaves to the services.
    fn stray(&mut self, node: &Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (key, value) in node.value.as_object().into_iter().flatten() {
            let below = Node { value, place: node.place.child(key) };
            if PLACED.contains(&key.as_str()) && !is_ambiguous(key, value) {
                let mark = Mark::new(self.at, &below.place);
                let finding = Finding::new(&codes::MISPLACED, format!("nothing reads {key} here"));
                let finding = finding.at(&mark, "has no effect");
                self.push(finding.help("move it to the part of the service whose pods are meant"));
            } else if value.is_object() && !shapes::FREE.contains(&key.as_str()) {
                self.stray(&below, depth + 1);
            }
        }
    }

    /// Sections that do not exist but almost do.
    fn sections(&mut self, spec: &Node<'_>) {
        for (key, below) in spec.entries() {
            let is_known = SECTIONS.iter().any(|section| section.name == key);
            let names = SECTIONS.iter().map(|section| section.name);
            if !is_known
                && below.value.is_object()
                && let Some(meant) = spelling::meant(key, names)
            {
                self.push(fields::unknown(&Mark::new(self.at, &below.place), key, Some(meant)));
            }
        }
    }

    /// What the rules of the kind would say.
    fn refusals(&mut self, view: &View<'_, '_>, planes: &Planes) {
        let source = &view.sources.list[self.at];
        let object = &source.object;
        let Some(kind) = GroupVersionKind::parse(&object.api_version, &object.kind) else { return };
        let Some(hooks) = landbridge_api::hooks(&kind.group, &kind.kind) else { return };
        let request = Request {
            operation: Operation::Create,
            kind: &kind,
            namespace: Some(view.sources.namespaces[self.at]),
            name: &object.name,
            old: None,
            user: "",
            dry_run: true,
            objects: planes,
        };
        match hooks.validate(&request, source.value) {
            Ok(warnings) => {
                for warning in warnings {
                    let (path, why) = warning.split_once(": ").unwrap_or(("", &warning));
                    let mark = Mark::new(self.at, &Place::new(path));
                    self.push(Finding::new(&codes::ADVISED, warning.clone()).at(&mark, why));
                }
            }
            Err(error) => self.refusal(&error),
        }
    }

    fn refusal(&mut self, error: &ApiError) {
        let Some(causes) = error.details.get("causes").and_then(Value::as_array) else {
            let mark = Mark::new(self.at, &Place::new("metadata.name"));
            let finding = Finding::new(&codes::REFUSED, error.message.clone());
            return self.push(finding.at(&mark, "the API would refuse this"));
        };
        for cause in causes {
            let part = |field: &str| cause[field].as_str().unwrap_or_default();
            let (path, why) = (part("field"), part("message"));
            if !why.contains(TOLD_ELSEWHERE) {
                let mark = Mark::new(self.at, &Place::new(path));
                self.push(Finding::new(&codes::REFUSED, format!("{path}: {why}")).at(&mark, why));
            }
        }
    }
}

/// Services have settings that are called `override`, too.
fn is_ambiguous(key: &str, value: &Value) -> bool {
    key == "override" && !value["service"].is_object()
}

fn misplaced(mark: &Mark, key: &str, schema: NodeRef<'_>) -> Finding {
    let finding = Finding::new(&codes::MISPLACED, format!("nothing reads {key} here"));
    let finding = finding.at(mark, "has no effect");
    // Most often one level too high.
    let below = schema.properties().find(|(_, field)| field.field(key).is_some());
    finding.help(match below {
        Some((name, _)) => format!("move it below {name}"),
        None => "move it to the part of the service whose pods are meant".to_owned(),
    })
}

/// The control planes among the sources: there may be one in a namespace.
struct Planes(Vec<(String, Arc<Value>)>);

impl Planes {
    fn new(view: &View<'_, '_>) -> Self {
        let planes = view
            .sources
            .effective()
            .filter(|(_, source)| source.object.kind == controlplane::KIND && !source.partial);
        let planes = planes.map(|(at, source)| {
            (view.sources.namespaces[at].to_owned(), Arc::new(source.value.clone()))
        });
        Self(planes.collect())
    }
}

impl Objects for Planes {
    fn get(&self, kind: &GroupKind, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.list(kind, namespace).into_iter().find(|found| object::name(found) == name)
    }

    fn list(&self, kind: &GroupKind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let is_there = |plane: &&(String, Arc<Value>)| {
            kind.kind == controlplane::KIND && namespace.is_none_or(|name| plane.0 == name)
        };
        self.0.iter().filter(is_there).map(|(_, plane)| Arc::clone(plane)).collect()
    }
}
