//! Watches and writes: what the [engine](super::engine) sees and decides, on a real API.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, Patch};
use kube::runtime::events::{Event as Notification, EventType, Recorder, Reporter};
use kube::runtime::watcher;
use landbridge_api::ledger::AddressBlock;
use landbridge_api::network::{GROUP, IPSet, NetConfig, Reservation, VERSION};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::blocks::Blocks;
use super::engine::{Action, Ended, Engine, News, Notice, Step, What};
use super::ledger::{Swap, Swapped};
use super::seen::Record;
use crate::io::{self, Manager, follow, is_lost, until};
use crate::mirror::Key;

/// Under this name the writes appear in managedFields, and the Events.
const MANAGER: Manager = Manager("landbridge-ipam");
/// So many writes are under way at once.
const AT_ONCE: usize = 64;
/// So many steps are decided ahead.
const AHEAD: usize = 512;
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;

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

type Item = Result<News, watcher::Error>;

/// All news, as one stream. It never ends: a watch that breaks starts over, slower each time.
fn watch(client: &Client) -> BoxStream<'static, Item> {
    stream::select_all([
        follow(client, <_ as From<NetConfig>>::from, News::Config),
        follow(client, <_ as From<IPSet>>::from, News::Request),
        follow(client, <_ as From<Reservation>>::from, News::Record),
        follow(client, <_ as From<AddressBlock>>::from, News::Block),
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
    blocks: Blocks,
    recorder: Recorder,
}

impl Writer {
    fn new(client: Client) -> Self {
        let reporter = Reporter { controller: MANAGER.0.to_owned(), instance: None };
        Self {
            blocks: Blocks::new(client.clone(), MANAGER),
            recorder: Recorder::new(client.clone(), reporter),
            client,
        }
    }

    async fn carry_out(&self, action: Action) -> Done {
        match action {
            Action::Swap(swap) => {
                let how = self.blocks.swap(&swap).await;
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

    async fn step(&self, step: &Step) -> kube::Result<Ended> {
        let key = &step.key;
        let ipsets: Api<IPSet> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<Reservation> = Api::namespaced(self.client.clone(), &key.namespace);
        let result = match &step.what {
            What::Finalizers { revision, finalizers } => {
                let patch = Patch::Merge(finalizers_patch(*revision, finalizers));
                let done = ipsets.patch(&key.name, &MANAGER.patch(), &patch).await;
                done.map(|ipset| Ended::Now(Some(ipset.into()), None))
            }
            What::RecordFinalizers { revision, finalizers } => {
                let patch = Patch::Merge(finalizers_patch(*revision, finalizers));
                records.patch(&key.name, &MANAGER.patch(), &patch).await.map(now_record)
            }
            What::CreateRecord(record) => {
                records.create(&MANAGER.post(), record).await.map(now_record)
            }
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
                records
                    .patch(&key.name, &MANAGER.patch(), &Patch::Merge(patch))
                    .await
                    .map(now_record)
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
                let done =
                    ipsets.patch_status(&key.name, &MANAGER.patch(), &Patch::Merge(patch)).await;
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
            note: Some(io::note(note)),
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

fn now_record(record: Reservation) -> Ended {
    Ended::Now(None, Some(Record::from(record)))
}

fn finalizers_patch(revision: u64, finalizers: &[String]) -> Value {
    json!({"metadata": {"resourceVersion": revision.to_string(), "finalizers": finalizers}})
}
