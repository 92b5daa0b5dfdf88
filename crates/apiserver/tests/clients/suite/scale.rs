//! Server-side apply through `scale`: the owners of a replica count are the object's.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use super::crds::{group, install, widget, widgets};
use crate::ctx::Ctx;
use crate::reply::{Reply, causes, version};

cases![workloads, custom, unowned, giving_up, refusals];

const APPLY: &str = "application/apply-patch+yaml";

fn workload(kind: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "scaled"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "scaled"}},
            "template": {
                "metadata": {"labels": {"app": "scaled"}},
                "spec": {"containers": [{"name": "main", "image": "example.invalid/main:1"}]},
            },
        },
    })
}

fn scale(ctx: &Ctx, replicas: i64) -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "scaled", "namespace": ctx.namespace},
        "spec": {"replicas": replicas},
    })
}

async fn apply(ctx: &Ctx, path: &str, manager: &str, config: &Value) -> Result<Reply> {
    ctx.patch(&format!("{path}?fieldManager={manager}"), APPLY, config).await
}

/// Who owns a field below `spec` of the object at a path, and through which subresource.
async fn owners(ctx: &Ctx, path: &str, field: &str) -> Result<Vec<String>> {
    let object = ctx.get(path).await?.ok()?;
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mut list: Vec<String> = entries
        .iter()
        .filter(|entry| !entry["fieldsV1"]["f:spec"][field].is_null())
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            format!("{} {} {}", text("manager"), text("operation"), text("subresource"))
        })
        .collect();
    list.sort();
    Ok(list)
}

/// The whole story for each built-in kind that has replicas.
async fn workloads(ctx: &Ctx) -> Result<()> {
    for (kind, plural) in [
        ("Deployment", "deployments"),
        ("ReplicaSet", "replicasets"),
        ("StatefulSet", "statefulsets"),
    ] {
        let path = format!("{}/scaled", ctx.path("apps/v1", plural));
        let through = format!("{path}/scale");
        let replicas = async || owners(ctx, &path, "f:replicas").await;
        apply(ctx, &path, "ann", &workload(kind)).await?.created()?;
        ensure!(replicas().await? == ["ann Apply "], "{:?}", replicas().await?);

        let refused = apply(ctx, &through, "bob", &scale(ctx, 17)).await?;
        let status = refused.refused(409, "Conflict", "conflict with \"ann\": .spec.replicas")?;
        let cause = &causes(&status)[0];
        ensure!(cause["reason"] == "FieldManagerConflict", "{status}");
        ensure!(cause["field"] == ".spec.replicas", "{status}");
        let forced = apply(ctx, &through, "bob&force=true", &scale(ctx, 17)).await?.ok()?;
        ensure!(forced["kind"] == "Scale" && forced["spec"]["replicas"] == 17, "{forced}");
        ensure!(forced["metadata"]["managedFields"].is_null(), "they are the object's: {forced}");
        ensure!(replicas().await? == ["bob Apply scale"], "{:?}", replicas().await?);
        // ann has lost the count and nothing else.
        ensure!(owners(ctx, &path, "f:template").await? == ["ann Apply "], "{kind}");

        // What was applied can be applied again, and changes nothing.
        let again = apply(ctx, &through, "bob", &scale(ctx, 17)).await?.ok()?;
        ensure!(version(&again)? == version(&forced)?, "{again}");

        // Applied to the object, the count is now bob's.
        let refused = apply(ctx, &path, "ann", &workload(kind)).await?;
        let wording = "conflict with \"bob\" with subresource \"scale\": .spec.replicas";
        refused.refused(409, "Conflict", wording)?;

        // A PUT takes it from everyone; the same count applied is owned by both.
        ctx.put(&format!("{through}?fieldManager=cyd"), &scale(ctx, 7)).await?.ok()?;
        ensure!(replicas().await? == ["cyd Update scale"], "{:?}", replicas().await?);
        let refused = apply(ctx, &through, "bob", &scale(ctx, 8)).await?;
        refused.refused(409, "Conflict", "conflict with \"cyd\" with subresource \"scale\"")?;
        apply(ctx, &through, "dan", &scale(ctx, 7)).await?.ok()?;
        let both = ["cyd Update scale", "dan Apply scale"];
        ensure!(replicas().await? == both, "{:?}", replicas().await?);

        // A merge patch makes its author the only owner again.
        let patch = json!({"spec": {"replicas": 5}});
        ctx.merge(&format!("{through}?fieldManager=eve"), &patch).await?.ok()?;
        ensure!(replicas().await? == ["eve Update scale"], "{:?}", replicas().await?);
    }
    Ok(())
}

/// A kind that keeps its count elsewhere.
async fn custom(ctx: &Ctx) -> Result<()> {
    let properties = json!({"nodes": {"type": "integer"}, "size": {"type": "integer"}});
    let mut crd = widgets(ctx, &properties);
    crd["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": {"specReplicasPath": ".spec.nodes", "statusReplicasPath": ".status.nodes"},
    });
    let path = format!("{}/scaled", install(ctx, &crd).await?);
    let through = format!("{path}/scale");
    let config = widget(ctx, "scaled", &json!({"nodes": 2, "size": 9}));
    apply(ctx, &path, "ann", &config).await?.created()?;
    let refused = apply(ctx, &through, "bob", &scale(ctx, 3)).await?;
    refused.refused(409, "Conflict", "conflict with \"ann\": .spec.replicas")?;
    // Without effect while it is only tried.
    let dry = apply(ctx, &through, "bob&force=true&dryRun=All", &scale(ctx, 3)).await?.ok()?;
    ensure!(dry["spec"]["replicas"] == 3, "{dry}");
    ensure!(owners(ctx, &path, "f:nodes").await? == ["ann Apply "]);
    apply(ctx, &through, "bob&force=true", &scale(ctx, 3)).await?.ok()?;
    let object = ctx.get(&path).await?.ok()?;
    ensure!(object["spec"] == json!({"nodes": 3, "size": 9}), "{object}");
    ensure!(object["metadata"]["generation"] == 2, "{object}");
    ensure!(owners(ctx, &path, "f:nodes").await? == ["bob Apply scale"], "{object}");
    ensure!(owners(ctx, &path, "f:size").await? == ["ann Apply "], "{object}");
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let api_version = format!("{}/v1", group(ctx));
    ensure!(entries.iter().all(|entry| entry["apiVersion"] == api_version), "{object}");
    Ok(())
}

/// A count nobody has claimed belongs to whoever was before the first apply.
async fn unowned(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/scaled", ctx.path("apps/v1", "deployments"));
    let mut config = workload("Deployment");
    config["spec"].as_object_mut().map(|spec| spec.remove("replicas"));
    apply(ctx, &path, "ann", &config).await?.created()?;
    ensure!(owners(ctx, &path, "f:replicas").await?.is_empty());
    let through = format!("{path}/scale");
    let refused = apply(ctx, &through, "bob", &scale(ctx, 4)).await?;
    refused.refused(409, "Conflict", "conflict with \"before-first-apply\"")?;
    apply(ctx, &through, "bob&force=true", &scale(ctx, 4)).await?.ok()?;
    ensure!(owners(ctx, &path, "f:replicas").await? == ["bob Apply scale"]);
    Ok(())
}

/// Who no longer speaks of the count no longer owns it; what nobody wants is none.
async fn giving_up(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/scaled", ctx.path("apps/v1", "deployments"));
    let through = format!("{path}/scale");
    apply(ctx, &path, "ann", &workload("Deployment")).await?.created()?;
    apply(ctx, &through, "bob", &scale(ctx, 1)).await?.ok()?;
    let mut silent = scale(ctx, 1);
    silent["spec"] = json!({});
    let left = apply(ctx, &through, "bob", &silent).await?.ok()?;
    ensure!(left["spec"]["replicas"] == 1, "ann still wants it: {left}");
    ensure!(owners(ctx, &path, "f:replicas").await? == ["ann Apply "]);
    Ok(())
}

async fn refusals(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/scaled", ctx.path("apps/v1", "deployments"));
    let through = format!("{path}/scale");
    let missing = apply(ctx, &through, "bob", &scale(ctx, 1)).await?;
    missing.refused(404, "NotFound", "deployments.apps \"scaled\" not found")?;
    apply(ctx, &path, "ann", &workload("Deployment")).await?.created()?;
    let nameless = ctx.patch(&through, APPLY, &scale(ctx, 1)).await?;
    nameless.refused(422, "Invalid", "fieldManager: Required value")?;
    let wrong = apply(ctx, &through, "bob", &workload("Deployment")).await?;
    wrong.refused(400, "BadRequest", "Incorrect version specified in apply patch")?;
    let negative = apply(ctx, &through, "bob&force=true", &scale(ctx, -1)).await?;
    negative.invalid("spec.replicas", "FieldValueInvalid", "greater than or equal to 0")?;
    let mut other = scale(ctx, 1);
    other["metadata"]["name"] = "other".into();
    apply(ctx, &through, "bob", &other).await?.refused(400, "BadRequest", "does not match")?;
    let mut text = scale(ctx, 1);
    text["spec"]["replicas"] = "many".into();
    ensure!(matches!(apply(ctx, &through, "bob", &text).await?.code, 400 | 500));
    let mut unknown = scale(ctx, 1);
    unknown["spec"]["colour"] = "red".into();
    let strict = apply(ctx, &through, "bob&fieldValidation=Strict", &unknown).await?;
    ensure!(matches!(strict.code, 400 | 500) && strict.text.contains("colour"), "{strict:?}");
    let mut stale = scale(ctx, 1);
    stale["metadata"]["resourceVersion"] = "1".into();
    let reply = apply(ctx, &through, "bob", &stale).await?;
    reply.refused(409, "Conflict", "has been modified")?;
    let mut another = scale(ctx, 1);
    another["metadata"]["uid"] = "0000".into();
    apply(ctx, &through, "bob", &another).await?.refused(409, "Conflict", "UID in precondition")?;
    let forced = ctx.merge(&format!("{through}?force=true"), &json!({})).await?;
    forced.refused(422, "Invalid", "may not be specified for non-apply patch")?;
    Ok(())
}
