//! Watches and writes: what the [engine](super::engine) sees and decides, on a real API.

mod wiring;
mod writer;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace as KubeNamespace, Service as KubeService};
use kube::Client;
use kube::runtime::watcher;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_api::ledger::AddressBlock;
use tokio::task::JoinSet;

use self::writer::{Done, Writer};
use super::Settings;
use super::engine::{Action, Ended, Engine, News};
use super::seen::Service;
use crate::io::{follow, until};
use crate::metrics::Board;

/// So many writes are under way at once.
const AT_ONCE: usize = 64;
/// So many steps are decided ahead.
const AHEAD: usize = 512;
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;
/// Metrics are not older than this, while anything happens.
const METRICS: Duration = Duration::from_secs(1);

/// Serves all Services until `stop` is done.
pub async fn run(client: Client, settings: Settings, board: Board, stop: impl Future<Output = ()>) {
    let writer = Arc::new(Writer::new(client.clone(), settings.clone()));
    let mut news = watch(&client, &settings);
    let mut engine = Engine::default();
    let mut queue = VecDeque::new();
    let mut under_way = JoinSet::new();
    let mut metrics = tokio::time::interval(METRICS);
    metrics.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
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
            _ = metrics.tick() => board.post("vips", engine.metrics()),
        }
        let decided =
            if queue.len() < AT_ONCE { engine.act(Timestamp::now(), AHEAD) } else { vec![] };
        for action in decided {
            match action {
                // Others wait for the blocks, so they go first.
                Action::Swap(_) => queue.push_front(action),
                _ => queue.push_back(action),
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
fn watch(client: &Client, settings: &Settings) -> BoxStream<'static, Item> {
    let settings = settings.clone();
    let service = move |object: KubeService| Service::read(&object, &settings);
    let followed = stream::select_all([
        follow(client, service, News::Service),
        follow(client, <_ as From<IPAddressPool>>::from, News::Pool),
        follow(client, <_ as From<KubeNamespace>>::from, News::Namespace),
        follow(client, <_ as From<AddressBlock>>::from, News::Block),
    ]);
    stream::select(followed, wiring::watch(client).map(|sites| Ok(News::Sites(sites)))).boxed()
}

fn take_in(engine: &mut Engine, item: Item) {
    match item {
        Ok(news) => engine.tell(news),
        Err(error) => tracing::warn!(%error, "a watch broke; it starts over"),
    }
}

fn finish(engine: &mut Engine, done: Result<Done, tokio::task::JoinError>) {
    match done {
        Ok(Done::Swap(swap, how)) => engine.swapped(&swap, how),
        Ok(Done::Step(step, how)) => {
            if let Ended::Failed(why) = &*how {
                tracing::warn!(service = %step.key, why, "will be tried again");
            }
            engine.ended(&step, *how, Timestamp::now());
        }
        Ok(Done::Pool(pool, done)) => engine.reported(&pool, done, Timestamp::now()),
        Ok(Done::Configuration(done)) => engine.configured(done, Timestamp::now()),
        Ok(Done::Nothing) => {}
        Err(error) => tracing::error!(%error, "a write ended without an answer"),
    }
}
