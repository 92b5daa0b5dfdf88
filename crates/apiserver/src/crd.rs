//! CustomResourceDefinitions: from an object in the store to a resource in the registry.
//!
//! ```text
//!  CRD written ─► names free? ─► schemas compiled ─► registry swapped ─► Established=True
//!  CRD deleted ─► resource marked terminating ─► instances deleted ─► finalizer removed
//! ```
//! Routes exist before `Established` is published, so a client that waited for the condition
//! always finds them.

mod build;
mod status;

use std::sync::Arc;
use std::time::Duration;

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_store::EventKind;
use serde_json::Value;

use crate::call::SystemRequest;
use crate::meta::{self, Entry};
use crate::path::Target;
use crate::registry::Resource;
use crate::server::Inner;
use crate::system;
use crate::write::{Outcome, create, delete, update};

/// Our own CRDs are established in milliseconds; something is wrong when it takes this long.
const ESTABLISH_WITHIN: Duration = Duration::from_secs(10);
pub const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
/// Holds a CRD until its instances are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Refuses a CRD whose schemas are not structural or have rules that do not compile. Schemas that
/// were there before pass (a CRD stored by an older server can still be deleted), and so do other
/// kinds.
pub fn check_schemas(resource: &Resource, crd: &Value, old: Option<&Value>) -> ApiResult<()> {
    if resource.group != GROUP {
        return Ok(());
    }
    let mut errors = Vec::new();
    for (index, version) in crd["spec"]["versions"].as_array().into_iter().flatten().enumerate() {
        let before = old.and_then(|old| old["spec"]["versions"].as_array()).into_iter().flatten();
        let same = |v: &Value| v["name"] == version["name"] && v["schema"] == version["schema"];
        if before.into_iter().any(same) {
            continue;
        }
        let path =
            FieldPath::new("spec.versions").index(index).child("schema").child("openAPIV3Schema");
        if let Err(found) = build::compile(&version["schema"]["openAPIV3Schema"], &path) {
            errors.extend(found);
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(&resource.group_kind(), object::name(crd), &errors))
    }
}

fn definition(server: &Inner) -> Option<Arc<Resource>> {
    server.registry().get(GROUP, PLURAL).cloned()
}

/// Makes resources of all stored CRDs, before anything is served.
pub fn load(server: &Inner) {
    let Some(crds) = definition(server) else { return };
    for entry in server.store.snapshot().range(&crds.prefix(None), None) {
        let crd = meta::parse(entry);
        if status::is_established(&crd) {
            publish(server, entry, &crd);
        }
    }
}

/// Puts the resource of a CRD into the registry. Returns what is wrong with the CRD.
fn publish(server: &Inner, entry: &Entry, crd: &Value) -> Option<String> {
    let hooks = server.hooks_for(&build::group_kind(crd));
    match build::resource(crd, hooks, entry.revision) {
        Ok(resource) => {
            server.set_custom(object::name(crd), Some(Arc::new(resource)));
            None
        }
        Err(why) => Some(why),
    }
}

/// Follows the CRDs for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let Some(crds) = definition(&server) else { return };
    let prefix = crds.prefix(None);
    system::follow(
        &server,
        |snapshot| snapshot.range(&prefix, None).map(|entry| entry.key.to_string()).collect(),
        |event| {
            if event.key.starts_with(&prefix) {
                vec![event.key.to_string()]
            } else if event.kind == EventKind::Delete {
                // An instance went: its CRD may be waiting for that.
                waiting(&server, &event.key)
            } else {
                Vec::new()
            }
        },
        |key| {
            let (server, crds) = (Arc::clone(&server), Arc::clone(&crds));
            async move { reconcile(&server, &crds, &key).await }
        },
    )
    .await;
}

/// Keys of terminating CRDs whose instances have this key.
fn waiting(server: &Inner, instance: &str) -> Vec<String> {
    let Some(crds) = definition(server) else { return Vec::new() };
    server
        .registry()
        .all()
        .filter(|r| r.terminating && instance.starts_with(&r.storage_prefix))
        .map(|r| crds.key(None, &format!("{}.{}", r.plural, r.group)))
        .collect()
}

async fn reconcile(server: &Arc<Inner>, crds: &Arc<Resource>, key: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let Some(entry) = snapshot.get(key) else {
        let name = key.trim_start_matches(&crds.prefix(None));
        server.set_custom(name, None);
        return Ok(());
    };
    let crd = meta::parse(entry);
    if object::is_terminating(&crd) {
        return finalize(server, crds, entry, &crd).await;
    }
    let known = server.custom(object::name(&crd));
    let current = known.as_ref().is_some_and(|r| build::is_current(r, &crd));
    let problem = match status::name_conflict(server, &crd) {
        Some(conflict) => Err(conflict),
        None if current => Ok(()),
        None => {
            publish(server, entry, &crd).map_or(Ok(()), |why| Err(("NotAccepted".to_owned(), why)))
        }
    };
    let new = status::updated(&crd, &problem);
    if new["status"] != crd["status"] {
        write_status(server, crds, new).await?;
    }
    Ok(())
}

/// Deletes the instances; the last one gone, lets the CRD go.
async fn finalize(
    server: &Arc<Inner>,
    crds: &Arc<Resource>,
    entry: &Arc<Entry>,
    crd: &Value,
) -> ApiResult<()> {
    let name = object::name(crd);
    let Some(resource) = server.custom(name) else { return release(server, crds, crd).await };
    if !resource.terminating {
        let hooks = server.hooks_for(&build::group_kind(crd));
        if let Ok(mut resource) = build::resource(crd, hooks, entry.revision) {
            resource.terminating = true;
            server.set_custom(name, Some(Arc::new(resource)));
        }
    }
    let snapshot = server.store.snapshot();
    let mut left = 0;
    for instance in snapshot.range(&resource.storage_prefix, None) {
        left += 1;
        delete::by_system(server, &resource, instance, "crd-cleanup").await?;
    }
    // Instances without finalizers are gone by now; the others will wake us when they go.
    let now = server.store.snapshot();
    if left > 0 && now.range(&resource.storage_prefix, None).next().is_some() {
        return Ok(());
    }
    release(server, crds, crd).await
}

async fn release(server: &Arc<Inner>, crds: &Arc<Resource>, crd: &Value) -> ApiResult<()> {
    let mut new = crd.clone();
    let finalizers: Vec<&str> =
        object::finalizers(crd).into_iter().filter(|f| *f != CLEANUP_FINALIZER).collect();
    object::set_meta(&mut new, "finalizers", finalizers);
    write(server, crds, new, None).await
}

async fn write_status(server: &Arc<Inner>, crds: &Arc<Resource>, crd: Value) -> ApiResult<()> {
    write(server, crds, crd, Some("status")).await
}

async fn write(
    server: &Arc<Inner>,
    crds: &Arc<Resource>,
    crd: Value,
    subresource: Option<&str>,
) -> ApiResult<()> {
    let bytes = serde_json::to_vec(&crd).map_err(ApiError::internal)?;
    let target = Target {
        name: Some(object::name(&crd).to_owned()),
        subresource: subresource.map(str::to_owned),
        ..Target::default()
    };
    let request = SystemRequest::new("crd-controller", target);
    let mut call = request.call(server, crds);
    match update::update(&mut call, &bytes).await {
        Ok(_) => Ok(()),
        // Somebody wrote in between: their write wakes us again.
        Err(error) if error.code == 409 || error.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates or updates a CRD of our own and waits until it is established.
pub async fn install(server: &Arc<Inner>, mut crd: Value) -> ApiResult<()> {
    let Some(crds) = definition(server) else { return Err(ApiError::internal("no CRD resource")) };
    let name = object::name(&crd).to_owned();
    let key = crds.key(None, &name);
    let target = Target { name: Some(name.clone()), ..Target::default() };
    let request = SystemRequest::new("installer", target);
    let mut call = request.call(server, &crds);
    let stored = server.store.snapshot().get(&key).cloned();
    let outcome = if let Some(entry) = stored {
        // What users added to the object (labels, annotations) stays.
        object::set_meta(&mut crd, "resourceVersion", entry.revision.to_string());
        object::set_meta(&mut crd, "finalizers", object::finalizers(&meta::parse(&entry)));
        let bytes = serde_json::to_vec(&crd).map_err(ApiError::internal)?;
        update::update(&mut call, &bytes).await?.0
    } else {
        let bytes = serde_json::to_vec(&crd).map_err(ApiError::internal)?;
        create::create(&mut call, &bytes).await?
    };
    match outcome {
        Outcome::Stored(_) => established(server, &key).await,
        Outcome::Shown(_) => Ok(()),
    }
}

async fn established(server: &Arc<Inner>, key: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let good = |entry: &Entry| {
        let crd = meta::parse(entry);
        let published =
            server.custom(object::name(&crd)).is_some_and(|r| build::is_current(&r, &crd));
        status::is_established(&crd) && published
    };
    if snapshot.get(key).is_some_and(|entry| good(entry)) {
        return Ok(());
    }
    let Ok(mut watcher) = server.store.watch(key.to_owned(), snapshot.revision()) else {
        return Err(ApiError::internal("the store moved on too fast"));
    };
    let wait = async {
        while let Ok(event) = watcher.next().await {
            if good(&event.entry) {
                return true;
            }
        }
        false
    };
    if tokio::time::timeout(ESTABLISH_WITHIN, wait).await == Ok(true) {
        return Ok(());
    }
    let now = server.store.snapshot().get(key).map(|e| meta::parse(e)["status"].clone());
    Err(ApiError::internal(format!(
        "{key} was not established within {ESTABLISH_WITHIN:?}: its status is {}",
        now.unwrap_or_default()
    )))
}
