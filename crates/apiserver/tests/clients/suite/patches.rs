//! PATCH in its three forms.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, JSON_PATCH, MERGE_PATCH, STRATEGIC};

cases![merge, json_patch, json_patch_refused, strategic, strategic_lists, malformed, wrong_types];

async fn merge(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/merge", ctx.core("configmaps"));
    ctx.config_map("merge", &json!({"keep": "1", "drop": "2"})).await?;
    let patch = json!({"metadata": {"labels": {"a": "b"}}, "data": {"drop": null, "new": "3"}});
    let patched = ctx.merge(&path, &patch).await?.ok()?;
    ensure!(patched["data"] == json!({"keep": "1", "new": "3"}), "{patched}");
    ensure!(patched["metadata"]["labels"] == json!({"a": "b"}), "{patched}");
    // Lists are replaced as a whole.
    for list in [json!(["a.io/x", "a.io/y"]), json!(["a.io/z"])] {
        let patch = json!({"metadata": {"finalizers": list}});
        let patched = ctx.merge(&path, &patch).await?.ok()?;
        ensure!(patched["metadata"]["finalizers"] == list, "{patched}");
    }
    let patched = ctx.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ensure!(patched["metadata"]["finalizers"].is_null(), "{patched}");
    Ok(())
}

async fn json_patch(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/json", ctx.core("configmaps"));
    ctx.config_map("json", &json!({"a": "1"})).await?;
    let annotations = json!({"metadata": {"annotations": {"example.com/x": "1", "y": "2"}}});
    ctx.merge(&path, &annotations).await?.ok()?;
    let patch = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/metadata/annotations/example.com~1x"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
        {"op": "copy", "from": "/data/a", "path": "/data/copied"},
        {"op": "move", "from": "/data/copied", "path": "/data/moved"},
    ]);
    let patched = ctx.patch(&path, JSON_PATCH, &patch).await?.ok()?;
    ensure!(patched["data"] == json!({"a": "9", "moved": "9"}), "{patched}");
    ensure!(patched["metadata"]["labels"] == json!({"x": "y"}), "{patched}");
    ensure!(patched["metadata"]["annotations"] == json!({"y": "2"}), "{patched}");
    Ok(())
}

async fn json_patch_refused(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/refused", ctx.core("configmaps"));
    let created = ctx.config_map("refused", &json!({"a": "1"})).await?;
    for patch in [
        json!([{"op": "replace", "path": "/data/a", "value": "2"}, {"op": "test", "path": "/data/a", "value": "3"}]),
        json!([{"op": "remove", "path": "/data/absent"}]),
        json!([{"op": "add", "path": "/absent/deep/path", "value": 1}]),
    ] {
        let reply = ctx.patch(&path, JSON_PATCH, &patch).await?;
        reply.refused(422, "Invalid", "")?;
    }
    ensure!(ctx.get(&path).await?.ok()? == created, "a refused patch changes nothing");
    Ok(())
}

async fn strategic(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/strategic", ctx.core("configmaps"));
    ctx.config_map("strategic", &json!({"keep": "1", "drop": "2"})).await?;
    let patch = json!({"metadata": {"finalizers": ["a.io/x"]}, "data": {"drop": null, "new": "3"}});
    let patched = ctx.patch(&path, STRATEGIC, &patch).await?.ok()?;
    ensure!(patched["data"] == json!({"keep": "1", "new": "3"}), "{patched}");
    // Finalizers are a set.
    let patch = json!({"metadata": {"finalizers": ["a.io/y"]}});
    let patched = ctx.patch(&path, STRATEGIC, &patch).await?.ok()?;
    let finalizers = patched["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
    ensure!(finalizers == 2, "{patched}");
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.io/x", "a.io/y"]}});
    let patched = ctx.patch(&path, STRATEGIC, &patch).await?.ok()?;
    ensure!(patched["metadata"]["finalizers"].is_null(), "{patched}");
    let patch = json!({"data": {"$patch": "replace", "only": "this"}});
    let patched = ctx.patch(&path, STRATEGIC, &patch).await?.ok()?;
    ensure!(patched["data"] == json!({"only": "this"}), "{patched}");
    Ok(())
}

/// Lists with a merge key are merged by it.
async fn strategic_lists(ctx: &Ctx) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "ports"},
        "spec": {"clusterIP": "None", "ports": [{"name": "http", "port": 80}]},
    });
    ctx.post(&ctx.core("services"), &service).await?.created()?;
    let path = format!("{}/ports", ctx.core("services"));
    let ports = async |patch| -> Result<Vec<i64>> {
        let patched = ctx.patch(&path, STRATEGIC, &patch).await?.ok()?;
        let ports = patched["spec"]["ports"].as_array().cloned().unwrap_or_default();
        let mut ports: Vec<i64> = ports.iter().filter_map(|p| p["port"].as_i64()).collect();
        ports.sort_unstable();
        Ok(ports)
    };
    let added = ports(json!({"spec": {"ports": [{"name": "https", "port": 443}]}})).await?;
    ensure!(added == [80, 443], "{added:?}");
    let removed = ports(json!({"spec": {"ports": [{"$patch": "delete", "port": 80}]}})).await?;
    ensure!(removed == [443], "{removed:?}");
    let renamed = ports(json!({"spec": {"ports": [{"name": "tls", "port": 443}]}})).await?;
    ensure!(renamed == [443], "{renamed:?}");
    let service = ctx.get(&path).await?.ok()?;
    ensure!(service["spec"]["ports"][0]["name"] == "tls", "{service}");
    Ok(())
}

async fn malformed(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/malformed", ctx.core("configmaps"));
    ctx.config_map("malformed", &json!({})).await?;
    for (media, body) in [
        (MERGE_PATCH, "{\"data\":"),
        (MERGE_PATCH, "[1, 2]"),
        (JSON_PATCH, "{\"op\": \"add\"}"),
        (JSON_PATCH, "nonsense"),
        (STRATEGIC, "{"),
    ] {
        let reply = ctx.call(Method::PATCH, &path).body(media, body).send().await?;
        reply.refused(400, "BadRequest", "")?;
    }
    Ok(())
}

/// A patch whose result is no object of the kind.
async fn wrong_types(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/types", ctx.core("configmaps"));
    ctx.config_map("types", &json!({})).await?;
    ctx.merge(&path, &json!({"data": {"a": 5}})).await?.refused(
        422,
        "Invalid",
        "cannot unmarshal",
    )?;
    ctx.merge(&path, &json!({"data": "text"})).await?.refused(
        422,
        "Invalid",
        "cannot unmarshal",
    )?;
    Ok(())
}
