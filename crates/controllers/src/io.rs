//! What drivers have in common: following kinds, waiting, and how their writes are marked.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::Timestamp;
use kube::api::{Api, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};

use crate::mirror::Told;

/// News of one kind, or why there is none for a moment. It never ends: a watch that breaks starts over, slower each
/// time.
pub(crate) fn follow<K, T, N>(
    client: &Client,
    read: impl Fn(K) -> T + Send + 'static,
    wrap: fn(Told<T>) -> N,
) -> BoxStream<'static, Result<N, watcher::Error>>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    K: Send + 'static,
    T: 'static,
    N: 'static,
{
    let told = move |event| match event {
        Event::Init => Told::Restart,
        Event::InitApply(object) => Told::Listed(read(object)),
        Event::InitDone => Told::Complete,
        Event::Apply(object) => Told::Applied(read(object)),
        Event::Delete(object) => Told::Deleted(read(object)),
    };
    watcher(Api::<K>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .map(move |event| event.map(|event| wrap(told(event))))
        .boxed()
}

/// Until a moment; without one for ever.
pub(crate) async fn until(at: Option<Timestamp>) {
    match at {
        None => std::future::pending().await,
        Some(at) => {
            let wait = at.duration_since(Timestamp::now());
            tokio::time::sleep(wait.try_into().unwrap_or(Duration::ZERO)).await;
        }
    }
}

/// The name under which writes appear in managedFields.
#[derive(Clone, Copy)]
pub(crate) struct Manager(pub &'static str);

impl Manager {
    pub fn patch(self) -> PatchParams {
        PatchParams { field_manager: Some(self.0.to_owned()), ..PatchParams::default() }
    }

    pub fn post(self) -> PostParams {
        PostParams { field_manager: Some(self.0.to_owned()), ..PostParams::default() }
    }
}

/// Whether somebody else was faster: the object is in another state, is there already, or is gone.
pub(crate) fn is_lost(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

/// The note of an Event has at most 1024 bytes.
pub(crate) fn note(mut text: String) -> String {
    if text.len() > 1024 {
        let end = (0..=1020).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}
