//! How a namespace ends: its content goes, pods first, then resource by resource.
//!
//! Pods come first because they are what still runs: whatever they need (their ConfigMaps, the
//! policies that bind them) is there until the last of them is gone.

use std::sync::Arc;

use landbridge_machinery::status::ApiResult;

use super::conditions::Findings;
use crate::chance;
use crate::registry::Resource;
use crate::server::Inner;
use crate::write::{delete, modify};

/// Brings an ending namespace nearer to its end, and says in it what it waits for. An error asks
/// for another look; what finalizers hold comes back by itself when they go.
pub async fn advance(server: &Arc<Inner>, namespaces: &Resource, namespace: &str) -> ApiResult<()> {
    let (findings, refused) = empty(server, namespace).await;
    let key = namespaces.key(None, namespace);
    let now = chance::timestamp();
    modify(server, namespaces, &key, |object| findings.write(object, &now)).await?;
    refused?;
    if !findings.are_none() {
        return Ok(());
    }
    modify(server, namespaces, &key, |object| {
        let Some(spec) = object["spec"].as_object_mut() else { return false };
        spec.remove("finalizers").is_some()
    })
    .await
}

/// Deletes what may go. What may not go yet (a rule of its kind says so) does not keep the rest
/// from going, unless it is a pod.
async fn empty(server: &Arc<Inner>, namespace: &str) -> (Findings, ApiResult<()>) {
    let mut findings = Findings::default();
    let mut refused = Ok(());
    let (pods, others): (Vec<_>, Vec<_>) =
        content(server).into_iter().partition(|r| r.group.is_empty() && r.plural == "pods");
    for stage in [pods, others] {
        for resource in stage {
            let done = empty_of(server, &resource, namespace, &mut findings).await;
            refused = refused.and(done);
        }
        if !findings.are_none() {
            break;
        }
    }
    (findings, refused)
}

/// Deletes the objects of one resource, and counts what is left of them.
async fn empty_of(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    namespace: &str,
    findings: &mut Findings,
) -> ApiResult<()> {
    let prefix = resource.prefix(Some(namespace));
    let mut refused = Ok(());
    let mut any = false;
    for entry in server.store.snapshot().range(&prefix, None) {
        any = true;
        if !entry.meta.terminating() {
            let done = delete::by_system(server, resource, entry, "namespace-controller").await;
            refused = refused.and(done);
        }
    }
    if let Err(error) = &refused {
        findings.failures.push(error.message.clone());
    }
    if !any {
        return refused;
    }
    let snapshot = server.store.snapshot();
    let (mut left, mut held) = (0, 0);
    for entry in snapshot.range(&prefix, None) {
        left += 1;
        held += usize::from(!entry.meta.finalizers.is_empty() || entry.meta.ending());
        for finalizer in &entry.meta.finalizers {
            *findings.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
    }
    if left > 0 {
        findings.remaining.insert(format!("{}.{}", resource.plural, resource.group), left);
    }
    if left > held && refused.is_ok() {
        let version = &resource.storage_version().name;
        let what = format!("{}/{version}, Resource={}", resource.group, resource.plural);
        let why =
            format!("unexpected items still remain in namespace: {namespace} for gvr: {what}");
        findings.failures.push(why.clone());
        refused = Err(landbridge_machinery::status::ApiError::internal(why));
    }
    refused
}

/// All namespaced resources, group by group, each store once (events are served under two groups).
fn content(server: &Inner) -> Vec<Arc<Resource>> {
    let registry = server.registry();
    let mut kinds: Vec<Arc<Resource>> =
        registry.all().filter(|r| r.namespaced && !r.strategy.virtual_only).cloned().collect();
    kinds.sort_by(|a, b| a.storage_prefix.cmp(&b.storage_prefix));
    kinds.dedup_by(|a, b| a.storage_prefix == b.storage_prefix);
    kinds
}
