//! Many clients at once: nothing is lost, nothing happens twice.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, JSON, MERGE_PATCH, config_map};
use crate::reply::{names, revision, version};

cases![
    one_creator_wins,
    all_patches_apply,
    one_update_per_revision,
    revisions_are_distinct,
    one_deletion_wins,
];

async fn one_creator_wins(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let body = |index: usize| config_map("contested", &json!({"by": index.to_string()}));
    let creates = (0..20).map(|index| (Method::POST, path.clone(), JSON, body(index))).collect();
    let replies = ctx.at_once(creates).await?;
    let won: Vec<_> = replies.iter().filter(|reply| reply.code == 201).collect();
    ensure!(won.len() == 1, "{} of 20 created it", won.len());
    for reply in replies.iter().filter(|reply| reply.code != 201) {
        reply.refused(409, "AlreadyExists", "already exists")?;
    }
    let stored = ctx.get(&format!("{path}/contested")).await?.ok()?;
    ensure!(stored == won[0].json()?, "the winner's object is what is stored");
    Ok(())
}

async fn all_patches_apply(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/shared", ctx.core("configmaps"));
    ctx.config_map("shared", &json!({})).await?;
    let patch = |index: usize| json!({"data": {format!("key-{index}"): "x"}});
    let patches = (0..50).map(|index| (Method::PATCH, path.clone(), MERGE_PATCH, patch(index)));
    let replies = ctx.at_once(patches.collect()).await?;
    let mut revisions = Vec::new();
    for reply in &replies {
        revisions.push(revision(&reply.ok()?)?);
    }
    let stored = ctx.get(&path).await?.ok()?;
    let keys = stored["data"].as_object().map_or(0, serde_json::Map::len);
    ensure!(keys == 50, "{keys} of 50 patches arrived");
    revisions.sort_unstable();
    revisions.dedup();
    ensure!(revisions.len() == 50, "each was a write of its own");
    Ok(())
}

async fn one_update_per_revision(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/raced", ctx.core("configmaps"));
    let mut current = ctx.config_map("raced", &json!({"winner": "nobody"})).await?;
    for round in 0..5 {
        let wish = |index: usize| {
            let mut wish: Value = current.clone();
            wish["data"]["winner"] = format!("{round}-{index}").into();
            wish
        };
        let updates = (0..10).map(|index| (Method::PUT, path.clone(), JSON, wish(index))).collect();
        let replies = ctx.at_once(updates).await?;
        let won: Vec<_> = replies.iter().filter(|reply| reply.code == 200).collect();
        ensure!(won.len() == 1, "{} of 10 updates of {} won", won.len(), version(&current)?);
        for reply in replies.iter().filter(|reply| reply.code != 200) {
            reply.refused(409, "Conflict", "the object has been modified")?;
        }
        current = ctx.get(&path).await?.ok()?;
        ensure!(current == won[0].json()?, "the winner's wish is what is stored");
    }
    Ok(())
}

async fn revisions_are_distinct(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let body = |index: usize| config_map(&format!("object-{index}"), &json!({}));
    let creates = (0..40).map(|index| (Method::POST, path.clone(), JSON, body(index))).collect();
    let mut revisions = Vec::new();
    for reply in ctx.at_once(creates).await? {
        revisions.push(revision(&reply.created()?)?);
    }
    revisions.sort_unstable();
    revisions.dedup();
    ensure!(revisions.len() == 40, "{revisions:?}");
    let list = ctx.get(&path).await?.ok()?;
    ensure!(revision(&list)? >= revisions[39], "a list shows what was acknowledged before");
    let found = names(&list).iter().filter(|name| name.starts_with("object-")).count();
    ensure!(found == 40, "{found}");
    Ok(())
}

async fn one_deletion_wins(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/doomed", ctx.core("configmaps"));
    ctx.config_map("doomed", &json!({})).await?;
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
    let deletes = (0..10).map(|_| (Method::DELETE, path.clone(), JSON, options.clone())).collect();
    let replies = ctx.at_once(deletes).await?;
    let won = replies.iter().filter(|reply| reply.code == 200).count();
    ensure!(won == 1, "{won} of 10 deletions succeeded");
    for reply in replies.iter().filter(|reply| reply.code != 200) {
        reply.refused(404, "NotFound", "\"doomed\" not found")?;
    }
    Ok(())
}
