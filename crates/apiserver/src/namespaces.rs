//! Namespaces: what may be created in them, what each one gets, and how they end.

use std::sync::{Arc, Mutex, PoisonError};

use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::EventKind;
use serde_json::{Value, json};

use crate::call::Call;
use crate::meta::Entry;
use crate::registry::Resource;
use crate::server::Inner;
use crate::write::{delete, modify};
use crate::{bootstrap, system};

/// Refuses new objects in namespaces that do not exist or are going away.
pub fn accepts_content(call: &Call<'_>, namespace: &str, name: &str) -> ApiResult<()> {
    let Some(namespaces) = call.registry.get("", "namespaces") else { return Ok(()) };
    let snapshot = call.server.store.snapshot();
    let Some(entry) = snapshot.get(&namespaces.key(None, namespace)) else {
        return Err(ApiError::not_found(&namespaces.group_resource(), namespace));
    };
    if !entry.meta.terminating() {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut error = ApiError::forbidden(&call.resource.group_resource(), name, &why);
    error.details.insert(
        "causes".into(),
        json!([{"reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"}]),
    );
    Err(error)
}

/// Follows the namespaces for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let registry = server.registry();
    let Some(namespaces) = registry.get("", "namespaces").cloned() else { return };
    let prefix = namespaces.prefix(None);
    let ending: Mutex<Vec<String>> = Mutex::default();
    let note = |entry: &Entry| {
        let mut ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
        ending.retain(|name| *name != entry.meta.name);
        if entry.meta.terminating() {
            ending.push(entry.meta.name.clone());
        }
    };
    system::follow(
        &server,
        |snapshot| {
            snapshot
                .range(&prefix, None)
                .map(|entry| {
                    note(entry);
                    entry.meta.name.clone()
                })
                .collect()
        },
        |event| {
            let meta = &event.entry.meta;
            if event.key.starts_with(&prefix) {
                note(&event.entry);
                return vec![meta.name.clone()];
            }
            let ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = event.kind == EventKind::Delete && ending.contains(&meta.namespace);
            if waiting { vec![meta.namespace.clone()] } else { Vec::new() }
        },
        |name| {
            let (server, namespaces) = (Arc::clone(&server), Arc::clone(&namespaces));
            async move { reconcile(&server, &namespaces, &name).await }
        },
    )
    .await;
}

async fn reconcile(server: &Arc<Inner>, namespaces: &Arc<Resource>, name: &str) -> ApiResult<()> {
    let key = namespaces.key(None, name);
    let snapshot = server.store.snapshot();
    let Some(entry) = snapshot.get(&key) else { return Ok(()) };
    if !entry.meta.terminating() {
        return bootstrap::furnish(server, name).await;
    }
    empty(server, name).await?;
    let left = remaining(server, name);
    if left.is_empty() {
        return modify(server, namespaces, &key, |object| {
            let Some(spec) = object["spec"].as_object_mut() else { return false };
            spec.remove("finalizers").is_some()
        })
        .await;
    }
    modify(server, namespaces, &key, |object| report(object, &left)).await
}

/// Deletes everything in the namespace that is not being deleted yet. What may not go yet (a rule
/// of its kind says so) does not keep the rest from going; it is tried again.
async fn empty(server: &Arc<Inner>, namespace: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let mut refused = Ok(());
    for resource in content_kinds(server) {
        for entry in snapshot.range(&resource.prefix(Some(namespace)), None) {
            if entry.meta.terminating() {
                continue;
            }
            let done = delete::by_system(server, &resource, entry, "namespace-controller").await;
            refused = refused.and(done);
        }
    }
    refused
}

/// All namespaced resources, each store once (events are served under two groups).
fn content_kinds(server: &Inner) -> Vec<Arc<Resource>> {
    let registry = server.registry();
    let mut kinds: Vec<Arc<Resource>> =
        registry.all().filter(|r| r.namespaced && !r.strategy.virtual_only).cloned().collect();
    kinds.sort_by(|a, b| a.storage_prefix.cmp(&b.storage_prefix));
    kinds.dedup_by(|a, b| a.storage_prefix == b.storage_prefix);
    kinds
}

/// What is still there: resource, number, finalizers that hold it.
fn remaining(server: &Inner, namespace: &str) -> Vec<(String, usize, Vec<String>)> {
    let snapshot = server.store.snapshot();
    let mut left = Vec::new();
    for resource in content_kinds(server) {
        let entries: Vec<_> = snapshot.range(&resource.prefix(Some(namespace)), None).collect();
        if !entries.is_empty() {
            let mut finalizers: Vec<String> =
                entries.iter().flat_map(|e| e.meta.finalizers.iter().cloned()).collect();
            finalizers.sort();
            finalizers.dedup();
            left.push((resource.group_resource().to_string(), entries.len(), finalizers));
        }
    }
    left
}

/// Says in the namespace what it waits for, in upstream's conditions.
fn report(namespace: &mut Value, left: &[(String, usize, Vec<String>)]) -> bool {
    let content: Vec<String> = left
        .iter()
        .map(|(kind, count, _)| format!("{kind} has {count} resource instances"))
        .collect();
    let finalizers: Vec<String> = left
        .iter()
        .flat_map(|(_, count, finalizers)| {
            finalizers.iter().map(move |f| format!("{f} in {count} resource instances"))
        })
        .collect();
    let mut list = vec![(
        "NamespaceContentRemaining",
        "SomeResourcesRemain",
        format!("Some resources are remaining: {}", content.join(", ")),
    )];
    if !finalizers.is_empty() {
        list.push((
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                finalizers.join(", ")
            ),
        ));
    }
    let old = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let conditions: Vec<Value> = list
        .into_iter()
        .map(|(kind, reason, message)| {
            let same = old.iter().find(|c| c["type"] == kind && c["status"] == "True");
            let since = same.map_or_else(|| json!(crate::chance::timestamp()), |c| c["lastTransitionTime"].clone());
            json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since})
        })
        .collect();
    if old == conditions {
        return false;
    }
    namespace["status"]["phase"] = "Terminating".into();
    namespace["status"]["conditions"] = conditions.into();
    true
}
