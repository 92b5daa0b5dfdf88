//! Bodies: JSON and YAML, broken ones, too large ones.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, JSON, YAML, config_map};
use crate::reply::text;

cases![
    malformed_json,
    malformed_yaml,
    yaml_in,
    yaml_out,
    too_large,
    wrong_types,
    kind_left_out,
    empty_fields,
    deep_nesting,
];

async fn malformed_json(ctx: &Ctx) -> Result<()> {
    for body in ["{nope", "[]", "\"text\"", "{\"kind\":\"ConfigMap\",", "null x"] {
        let call = ctx.call(Method::POST, &ctx.core("configmaps")).body(JSON, body);
        call.send().await?.refused(400, "BadRequest", "")?;
    }
    Ok(())
}

async fn malformed_yaml(ctx: &Ctx) -> Result<()> {
    for body in ["a: b: c", "key: [1, 2", "- a\nb: c", "just text"] {
        let call = ctx.call(Method::POST, &ctx.core("configmaps")).body(YAML, body);
        call.send().await?.refused(400, "BadRequest", "").with_context(|| format!("{body:?}"))?;
    }
    Ok(())
}

async fn yaml_in(ctx: &Ctx) -> Result<()> {
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: \"1\"\n  b: |\n    two\n    lines\n";
    let call = ctx.call(Method::POST, &ctx.core("configmaps")).body(YAML, body);
    let created = call.send().await?.created()?;
    ensure!(created["data"] == json!({"a": "1", "b": "two\nlines\n"}), "{created}");
    Ok(())
}

async fn yaml_out(ctx: &Ctx) -> Result<()> {
    ctx.config_map("yaml", &json!({"number": "1", "bool": "yes"})).await?;
    let reply = ctx.get_as(&format!("{}/yaml", ctx.core("configmaps")), YAML).await?;
    ensure!(reply.code == 200 && reply.header("content-type") == YAML, "{reply:?}");
    ensure!(reply.text.contains("kind: ConfigMap"), "{reply:?}");
    ensure!(
        reply.text.contains("number: \"1\"") && reply.text.contains("bool: \"yes\""),
        "{reply:?}"
    );
    let reply = ctx.get_as(&format!("{}/absent", ctx.core("configmaps")), YAML).await?;
    ensure!(reply.code == 404 && reply.text.contains("reason: NotFound"), "{reply:?}");
    Ok(())
}

async fn too_large(ctx: &Ctx) -> Result<()> {
    // Just above the limit, so that the server may read what it will not take.
    let body = config_map("large", &json!({"a": "x".repeat(3 * 1024 * 1024)}));
    let reply = ctx.post(&ctx.core("configmaps"), &body).await?;
    reply.refused(413, "RequestEntityTooLarge", "limit is 3145728")?;
    Ok(())
}

async fn wrong_types(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for body in [
        json!({"metadata": {"name": "x"}, "data": {"a": 1}}),
        json!({"metadata": {"name": "x"}, "data": ["a"]}),
        json!({"metadata": {"name": 5}}),
        json!({"metadata": {"name": "x", "labels": {"a": 1}}}),
        json!({"metadata": {"name": "x", "finalizers": "one"}}),
        json!({"metadata": {"name": "x", "creationTimestamp": "yesterday"}}),
        json!({"metadata": {"name": "x", "ownerReferences": {}}}),
        json!({"metadata": []}),
    ] {
        let mut body = body;
        body["apiVersion"] = "v1".into();
        body["kind"] = "ConfigMap".into();
        let reply = ctx.post(&path, &body).await?;
        let status = reply.refused(400, "BadRequest", "").with_context(|| body.to_string())?;
        let wording = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap";
        ensure!(text(&status, "/message")?.starts_with(wording), "{body}: {status}");
    }
    Ok(())
}

/// The path says what a built-in kind is.
async fn kind_left_out(ctx: &Ctx) -> Result<()> {
    let body = json!({"metadata": {"name": "bare"}, "data": {"a": "b"}});
    let created = ctx.post(&ctx.core("configmaps"), &body).await?.created()?;
    ensure!(created["kind"] == "ConfigMap" && created["apiVersion"] == "v1", "{created}");
    Ok(())
}

/// Built-in kinds go through Go structs: what is empty and optional is not there afterwards.
async fn empty_fields(ctx: &Ctx) -> Result<()> {
    let mut body = config_map("empty", &json!({}));
    body["binaryData"] = serde_json::Value::Null;
    body["metadata"]["labels"] = json!({});
    let created = ctx.post(&ctx.core("configmaps"), &body).await?.created()?;
    for field in ["/data", "/binaryData", "/metadata/labels"] {
        ensure!(created.pointer(field).is_none(), "{field} was kept: {created}");
    }
    Ok(())
}

/// Far deeper than anything real: refused, or pruned with the field it is in, but answered.
async fn deep_nesting(ctx: &Ctx) -> Result<()> {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let body = format!("{{\"metadata\":{{\"name\":\"deep\"}},\"bogus\":{deep}}}");
    let reply = ctx.call(Method::POST, &ctx.core("configmaps")).body(JSON, body).send().await?;
    reply.refused(400, "BadRequest", "")?;
    Ok(())
}
