//! Custom objects: generation, status, scale, and the rules that differ from built-in kinds.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use super::crds::{group, install, widget, widgets};
use crate::ctx::{Ctx, JSON_PATCH, STRATEGIC};
use crate::reply::{revision, version};

cases![
    generation,
    generation_without_status,
    status_apart,
    finalizers,
    update_needs_version,
    no_strategic_patch,
    create_by_put,
    scale,
    cluster_scoped,
    kind_is_demanded,
];

fn with_status(ctx: &Ctx) -> Value {
    let properties = json!({
        "size": {"type": "integer"}, "replicas": {"type": "integer"}, "selector": {"type": "string"},
    });
    let mut crd = widgets(ctx, &properties);
    crd["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    });
    crd
}

fn generation_of(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(-1)
}

async fn generation(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &with_status(ctx)).await?;
    let one = format!("{path}/counted");
    let created = ctx.post(&path, &widget(ctx, "counted", &json!({"size": 1}))).await?.created()?;
    ensure!(generation_of(&created) == 1, "{created}");
    let labelled = ctx.merge(&one, &json!({"metadata": {"labels": {"a": "b"}}})).await?.ok()?;
    ensure!(generation_of(&labelled) == 1, "metadata is no wish: {labelled}");
    let reported =
        ctx.merge(&format!("{one}/status"), &json!({"status": {"replicas": 1}})).await?.ok()?;
    ensure!(generation_of(&reported) == 1, "status is no wish: {reported}");
    let changed = ctx.merge(&one, &json!({"spec": {"size": 2}})).await?.ok()?;
    ensure!(generation_of(&changed) == 2, "{changed}");
    let mut forged = changed.clone();
    forged["metadata"]["generation"] = 77.into();
    let kept = ctx.put(&one, &forged).await?.ok()?;
    ensure!(generation_of(&kept) == 2, "only the server counts: {kept}");
    Ok(())
}

async fn generation_without_status(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    ctx.post(&path, &widget(ctx, "plain", &json!({}))).await?.created()?;
    let one = format!("{path}/plain");
    let changed = ctx.merge(&one, &json!({"status": {"a": "b"}})).await?.ok()?;
    ensure!(changed["status"]["a"] == "b", "status is a field like any other: {changed}");
    ensure!(generation_of(&changed) == 2, "{changed}");
    let reply = ctx.get(&format!("{one}/status")).await?;
    ensure!(reply.code == 404, "{reply:?}");
    Ok(())
}

async fn status_apart(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &with_status(ctx)).await?;
    let one = format!("{path}/apart");
    let status = format!("{one}/status");
    let mut object = widget(ctx, "apart", &json!({"size": 1}));
    object["status"] = json!({"forged": "yes"});
    let created = ctx.post(&path, &object).await?.created()?;
    ensure!(created["status"].is_null(), "dropped on create: {created}");
    // The status endpoint writes nothing else.
    let mut report = created.clone();
    report["status"] = json!({"replicas": 2});
    report["spec"]["size"] = 99.into();
    report["metadata"]["labels"] = json!({"a": "b"});
    let reported = ctx.put(&status, &report).await?.ok()?;
    ensure!(reported["status"] == json!({"replicas": 2}), "{reported}");
    ensure!(reported["spec"]["size"] == 1, "{reported}");
    ensure!(reported["metadata"]["labels"].is_null(), "{reported}");
    ensure!(revision(&reported)? > revision(&created)?, "{reported}");
    // The main endpoint writes everything else.
    let mut wish = reported.clone();
    wish["status"] = json!({"replicas": 77});
    wish["spec"]["size"] = 2.into();
    let wished = ctx.put(&one, &wish).await?.ok()?;
    ensure!(wished["status"] == json!({"replicas": 2}) && wished["spec"]["size"] == 2, "{wished}");
    let patched = ctx.merge(&one, &json!({"status": null})).await?.ok()?;
    ensure!(version(&patched)? == version(&wished)?, "nothing to write: {patched}");
    let patch = json!([{"op": "replace", "path": "/status/replicas", "value": 3}]);
    let patched = ctx.patch(&status, JSON_PATCH, &patch).await?.ok()?;
    ensure!(patched["status"]["replicas"] == 3, "{patched}");
    ensure!(ctx.get(&status).await?.ok()? == patched, "reading the subresource reads the object");
    // A stale report is refused.
    ctx.put(&status, &report).await?.refused(409, "Conflict", "the object has been modified")?;
    Ok(())
}

async fn finalizers(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &with_status(ctx)).await?;
    let one = format!("{path}/held");
    let mut object = widget(ctx, "held", &json!({"size": 1}));
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    ctx.post(&path, &object).await?.created()?;
    let marked = ctx.delete(&one).await?.ok()?;
    ensure!(generation_of(&marked) == 2, "a deletion is a wish: {marked}");
    ctx.delete(&one).await?.ok()?;
    let again = ctx.get(&one).await?.ok()?;
    ensure!(generation_of(&again) == 2, "once: {again}");
    ctx.merge(&format!("{one}/status"), &json!({"status": {"a": "b"}})).await?.ok()?;
    ctx.merge(&one, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ctx.get(&one).await?.refused(
        404,
        "NotFound",
        &format!("widgets.{} \"held\" not found", group(ctx)),
    )?;
    Ok(())
}

async fn update_needs_version(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    let object = widget(ctx, "bare", &json!({}));
    ctx.post(&path, &object).await?.created()?;
    let reply = ctx.put(&format!("{path}/bare"), &object).await?;
    let wording = "must be specified for an update";
    reply.invalid("metadata.resourceVersion", "FieldValueInvalid", wording)?;
    Ok(())
}

async fn no_strategic_patch(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    ctx.post(&path, &widget(ctx, "one", &json!({}))).await?.created()?;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let reply = ctx.patch(&format!("{path}/one"), STRATEGIC, &patch).await?;
    reply.refused(415, "UnsupportedMediaType", "application/merge-patch+json")?;
    Ok(())
}

async fn create_by_put(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    let reply = ctx.put(&format!("{path}/absent"), &widget(ctx, "absent", &json!({}))).await?;
    reply.refused(404, "NotFound", "\"absent\" not found")?;
    Ok(())
}

async fn scale(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &with_status(ctx)).await?;
    let one = format!("{path}/scaled");
    let created = ctx
        .post(&path, &widget(ctx, "scaled", &json!({"replicas": 2, "size": 9})))
        .await?
        .created()?;
    let report = json!({"status": {"replicas": 1, "selector": "app=x"}});
    ctx.merge(&format!("{one}/status"), &report).await?.ok()?;
    let scale = ctx.get(&format!("{one}/scale")).await?.ok()?;
    ensure!(scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1", "{scale}");
    ensure!(scale["spec"] == json!({"replicas": 2}), "{scale}");
    ensure!(scale["status"] == json!({"replicas": 1, "selector": "app=x"}), "{scale}");
    ensure!(scale["metadata"]["uid"] == created["metadata"]["uid"], "{scale}");
    ensure!(scale["metadata"]["name"] == "scaled", "{scale}");
    let patched =
        ctx.merge(&format!("{one}/scale"), &json!({"spec": {"replicas": 5}})).await?.ok()?;
    ensure!(patched["kind"] == "Scale" && patched["spec"]["replicas"] == 5, "{patched}");
    let object = ctx.get(&one).await?.ok()?;
    ensure!(object["spec"] == json!({"replicas": 5, "size": 9}), "{object}");
    ensure!(generation_of(&object) == 2 && version(&object)? == version(&patched)?, "{object}");
    let mut wish = patched.clone();
    wish["spec"]["replicas"] = 1.into();
    ctx.put(&format!("{one}/scale"), &wish).await?.ok()?;
    ctx.put(&format!("{one}/scale"), &wish).await?.refused(409, "Conflict", "has been modified")?;
    let reply = ctx.merge(&format!("{one}/scale"), &json!({"spec": {"replicas": -1}})).await?;
    reply.refused(422, "Invalid", "spec.replicas")?;
    Ok(())
}

async fn cluster_scoped(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({}));
    crd["spec"]["scope"] = "Cluster".into();
    let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    ctx.post(crate::ctx::CRDS, &crd).await?.created()?;
    ctx.leaves(format!("{}/{name}", crate::ctx::CRDS));
    let path = format!("/apis/{}/v1/widgets", group(ctx));
    ctx.eventually("the kind is served", async || {
        Ok((ctx.get(&path).await?.code == 200).then_some(()))
    })
    .await?;
    let created = ctx.post(&path, &widget(ctx, "wide", &json!({}))).await?.created()?;
    ensure!(created["metadata"]["namespace"].is_null(), "{created}");
    ctx.get(&format!("{path}/wide")).await?.ok()?;
    let inside = ctx.get(&ctx.path(&format!("{}/v1", group(ctx)), "widgets")).await?;
    ensure!(inside.code == 404, "{inside:?}");
    Ok(())
}

async fn kind_is_demanded(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    for field in ["kind", "apiVersion"] {
        let mut object = widget(ctx, "bare", &json!({}));
        if let Some(fields) = object.as_object_mut() {
            fields.remove(field);
        }
        let reply = ctx.post(&path, &object).await?;
        reply.refused(400, "BadRequest", "")?;
    }
    Ok(())
}
