//! Carries out what a [machine](super::machine) decides.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Preconditions};
use landbridge_cni::CniResult;
use landbridge_linux::namespace::named;
use landbridge_linux::{Handle, IfName};
use tokio::sync::Semaphore;

use super::Settings;
use super::cloud;
use super::desired::Desired;
use super::etc::{self, Covers};
use super::keeper::Keeper;
use super::machine::{Action, Found, InitFailure, Outcome};
use super::process::{self, Files, Hostname};
use super::record::{Names, Process, Record};
use super::releases::Releases;
use super::server::{self, NameServer, NameServers};
use crate::responder::{self, Container, ResponderConfig};

/// So many actions that block a thread are carried out at once.
const AT_ONCE: usize = 32;
/// So much of what an init container says is told.
const WORDS: usize = 900;

/// See the [module](self). Cheap to clone.
#[derive(Clone)]
pub struct Hands {
    pub client: kube::Client,
    pub settings: Arc<Settings>,
    pub releases: Releases,
    pub keeper: Keeper,
    room: Arc<Semaphore>,
}

/// A process, and what could not be done as its pod asks.
type Spawned = (Process, Child, Vec<String>);

/// How an action ended, and the process it started.
pub struct Deed {
    pub outcome: Outcome,
    pub child: Option<Child>,
    /// What could not be done as the pod asks.
    pub notes: Vec<String>,
}

impl From<Outcome> for Deed {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, child: None, notes: Vec::new() }
    }
}

impl Hands {
    pub fn new(client: kube::Client, settings: Arc<Settings>, releases: Releases) -> Self {
        let keeper = Keeper::new(client.clone());
        Self { client, settings, releases, keeper, room: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The files of a pod.
    pub fn files(&self, uid: &str) -> Files {
        Files::of(&self.settings.state_dir, uid)
    }

    /// Where the network of a sandbox is.
    pub fn network(&self, record: &Record) -> Option<PathBuf> {
        record.netns.as_ref().map(|name| self.settings.netns_dir.join(name))
    }

    /// Names for a new sandbox.
    pub fn names() -> Option<Names> {
        match Names::random() {
            Ok(names) => Some(names),
            Err(error) => {
                tracing::error!(%error, "the kernel gives no random numbers");
                None
            }
        }
    }

    /// What is there of a sandbox that an earlier agent has made, given all responders there are.
    pub fn find(&self, record: &Record, responders: &HashMap<PathBuf, Process>) -> Found {
        let settings = self.files(&record.identity.uid).settings();
        let known = record.process.filter(process::alive);
        let process = known.or_else(|| responders.get(&settings).copied());
        Found { namespace: self.has_namespace(record), process }
    }

    fn has_namespace(&self, record: &Record) -> bool {
        let name = record.netns.as_ref();
        name.is_some_and(|name| named::open(&self.settings.netns_dir, name).is_ok())
    }

    /// Carries out one action for the sandbox of a record, which is absent only where none is meant.
    pub async fn act(
        &self,
        action: Action,
        record: Option<Record>,
        desired: Option<Desired>,
        pod: Option<Arc<Pod>>,
    ) -> Deed {
        let _room = self.room.acquire().await;
        match (action, record) {
            (Action::DeletePod, _) => self.delete_pod(pod.as_deref()).await.into(),
            (Action::Detach, Some(record)) => self.detach(&record).await.into(),
            (action, Some(record)) => {
                if let (Action::Start, Some(pod)) = (&action, &pod)
                    && let Err(why) = self.prepare(&record, pod).await
                {
                    return Outcome::Failed(why).into();
                }
                let own = self.clone();
                let deed = tokio::task::spawn_blocking(move || {
                    own.blocking(&action, &record, desired.as_ref(), pod.as_deref())
                });
                deed.await.unwrap_or_else(|error| Outcome::Failed(error.to_string()).into())
            }
            (_, None) => Outcome::Failed("there is no sandbox".to_owned()).into(),
        }
    }

    /// What of a pod is to be run.
    pub fn name_servers(&self, pod: &Pod, addresses: &[IpAddr]) -> NameServers {
        if self.settings.name_server.is_empty() {
            return NameServers::default();
        }
        NameServers::of(pod, addresses)
    }

    /// Files that a name server in the pod reads.
    async fn prepare(&self, record: &Record, pod: &Arc<Pod>) -> Result<(), String> {
        if self.name_servers(pod, &record.addresses) == NameServers::default() {
            return Ok(());
        }
        let uid = &record.identity.uid;
        self.keeper.prepare(uid, Arc::clone(pod), self.files(uid).root()).await
    }

    async fn detach(&self, record: &Record) -> Outcome {
        match self.releases.release(record, self.settings.detach_within).await {
            Ok(()) => Outcome::Done,
            Err(why) => {
                tracing::warn!(pod = %record.identity, why, "attachments not released; left to the queue");
                Outcome::NotDetached
            }
        }
    }

    async fn delete_pod(&self, pod: Option<&Pod>) -> Outcome {
        let Some(pod) = pod else { return Outcome::Done };
        let meta = &pod.metadata;
        let name = meta.name.as_deref().unwrap_or_default();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: meta.uid.clone(), resource_version: None }),
            ..DeleteParams::default()
        };
        match pods.delete(name, &params).await {
            Ok(_) => Outcome::Done,
            // Gone, or another of its name is there.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Outcome::Done,
            Err(error) => {
                tracing::warn!(pod = name, %error, "cannot delete a pod that has ended; will be tried again");
                Outcome::Failed(error.to_string())
            }
        }
    }

    fn blocking(
        &self,
        action: &Action,
        record: &Record,
        desired: Option<&Desired>,
        pod: Option<&Pod>,
    ) -> Deed {
        let done = |outcome: io::Result<()>| match outcome {
            Ok(()) => Outcome::Done,
            Err(error) => {
                tracing::warn!(pod = %record.identity, ?action, %error, "will be tried again");
                Outcome::Failed(error.to_string())
            }
        };
        let records = &self.releases.records;
        match action {
            Action::Write(record) => done(records.write(record)).into(),
            Action::Forget { queue: false } => done(records.forget(record)).into(),
            Action::Forget { queue: true } => {
                let outcome = done(records.hand_over(record));
                self.releases.wake();
                outcome.into()
            }
            Action::MakeNamespace => match self.make_namespace(record) {
                Ok(()) => Outcome::Done.into(),
                Err(error) => Outcome::Failed(error.to_string()).into(),
            },
            Action::Attach => self.attach(record).into(),
            Action::RemoveNamespace => done(self.remove_namespace(record)).into(),
            Action::Start => self.start(record, desired, pod),
            Action::Signal { kill } => {
                let process = record.process;
                done(process.map_or(Ok(()), |process| process::signal(&process, *kill))).into()
            }
            Action::Detach | Action::DeletePod => Outcome::Done.into(),
        }
    }

    fn make_namespace(&self, record: &Record) -> anyhow::Result<()> {
        let Some(name) = &record.netns else { return Ok(()) };
        let namespace = named::create(&self.settings.netns_dir, name)?;
        Ok(Handle::in_namespace(&namespace)?.set_up(&IfName::new("lo")?)?)
    }

    fn remove_namespace(&self, record: &Record) -> io::Result<()> {
        let Some(name) = &record.netns else { return Ok(()) };
        named::delete(&self.settings.netns_dir, name).map_err(|e| io::Error::other(e.to_string()))
    }

    fn attach(&self, record: &Record) -> Outcome {
        let Some(path) = self.network(record) else { return Outcome::Attached(Vec::new()) };
        match self.releases.attachments.add(&record.identity, &record.sandbox, &path) {
            Ok(result) => Outcome::Attached(pod_addresses(&result)),
            Err(error) => Outcome::Failed(format!(
                "plugin type=\"multus\" name=\"multus-cni-network\" failed (add): {error}"
            )),
        }
    }

    fn start(&self, record: &Record, desired: Option<&Desired>, pod: Option<&Pod>) -> Deed {
        let (Some(desired), Some(pod)) = (desired, pod) else {
            return Outcome::Failed("the pod is gone".to_owned()).into();
        };
        let network = self.network(record);
        if network.is_some() && !self.has_namespace(record) {
            return Outcome::NamespaceLost.into();
        }
        let spawned = self.spawn(record, desired, pod, network.as_deref());
        match spawned {
            Ok(Err(failure)) => Outcome::InitFailed(failure).into(),
            Ok(Ok((process, child, notes))) => {
                Deed { outcome: Outcome::Started(process), child: Some(child), notes }
            }
            Err(error) => Outcome::Failed(error.to_string()).into(),
        }
    }

    fn spawn(
        &self,
        record: &Record,
        desired: &Desired,
        pod: &Pod,
        network: Option<&Path>,
    ) -> io::Result<Result<Spawned, InitFailure>> {
        let files = self.files(&record.identity.uid);
        let names = self.settings.names.as_ref();
        let (covers, notes) =
            etc::write(&files.etc(), pod, &desired.hostname, &record.addresses, names)?;
        let servers = self.name_servers(pod, &record.addresses);
        let root = files.root();
        for test in &servers.tests {
            let arguments = server::rooted(&test.arguments, &root);
            if let Some(failure) = self.test(test, &arguments, network, &covers, &files)? {
                return Ok(Err(failure));
            }
        }
        let restarts = record.restarts;
        let name_server = servers.server.map(|server| responder::NameServer {
            arguments: server::rooted(&server.arguments, &root),
            container: server.container,
        });
        let mut containers = Vec::new();
        for container in &desired.containers {
            let log = files.log(&container.name, restarts);
            log.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            // The log of the start before this one is kept, none before that.
            if let Some(old) = restarts.checked_sub(2) {
                let old = files.log(&container.name, old);
                let _ = std::fs::remove_file(crate::responder::moved_log(&old));
                let _ = std::fs::remove_file(old);
            }
            let is_server = name_server.as_ref().is_some_and(|s| s.container == container.name);
            let ports = if is_server { Vec::new() } else { container.ports.clone() };
            containers.push(Container { name: container.name.clone(), ports, log: Some(log) });
        }
        let config = ResponderConfig {
            namespace: desired.identity.namespace.clone(),
            pod: desired.identity.name.clone(),
            uid: desired.identity.uid.clone(),
            node: self.settings.node.clone(),
            containers,
            report: Some(files.report()),
            authority: self.settings.authority.clone(),
            name_server,
            handed: cloud::handed(pod, self.settings.cloud.as_deref()),
        };
        std::fs::write(files.settings(), serde_json::to_vec(&config)?)?;
        let _ = std::fs::remove_file(files.report());
        let (program, arguments) = self
            .settings
            .responder
            .split_first()
            .ok_or_else(|| io::Error::other("no command for the responder was given"))?;
        let mut command = Command::new(program);
        command.args(arguments).arg(files.settings()).current_dir("/");
        let hostname = match network {
            Some(_) => Hostname::New(desired.hostname.clone()),
            None => Hostname::Node,
        };
        let (process, child) =
            process::start(network, &hostname, &covers, command, &files.output())?;
        Ok(Ok((process, child, notes)))
    }

    /// Tries the options of a name server; how that failed, if it did.
    fn test(
        &self,
        test: &NameServer,
        arguments: &[String],
        network: Option<&Path>,
        covers: &Covers,
        files: &Files,
    ) -> io::Result<Option<InitFailure>> {
        let (program, first) = self
            .settings
            .name_server
            .split_first()
            .ok_or_else(|| io::Error::other("no command for name servers was given"))?;
        let mut command = Command::new(program);
        command.args(first).args(arguments).current_dir("/").stdin(Stdio::null());
        let output = process::inside(network, &Hostname::Node, covers, || command.output())?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let log = files.log(&test.container, 0);
        log.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let _ = responder::write_log(&log, &said);
        if output.status.success() {
            return Ok(None);
        }
        let mut words: String = said.trim().chars().take(WORDS).collect();
        if words.is_empty() {
            words = output.status.to_string();
        }
        Ok(Some(InitFailure {
            container: test.container.clone(),
            code: process::code(output.status),
            words,
            at: jiff::Timestamp::now(),
        }))
    }
}

/// The addresses a pod is known by: the first of each family.
fn pod_addresses(result: &CniResult) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for ip in &result.ips {
        let address = ip.address.addr();
        if addresses.iter().all(|known| known.is_ipv4() != address.is_ipv4()) {
            addresses.push(address);
        }
    }
    addresses
}
