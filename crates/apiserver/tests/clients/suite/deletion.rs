//! Deletion: finalizers, preconditions, collections.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::{names, version};

cases![finalizers, no_new_finalizers, deletion_stays, preconditions, collection, collection_of_all];

const HOLD: &str = "example.com/hold";

async fn held(ctx: &Ctx, name: &str) -> Result<String> {
    let mut object = config_map(name, &json!({}));
    object["metadata"]["finalizers"] = json!([HOLD, "example.com/other"]);
    ctx.post(&ctx.core("configmaps"), &object).await?.created()?;
    Ok(format!("{}/{name}", ctx.core("configmaps")))
}

async fn finalizers(ctx: &Ctx) -> Result<()> {
    let path = held(ctx, "held").await?;
    let marked = ctx.delete(&path).await?.ok()?;
    ensure!(marked["kind"] == "ConfigMap", "the object, as it is still there: {marked}");
    ensure!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    ensure!(marked["metadata"]["deletionGracePeriodSeconds"] == 0, "{marked}");
    ensure!(ctx.get(&path).await?.ok()? == marked, "what was answered is what is stored");
    let patched = ctx.merge(&path, &json!({"metadata": {"finalizers": [HOLD]}})).await?.ok()?;
    ensure!(patched["metadata"]["finalizers"] == json!([HOLD]), "{patched}");
    let last = ctx.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ensure!(last["metadata"]["finalizers"].is_null(), "the state it left in: {last}");
    ctx.get(&path).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn no_new_finalizers(ctx: &Ctx) -> Result<()> {
    let path = held(ctx, "late").await?;
    ctx.delete(&path).await?.ok()?;
    let patch = json!({"metadata": {"finalizers": [HOLD, "example.com/late"]}});
    let reply = ctx.merge(&path, &patch).await?;
    let wording =
        "no new finalizers can be added if the object is being deleted, found new finalizers";
    reply.invalid("metadata.finalizers", "FieldValueForbidden", wording)?;
    ctx.merge(&path, &json!({"metadata": {"finalizers": []}})).await?.ok()?;
    Ok(())
}

async fn deletion_stays(ctx: &Ctx) -> Result<()> {
    let path = held(ctx, "stays").await?;
    let marked = ctx.delete(&path).await?.ok()?;
    let since = marked["metadata"]["deletionTimestamp"].clone();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    ctx.delete(&path).await?.ok()?;
    let again = ctx.get(&path).await?.ok()?;
    ensure!(again["metadata"]["deletionTimestamp"] == since, "deleted once: {again}");
    let patch = json!({"metadata": {"deletionTimestamp": null}, "data": {"a": "b"}});
    let patched = ctx.merge(&path, &patch).await?.ok()?;
    ensure!(patched["metadata"]["deletionTimestamp"] == since, "nobody undoes it: {patched}");
    ensure!(patched["data"]["a"] == "b", "the rest may change: {patched}");
    ctx.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    Ok(())
}

async fn preconditions(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/guarded", ctx.core("configmaps"));
    let created = ctx.config_map("guarded", &json!({})).await?;
    let uid = created["metadata"]["uid"].clone();
    let guard = |key: &str, value: Value| json!({"preconditions": {key: value}});
    let other = guard("uid", "00000000-0000-4000-8000-000000000000".into());
    let status = ctx.delete_with(&path, &other).await?.refused(409, "Conflict", "UID in")?;
    ensure!(status["details"]["name"] == "guarded", "{status}");
    let old = guard("resourceVersion", "1".into());
    ctx.delete_with(&path, &old).await?.refused(409, "Conflict", "ResourceVersion in")?;
    ensure!(ctx.get(&path).await?.ok()? == created, "it is still there");
    let right = json!({"preconditions": {"uid": uid, "resourceVersion": version(&created)?}});
    ctx.delete_with(&path, &right).await?.ok()?;
    ctx.get(&path).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn collection(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for (name, colour) in [("one", "red"), ("two", "blue"), ("three", "red")] {
        let mut object = config_map(name, &json!({}));
        object["metadata"]["labels"] = json!({"colour": colour});
        ctx.post(&path, &object).await?.created()?;
    }
    let deleted = ctx.delete(&format!("{path}?labelSelector=colour%3Dred")).await?.ok()?;
    ensure!(deleted["kind"] == "ConfigMapList", "{deleted}");
    ensure!(names(&deleted) == ["one", "three"], "{deleted}");
    let left = ctx.get(&format!("{path}?labelSelector=colour")).await?.ok()?;
    ensure!(names(&left) == ["two"], "{left}");
    ctx.delete(&format!("{path}?fieldSelector=metadata.name%3Dtwo")).await?.ok()?;
    ctx.get(&format!("{path}/two")).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn collection_of_all(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    for index in 0..25 {
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{index}")}});
        ctx.post(&path, &body).await?.created()?;
    }
    let held = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "held", "finalizers": [HOLD]}});
    ctx.post(&path, &held).await?.created()?;
    ctx.delete(&path).await?.ok()?;
    let left = ctx.get(&path).await?.ok()?;
    ensure!(names(&left) == ["held"], "{left}");
    ensure!(left["items"][0]["metadata"]["deletionTimestamp"].is_string(), "{left}");
    ctx.merge(&format!("{path}/held"), &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    Ok(())
}
