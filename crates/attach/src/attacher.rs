//! What the plugin `multus` does.
//!
//! ```text
//!   ADD   configuration + pod + definitions ─▶ delegates ─▶ cache file
//!           ─▶ delegate 0, then the others ─▶ default routes ─▶ network-status, events
//!   DEL   cache file (or pod + definitions) ─▶ delegates, last to first, all tried
//! ```
//!
//! DEL never waits for the cluster for long, and what it cannot find out does not fail it.

mod told;

use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_cni::args::Pod as PodArgs;
use landbridge_cni::config::Input;
use landbridge_cni::delegation::{add_failed, del_failed};
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::networks::{DefaultRoutes, default_routes};
use landbridge_cni::result::{CniResult, Ip, Route};

use crate::cache;
use crate::delegates::{self, Delegate, LoadError, may_run_together};
use crate::networks::{Call, Networks, Sandboxes};
use crate::objects::{ObjectError, Objects, Pod};
use crate::settings::Settings;

/// How long the cluster is asked for the pod, and how often.
const POD: Duration = Duration::from_millis(2500);
const POD_PAUSE: Duration = Duration::from_millis(250);
/// How long ADD waits for the cluster's network.
const READINESS: Duration = Duration::from_secs(45);
/// How many networks of a pod are attached at the same time.
const TOGETHER_MAX: usize = 8;
/// Pods of a file of the node have an identity of their own.
const SOURCE: &str = "kubernetes.io/config.source";

/// Attaches pods. May be called from many threads at once.
pub struct Attacher {
    objects: Arc<dyn Objects>,
    networks: Arc<dyn Networks>,
    sandboxes: Arc<dyn Sandboxes>,
    readiness: Duration,
}

/// One call: the configuration as it came, and the environment.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do for whom.
    pub environment: Environment,
    /// Standard input.
    pub config: Vec<u8>,
}

/// What the cluster says about the pod of a call.
enum Found {
    /// The call names no pod.
    Unnamed,
    /// There is none, or another of the same name.
    Gone,
    /// It is there.
    There(Box<Pod>),
}

impl Attacher {
    /// Everything it touches is handed in.
    pub fn new(
        objects: Arc<dyn Objects>,
        networks: Arc<dyn Networks>,
        sandboxes: Arc<dyn Sandboxes>,
    ) -> Self {
        Self { objects, networks, sandboxes, readiness: READINESS }
    }

    /// Waits for the readiness file no longer than this.
    #[must_use]
    pub fn with_readiness(mut self, limit: Duration) -> Self {
        self.readiness = limit;
        self
    }

    /// Runs a call. ADD answers a result, all else nothing.
    pub fn run(&self, request: &Request) -> Result<Option<CniResult>, CniError> {
        let settings = Settings::parse(&request.config)?;
        let version = settings.version;
        let command = request.environment.command;
        command.allowed_in(version).map_err(|error| error.report(version.as_str()))?;
        let done = match command {
            Command::Add => self.add(request, &settings).map(Some),
            Command::Del => self.del(request, &settings).map(|()| None),
            Command::Check => self.check(request, &settings).map(|()| None),
            Command::Gc => self.gc(request, &settings).map(|()| None),
            Command::Status => self.status(request, &settings).map(|()| None),
            Command::Version => Ok(None),
        };
        done.map_err(|mut error| {
            version.as_str().clone_into(&mut error.cni_version);
            error
        })
    }

    fn add(&self, request: &Request, settings: &Settings) -> Result<CniResult, CniError> {
        let environment = &request.environment;
        let args = environment.args.pod().unwrap_or_default();
        self.wait_until_ready(settings)?;
        let pod = match self.pod(&args)? {
            Found::Unnamed => None,
            Found::Gone => return Ok(nothing()),
            Found::There(pod) => {
                check_identity(&args, &pod)?;
                Some(pod)
            }
        };
        let pod = pod.as_deref();
        let found = delegates::of_pod(self.objects.as_ref(), settings, &environment.interface, pod);
        let delegates = found.map_err(|error| self.no_networks(&args, pod, &error))?;
        let wishes: Vec<_> = delegates.iter().map(|d| d.wishes.default_route.as_deref()).collect();
        let routes = default_routes(&wishes).map_err(|e| told::multus(&args, &e.report("")))?;
        let (directory, container) = (&settings.cni_dir, &environment.container_id);
        cache::write(directory, container, &environment.args, &delegates).map_err(|error| {
            let text = format!("error saving the delegates: {error}");
            told::multus(&args, &CniError::new(Code::IO_FAILURE, text))
        })?;
        let results = self.attach(request, settings, &args, &delegates, &routes)?;
        if let Some(pod) = pod {
            self.tell(pod, &args, &delegates, &results)?;
        }
        results
            .into_iter()
            .next()
            .ok_or_else(|| CniError::new(Code::INTERNAL, "the Multus configuration has no network"))
    }

    /// Attaches all networks, or none.
    fn attach(
        &self,
        request: &Request,
        settings: &Settings,
        args: &PodArgs,
        delegates: &[Delegate],
        routes: &[DefaultRoutes],
    ) -> Result<Vec<CniResult>, CniError> {
        let calls: Vec<Call> =
            delegates.iter().map(|d| call_of(request, settings, args, d)).collect();
        let one = |place: usize| -> Result<CniResult, CniError> {
            match (delegates.get(place), calls.get(place), routes.get(place)) {
                (Some(delegate), Some(call), Some(routes)) => {
                    self.attach_one(delegate, call, routes)
                }
                _ => Err(CniError::new(Code::INTERNAL, "a network without a call")),
            }
        };
        let together = may_run_together(delegates.get(1..).unwrap_or_default());
        let mut outcomes: Vec<Result<CniResult, CniError>> = Vec::new();
        let mut place = 0;
        while place < delegates.len() && outcomes.iter().all(Result::is_ok) {
            // The cluster's network comes first, by itself: it may make what the others need.
            let count = if place == 0 || !together { 1 } else { TOGETHER_MAX };
            let end = (place + count).min(delegates.len());
            outcomes.extend(at_once(&(place..end).collect::<Vec<_>>(), |place| one(*place)));
            place = end;
        }
        let failed = outcomes.iter().zip(delegates).find_map(|(outcome, delegate)| {
            outcome.as_ref().err().map(|cause| add_failed(args, &delegate.network.name, cause))
        });
        let Some(error) = failed else { return Ok(outcomes.into_iter().flatten().collect()) };
        for (delegate, call) in delegates.iter().zip(&calls).take(outcomes.len()).rev() {
            let call = with(call, Command::Del);
            if let Err(error) = self.networks.del(&delegate.network, &call) {
                tracing::warn!(%error, network = delegate.network.name, "undoing a failed ADD");
            }
        }
        Err(error)
    }

    fn attach_one(
        &self,
        delegate: &Delegate,
        call: &Call,
        routes: &DefaultRoutes,
    ) -> Result<CniResult, CniError> {
        let (netns, interface) = (call.environment.netns.as_deref(), &call.environment.interface);
        let netns = netns.unwrap_or_default();
        if self.sandboxes.interfaces(netns)?.contains(interface) {
            let kind = delegate.network.plugins.first().map_or("", |plugin| plugin.kind.as_str());
            let text = format!(
                "cannot set {kind:?} interface name to {interface:?}: ifname {interface} is \
                 already exist"
            );
            return Err(CniError::new(Code::INTERNAL, text));
        }
        let mut result = self.networks.add(&delegate.network, call)?;
        if *routes != DefaultRoutes::default() {
            self.sandboxes.default_routes(netns, interface, routes)?;
            reroute(&mut result, routes);
            self.networks.keep(&delegate.network, call, &result)?;
        }
        Ok(result)
    }

    /// Detaches. Never waits long, and forgets only what is done when it is told to be careful.
    fn del(&self, request: &Request, settings: &Settings) -> Result<(), CniError> {
        let environment = &request.environment;
        let args = environment.args.pod().unwrap_or_default();
        let Some(delegates) = self.attached(request, settings, &args) else {
            tracing::info!(
                container = environment.container_id,
                "nothing is known of this container; nothing is to be detached"
            );
            return Ok(());
        };
        let failures = self.detach(request, settings, &args, &delegates);
        let gone = |error: &CniError| error.to_string().contains("no such file or directory");
        if !settings.retry_delete_on_error || failures.iter().all(gone) {
            let removed = cache::remove(&settings.cni_dir, &environment.container_id);
            if let Err(error) = removed {
                tracing::warn!(%error, container = environment.container_id, "the cache file stays");
            }
        }
        del_failed(&failures).map_or(Ok(()), |error| Err(told::multus(&args, &error)))
    }

    fn detach(
        &self,
        request: &Request,
        settings: &Settings,
        args: &PodArgs,
        delegates: &[Delegate],
    ) -> Vec<CniError> {
        let one = |delegate: &Delegate| -> Result<(), CniError> {
            let call = call_of(request, settings, args, delegate);
            self.networks.del(&delegate.network, &with(&call, Command::Del))
        };
        // The other way round than they were attached: the cluster's network last, by itself.
        let (first, others) = delegates.split_at(delegates.len().min(1));
        let together = if may_run_together(others) { TOGETHER_MAX } else { 1 };
        let mut outcomes = Vec::new();
        for some in others.rchunks(together) {
            outcomes.extend(at_once(some, one).into_iter().rev());
        }
        outcomes.extend(first.iter().map(one));
        outcomes.into_iter().filter_map(Result::err).collect()
    }

    /// What a container was attached to: as written down, or else as it would be today.
    fn attached(
        &self,
        request: &Request,
        settings: &Settings,
        args: &PodArgs,
    ) -> Option<Vec<Delegate>> {
        let environment = &request.environment;
        let (container, interface) = (&environment.container_id, &environment.interface);
        match cache::read(&settings.cni_dir, container, interface) {
            Ok(Some(cached)) => return Some(cached.delegates),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, container, "the cache file cannot be read"),
        }
        let pod = match self.objects.pod(&args.namespace, &args.name) {
            _ if args.name.is_empty() => None,
            Ok(Some(pod)) if check_identity(args, &pod).is_ok() => Some(pod),
            Ok(_) => return None,
            Err(error) => {
                tracing::warn!(%error, container, "detaching without a cache file and without the API");
                return None;
            }
        };
        let objects = self.objects.as_ref();
        match delegates::of_pod(objects, settings, interface, pod.as_ref()) {
            Ok(delegates) => Some(delegates),
            Err(error) => {
                tracing::warn!(%error, container, "what was attached cannot be found out");
                None
            }
        }
    }

    /// Checks all networks of a pod. Those whose version knows no CHECK are passed by: the seed's
    /// definitions are that old, and a pod must not fail for it.
    fn check(&self, request: &Request, settings: &Settings) -> Result<(), CniError> {
        let args = request.environment.args.pod().unwrap_or_default();
        let Some(delegates) = self.attached(request, settings, &args) else {
            let text =
                format!("nothing is known of container {}", request.environment.container_id);
            return Err(told::multus(&args, &CniError::new(Code::UNKNOWN_CONTAINER, text)));
        };
        for delegate in delegates.iter().filter(|d| d.network.version.has_check()) {
            let call = call_of(request, settings, &args, delegate);
            self.networks
                .check(&delegate.network, &with(&call, Command::Check))
                .map_err(|error| told::multus(&args, &error))?;
        }
        Ok(())
    }

    /// Detaches every container that is not to be kept, and lets the cluster's network do the same.
    fn gc(&self, request: &Request, settings: &Settings) -> Result<(), CniError> {
        let input = Input::parse(&request.config).map_err(|error| error.report(""))?;
        // No list at all is not an empty list.
        let Some(keep) = input.valid_attachments else { return Ok(()) };
        let io = |error: std::io::Error| CniError::new(Code::IO_FAILURE, error.to_string());
        let mut failures = Vec::new();
        for container in cache::containers(&settings.cni_dir).map_err(io)? {
            if keep.iter().any(|attachment| attachment.container_id == container) {
                continue;
            }
            let Ok(Some(cached)) = cache::read(&settings.cni_dir, &container, "eth0") else {
                continue;
            };
            let environment = Environment {
                command: Command::Del,
                container_id: container.clone(),
                args: cached.args,
                netns: None,
                ..request.environment.clone()
            };
            let args = environment.args.pod().unwrap_or_default();
            let stale = Request { environment, config: request.config.clone() };
            let failed = self.detach(&stale, settings, &args, &cached.delegates);
            if failed.is_empty() {
                cache::remove(&settings.cni_dir, &container).map_err(io)?;
            }
            failures.extend(failed);
        }
        let found = delegates::of_pod(self.objects.as_ref(), settings, "", None);
        if let Some(delegate) = found.ok().and_then(|found| found.into_iter().next())
            && delegate.network.version.has_gc_and_status()
        {
            let call = call_of(request, settings, &PodArgs::default(), &delegate);
            failures.extend(self.networks.gc(&delegate.network, &call, &keep).err());
        }
        del_failed(&failures).map_or(Ok(()), Err)
    }

    /// Whether the cluster's network could serve ADD.
    fn status(&self, request: &Request, settings: &Settings) -> Result<(), CniError> {
        if let Some(file) = settings.readiness_file.as_ref().filter(|file| !file.exists()) {
            let text = format!("the cluster's network is not ready: no file {}", file.display());
            return Err(CniError::new(Code::NOT_AVAILABLE, text));
        }
        let found = delegates::of_pod(self.objects.as_ref(), settings, "", None);
        let found = found.map_err(|error| CniError::new(Code::NOT_AVAILABLE, error.to_string()))?;
        match found.first().filter(|delegate| delegate.network.version.has_gc_and_status()) {
            Some(delegate) => {
                let call = call_of(request, settings, &PodArgs::default(), delegate);
                self.networks.status(&delegate.network, &call)
            }
            None => Ok(()),
        }
    }

    fn wait_until_ready(&self, settings: &Settings) -> Result<(), CniError> {
        let Some(file) = &settings.readiness_file else { return Ok(()) };
        let end = Instant::now() + self.readiness;
        while !file.exists() {
            if Instant::now() >= end {
                let text = format!(
                    "have you checked that your default network is ready? still waiting for \
                     readinessindicatorfile @ {}. pollimmediate error: timed out waiting for the \
                     condition",
                    file.display()
                );
                return Err(CniError::new(Code::TRY_AGAIN, text));
            }
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
        Ok(())
    }

    fn pod(&self, args: &PodArgs) -> Result<Found, CniError> {
        if args.name.is_empty() {
            return Ok(Found::Unnamed);
        }
        let end = Instant::now() + POD;
        loop {
            match self.objects.pod(&args.namespace, &args.name) {
                Ok(Some(pod)) => return Ok(Found::There(Box::new(pod))),
                Ok(None) => return Ok(Found::Gone),
                Err(error @ ObjectError::Refused(_)) => return Err(no_pod(args, &error)),
                Err(error) if Instant::now() >= end => return Err(no_pod(args, &error)),
                Err(_) => std::thread::sleep(POD_PAUSE),
            }
        }
    }

    fn no_networks(&self, args: &PodArgs, pod: Option<&Pod>, error: &LoadError) -> CniError {
        if let (LoadError::NoDefinition { .. }, Some(pod)) = (error, pod) {
            self.objects.tell(pod, vec![told::no_network(&error.to_string())]);
        }
        let text = format!("error loading k8s delegates k8s args: {error}");
        told::multus(args, &CniError::new(error.code(), text))
    }

    /// Writes network-status and events.
    fn tell(
        &self,
        pod: &Pod,
        args: &PodArgs,
        delegates: &[Delegate],
        results: &[CniResult],
    ) -> Result<(), CniError> {
        let text = told::network_status(delegates, results).map_err(|error| {
            let text = format!("error setting the networks status: {error}");
            told::multus(args, &CniError::new(Code::INTERNAL, text))
        })?;
        self.objects.set_network_status(pod, &text).map_err(|error| {
            let text = format!("error setting the networks status: {error}");
            told::multus(args, &CniError::new(Code::TRY_AGAIN, text))
        })?;
        self.objects.tell(pod, told::added(delegates, results));
        Ok(())
    }
}

/// What a network is called with.
fn call_of(request: &Request, settings: &Settings, args: &PodArgs, delegate: &Delegate) -> Call {
    let environment = &request.environment;
    let is_add = environment.command == Command::Add;
    let mac = Some(delegate.wishes.mac.as_str()).filter(|_| is_add);
    let ips = if is_add { delegate.wishes.ips.as_slice() } else { &[] };
    Call {
        environment: Environment {
            interface: delegate.interface.clone(),
            args: environment.args.for_delegate(args, mac, ips),
            path: settings.path(&environment.path),
            ..environment.clone()
        },
        capabilities: delegate.capabilities.clone(),
        cache: settings.cni_dir.clone(),
    }
}

/// Does the same for all of them at the same time: what came of it, in their order.
fn at_once<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<T, CniError> + Sync,
) -> Vec<Result<T, CniError>> {
    let Some((last, others)) = items.split_last() else { return Vec::new() };
    let lost = |_| Err(CniError::new(Code::INTERNAL, "the work on a network broke off"));
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = others.iter().map(|item| scope.spawn(move || work(item))).collect();
        let own = work(last);
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(lost));
        joined.chain([own]).collect()
    })
}

fn with(call: &Call, command: Command) -> Call {
    let environment = Environment { command, ..call.environment.clone() };
    Call { environment, ..call.clone() }
}

/// Upstream's answer for a pod that is gone: the runtime will find out and delete the sandbox.
fn nothing() -> CniResult {
    let none = std::net::Ipv4Addr::UNSPECIFIED;
    let address = ipnet::Ipv4Net::new(none, 0).map(ipnet::IpNet::from);
    let ip = |address| Ip { address, gateway: Some(none.into()), interface: None };
    CniResult { ips: address.into_iter().map(ip).collect(), ..CniResult::default() }
}

/// A pod of the same name that came later is not the one the call is for. Pods of a file of the
/// node have another identity in the cluster.
fn check_identity(args: &PodArgs, pod: &Pod) -> Result<(), CniError> {
    let is_static = pod.annotations.get(SOURCE).is_some_and(|source| source != "api");
    if args.uid.is_empty() || args.uid == pod.uid || is_static {
        return Ok(());
    }
    let text = format!("expected pod UID {:?} but got {:?} from Kube API", args.uid, pod.uid);
    Err(told::multus(args, &CniError::new(Code::INTERNAL, text)))
}

fn no_pod(args: &PodArgs, error: &ObjectError) -> CniError {
    let text = format!("error waiting for pod: {error}");
    told::multus(args, &CniError::new(Code::TRY_AGAIN, text))
}

/// The result as it is after the default routes were changed.
fn reroute(result: &mut CniResult, routes: &DefaultRoutes) {
    result.routes.retain(|route| {
        let dropped = if route.dst.addr().is_ipv4() { routes.drop_v4 } else { routes.drop_v6 };
        !(dropped && route.is_default())
    });
    for gateway in &routes.through {
        let everywhere = landbridge_linux::route::Family::of(&(*gateway).into()).everywhere();
        result.routes.push(Route::new(everywhere, Some(*gateway)));
    }
}
