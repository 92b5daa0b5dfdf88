//! Keeps the files of name servers in pods as their ConfigMaps are.
//!
//! One watch for each namespace in which such pods run. What is known of its ConfigMaps and what is
//! written of them change under one lock, so that nothing older is written over what is newer. While the
//! API is away the files stay as they are.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;

use super::volumes;

/// The API has answered by then, or is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the [module](self). Clones are one.
#[derive(Clone)]
pub struct Keeper {
    client: Client,
    namespaces: Arc<Mutex<HashMap<String, Arc<Followed>>>>,
}

/// A namespace whose ConfigMaps are followed.
struct Followed {
    state: Mutex<State>,
    listed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    maps: BTreeMap<String, ConfigMap>,
    /// Pods by uid, with the directory of their files.
    pods: HashMap<String, (Arc<Pod>, PathBuf)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    /// Follows nothing yet.
    pub fn new(client: Client) -> Self {
        Self { client, namespaces: Arc::default() }
    }

    /// Writes the files of a pod that is about to be started, and keeps them from then on.
    pub async fn prepare(&self, uid: &str, pod: Arc<Pod>, root: PathBuf) -> Result<(), String> {
        let followed = self.follow(&pod.namespace().unwrap_or_default());
        let mut listed = followed.listed.subscribe();
        let waited =
            tokio::time::timeout(PATIENCE, listed.wait_for(|listed| *listed)).await.is_ok();
        if !waited {
            return Err("its ConfigMaps cannot be read: the API does not answer".to_owned());
        }
        let uid = uid.to_owned();
        let work = move || {
            let mut state = locked(&followed.state);
            let mounts = volumes::mounts(&pod, &state.maps).map_err(|error| error.to_string())?;
            volumes::write(&root, &mounts, true)
                .map_err(|error| format!("its volumes cannot be written: {error}"))?;
            state.pods.insert(uid, (pod, root));
            Ok(())
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Keeps the files of a pod that runs already.
    pub fn adopt(&self, uid: &str, pod: &Arc<Pod>, root: PathBuf) {
        let followed = self.follow(&pod.namespace().unwrap_or_default());
        let fresh = {
            let mut state = locked(&followed.state);
            state.pods.insert(uid.to_owned(), (Arc::clone(pod), root)).is_none()
        };
        if fresh && *followed.listed.borrow() {
            drop(tokio::task::spawn_blocking(move || followed.write(None)));
        }
    }

    /// Whether the files of a pod are kept.
    pub fn keeps(&self, namespace: &str, uid: &str) -> bool {
        let followed = locked(&self.namespaces).get(namespace).cloned();
        followed.is_some_and(|followed| locked(&followed.state).pods.contains_key(uid))
    }

    /// A pod is gone.
    pub fn forget(&self, namespace: &str, uid: &str) {
        let mut namespaces = locked(&self.namespaces);
        if let Some(followed) = namespaces.get(namespace) {
            let mut state = locked(&followed.state);
            state.pods.remove(uid);
            let empty = state.pods.is_empty();
            drop(state);
            if empty {
                // Its task ends when it sees that it is the last who knows of it.
                namespaces.remove(namespace);
            }
        }
    }

    fn follow(&self, namespace: &str) -> Arc<Followed> {
        let mut namespaces = locked(&self.namespaces);
        if let Some(known) = namespaces.get(namespace) {
            return Arc::clone(known);
        }
        let followed =
            Arc::new(Followed { state: Mutex::default(), listed: watch::Sender::new(false) });
        namespaces.insert(namespace.to_owned(), Arc::clone(&followed));
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        tokio::spawn(Arc::clone(&followed).run(
            maps,
            Arc::clone(&self.namespaces),
            namespace.to_owned(),
        ));
        followed
    }
}

impl Followed {
    async fn run(
        self: Arc<Self>,
        maps: Api<ConfigMap>,
        all: Arc<Mutex<HashMap<String, Arc<Followed>>>>,
        namespace: String,
    ) {
        let mut news = crate::services::follow(maps);
        let mut incoming: BTreeMap<String, ConfigMap> = BTreeMap::new();
        loop {
            let Some(event) = news.next().await else { return };
            let is_known =
                locked(&all).get(&namespace).is_some_and(|known| Arc::ptr_eq(known, &self));
            if !is_known {
                return;
            }
            let changed = match event {
                Ok(Event::Init) => {
                    incoming.clear();
                    continue;
                }
                Ok(Event::InitApply(map)) => {
                    incoming.insert(map.name_any(), map);
                    continue;
                }
                Ok(Event::InitDone) => {
                    locked(&self.state).maps = std::mem::take(&mut incoming);
                    None
                }
                Ok(Event::Apply(map)) => {
                    let name = map.name_any();
                    locked(&self.state).maps.insert(name.clone(), map);
                    Some(name)
                }
                Ok(Event::Delete(map)) => {
                    let name = map.name_any();
                    locked(&self.state).maps.remove(&name);
                    Some(name)
                }
                Err(error) => {
                    tracing::debug!(%error, namespace, "the watch of ConfigMaps broke; it starts over");
                    continue;
                }
            };
            let own = Arc::clone(&self);
            let written = tokio::task::spawn_blocking(move || own.write(changed.as_deref())).await;
            if let Err(error) = written {
                tracing::error!(%error, "writing files of ConfigMaps ended badly");
            }
            self.listed.send_replace(true);
        }
    }

    /// Writes the files of all pods that have some of a ConfigMap, or of all pods.
    fn write(&self, map: Option<&str>) {
        let state = locked(&self.state);
        for (pod, root) in state.pods.values() {
            if map.is_some_and(|map| !volumes::maps_of(pod).contains(map)) {
                continue;
            }
            let written = volumes::mounts(pod, &state.maps)
                .map_err(|error| error.to_string())
                .and_then(|mounts| {
                    volumes::write(root, &mounts, false).map_err(|error| error.to_string())
                });
            if let Err(error) = written {
                tracing::warn!(pod = pod.name_any(), error, "its files stay as they were");
            }
        }
    }
}
