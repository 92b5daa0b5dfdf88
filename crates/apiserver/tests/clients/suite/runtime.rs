//! kube's runtime: watchers and waiting, as controllers use them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{wait, watcher};
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, config_map};

cases![list_watch, streaming_lists, metadata_only, await_condition];

/// Whether this server streams lists; ours must.
pub async fn streams_lists(ctx: &Ctx) -> Result<bool> {
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let more = "allowWatchBookmarks=true&timeoutSeconds=1";
    let reply = ctx.get(&format!("{}?{query}&{more}", ctx.core("configmaps"))).await?;
    ensure!(!ctx.ours || reply.code == 200, "{reply:?}");
    Ok(reply.code == 200)
}

async fn next<T>(
    stream: &mut (impl Stream<Item = Result<Event<T>, Error>> + Unpin),
) -> Result<Event<T>> {
    let next = tokio::time::timeout(Duration::from_secs(20), stream.next()).await;
    Ok(next.context("no event came")?.context("a watcher never ends")??)
}

fn name<K: kube::Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

async fn follow(ctx: &Ctx, config: Config) -> Result<()> {
    let path = ctx.core("configmaps");
    let labelled = |name: &str| {
        let mut object = config_map(name, &json!({}));
        object["metadata"]["labels"] = json!({"followed": "yes"});
        object
    };
    for name in ["a", "b", "c"] {
        ctx.post(&path, &labelled(name)).await?.created()?;
    }
    let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), &ctx.namespace);
    let mut events = Box::pin(watcher(api, config.labels("followed=yes")));
    ensure!(matches!(next(&mut events).await?, Event::Init), "a watcher begins with Init");
    let mut initial = Vec::new();
    loop {
        match next(&mut events).await? {
            Event::InitApply(object) => initial.push(name(&object).to_owned()),
            Event::InitDone => break,
            other => anyhow::bail!("{other:?}"),
        }
    }
    initial.sort();
    ensure!(initial == ["a", "b", "c"], "{initial:?}");
    ctx.post(&path, &labelled("d")).await?.created()?;
    let event = next(&mut events).await?;
    ensure!(matches!(&event, Event::Apply(o) if name(o) == "d"), "{event:?}");
    ctx.delete(&format!("{path}/d")).await?.ok()?;
    let event = next(&mut events).await?;
    ensure!(matches!(&event, Event::Delete(o) if name(o) == "d"), "{event:?}");
    Ok(())
}

async fn list_watch(ctx: &Ctx) -> Result<()> {
    follow(ctx, Config::default().page_size(2)).await
}

async fn streaming_lists(ctx: &Ctx) -> Result<()> {
    if !streams_lists(ctx).await? {
        println!("  this cluster does not stream lists: feature gate WatchList is off");
        return Ok(());
    }
    follow(ctx, Config::default().streaming_lists()).await
}

async fn metadata_only(ctx: &Ctx) -> Result<()> {
    ctx.config_map("thin", &json!({})).await?;
    let api: Api<PartialObjectMeta<ConfigMap>> =
        Api::namespaced(ctx.client.clone(), &ctx.namespace);
    let config = Config::default().fields("metadata.name=thin");
    let mut events = Box::pin(watcher(api, config));
    ensure!(matches!(next(&mut events).await?, Event::Init), "Init");
    let event = next(&mut events).await?;
    ensure!(matches!(&event, Event::InitApply(o) if name(o) == "thin"), "{event:?}");
    Ok(())
}

async fn await_condition(ctx: &Ctx) -> Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), &ctx.namespace);
    let filled = |object: Option<&ConfigMap>| {
        object.and_then(|o| o.data.as_ref()).is_some_and(|data| data.contains_key("done"))
    };
    let waiting = tokio::spawn(wait::await_condition(api.clone(), "awaited", filled));
    let created = ctx.config_map("awaited", &json!({})).await?;
    let path = format!("{}/awaited", ctx.core("configmaps"));
    ctx.merge(&path, &json!({"data": {"done": "yes"}})).await?.ok()?;
    let found = tokio::time::timeout(Duration::from_secs(20), waiting).await???;
    ensure!(found.is_some_and(|object| name(&object) == "awaited"), "the object is handed over");
    let uid = created["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let waiting = tokio::spawn(async move {
        wait::await_condition(api, "awaited", wait::conditions::is_deleted(&uid)).await
    });
    ctx.delete(&path).await?.ok()?;
    tokio::time::timeout(Duration::from_secs(20), waiting).await???;
    Ok(())
}
