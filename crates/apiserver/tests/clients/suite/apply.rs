//! Server-side apply: owners of fields, conflicts, force.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::{Reply, causes, version};

cases![
    creates,
    conflicts,
    drops_what_it_no_longer_wants,
    updates_are_owners,
    lists_by_key,
    refusals
];

const APPLY: &str = "application/apply-patch+yaml";

async fn apply(ctx: &Ctx, path: &str, manager: &str, config: &Value) -> Result<Reply> {
    ctx.patch(&format!("{path}?fieldManager={manager}"), APPLY, config).await
}

fn managers(object: &Value) -> Vec<(String, String)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut list: Vec<_> =
        entries.iter().map(|e| (text(&e["manager"]), text(&e["operation"]))).collect();
    list.sort();
    list
}

fn owner(manager: &str, operation: &str) -> (String, String) {
    (manager.to_owned(), operation.to_owned())
}

async fn creates(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/new", ctx.core("configmaps"));
    let config = config_map("new", &json!({"a": "1"}));
    let created = apply(ctx, &path, "ann", &config).await?.created()?;
    ensure!(managers(&created) == [owner("ann", "Apply")], "{created}");
    let fields = &created["metadata"]["managedFields"][0]["fieldsV1"];
    ensure!(*fields == json!({"f:data": {"f:a": {}}}), "{fields}");
    // The same again changes nothing.
    let again = apply(ctx, &path, "ann", &config).await?.ok()?;
    ensure!(version(&again)? == version(&created)?, "{again}");
    Ok(())
}

async fn conflicts(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/shared", ctx.core("configmaps"));
    apply(ctx, &path, "ann", &config_map("shared", &json!({"a": "1"}))).await?.created()?;
    let other = config_map("shared", &json!({"a": "2", "b": "3"}));
    let refused = apply(ctx, &path, "bob", &other).await?;
    let status = refused.refused(409, "Conflict", "conflict with \"ann\": .data.a")?;
    let cause = &causes(&status)[0];
    ensure!(cause["reason"] == "FieldManagerConflict" && cause["field"] == ".data.a", "{status}");
    let forced = apply(ctx, &path, "bob&force=true", &other).await?.ok()?;
    ensure!(forced["data"] == json!({"a": "2", "b": "3"}), "{forced}");
    ensure!(managers(&forced) == [owner("bob", "Apply")], "ann owns nothing any more: {forced}");
    Ok(())
}

async fn drops_what_it_no_longer_wants(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/drops", ctx.core("configmaps"));
    apply(ctx, &path, "ann", &config_map("drops", &json!({"a": "1", "b": "2"})))
        .await?
        .created()?;
    apply(ctx, &path, "bob", &config_map("drops", &json!({"b": "2"}))).await?.ok()?;
    let left = apply(ctx, &path, "ann", &config_map("drops", &json!({"c": "3"}))).await?.ok()?;
    // `a` was ann's alone; `b` is bob's as well.
    ensure!(left["data"] == json!({"b": "2", "c": "3"}), "{left}");
    Ok(())
}

async fn updates_are_owners(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/updated", ctx.core("configmaps"));
    apply(ctx, &path, "ann", &config_map("updated", &json!({"a": "1"}))).await?.created()?;
    let patch = json!({"data": {"a": "2"}});
    let patched = ctx.merge(&format!("{path}?fieldManager=eve"), &patch).await?.ok()?;
    ensure!(managers(&patched).contains(&owner("eve", "Update")), "{patched}");
    let again = apply(ctx, &path, "ann", &config_map("updated", &json!({"a": "1"}))).await?;
    again.refused(409, "Conflict", "conflict with \"eve\" using v1")?;
    Ok(())
}

async fn lists_by_key(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("apps/v1", "deployments");
    let path = format!("{path}/keyed");
    let deployment = |containers: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "keyed"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "keyed"}},
                "template": {
                    "metadata": {"labels": {"app": "keyed"}},
                    "spec": {"containers": containers},
                },
            },
        })
    };
    let main = json!([{"name": "main", "image": "example.invalid/main:1"}]);
    apply(ctx, &path, "ann", &deployment(main)).await?.created()?;
    let side = json!([{"name": "side", "image": "example.invalid/side:1"}]);
    let both = apply(ctx, &path, "bob", &deployment(side)).await?.ok()?;
    let containers = both["spec"]["template"]["spec"]["containers"].as_array();
    ensure!(containers.is_some_and(|list| list.len() == 2), "{both}");
    Ok(())
}

async fn refusals(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/refused", ctx.core("configmaps"));
    let config = config_map("refused", &json!({}));
    ctx.patch(&path, APPLY, &config).await?.refused(422, "Invalid", "fieldManager")?;
    let mut managed = config.clone();
    managed["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply"}]);
    let reply = apply(ctx, &path, "ann", &managed).await?;
    reply.refused(400, "BadRequest", "managedFields must be nil")?;
    let forced = format!("{path}?force=true");
    ctx.config_map("refused", &json!({})).await?;
    ctx.merge(&forced, &json!({})).await?.refused(422, "Invalid", "force")?;
    Ok(())
}
