//! Watches Routes and writes what the [engine](super::engine) says.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use landbridge_api::foreign::route::{GROUP, Route};

use super::engine::{self, Update};

/// Under this name the writes appear in managedFields.
const MANAGER: &str = "landbridge-routes";
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_millis(20);
/// After a write that failed.
const AGAIN: Duration = Duration::from_secs(2);

/// Gives Routes their hosts and says who is served, until `stop` is done.
pub async fn run(client: Client, domain: String, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let mut news = watcher(Api::<Route>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .boxed();
    let mut routes: HashMap<(Option<String>, String), Route> = HashMap::new();
    let mut listed = false;
    let mut wait: Option<Duration> = None;
    loop {
        let pause = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut stop => return,
            Some(event) = news.next() => {
                let key = |route: &Route| (route.namespace(), route.name_any());
                match event {
                    Ok(Event::Init) => { routes.clear(); listed = false; }
                    Ok(Event::InitDone) => listed = true,
                    Ok(Event::InitApply(route) | Event::Apply(route)) => {
                        routes.insert(key(&route), route);
                    }
                    Ok(Event::Delete(route)) => { routes.remove(&key(&route)); }
                    Err(error) => tracing::debug!(%error, "the watch of Routes broke; it starts over"),
                }
                wait = listed.then_some(SETTLE);
                continue;
            }
            () = pause => {}
        }
        wait = None;
        let all: Vec<Route> = routes.values().cloned().collect();
        for update in engine::plan(&all, &domain, Timestamp::now()) {
            match write(&client, &update).await {
                Ok(Some(route)) => {
                    // Known before the watch tells of it: nothing is written twice.
                    routes.insert((route.namespace(), route.name_any()), route);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(key = %update.key, %error, "cannot write a Route; will be tried again");
                    wait = Some(AGAIN);
                }
            }
        }
    }
}

async fn write(client: &Client, update: &Update) -> kube::Result<Option<Route>> {
    let api: Api<Route> = Api::namespaced(client.clone(), &update.key.namespace);
    let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    let name = &update.key.name;
    let mut written = None;
    let outcome = async {
        if let Some(object) = &update.object {
            written = Some(api.patch(name, &params, &Patch::Merge(object)).await?);
        }
        if let Some(status) = &update.status {
            written = Some(api.patch_status(name, &params, &Patch::Merge(status)).await?);
        }
        Ok(())
    };
    match outcome.await {
        // Gone meanwhile: the watch will tell.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        other => other.map(|()| written),
    }
}

/// The rules of a role that lets [`run`] do its work.
pub fn rights() -> Vec<PolicyRule> {
    let rule = |resource: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![GROUP.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    vec![rule("routes", &["get", "list", "watch", "patch"]), rule("routes/status", &["patch"])]
}
