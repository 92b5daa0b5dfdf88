//! Lists in pages: one snapshot, however long the client takes.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::Ctx;
use crate::reply::{names, text, version};

cases![consistent, remaining, with_selector, bad_token, token_of_another_list, limit_of_all];

fn lease(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "labels": {"all": "yes"}}, "spec": {},
    })
}

/// Leases `item-00` and so on: nobody else makes any in our namespace.
async fn fill(ctx: &Ctx, count: usize) -> Result<String> {
    let path = ctx.path("coordination.k8s.io/v1", "leases");
    for index in 0..count {
        ctx.post(&path, &lease(&format!("item-{index:02}"))).await?.created()?;
    }
    Ok(path)
}

async fn consistent(ctx: &Ctx) -> Result<()> {
    let path = fill(ctx, 30).await?;
    let mut seen: Vec<String> = Vec::new();
    let mut page = ctx.get(&format!("{path}?limit=7")).await?.ok()?;
    let snapshot = version(&page)?.to_owned();
    let mut pages = 0;
    loop {
        pages += 1;
        ensure!(version(&page)? == snapshot, "all pages are of one revision: {page}");
        seen.extend(names(&page).into_iter().map(str::to_owned));
        let token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
        // What happens meanwhile does not show.
        ctx.post(&path, &lease(&format!("new-{pages}"))).await?.created()?;
        ctx.post(&path, &lease(&format!("aaa-{pages}"))).await?.created()?;
        ctx.delete(&format!("{path}/item-{:02}", 30 - pages)).await?.ok()?;
        page = ctx.get(&format!("{path}?limit=7&continue={token}")).await?.ok()?;
    }
    let expected: Vec<String> = (0..30).map(|index| format!("item-{index:02}")).collect();
    ensure!(seen == expected, "{seen:?}");
    ensure!(pages == 5, "{pages} pages");
    Ok(())
}

async fn remaining(ctx: &Ctx) -> Result<()> {
    let path = fill(ctx, 10).await?;
    let first = ctx.get(&format!("{path}?limit=4")).await?.ok()?;
    ensure!(first["metadata"]["remainingItemCount"] == 6, "{first}");
    let token = text(&first, "/metadata/continue")?;
    let second = ctx.get(&format!("{path}?limit=4&continue={token}")).await?.ok()?;
    ensure!(second["metadata"]["remainingItemCount"] == 2, "{second}");
    let token = text(&second, "/metadata/continue")?;
    let third = ctx.get(&format!("{path}?limit=4&continue={token}")).await?.ok()?;
    ensure!(names(&third) == ["item-08", "item-09"], "{third}");
    let meta = &third["metadata"];
    ensure!(meta["continue"].as_str().unwrap_or_default().is_empty(), "the last page: {meta}");
    ensure!(meta["remainingItemCount"].is_null(), "{meta}");
    // A page that is exactly full is the last one too.
    let full = ctx.get(&format!("{path}?limit=10")).await?.ok()?;
    ensure!(
        full["metadata"]["continue"].as_str().unwrap_or_default().is_empty(),
        "{}",
        full["metadata"]
    );
    Ok(())
}

async fn with_selector(ctx: &Ctx) -> Result<()> {
    let path = fill(ctx, 6).await?;
    let list = ctx.get(&format!("{path}?limit=4&labelSelector=all%3Dyes")).await?.ok()?;
    ensure!(names(&list).len() == 4, "{list}");
    ensure!(list["metadata"]["remainingItemCount"].is_null(), "{}", list["metadata"]);
    let token = text(&list, "/metadata/continue")?;
    let query = format!("{path}?limit=4&labelSelector=all%3Dyes&continue={token}");
    let list = ctx.get(&query).await?.ok()?;
    ensure!(names(&list) == ["item-04", "item-05"], "{list}");
    Ok(())
}

async fn bad_token(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for token in ["garbage", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0", "%00"] {
        let reply = ctx.get(&format!("{path}?limit=1&continue={token}")).await?;
        reply.refused(400, "BadRequest", "")?;
    }
    Ok(())
}

/// A token is good for the list it came from; it does not open other namespaces.
async fn token_of_another_list(ctx: &Ctx) -> Result<()> {
    let path = fill(ctx, 2).await?;
    let first = ctx.get(&format!("{path}?limit=1")).await?.ok()?;
    let token = text(&first, "/metadata/continue")?;
    let elsewhere = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let reply = ctx.get(&format!("{elsewhere}?limit=1&continue={token}")).await?;
    // Upstream keeps only the part of the key below the list, so the token is simply a place to
    // begin. Either way nothing of our namespace shows.
    if reply.code == 200 {
        let list = reply.ok()?;
        ensure!(!names(&list).contains(&"item-01"), "{list}");
    } else {
        reply.refused(400, "BadRequest", "")?;
    }
    Ok(())
}

async fn limit_of_all(ctx: &Ctx) -> Result<()> {
    let path = fill(ctx, 3).await?;
    for limit in ["0", "3", "500"] {
        let list = ctx.get(&format!("{path}?limit={limit}")).await?.ok()?;
        ensure!(names(&list).len() == 3, "limit={limit}: {list}");
    }
    Ok(())
}
