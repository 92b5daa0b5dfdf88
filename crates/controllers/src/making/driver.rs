//! Watches and writes: what the [engine](super::engine) sees and decides, on a real API.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, Preconditions,
};
use kube::runtime::events::{Event as Note, EventType, Recorder, Reporter};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::Value;
use tokio::task::JoinSet;

use super::Domain;
use super::engine::{Answer, Engine, Task};
use super::kinds::Kind;
use super::plan::Notice;
use super::world::{News, Seen};
use super::writes::{Action, Verb};
use crate::io::{Manager, note, until};
use crate::mirror::{Key, Told};

/// So many writes are under way at once.
const AT_ONCE: usize = 32;
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;

/// Serves a domain until `stop` is done.
pub async fn run(client: Client, domain: Arc<dyn Domain>, stop: impl Future<Output = ()>) {
    let mut news = watch(&client, domain.kinds());
    let settle = domain.settle();
    let mut queue: VecDeque<Task> = VecDeque::new();
    let mut under_way = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    let writer = Arc::new(Writer::new(client, domain.manager()));
    let mut engine = Engine::new(domain);
    loop {
        let wake = until(engine.wake_at().filter(|_| queue.len() < AT_ONCE));
        tokio::select! {
            () = &mut stop => return,
            Some(item) = news.next() => {
                engine.tell(item);
                tokio::time::sleep(settle).await;
                for _ in 0..AT_A_TIME {
                    let Some(Some(item)) = news.next().now_or_never() else { break };
                    engine.tell(item);
                }
            }
            Some(done) = under_way.join_next() => {
                finish(&mut engine, done);
                while let Some(done) = under_way.try_join_next() {
                    finish(&mut engine, done);
                }
            }
            () = wake => {}
        }
        if queue.len() < AT_ONCE {
            queue.extend(engine.act(Timestamp::now(), AT_ONCE));
        }
        while under_way.len() < AT_ONCE
            && let Some(task) = queue.pop_front()
        {
            let writer = writer.clone();
            under_way.spawn(async move {
                let answer = writer.carry_out(&task.action).await;
                (task, answer)
            });
        }
    }
}

/// All news, as one stream. It never ends: a watch that breaks starts over, slower each time.
fn watch(client: &Client, kinds: &[Kind]) -> BoxStream<'static, News> {
    stream::select_all(kinds.iter().map(|kind| follow(client, *kind))).boxed()
}

fn follow(client: &Client, kind: Kind) -> BoxStream<'static, News> {
    use kube::runtime::WatchStreamExt as _;
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource(kind));
    let seen = move |object| json_of(object).map(|object| Seen::new(kind, object));
    watcher(api, watcher::Config::default())
        .default_backoff()
        .flat_map(move |event| {
            let told: Vec<Told<Seen>> = match event {
                Ok(Event::Init) => vec![Told::Restart],
                Ok(Event::InitApply(object)) => {
                    seen(object).map(Told::Listed).into_iter().collect()
                }
                Ok(Event::InitDone) => vec![Told::Complete],
                Ok(Event::Apply(object)) => seen(object).map(Told::Applied).into_iter().collect(),
                Ok(Event::Delete(object)) => seen(object).map(Told::Deleted).into_iter().collect(),
                // A kind that nobody serves has no objects.
                Err(error) if is_unknown(&error) => vec![Told::Restart, Told::Complete],
                Err(error) => {
                    tracing::warn!(kind = kind.name(), %error, "a watch broke; it starts over");
                    Vec::new()
                }
            };
            stream::iter(told.into_iter().map(move |told| News { kind, told }))
        })
        .boxed()
}

fn is_unknown(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(cause) | watcher::Error::WatchStartFailed(cause)) =
        error
    else {
        return false;
    };
    matches!(cause, kube::Error::Api(status) if status.code == 404)
}

fn resource(kind: Kind) -> ApiResource {
    let (group, version, plural) = kind.resource();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind.name()), plural)
}

fn finish(engine: &mut Engine, done: Result<(Task, Answer), tokio::task::JoinError>) {
    match done {
        Ok((task, answer)) => {
            if let Answer::Failed(why) = &answer {
                let (kind, key) = (task.action.kind.name(), &task.action.key);
                tracing::warn!(kind, %key, why, "will be tried again");
            }
            engine.ended(&task, answer, Timestamp::now());
        }
        Err(error) => tracing::error!(%error, "a write ended without an answer"),
    }
}

/// Carries out what was decided.
struct Writer {
    client: Client,
    manager: Manager,
    recorder: Recorder,
}

impl Writer {
    fn new(client: Client, manager: &'static str) -> Self {
        let reporter = Reporter { controller: manager.to_owned(), instance: None };
        let recorder = Recorder::new(client.clone(), reporter);
        Self { client, manager: Manager(manager), recorder }
    }

    fn api(&self, kind: Kind, key: &Key) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &key.namespace, &resource(kind))
    }

    async fn carry_out(&self, action: &Action) -> Answer {
        match self.try_to(action).await {
            Ok(answer) => answer,
            Err(kube::Error::Api(status)) => Answer::Failed(status.message.clone()),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    async fn try_to(&self, action: &Action) -> kube::Result<Answer> {
        let api = self.api(action.kind, &action.key);
        let name = &*action.key.name;
        let result = match &action.verb {
            Verb::Create(object) => match serde_json::from_value(object.clone()) {
                Ok(object) => api.create(&self.manager.post(), &object).await.map(now),
                Err(error) => return Ok(Answer::Failed(error.to_string())),
            },
            Verb::Update(object) => match serde_json::from_value(object.clone()) {
                Ok(object) => api.replace(name, &self.manager.post(), &object).await.map(now),
                Err(error) => return Ok(Answer::Failed(error.to_string())),
            },
            Verb::Patch(patch) => {
                api.patch(name, &self.manager.patch(), &Patch::Merge(patch)).await.map(now)
            }
            Verb::Status(patch) => {
                api.patch_status(name, &self.manager.patch(), &Patch::Merge(patch)).await.map(now)
            }
            Verb::Delete { uid } => {
                let params = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid: Some(uid.clone()),
                        resource_version: None,
                    }),
                    ..DeleteParams::background()
                };
                api.delete(name, &params).await.map(|_| Answer::Gone)
            }
            Verb::Tell { uid, notice } => {
                self.tell(action, uid, notice).await;
                return Ok(Answer::Told);
            }
            Verb::Read => {
                api.get_opt(name).await.map(|found| Answer::Lost(found.and_then(json_of)))
            }
        };
        match result {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                let found = api.get_opt(name).await?;
                match (&action.verb, found) {
                    // Not there, and cannot be made: the namespace is what is missing.
                    (Verb::Create(_), None) => Ok(Answer::Failed(status.message.clone())),
                    (_, found) => Ok(Answer::Lost(found.and_then(json_of))),
                }
            }
            other => other,
        }
    }

    /// Nothing depends on an Event: one that cannot be written is only missed.
    async fn tell(&self, action: &Action, uid: &str, notice: &Notice) {
        let about = ObjectReference {
            api_version: Some(action.kind.api_version()),
            kind: Some(action.kind.name().to_owned()),
            namespace: Some(action.key.namespace.to_string()),
            name: Some(action.key.name.to_string()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let event = Note {
            type_: EventType::Warning,
            reason: notice.reason.to_owned(),
            note: Some(note(notice.note.clone())),
            action: "Check".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &about).await {
            let kind = action.kind.name();
            tracing::warn!(kind, key = %action.key, %error, "cannot write an Event");
        }
    }
}

fn now(object: DynamicObject) -> Answer {
    json_of(object).map_or(Answer::Gone, Answer::Now)
}

fn json_of(object: DynamicObject) -> Option<Value> {
    serde_json::to_value(object).ok()
}
