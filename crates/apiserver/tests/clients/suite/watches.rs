//! WATCH: which frames come, in which order, with which revisions.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::{revision, version};

cases![
    from_a_revision,
    without_a_revision,
    label_transitions,
    one_by_name,
    old_path,
    unchanged_writes,
    timeout_ends,
    bookmark_before_the_end,
    too_old,
    initial_events,
    initial_events_refused,
    many_watchers,
];

async fn from_a_revision(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    let one = format!("{path}/watched");
    let start = ctx.get(&path).await?.ok()?;
    let mut watch =
        ctx.watch(&format!("{path}?watch=true&resourceVersion={}", version(&start)?)).await?;
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "watched"}});
    let created = ctx.post(&path, &body).await?.created()?;
    ensure!(watch.expect("ADDED", "watched").await? == created, "the object as created");
    let patched = ctx.merge(&one, &json!({"stringData": {"a": "b"}})).await?.ok()?;
    ensure!(watch.expect("MODIFIED", "watched").await? == patched, "the object as patched");
    ctx.delete(&one).await?.ok()?;
    let deleted = watch.expect("DELETED", "watched").await?;
    ensure!(deleted["data"] == patched["data"], "its last state: {deleted}");
    ensure!(revision(&deleted)? > revision(&patched)?, "the revision of the deletion: {deleted}");
    // Begun in the middle, a watch tells the rest again.
    let from = version(&created)?;
    let mut again = ctx.watch(&format!("{path}?watch=true&resourceVersion={from}")).await?;
    ensure!(again.expect("MODIFIED", "watched").await? == patched, "from the middle");
    ensure!(again.expect("DELETED", "watched").await? == deleted, "from the middle");
    Ok(())
}

async fn without_a_revision(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    let secret =
        |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    let mut expected: Vec<Value> = Vec::new();
    for name in ["a", "b"] {
        expected.push(ctx.post(&path, &secret(name)).await?.created()?);
    }
    let mut watch = ctx.watch(&format!("{path}?watch=1")).await?;
    let mut initial = Vec::new();
    for _ in 0..2 {
        let (kind, object) = watch.next().await?;
        ensure!(kind == "ADDED", "{kind} {object}");
        initial.push(object);
    }
    initial.sort_by_key(|o| o["metadata"]["name"].to_string());
    ensure!(initial == expected, "{initial:?}");
    ctx.post(&path, &secret("c")).await?.created()?;
    watch.expect("ADDED", "c").await?;
    Ok(())
}

/// Objects enter and leave a selection: that is ADDED and DELETED to the watcher.
async fn label_transitions(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let one = format!("{path}/mover");
    let start = ctx.get(&path).await?.ok()?;
    let query =
        format!("{path}?watch=true&labelSelector=in%3Dyes&resourceVersion={}", version(&start)?);
    let mut watch = ctx.watch(&query).await?;
    ctx.config_map("mover", &json!({"step": "0"})).await?;
    let label = async |value: Value, step: &str| {
        let patch = json!({"metadata": {"labels": {"in": value}}, "data": {"step": step}});
        ctx.merge(&one, &patch).await?.ok()
    };
    let entered = label("yes".into(), "1").await?;
    ensure!(watch.expect("ADDED", "mover").await? == entered, "it entered");
    let stayed = label("yes".into(), "2").await?;
    ensure!(watch.expect("MODIFIED", "mover").await? == stayed, "it stayed");
    let left = label(Value::Null, "3").await?;
    let gone = watch.expect("DELETED", "mover").await?;
    ensure!(gone["data"]["step"] == "2", "its last state that was selected: {gone}");
    ensure!(version(&gone)? == version(&left)?, "with the revision of the change: {gone}");
    label("yes".into(), "4").await?;
    watch.expect("ADDED", "mover").await?;
    ctx.delete(&one).await?.ok()?;
    watch.expect("DELETED", "mover").await?;
    Ok(())
}

async fn one_by_name(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let start = ctx.get(&path).await?.ok()?;
    let query = format!(
        "{path}?watch=true&fieldSelector=metadata.name%3Dchosen&resourceVersion={}",
        version(&start)?
    );
    let mut watch = ctx.watch(&query).await?;
    for name in ["another", "chosen", "chosen-not"] {
        ctx.config_map(name, &json!({})).await?;
    }
    ctx.delete(&format!("{path}/chosen")).await?.ok()?;
    watch.expect("ADDED", "chosen").await?;
    watch.expect("DELETED", "chosen").await?;
    Ok(())
}

/// The deprecated form `/watch/` is still served.
async fn old_path(ctx: &Ctx) -> Result<()> {
    let created = ctx.config_map("old", &json!({})).await?;
    let path = format!("/api/v1/watch/namespaces/{}/configmaps/old", ctx.namespace);
    let mut watch = ctx.watch(&path).await?;
    ensure!(watch.expect("ADDED", "old").await? == created, "{created}");
    Ok(())
}

async fn unchanged_writes(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let created = ctx.config_map("still", &json!({"a": "1"})).await?;
    let query = format!(
        "{path}?watch=true&resourceVersion={}&fieldSelector=metadata.name%3Dstill",
        version(&created)?
    );
    let mut watch = ctx.watch(&query).await?;
    ctx.put(&format!("{path}/still"), &created).await?.ok()?;
    let changed = ctx.merge(&format!("{path}/still"), &json!({"data": {"a": "2"}})).await?.ok()?;
    ensure!(watch.expect("MODIFIED", "still").await? == changed, "a write of nothing is no event");
    Ok(())
}

async fn timeout_ends(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    let start = ctx.get(&path).await?.ok()?;
    let begun = Instant::now();
    let query = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion={}", version(&start)?);
    let frames = ctx.watch(&query).await?.rest().await?;
    ensure!(frames.is_empty(), "nothing happened: {frames:?}");
    let took = begun.elapsed();
    ensure!(took >= Duration::from_millis(900) && took < Duration::from_secs(10), "{took:?}");
    Ok(())
}

async fn bookmark_before_the_end(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let created = ctx.config_map("marked", &json!({})).await?;
    let query = format!(
        "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=6&fieldSelector=metadata.name%3Dnone&resourceVersion={}",
        version(&created)?
    );
    let frames = ctx.watch(&query).await?.rest().await?;
    ensure!(!frames.is_empty(), "no bookmark came");
    for (kind, object) in &frames {
        ensure!(kind == "BOOKMARK", "{kind} {object}");
        ensure!(object["kind"] == "ConfigMap" && object["apiVersion"] == "v1", "{object}");
        ensure!(revision(object)? >= revision(&created)?, "{object}");
        ensure!(object["metadata"]["name"].as_str().unwrap_or_default().is_empty(), "{object}");
    }
    Ok(())
}

/// A cluster that has lived forgets its beginning; a fresh one may still know it.
async fn too_old(ctx: &Ctx) -> Result<()> {
    let query = format!("{}?watch=true&resourceVersion=1&timeoutSeconds=1", ctx.core("configmaps"));
    let reply = ctx.get(&query).await?;
    if reply.code != 200 {
        reply.refused(410, "Expired", "too old resource version")?;
        return Ok(());
    }
    for line in reply.text.lines() {
        let frame: Value = serde_json::from_str(line)?;
        if frame["type"] == "ERROR" {
            let status = &frame["object"];
            ensure!(status["kind"] == "Status" && status["code"] == 410, "{status}");
            ensure!(status["reason"] == "Expired" || status["reason"] == "Gone", "{status}");
        } else {
            let known = ["ADDED", "MODIFIED", "DELETED"].iter().any(|t| frame["type"] == *t);
            ensure!(known, "{frame}");
        }
    }
    Ok(())
}

const STREAMING: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn initial_events(ctx: &Ctx) -> Result<()> {
    if !super::runtime::streams_lists(ctx).await? {
        println!("  this cluster does not stream lists: feature gate WatchList is off");
        return Ok(());
    }
    let path = ctx.core("secrets");
    let secret =
        |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    for name in ["a", "b", "c"] {
        ctx.post(&path, &secret(name)).await?.created()?;
    }
    let mut watch = ctx.watch(&format!("{path}?{STREAMING}")).await?;
    let mut seen = Vec::new();
    let end = loop {
        let (kind, object) = watch.next().await?;
        if kind == "BOOKMARK" {
            break object;
        }
        ensure!(kind == "ADDED", "{kind} {object}");
        seen.push(object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
    };
    seen.sort();
    ensure!(seen == ["a", "b", "c"], "{seen:?}");
    ensure!(end["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true", "{end}");
    ensure!(end["kind"] == "Secret" && revision(&end)? > 0, "{end}");
    let created = ctx.post(&path, &secret("d")).await?.created()?;
    ensure!(watch.expect("ADDED", "d").await? == created, "then it goes on live");
    Ok(())
}

async fn initial_events_refused(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    for query in ["watch=true&sendInitialEvents=true", "sendInitialEvents=true"] {
        ctx.get(&format!("{path}?{query}")).await?.refused(422, "Invalid", "endInitialEvents")?;
    }
    let query = "watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1";
    let reply = ctx.get(&format!("{path}?{query}")).await?;
    reply.invalid(
        "resourceVersionMatch",
        "FieldValueForbidden",
        "is forbidden for watch unless",
    )?;
    Ok(())
}

async fn many_watchers(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let start = ctx.get(&path).await?.ok()?;
    let mut watches = Vec::new();
    for _ in 0..10 {
        let query =
            format!("{path}?watch=true&labelSelector=load&resourceVersion={}", version(&start)?);
        watches.push(ctx.watch(&query).await?);
    }
    for index in 0..20 {
        let mut object = config_map(&format!("load-{index:02}"), &json!({}));
        object["metadata"]["labels"] = json!({"load": "yes"});
        ctx.post(&path, &object).await?.created()?;
    }
    for watch in &mut watches {
        for index in 0..20 {
            watch.expect("ADDED", &format!("load-{index:02}")).await?;
        }
    }
    Ok(())
}
