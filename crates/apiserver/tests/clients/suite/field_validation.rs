//! `fieldValidation`: what happens to fields nobody knows, and to those that come twice.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, JSON};
use crate::reply::Reply;

cases![strict, warn, ignore, strict_yaml, strict_patch];

const BODY: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fields","stray":1},
    "immutable":false,"immutable":false,"bogus":true}"#;

async fn create(ctx: &Ctx, validation: &str) -> Result<Reply> {
    let path = format!("{}?fieldValidation={validation}", ctx.core("configmaps"));
    ctx.call(Method::POST, &path).body(JSON, BODY).send().await
}

async fn strict(ctx: &Ctx) -> Result<()> {
    let reply = create(ctx, "Strict").await?;
    let wording = "cannot be handled as a ConfigMap: strict decoding error: ";
    reply.refused(400, "BadRequest", wording)?;
    for part in [
        "unknown field \"bogus\"",
        "unknown field \"metadata.stray\"",
        "duplicate field \"immutable\"",
    ] {
        reply.refused(400, "BadRequest", part)?;
    }
    ctx.get(&format!("{}/fields", ctx.core("configmaps"))).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn warn(ctx: &Ctx) -> Result<()> {
    for (validation, name) in [("Warn", "fields"), ("", "again")] {
        let path = format!("{}?fieldValidation={validation}", ctx.core("configmaps"));
        let body = BODY.replace("fields", name);
        let reply = ctx.call(Method::POST, &path).body(JSON, body).send().await?;
        let created = reply.created()?;
        ensure!(created["bogus"].is_null() && created["metadata"]["stray"].is_null(), "{created}");
        let warnings = reply.warnings();
        for part in [
            r#"unknown field \"bogus\""#,
            r#"unknown field \"metadata.stray\""#,
            r#"duplicate field \"immutable\""#,
        ] {
            let expected = format!("299 - \"{part}\"");
            ensure!(
                warnings.contains(&expected.as_str()),
                "{expected} is missing from {warnings:?}"
            );
        }
    }
    Ok(())
}

async fn ignore(ctx: &Ctx) -> Result<()> {
    let reply = create(ctx, "Ignore").await?;
    let created = reply.created()?;
    ensure!(created["bogus"].is_null(), "{created}");
    ensure!(reply.warnings().is_empty(), "{:?}", reply.warnings());
    Ok(())
}

async fn strict_yaml(ctx: &Ctx) -> Result<()> {
    let path = format!("{}?fieldValidation=Strict", ctx.core("configmaps"));
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: one\n  a: two\nbogus: 1\n";
    let reply = ctx.call(Method::POST, &path).body(crate::ctx::YAML, body).send().await?;
    reply.refused(400, "BadRequest", "strict decoding error: ")?;
    reply.refused(400, "BadRequest", "unknown field \"bogus\"")?;
    // Unless asked otherwise, the last of the two stands.
    let path = format!("{}?fieldValidation=Ignore", ctx.core("configmaps"));
    let created =
        ctx.call(Method::POST, &path).body(crate::ctx::YAML, body).send().await?.created()?;
    ensure!(created["data"] == json!({"a": "two"}), "{created}");
    Ok(())
}

async fn strict_patch(ctx: &Ctx) -> Result<()> {
    ctx.config_map("patched", &json!({})).await?;
    let path = format!("{}/patched?fieldValidation=Strict", ctx.core("configmaps"));
    let reply = ctx.merge(&path, &json!({"bogus": 1})).await?;
    reply.refused(422, "Invalid", "strict decoding error: unknown field \"bogus\"")?;
    Ok(())
}
