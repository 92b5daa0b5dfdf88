//! Metadata: what the server sets, what it ignores, what it refuses.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, config_map};
use crate::reply::text;

cases![
    set_by_the_server,
    sent_by_the_client,
    version_on_create,
    generated_names,
    long_generated_names,
    bad_name,
    missing_name,
    bad_labels,
    bad_owners,
    unchangeable,
];

async fn set_by_the_server(ctx: &Ctx) -> Result<()> {
    let object = ctx.config_map("set", &json!({})).await?;
    let uid = text(&object, "/metadata/uid")?;
    ensure!(uid.len() == 36 && uid.split('-').count() == 5, "{uid}");
    let created = text(&object, "/metadata/creationTimestamp")?;
    let moment: jiff::Timestamp = created.parse()?;
    ensure!(created.len() == 20 && created.ends_with('Z'), "whole seconds, UTC: {created}");
    let age = jiff::Timestamp::now().duration_since(moment).as_secs();
    ensure!(age.abs() < 600, "created {age} s ago");
    ensure!(object["metadata"]["namespace"] == ctx.namespace.as_str(), "{object}");
    ensure!(object["metadata"]["generation"].is_null(), "ConfigMaps have no generation: {object}");
    let other = ctx.config_map("other", &json!({})).await?;
    ensure!(text(&other, "/metadata/uid")? != uid, "uids differ");
    Ok(())
}

async fn sent_by_the_client(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("sent", &json!({}));
    let uid = "00000000-0000-4000-8000-000000000000";
    object["metadata"]["uid"] = uid.into();
    object["metadata"]["creationTimestamp"] = "2001-02-03T04:05:06Z".into();
    object["metadata"]["deletionTimestamp"] = "2001-02-03T04:05:06Z".into();
    object["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    object["metadata"]["selfLink"] = "/somewhere".into();
    let created = ctx.post(&ctx.core("configmaps"), &object).await?.created()?;
    let meta = &created["metadata"];
    ensure!(meta["uid"] != uid, "{meta}");
    ensure!(meta["creationTimestamp"] != "2001-02-03T04:05:06Z", "{meta}");
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        ensure!(meta[field].is_null(), "{field} was kept: {meta}");
    }
    Ok(())
}

async fn version_on_create(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("versioned", &json!({}));
    object["metadata"]["resourceVersion"] = "1".into();
    let reply = ctx.post(&ctx.core("configmaps"), &object).await?;
    // Upstream lets this one through as 500 without a reason; 400 is what it means.
    ensure!(matches!(reply.code, 400 | 500), "{reply:?}");
    let message = reply.json()?["message"].clone();
    ensure!(message == "resourceVersion should not be set on objects to be created", "{message}");
    Ok(())
}

fn generated(prefix: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}})
}

async fn generated_names(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let mut seen = Vec::new();
    for _ in 0..10 {
        let created = ctx.post(&path, &generated("made-")).await?.created()?;
        let name = text(&created, "/metadata/name")?.to_owned();
        ensure!(name.starts_with("made-") && name.len() == 10, "{name}");
        ensure!(created["metadata"]["generateName"] == "made-", "{created}");
        ensure!(ctx.get(&format!("{path}/{name}")).await?.ok()? == created, "{name}");
        ensure!(!seen.contains(&name), "{name} came twice");
        seen.push(name);
    }
    // A name that is given wins.
    let mut both = generated("made-");
    both["metadata"]["name"] = "given".into();
    let created = ctx.post(&path, &both).await?.created()?;
    ensure!(created["metadata"]["name"] == "given", "{created}");
    Ok(())
}

async fn long_generated_names(ctx: &Ctx) -> Result<()> {
    let prefix = "a".repeat(100);
    let created = ctx.post(&ctx.core("configmaps"), &generated(&prefix)).await?.created()?;
    let name = text(&created, "/metadata/name")?;
    ensure!(name.len() == 63, "58 characters of the prefix and 5 drawn: {name}");
    Ok(())
}

async fn bad_name(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for name in ["Upper", "under_score", "-dash", "dot.", "a b", &"x".repeat(254)] {
        let reply = ctx.post(&path, &config_map(name, &json!({}))).await?;
        let status =
            reply.invalid("metadata.name", "FieldValueInvalid", "metadata.name: Invalid value")?;
        let message = text(&status, "/message")?;
        ensure!(message.starts_with(&format!("ConfigMap {name:?} is invalid: ")), "{message}");
        ensure!(
            status["details"]["name"] == name && status["details"]["kind"] == "ConfigMap",
            "{status}"
        );
    }
    let reply = ctx.post(&path, &config_map("Upper", &json!({}))).await?;
    let wording =
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters";
    reply.refused(422, "Invalid", wording)?;
    Ok(())
}

async fn missing_name(ctx: &Ctx) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let reply = ctx.post(&ctx.core("configmaps"), &body).await?;
    let wording = "metadata.name: Required value: name or generateName is required";
    reply.invalid("metadata.name", "FieldValueRequired", wording)?;
    Ok(())
}

async fn bad_labels(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    for (field, labels) in [
        ("metadata.labels", json!({"a b": "c"})),
        ("metadata.labels", json!({"a": "c d"})),
        ("metadata.labels", json!({"a": "x".repeat(64)})),
        ("metadata.annotations", json!({"/a": "anything goes"})),
    ] {
        let mut object = config_map("labelled", &json!({}));
        object["metadata"][field.trim_start_matches("metadata.")] = labels;
        let reply = ctx.post(&path, &object).await?;
        reply.invalid(field, "FieldValueInvalid", &format!("{field}: Invalid value"))?;
    }
    let mut object = config_map("labelled", &json!({}));
    object["metadata"]["annotations"] = json!({"big": "x".repeat(257 * 1024)});
    let reply = ctx.post(&path, &object).await?;
    reply.invalid("metadata.annotations", "FieldValueTooLong", "metadata.annotations: Too long")?;
    Ok(())
}

async fn bad_owners(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("owned", &json!({}));
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": ""}]);
    let reply = ctx.post(&ctx.core("configmaps"), &object).await?;
    reply.invalid("metadata.ownerReferences.uid", "FieldValueInvalid", "must not be empty")?;
    Ok(())
}

/// What only the server decides is silently kept, or refused, as upstream does.
async fn unchangeable(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/fixed", ctx.core("configmaps"));
    let created = ctx.config_map("fixed", &json!({})).await?;
    // Left out, both are filled in.
    let patch = json!({"metadata": {"creationTimestamp": null, "uid": null, "labels": {"a": "b"}}});
    let patched = ctx.merge(&path, &patch).await?.ok()?;
    ensure!(patched["metadata"]["uid"] == created["metadata"]["uid"], "{patched}");
    let (was, is) =
        (&created["metadata"]["creationTimestamp"], &patched["metadata"]["creationTimestamp"]);
    ensure!(was == is, "{patched}");
    // Another name or namespace is another object.
    let fragment = "does not match the name on the URL";
    let patch = json!({"metadata": {"name": "renamed"}});
    ctx.merge(&path, &patch).await?.refused(400, "BadRequest", fragment)?;
    let patch = json!({"metadata": {"namespace": "elsewhere"}});
    let fragment = "the namespace of the provided object does not match";
    ctx.merge(&path, &patch).await?.refused(400, "BadRequest", fragment)?;
    Ok(())
}
