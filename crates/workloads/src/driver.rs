//! Watches and writes: what the [engine](crate::engine) sees and decides, on a real API.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, ObjectReference, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions,
};
use kube::runtime::events::{Event as Notification, EventType, Recorder, Reporter};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use landbridge_controllers::mirror::{Key, Told};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::action::{Action, Answer, Guard, Kind, Notice, Verb};
use crate::engine::{Engine, Task};
use crate::settings::Settings;
use crate::world::{LEASES, News, Seen};

/// Under this name the writes appear in managedFields, and the Events.
const MANAGER: &str = "landbridge-workloads";
/// So many writes are under way at once.
const AT_ONCE: usize = 64;
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;
/// So many Events wait at most; more are dropped, for they are only told to people.
const MOST_NOTICES: usize = 4096;

/// Runs all controllers until `stop` is done.
pub async fn run(client: Client, settings: Settings, stop: impl Future<Output = ()>) {
    let writer = Arc::new(Writer::new(client.clone()));
    let mut news = watch(&client);
    let mut engine = Engine::new(settings);
    let mut queue: VecDeque<Task> = VecDeque::new();
    let mut notices: VecDeque<Notice> = VecDeque::new();
    let mut under_way = JoinSet::new();
    let mut telling = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        // As long as there is enough to write, nothing more is decided: it would only be kept.
        let hungry = queue.len() < AT_ONCE;
        let wake = until(engine.wake_at().filter(|_| hungry));
        tokio::select! {
            () = &mut stop => return,
            Some(item) = news.next() => {
                take_in(&mut engine, item);
                for _ in 0..AT_A_TIME {
                    let Some(Some(item)) = news.next().now_or_never() else { break };
                    take_in(&mut engine, item);
                }
            }
            Some(done) = under_way.join_next() => {
                finish(&mut engine, done);
                while let Some(done) = under_way.try_join_next() {
                    finish(&mut engine, done);
                }
            }
            Some(_) = telling.join_next() => {}
            () = wake => {}
        }
        if queue.len() < AT_ONCE {
            queue.extend(engine.act(Timestamp::now(), AT_ONCE));
        }
        notices.extend(engine.notices());
        notices.truncate(MOST_NOTICES);
        while under_way.len() < AT_ONCE
            && let Some(task) = queue.pop_front()
        {
            let writer = writer.clone();
            under_way.spawn(async move {
                let answer = writer.carry_out(&task.action).await;
                (task, answer)
            });
        }
        // One at a time: Events of one object are counted up, not written twice.
        if telling.is_empty()
            && let Some(notice) = notices.pop_front()
        {
            let writer = writer.clone();
            telling.spawn(async move { writer.notify(notice).await });
        }
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
    let all = client.clone();
    let leases = Api::<Lease>::namespaced(all.clone(), LEASES);
    stream::select_all([
        follow(Api::<Deployment>::all(all.clone()), News::Deployment),
        follow(Api::<ReplicaSet>::all(all.clone()), News::ReplicaSet),
        follow(Api::<StatefulSet>::all(all.clone()), News::StatefulSet),
        follow(Api::<DaemonSet>::all(all.clone()), News::DaemonSet),
        follow(Api::<ControllerRevision>::all(all.clone()), News::Revision),
        follow(Api::<Pod>::all(all.clone()), News::Pod),
        follow(Api::<Node>::all(all.clone()), News::Node),
        follow(Api::<Service>::all(all.clone()), News::Service),
        follow(Api::<EndpointSlice>::all(all), News::Slice),
        follow(leases, News::Lease),
    ])
    .boxed()
}

fn follow<K>(api: Api<K>, wrap: fn(Told<Seen<K>>) -> News) -> BoxStream<'static, Item>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    K: Send + Sync + 'static,
{
    use kube::runtime::WatchStreamExt as _;
    let told = move |event| match event {
        Event::Init => Told::Restart,
        Event::InitApply(object) => Told::Listed(Seen::from(object)),
        Event::InitDone => Told::Complete,
        Event::Apply(object) => Told::Applied(Seen::from(object)),
        Event::Delete(object) => Told::Deleted(Seen::from(object)),
    };
    watcher(api, watcher::Config::default())
        .default_backoff()
        .map(move |event| event.map(|event| wrap(told(event))))
        .boxed()
}

fn take_in(engine: &mut Engine, item: Item) {
    match item {
        Ok(news) => engine.tell(news, Timestamp::now()),
        Err(error) => tracing::warn!(%error, "a watch broke; it starts over"),
    }
}

fn finish(engine: &mut Engine, done: Result<(Task, Answer), tokio::task::JoinError>) {
    match done {
        Ok((task, answer)) => {
            if let Answer::Failed(why) = &answer {
                let (kind, key) = (task.action.kind.name(), &task.action.key);
                tracing::warn!(kind, %key, why, "will be tried again");
            }
            engine.ended(task, answer, Timestamp::now());
        }
        Err(error) => tracing::error!(%error, "a write ended without an answer"),
    }
}

/// Carries out what was decided.
struct Writer {
    client: Client,
    recorder: Recorder,
}

impl Writer {
    fn new(client: Client) -> Self {
        let reporter = Reporter { controller: MANAGER.to_owned(), instance: None };
        Self { recorder: Recorder::new(client.clone(), reporter), client }
    }

    fn api(&self, kind: Kind, key: &Key) -> Api<DynamicObject> {
        let resource = match kind {
            Kind::Deployment => ApiResource::erase::<Deployment>(&()),
            Kind::ReplicaSet => ApiResource::erase::<ReplicaSet>(&()),
            Kind::StatefulSet => ApiResource::erase::<StatefulSet>(&()),
            Kind::DaemonSet => ApiResource::erase::<DaemonSet>(&()),
            Kind::ControllerRevision => ApiResource::erase::<ControllerRevision>(&()),
            Kind::Pod => ApiResource::erase::<Pod>(&()),
            Kind::Node => ApiResource::erase::<Node>(&()),
            Kind::Lease => ApiResource::erase::<Lease>(&()),
            Kind::Service => ApiResource::erase::<Service>(&()),
            Kind::EndpointSlice => ApiResource::erase::<EndpointSlice>(&()),
        };
        if key.namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &key.namespace, &resource)
        }
    }

    async fn carry_out(&self, action: &Action) -> Answer {
        match self.try_to(action).await {
            Ok(answer) => answer,
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    async fn try_to(&self, action: &Action) -> kube::Result<Answer> {
        if let Some(why) = self.forbids(action.guard.as_ref()).await? {
            return Ok(Answer::Failed(why));
        }
        let api = self.api(action.kind, &action.key);
        let name = &*action.key.name;
        let result = match &action.verb {
            Verb::Read(_) => {
                return Ok(api.get_opt(name).await?.map_or(Answer::Gone, now));
            }
            Verb::Create(object) => match serde_json::from_value(object.clone()) {
                Ok(object) => api.create(&post(), &object).await.map(now),
                Err(error) => return Ok(Answer::Failed(error.to_string())),
            },
            Verb::Patch(patch) => api.patch(name, &params(), &Patch::Merge(patch)).await.map(now),
            Verb::PatchStatus(patch) => {
                api.patch_status(name, &params(), &Patch::Merge(patch)).await.map(now)
            }
            Verb::Delete { uid, now: at_once } => {
                let params = DeleteParams {
                    grace_period_seconds: at_once.then_some(0),
                    preconditions: Some(Preconditions {
                        uid: Some(uid.clone()),
                        resource_version: None,
                    }),
                    ..DeleteParams::default()
                };
                let answer = api.delete(name, &params).await;
                answer.map(|answer| match answer.left() {
                    Some(object) if object.metadata.deletion_timestamp.is_some() => now(object),
                    _ => Answer::Gone,
                })
            }
            Verb::Bind { uid, node } => {
                let binding = json!({
                    "apiVersion": "v1", "kind": "Binding",
                    "metadata": {"name": name, "namespace": &*action.key.namespace, "uid": uid},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": node},
                });
                let done = api.create_subresource("binding", name, &post(), &binding).await;
                done.map(|_: Value| Answer::Done)
            }
        };
        match result {
            Err(error) if is_lost(&error) => match api.get_opt(name).await? {
                Some(object) => Ok(lost(object)),
                // What is not there cannot be changed any more; what was to be made can.
                None if matches!(action.verb, Verb::Create(_)) => Err(error),
                None => Ok(Answer::Gone),
            },
            other => other,
        }
    }

    /// Why not, if something that must be true is not.
    async fn forbids(&self, guard: Option<&Guard>) -> kube::Result<Option<String>> {
        match guard {
            None => Ok(None),
            Some(Guard::Alive(kind, key, uid)) => {
                let object = self.api(*kind, key).get_opt(&key.name).await?;
                let alive = object.is_some_and(|object| {
                    object.metadata.uid.as_ref() == Some(uid)
                        && object.metadata.deletion_timestamp.is_none()
                });
                Ok((!alive).then(|| format!("{} {key} is going away", kind.name())))
            }
            Some(Guard::Gone(kind, key)) => {
                let object = self.api(*kind, key).get_opt(&key.name).await?;
                Ok(object.map(|_| format!("{} {key} is there", kind.name())))
            }
        }
    }

    async fn notify(&self, notice: Notice) {
        let Notice { kind, key, uid, warning, reason, note } = notice;
        let about = ObjectReference {
            api_version: Some(kind.api_version().to_owned()),
            kind: Some(kind.name().to_owned()),
            namespace: Some(key.namespace.to_string()).filter(|text| !text.is_empty()),
            name: Some(key.name.to_string()),
            uid: Some(uid),
            ..ObjectReference::default()
        };
        let event = Notification {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(cut(note)),
            action: if kind == Kind::Pod { "Binding" } else { "Reconcile" }.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &about).await {
            tracing::warn!(%key, %error, "cannot write an Event");
        }
    }
}

fn now(object: DynamicObject) -> Answer {
    json_of(object).map_or(Answer::Done, Answer::Now)
}

fn lost(object: DynamicObject) -> Answer {
    json_of(object).map_or(Answer::Done, Answer::Lost)
}

fn json_of(object: DynamicObject) -> Option<Value> {
    serde_json::to_value(object).ok()
}

/// The note of an Event has at most 1024 bytes.
fn cut(mut note: String) -> String {
    if note.len() > 1024 {
        let end = (0..=1020).rev().find(|end| note.is_char_boundary(*end)).unwrap_or(0);
        note.truncate(end);
        note.push_str(" ...");
    }
    note
}

/// Whether somebody else was faster: the object is in another state, is there already, or is gone.
fn is_lost(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn post() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
