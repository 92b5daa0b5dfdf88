//! CRDs with several versions, and CRDs that change.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use super::crds::{group, install, widget, widgets};
use crate::ctx::{CRDS, Ctx};
use crate::reply::{names, version};

cases![two_versions, not_served, preferred, default_on_read, new_version, schema_change];

/// `widgets` in v1 (stored) and v1alpha1.
fn twice(ctx: &Ctx) -> Value {
    let mut crd = widgets(ctx, &json!({"size": {"type": "integer"}}));
    let mut alpha = crd["spec"]["versions"][0].clone();
    alpha["name"] = "v1alpha1".into();
    alpha["storage"] = false.into();
    if let Some(versions) = crd["spec"]["versions"].as_array_mut() {
        versions.push(alpha);
    }
    crd
}

async fn two_versions(ctx: &Ctx) -> Result<()> {
    let v1 = install(ctx, &twice(ctx)).await?;
    let alpha = ctx.path(&format!("{}/v1alpha1", group(ctx)), "widgets");
    let api_version = format!("{}/v1alpha1", group(ctx));
    let mut object = widget(ctx, "both", &json!({"size": 1}));
    object["apiVersion"] = api_version.as_str().into();
    let created = ctx.post(&alpha, &object).await?.created()?;
    ensure!(created["apiVersion"] == api_version.as_str(), "{created}");
    let read = ctx.get(&format!("{v1}/both")).await?.ok()?;
    ensure!(read["apiVersion"] == format!("{}/v1", group(ctx)).as_str(), "{read}");
    ensure!(read["spec"] == created["spec"] && version(&read)? == version(&created)?, "{read}");
    ensure!(read["metadata"]["uid"] == created["metadata"]["uid"], "{read}");
    let patched = ctx.merge(&format!("{v1}/both"), &json!({"spec": {"size": 2}})).await?.ok()?;
    ensure!(patched["metadata"]["generation"] == 2, "{patched}");
    let list = ctx.get(&alpha).await?.ok()?;
    ensure!(list["apiVersion"] == api_version.as_str() && names(&list) == ["both"], "{list}");
    ensure!(list["items"][0]["apiVersion"] == api_version.as_str(), "{list}");
    ensure!(list["items"][0]["spec"]["size"] == 2, "{list}");
    let query = format!("{alpha}?watch=true&resourceVersion={}", version(&created)?);
    let event = ctx.watch(&query).await?.expect("MODIFIED", "both").await?;
    ensure!(event["apiVersion"] == api_version.as_str(), "{event}");
    // The path says which version a body is in.
    ctx.post(&alpha, &widget(ctx, "other", &json!({}))).await?.refused(
        400,
        "BadRequest",
        "v1alpha1",
    )?;
    Ok(())
}

async fn not_served(ctx: &Ctx) -> Result<()> {
    let mut crd = twice(ctx);
    crd["spec"]["versions"][1]["served"] = false.into();
    install(ctx, &crd).await?;
    let reply = ctx.get(&ctx.path(&format!("{}/v1alpha1", group(ctx)), "widgets")).await?;
    ensure!(reply.code == 404, "{reply:?}");
    Ok(())
}

async fn preferred(ctx: &Ctx) -> Result<()> {
    let mut crd = twice(ctx);
    if let Some(versions) = crd["spec"]["versions"].as_array_mut() {
        versions.reverse();
    }
    install(ctx, &crd).await?;
    let group = group(ctx);
    ctx.eventually("the stable version is preferred", async || {
        let reply = ctx.get_as(&format!("/apis/{group}"), crate::ctx::JSON).await?;
        if reply.code != 200 {
            return Ok(None);
        }
        let document = reply.ok()?;
        let versions = document["versions"].as_array().cloned().unwrap_or_default();
        let order: Vec<&Value> = versions.iter().map(|v| &v["version"]).collect();
        let right = order == ["v1", "v1alpha1"] && document["preferredVersion"]["version"] == "v1";
        Ok(right.then_some(()))
    })
    .await
}

/// A default that is added later shows on objects that were stored before.
async fn default_on_read(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({"size": {"type": "integer"}}))).await?;
    let created = ctx.post(&path, &widget(ctx, "old", &json!({}))).await?.created()?;
    ensure!(created["spec"] == json!({}), "{created}");
    let crd = format!("{CRDS}/widgets.{}", group(ctx));
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/default";
    let patch = json!([{"op": "add", "path": place, "value": 7}]);
    ctx.patch(&crd, crate::ctx::JSON_PATCH, &patch).await?.ok()?;
    let read = ctx
        .eventually("the default shows", async || {
            let read = ctx.get(&format!("{path}/old")).await?.ok()?;
            Ok((read["spec"]["size"] == 7).then_some(read))
        })
        .await?;
    ensure!(version(&read)? == version(&created)?, "reading is no write: {read}");
    let list = ctx.get(&path).await?.ok()?;
    ensure!(list["items"][0]["spec"]["size"] == 7, "{list}");
    Ok(())
}

async fn new_version(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({"size": {"type": "integer"}}))).await?;
    ctx.post(&path, &widget(ctx, "first", &json!({"size": 1}))).await?.created()?;
    let crd = format!("{CRDS}/widgets.{}", group(ctx));
    let mut stored = ctx.get(&crd).await?.ok()?;
    let mut second = stored["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    stored["spec"]["versions"][0]["storage"] = false.into();
    if let Some(versions) = stored["spec"]["versions"].as_array_mut() {
        versions.push(second);
    }
    ctx.put(&crd, &stored).await?.ok()?;
    let v2 = ctx.path(&format!("{}/v2", group(ctx)), "widgets");
    ctx.eventually("v2 is served", async || Ok((ctx.get(&v2).await?.code == 200).then_some(())))
        .await?;
    let read = ctx.get(&format!("{v2}/first")).await?.ok()?;
    ensure!(read["spec"]["size"] == 1, "{read}");
    ctx.eventually("both versions may be stored", async || {
        let crd = ctx.get(&crd).await?.ok()?;
        Ok((crd["status"]["storedVersions"] == json!(["v1", "v2"])).then_some(()))
    })
    .await
}

async fn schema_change(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({"size": {"type": "integer"}}))).await?;
    let crd = format!("{CRDS}/widgets.{}", group(ctx));
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra";
    let patch = json!([{"op": "add", "path": place, "value": {"type": "string"}}]);
    ctx.patch(&crd, crate::ctx::JSON_PATCH, &patch).await?.ok()?;
    let mut attempt = 0;
    ctx.eventually("the new field is kept", async || {
        attempt += 1;
        let object = widget(ctx, &format!("w{attempt}"), &json!({"extra": "x"}));
        let created = ctx.post(&path, &object).await?.created()?;
        Ok((created["spec"]["extra"] == "x").then_some(()))
    })
    .await?;
    // The scope is for ever.
    let reply = ctx.merge(&crd, &json!({"spec": {"scope": "Cluster"}})).await?;
    reply.invalid("spec.scope", "FieldValueInvalid", "field is immutable")?;
    Ok(())
}
