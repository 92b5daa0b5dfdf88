//! The data plane of the embedded cloud: what each node of the lab has to make, written where its agent looks.
//!
//! ```text
//!  cloudlet's changes ─┐
//!  Nodes: which live ──┼─▶ fabric::plans ─▶ lab/nodes/NAME/cloud.json, where it differs
//!  nicMappings ────────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use landbridge_api::foreign::{Trouble, openstack};
use landbridge_cloudlet::fabric::{self, Site, plans};
use landbridge_cloudlet::{Server, State};
use landbridge_fabric::{NodePlan, plan};
use landbridge_lab::spec::{Kind, Shape};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::lab::ready;

/// Calls come in bursts; after the first change others are waited for, so long.
const SETTLE: Duration = Duration::from_millis(50);
/// What could not be written is tried again after this.
const RETRY: Duration = Duration::from_secs(1);

/// Keeps the plans of all nodes until `stop` is done. The client must be one that sees Nodes and control planes.
pub async fn run(
    server: Server,
    client: Client,
    lab: PathBuf,
    shape: Shape,
    stop: impl Future<Output = ()>,
) {
    let mut changes = server.follow();
    let config = watcher::Config::default;
    let mut nodes = watcher(Api::<Node>::all(client.clone()), config()).default_backoff().boxed();
    let planes = Api::<DynamicObject>::all_with(client, &control_planes());
    let mut planes = watcher(planes, config()).default_backoff().boxed();
    let mut stop = std::pin::pin!(stop);
    let (mut seen, mut files) = (Seen::default(), Files::new(&lab));
    let mut due = Instant::now();
    loop {
        tokio::select! {
            () = &mut stop => return,
            change = changes.recv() => match change {
                // Whoever lags looks at the state again, as everybody does.
                Ok(_) | Err(RecvError::Lagged(_)) => due = due.min(Instant::now() + SETTLE),
                Err(RecvError::Closed) => return stop.await,
            },
            Some(event) = nodes.next() => {
                seen.node(event);
                due = due.min(Instant::now() + SETTLE);
            }
            Some(event) = planes.next() => {
                seen.plane(event);
                due = due.min(Instant::now() + SETTLE);
            }
            () = tokio::time::sleep_until(due) => {
                due = Instant::now() + Duration::from_hours(1);
                // Without the nodes every router would go, and come back.
                if !(seen.nodes.listed && seen.planes.listed) {
                    continue;
                }
                let (site, state) = (seen.site(&shape), server.state());
                let work = move || {
                    let failed = files.write(&state, &site);
                    (files, failed)
                };
                let Ok((back, failed)) = tokio::task::spawn_blocking(work).await else {
                    tracing::error!("planning the cloud's data plane ended badly");
                    return stop.await;
                };
                files = back;
                for error in &failed {
                    tracing::warn!("{error}; trying again");
                }
                if !failed.is_empty() {
                    due = Instant::now() + RETRY;
                }
            }
        }
    }
}

fn control_planes() -> ApiResource {
    let kind = GroupVersionKind::gvk("core.openstack.org", "v1beta1", "OpenStackControlPlane");
    ApiResource::from_gvk_with_plural(&kind, "openstackcontrolplanes")
}

/// What a watch has told of one kind, by namespace and name.
struct Told<T> {
    known: BTreeMap<(String, String), T>,
    listed: bool,
}

impl<T> Default for Told<T> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), listed: false }
    }
}

impl<T> Told<T> {
    fn take<K: Resource>(
        &mut self,
        event: Result<Event<K>, watcher::Error>,
        read: impl FnOnce(&K) -> T,
    ) {
        let key = |object: &K| (object.namespace().unwrap_or_default(), object.name_any());
        match event {
            Ok(Event::Init) => {
                self.known.clear();
                self.listed = false;
            }
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                self.known.insert(key(&object), read(&object));
            }
            Ok(Event::InitDone) => self.listed = true,
            Ok(Event::Delete(object)) => {
                self.known.remove(&key(&object));
            }
            Err(error) => tracing::debug!(%error, "a watch of the data plane starts over"),
        }
    }
}

/// What is known besides the cloud itself.
#[derive(Default)]
struct Seen {
    /// Whether each is ready.
    nodes: Told<bool>,
    /// The `nicMappings` of each.
    planes: Told<BTreeMap<String, String>>,
}

impl Seen {
    fn node(&mut self, event: Result<Event<Node>, watcher::Error>) {
        self.nodes.take(event, ready);
    }

    fn plane(&mut self, event: Result<Event<DynamicObject>, watcher::Error>) {
        self.planes.take(event, |plane| {
            // As a whole: which sections count depends on what it is.
            serde_json::to_value(plane).map(|plane| mappings(&plane)).unwrap_or_default()
        });
    }

    fn site(&self, shape: &Shape) -> Site {
        let alive: BTreeSet<&str> = self
            .nodes
            .known
            .iter()
            .filter(|it| *it.1)
            .map(|((_, name), _)| name.as_str())
            .collect();
        let nodes = shape.nodes.iter().map(|node| {
            let (kind, is_ready) = match node.kind {
                Kind::Kubernetes => (fabric::Kind::Kubernetes, alive.contains(node.name.as_str())),
                // A host is no object of the cluster's; nobody says that it is dead.
                Kind::Host => (fabric::Kind::Host, true),
            };
            fabric::Node { name: node.name.clone(), kind, ready: is_ready }
        });
        let mut links = BTreeMap::new();
        for of_one in self.planes.known.values() {
            for (physical, link) in of_one {
                // Two control planes that differ: the first by name has it.
                links.entry(physical.clone()).or_insert_with(|| link.clone());
            }
        }
        Site { nodes: nodes.collect(), links }
    }
}

/// The physical networks of a control plane's OVN, with the link of each.
fn mappings(data: &serde_json::Value) -> BTreeMap<String, String> {
    let found = openstack::read(data, &mut Trouble::default());
    found
        .nic_mappings
        .into_iter()
        .map(|(net, nic)| (net.to_owned(), nic.value.to_owned()))
        .collect()
}

/// The files of the nodes, and what stands in them.
struct Files {
    nodes: PathBuf,
    written: BTreeMap<String, NodePlan>,
}

impl Files {
    fn new(lab: &Path) -> Self {
        Self { nodes: lab.join("nodes"), written: BTreeMap::new() }
    }

    /// Writes every plan that differs from what its node has; says what could not be written.
    fn write(&mut self, state: &State, site: &Site) -> Vec<String> {
        let mut failed = Vec::new();
        for (node, mut wanted) in plans(state, site) {
            let path = self.nodes.join(&node).join(plan::FILE);
            let known = self.written.remove(&node).or_else(|| read(&path));
            wanted.generation = known.as_ref().map_or(0, |known| known.generation);
            let same = known.is_some_and(|known| known.makes_the_same(&wanted));
            if !same {
                wanted.generation += 1;
                if let Err(error) = put(&path, &wanted) {
                    failed.push(format!("cannot write {}: {error}", path.display()));
                    continue;
                }
            }
            self.written.insert(node, wanted);
        }
        failed
    }
}

fn read(path: &Path) -> Option<NodePlan> {
    use std::io::Read as _;
    let mut text = Vec::new();
    std::fs::File::open(path).ok()?.take(plan::MAX_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Writes so that the agent sees the old or the new one, never half of it.
fn put(path: &Path, wanted: &NodePlan) -> io::Result<()> {
    let next = path.with_extension("json.new");
    std::fs::write(&next, serde_json::to_vec(wanted)?)?;
    std::fs::rename(next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_plane_names_the_links_of_physical_networks() {
        let spec = serde_json::json!({
            "apiVersion": "core.openstack.org/v1beta1", "kind": "OpenStackControlPlane",
            "metadata": {"name": "controlplane", "namespace": "openstack"},
            "spec": {"ovn": {"template": {"ovnController": {"nicMappings": {"octavia": "octbr"}}}}},
        });
        let expected = BTreeMap::from([("octavia".to_owned(), "octbr".to_owned())]);
        assert_eq!(mappings(&spec), expected);
    }

    #[test]
    fn a_plan_is_written_when_it_differs() {
        let lab = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(lab.path().join("nodes/worker-0")).unwrap();
        let node = |name: &str| fabric::Node {
            name: name.to_owned(),
            kind: fabric::Kind::Kubernetes,
            ready: true,
        };
        let mut site = Site { nodes: vec![node("worker-0")], links: BTreeMap::new() };
        let mut files = Files::new(lab.path());
        assert_eq!(files.write(&State::default(), &site), Vec::<String>::new());
        let path = lab.path().join("nodes/worker-0/cloud.json");
        assert_eq!(read(&path).unwrap().generation, 1);
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(files.write(&State::default(), &site), Vec::<String>::new());
        // Nor does another process that finds the file.
        assert_eq!(Files::new(lab.path()).write(&State::default(), &site), Vec::<String>::new());
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
        site.nodes.push(node("nowhere"));
        let failed = files.write(&State::default(), &site);
        assert!(failed.len() == 1 && failed[0].contains("nowhere"), "{failed:?}");
    }
}
