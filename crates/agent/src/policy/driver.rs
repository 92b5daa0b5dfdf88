//! Watches, works and writes: what the [engine](super::engine) sees and decides, on a real API and a
//! real node.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use landbridge_api::foreign::nmstate::objects::{
    NodeNetworkConfigurationEnactment, NodeNetworkConfigurationPolicy, NodeNetworkState,
    POLICY_LABEL, enactment_name,
};
use landbridge_controllers::mirror::Told;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};

use super::engine::{Action, Ended, Engine, Job, News, Notice, Purpose, Report, Step};
use super::events::{Events, Said};
use super::network::{ApplyError, NodeNetwork};
use super::patch::difference;
use super::probes::{beforehand, here::Here};
use super::record::{Applied, Record, boot};
use super::render::render;
use super::seen::{Enactment, POLICY_UID, Policy};

/// Under this name the writes appear in managedFields, and the Events.
const MANAGER: &str = "landbridge-policy";
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;
/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the policies of a node need.
#[derive(Clone)]
pub struct Duty {
    pub client: Client,
    /// The name of the Node object.
    pub node: String,
    pub network: Arc<dyn NodeNetwork>,
    /// Where `policies.json` is kept.
    pub state_dir: PathBuf,
    /// Told when the node was changed, so that its state is published soon.
    pub changed: Arc<Notify>,
}

/// Makes policies true on this node until `stop` is done; tells when the node has back what it had before it was
/// booted.
pub async fn run(duty: Duty, is_back: impl FnOnce(), stop: impl Future<Output = ()>) {
    let mut keeper = Keeper::open(&duty).await;
    is_back();
    let mut engine = Engine::new(&duty.node, keeper.applied());
    let writer = Arc::new(Writer::new(&duty));
    let mut news = watch(&duty.client);
    let mut under_way = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return,
            Some(item) = news.next() => {
                take_in(&mut engine, item);
                for _ in 0..AT_A_TIME {
                    let Some(Some(item)) = news.next().now_or_never() else { break };
                    take_in(&mut engine, item);
                }
            }
            Some(done) = under_way.join_next() => match done {
                Ok(Done::Worked(job, ended)) => {
                    keeper.note(&job, &ended);
                    engine.ended(&job, *ended, Timestamp::now());
                }
                Ok(Done::Reported(report, ended)) => {
                    engine.reported(&report, *ended, Timestamp::now());
                }
                Ok(Done::Told) => {}
                Err(error) => tracing::error!(%error, "a task of the policies ended without an answer"),
            },
            () = until(engine.wake()) => {}
        }
        for action in engine.act(Timestamp::now()) {
            let writer = writer.clone();
            under_way.spawn(async move { writer.carry_out(action).await });
        }
        keeper.sync(engine.applied());
    }
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

type Item = Result<News, watcher::Error>;

/// All news, as one stream. It never ends: a watch that breaks starts over, slower each time.
fn watch(client: &Client) -> BoxStream<'static, Item> {
    fn told<K, T: From<K>>(event: Event<K>) -> Told<T> {
        match event {
            Event::Init => Told::Restart,
            Event::InitApply(object) => Told::Listed(object.into()),
            Event::InitDone => Told::Complete,
            Event::Apply(object) => Told::Applied(object.into()),
            Event::Delete(object) => Told::Deleted(object.into()),
        }
    }
    let config = watcher::Config::default;
    let nodes = watcher(Api::<Node>::all(client.clone()), config()).default_backoff();
    let agents = Api::<PartialObjectMeta<NodeNetworkState>>::all(client.clone());
    let agents = watcher(agents, config()).default_backoff();
    let policies = Api::<NodeNetworkConfigurationPolicy>::all(client.clone());
    let policies = watcher(policies, config()).default_backoff();
    let enactments = Api::<NodeNetworkConfigurationEnactment>::all(client.clone());
    let enactments = watcher(enactments, config()).default_backoff();
    stream::select_all([
        nodes.map(|event| event.map(|event| News::Node(told(event)))).boxed(),
        agents.map(|event| event.map(|event| News::Agent(told(event)))).boxed(),
        policies.map(|event| event.map(|event| News::Policy(told(event)))).boxed(),
        enactments.map(|event| event.map(|event| News::Enactment(told(event)))).boxed(),
    ])
    .boxed()
}

fn take_in(engine: &mut Engine, item: Item) {
    match item {
        Ok(news) => engine.tell(news),
        Err(error) => tracing::warn!(%error, "a watch broke; it starts over"),
    }
}

enum Done {
    Worked(Job, Box<Ended>),
    Reported(Report, Box<Ended>),
    Told,
}

/// Carries out what was decided.
struct Writer {
    node: String,
    network: Arc<dyn NodeNetwork>,
    client: Client,
    policies: Api<NodeNetworkConfigurationPolicy>,
    enactments: Api<NodeNetworkConfigurationEnactment>,
    events: Events,
    changed: Arc<Notify>,
}

impl Writer {
    fn new(duty: &Duty) -> Self {
        let client = duty.client.clone();
        Self {
            node: duty.node.clone(),
            network: duty.network.clone(),
            policies: Api::all(client.clone()),
            enactments: Api::all(client.clone()),
            events: Events::new(client.clone(), MANAGER, &duty.node),
            client,
            changed: duty.changed.clone(),
        }
    }

    async fn carry_out(&self, action: Action) -> Done {
        match action {
            Action::Work(job) => {
                let ended = self.work(&job).await;
                Done::Worked(job, Box::new(ended))
            }
            Action::Report(report) => {
                let ended = answered(self.report(&report)).await;
                Done::Reported(report, Box::new(ended))
            }
            Action::Tell(notice) => {
                self.tell(notice).await;
                Done::Told
            }
        }
    }

    async fn work(&self, job: &Job) -> Ended {
        let name = enactment_name(&self.node, &job.policy);
        match &job.step {
            Step::Create { node_uid } => answered(self.create(job, node_uid, &name)).await,
            Step::Delete { uid } => answered(self.delete(&name, uid)).await,
            Step::Say { uid, revision, before, status, .. } => {
                let patch = status_patch(uid, *revision, before, status);
                answered(self.say(&name, patch)).await
            }
            Step::Claim(report) => answered(self.report(report)).await,
            Step::Look => answered(self.look(&job.policy)).await,
            Step::Render { desired, capture, known } => {
                let current = if capture.is_empty() {
                    Value::Null
                } else {
                    match self.blocking(|network| network.show()).await {
                        Ok(state) => state,
                        Err(why) => return Ended::Failed(why),
                    }
                };
                Ended::Rendered(render(desired, capture, known, &current))
            }
            Step::Apply { .. } => self.apply(job).await,
            Step::Compare { desired } => {
                let desired = desired.clone();
                Ended::Compared(self.blocking(move |network| network.drift(&desired)).await)
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn NodeNetwork) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let network = self.network.clone();
        let asked = spawn_blocking(move || ask(&*network)).await;
        asked.unwrap_or_else(|error| Err(format!("internal error: {error}")))
    }

    async fn apply(&self, job: &Job) -> Ended {
        let Step::Apply { desired, settings, addresses, purpose } = job.step.clone() else {
            return Ended::Failed("nothing to apply".to_owned());
        };
        let here = Here {
            client: self.client.clone(),
            runtime: tokio::runtime::Handle::current(),
            network: self.network.clone(),
        };
        tracing::info!(policy = job.policy, generation = job.generation, ?purpose, "applying");
        let network = self.network.clone();
        let applied = spawn_blocking(move || {
            // What was just booted or changed by others may not work before.
            let expected = match purpose {
                Purpose::Policy => Some(beforehand(&settings, &addresses, &here)),
                Purpose::Boot | Purpose::Drift => None,
            };
            let probe = || expected.as_ref().map_or(Ok(()), |expected| expected.check(&here));
            network.apply(&desired, &probe)
        })
        .await;
        let applied = applied.unwrap_or_else(|error| {
            Err(ApplyError { text: format!("internal error: {error}"), retry: true })
        });
        match &applied {
            Ok(()) => tracing::info!(policy = job.policy, "applied"),
            Err(error) => tracing::warn!(policy = job.policy, %error, "not applied"),
        }
        self.changed.notify_one();
        Ended::Applied(applied)
    }

    async fn create(&self, job: &Job, node_uid: &str, name: &str) -> kube::Result<Ended> {
        let mut enactment = NodeNetworkConfigurationEnactment::new(&self.node, &job.policy);
        enactment.metadata.annotations =
            Some(BTreeMap::from([(POLICY_UID.to_owned(), job.uid.clone())]));
        enactment.metadata.owner_references = Some(vec![owner(&self.node, node_uid)]);
        let made = match self.enactments.create(&post(), &enactment).await {
            Err(error) if is_lost(&error) => self.enactments.get_opt(name).await?,
            other => Some(other?),
        };
        Ok(ended(made))
    }

    async fn delete(&self, name: &str, uid: &str) -> kube::Result<Ended> {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.enactments.delete(name, &params).await {
            Err(error) if !is_lost(&error) => Err(error),
            _ => Ok(Ended::Enactment(None)),
        }
    }

    async fn say(&self, name: &str, patch: Value) -> kube::Result<Ended> {
        let said = match self.enactments.patch_status(name, &patching(), &Patch::Merge(patch)).await
        {
            Err(error) if is_lost(&error) => self.enactments.get_opt(name).await?,
            other => Some(other?),
        };
        Ok(ended(said))
    }

    async fn report(&self, report: &Report) -> kube::Result<Ended> {
        let patch = status_patch(&report.uid, report.revision, &report.before, &report.status);
        let patch = Patch::Merge(patch);
        let written = self.policies.patch_status(&report.policy, &patching(), &patch).await;
        let (won, now) = match written {
            Err(error) if is_lost(&error) => (false, self.policies.get_opt(&report.policy).await?),
            other => (true, Some(other?)),
        };
        Ok(Ended::Policy { won, now: now.map(|policy| Box::new(Policy::from(policy))) })
    }

    async fn look(&self, policy: &str) -> kube::Result<Ended> {
        // Without a resourceVersion: as it is now, not as some cache has it.
        let params = ListParams::default().labels(&format!("{POLICY_LABEL}={policy}"));
        let enactments = self.enactments.list(&params).await?;
        let policy = self.policies.get_opt(policy).await?;
        Ok(Ended::Seen {
            enactments: enactments.into_iter().map(Enactment::from).collect(),
            policy: policy.map(|policy| Box::new(Policy::from(policy))),
        })
    }

    async fn tell(&self, notice: Notice) {
        let Notice { policy, uid, warning, reason, note } = notice;
        let about = ObjectReference {
            api_version: Some("nmstate.io/v1".to_owned()),
            kind: Some("NodeNetworkConfigurationPolicy".to_owned()),
            name: Some(policy),
            uid: Some(uid),
            ..ObjectReference::default()
        };
        self.events.say(Said { about, warning, reason, note }).await;
    }
}

/// Keeps what was made true on disk, in step with the engine.
struct Keeper {
    path: PathBuf,
    record: Record,
}

impl Keeper {
    /// Reads the record. After a boot, what is in it is made true again at once, and all else that
    /// the node had. A record that cannot be read may be of any boot.
    async fn open(duty: &Duty) -> Self {
        let path = duty.state_dir.join("policies.json");
        let boot = boot();
        let mut record = Record::load(&path).unwrap_or_else(|| Record::new(""));
        if record.boot != boot {
            let network = duty.network.clone();
            let mut old: Vec<_> = std::mem::take(&mut record.applied).into_iter().collect();
            old.sort_by(|(_, one), (_, other)| one.policy.cmp(&other.policy));
            let again = spawn_blocking(move || {
                if let Err(error) = network.restore() {
                    let only = "after the boot only what policies say now is made again";
                    tracing::warn!(error, "{only}");
                }
                old.retain(|(_, applied)| {
                    let done = network.apply(&applied.desired, &|| Ok(()));
                    if let Err(error) = &done {
                        let policy = &applied.policy;
                        tracing::warn!(policy, %error, "not applied after the boot");
                    }
                    done.is_ok()
                });
                old
            });
            record = Record::new(&boot);
            record.applied = again.await.unwrap_or_default().into_iter().collect();
            save(&path, &record);
        }
        Self { path, record }
    }

    fn applied(&self) -> BTreeMap<String, i64> {
        let applied = self.record.applied.iter();
        applied.map(|(uid, applied)| (uid.clone(), applied.generation)).collect()
    }

    /// Something was made true.
    fn note(&mut self, job: &Job, ended: &Ended) {
        if let (Step::Apply { desired, .. }, Ended::Applied(Ok(()))) = (&job.step, ended) {
            let applied = Applied {
                policy: job.policy.clone(),
                generation: job.generation,
                desired: desired.clone(),
            };
            self.record.applied.insert(job.uid.clone(), applied);
            save(&self.path, &self.record);
        }
    }

    /// Drops what is no longer asked for.
    fn sync(&mut self, applied: &BTreeMap<String, i64>) {
        let before = self.record.applied.len();
        self.record.applied.retain(|uid, _| applied.contains_key(uid));
        if self.record.applied.len() != before {
            save(&self.path, &self.record);
        }
    }
}

fn save(path: &std::path::Path, record: &Record) {
    if let Err(error) = record.save(path) {
        let path = path.display();
        tracing::warn!(%path, %error, "cannot be written: after a boot policies wait for the API");
    }
}

async fn answered(request: impl Future<Output = kube::Result<Ended>>) -> Ended {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => Ended::Failed(error.to_string()),
        Err(_) => Ended::Failed(format!("the API gave no answer within {PATIENCE:?}")),
    }
}

fn ended(enactment: Option<NodeNetworkConfigurationEnactment>) -> Ended {
    Ended::Enactment(enactment.map(|enactment| Box::new(Enactment::from(enactment))))
}

/// Changes a status, if the object is still the one that was seen.
fn status_patch<T: Serialize>(uid: &str, revision: u64, before: &T, after: &T) -> Value {
    let changes = difference(&json!(before), &json!(after));
    json!({
        "metadata": {"uid": uid, "resourceVersion": revision.to_string()},
        "status": changes,
    })
}

/// The node an object goes away with.
pub(super) fn owner(node: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

/// Whether somebody else was faster: the object is in another state, is there already, or is gone.
fn is_lost(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

fn patching() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn post() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
