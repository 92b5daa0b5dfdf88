//! `landbridge up`
//!
//! ```text
//! state directory ─▶ certificates ─▶ store ─▶ kinds ─▶ API (TLS, sockets) ─▶ cloud ─▶ controllers ─▶ lab ─▶ kubeconfig ─▶ ready
//! ```
//!
//! The API listens only when all kinds are there: a client never sees half of it. The lab is a child
//! process with a socket of the API for each of its nodes.

mod agents;
pub(crate) mod cloud;
mod fabric;
pub(crate) mod ingress;
mod lab;

use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use landbridge_api::Defaults;
use landbridge_apiserver::pki::{Pki, write_private};
use landbridge_apiserver::{ApiServer, CustomKind, Figures, Identity, Options};
use landbridge_controllers::metrics::Board;
use landbridge_controllers::{Settings, dns, rights, vips};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::args::UpArgs;
use crate::listen::{Listening, listen};
use crate::log::{self, LogLevel};
use crate::process::ProcessId;
use crate::progress::{Message, Progress, say};
use crate::state::{Lock, RunInfo, Running, Server, StateDir};
use crate::stop::StopSignals;
use crate::{collect, connect, detach, version};

/// How long open requests may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts the server and stays until it is told to stop; or starts one in the background.
pub fn run(args: &UpArgs, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    if args.detach {
        return detach::run(args, log_level);
    }
    let (usual, mut progress) = if args.detached_child {
        detach::leave_terminal();
        (LogLevel::Info, Progress::wire())
    } else {
        (LogLevel::Warn, Progress::stdout())
    };
    log::init(log_level, usual);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")?;
    let result = runtime.block_on(serve(args, &mut progress));
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Err(error) = &result
        && args.detached_child
    {
        progress.show(&Message::Failed(format!("{error:#}")));
    }
    result.map(|()| ExitCode::SUCCESS)
}

/// Says that a server is there already, and what to do.
pub fn already_up(state: &StateDir) -> anyhow::Error {
    let dir = state.path().display();
    match state.server() {
        Ok(Server::Running(info)) => anyhow!(
            "landbridge is already up for {dir}: pid {}, {}. Stop it with `landbridge down --dir {dir}`, or start another one with another --dir",
            info.pid,
            info.url
        ),
        _ => anyhow!("another landbridge is just starting or stopping in {dir}; try again"),
    }
}

/// How to use what has been started.
pub fn usage(dir: &Path, detached: bool) {
    let kubeconfig = dir.join("kubeconfig");
    let dir = dir.display();
    say("");
    say(&format!("  kubectl --kubeconfig {} get netconfigs", kubeconfig.display()));
    if detached {
        say(&format!("  landbridge status --dir {dir}"));
        say(&format!("  landbridge down --dir {dir}"));
    } else {
        say("  Ctrl-C stops it");
    }
}

async fn serve(args: &UpArgs, progress: &mut Progress) -> anyhow::Result<()> {
    let mut stop = StopSignals::new()?;
    let started = tokio::select! {
        started = start(args, progress) => started?,
        name = stop.next() => bail!("{name} came while starting"),
    };
    progress.show(&Message::Ready);
    if !args.detached_child {
        usage(&args.dir.dir, false);
    }
    let mut started = started;
    tokio::select! {
        name = stop.next() => progress.note(format!("{name}: stopping")),
        what = started.ended() => bail!("{what}; the log says why"),
    }
    tokio::select! {
        () = started.stop() => progress.step("stopped", "everything is kept"),
        name = stop.next() => progress.note(format!("{name} again: stopping at once")),
    }
    Ok(())
}

/// A server that is up.
struct Started {
    // Dropped first: the agents of a lab are clients.
    lab: Option<lab::Lab>,
    server: ApiServer,
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    // Dropped in this order: first nobody finds it any more, then the next may start.
    _running: Running,
    _lock: Lock,
}

impl Started {
    /// Waits until a listener or the lab has ended by itself, which neither should; says which.
    async fn ended(&mut self) -> &'static str {
        let lab = async {
            match &mut self.lab {
                Some(lab) => lab.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.tasks.join_next() => "the API stopped listening",
            () = lab => "the lab ended",
        }
    }

    /// Ends the lab, takes no more requests, ends streams and controllers, then waits for open requests.
    async fn stop(&mut self) {
        if let Some(lab) = self.lab.take() {
            lab.stop().await;
        }
        self.stop.send_replace(true);
        // Before waiting for requests: watches end only when the server says so.
        self.server.shutdown().await;
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
    }
}

async fn start(args: &UpArgs, progress: &mut Progress) -> anyhow::Result<Started> {
    let state = StateDir::new(&args.dir.dir);
    state.prepare()?;
    let Some(lock) = state.lock()? else { return Err(already_up(&state)) };
    progress.step("state directory", state.path().display().to_string());

    let listening = listen(args.bind, args.port, state.last_port()).await?;
    state.remember_port(listening.port)?;
    let shape = lab::shape(args)?;
    let door = match &shape {
        None => None,
        Some(_) => Some(ingress::listen(args.ingress_port).await?),
    };
    let mut info = run_info(&state, &listening, args.detached_child)?;
    info.ingress = door.as_ref().map(|(_, address)| format!("http://{address}"));
    let mut running = state.begin(info)?;
    let choice = cloud::Choice::of(args);

    let names = certificate_names(args.bind);
    let pki = Pki::ensure_for(&state.pki(), &names, Timestamp::now())?;
    let tls = pki.server_tls()?;
    progress.step("certificates", state.pki().display().to_string());

    let mut settings = settings(args, shape.is_some());
    let server = open(&state, &pki, &settings).await?;
    let figures = server.stats();
    progress.step("store", format!("revision {}, {} objects", figures.revision, figures.objects));

    let kinds = custom_kinds(args)?;
    let count = kinds.len();
    server.install(kinds).await.context("cannot install the custom resource definitions")?;
    ensure_namespace(&server, landbridge_vips::NAMESPACE).await?;
    progress.step("kinds", format!("{count} custom resource definitions"));

    let socket = connect::listen(&state.socket())
        .with_context(|| format!("cannot listen on {}", state.socket().display()))?;
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let api = server.clone();
    let until = wait_for(stopped.clone());
    tasks.spawn(async move { api.serve_tls(listening.listener, tls, until).await });
    let api = server.clone();
    let until = wait_for(stopped.clone());
    tasks.spawn(async move { api.serve_unix(socket, Identity::admin(), until).await });
    if let Some(note) = listening.note {
        progress.note(note);
    }
    let kubernetes = landbridge_apiserver::kubernetes_version();
    progress.step("API", format!("{} (Kubernetes {kubernetes})", listening.url));

    let embedded = match choice {
        cloud::Choice::Embedded => {
            let made = cloud::Embedded::start(&state, shape.as_ref(), &mut tasks, &stopped).await?;
            progress.step("cloud", made.describe());
            running.serves_cloud(&made.url)?;
            settings.cloud = Some(made.client()?);
            Some(made)
        }
        ref other => {
            settings.cloud = other.client(&server.client(Identity::system("bootstrap")));
            None
        }
    };
    if args.no_controllers {
        progress.note("no controllers: objects are kept, and nothing acts on them".to_owned());
    } else {
        let admin = server.client(Identity::system("bootstrap"));
        rights::grant(&admin, rights::USER, &settings)
            .await
            .context("cannot give the controllers their role")?;
        let client = server.client(Identity::new(rights::USER, &[]).authenticated());
        let until = wait_for(stopped.clone());
        tasks.spawn(landbridge_controllers::run(client.clone(), settings, until));
        tasks.spawn(collect::run(client, wait_for(stopped.clone())));
        let what = "addresses (IPSet), virtual addresses (Service), records of pods (IPPool), names (DNSMasq), control planes";
        progress.step("controllers", what.to_owned());
    }
    let lab = match shape {
        None => None,
        Some(shape) => {
            let place = lab::Place { server: &server, state: &state, args, pki: &pki };
            let lab = lab::start(&place, &shape, embedded.as_ref(), &mut tasks, &stopped).await?;
            progress.step("lab", lab.describe());
            if let Some(embedded) = &embedded {
                let directory = std::path::absolute(state.lab())?;
                let client = server.client(Identity::system("bootstrap"));
                let (cloud, until) = (embedded.server.clone(), wait_for(stopped.clone()));
                tasks.spawn(fabric::run(cloud, client, directory, shape.clone(), until));
            }
            if let Some((listener, address)) = door {
                let sockets = ingress::sockets(&std::path::absolute(state.lab())?, &shape);
                tasks.spawn(ingress::run(listener, sockets, wait_for(stopped.clone())));
                progress.step("ingress", format!("http://{address} for *.{}", args.ingress_domain));
            }
            Some(lab)
        }
    };

    let kubeconfig = state.kubeconfig();
    write_private(&kubeconfig, pki.admin_kubeconfig(&listening.url).as_bytes())?;
    running.ready()?;
    progress.step("kubeconfig", kubeconfig.display().to_string());
    Ok(Started { lab, server, tasks, stop, _running: running, _lock: lock })
}

/// What controllers are told.
fn settings(args: &UpArgs, has_lab: bool) -> Settings {
    Settings {
        // Nobody else acts on control planes here.
        control_planes: true,
        // Images are not run in a lab, so whatever they are, our own server answers.
        dns: dns::Settings { is_always_own: has_lab, ..dns::Settings::default() },
        vips: vips::Settings { class: args.lb_class.clone() },
        ..Settings::default()
    }
}

/// What controllers post, for `/metrics`.
#[derive(Debug)]
struct Posted(Board);

impl Figures for Posted {
    fn text(&self) -> String {
        self.0.text()
    }
}

async fn open(state: &StateDir, pki: &Pki, settings: &Settings) -> anyhow::Result<ApiServer> {
    let options = Options {
        ca_pem: Some(pki.ca_pem().to_owned()),
        nodes: Some(agents::Agents::of(&state.lab())),
        node_objects: agents::node_objects(),
        figures: Some(Arc::new(Posted(settings.board.clone()))),
        ..Options::new(state.store())
    };
    ApiServer::open(options)
        .await
        .with_context(|| format!("cannot open the store in {}", state.store().display()))
}

/// Every kind of ours, and those of others that go with them, with their rules.
fn custom_kinds(args: &UpArgs) -> anyhow::Result<Vec<CustomKind>> {
    let defaults = Defaults { ingress_domain: args.ingress_domain.clone(), ..Defaults::default() };
    landbridge_api::all_crds()
        .into_iter()
        .map(|crd| {
            let hooks =
                landbridge_plan::hooks_with(&defaults, &crd.spec.group, &crd.spec.names.kind);
            let crd = serde_json::to_value(crd).context("cannot read our own definitions")?;
            Ok(CustomKind { crd, hooks })
        })
        .collect()
}

/// Pools of virtual addresses live in a namespace that MetalLB's manifests bring along elsewhere.
async fn ensure_namespace(server: &ApiServer, name: &str) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(server.client(Identity::system("bootstrap")));
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    match namespaces.create(&PostParams::default(), &namespace).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot create the namespace {name}")),
    }
}

fn run_info(state: &StateDir, listening: &Listening, detached: bool) -> anyhow::Result<RunInfo> {
    let own = ProcessId::own().context("cannot read /proc/self/stat: is /proc mounted?")?;
    let socket = std::path::absolute(state.socket())
        .with_context(|| format!("cannot resolve {}", state.socket().display()))?;
    Ok(RunInfo {
        pid: own.pid,
        started_ticks: own.started_ticks,
        started_at: Timestamp::now().to_string(),
        url: listening.url.clone(),
        socket,
        version: version::SHORT.to_owned(),
        commit: version::COMMIT.to_owned(),
        ready: false,
        detached,
        ingress: None,
        cloud: None,
    })
}

/// The address listened on, when it is one; with the unspecified address clients choose.
fn certificate_names(bind: IpAddr) -> Vec<String> {
    if bind.is_unspecified() { Vec::new() } else { vec![bind.to_string()] }
}

async fn wait_for(mut stopped: watch::Receiver<bool>) {
    // An error means the sender is gone: then it is time to stop, too.
    let _ = stopped.wait_for(|stop| *stop).await;
}
