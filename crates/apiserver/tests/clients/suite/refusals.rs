//! Requests that make no sense, and the Status each of them gets.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::json;

use super::cases;
use crate::ctx::{Ctx, JSON, config_map};

cases![
    other_namespace,
    missing_namespace,
    wrong_kind,
    wrong_version,
    unknown_path,
    wrong_method,
    content_type,
    patch_content_type,
    accept,
    label_selectors,
    field_selectors,
    unsupported_fields,
    bad_numbers,
    bad_options,
];

async fn other_namespace(ctx: &Ctx) -> Result<()> {
    let mut object = config_map("elsewhere", &json!({}));
    object["metadata"]["namespace"] = "default".into();
    let fragment =
        "the namespace of the provided object does not match the namespace sent on the request";
    ctx.post(&ctx.core("configmaps"), &object).await?.refused(400, "BadRequest", fragment)?;
    Ok(())
}

async fn missing_namespace(ctx: &Ctx) -> Result<()> {
    let absent = format!("{}-absent", ctx.namespace);
    let path = format!("/api/v1/namespaces/{absent}/configmaps");
    let reply = ctx.post(&path, &config_map("homeless", &json!({}))).await?;
    let status = reply.refused(404, "NotFound", &format!("namespaces {absent:?} not found"))?;
    ensure!(status["details"]["kind"] == "namespaces", "{status}");
    // Reading there finds nothing, which is no error.
    let list = ctx.get(&path).await?.ok()?;
    ensure!(list["items"] == json!([]), "{list}");
    Ok(())
}

async fn wrong_kind(ctx: &Ctx) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    ctx.post(&ctx.core("configmaps"), &body).await?.refused(400, "BadRequest", "ConfigMap")?;
    Ok(())
}

async fn wrong_version(ctx: &Ctx) -> Result<()> {
    let body = json!({"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    ctx.post(&ctx.core("configmaps"), &body).await?.refused(400, "BadRequest", "apps/v1")?;
    Ok(())
}

async fn unknown_path(ctx: &Ctx) -> Result<()> {
    for path in [ctx.core("nonsense"), format!("{}/x/nonsense", ctx.core("configmaps"))] {
        let fragment = "the server could not find the requested resource";
        ctx.get(&path).await?.refused(404, "NotFound", fragment)?;
    }
    Ok(())
}

async fn wrong_method(ctx: &Ctx) -> Result<()> {
    let collection = ctx.core("configmaps");
    let one = format!("{collection}/x");
    let fragment = "the server does not allow this method on the requested resource";
    for (method, path) in
        [(Method::POST, &one), (Method::PUT, &collection), (Method::PATCH, &collection)]
    {
        let media = if method == Method::PATCH { crate::ctx::MERGE_PATCH } else { JSON };
        let call = ctx.call(method, path).body(media, config_map("x", &json!({})).to_string());
        call.send().await?.refused(405, "MethodNotAllowed", fragment)?;
    }
    let namespaces = ctx.delete("/api/v1/namespaces").await?;
    namespaces.refused(405, "MethodNotAllowed", fragment)?;
    Ok(())
}

async fn content_type(ctx: &Ctx) -> Result<()> {
    let call = ctx.call(Method::POST, &ctx.core("configmaps"));
    let call = call.body("text/plain", config_map("x", &json!({})).to_string());
    let fragment = "accepted media types include: application/json";
    call.send().await?.refused(415, "UnsupportedMediaType", fragment)?;
    Ok(())
}

async fn patch_content_type(ctx: &Ctx) -> Result<()> {
    ctx.config_map("patched", &json!({})).await?;
    let path = format!("{}/patched", ctx.core("configmaps"));
    let reply = ctx.patch(&path, JSON, &json!({"data": {"a": "b"}})).await?;
    reply.refused(415, "UnsupportedMediaType", "")?;
    Ok(())
}

async fn accept(ctx: &Ctx) -> Result<()> {
    for media in ["image/png", "application/json;as=Nonsense;g=meta.k8s.io;v=v1"] {
        let reply = ctx.get_as(&ctx.core("configmaps"), media).await?;
        reply.refused(406, "NotAcceptable", "")?;
    }
    // The last resort of a list of wishes counts.
    let reply = ctx.get_as(&ctx.core("configmaps"), "image/png, */*;q=0.1").await?;
    reply.ok()?;
    Ok(())
}

async fn label_selectors(ctx: &Ctx) -> Result<()> {
    for selector in ["a%20in%20(", "a%3D%3D%3Db", "a%20b", "%2Ca", "a%20in%20b", "-a%3Db"] {
        let path = format!("{}?labelSelector={selector}", ctx.core("configmaps"));
        ctx.get(&path).await?.refused(400, "BadRequest", "")?;
        ctx.delete(&path).await?.refused(400, "BadRequest", "")?;
    }
    Ok(())
}

async fn field_selectors(ctx: &Ctx) -> Result<()> {
    let path = format!("{}?fieldSelector=metadata.name", ctx.core("configmaps"));
    ctx.get(&path).await?.refused(400, "BadRequest", "metadata.name")?;
    Ok(())
}

async fn unsupported_fields(ctx: &Ctx) -> Result<()> {
    for plural in ["configmaps", "secrets", "pods", "services"] {
        let path = format!("{}?fieldSelector=data.x%3Dy", ctx.core(plural));
        ctx.get(&path).await?.refused(400, "BadRequest", "data.x")?;
        let watch = format!("{path}&watch=true");
        ctx.get(&watch).await?.refused(400, "BadRequest", "data.x")?;
    }
    Ok(())
}

async fn bad_numbers(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    ctx.get(&format!("{path}?limit=x")).await?.refused(400, "BadRequest", "")?;
    ctx.get(&format!("{path}?timeoutSeconds=x")).await?.refused(400, "BadRequest", "")?;
    // A limit below zero is none.
    ctx.get(&format!("{path}?limit=-1")).await?.ok()?;
    // Upstream answers 400 or, where its cache parses the number, 500.
    let reply = ctx.get(&format!("{path}?resourceVersion=abc")).await?;
    ensure!(matches!(reply.code, 400 | 500), "{reply:?}");
    ensure!(reply.text.contains("Invalid value: \\\"abc\\\""), "{reply:?}");
    Ok(())
}

async fn bad_options(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let object = config_map("options", &json!({}));
    let reply = ctx.post(&format!("{path}?dryRun=Some"), &object).await?;
    reply.invalid("dryRun", "FieldValueNotSupported", "supported values: \"All\"")?;
    let reply = ctx.post(&format!("{path}?fieldValidation=Maybe"), &object).await?;
    reply.invalid(
        "fieldValidation",
        "FieldValueNotSupported",
        "fieldValidation: Unsupported value",
    )?;
    let field = "resourceVersionMatch";
    let reply = ctx.get(&format!("{path}?resourceVersionMatch=Exact")).await?;
    let fragment = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    reply.invalid(field, "FieldValueForbidden", fragment)?;
    let reply =
        ctx.get(&format!("{path}?resourceVersionMatch=Sometimes&resourceVersion=1")).await?;
    reply.invalid(field, "FieldValueNotSupported", "Unsupported value")?;
    let reply = ctx.get(&format!("{path}?resourceVersionMatch=Exact&resourceVersion=0")).await?;
    reply.invalid(field, "FieldValueForbidden", "is forbidden for resourceVersion \"0\"")?;
    let options = json!({"propagationPolicy": "Sideways"});
    let reply = ctx.delete_with(&format!("{path}/x"), &options).await?;
    reply.invalid("propagationPolicy", "FieldValueNotSupported", "Unsupported value")?;
    Ok(())
}
