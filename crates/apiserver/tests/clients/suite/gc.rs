//! The garbage collector: what becomes of objects whose owner goes.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, config_map};

cases![
    marked_for_foreground;
    controllers: background, orphan, foreground, absent_owner, two_owners, chain
];

fn owned_by(name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
            })
        })
        .collect();
    let mut object = config_map(name, &json!({}));
    object["metadata"]["ownerReferences"] = references.into();
    object
}

async fn family(ctx: &Ctx) -> Result<(String, String)> {
    let path = ctx.core("configmaps");
    let owner = ctx.config_map("owner", &json!({})).await?;
    ctx.post(&path, &owned_by("owned", &[&owner])).await?.created()?;
    Ok((format!("{path}/owner"), format!("{path}/owned")))
}

/// What the API server itself does, before any controller acts.
async fn marked_for_foreground(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("held", &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    ctx.post(&ctx.core("configmaps"), &object).await?.created()?;
    let path = format!("{}/held", ctx.core("configmaps"));
    let marked = ctx.delete_with(&path, &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    let finalizers = marked["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    ensure!(finalizers.contains(&"foregroundDeletion".into()), "{marked}");
    ensure!(finalizers.contains(&"example.com/hold".into()), "{marked}");
    ctx.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    Ok(())
}

async fn background(ctx: &Ctx) -> Result<()> {
    let (owner, owned) = family(ctx).await?;
    ctx.delete(&owner).await?.ok()?;
    ctx.get(&owner).await?.refused(404, "NotFound", "")?;
    ctx.gone(&owned).await
}

async fn orphan(ctx: &Ctx) -> Result<()> {
    let (owner, owned) = family(ctx).await?;
    ctx.delete_with(&owner, &json!({"propagationPolicy": "Orphan"})).await?.ok()?;
    ctx.gone(&owner).await?;
    let left = ctx.get(&owned).await?.ok()?;
    ensure!(left["metadata"]["ownerReferences"].is_null(), "{left}");
    ensure!(left["metadata"]["deletionTimestamp"].is_null(), "{left}");
    Ok(())
}

async fn foreground(ctx: &Ctx) -> Result<()> {
    let (owner, owned) = family(ctx).await?;
    ctx.merge(&owned, &json!({"metadata": {"finalizers": ["example.com/hold"]}})).await?.ok()?;
    let marked =
        ctx.delete_with(&owner, &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    ensure!(marked["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{marked}");
    ctx.eventually("the dependent goes first", async || {
        let object = ctx.get(&owned).await?.ok()?;
        Ok(object["metadata"]["deletionTimestamp"].is_string().then_some(()))
    })
    .await?;
    ctx.get(&owner).await?.ok()?;
    ctx.merge(&owned, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ctx.gone(&owned).await?;
    ctx.gone(&owner).await
}

async fn absent_owner(ctx: &Ctx) -> Result<()> {
    let ghost =
        json!({"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}});
    ctx.post(&ctx.core("configmaps"), &owned_by("haunted", &[&ghost])).await?.created()?;
    ctx.gone(&format!("{}/haunted", ctx.core("configmaps"))).await
}

async fn two_owners(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let first = ctx.config_map("first", &json!({})).await?;
    let second = ctx.config_map("second", &json!({})).await?;
    ctx.post(&path, &owned_by("shared", &[&first, &second])).await?.created()?;
    ctx.delete(&format!("{path}/first")).await?.ok()?;
    // The reference to the one that went goes; the object stays for the other.
    ctx.eventually("the reference goes", async || {
        let object = ctx.get(&format!("{path}/shared")).await?.ok()?;
        let owners = object["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
        Ok((owners == 1).then_some(()))
    })
    .await?;
    ctx.delete(&format!("{path}/second")).await?.ok()?;
    ctx.gone(&format!("{path}/shared")).await
}

async fn chain(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let mut last = ctx.config_map("link-0", &json!({})).await?;
    for index in 1..5 {
        last = ctx.post(&path, &owned_by(&format!("link-{index}"), &[&last])).await?.created()?;
    }
    ctx.delete(&format!("{path}/link-0")).await?.ok()?;
    ctx.gone(&format!("{path}/link-4")).await
}
