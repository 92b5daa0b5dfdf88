//! `landbridge agent`: the duties of one node, put together.
//!
//! ```text
//!  on a Kubernetes node   policy, attach, announce
//!  on a host              host
//!  on a node of a lab     also node, pods, cluster, names, kubelet: what kubelet and the cluster's network do elsewhere
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use kube::Client;
use landbridge_agent::attachments::InProcess;
use landbridge_agent::host::{self, HostDuty, HostSettings};
use landbridge_agent::policy::{self, Duty, NodeNetwork};
use landbridge_agent::{
    announce, cluster, fabric, ingress, kubelet, members, names, node, pods, services,
};
use landbridge_attach::daemon::Daemon;
use landbridge_attach::objects::{KubeObjects, MakeClient, Objects};
use landbridge_attach::own::OwnPlugins;
use landbridge_attach::releases::Releases;
use landbridge_attach::{networks, serve};
use landbridge_client::Choice;
use landbridge_lab::wires::{LabWires, NODE_SOCKET};
use landbridge_linux::{Handle, IfName};
use landbridge_nodestate::{Files, Nmstatectl, Node};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::args::{AgentArgs, ServicePath};
use crate::connect::ShortPath;
use crate::log::{self, LogLevel};
use crate::node_file::NodeFile;
use crate::stop::StopSignals;
use crate::{up, version};

/// Where whereabouts keeps its records.
const RECORDS: &str = "kube-system";
/// Where a node of a lab has its named network namespaces.
const NETNS: &str = "/run/netns";

/// Runs until told to stop.
pub fn run(args: &AgentArgs, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    log::init(log_level, LogLevel::Info);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")?;
    runtime.block_on(work(args))?;
    Ok(ExitCode::SUCCESS)
}

/// Where this agent's files are.
struct Places {
    state: PathBuf,
    cni_socket: PathBuf,
}

impl Places {
    fn of(args: &AgentArgs) -> Self {
        match &args.lab {
            Some(directory) => {
                Self { state: directory.clone(), cni_socket: directory.join("cni.sock") }
            }
            None => Self { state: args.state_dir.clone(), cni_socket: args.cni_socket.clone() },
        }
    }
}

async fn work(args: &AgentArgs) -> anyhow::Result<()> {
    let mut signals = StopSignals::new()?;
    let places = Places::of(args);
    // A long path is reached through a handle, which has to stay open.
    let socket = args.lab.as_ref().map(|lab| ShortPath::new(&lab.join("api.sock"))).transpose()?;
    let make_client: MakeClient = if let Some(socket) = &socket {
        let path = socket.path.clone();
        Box::new(move || Ok(landbridge_client::unix(&path)))
    } else {
        let choice = Choice { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
        let config = landbridge_client::config(&choice).await?;
        Box::new(move || Client::try_from(config.clone()))
    };
    let client = make_client().context("cannot use what the kubeconfig says")?;
    let network = network(args, &places)?;
    let (stop, stopped) = watch::channel(false);
    let (is_back, _) = watch::channel(false);
    let mut duties = Duties { client, network, places, stopped, is_back, tasks: JoinSet::new() };
    if let Some(host) = &args.host {
        duties.host(host, args);
    } else {
        let name = node_name(args)?;
        let daemon = duties.attach(make_client)?;
        duties.policy(&name);
        let dead = duties.announce(&name);
        if let Some(lab) = &args.lab {
            duties.lab_node(&name, &NodeFile::read(lab)?, &daemon, dead)?;
        }
    }
    if let Some(lab) = &args.lab {
        duties.fabric(lab);
    }
    tracing::info!(version = version::SHORT, "the agent runs");
    tokio::select! {
        name = signals.next() => tracing::info!("{name}: stopping"),
        _ = duties.tasks.join_next() => anyhow::bail!("a duty of the agent ended by itself"),
    }
    stop.send_replace(true);
    while duties.tasks.join_next().await.is_some() {}
    Ok(())
}

/// This node's network, with what was cut short the last time taken back.
fn network(args: &AgentArgs, places: &Places) -> anyhow::Result<Arc<dyn NodeNetwork>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if args.lab.is_none()
        && let Some(nmstate) = Nmstatectl::detect(&path, Path::new("/"))
    {
        tracing::info!("NetworkManager runs here: policies are applied by nmstatectl");
        return Ok(Arc::new(nmstate));
    }
    let files = Files {
        resolver: "/etc/resolv.conf".into(),
        hostname: "/etc/hostname".into(),
        state: places.state.join("network"),
    };
    let mut node = Node::new(Handle::open()?, files)
        .with_foreign(Box::new(landbridge_nodestate::is_of_a_pod))
        .with_dhcp(Arc::new(landbridge_agent::dhcp::Clients::new()));
    if let Some(lab) = &args.lab {
        node = node.with_wires(Arc::new(LabWires { socket: lab.join(NODE_SOCKET) }));
    }
    match node.recover() {
        Ok(None) => {}
        Ok(Some(recovered)) => {
            tracing::warn!(
                "a change was cut short by the end of the last agent: {}",
                recovered.rolled_back
            );
        }
        Err(error) => tracing::error!(%error, "a change that was cut short cannot be taken back"),
    }
    Ok(Arc::new(node))
}

fn node_name(args: &AgentArgs) -> anyhow::Result<String> {
    if let Some(name) = &args.node {
        return Ok(name.clone());
    }
    let name = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    anyhow::ensure!(!name.is_empty(), "this machine has no host name; give --node");
    Ok(name)
}

struct Duties {
    client: Client,
    network: Arc<dyn NodeNetwork>,
    places: Places,
    stopped: watch::Receiver<bool>,
    /// Whether the node has the network back that it had before it was booted.
    is_back: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Duties {
    /// Ends when the agent is to stop.
    fn until(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stopped = self.stopped.clone();
        async move {
            // An error means the sender is gone: then it is time to stop, too.
            let _ = stopped.wait_for(|stop| *stop).await;
        }
    }

    fn host(&mut self, name: &str, args: &AgentArgs) {
        let duty = HostDuty {
            client: self.client.clone(),
            network: Arc::clone(&self.network),
            settings: HostSettings {
                name: name.to_owned(),
                namespace: args.namespace.clone(),
                trunk: args.trunk.clone(),
                nics: std::collections::BTreeMap::new(),
                nameservers: args.nameservers.clone(),
                probes: policy::settings::Settings::default(),
                state_dir: self.places.state.clone(),
            },
        };
        let until = self.until();
        self.tasks.spawn(host::run(duty, until));
    }

    /// Networks, instances and routers of the lab's cloud.
    fn fabric(&mut self, lab: &Path) {
        let duty = fabric::Duty {
            directory: lab.to_owned(),
            netns: NETNS.into(),
            wires: Arc::new(LabWires { socket: lab.join(NODE_SOCKET) }),
        };
        let until = self.until();
        self.tasks.spawn(fabric::run(duty, until));
    }

    fn policy(&mut self, name: &str) {
        let duty = Duty {
            client: self.client.clone(),
            node: name.to_owned(),
            network: Arc::clone(&self.network),
            state_dir: self.places.state.clone(),
            changed: Arc::new(Notify::new()),
        };
        let until = self.until();
        let is_back = self.is_back.clone();
        self.tasks.spawn(policy::run_telling(
            duty,
            move || {
                is_back.send_replace(true);
            },
            until,
        ));
    }

    /// Announces virtual addresses, and says which other nodes are dead.
    fn announce(&mut self, name: &str) -> watch::Receiver<members::Dead> {
        let (dead, known) = members::dead();
        let duty = announce::Duty {
            client: self.client.clone(),
            node: name.to_owned(),
            state_dir: self.places.state.clone(),
            dead,
        };
        let until = self.until();
        self.tasks.spawn(announce::run(duty, until));
        known
    }

    /// Serves the CNI plugin, and makes releases that could not be made before.
    fn attach(&mut self, make_client: MakeClient) -> anyhow::Result<Arc<Daemon>> {
        let runtime = tokio::runtime::Handle::current();
        let objects = KubeObjects::new(self.client.clone(), runtime, RECORDS);
        let objects: Arc<dyn Objects> = Arc::new(objects.with_near(make_client));
        let releases = Releases::new(self.places.state.join("releases"));
        let kernel = Arc::new(networks::Kernel);
        let daemon = Arc::new(Daemon::new(objects, releases, kernel, OwnPlugins::with));
        let socket = &self.places.cni_socket;
        let shown = socket.display();
        if let Some(parent) = socket.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot create the directory of {shown}"))?;
        }
        let listener = listen(socket)?;
        let until = self.until();
        self.tasks.spawn(serve::serve(listener, Arc::clone(&daemon), until));
        let until = self.until();
        self.tasks.spawn(Arc::clone(&daemon).keep_retrying(until));
        Ok(daemon)
    }

    /// What kubelet and the cluster's own network do on other nodes.
    fn lab_node(
        &mut self,
        name: &str,
        file: &NodeFile,
        daemon: &Arc<Daemon>,
        dead: watch::Receiver<members::Dead>,
    ) -> anyhow::Result<()> {
        let landbridge = std::env::current_exe().context("cannot find this program's own file")?;
        let nic = file.nic.as_deref().map(IfName::new).transpose()?;
        let (teller, known) = node::known();
        let mut settings = node::Settings::new(name, nic);
        settings.labels.clone_from(&file.labels);
        settings.taints = file.taints();
        version::SHORT.clone_into(&mut settings.version);
        let until = self.until();
        self.tasks.spawn(node::run(self.client.clone(), settings, teller, until));
        let until = self.until();
        self.tasks.spawn(cluster::run(self.client.clone(), name.to_owned(), until));

        let server = names::object::server(&file.service_cidrs);
        let book = names::book(server);
        self.services(name, file, known.addresses.clone(), dead, Arc::clone(&book))?;
        if let Some(server) = server {
            let (client, node) = (self.client.clone(), name.to_owned());
            let duty = names::Duty { client, node, server, book, known: known.clone() };
            let until = self.until();
            self.tasks.spawn(names::run(duty, until));
        }

        let directory = pods::Directory::default();
        let attachments = Arc::new(InProcess {
            daemon: Arc::clone(daemon),
            pod_cidrs: known.pod_cidrs.clone(),
            directory: self.places.state.join("cni"),
            path: plugin_path(),
        });
        let mut settings = pods::Settings::new(name, &self.places.state.join("pods"), &landbridge);
        settings.names =
            server.map(|server| pods::etc::ClusterDns { server, domain: names::DOMAIN.to_owned() });
        settings.name_server = vec![landbridge.clone().into(), "dns".into()];
        settings.authority = Some(self.places.state.join(up::ingress::PODS_KEY));
        settings.cloud = Some(self.places.state.join(up::cloud::DIRECTORY));
        let (client, addresses) = (self.client.clone(), known.addresses.clone());
        let (views, until) = (directory.clone(), self.until());
        let mut is_back = self.is_back.subscribe();
        self.tasks.spawn(async move {
            // As after the boot of any node: first its network, then its pods.
            let _ = is_back.wait_for(|is_back| *is_back).await;
            if let Err(error) =
                pods::run(client, settings, attachments, addresses, views, until).await
            {
                tracing::error!(%error, "pods cannot be run here");
            }
        });
        let socket = self.places.state.join("kubelet.sock");
        let listener = listen(&socket)?;
        let settings = kubelet::Settings::new(&landbridge);
        let until = self.until();
        self.tasks.spawn(kubelet::run(listener, directory, settings, until));
        Ok(())
    }

    /// What kube-proxy and OpenShift's router do on other nodes.
    fn services(
        &mut self,
        name: &str,
        file: &NodeFile,
        addresses: watch::Receiver<Vec<std::net::IpAddr>>,
        dead: watch::Receiver<members::Dead>,
        book: Arc<names::book::Book>,
    ) -> anyhow::Result<()> {
        let settings = services::Settings {
            node: name.to_owned(),
            pods: cluster::BRIDGE.to_owned(),
            ranges: file.service_cidrs.clone(),
            mode: match file.services {
                ServicePath::Auto => services::Mode::detect(),
                ServicePath::Nft => services::Mode::Kernel,
                ServicePath::Relay => services::Mode::Through,
            },
        };
        let (client, until) = (self.client.clone(), self.until());
        self.tasks.spawn(services::run(client, settings, addresses, dead.clone(), book, until));
        let read = |file: &str| std::fs::read_to_string(self.places.state.join(file)).ok();
        let pair = read(up::ingress::CERTIFICATE).zip(read(up::ingress::KEY));
        let identity = pair.map(|(certificate, key)| ingress::Identity { certificate, key });
        let credentials = ingress::Credentials { identity, pods: read(up::ingress::PODS) };
        let socket = listen(&self.places.state.join(up::ingress::SOCKET))?;
        let (client, until) = (self.client.clone(), self.until());
        self.tasks.spawn(ingress::run(client, credentials, socket, dead, until));
        Ok(())
    }
}

fn listen(socket: &Path) -> anyhow::Result<tokio::net::UnixListener> {
    crate::connect::listen(socket).with_context(|| format!("cannot listen on {}", socket.display()))
}

/// Where plugins are that are programs.
fn plugin_path() -> Vec<String> {
    let given =
        std::env::var("CNI_PATH").unwrap_or_else(|_| "/opt/cni/bin:/usr/lib/cni".to_owned());
    given.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
