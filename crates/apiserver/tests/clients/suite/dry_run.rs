//! `dryRun=All`: everything happens except the write.

use anyhow::{Result, ensure};
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, config_map};

cases![create, update, patch, delete, still_refused];

async fn create(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let dry = format!("{path}?dryRun=All");
    let created = ctx.post(&dry, &config_map("dry", &json!({"a": "1"}))).await?.created()?;
    ensure!(created["metadata"]["uid"].is_string(), "{created}");
    ensure!(created["data"]["a"] == "1", "{created}");
    ctx.get(&format!("{path}/dry")).await?.refused(404, "NotFound", "")?;
    // Twice is no conflict: the first never happened.
    ctx.post(&dry, &config_map("dry", &json!({}))).await?.created()?;
    Ok(())
}

async fn update(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/dry", ctx.core("configmaps"));
    let created = ctx.config_map("dry", &json!({"a": "1"})).await?;
    let mut changed = created.clone();
    changed["data"]["a"] = "2".into();
    let answer = ctx.put(&format!("{path}?dryRun=All"), &changed).await?.ok()?;
    ensure!(answer["data"]["a"] == "2", "{answer}");
    ensure!(ctx.get(&path).await?.ok()? == created, "nothing was written");
    Ok(())
}

async fn patch(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/dry", ctx.core("configmaps"));
    let created = ctx.config_map("dry", &json!({"a": "1"})).await?;
    let answer =
        ctx.merge(&format!("{path}?dryRun=All"), &json!({"data": {"b": "2"}})).await?.ok()?;
    ensure!(answer["data"] == json!({"a": "1", "b": "2"}), "{answer}");
    ensure!(ctx.get(&path).await?.ok()? == created, "nothing was written");
    Ok(())
}

async fn delete(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/dry", ctx.core("configmaps"));
    let created = ctx.config_map("dry", &json!({})).await?;
    ctx.delete(&format!("{path}?dryRun=All")).await?.ok()?;
    ctx.delete_with(&path, &json!({"dryRun": ["All"]})).await?.ok()?;
    let all = format!("{}?dryRun=All", ctx.core("configmaps"));
    ctx.delete(&all).await?.ok()?;
    ensure!(ctx.get(&path).await?.ok()? == created, "nothing was deleted");
    Ok(())
}

async fn still_refused(ctx: &Ctx) -> Result<()> {
    let path = format!("{}?dryRun=All", ctx.core("configmaps"));
    ctx.post(&path, &config_map("Bad", &json!({}))).await?.refused(
        422,
        "Invalid",
        "metadata.name",
    )?;
    ctx.config_map("taken", &json!({})).await?;
    let reply = ctx.post(&path, &config_map("taken", &json!({}))).await?;
    reply.refused(409, "AlreadyExists", "already exists")?;
    Ok(())
}
