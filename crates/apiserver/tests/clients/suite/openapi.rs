//! OpenAPI v3: without it kubectl neither creates nor applies.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::cases;
use crate::ctx::{Ctx, JSON};

cases![index_and_document, of_every_group];

async fn document(ctx: &Ctx, api: &str) -> Result<Value> {
    let index = ctx.get_as("/openapi/v3", JSON).await?.ok()?;
    let url = index["paths"][api]["serverRelativeURL"].as_str();
    let url = url.with_context(|| format!("{api} is not in the index: {index}"))?;
    ensure!(url.starts_with(&format!("/openapi/v3/{api}?hash=")), "{url}");
    ctx.get_as(url, JSON).await?.ok()
}

async fn index_and_document(ctx: &Ctx) -> Result<()> {
    let document = document(ctx, "api/v1").await?;
    ensure!(
        document["openapi"].as_str().is_some_and(|v| v.starts_with("3.")),
        "{}",
        document["openapi"]
    );
    let path = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"];
    let patch = &path["patch"];
    ensure!(patch["x-kubernetes-group-version-kind"]["kind"] == "ConfigMap", "{patch}");
    ensure!(patch["x-kubernetes-group-version-kind"]["version"] == "v1", "{patch}");
    ensure!(patch["x-kubernetes-action"] == "patch", "{patch}");
    let parameters = patch["parameters"].as_array().context("parameters of PATCH")?;
    for name in ["fieldValidation", "dryRun", "fieldManager", "force"] {
        let found = parameters.iter().any(|p| p["name"] == name && p["in"] == "query");
        ensure!(found, "PATCH lacks {name}: {parameters:?}");
    }
    for method in ["get", "put", "delete"] {
        ensure!(path[method].is_object(), "no {method} in {path}");
    }
    let schema = &document["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"];
    ensure!(schema["properties"]["data"]["type"] == "object", "{schema}");
    ensure!(schema["x-kubernetes-group-version-kind"][0]["kind"] == "ConfigMap", "{schema}");
    Ok(())
}

async fn of_every_group(ctx: &Ctx) -> Result<()> {
    for (api, schema) in [
        ("apis/apps/v1", "io.k8s.api.apps.v1.Deployment"),
        ("apis/coordination.k8s.io/v1", "io.k8s.api.coordination.v1.Lease"),
        (
            "apis/apiextensions.k8s.io/v1",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        ),
    ] {
        let document = document(ctx, api).await?;
        ensure!(document["components"]["schemas"][schema].is_object(), "{api} lacks {schema}");
    }
    Ok(())
}
