//! Garbage collection by owner references.
//!
//! - An object all of whose owners are gone goes too. A namesake with another uid is not the owner.
//! - An object some of whose owners are gone loses those references.
//! - `Foreground`: the owner waits until the dependents that block it are gone.
//! - `Orphan`: the dependents lose their reference, then the owner goes.
//!
//! An owner of a kind nobody serves (yet) is neither there nor gone: its dependents are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use landbridge_machinery::gvk::GroupVersionKind;
use landbridge_machinery::status::ApiResult;
use landbridge_store::{Event, EventKind};
use serde_json::Value;

use crate::meta::{Entry, Owner, Snapshot, Summary};
use crate::server::Inner;
use crate::system;
use crate::write::delete::{self, FOREGROUND, ORPHAN};
use crate::write::modify;

/// What needs a look.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    /// Are the owners of the object at this key still there?
    Dependent(String),
    /// Can the owner at this key go?
    Owner(String),
}

/// Who depends on whom: uid of the owner to keys of the dependents.
#[derive(Default)]
struct Dependents(Mutex<BTreeMap<String, BTreeSet<String>>>);

impl Dependents {
    fn with<T>(&self, f: impl FnOnce(&mut BTreeMap<String, BTreeSet<String>>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, entry: &Entry) {
        self.with(|map| {
            for owner in &entry.meta.owner_references {
                map.entry(owner.uid.clone()).or_default().insert(entry.key.to_string());
            }
        });
    }

    fn remove(&self, entry: &Entry) {
        self.with(|map| {
            for owner in &entry.meta.owner_references {
                if let Some(keys) = map.get_mut(&owner.uid) {
                    keys.remove(&*entry.key);
                    if keys.is_empty() {
                        map.remove(&owner.uid);
                    }
                }
            }
        });
    }

    fn of(&self, uid: &str) -> Vec<String> {
        self.with(|map| map.get(uid).into_iter().flatten().cloned().collect())
    }
}

/// Collects for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let dependents = Arc::new(Dependents::default());
    system::follow(
        &server,
        |snapshot| initial(snapshot, &dependents),
        |event| concerned(&server, event, &dependents),
        |item| {
            let (server, dependents) = (Arc::clone(&server), Arc::clone(&dependents));
            async move {
                match item {
                    Item::Dependent(key) => dependent(&server, &key).await,
                    Item::Owner(key) => owner(&server, &dependents, &key).await,
                }
            }
        },
    )
    .await;
}

fn initial(snapshot: &Snapshot, dependents: &Dependents) -> Vec<Item> {
    dependents.with(BTreeMap::clear);
    let mut items = Vec::new();
    for entry in snapshot.range("", None) {
        dependents.add(entry);
        items.extend(items_of(entry));
    }
    items
}

fn items_of(entry: &Entry) -> Vec<Item> {
    let mut items = Vec::new();
    if !entry.meta.owner_references.is_empty() {
        items.push(Item::Dependent(entry.key.to_string()));
    }
    if entry.meta.terminating()
        && entry.meta.finalizers.iter().any(|f| f == FOREGROUND || f == ORPHAN)
    {
        items.push(Item::Owner(entry.key.to_string()));
    }
    items
}

/// Keeps the index true and names what a change concerns.
fn concerned(server: &Inner, event: &Event<Summary>, dependents: &Dependents) -> Vec<Item> {
    if let Some(prev) = &event.prev {
        dependents.remove(prev);
    }
    if event.kind == EventKind::Put {
        dependents.add(&event.entry);
        let mut items = items_of(&event.entry);
        if event.entry.meta.terminating() {
            // Foreground deletion reaches down.
            items.extend(dependents.of(&event.entry.meta.uid).into_iter().map(Item::Dependent));
        }
        return items;
    }
    let meta = &event.entry.meta;
    let mut items: Vec<Item> = dependents.of(&meta.uid).into_iter().map(Item::Dependent).collect();
    let waiting =
        meta.owner_references.iter().filter_map(|owner| owner_key(server, owner, &meta.namespace));
    items.extend(waiting.map(Item::Owner));
    items
}

/// Where an owner would be stored; `None` when its kind is not served.
fn owner_key(server: &Inner, owner: &Owner, namespace: &str) -> Option<String> {
    let kind = GroupVersionKind::parse(&owner.api_version, &owner.kind)?;
    let registry = server.registry();
    let resource = registry.of_kind(&kind.group_kind())?;
    Some(resource.key(Some(namespace).filter(|_| resource.namespaced), &owner.name))
}

#[derive(PartialEq)]
enum State {
    Present,
    WaitsForDependents,
    Absent,
    Unknown,
}

fn state(server: &Inner, snapshot: &Snapshot, owner: &Owner, namespace: &str) -> State {
    let Some(key) = owner_key(server, owner, namespace) else { return State::Unknown };
    match snapshot.get(&key).filter(|entry| entry.meta.uid == owner.uid) {
        None => State::Absent,
        Some(entry)
            if entry.meta.terminating()
                && entry.meta.finalizers.iter().any(|f| f == FOREGROUND) =>
        {
            State::WaitsForDependents
        }
        Some(_) => State::Present,
    }
}

async fn dependent(server: &Arc<Inner>, key: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let registry = server.registry();
    let (Some(entry), Some(resource)) = (snapshot.get(key), registry.of_key(key)) else {
        return Ok(());
    };
    let states: Vec<(&Owner, State)> = entry
        .meta
        .owner_references
        .iter()
        .map(|owner| (owner, state(server, &snapshot, owner, &entry.meta.namespace)))
        .collect();
    if states.is_empty() {
        return Ok(());
    }
    let holds = |state: &State| matches!(state, State::Present | State::Unknown);
    if !states.iter().any(|(_, state)| holds(state)) {
        return delete::by_system(server, resource, entry, "garbage-collector").await;
    }
    let gone: Vec<&str> = states
        .iter()
        .filter(|(_, state)| *state == State::Absent)
        .map(|(owner, _)| owner.uid.as_str())
        .collect();
    drop_references(server, key, &gone).await
}

async fn drop_references(server: &Inner, key: &str, uids: &[&str]) -> ApiResult<()> {
    let registry = server.registry();
    let Some(resource) = registry.of_key(key) else { return Ok(()) };
    modify(server, resource, key, |object| {
        let Some(list) = object["metadata"]["ownerReferences"].as_array_mut() else { return false };
        let before = list.len();
        list.retain(|owner| !owner["uid"].as_str().is_some_and(|uid| uids.contains(&uid)));
        list.len() != before
    })
    .await
}

/// An owner that is being deleted in the foreground, or is to leave its dependents behind.
async fn owner(server: &Arc<Inner>, dependents: &Dependents, key: &str) -> ApiResult<()> {
    let snapshot = server.store.snapshot();
    let registry = server.registry();
    let (Some(entry), Some(resource)) = (snapshot.get(key), registry.of_key(key)) else {
        return Ok(());
    };
    let has = |finalizer: &str| {
        entry.meta.terminating() && entry.meta.finalizers.iter().any(|f| f == finalizer)
    };
    let uid = entry.meta.uid.as_str();
    if has(ORPHAN) {
        for dependent in dependents.of(uid) {
            drop_references(server, &dependent, &[uid]).await?;
        }
        return drop_finalizer(server, resource, key, ORPHAN).await;
    }
    if !has(FOREGROUND) {
        return Ok(());
    }
    for dependent_key in dependents.of(uid) {
        dependent(server, &dependent_key).await?;
    }
    let now = server.store.snapshot();
    let blocked = dependents.of(uid).iter().filter_map(|key| now.get(key)).any(|dependent| {
        dependent
            .meta
            .owner_references
            .iter()
            .any(|o| o.uid == uid && o.block_owner_deletion == Some(true))
    });
    if blocked {
        return Ok(()); // the last dependent to go wakes us
    }
    drop_finalizer(server, resource, key, FOREGROUND).await
}

async fn drop_finalizer(
    server: &Inner,
    resource: &crate::registry::Resource,
    key: &str,
    finalizer: &str,
) -> ApiResult<()> {
    modify(server, resource, key, |object: &mut Value| {
        let Some(list) = object["metadata"]["finalizers"].as_array_mut() else { return false };
        let before = list.len();
        list.retain(|f| f != finalizer);
        list.len() != before
    })
    .await
}
