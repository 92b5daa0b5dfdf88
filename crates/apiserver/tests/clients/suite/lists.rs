//! LIST: order, selectors, and what `resourceVersion` means.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::{causes, names, revision, version};

cases![
    ordered,
    label_selectors,
    field_selectors,
    across_namespaces,
    any_version,
    exact,
    not_older,
    in_the_future
];

async fn ordered(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    for name in ["b", "a", "a-b", "a.b", "c", "aa"] {
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        ctx.post(&path, &body).await?.created()?;
    }
    let list = ctx.get(&path).await?.ok()?;
    ensure!(names(&list) == ["a", "a-b", "a.b", "aa", "b", "c"], "{:?}", names(&list));
    ensure!(list["kind"] == "SecretList", "{list}");
    Ok(())
}

async fn label_selectors(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for (name, labels) in [
        ("a", json!({"tier": "front", "env": "prod"})),
        ("b", json!({"tier": "back", "env": "prod"})),
        ("c", json!({"tier": "front", "env": "dev", "example.com/x": ""})),
    ] {
        let mut object = config_map(name, &json!({}));
        object["metadata"]["labels"] = labels;
        ctx.post(&path, &object).await?.created()?;
    }
    for (selector, expected) in [
        ("tier%3Dfront", vec!["a", "c"]),
        ("tier%3D%3Dfront%2Cenv%3Dprod", vec!["a"]),
        ("tier!%3Dfront%2Ctier", vec!["b"]),
        ("tier%20in%20(front%2Cback)%2Cenv%20notin%20(dev)", vec!["a", "b"]),
        ("example.com%2Fx", vec!["c"]),
        ("example.com%2Fx%3D", vec!["c"]),
        ("tier%2C!example.com%2Fx", vec!["a", "b"]),
        ("tier%3Dnone", vec![]),
    ] {
        let list = ctx.get(&format!("{path}?labelSelector={selector}")).await?.ok()?;
        ensure!(names(&list) == expected, "{selector}: {:?}", names(&list));
        ensure!(list["items"].is_array(), "an empty list is a list: {list}");
    }
    Ok(())
}

async fn field_selectors(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    for (name, kind) in [("a", "example.com/one"), ("b", "example.com/two")] {
        let body =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind});
        ctx.post(&path, &body).await?.created()?;
    }
    for (selector, expected) in [
        ("metadata.name%3Da".to_owned(), vec!["a"]),
        ("metadata.name!%3Da".to_owned(), vec!["b"]),
        ("type%3Dexample.com%2Ftwo".to_owned(), vec!["b"]),
        (format!("metadata.namespace%3D{},metadata.name%3Db", ctx.namespace), vec!["b"]),
        ("metadata.namespace%3Delsewhere".to_owned(), vec![]),
    ] {
        let list = ctx.get(&format!("{path}?fieldSelector={selector}")).await?.ok()?;
        ensure!(names(&list) == expected, "{selector}: {:?}", names(&list));
    }
    Ok(())
}

async fn across_namespaces(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("wide", &json!({}));
    object["metadata"]["labels"] = json!({"home": ctx.namespace});
    ctx.post(&ctx.core("configmaps"), &object).await?.created()?;
    let list = ctx
        .get(&format!("/api/v1/configmaps?labelSelector=home%3D{}", ctx.namespace))
        .await?
        .ok()?;
    ensure!(names(&list) == ["wide"], "{list}");
    // One object cannot be read that way.
    let reply = ctx.get("/api/v1/configmaps/wide").await?;
    ensure!(reply.code == 404, "{reply:?}");
    Ok(())
}

async fn any_version(ctx: &Ctx) -> Result<()> {
    let list = ctx.get(&format!("{}?resourceVersion=0", ctx.core("configmaps"))).await?.ok()?;
    ensure!(list["kind"] == "ConfigMapList" && revision(&list)? > 0, "{list}");
    let created = ctx.config_map("any", &json!({})).await?;
    let path = format!("{}/any", ctx.core("configmaps"));
    ctx.eventually("a cache has it", async || {
        let reply = ctx.get(&format!("{path}?resourceVersion=0")).await?;
        Ok((reply.code == 200 && reply.ok()? == created).then_some(()))
    })
    .await
}

async fn exact(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("secrets");
    let secret =
        |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    let first = ctx.post(&path, &secret("first")).await?.created()?;
    ctx.post(&path, &secret("second")).await?.created()?;
    let query = format!("{path}?resourceVersionMatch=Exact&resourceVersion={}", version(&first)?);
    let then = ctx.get(&query).await?.ok()?;
    ensure!(names(&then) == ["first"], "{then}");
    ensure!(version(&then)? == version(&first)?, "{then}");
    Ok(())
}

async fn not_older(ctx: &Ctx) -> Result<()> {
    let created = ctx.config_map("fresh", &json!({})).await?;
    let query = format!(
        "{}?resourceVersionMatch=NotOlderThan&resourceVersion={}",
        ctx.core("configmaps"),
        version(&created)?
    );
    let list = ctx.get(&query).await?.ok()?;
    ensure!(names(&list).contains(&"fresh") && revision(&list)? >= revision(&created)?, "{list}");
    Ok(())
}

async fn in_the_future(ctx: &Ctx) -> Result<()> {
    let now = revision(&ctx.get(&ctx.core("configmaps")).await?.ok()?)?;
    let query = format!(
        "{}?resourceVersionMatch=NotOlderThan&resourceVersion={}",
        ctx.core("configmaps"),
        now + 1_000_000
    );
    let begun = Instant::now();
    let reply = ctx.get(&query).await?;
    let status = reply.refused(504, "Timeout", "Too large resource version")?;
    ensure!(begun.elapsed().as_secs() < 10, "upstream waits three seconds");
    ensure!(causes(&status).iter().any(|c| c["reason"] == "ResourceVersionTooLarge"), "{status}");
    ensure!(status["details"]["retryAfterSeconds"] == 1, "{status}");
    Ok(())
}
