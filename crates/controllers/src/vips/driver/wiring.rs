//! Which wires the addresses of pools are on, told again whenever that changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, Stream, StreamExt as _};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use landbridge_plan::{Site, Source, sites};
use serde_json::Value;

/// Kinds that say which pool is on which wire: group, version, kind, plural.
const KINDS: [(&str, &str, &str, &str); 5] = [
    ("network.openstack.org", "v1beta1", "NetConfig", "netconfigs"),
    ("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions"),
    ("nmstate.io", "v1", "NodeNetworkConfigurationPolicy", "nodenetworkconfigurationpolicies"),
    ("metallb.io", "v1beta1", "IPAddressPool", "ipaddresspools"),
    ("metallb.io", "v1beta1", "L2Advertisement", "l2advertisements"),
];
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_millis(50);

type Found = BTreeMap<String, Vec<Site>>;

/// What is known of one kind.
#[derive(Default)]
struct Shelf {
    objects: HashMap<(String, String), Value>,
    listed: HashMap<(String, String), Value>,
}

/// The sites of all pools: first when every kind has answered, then after every change.
pub(super) fn watch(client: &Client) -> impl Stream<Item = Found> + Send + 'static {
    let events: Vec<BoxStream<'static, _>> = KINDS
        .iter()
        .enumerate()
        .map(|(kind, (group, version, name, plural))| {
            let resource = ApiResource {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
                api_version: format!("{group}/{version}"),
                kind: (*name).to_owned(),
                plural: (*plural).to_owned(),
            };
            watcher(
                Api::<DynamicObject>::all_with(client.clone(), &resource),
                watcher::Config::default(),
            )
            .default_backoff()
            .map(move |event| (kind, event))
            .boxed()
        })
        .collect();
    let shelves: [Shelf; 5] = std::array::from_fn(|_| Shelf::default());
    let state = (stream::select_all(events), shelves, HashSet::new());
    stream::unfold(state, |(mut events, mut shelves, mut answered)| async move {
        loop {
            let (kind, event) = events.next().await?;
            let mut changed = take(kind, event, &mut shelves, &mut answered);
            if changed {
                tokio::time::sleep(SETTLE).await;
            }
            while let Some(Some((kind, event))) = events.next().now_or_never() {
                changed |= take(kind, event, &mut shelves, &mut answered);
            }
            if changed && answered.len() == KINDS.len() {
                let found = find(&shelves);
                return Some((found, (events, shelves, answered)));
            }
        }
    })
}

/// Takes one event; whether anything may be different now. A kind that the API does not have is a kind
/// without objects.
fn take(
    kind: usize,
    event: Result<Event<DynamicObject>, watcher::Error>,
    shelves: &mut [Shelf; 5],
    answered: &mut HashSet<usize>,
) -> bool {
    let shelf = &mut shelves[kind];
    match event {
        Err(_) => answered.insert(kind),
        Ok(Event::Init) => {
            shelf.listed.clear();
            false
        }
        Ok(Event::InitApply(object)) => {
            shelf.listed.extend(value(kind, &object));
            false
        }
        Ok(Event::InitDone) => {
            let listed = std::mem::take(&mut shelf.listed);
            let changed = listed != shelf.objects;
            shelf.objects = listed;
            answered.insert(kind) || changed
        }
        Ok(Event::Apply(object)) => match value(kind, &object) {
            Some((key, value)) => {
                shelf.objects.insert(key, value.clone()).is_none_or(|before| before != value)
            }
            None => false,
        },
        Ok(Event::Delete(object)) => {
            value(kind, &object).is_some_and(|(key, _)| shelf.objects.remove(&key).is_some())
        }
    }
}

/// Name and contents, without what changes all the time.
fn value(kind: usize, object: &DynamicObject) -> Option<((String, String), Value)> {
    let (group, version, name, _) = KINDS.get(kind)?;
    let meta = &object.metadata;
    let key = (meta.namespace.clone().unwrap_or_default(), meta.name.clone()?);
    let value = serde_json::json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": name,
        "metadata": {"namespace": key.0, "name": key.1, "annotations": meta.annotations},
        "spec": object.data["spec"],
    });
    Some((key, value))
}

fn find(shelves: &[Shelf; 5]) -> Found {
    let mut objects: Vec<(usize, &(String, String), &Value)> = shelves
        .iter()
        .enumerate()
        .flat_map(|(kind, shelf)| shelf.objects.iter().map(move |(key, value)| (kind, key, value)))
        .collect();
    objects.sort_by_key(|(kind, key, _)| (*kind, *key));
    let sources: Vec<Source<'_>> =
        objects.iter().enumerate().map(|(id, (_, _, value))| Source::new(id, value)).collect();
    let found = sites(&sources);
    let pools = shelves[3].objects.keys().map(|(_, name)| name);
    pools.map(|name| (name.clone(), found.of_pool(name).to_vec())).collect()
}
