//! Objects, lists, tables and metadata-only forms as bytes.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use landbridge_machinery::gvk::api_version;
use serde_json::{Value, json};

use crate::convert;
use crate::meta::Entry;
use crate::negotiate::Form;
use crate::registry::{Resource, Version};

/// How the objects of one answer are shown.
#[derive(Clone)]
pub struct View {
    /// What they are.
    pub resource: Arc<Resource>,
    /// Index of the version the client speaks.
    pub version: usize,
    /// Their shape.
    pub form: Form,
    /// `includeObject` of a table.
    pub include: Include,
    /// Ages are counted to this moment.
    pub now: Timestamp,
}

/// What a table row carries beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The metadata.
    Metadata,
    /// The whole object.
    Object,
}

/// Numbers that stand above a list.
#[derive(Clone, Debug, Default)]
pub struct ListMeta {
    /// Revision of the snapshot.
    pub revision: u64,
    /// Token for the next page; empty on the last.
    pub continuation: String,
    /// How many are left after this page.
    pub remaining: Option<usize>,
}

impl ListMeta {
    fn to_json(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if !self.continuation.is_empty() {
            meta["continue"] = self.continuation.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

impl View {
    /// The version the client speaks.
    pub fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    /// Whether stored bytes can be passed on without looking at them.
    pub fn verbatim(&self, revision: u64) -> bool {
        self.form == Form::Object && convert::verbatim(&self.resource, self.version(), revision)
    }

    /// One object.
    pub fn object(&self, entry: &Arc<Entry>) -> Bytes {
        match self.form {
            Form::Object => convert::bytes(&self.resource, self.version(), entry),
            Form::Partial | Form::Table => to_bytes(&self.shape(&self.value(entry), true)),
        }
    }

    /// One object that is not stored (yet): the answer to a dry run.
    pub fn shape(&self, object: &Value, with_definitions: bool) -> Value {
        match self.form {
            Form::Object => object.clone(),
            Form::Partial => partial(object),
            Form::Table => {
                let revision = object["metadata"]["resourceVersion"].clone();
                self.table(
                    &[self.row(object)],
                    &json!({"resourceVersion": revision}),
                    with_definitions,
                )
            }
        }
    }

    /// One object as a value in the client's version.
    pub fn value(&self, entry: &Entry) -> Value {
        convert::value(&self.resource, self.version(), entry)
    }

    /// A list.
    pub fn list(&self, entries: &[Arc<Entry>], meta: &ListMeta) -> Bytes {
        match self.form {
            Form::Object => self.plain_list(entries, meta),
            Form::Partial => {
                let items: Vec<Value> = entries.iter().map(|e| partial(&self.value(e))).collect();
                to_bytes(&json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta.to_json(),
                    "items": items,
                }))
            }
            Form::Table => {
                let rows: Vec<Value> = entries.iter().map(|e| self.row(&self.value(e))).collect();
                to_bytes(&self.table(&rows, &meta.to_json(), true))
            }
        }
    }

    /// Joins stored bytes: the cost of a list is the cost of copying it.
    fn plain_list(&self, entries: &[Arc<Entry>], meta: &ListMeta) -> Bytes {
        let size: usize = entries.iter().map(|e| e.value.len() + 1).sum();
        let mut out = Vec::with_capacity(size + 256);
        let head = json!({
            "kind": self.resource.list_kind,
            "apiVersion": api_version(&self.resource.group, &self.version().name),
            "metadata": meta.to_json(),
        });
        out.extend_from_slice(&to_bytes(&head));
        out.pop(); // the closing brace: the items follow
        out.extend_from_slice(b",\"items\":[");
        for (position, entry) in entries.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&convert::bytes(&self.resource, self.version(), entry));
        }
        out.extend_from_slice(b"]}\n");
        out.into()
    }

    fn row(&self, object: &Value) -> Value {
        let mut row = json!({"cells": self.version().columns.cells(object, self.now)});
        match self.include {
            Include::None => {}
            Include::Metadata => row["object"] = partial(object),
            Include::Object => row["object"] = object.clone(),
        }
        row
    }

    fn table(&self, rows: &[Value], meta: &Value, with_definitions: bool) -> Value {
        let definitions =
            if with_definitions { self.version().columns.definitions() } else { Vec::new() };
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }
}

fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

/// Values always serialise.
pub fn to_bytes(value: &Value) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
