//! The data path of Services on a lab node: cluster addresses, node ports, virtual addresses.
//!
//! ```text
//!  Services, EndpointSlices ─▶ desired ─▶ Table ─▶ kernel   rules of the packet filter (program nft)
//!  nodes found dead ──────────▶                    └───────▶ through  sockets of this process, without nft
//!  links, addresses, routes ─▶ answers ─▶ marks, rules and tables of policy routing
//! ```
//!
//! On a real cluster kube-proxy does this, and this module is not run.
//!
//! | module | idea |
//! |---|---|
//! | [`desired`] | from objects to the table: upstream's rules on who gets connections |
//! | [`answers`] | answers leave by the link the question came by |
//! | [`health`] | balancers outside are told whether this node has endpoints |
//! | `kernel` | the table as rules, and connections that must not go on |
//! | `through` | the table as sockets |

pub mod answers;
pub mod desired;
pub mod health;
pub mod kernel;
pub(crate) mod nft;
pub mod through;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use landbridge_lb::Table;
use landbridge_linux::monitor::Watch;
use landbridge_linux::{Monitor, Namespace};
use tokio::sync::watch;
use tokio::time::Instant;

use self::health::Doors;
use self::kernel::Kernel;
use self::through::Through;
use crate::members::Dead;
use crate::names::book::Book;

/// Whose endpoints a slice holds.
const SERVICE: &str = "kubernetes.io/service-name";
/// Objects change in bursts; after the first change others are waited for, so long.
const SETTLE: Duration = Duration::from_millis(20);
/// What somebody else changed is put right by then.
const AGAIN: Duration = Duration::from_secs(30);
/// What could not be done is tried again after this.
const RETRY: Duration = Duration::from_secs(2);

/// How connections are forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the kernel, with the program `nft`.
    Kernel,
    /// By this process.
    Through,
}

impl Mode {
    /// By the kernel where `nft` is.
    pub fn detect() -> Self {
        if nft::program().is_some() { Self::Kernel } else { Self::Through }
    }
}

/// What the duty needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This node.
    pub node: String,
    /// The link that this node's pods are behind.
    pub pods: String,
    /// The networks of cluster addresses.
    pub ranges: Vec<IpNet>,
    /// How connections are forwarded.
    pub mode: Mode,
}

/// What is published for others of this node: Services and their endpoints as the watch tells.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Services by namespace and name.
    pub services: HashMap<(String, String), Arc<Service>>,
    /// EndpointSlices by namespace and name.
    pub slices: HashMap<(String, String), Arc<EndpointSlice>>,
}

/// Keeps the data path until `stop` is done. What is seen of Services goes into the book of `names`, too.
pub async fn run(
    client: Client,
    settings: Settings,
    addresses: watch::Receiver<Vec<IpAddr>>,
    mut dead: watch::Receiver<Dead>,
    names: Arc<Book>,
    stop: impl Future<Output = ()>,
) {
    let mut services = follow(Api::<Service>::all(client.clone()));
    let mut slices = follow(Api::<EndpointSlice>::all(client));
    let mut links = monitor();
    let mut stop = std::pin::pin!(stop);
    let (mut seen, mut listed) = (Seen::default(), (false, false));
    let mut path = match settings.mode {
        Mode::Kernel => Path::Kernel(Kernel::new(&settings.pods, &settings.ranges)),
        Mode::Through => Path::Through(Through::new(addresses)),
    };
    tracing::info!(mode = ?settings.mode, "Services are forwarded");
    let mut due = Instant::now() + AGAIN;
    let (mut checked, mut again) = (true, false);
    let mut doors = Doors::default();
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(event) = services.next() => {
                if let Ok(event) = &event {
                    names.hear_service(event);
                }
                if take(&mut seen.services, &mut listed.0, event) {
                    due = due.min(Instant::now() + SETTLE);
                }
            }
            Some(event) = slices.next() => {
                if let Ok(event) = &event {
                    names.hear_slice(event);
                }
                if take(&mut seen.slices, &mut listed.1, event) {
                    due = due.min(Instant::now() + SETTLE);
                }
            }
            Ok(()) = dead.changed() => due = Instant::now(),
            () = changed(&mut links) => {
                checked = false;
                due = due.min(Instant::now() + SETTLE);
            }
            () = tokio::time::sleep_until(due) => again = true,
        }
        // An empty beginning is no reason to cut everybody off.
        if due > Instant::now() || !(listed.0 && listed.1) {
            continue;
        }
        let gone = dead.borrow_and_update().clone();
        let (table, of_dead) = desired::table(&seen, &settings.node, &gone);
        let checks = health::checks(&seen, &settings.node);
        let outcome = path.apply(table, of_dead, std::mem::take(&mut again) || !checked).await;
        doors.apply(checks, outcome.is_ok());
        checked = true;
        due = Instant::now() + AGAIN;
        if let Err(error) = outcome {
            tracing::warn!("Services cannot be forwarded: {error:#}; trying again");
            (due, checked) = (Instant::now() + RETRY, false);
        }
    }
    path.end().await;
}

enum Path {
    Kernel(Kernel),
    Through(Through),
}

impl Path {
    async fn apply(
        &mut self,
        table: Table,
        dead: BTreeSet<IpAddr>,
        look: bool,
    ) -> anyhow::Result<()> {
        match self {
            Self::Kernel(kernel) => kernel.apply(table, dead, look).await,
            Self::Through(through) => through.apply(&table, dead).await,
        }
    }

    async fn end(self) {
        // Rules stay: a restart of the agent is no reason to cut anybody off.
        if let Self::Through(through) = self {
            through.end().await;
        }
    }
}

pub(crate) type Told<K> = futures::stream::BoxStream<'static, Result<Event<K>, watcher::Error>>;

pub(crate) fn follow<K>(api: Api<K>) -> Told<K>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    K: Send + Sync + 'static,
{
    use kube::runtime::WatchStreamExt as _;
    watcher(api, watcher::Config::default()).default_backoff().boxed()
}

/// Takes what a watch tells; whether it matters now. While a list comes in, what was known stays.
pub(crate) fn take<K: Resource>(
    known: &mut HashMap<(String, String), Arc<K>>,
    listed: &mut bool,
    event: Result<Event<K>, watcher::Error>,
) -> bool {
    let key = |object: &K| {
        let meta = object.meta();
        (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    };
    match event {
        Ok(Event::Init) => {
            known.clear();
            *listed = false;
            false
        }
        Ok(Event::InitApply(object)) => {
            known.insert(key(&object), Arc::new(object));
            false
        }
        Ok(Event::InitDone) => {
            *listed = true;
            true
        }
        Ok(Event::Apply(object)) => {
            known.insert(key(&object), Arc::new(object));
            true
        }
        Ok(Event::Delete(object)) => {
            known.remove(&key(&object));
            true
        }
        Err(error) => {
            tracing::debug!(%error, "a watch of Services broke; it starts over");
            false
        }
    }
}

/// Listens for changes of links, addresses and routes; without, they are seen at the next look.
fn monitor() -> Option<Monitor> {
    let watched = Watch { neighbours: false, rules: false, ..Watch::default() };
    let opened = Namespace::current().and_then(|own| Monitor::in_namespace(&own, watched));
    opened.inspect_err(|error| tracing::warn!(%error, "cannot listen for changes of links")).ok()
}

async fn changed(monitor: &mut Option<Monitor>) {
    let Some(open) = monitor else { return std::future::pending().await };
    if let Err(error) = open.next().await {
        tracing::warn!(%error, "cannot listen for changes of links any more");
        *monitor = None;
    }
}
