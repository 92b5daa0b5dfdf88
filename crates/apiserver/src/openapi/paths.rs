//! Paths of one resource: collections, items and subresources.

use serde_json::{Map, Value, json};

use super::operations::{Answer, Operation, Subject, in_path, query};
use super::path_of;
use super::schemas::KindNames;
use crate::discovery::verbs;
use crate::registry::{Resource, Version};

/// Part of the operation ids of what lives in a namespace.
const NAMESPACED: &str = "Namespaced";

/// Adds all paths of a resource in one version.
pub(super) fn add(
    paths: &mut Map<String, Value>,
    resource: &Resource,
    version: &Version,
    names: &KindNames,
) {
    let base = format!("/{}", path_of(&resource.group, &version.name));
    let collection = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{base}/{}", resource.plural)
    };
    let writer = Paths {
        subject: Subject {
            resource,
            names,
            id: id_part(resource, version),
            tag: tag(resource, version),
        },
        collection,
    };
    writer.collection(paths);
    if resource.namespaced && serves(resource, "list") {
        writer.all_namespaces(paths, format!("{base}/{}", resource.plural));
    }
    if resource.strategy.virtual_only {
        writer.review_patch(paths);
        return;
    }
    writer.item(paths);
    if version.status {
        writer.subresource(paths, "status", "Status", || Answer::Kind(names));
    }
    if version.scale.is_some() {
        writer.subresource(paths, "scale", "Scale", || Answer::Scale);
    }
    if resource.group.is_empty() && resource.plural == "namespaces" {
        writer.finalize(paths);
    }
}

struct Paths<'a> {
    subject: Subject<'a>,
    collection: String,
}

impl Paths<'_> {
    fn collection(&self, paths: &mut Map<String, Value>) {
        let kind = &self.subject.resource.kind;
        let names = self.subject.names;
        let operations = [
            (
                "list",
                op(
                    "get",
                    "list",
                    "list",
                    format!("list or watch objects of kind {kind}"),
                    Answer::List(names),
                ),
            ),
            (
                "create",
                op("post", "post", "create", format!("create a {kind}"), Answer::Kind(names)),
            ),
            (
                "deletecollection",
                op(
                    "delete",
                    "deletecollection",
                    "deletecollection",
                    format!("delete collection of {kind}"),
                    Answer::Status(names),
                ),
            ),
        ];
        self.put(paths, self.collection.clone(), self.namespace(), operations);
    }

    fn all_namespaces(&self, paths: &mut Map<String, Value>, path: String) {
        let words = format!("list or watch objects of kind {}", self.subject.resource.kind);
        let mut list = op("get", "list", "list", words, Answer::List(self.subject.names));
        list.suffix = "ForAllNamespaces";
        let id = self.subject.id.strip_suffix(NAMESPACED).unwrap_or(&self.subject.id).to_owned();
        let subject = Subject { id, tag: self.subject.tag.clone(), ..self.subject };
        let everywhere = Self { subject, collection: path.clone() };
        everywhere.put(paths, path, Vec::new(), [("list", list)]);
    }

    fn item(&self, paths: &mut Map<String, Value>) {
        let kind = &self.subject.resource.kind;
        let names = self.subject.names;
        let operations = [
            (
                "get",
                op("get", "get", "read", format!("read the specified {kind}"), Answer::Kind(names)),
            ),
            (
                "update",
                op(
                    "put",
                    "put",
                    "replace",
                    format!("replace the specified {kind}"),
                    Answer::Kind(names),
                ),
            ),
            (
                "patch",
                op(
                    "patch",
                    "patch",
                    "patch",
                    format!("partially update the specified {kind}"),
                    Answer::Kind(names),
                ),
            ),
            (
                "delete",
                op("delete", "delete", "delete", format!("delete a {kind}"), Answer::Status(names)),
            ),
        ];
        self.put(paths, format!("{}/{{name}}", self.collection), self.named(), operations);
    }

    fn subresource<'a>(
        &self,
        paths: &mut Map<String, Value>,
        name: &str,
        suffix: &'static str,
        answer: impl Fn() -> Answer<'a>,
    ) {
        let kind = &self.subject.resource.kind;
        let one = |method, action, verb, words| {
            let words = format!("{words} {name} of the specified {kind}");
            let mut operation = op(method, action, verb, words, answer());
            operation.suffix = suffix;
            // Subresources have their own verbs, all three of them.
            ("get", operation)
        };
        let operations = [
            one("get", "get", "read", "read"),
            one("put", "put", "replace", "replace"),
            one("patch", "patch", "patch", "partially update"),
        ];
        self.put(paths, format!("{}/{{name}}/{name}", self.collection), self.named(), operations);
    }

    fn finalize(&self, paths: &mut Map<String, Value>) {
        let words = "replace finalize of the specified Namespace".to_owned();
        let mut put = op("put", "put", "replace", words, Answer::Kind(self.subject.names));
        put.suffix = "Finalize";
        let path = format!("{}/{{name}}/finalize", self.collection);
        self.put(paths, path, self.named(), [("update", put)]);
    }

    /// kubectl lets the server validate a kind only when it sees a PATCH with `fieldValidation`;
    /// otherwise it wants OpenAPI v2, which we do not have, and `kubectl create -f review.yaml`
    /// fails before it asks us. So the documents show a PATCH on reviews; the server answers 405.
    fn review_patch(&self, paths: &mut Map<String, Value>) {
        let words = format!(
            "not served: a {} is only created. Declared so that clients leave validation to the server",
            self.subject.resource.kind
        );
        let shown = op("patch", "patch", "patch", words, Answer::Kind(self.subject.names));
        let item = format!("{}/{{name}}", self.collection);
        self.put(paths, item, self.named(), [("create", shown)]);
    }

    /// Writes a path with those operations whose verb the resource serves.
    fn put<'a>(
        &self,
        paths: &mut Map<String, Value>,
        path: String,
        parameters: Vec<Value>,
        operations: impl IntoIterator<Item = (&'static str, Operation<'a>)>,
    ) {
        let mut item: Map<String, Value> = operations
            .into_iter()
            .filter(|(verb, _)| serves(self.subject.resource, verb))
            .map(|(_, operation)| self.subject.render(&operation))
            .collect();
        if item.is_empty() {
            return;
        }
        let mut all = parameters;
        all.push(query("pretty", "string", "If 'true', then the output is pretty printed."));
        item.insert("parameters".into(), json!(all));
        paths.insert(path, Value::Object(item));
    }

    fn namespace(&self) -> Vec<Value> {
        let words = "object name and auth scope, such as for teams and projects";
        if self.subject.resource.namespaced { vec![in_path("namespace", words)] } else { vec![] }
    }

    fn named(&self) -> Vec<Value> {
        let mut parameters = self.namespace();
        let words = format!("name of the {}", self.subject.resource.kind);
        parameters.push(in_path("name", &words));
        parameters
    }
}

fn op<'a>(
    method: &'static str,
    action: &'static str,
    verb: &'static str,
    words: String,
    answer: Answer<'a>,
) -> Operation<'a> {
    Operation { method, action, verb, suffix: "", words, answer }
}

fn serves(resource: &Resource, verb: &str) -> bool {
    verbs(resource).contains(&verb)
}

/// `CoreV1Namespaced`, `BenchLandbridgeDevV1`: middle part of operation ids.
fn id_part(resource: &Resource, version: &Version) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let words = group.split(['.', '-']).chain([version.name.as_str()]);
    let mut id: String = words.map(capital).collect();
    if resource.namespaced {
        id.push_str(NAMESPACED);
    }
    id
}

fn tag(resource: &Resource, version: &Version) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    format!("{}_{}", group.replace(['.', '-'], "_"), version.name)
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}
