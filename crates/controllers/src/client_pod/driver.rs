//! Looks at KeystoneAPIs and pods, and does what the [engine](super::engine) says.

use std::future::Future;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams,
    Preconditions,
};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use serde_json::Value;

use super::engine::{self, Act, NAME};

const GROUP: &str = "keystone.openstack.org";
const PLURAL: &str = "keystoneapis";
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_millis(100);
/// After a failure.
const AGAIN: Duration = Duration::from_secs(2);

/// Keeps the pods of clients until `stop` is done.
pub async fn run(client: Client, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let told = |ok: bool| async move { ok.then_some(()) };
    let planes = watcher(keystones(&client), watcher::Config::default()).default_backoff();
    let pods =
        watcher(pods(&client), watcher::Config::default().labels(&label())).default_backoff();
    let mut changes = futures::stream::select(
        planes.filter_map(|event| told(event.is_ok())).boxed(),
        pods.filter_map(|event| told(event.is_ok())).boxed(),
    );
    let mut wait: Option<Duration> = None;
    loop {
        let again = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut stop => return,
            Some(()) = changes.next() => {
                tokio::time::sleep(SETTLE).await;
                while changes.next().now_or_never().is_some() {}
            }
            () = again => {}
        }
        wait = work(&client).await.err().map(|error| {
            tracing::debug!(%error, "the pods of clients are looked at again");
            AGAIN
        });
    }
}

async fn work(client: &Client) -> kube::Result<()> {
    let keystones = values(keystones(client).list(&ListParams::default()).await?.items);
    let pods = values(pods(client).list(&ListParams::default().labels(&label())).await?.items);
    for act in engine::plan(&keystones, &pods) {
        let done = match act {
            Act::Create(pod) => create(client, pod).await,
            Act::Delete { namespace, uid } => {
                let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
                let preconditions = Preconditions { uid: Some(uid), resource_version: None };
                let params =
                    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                api.delete(NAME, &params).await.map(drop)
            }
        };
        match done {
            // Somebody was faster; the watch tells.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            other => other?,
        }
    }
    Ok(())
}

async fn create(client: &Client, pod: Value) -> kube::Result<()> {
    let pod: Pod = serde_json::from_value(pod).map_err(kube::Error::SerdeError)?;
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    api.create(&PostParams::default(), &pod).await.map(drop)
}

fn keystones(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1beta1", "KeystoneAPI");
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, PLURAL))
}

fn pods(client: &Client) -> Api<Pod> {
    Api::all(client.clone())
}

fn label() -> String {
    format!("app={NAME}")
}

fn values<T: serde::Serialize>(items: Vec<T>) -> Vec<Value> {
    items.into_iter().filter_map(|item| serde_json::to_value(item).ok()).collect()
}

/// The rules of a role that lets [`run`] do its work.
pub fn rights() -> Vec<PolicyRule> {
    let rule = |group: &str, resource: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    vec![
        rule(GROUP, PLURAL, &["get", "list", "watch"]),
        rule("", "pods", &["get", "list", "watch", "create", "delete"]),
    ]
}
