//! The life of a ConfigMap: created, read, replaced, listed, deleted.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::{names, revision, text, version};

cases![
    whole_life,
    through_kube,
    not_found,
    already_exists,
    stale_update,
    other_uid,
    update_without_version,
    update_of_nothing,
    no_op_update,
    revisions_grow,
];

async fn whole_life(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let one = format!("{path}/life");
    let created = ctx.config_map("life", &json!({"a": "1"})).await?;
    ensure!(created["kind"] == "ConfigMap" && created["apiVersion"] == "v1", "{created}");
    ensure!(ctx.get(&one).await?.ok()? == created, "what was answered is what is stored");
    let list = ctx.get(&path).await?.ok()?;
    ensure!(list["kind"] == "ConfigMapList" && list["apiVersion"] == "v1", "{list}");
    ensure!(names(&list).contains(&"life"), "{list}");
    ensure!(revision(&list)? >= revision(&created)?, "{list}");
    let mut changed = created.clone();
    changed["data"] = json!({"b": "2"});
    let replaced = ctx.put(&one, &changed).await?.ok()?;
    ensure!(replaced["data"] == json!({"b": "2"}), "{replaced}");
    ensure!(revision(&replaced)? > revision(&created)?, "{replaced}");
    ensure!(replaced["metadata"]["uid"] == created["metadata"]["uid"], "{replaced}");
    let deleted = ctx.delete(&one).await?.ok()?;
    ensure!(deleted["kind"] == "Status" && deleted["status"] == "Success", "{deleted}");
    ensure!(deleted["details"]["name"] == "life", "{deleted}");
    ensure!(deleted["details"]["kind"] == "configmaps", "{deleted}");
    ensure!(deleted["details"]["uid"] == created["metadata"]["uid"], "{deleted}");
    ctx.get(&one).await?.refused(404, "NotFound", "configmaps \"life\" not found")?;
    Ok(())
}

async fn through_kube(ctx: &Ctx) -> Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), &ctx.namespace);
    let object: ConfigMap = serde_json::from_value(config_map("typed", &json!({"a": "1"})))?;
    let created = api.create(&PostParams::default(), &object).await?;
    let patch = Patch::Merge(json!({"data": {"b": "2"}}));
    let patched = api.patch("typed", &PatchParams::default(), &patch).await?;
    ensure!(patched.data.clone().unwrap_or_default().len() == 2, "{patched:?}");
    let refused = api.replace("typed", &PostParams::default(), &created).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(s)) if s.is_conflict()), "{refused:?}");
    let list = api.list(&ListParams::default().fields("metadata.name=typed")).await?;
    ensure!(list.items.len() == 1, "{list:?}");
    let deleted = api.delete("typed", &DeleteParams::default()).await?;
    ensure!(deleted.is_right(), "a Status, not an object: {deleted:?}");
    ensure!(api.get_opt("typed").await?.is_none(), "it is gone");
    Ok(())
}

async fn not_found(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/absent", ctx.core("configmaps"));
    let object = config_map("absent", &json!({}));
    for reply in [
        ctx.get(&path).await?,
        ctx.delete(&path).await?,
        ctx.merge(&path, &json!({})).await?,
        ctx.put(&path, &object).await?,
    ] {
        let status = reply.refused(404, "NotFound", "configmaps \"absent\" not found")?;
        ensure!(status["details"] == json!({"name": "absent", "kind": "configmaps"}), "{status}");
    }
    let path = format!("{}/absent", ctx.path("apps/v1", "deployments"));
    let status =
        ctx.get(&path).await?.refused(404, "NotFound", "deployments.apps \"absent\" not found")?;
    ensure!(status["details"]["group"] == "apps", "{status}");
    Ok(())
}

async fn already_exists(ctx: &Ctx) -> Result<()> {
    ctx.config_map("twice", &json!({})).await?;
    let reply = ctx.post(&ctx.core("configmaps"), &config_map("twice", &json!({}))).await?;
    let status = reply.refused(409, "AlreadyExists", "configmaps \"twice\" already exists")?;
    ensure!(status["details"] == json!({"name": "twice", "kind": "configmaps"}), "{status}");
    Ok(())
}

async fn stale_update(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/stale", ctx.core("configmaps"));
    let mut old = ctx.config_map("stale", &json!({})).await?;
    ctx.merge(&path, &json!({"data": {"by": "somebody else"}})).await?.ok()?;
    old["data"] = json!({"by": "me"});
    let fragment = "the object has been modified; please apply your changes to the latest version";
    let status = ctx.put(&path, &old).await?.refused(409, "Conflict", fragment)?;
    ensure!(status["details"]["kind"] == "configmaps", "{status}");
    ensure!(ctx.get(&path).await?.ok()?["data"]["by"] == "somebody else", "nothing was written");
    // A patch can name a revision as well.
    let patch = json!({"metadata": {"resourceVersion": version(&old)?}, "data": {"by": "me"}});
    ctx.merge(&path, &patch).await?.refused(409, "Conflict", fragment)?;
    Ok(())
}

async fn other_uid(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/uid", ctx.core("configmaps"));
    let mut object = ctx.config_map("uid", &json!({})).await?;
    object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000".into();
    ctx.put(&path, &object).await?.refused(409, "Conflict", "UID in precondition")?;
    Ok(())
}

async fn update_without_version(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/bare", ctx.core("configmaps"));
    let created = ctx.config_map("bare", &json!({"a": "1"})).await?;
    let replaced = ctx.put(&path, &config_map("bare", &json!({"a": "2"}))).await?.ok()?;
    ensure!(replaced["data"]["a"] == "2", "ConfigMaps may be replaced unseen: {replaced}");
    let kept = ["uid", "creationTimestamp"]
        .iter()
        .all(|f| replaced["metadata"][f] == created["metadata"][f]);
    ensure!(kept, "{replaced}");
    Ok(())
}

async fn update_of_nothing(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/other", ctx.core("configmaps"));
    let reply = ctx.put(&path, &config_map("name", &json!({}))).await?;
    let fragment = "the name of the object (name) does not match the name on the URL (other)";
    reply.refused(400, "BadRequest", fragment)?;
    Ok(())
}

async fn no_op_update(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/same", ctx.core("configmaps"));
    let created = ctx.config_map("same", &json!({"a": "1"})).await?;
    let put = ctx.put(&path, &created).await?.ok()?;
    ensure!(version(&put)? == version(&created)?, "a PUT that changes nothing: {put}");
    let patched = ctx.merge(&path, &json!({"data": {"a": "1"}})).await?.ok()?;
    ensure!(version(&patched)? == version(&created)?, "a patch that changes nothing: {patched}");
    Ok(())
}

async fn revisions_grow(ctx: &Ctx) -> Result<()> {
    let mut last = 0;
    for name in ["one", "two", "three"] {
        let created = ctx.config_map(name, &json!({})).await?;
        ensure!(revision(&created)? > last, "{created} after {last}");
        last = revision(&created)?;
        let digits = text(&created, "/metadata/resourceVersion")?;
        digits.parse::<u64>().context("revisions are decimal numbers")?;
    }
    Ok(())
}
