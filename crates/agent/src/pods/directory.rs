//! The pods of this node, for those who want to look into one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::Pod;

use super::process::Files;

/// A pod as it is now.
#[derive(Clone, Debug)]
pub struct View {
    pub pod: Arc<Pod>,
    /// Where its network is; none for the node's own.
    pub network: Option<PathBuf>,
    /// Whether there is a sandbox.
    pub ready: bool,
    /// The process that stands for its containers.
    pub pid: Option<u32>,
    /// How often that was started again.
    pub restarts: u32,
    pub files: Files,
    /// Where a lab's cloud is.
    pub cloud: Option<PathBuf>,
}

impl View {
    /// Whether it has an init container of a name.
    pub fn has_init(&self, name: &str) -> bool {
        let containers =
            self.pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
        containers.into_iter().any(|container| container.name == name)
    }

    /// The names of its containers.
    pub fn containers(&self) -> impl Iterator<Item = &str> {
        let containers = self.pod.spec.iter().flat_map(|spec| &spec.containers);
        containers.map(|container| container.name.as_str())
    }
}

/// All pods of this node. Clones are one directory.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pods: Arc<RwLock<HashMap<(String, String), View>>>,
}

impl Directory {
    /// A pod by its name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<View> {
        let pods = self.pods.read().unwrap_or_else(PoisonError::into_inner);
        pods.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<View> {
        let pods = self.pods.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = pods.iter().collect();
        all.sort_by(|one, other| one.0.cmp(other.0));
        all.into_iter().map(|(_, view)| view.clone()).collect()
    }

    /// Those that are wanted, in no particular order.
    pub fn those(&self, is_wanted: impl Fn(&View) -> bool) -> Vec<View> {
        let pods = self.pods.read().unwrap_or_else(PoisonError::into_inner);
        pods.values().filter(|view| is_wanted(view)).cloned().collect()
    }

    pub(super) fn set(&self, view: View) {
        let key = key(&view.pod);
        self.pods.write().unwrap_or_else(PoisonError::into_inner).insert(key, view);
    }

    /// Takes a pod out, unless another one of its name has come.
    pub(super) fn remove(&self, pod: &Pod) {
        let mut pods = self.pods.write().unwrap_or_else(PoisonError::into_inner);
        let key = key(pod);
        if pods.get(&key).is_some_and(|view| view.pod.metadata.uid == pod.metadata.uid) {
            pods.remove(&key);
        }
    }
}

fn key(pod: &Pod) -> (String, String) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    (text(&pod.metadata.namespace), text(&pod.metadata.name))
}
