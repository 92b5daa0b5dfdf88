//! The lab of `up`: a child process, its nodes' sockets, and the controllers a cluster would have.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, ListParams};
use landbridge_api::foreign::nmstate::objects::NodeNetworkState;
use landbridge_apiserver::pki::Pki;
use landbridge_apiserver::{ApiServer, Identity};
use landbridge_controllers::{client_pod, routes};
use landbridge_lab::info::Vlans;
use landbridge_lab::spec::{Kind, Shape, builtin};
use landbridge_lab::start::{self, Started};
use landbridge_workloads as workloads;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::cloud::Embedded;
use super::{agents, ingress, wait_for};
use crate::args::UpArgs;
use crate::state::StateDir;

/// Nodes are made in tens of milliseconds; a machine that needs longer than this has a problem.
const PATIENCE: Duration = Duration::from_mins(2);
/// Agents give their leases back and end.
const STOP: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(50);
/// Who runs the controllers that a real cluster brings along.
const WORKLOADS: &str = "system:landbridge:workloads";
/// Who says which Routes are served.
const ROUTES: &str = "system:landbridge:routes";

/// Who keeps the pods `openstackclient`.
const CLIENT_PODS: &str = "system:landbridge:client-pods";

/// A lab that runs.
pub struct Lab {
    started: Started,
    nodes: usize,
    hosts: usize,
    vlans: Vlans,
}

/// What the lab is to look like; nothing when there is to be none.
pub fn shape(args: &UpArgs) -> anyhow::Result<Option<Shape>> {
    if args.lab == "none" || args.no_controllers {
        return Ok(None);
    }
    builtin::find(&args.lab).map(Some).context("no lab can be made; `--lab none` does without")
}

/// Where a lab is started.
pub struct Place<'p> {
    pub server: &'p ApiServer,
    pub state: &'p StateDir,
    pub args: &'p UpArgs,
    pub pki: &'p Pki,
}

/// Starts it, with the embedded cloud behind its pods if there is one, and waits until its nodes are
/// ready.
pub async fn start(
    place: &Place<'_>,
    shape: &Shape,
    cloud: Option<&Embedded>,
    tasks: &mut JoinSet<()>,
    stopped: &watch::Receiver<bool>,
) -> anyhow::Result<Lab> {
    let Place { server, state, args, pki } = *place;
    let directory = std::path::absolute(state.lab()).context("cannot find the state directory")?;
    for door in agents::doors(&directory, shape, args.services)? {
        let (api, until) = (server.clone(), wait_for(stopped.clone()));
        tasks.spawn(async move { api.serve_unix(door.listener, door.identity, until).await });
    }
    let admin = server.client(Identity::system("bootstrap"));
    agents::grant(&admin, shape).await.context("cannot give the agents their roles")?;
    agents::give(&admin, WORKLOADS, workloads::rights(), "User", WORKLOADS)
        .await
        .context("cannot give the workload controllers their role")?;
    let client = server.client(Identity::new(WORKLOADS, &[]).authenticated());
    tasks.spawn(workloads::run(client, workloads::Settings::default(), wait_for(stopped.clone())));

    ingress::certify(pki, &directory, shape, &args.ingress_domain)?;
    ingress::certify_pods(&state.pki(), &directory, shape)?;
    agents::give(&admin, ROUTES, routes::rights(), "User", ROUTES)
        .await
        .context("cannot give the controller of Routes its role")?;
    let client = server.client(Identity::new(ROUTES, &[]).authenticated());
    let domain = args.ingress_domain.clone();
    tasks.spawn(routes::run(client, domain, wait_for(stopped.clone())));

    if let Some(cloud) = cloud {
        cloud.doors(&directory, shape, tasks, stopped)?;
        agents::give(&admin, CLIENT_PODS, client_pod::rights(), "User", CLIENT_PODS)
            .await
            .context("cannot give the controller of openstackclient its role")?;
        let client = server.client(Identity::new(CLIENT_PODS, &[]).authenticated());
        tasks.spawn(client_pod::run(client, wait_for(stopped.clone())));
    }

    let command = command(&directory, &args.lab)?;
    let started = tokio::task::spawn_blocking(move || {
        let mut started = start::start(command, &directory)?;
        let info = started.wait_ready(PATIENCE)?;
        Ok::<_, start::StartError>((started, info))
    });
    let (started, info) = started.await.context("the lab was not started")?.context(
        "the lab cannot be made here; `--lab none` runs the API and the controllers without it",
    )?;
    let of_kind = |kind| shape.nodes.iter().filter(|node| node.kind == kind).count();
    let lab = Lab {
        started,
        nodes: of_kind(Kind::Kubernetes),
        hosts: of_kind(Kind::Host),
        vlans: info.vlans,
    };
    wait_for_nodes(&admin, shape).await?;
    Ok(lab)
}

fn command(directory: &std::path::Path, shape: &str) -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    // A file is named from here; the lab has another working directory.
    let file = PathBuf::from(shape);
    let shape = if builtin::text(shape).is_none() {
        std::path::absolute(&file).unwrap_or(file)
    } else {
        file
    };
    command.args(["lab", "run", "--dir"]).arg(directory).arg("--shape").arg(shape);
    // Progress is this process's own; what the lab has to say is its log.
    command.stdout(Stdio::null());
    Ok(command)
}

/// Waits until every Kubernetes node is Ready and has told its state: policies count the nodes that have.
async fn wait_for_nodes(client: &Client, shape: &Shape) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let states: Api<NodeNetworkState> = Api::all(client.clone());
    let deadline = Instant::now() + PATIENCE;
    let wanted = shape.nodes.iter().filter(|node| node.kind == Kind::Kubernetes);
    let wanted: Vec<&str> = wanted.map(|node| node.name.as_str()).collect();
    loop {
        let there = nodes.list(&ListParams::default()).await.context("cannot list nodes")?;
        let told = states.list_metadata(&ListParams::default()).await;
        let told = told.context("cannot list the states of nodes")?;
        let is_ready = |name: &str| {
            there.iter().any(|node| node.metadata.name.as_deref() == Some(name) && ready(node))
                && told.iter().any(|state| state.metadata.name.as_deref() == Some(name))
        };
        let missing: Vec<&str> = wanted.iter().copied().filter(|name| !is_ready(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!(
                "not ready after {} s: {}; see lab/nodes/NAME/agent.log in the state directory",
                PATIENCE.as_secs(),
                missing.join(", ")
            );
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a node says that it is ready, and nobody says otherwise.
pub(super) fn ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

impl Lab {
    /// For the line of progress.
    pub fn describe(&self) -> String {
        let vlans = match self.vlans {
            Vlans::Kernel => "",
            Vlans::Segments => "; this kernel has no 8021q, so each VLAN is a segment of its own",
        };
        format!("{} nodes, {} hosts{vlans}", self.nodes, self.hosts)
    }

    /// Waits until it has ended by itself, which it should not.
    pub async fn ended(&mut self) {
        while matches!(self.started.ended(), Ok(None)) {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Stops it.
    pub async fn stop(mut self) {
        let stopped = tokio::task::spawn_blocking(move || self.started.stop(STOP)).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(%error, "the lab could not be stopped");
        }
    }
}
