//! Watches the pods of this node and keeps a [machine](super::machine) going for each.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::desired::{Desired, PodIdentity};
use super::hands::{Deed, Hands};
use super::machine::{Action, Machine, Notice};
use super::notices::Notices;
use super::process::{self, Files};
use super::record::{Process, Record, Records, Stage};
use super::releases::Releases;
use super::run::{Ask, Run};
use super::server::NameServers;
use super::status::status;
use super::{Attachments, Directory, Settings, View, check, leftovers};
use crate::responder::Problem;

/// Under this name the writes appear in managedFields.
const MANAGER: &str = "landbridge-agent";
/// How long an agent that ends waits for what is under way.
const FAREWELL: Duration = Duration::from_secs(5);
/// After a write that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a new process is asked for its ports, at first and later.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_secs(1);

/// Something that happened to the pod of a uid.
enum Happened {
    Ended(Action, Box<Deed>),
    Exited(Process, Option<i32>),
    Reported(u32, Vec<Problem>),
    Answered(Ask, Result<(), String>),
    /// How writing a status ended.
    Told(Value, Box<kube::Result<Pod>>),
}

/// A pod and all that is known of it.
struct Entry {
    pod: Option<Arc<Pod>>,
    desired: Option<Desired>,
    machine: Machine,
    /// The process that is waited for.
    watched: Option<Process>,
    /// The status as last written.
    told: Option<Value>,
    telling: bool,
    /// No status is written before.
    tell_again: Timestamp,
    wake: Option<Timestamp>,
}

struct Driver {
    hands: Hands,
    notices: Notices,
    directory: Directory,
    addresses: watch::Receiver<Vec<IpAddr>>,
    pods: HashMap<String, Entry>,
    /// Records of an earlier agent, until the first list of pods is complete.
    inherited: Option<Vec<Record>>,
    /// Pods of a list that is coming in.
    listed: Vec<Pod>,
    wakes: BTreeSet<(Timestamp, String)>,
    /// Actions under way.
    deeds: JoinSet<()>,
    happened: mpsc::UnboundedSender<(String, Happened)>,
}

/// Runs the pods of this node until `stop` is done. Their processes go on after that.
///
/// `addresses` are the node's own, the first being its main one; `directory` is kept up to date.
pub async fn run(
    client: Client,
    settings: Settings,
    attachments: Arc<dyn Attachments>,
    mut addresses: watch::Receiver<Vec<IpAddr>>,
    directory: Directory,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let settings = Arc::new(settings);
    let records = Records::open(&settings.state_dir)?;
    let inherited = Some(records.sandboxes()?);
    let releases = Releases::new(records, attachments, settings.netns_dir.clone());
    let queue = tokio::spawn(releases.clone().run());
    let ways = tokio::spawn(super::ways::run(directory.clone()));
    let selected = watcher::Config::default().fields(&format!("spec.nodeName={}", settings.node));
    let mut news = {
        use kube::runtime::WatchStreamExt as _;
        watcher(Api::<Pod>::all(client.clone()), selected).default_backoff().boxed()
    };
    let (happened, mut happenings) = mpsc::unbounded_channel();
    let mut driver = Driver {
        notices: Notices::new(client.clone(), &settings.node),
        hands: Hands::new(client, settings, releases),
        directory,
        addresses: addresses.clone(),
        pods: HashMap::new(),
        inherited,
        listed: Vec::new(),
        wakes: BTreeSet::new(),
        deeds: JoinSet::new(),
        happened,
    };
    let mut stop = std::pin::pin!(stop);
    let mut addresses_known = true;
    loop {
        let wake = driver.wakes.first().map(|(at, _)| *at);
        tokio::select! {
            () = &mut stop => break,
            Some(item) = news.next() => match item {
                Ok(event) => driver.hear(event),
                Err(error) => tracing::warn!(%error, "the watch of pods broke; it starts over"),
            },
            Some((uid, what)) = happenings.recv() => driver.take_in(&uid, what),
            changed = addresses.changed(), if addresses_known => {
                addresses_known = changed.is_ok();
                for uid in driver.pods.keys().cloned().collect::<Vec<_>>() {
                    driver.advance(&uid);
                }
            }
            () = until(wake) => driver.wake_up(),
        }
    }
    queue.abort();
    ways.abort();
    // What is under way is not cut off in the middle; how it ends, the next agent will find.
    let deeds = async { while driver.deeds.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, deeds).await;
    Ok(())
}

async fn until(at: Option<Timestamp>) {
    match at {
        None => std::future::pending().await,
        Some(at) => {
            let wait = at.duration_since(Timestamp::now());
            tokio::time::sleep(wait.try_into().unwrap_or(Duration::ZERO)).await;
        }
    }
}

impl Driver {
    fn hear(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => self.listed.push(pod),
            Event::InitDone => self.list_complete(),
            Event::Apply(pod) => self.applied(pod),
            Event::Delete(pod) => self.vanished(&PodIdentity::of(&pod).uid),
        }
    }

    fn list_complete(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let is_first = self.inherited.is_some();
        if let Some(inherited) = self.inherited.take() {
            let responders = process::with_last_argument(process::SETTINGS);
            for record in inherited {
                let uid = &record.identity.uid;
                let pod = listed.iter().find(|pod| pod.metadata.uid.as_ref() == Some(uid));
                self.inherit(record, pod, &responders);
            }
        }
        let uids: Vec<String> = listed.iter().map(|pod| PodIdentity::of(pod).uid).collect();
        let missing: Vec<String> =
            self.pods.keys().filter(|uid| !uids.contains(uid)).cloned().collect();
        for uid in missing {
            self.vanished(&uid);
        }
        for pod in listed {
            self.applied(pod);
        }
        if is_first {
            self.tidy();
        }
    }

    /// Removes files of pods that an earlier agent did not come to remove.
    fn tidy(&self) {
        let directory = self.hands.settings.state_dir.join("pods");
        // Looked for at once: a pod that comes later has a directory nobody knows yet.
        let known = |uid: &str| self.pods.contains_key(uid);
        match leftovers::leftovers(&directory, known) {
            Ok(left) => drop(tokio::task::spawn_blocking(move || {
                for one in left {
                    // What cannot be removed is looked for again by the next agent.
                    let _ = std::fs::remove_dir_all(one);
                }
            })),
            Err(error) => tracing::warn!(%error, "cannot look for files of pods that are gone"),
        }
    }

    /// A sandbox of an earlier agent.
    fn inherit(
        &mut self,
        record: Record,
        pod: Option<&Pod>,
        responders: &HashMap<PathBuf, Process>,
    ) {
        let desired = pod.map(Desired::of);
        let found = self.hands.find(&record, responders);
        let uid = record.identity.uid.clone();
        tracing::info!(pod = %record.identity, ?found, "found the sandbox of a pod");
        let machine = Machine::load(Timestamp::now(), record, found, desired.as_ref());
        let entry = Entry { pod: pod.cloned().map(Arc::new), desired, ..Entry::new(machine) };
        self.pods.insert(uid, entry);
    }

    fn applied(&mut self, pod: Pod) {
        let identity = PodIdentity::of(&pod);
        let uid = identity.uid.clone();
        let entry =
            self.pods.entry(uid.clone()).or_insert_with(|| Entry::new(Machine::new(identity)));
        entry.take(pod);
        self.advance(&uid);
    }

    fn vanished(&mut self, uid: &str) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        entry.desired = None;
        if let Some(pod) = &entry.pod {
            self.directory.remove(pod);
        }
        self.advance(uid);
    }

    fn take_in(&mut self, uid: &str, what: Happened) {
        let now = Timestamp::now();
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let desired = entry.desired.as_ref();
        match what {
            Happened::Ended(action, deed) => {
                let Deed { outcome, child, notes } = *deed;
                for note in notes {
                    let reason = "DNSConfigForming";
                    entry.machine.notices.push(Notice { warning: true, reason, note });
                }
                entry.machine.ended(now, desired, &action, outcome);
                self.watch(uid, child);
            }
            Happened::Exited(process, code) => {
                if entry.watched == Some(process) {
                    entry.watched = None;
                    entry.machine.exited(now, desired, code);
                }
            }
            Happened::Reported(pid, problems) => entry.machine.reported(pid, problems),
            Happened::Answered(ask, answer) => entry.machine.answered(now, desired, &ask, answer),
            Happened::Told(status, outcome) => entry.told(now, status, *outcome),
        }
        self.advance(uid);
    }

    fn wake_up(&mut self) {
        let now = Timestamp::now();
        while let Some((at, _)) = self.wakes.first()
            && *at <= now
        {
            let Some((_, uid)) = self.wakes.pop_first() else { return };
            if let Some(entry) = self.pods.get_mut(&uid) {
                entry.wake = None;
            }
            self.advance(&uid);
        }
    }

    /// Does for a pod whatever is to be done now.
    fn advance(&mut self, uid: &str) {
        self.watch(uid, None);
        let now = Timestamp::now();
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let desired = entry.desired.as_ref();
        if let Some(action) = entry.machine.step(now, desired, Hands::names) {
            let (hands, sender, uid) = (self.hands.clone(), self.happened.clone(), uid.to_owned());
            let record = entry.machine.record().cloned();
            let (desired, pod) = (entry.desired.clone(), entry.pod.clone());
            while self.deeds.try_join_next().is_some() {}
            self.deeds.spawn(async move {
                let deed = hands.act(action.clone(), record, desired, pod).await;
                let _ = sender.send((uid, Happened::Ended(action, Box::new(deed))));
            });
        }
        let address = entry.address(&self.addresses);
        for ask in entry.machine.ask(now, desired) {
            let (sender, uid) = (self.happened.clone(), uid.to_owned());
            tokio::spawn(async move {
                let answer = check::check(&ask.check, address, ask.timeout).await;
                let _ = sender.send((uid, Happened::Answered(ask, answer)));
            });
        }
        for notice in std::mem::take(&mut entry.machine.notices) {
            self.notices.publish(entry.machine.identity(), notice);
        }
        if entry.machine.gone(desired) {
            self.forget(uid);
            return;
        }
        self.keep_files(uid);
        self.tell(uid, now);
        self.show(uid);
        self.set_wake(uid, now);
    }

    /// Waits for the process of a pod, once.
    fn watch(&mut self, uid: &str, child: Option<Child>) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let Run::Running(running) = entry.machine.run() else { return };
        let process = running.process;
        if entry.watched == Some(process) {
            return;
        }
        entry.watched = Some(process);
        let (sender, files) = (self.happened.clone(), self.hands.files(uid));
        tokio::spawn(follow_report(uid.to_owned(), process, files, sender.clone()));
        let uid = uid.to_owned();
        tokio::spawn(async move {
            let code = process::end(process, child).await;
            let _ = sender.send((uid, Happened::Exited(process, code)));
        });
    }

    /// Writes the status when it says something new.
    fn tell(&mut self, uid: &str, now: Timestamp) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let (Some(pod), Some(desired)) = (&entry.pod, &entry.desired) else { return };
        let over = desired.deletion.is_some() && entry.machine.record().is_none();
        if entry.telling || now < entry.tell_again || over {
            return;
        }
        let node = self.addresses.borrow().clone();
        let status = status(now, pod, desired, &entry.machine, &node);
        if entry.told.as_ref() == Some(&status) {
            return;
        }
        entry.telling = true;
        let identity = entry.machine.identity();
        let pods: Api<Pod> = Api::namespaced(self.hands.client.clone(), &identity.namespace);
        let patch = json!({"metadata": {"uid": identity.uid}, "status": status});
        let (name, sender, uid) = (identity.name.clone(), self.happened.clone(), uid.to_owned());
        tokio::spawn(async move {
            let params = PatchParams { field_manager: Some(MANAGER.into()), ..Default::default() };
            let outcome = pods.patch_status(&name, &params, &Patch::Strategic(patch)).await;
            let _ = sender.send((uid, Happened::Told(status, Box::new(outcome))));
        });
    }

    /// Keeps the files of a name server that an earlier agent has started.
    fn keep_files(&self, uid: &str) {
        let Some(entry) = self.pods.get(uid) else { return };
        let (Some(pod), Run::Running(_)) = (&entry.pod, entry.machine.run()) else { return };
        let namespace = &entry.machine.identity().namespace;
        let keeper = &self.hands.keeper;
        if !keeper.keeps(namespace, uid)
            && self.hands.name_servers(pod, &[]) != NameServers::default()
        {
            keeper.adopt(uid, pod, self.hands.files(uid).root());
        }
    }

    /// Shows the pod to those who look into pods.
    fn show(&self, uid: &str) {
        let Some(entry) = self.pods.get(uid) else { return };
        let (Some(pod), Some(_)) = (&entry.pod, &entry.desired) else { return };
        let record = entry.machine.record();
        let pid = match entry.machine.run() {
            Run::Running(running) => Some(running.process.pid),
            _ => None,
        };
        self.directory.set(View {
            pod: Arc::clone(pod),
            network: record.and_then(|record| self.hands.network(record)),
            ready: record.is_some_and(|record| record.stage == Stage::Ready),
            pid,
            restarts: record.map_or(0, |record| record.restarts),
            files: self.hands.files(uid),
            cloud: self.hands.settings.cloud.clone(),
        });
    }

    fn set_wake(&mut self, uid: &str, now: Timestamp) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let tell = Some(entry.tell_again).filter(|at| *at > now);
        let step = entry.machine.wake_at(now, entry.desired.as_ref());
        let wake = [tell, step].into_iter().flatten().min();
        if entry.wake == wake {
            return;
        }
        if let Some(old) = entry.wake.take() {
            self.wakes.remove(&(old, uid.to_owned()));
        }
        entry.wake = wake;
        self.wakes.extend(wake.map(|at| (at, uid.to_owned())));
    }

    /// Nothing is left of a pod but its files.
    fn forget(&mut self, uid: &str) {
        let Some(entry) = self.pods.remove(uid) else { return };
        if let Some(wake) = entry.wake {
            self.wakes.remove(&(wake, uid.to_owned()));
        }
        if let Some(pod) = &entry.pod {
            self.directory.remove(pod);
        }
        self.hands.keeper.forget(&entry.machine.identity().namespace, uid);
        let directory = self.hands.files(uid).directory;
        // An empty name would be the directory of all pods.
        if !uid.is_empty() {
            tokio::task::spawn_blocking(move || std::fs::remove_dir_all(directory));
        }
    }
}

impl Entry {
    fn new(machine: Machine) -> Self {
        Self {
            pod: None,
            desired: None,
            machine,
            watched: None,
            told: None,
            telling: false,
            tell_again: Timestamp::MIN,
            wake: None,
        }
    }

    /// Takes in a Pod, unless a newer state of it is known.
    fn take(&mut self, pod: Pod) {
        let revision = |pod: &Pod| pod.meta().resource_version.as_ref()?.parse::<u64>().ok();
        if let (Some(known), Some(new)) = (self.pod.as_deref().and_then(revision), revision(&pod))
            && new < known
        {
            return;
        }
        self.desired = Some(Desired::of(&pod));
        self.pod = Some(Arc::new(pod));
    }

    fn told(&mut self, now: Timestamp, status: Value, outcome: kube::Result<Pod>) {
        self.telling = false;
        match outcome {
            Ok(pod) => {
                // The answer may come after the watch has told that the pod is gone.
                if self.desired.is_some() {
                    self.take(pod);
                }
                self.told = Some(status);
            }
            // Another pod of that name, or none: the watch will tell.
            Err(kube::Error::Api(answer)) if matches!(answer.code, 404 | 409) => {
                self.told = Some(status);
            }
            Err(error) => {
                tracing::warn!(pod = %self.machine.identity(), %error, "cannot write a status; will be tried again");
                self.tell_again = super::probe::later(now, AGAIN);
            }
        }
    }

    /// Where its probes go.
    fn address(&self, node: &watch::Receiver<Vec<IpAddr>>) -> Option<IpAddr> {
        let record = self.machine.record()?;
        match record.netns {
            Some(_) => record.addresses.first().copied(),
            None => node.borrow().first().copied(),
        }
    }
}

/// Tells which ports a process has, until it has all of them or is gone.
async fn follow_report(
    uid: String,
    process: Process,
    files: Files,
    sender: mpsc::UnboundedSender<(String, Happened)>,
) {
    let mut last = None;
    let mut wait = SOON;
    while process::alive(&process) {
        let report = process::read_report(&files.report());
        if let Some(report) = report.filter(|report| report.pid == process.pid) {
            let complete = report.problems.is_empty();
            if last.as_ref() != Some(&report.problems) {
                last = Some(report.problems.clone());
                let told = Happened::Reported(report.pid, report.problems);
                if sender.send((uid.clone(), told)).is_err() {
                    return;
                }
            }
            if complete {
                return;
            }
            wait = LATER;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LATER);
    }
}
