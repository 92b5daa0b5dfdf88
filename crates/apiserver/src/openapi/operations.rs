//! Single operations: parameters, bodies and responses.

use serde_json::{Map, Value, json};

use super::schemas::{KindNames, SCALE, meta, reference};
use crate::registry::Resource;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const WATCH: &str = "application/json;stream=watch";

/// Everything the operations on one resource have in common.
pub(super) struct Subject<'a> {
    pub resource: &'a Resource,
    pub names: &'a KindNames,
    /// `CoreV1Namespaced`: keeps operation ids apart.
    pub id: String,
    /// Tag, for example `core_v1`.
    pub tag: String,
}

/// One entry of a path.
pub(super) struct Operation<'a> {
    /// Method as OpenAPI writes it.
    pub method: &'static str,
    /// `x-kubernetes-action`.
    pub action: &'static str,
    /// Beginning of the operation id.
    pub verb: &'static str,
    /// End of the operation id, after the kind: `Status`, `ForAllNamespaces`.
    pub suffix: &'static str,
    /// What people read.
    pub words: String,
    /// Definition of the answer.
    pub answer: Answer<'a>,
}

/// What an operation answers, and what a write sends.
pub(super) enum Answer<'a> {
    /// The kind itself.
    Kind(&'a KindNames),
    /// Its list.
    List(&'a KindNames),
    /// A `Status`: deletions.
    Status(&'a KindNames),
    /// `autoscaling/v1 Scale`.
    Scale,
}

impl Answer<'_> {
    fn schema(&self) -> Value {
        match self {
            Self::Kind(names) => reference(&names.root),
            Self::List(names) => reference(&names.list),
            Self::Status(_) => reference(&meta("Status")),
            Self::Scale => reference(SCALE),
        }
    }

    fn gvk(&self) -> Value {
        match self {
            Self::Kind(names) | Self::List(names) | Self::Status(names) => names.gvk.clone(),
            Self::Scale => json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}),
        }
    }
}

impl Subject<'_> {
    /// Renders one operation.
    pub(super) fn render(&self, operation: &Operation<'_>) -> (String, Value) {
        let mut value = Map::new();
        value.insert("tags".into(), json!([self.tag]));
        value.insert("description".into(), operation.words.clone().into());
        let id = format!("{}{}{}{}", operation.verb, self.id, self.resource.kind, operation.suffix);
        value.insert("operationId".into(), id.into());
        let parameters = parameters(operation);
        if !parameters.is_empty() {
            value.insert("parameters".into(), parameters.into());
        }
        if let Some(body) = self.body(operation) {
            value.insert("requestBody".into(), body);
        }
        value.insert("responses".into(), responses(operation));
        value.insert("x-kubernetes-action".into(), operation.action.into());
        value.insert("x-kubernetes-group-version-kind".into(), operation.answer.gvk());
        (operation.method.to_owned(), Value::Object(value))
    }

    fn body(&self, operation: &Operation<'_>) -> Option<Value> {
        match operation.action {
            "post" | "put" => {
                let schema = operation.answer.schema();
                Some(json!({"content": content(&[JSON, YAML], &schema), "required": true}))
            }
            "patch" => {
                let types = patch_types(self.resource);
                let schema = reference(&meta("Patch"));
                Some(json!({"content": content(types, &schema), "required": true}))
            }
            "delete" | "deletecollection" => {
                let schema = reference(&meta("DeleteOptions"));
                Some(json!({"content": content(&[JSON, YAML], &schema)}))
            }
            _ => None,
        }
    }
}

fn parameters(operation: &Operation<'_>) -> Vec<Value> {
    let mut list = Vec::new();
    match operation.action {
        "list" => list.extend(list_parameters(true)),
        "deletecollection" => {
            list.extend(list_parameters(false));
            list.extend(delete_parameters());
        }
        "delete" => list.extend(delete_parameters()),
        "post" | "put" | "patch" => {
            list.push(dry_run());
            list.push(query("fieldManager", "string", "fieldManager is a name associated with the actor or entity that is making these changes. It is required for apply requests (application/apply-patch)."));
            list.push(query("fieldValidation", "string", "fieldValidation instructs the server on how to handle objects in the request containing unknown or duplicate fields: Ignore, Warn (the default) or Strict."));
        }
        _ => {}
    }
    if operation.action == "patch" {
        list.push(query("force", "boolean", "Force is going to \"force\" Apply requests. It means user will re-acquire conflicting fields owned by other people. It must be unset for non-apply patch requests."));
    }
    list
}

/// Forms of PATCH that are understood. Custom kinds have no strategic merge patch: kubectl sends
/// them a merge patch when it is not offered.
fn patch_types(resource: &Resource) -> &'static [&'static str] {
    const BUILT_IN: &[&str] = &[
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    if resource.crd_uid.is_some() { BUILT_IN.get(..3).unwrap_or(BUILT_IN) } else { BUILT_IN }
}

fn responses(operation: &Operation<'_>) -> Value {
    let types: &[&str] = match operation.action {
        "list" => &[JSON, YAML, WATCH],
        _ => &[JSON, YAML],
    };
    let content = content(types, &operation.answer.schema());
    let codes: &[(&str, &str)] = match operation.action {
        "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
        "put" | "patch" => &[("200", "OK"), ("201", "Created")],
        "delete" => &[("200", "OK"), ("202", "Accepted")],
        _ => &[("200", "OK")],
    };
    let mut responses = Map::new();
    for (code, words) in codes {
        let answer = json!({"description": words, "content": content});
        responses.insert((*code).to_owned(), answer);
    }
    responses.insert("401".into(), json!({"description": "Unauthorized"}));
    Value::Object(responses)
}

fn content(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect()
}

/// A parameter of the query; kubectl reads only those written out in the operation itself.
pub(super) fn query(name: &str, kind: &str, words: &str) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": words,
        "schema": {"type": kind, "uniqueItems": true},
    })
}

/// A part of the path.
pub(super) fn in_path(name: &str, words: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": words,
        "required": true,
        "schema": {"type": "string", "uniqueItems": true},
    })
}

fn dry_run() -> Value {
    query(
        "dryRun",
        "string",
        "When present, indicates that modifications should not be persisted. The only valid value is All: all dry run stages will be processed.",
    )
}

fn list_parameters(watch: bool) -> Vec<Value> {
    let mut list = vec![
        query(
            "continue",
            "string",
            "The continue option should be set when retrieving more results from the server: the value of metadata.continue of the page before.",
        ),
        query(
            "fieldSelector",
            "string",
            "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
        ),
        query(
            "labelSelector",
            "string",
            "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
        ),
        query(
            "limit",
            "integer",
            "limit is a maximum number of responses to return for a list call.",
        ),
        query(
            "resourceVersion",
            "string",
            "resourceVersion sets a constraint on what resource versions a request may be served from.",
        ),
        query(
            "resourceVersionMatch",
            "string",
            "resourceVersionMatch determines how resourceVersion is applied to list calls: Exact or NotOlderThan.",
        ),
        query(
            "sendInitialEvents",
            "boolean",
            "`sendInitialEvents=true` may be set together with `watch=true`: the stream begins with all current objects, then a bookmark annotated `k8s.io/initial-events-end`.",
        ),
        query("timeoutSeconds", "integer", "Timeout for the list/watch call."),
    ];
    if watch {
        list.push(query(
            "allowWatchBookmarks",
            "boolean",
            "allowWatchBookmarks requests watch events with type \"BOOKMARK\".",
        ));
        list.push(query("watch", "boolean", "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications."));
    }
    list
}

fn delete_parameters() -> Vec<Value> {
    vec![
        dry_run(),
        query(
            "gracePeriodSeconds",
            "integer",
            "The duration in seconds before the object should be deleted. The value zero indicates delete immediately.",
        ),
        query(
            "orphanDependents",
            "boolean",
            "Deprecated: please use the PropagationPolicy. Should the dependent objects be orphaned.",
        ),
        query(
            "propagationPolicy",
            "string",
            "Whether and how garbage collection will be performed: Orphan, Background or Foreground.",
        ),
    ]
}
