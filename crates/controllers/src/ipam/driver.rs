//! Watches and writes: what the [engine](super::engine) sees and decides, on a real API.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::events::{Event as Notification, EventType, Recorder, Reporter};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, block_prefix, swap_patch};
use landbridge_api::network::{GROUP, IPSet, NetConfig, Reservation, VERSION};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::engine::{Action, Ended, Engine, News, Notice, Step, What};
use super::ledger::{Swap, Swapped};
use super::seen::Record;
use crate::mirror::{Key, Told};

/// Under this name the writes appear in managedFields, and the Events.
const MANAGER: &str = "landbridge-ipam";
/// So many writes are under way at once.
const AT_ONCE: usize = 64;
/// So many steps are decided ahead.
const AHEAD: usize = 512;
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;
/// After a swap that could not be tried.
const PAUSE: Duration = Duration::from_millis(500);

/// Serves all IPSets until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let writer = Arc::new(Writer::new(client.clone()));
    let mut news = watch(&client);
    let mut engine = Engine::default();
    let mut queue = VecDeque::new();
    let mut under_way = JoinSet::new();
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
            () = wake => {}
        }
        let decided =
            if queue.len() < AT_ONCE { engine.act(Timestamp::now(), AHEAD) } else { vec![] };
        for action in decided {
            match action {
                // Others wait for the blocks, so they go first.
                Action::Swap(_) => queue.push_front(action),
                Action::Step(_) | Action::Tell(_) => queue.push_back(action),
            }
        }
        while under_way.len() < AT_ONCE
            && let Some(action) = queue.pop_front()
        {
            let writer = writer.clone();
            under_way.spawn(async move { writer.carry_out(action).await });
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
    stream::select_all([
        follow::<NetConfig, _>(client, News::Config),
        follow::<IPSet, _>(client, News::Request),
        follow::<Reservation, _>(client, News::Record),
        follow::<AddressBlock, _>(client, News::Block),
    ])
    .boxed()
}

fn follow<K, T>(client: &Client, wrap: fn(Told<T>) -> News) -> BoxStream<'static, Item>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    K: Send + 'static,
    T: From<K> + 'static,
{
    use kube::runtime::WatchStreamExt as _;
    let told = move |event| match event {
        Event::Init => Told::Restart,
        Event::InitApply(object) => Told::Listed(T::from(object)),
        Event::InitDone => Told::Complete,
        Event::Apply(object) => Told::Applied(T::from(object)),
        Event::Delete(object) => Told::Deleted(T::from(object)),
    };
    watcher(Api::<K>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .map(move |event| event.map(|event| wrap(told(event))))
        .boxed()
}

fn take_in(engine: &mut Engine, item: Item) {
    match item {
        Ok(news) => engine.tell(news),
        Err(error) => tracing::warn!(%error, "a watch broke; it starts over"),
    }
}

enum Done {
    Swap(Swap, Swapped),
    Step(Step, Box<Ended>),
    Nothing,
}

fn finish(engine: &mut Engine, done: Result<Done, tokio::task::JoinError>) {
    match done {
        Ok(Done::Swap(swap, how)) => engine.swapped(&swap, how),
        Ok(Done::Step(step, how)) => {
            if let Ended::Failed(why) = &*how {
                tracing::warn!(ipset = %step.key, why, "will be tried again");
            }
            engine.ended(&step, *how, Timestamp::now());
        }
        Ok(Done::Nothing) => {}
        Err(error) => tracing::error!(%error, "a write ended without an answer"),
    }
}

/// Carries out what was decided.
struct Writer {
    client: Client,
    blocks: Api<AddressBlock>,
    recorder: Recorder,
}

impl Writer {
    fn new(client: Client) -> Self {
        let reporter = Reporter { controller: MANAGER.to_owned(), instance: None };
        Self {
            blocks: Api::all(client.clone()),
            recorder: Recorder::new(client.clone(), reporter),
            client,
        }
    }

    async fn carry_out(&self, action: Action) -> Done {
        match action {
            Action::Swap(swap) => {
                let how = self.swap(&swap).await;
                Done::Swap(swap, how)
            }
            Action::Step(step) => {
                let how = self.step(&step).await.unwrap_or_else(|e| Ended::Failed(e.to_string()));
                Done::Step(step, Box::new(how))
            }
            Action::Tell(notice) => {
                self.notify(notice).await;
                Done::Nothing
            }
        }
    }

    async fn swap(&self, swap: &Swap) -> Swapped {
        let result = match &swap.from {
            None => self.create(swap).await.map(Some),
            Some((uid, revision)) if swap.empties => {
                let params = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid: Some(uid.to_string()),
                        resource_version: Some(revision.to_string()),
                    }),
                    ..DeleteParams::default()
                };
                self.blocks.delete(&swap.name, &params).await.map(|_| None)
            }
            Some((uid, revision)) => {
                let patch = Patch::Merge(swap_patch(uid, &revision.to_string(), &swap.edits));
                self.blocks.patch(&swap.name, &params(), &patch).await.map(Some)
            }
        };
        let result = match result {
            Err(error) if is_lost(&error) => self.blocks.get_opt(&swap.name).await,
            other => other,
        };
        match result {
            Ok(Some(block)) => Swapped::Block(block.into()),
            Ok(None) => Swapped::Gone,
            Err(error) => {
                tracing::warn!(block = &*swap.name, %error, "swap will be tried again");
                tokio::time::sleep(PAUSE).await;
                Swapped::Failed
            }
        }
    }

    async fn create(&self, swap: &Swap) -> kube::Result<AddressBlock> {
        let spec = AddressBlockSpec {
            segment: swap.segment.to_string(),
            block: block_prefix(swap.base),
            claims: swap
                .edits
                .iter()
                .filter_map(|(address, claim)| Some((*address, claim.clone()?)))
                .collect(),
        };
        self.blocks.create(&post(), &AddressBlock::new(&swap.name, spec)).await
    }

    async fn step(&self, step: &Step) -> kube::Result<Ended> {
        let key = &step.key;
        let ipsets: Api<IPSet> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<Reservation> = Api::namespaced(self.client.clone(), &key.namespace);
        let result = match &step.what {
            What::Finalizers { revision, finalizers } => {
                let patch = Patch::Merge(finalizers_patch(*revision, finalizers));
                let done = ipsets.patch(&key.name, &params(), &patch).await;
                done.map(|ipset| Ended::Now(Some(ipset.into()), None))
            }
            What::RecordFinalizers { revision, finalizers } => {
                let patch = Patch::Merge(finalizers_patch(*revision, finalizers));
                records.patch(&key.name, &params(), &patch).await.map(now_record)
            }
            What::CreateRecord(record) => records.create(&post(), record).await.map(now_record),
            What::UpdateRecord(revision, record) => {
                let patch = json!({
                    "metadata": {
                        "resourceVersion": revision.to_string(),
                        "labels": record.metadata.labels,
                        "finalizers": record.metadata.finalizers,
                        "ownerReferences": record.metadata.owner_references,
                    },
                    "spec": record.spec,
                });
                records.patch(&key.name, &params(), &Patch::Merge(patch)).await.map(now_record)
            }
            What::Status(uid, status) => {
                let patch = json!({
                    "metadata": {"uid": &**uid},
                    "status": {
                        // Even when empty: what is left out would stay as it is.
                        "reservations": status.reservations,
                        "conditions": status.conditions,
                        "observedGeneration": status.observed_generation,
                    },
                });
                let done = ipsets.patch_status(&key.name, &params(), &Patch::Merge(patch)).await;
                done.map(|ipset| Ended::Now(Some(ipset.into()), None))
            }
            What::Confirm(_) => {
                let request = ipsets.get_opt(&key.name).await?.map(Into::into);
                let record = records.get_opt(&key.name).await?.map(Into::into);
                return Ok(Ended::Confirmed(request, record));
            }
        };
        match result {
            Err(error) if is_lost(&error) => {
                let request = ipsets.get_opt(&key.name).await?.map(Into::into);
                let record = records.get_opt(&key.name).await?.map(Into::into);
                Ok(Ended::Now(request, record))
            }
            other => other,
        }
    }

    async fn notify(&self, notice: Notice) {
        let Notice { key, uid, warning, reason, note } = notice;
        let about = reference(&key, &uid);
        let event = Notification {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(cut(note)),
            action: "Reserve".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &about).await {
            tracing::warn!(ipset = %key, %error, "cannot write an Event");
        }
    }
}

fn reference(key: &Key, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{GROUP}/{VERSION}")),
        kind: Some("IPSet".to_owned()),
        namespace: Some(key.namespace.to_string()),
        name: Some(key.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
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

fn now_record(record: Reservation) -> Ended {
    Ended::Now(None, Some(Record::from(record)))
}

fn finalizers_patch(revision: u64, finalizers: &[String]) -> Value {
    json!({"metadata": {"resourceVersion": revision.to_string(), "finalizers": finalizers}})
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
