//! The Node object: registered, kept Ready, its addresses kept true.
//!
//! Labels, taints and pod networks that others set are never changed: of the labels only missing
//! ones are added, and of the status only the node's own part is written.

mod addresses;
mod object;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use futures::StreamExt as _;
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use landbridge_linux::monitor::Watch;
use landbridge_linux::{Handle, IfName, Monitor, Namespace};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use self::object::Machine;

const MANAGER: &str = "landbridge-agent";
const LEASES: &str = "kube-node-lease";
/// How often the lease is renewed, and how long others wait for that.
const RENEWED: Duration = Duration::from_secs(10);
const LEASE_SECONDS: i32 = 40;
/// A status that says nothing new is written this often.
const REPORTED: Duration = Duration::from_mins(5);

/// Which node this is.
#[derive(Clone, Debug)]
pub struct Settings {
    pub name: String,
    /// Labels it starts with.
    pub labels: BTreeMap<String, String>,
    /// Taints it starts with.
    pub taints: Vec<Taint>,
    /// The NIC whose addresses are the node's.
    pub nic: Option<IfName>,
    /// So many pods fit.
    pub pods: u32,
    /// Of the agent.
    pub version: String,
}

impl Settings {
    /// A node of a name, with the addresses of a NIC.
    pub fn new(name: &str, nic: Option<IfName>) -> Self {
        Self {
            name: name.to_owned(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            nic,
            pods: 1000,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// What others need to know of the node, kept up to date.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its addresses, the main one first.
    pub addresses: watch::Receiver<Vec<IpAddr>>,
    /// The networks of its pods, as somebody has written them into the Node.
    pub pod_cidrs: watch::Receiver<Vec<IpNet>>,
}

/// Where [`run`] says what it finds out.
#[derive(Debug)]
pub struct Teller {
    addresses: watch::Sender<Vec<IpAddr>>,
    pod_cidrs: watch::Sender<Vec<IpNet>>,
}

/// Both ends of what is known.
pub fn known() -> (Teller, Known) {
    let (addresses, of_node) = watch::channel(Vec::new());
    let (pod_cidrs, of_pods) = watch::channel(Vec::new());
    (Teller { addresses, pod_cidrs }, Known { addresses: of_node, pod_cidrs: of_pods })
}

/// Keeps the Node until `stop` is done. It stays when the agent ends; its lease runs out.
pub async fn run(
    client: Client,
    settings: Settings,
    teller: Teller,
    stop: impl Future<Output = ()>,
) {
    let selected = watcher::Config::default().fields(&format!("metadata.name={}", settings.name));
    let mut news = {
        use kube::runtime::WatchStreamExt as _;
        watcher(Api::<Node>::all(client.clone()), selected).default_backoff().boxed()
    };
    let mut changes = monitor();
    let mut keeper = Keeper {
        nodes: Api::all(client.clone()),
        leases: Api::namespaced(client, LEASES),
        machine: Machine::read(),
        settings,
        teller,
        node: None,
        listed: false,
        told: None,
        leased: false,
    };
    keeper.look();
    let mut tick = tokio::time::interval(RENEWED);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return,
            Some(event) = news.next() => match event {
                Ok(event) => keeper.hear(event),
                Err(error) => tracing::warn!(%error, "the watch of the Node broke; it starts over"),
            },
            () = changed(&mut changes) => keeper.look(),
            _ = tick.tick() => {
                keeper.look();
                keeper.renew().await;
            }
        }
        keeper.keep().await;
        if !keeper.leased {
            keeper.renew().await;
        }
    }
}

/// Listens for changes of addresses; where that fails, they are seen with the next lease.
fn monitor() -> Option<Monitor> {
    let watch = Watch { routes: false, ..Watch::default() };
    let opened = Namespace::current().and_then(|own| Monitor::in_namespace(&own, watch));
    opened
        .inspect_err(|error| tracing::warn!(%error, "cannot listen for changes of addresses"))
        .ok()
}

/// Waits for a change, and then for the rest of those that come with it.
async fn changed(monitor: &mut Option<Monitor>) {
    let Some(open) = monitor else { return std::future::pending().await };
    if let Err(error) = open.next().await {
        tracing::warn!(%error, "cannot listen for changes of addresses any more");
        *monitor = None;
        return;
    }
    let settled = async { while open.next().await.is_ok() {} };
    let _ = tokio::time::timeout(Duration::from_millis(100), settled).await;
}

struct Keeper {
    nodes: Api<Node>,
    leases: Api<Lease>,
    machine: Machine,
    settings: Settings,
    teller: Teller,
    node: Option<Node>,
    /// Whether it is known if there is a Node.
    listed: bool,
    /// The status as last written, and when.
    told: Option<(Value, Instant)>,
    /// Whether the lease was ever renewed.
    leased: bool,
}

impl Keeper {
    fn hear(&mut self, event: Event<Node>) {
        match event {
            Event::Init => (self.node, self.listed) = (None, false),
            Event::InitApply(node) | Event::Apply(node) => self.take(node),
            Event::InitDone => self.listed = true,
            Event::Delete(_) => (self.node, self.told) = (None, None),
        }
    }

    fn take(&mut self, node: Node) {
        let spec = node.spec.clone().unwrap_or_default();
        let cidrs = spec.pod_cidrs.unwrap_or_else(|| spec.pod_cidr.into_iter().collect());
        let cidrs: Vec<IpNet> = cidrs.iter().filter_map(|cidr| cidr.parse().ok()).collect();
        self.teller.pod_cidrs.send_if_modified(|known| {
            let new = *known != cidrs;
            *known = cidrs;
            new
        });
        self.node = Some(node);
    }

    /// Reads the node's addresses.
    fn look(&mut self) {
        let Some(nic) = &self.settings.nic else { return };
        let read = || {
            let net = Handle::open()?;
            Ok::<_, landbridge_linux::Error>((net.links()?, net.addresses()?))
        };
        match read() {
            Ok((links, addresses)) => {
                let found = addresses::find(nic, &links, &addresses);
                self.teller.addresses.send_if_modified(|known| {
                    let new = *known != found;
                    *known = found;
                    new
                });
            }
            Err(error) => tracing::warn!(%error, %nic, "cannot read the addresses of the node"),
        }
    }

    /// Registers the node where it is missing, adds labels, writes the status when it is time.
    async fn keep(&mut self) {
        if !self.listed {
            return;
        }
        if let Err(error) = self.try_keep().await {
            tracing::warn!(%error, node = self.settings.name, "cannot write the Node; will be tried again");
        }
    }

    async fn try_keep(&mut self) -> kube::Result<()> {
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..Default::default() };
        let name = self.settings.name.clone();
        let node = match self.node.clone() {
            Some(node) => node,
            None => self.register().await?,
        };
        if let Some(patch) = object::missing_labels(&node, &self.settings, &self.machine) {
            self.nodes.patch(&name, &params, &Patch::Merge(patch)).await?;
        }
        let addresses = self.teller.addresses.borrow().clone();
        let status = object::status(
            Timestamp::now(),
            Some(&node),
            &self.settings,
            &self.machine,
            &addresses,
        );
        let listed = object::addresses(&self.settings, &addresses);
        let said = json!([object::without_heartbeats(status.clone()), listed]);
        let known = self.told.as_ref();
        if known.is_some_and(|(known, at)| *known == said && at.elapsed() < REPORTED) {
            return Ok(());
        }
        self.nodes.patch_status(&name, &params, &Patch::Merge(listed)).await?;
        let patch = Patch::Strategic(json!({"status": status}));
        let node = self.nodes.patch_status(&name, &params, &patch).await?;
        self.take(node);
        self.told = Some((said, Instant::now()));
        Ok(())
    }

    async fn register(&mut self) -> kube::Result<Node> {
        let params = PostParams { field_manager: Some(MANAGER.into()), ..Default::default() };
        let new = object::new(&self.settings, &self.machine);
        let new: Node = serde_json::from_value(new).map_err(kube::Error::SerdeError)?;
        let node = match self.nodes.create(&params, &new).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.nodes.get(&self.settings.name).await?
            }
            other => other?,
        };
        tracing::info!(node = self.settings.name, "registered");
        self.take(node.clone());
        Ok(node)
    }

    /// Says that the node lives.
    async fn renew(&mut self) {
        let Some(uid) = self.node.as_ref().and_then(|node| node.metadata.uid.clone()) else {
            return;
        };
        let name = &self.settings.name;
        let spec = json!({
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format!("{:.6}", Timestamp::now()),
        });
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..Default::default() };
        let patch = Patch::Merge(json!({"spec": spec}));
        let renewed = match self.leases.patch(name, &params, &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => self.new_lease(&uid, spec).await,
            other => other.map(|_| ()),
        };
        match renewed {
            Ok(()) => self.leased = true,
            Err(error) => tracing::warn!(%error, node = name, "cannot renew the lease of the node"),
        }
    }

    async fn new_lease(&self, uid: &str, spec: Value) -> kube::Result<()> {
        let name = &self.settings.name;
        let lease = json!({
            "metadata": {"name": name, "namespace": LEASES, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
            ]},
            "spec": spec,
        });
        let lease: Lease = serde_json::from_value(lease).map_err(kube::Error::SerdeError)?;
        let params = PostParams { field_manager: Some(MANAGER.into()), ..Default::default() };
        self.leases.create(&params, &lease).await.map(|_| ())
    }
}
