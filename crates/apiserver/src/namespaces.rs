//! Namespaces: what may be created in them, what each one gets, and how they end.

mod conditions;
mod ending;

use std::sync::{Arc, Mutex, PoisonError};

use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::EventKind;
use serde_json::json;

use crate::call::Call;
use crate::meta::Entry;
use crate::registry::Resource;
use crate::server::Inner;
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
    let note = |entry: &Entry, there: bool| {
        let mut ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
        ending.retain(|name| *name != entry.meta.name);
        if there && entry.meta.terminating() {
            ending.push(entry.meta.name.clone());
        }
    };
    system::follow(
        &server,
        |snapshot| {
            snapshot
                .range(&prefix, None)
                .map(|entry| {
                    note(entry, true);
                    entry.meta.name.clone()
                })
                .collect()
        },
        |event| {
            let meta = &event.entry.meta;
            if event.key.starts_with(&prefix) {
                note(&event.entry, event.kind != EventKind::Delete);
                return vec![meta.name.clone()];
            }
            let ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
            if ending.contains(&meta.namespace) { vec![meta.namespace.clone()] } else { Vec::new() }
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
    ending::advance(server, namespaces, name).await
}
