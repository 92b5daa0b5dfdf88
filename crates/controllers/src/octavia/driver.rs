//! Watches and writes: what the rest of this module decides, on a real API and a real Neutron.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use kube::Client as Kube;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch};
use kube::runtime::watcher::{self, Event, watcher};
use landbridge_openstack::Client;
use landbridge_plan::octavia::predictable::MAP;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Settings;
use super::agenda::Agenda;
use super::assess::{Assessment, CONDITION, Write, assess, condition, release, status_patch};
use super::marks::Owner;
use super::pass::{Ended, Task, pass};
use super::world::{Kind, Object, World};
use crate::io::{Manager, is_lost, until};
use crate::mirror::{Key, Told};

const MANAGER: Manager = Manager("landbridge-octavia");
/// So much news is taken in before anything is decided.
const AT_A_TIME: usize = 4096;

/// Serves all Octavias until `stop` is done.
pub async fn run(kube: Kube, cloud: Client, settings: Settings, stop: impl Future<Output = ()>) {
    let mut news = stream::select_all(Kind::ALL.map(|kind| follow(&kube, kind)));
    let mut stop = std::pin::pin!(stop);
    let mut world = World::default();
    let mut agenda = Agenda::new(settings);
    let mut last: BTreeMap<Key, Ended> = BTreeMap::new();
    let mut under_way = JoinSet::new();
    let writer = Arc::new(Writer { kube, cloud });
    loop {
        let wake = until(agenda.wake_at().filter(|_| world.is_complete()));
        tokio::select! {
            () = &mut stop => return,
            Some((kind, told)) = news.next() => {
                take_in(&mut world, &mut agenda, kind, told);
                for _ in 0..AT_A_TIME {
                    let Some(Some((kind, told))) = news.next().now_or_never() else { break };
                    take_in(&mut world, &mut agenda, kind, told);
                }
            }
            Some(done) = under_way.join_next() => match done {
                Ok(Worked { key, ended, is_good }) => {
                    agenda.ended(&key, is_good, Timestamp::now());
                    match ended {
                        Some(ended) => last.insert(key, ended),
                        None => last.remove(&key),
                    };
                }
                Err(error) => tracing::error!(%error, "a pass ended without an answer"),
            },
            () = wake => {}
        }
        if !world.is_complete() {
            continue;
        }
        for key in agenda.take(Timestamp::now()) {
            let Some(octavia) = world.octavia(&key).cloned() else {
                agenda.forget(&key);
                last.remove(&key);
                continue;
            };
            let mut found = assess(&octavia, &world.around(&key, &octavia));
            let before = last.get(&key).cloned();
            if let Some(Task::Keep(_, options)) = &mut found.task {
                options.is_careful = !matches!(before, Some(Ended::Done(_)));
            }
            let writer = writer.clone();
            under_way.spawn(async move { writer.work(key, &octavia, found, before).await });
        }
    }
}

fn take_in(world: &mut World, agenda: &mut Agenda, kind: Kind, told: Told<Object>) {
    let now = Timestamp::now();
    for key in world.tell(kind, told) {
        agenda.note(&key, now);
    }
}

fn resource(kind: Kind) -> ApiResource {
    let (group, version, name, plural) = kind.resource();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, name), plural)
}

fn follow(kube: &Kube, kind: Kind) -> BoxStream<'static, (Kind, Told<Object>)> {
    use kube::runtime::WatchStreamExt as _;
    let api = Api::<DynamicObject>::all_with(kube.clone(), &resource(kind));
    let (fields, labels) = kind.selectors();
    let config = watcher::Config {
        field_selector: fields,
        label_selector: labels.map(str::to_owned),
        ..watcher::Config::default()
    };
    let read = move |object: DynamicObject| {
        serde_json::to_value(object).ok().map(|value| Object::new(kind, value))
    };
    watcher(api, config)
        .default_backoff()
        .flat_map(move |event| {
            let told: Vec<Told<Object>> = match event {
                Ok(Event::Init) => vec![Told::Restart],
                Ok(Event::InitApply(object)) => read(object).map(Told::Listed).into_iter().collect(),
                Ok(Event::InitDone) => vec![Told::Complete],
                Ok(Event::Apply(object)) => read(object).map(Told::Applied).into_iter().collect(),
                Ok(Event::Delete(object)) => read(object).map(Told::Deleted).into_iter().collect(),
                // A kind that nobody serves has no objects.
                Err(error) if is_unknown(&error) => vec![Told::Restart, Told::Complete],
                Err(error) => {
                    tracing::warn!(kind = kind.resource().2, %error, "a watch broke; it starts over");
                    Vec::new()
                }
            };
            stream::iter(told.into_iter().map(move |told| (kind, told)))
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

/// What came of working on an Octavia.
struct Worked {
    key: Key,
    /// How it stands in Neutron, if it was looked at.
    ended: Option<Ended>,
    is_good: bool,
}

struct Writer {
    kube: Kube,
    cloud: Client,
}

impl Writer {
    fn api(&self, kind: Kind, key: &Key) -> Api<DynamicObject> {
        Api::namespaced_with(self.kube.clone(), &key.namespace, &resource(kind))
    }

    async fn work(
        &self,
        key: Key,
        octavia: &Value,
        found: Assessment,
        before: Option<Ended>,
    ) -> Worked {
        let mut is_good = true;
        for write in &found.writes {
            is_good &= self.write(&key, write).await;
        }
        let mut ended = before;
        if let Some(task) = &found.task {
            let owner = Owner::new(&key.namespace, &key.name);
            let now = pass(&self.cloud, &owner, task).await;
            if let Ended::Short { why, .. } = &now
                && ended.as_ref() != Some(&now)
            {
                tracing::warn!(octavia = %key, why, "the management network is not as it should be");
            }
            is_good &= matches!(now, Ended::Done(_));
            if is_good && !matches!(task, Task::Keep(..)) {
                let patch = release(octavia);
                is_good = self.patch(Kind::Octavia, &key, &key.name, &patch, false).await;
                return Worked { key, ended: None, is_good };
            }
            ended = Some(now);
        }
        is_good &= self.tell(&key, octavia, &found, ended.as_ref()).await;
        Worked { key, ended, is_good }
    }

    /// Writes the condition, if it says something new.
    async fn tell(
        &self,
        key: &Key,
        octavia: &Value,
        found: &Assessment,
        ended: Option<&Ended>,
    ) -> bool {
        let list = octavia["status"]["conditions"].as_array();
        let is_told = list.into_iter().flatten().any(|known| known["type"] == CONDITION);
        // After a restart nothing is known yet; what was said before still holds.
        if ended.is_none() && found.faults.is_empty() && is_told {
            return true;
        }
        let told = condition(octavia, found, ended, Timestamp::now());
        match status_patch(octavia, told) {
            None => true,
            Some(patch) => self.patch(Kind::Octavia, key, &key.name, &patch, true).await,
        }
    }

    async fn write(&self, key: &Key, write: &Write) -> bool {
        match write {
            Write::Finalizers(patch) => {
                self.patch(Kind::Octavia, key, &key.name, patch, false).await
            }
            Write::PatchMap(patch) => self.patch(Kind::Map, key, MAP, patch, false).await,
            Write::LabelPod { pod, patch } => self.patch(Kind::Pod, key, pod, patch, false).await,
            Write::CreateMap(object) => {
                let Ok(object) = serde_json::from_value(object.clone()) else { return false };
                done(self.api(Kind::Map, key).create(&MANAGER.post(), &object).await, key)
            }
        }
    }

    async fn patch(
        &self,
        kind: Kind,
        key: &Key,
        name: &str,
        patch: &Value,
        is_status: bool,
    ) -> bool {
        let api = self.api(kind, key);
        let (params, patch) = (MANAGER.patch(), Patch::Merge(patch));
        let result = if is_status {
            api.patch_status(name, &params, &patch).await
        } else {
            api.patch(name, &params, &patch).await
        };
        done(result, key)
    }
}

/// Whether it was written. When somebody was faster, the watch tells.
fn done<T>(result: kube::Result<T>, key: &Key) -> bool {
    match result {
        Ok(_) => true,
        Err(error) if is_lost(&error) => false,
        Err(error) => {
            tracing::warn!(octavia = %key, %error, "cannot be written; it is tried again");
            false
        }
    }
}
