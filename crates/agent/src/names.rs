//! In a lab: the names of the cluster, `*.svc.cluster.local` and `*.pod.cluster.local`.
//!
//! ```text
//!  Services, EndpointSlices ─(as `services` follows them)─▶ Book ◀─ Namespaces
//!                                                            │
//!  pods, this node ─▶ 10.96.0.10:53 ─▶ this node:1053 ─▶ answer ─▶ reply
//!                     (Service kube-dns)                       └─▶ others, where some are configured
//! ```
//!
//! On a real cluster CoreDNS does this, and this module is not run. Every node answers for itself, from
//! its own copy: while the API is away, from what it said last.
//!
//! | module | idea |
//! |---|---|
//! | [`zone`] | objects as records (pure) |
//! | [`answer`] | from a query to a reply (pure) |
//! | [`reverse`] | names that stand for addresses (pure) |
//! | [`book`] | the zone, kept up to date while it is read |
//! | [`upstream`], [`outside`] | who else is asked, and asking them |
//! | [`object`] | the Service and slices by which clients find the server |
//! | [`resolver`] | what the node itself asks |
//! | `sockets` | datagrams and connections |

pub mod answer;
pub mod book;
pub mod object;
pub mod outside;
pub mod resolver;
pub mod reverse;
mod sockets;
#[cfg(test)]
mod tests;
pub mod upstream;
pub mod zone;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, ObjectReference, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use self::book::Book;
use self::object::{NAME, NAMESPACE, PORT};
use self::outside::Outside;
use self::sockets::{Open, Shared};
use self::upstream::Upstreams;
use self::zone::Zone;
use crate::node::Known;
use crate::policy::events::{Events, Said};

/// The cluster's domain.
pub const DOMAIN: &str = "cluster.local";
const RESOLVER: &str = "/etc/resolv.conf";
const MANAGER: &str = "landbridge-agent";
/// What somebody removed is put back by then, and what failed is tried again.
const AGAIN: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_secs(1);

/// A book without names, for a cluster whose name server is at an address.
pub fn book(server: Option<IpAddr>) -> Arc<Book> {
    Arc::new(Book::new(Zone::new(DOMAIN, server.into_iter().collect())))
}

/// What the duty needs to know.
pub struct Duty {
    pub client: Client,
    pub node: String,
    /// The name server's own address.
    pub server: IpAddr,
    /// Kept up to date by [`crate::services`].
    pub book: Arc<Book>,
    pub known: Known,
}

/// Answers until `stop` is done.
pub async fn run(duty: Duty, stop: impl Future<Output = ()>) {
    let client = duty.client.clone();
    let mut namespaces = crate::services::follow(Api::<Namespace>::all(client.clone()));
    let only = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
    let maps = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
    let mut maps = watcher(maps, only).default_backoff().boxed();
    let (upstreams, told) = watch::channel(Upstreams::default());
    let (clients, allowed) = watch::channel(Vec::new());
    let silent = watch::Sender::new(None);
    let mut silence = silent.subscribe();
    let shared = Shared {
        book: Arc::clone(&duty.book),
        upstreams: told,
        outside: Outside::default(),
        clients: allowed,
        silent,
    };
    let mut addresses = duty.known.addresses.clone();
    let mut pods = duty.known.pod_cidrs.clone();
    let mut server = Server {
        events: Events::new(client, "landbridge-names", &duty.node),
        duty,
        shared,
        clients,
        open: None,
        uid: None,
        problem: None,
    };
    if let Err(error) = resolver::give(Path::new(RESOLVER), server.duty.server, DOMAIN) {
        tracing::warn!(%error, "this node does not find names: {RESOLVER} cannot be written");
    }
    let mut tick = tokio::time::interval(AGAIN);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = std::pin::pin!(stop);
    let mut listed = None;
    loop {
        tokio::select! {
            () = &mut stop => return,
            Some(event) = namespaces.next() => {
                match event {
                    Ok(event) => server.duty.book.hear_namespace(&event),
                    Err(error) => tracing::debug!(%error, "the watch of namespaces broke; it starts over"),
                }
                continue;
            }
            Some(event) = maps.next() => {
                let map = match event {
                    Ok(Event::Init) => { listed = None; continue }
                    Ok(Event::InitApply(map)) => { listed = Some(map); continue }
                    Ok(Event::InitDone) => listed.take(),
                    Ok(Event::Apply(map)) => Some(map),
                    Ok(Event::Delete(_)) => None,
                    Err(error) => {
                        tracing::debug!(%error, "the watch of the ConfigMap kube-dns broke; it starts over");
                        continue;
                    }
                };
                upstreams.send_replace(server.read_upstreams(map).await);
                continue;
            }
            Ok(()) = silence.changed() => {
                let said = silence.borrow_and_update().clone();
                server.tell_silence(said).await;
                continue;
            }
            Ok(()) = addresses.changed() => {}
            Ok(()) = pods.changed() => {}
            _ = tick.tick() => {}
        }
        let own = addresses.borrow_and_update().clone();
        let of_pods = pods.borrow_and_update().clone();
        if !server.keep(&own, &of_pods).await {
            tick.reset_after(SOON);
        }
    }
}

struct Server {
    duty: Duty,
    shared: Shared,
    events: Events,
    clients: watch::Sender<Vec<IpNet>>,
    open: Option<Open>,
    /// That of the Node.
    uid: Option<String>,
    /// What was said last to be wrong.
    problem: Option<String>,
}

impl Server {
    /// Opens what is not open, and lets clients find it. Whether all is well.
    async fn keep(&mut self, own: &[IpAddr], pods: &[IpNet]) -> bool {
        let clients = own.iter().map(|ip| IpNet::from(*ip)).chain(pods.iter().copied());
        self.clients.send_replace(clients.collect());
        // Datagrams are translated within their family.
        let family = |ip: &&IpAddr| ip.is_ipv4() == self.duty.server.is_ipv4();
        let Some(ip) = own.iter().find(family) else { return false };
        let address = SocketAddr::new(*ip, PORT);
        if self.open.as_ref().is_none_or(|open| open.address != address) {
            self.open = None;
            match sockets::open(address, &self.shared).await {
                Ok(open) => {
                    tracing::info!(%address, server = %self.duty.server, "names of the cluster are answered");
                    self.open = Some(open);
                    self.problem = None;
                }
                Err(error) => {
                    let note = format!(
                        "{}: nobody answers for names of the cluster: cannot listen at {address}: {error}",
                        self.duty.node
                    );
                    self.tell("NameServerNotListening", note).await;
                }
            }
        }
        match self.publish(address).await {
            Ok(()) => self.open.is_some(),
            Err(error) => {
                tracing::warn!(
                    "clients cannot find the cluster's name server: {error:#}; trying again"
                );
                false
            }
        }
    }

    async fn publish(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let Duty { client, node, server, .. } = &self.duty;
        if self.uid.is_none() {
            self.uid = Api::<Node>::all(client.clone()).get_opt(node).await?.and_then(|n| n.uid());
        }
        let Some(uid) = &self.uid else { anyhow::bail!("the Node {node} is not there yet") };
        let params = PatchParams::apply(MANAGER).force();
        let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
        services.patch(NAME, &params, &Patch::Apply(object::service(*server))).await?;
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
        let slice = object::slice(node, uid, address, self.open.is_some());
        slices.patch(&format!("{NAME}-{node}"), &params, &Patch::Apply(slice)).await?;
        Ok(())
    }

    async fn read_upstreams(&mut self, map: Option<ConfigMap>) -> Upstreams {
        let Some(map) = map else { return Upstreams::default() };
        let (upstreams, wrong) = Upstreams::read(&map.data.clone().unwrap_or_default());
        for note in wrong {
            tracing::warn!("ConfigMap {NAMESPACE}/{NAME}: {note}");
            let about = about("ConfigMap", map.uid());
            self.events.say(Said { about, warning: true, reason: "BadNameServer", note }).await;
        }
        upstreams
    }

    async fn tell_silence(&mut self, said: Option<String>) {
        if let Some(words) = said {
            let note = format!("{}: nobody outside answers: {words}", self.duty.node);
            self.tell("UpstreamNotAnswering", note).await;
        } else {
            self.problem = None;
            tracing::info!("names outside are answered again");
        }
    }

    /// Says on the Service what is wrong, once.
    async fn tell(&mut self, reason: &'static str, note: String) {
        if self.problem.as_ref() == Some(&note) {
            return;
        }
        tracing::warn!("{note}");
        self.problem = Some(note.clone());
        let services: Api<Service> = Api::namespaced(self.duty.client.clone(), NAMESPACE);
        let uid = services.get_opt(NAME).await.ok().flatten().and_then(|service| service.uid());
        let about = about("Service", uid);
        self.events.say(Said { about, warning: true, reason, note }).await;
    }
}

fn about(kind: &str, uid: Option<String>) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(NAMESPACE.to_owned()),
        name: Some(NAME.to_owned()),
        uid,
        ..ObjectReference::default()
    }
}
