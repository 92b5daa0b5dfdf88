//! What the server says it serves: version, health, groups, resources.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use kube::core::GroupVersionKind;
use kube::discovery::{Discovery, Scope};
use serde_json::Value;

use super::cases;
use crate::ctx::{Ctx, JSON};
use crate::reply::text;

cases![version, health, legacy, aggregated, aggregated_etag, unknown_group, through_kube];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

async fn version(ctx: &Ctx) -> Result<()> {
    let info = ctx.get("/version").await?.ok()?;
    ensure!(info["major"] == "1", "{info}");
    let minor: u32 = text(&info, "/minor")?.trim_end_matches('+').parse()?;
    ensure!((31..100).contains(&minor), "{info}");
    ensure!(text(&info, "/gitVersion")?.starts_with(&format!("v1.{minor}.")), "{info}");
    for field in ["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"] {
        ensure!(info[field].is_string(), "{field} is missing: {info}");
    }
    Ok(())
}

async fn health(ctx: &Ctx) -> Result<()> {
    for path in ["/readyz", "/livez", "/healthz", "/readyz/ping"] {
        let reply = ctx.get(path).await?;
        ensure!(reply.code == 200 && reply.text == "ok", "{path}: {reply:?}");
        ensure!(reply.header("content-type").starts_with("text/plain"), "{path}: {reply:?}");
    }
    let verbose = ctx.get("/readyz?verbose").await?;
    ensure!(verbose.text.contains("[+]ping ok"), "{verbose:?}");
    ensure!(verbose.text.contains("readyz check passed"), "{verbose:?}");
    Ok(())
}

fn find<'a>(list: &'a Value, key: &str, name: &str) -> Result<&'a Value> {
    let items = list.as_array().context("a list")?;
    items.iter().find(|item| item[key] == name).with_context(|| format!("no {name} in {list}"))
}

async fn legacy(ctx: &Ctx) -> Result<()> {
    let core = ctx.get_as("/api", JSON).await?.ok()?;
    ensure!(
        core["kind"] == "APIVersions" && core["versions"] == serde_json::json!(["v1"]),
        "{core}"
    );
    let groups = ctx.get_as("/apis", JSON).await?.ok()?;
    ensure!(groups["kind"] == "APIGroupList", "{groups}");
    let apps = find(&groups["groups"], "name", "apps")?;
    ensure!(apps["preferredVersion"]["groupVersion"] == "apps/v1", "{apps}");
    let group = ctx.get_as("/apis/apps", JSON).await?.ok()?;
    ensure!(group["kind"] == "APIGroup" && group["name"] == "apps", "{group}");
    let resources = ctx.get_as("/apis/apps/v1", JSON).await?.ok()?;
    ensure!(resources["kind"] == "APIResourceList", "{resources}");
    ensure!(resources["groupVersion"] == "apps/v1", "{resources}");
    let deployments = find(&resources["resources"], "name", "deployments")?;
    ensure!(
        deployments["kind"] == "Deployment" && deployments["namespaced"] == true,
        "{deployments}"
    );
    ensure!(deployments["singularName"] == "deployment", "{deployments}");
    ensure!(deployments["shortNames"] == serde_json::json!(["deploy"]), "{deployments}");
    ensure!(deployments["categories"] == serde_json::json!(["all"]), "{deployments}");
    ensure!(deployments["verbs"] == serde_json::json!(VERBS), "{deployments}");
    let status = find(&resources["resources"], "name", "deployments/status")?;
    ensure!(status["kind"] == "Deployment", "{status}");
    ensure!(status["verbs"] == serde_json::json!(["get", "patch", "update"]), "{status}");
    let scale = find(&resources["resources"], "name", "deployments/scale")?;
    ensure!(scale["kind"] == "Scale" && scale["group"] == "autoscaling", "{scale}");
    ensure!(scale["version"] == "v1", "{scale}");
    let core = ctx.get_as("/api/v1", JSON).await?.ok()?;
    let namespaces = find(&core["resources"], "name", "namespaces")?;
    ensure!(namespaces["namespaced"] == false, "{namespaces}");
    let verbs = namespaces["verbs"].as_array().context("verbs")?;
    ensure!(!verbs.contains(&"deletecollection".into()), "namespaces go one by one: {namespaces}");
    Ok(())
}

async fn aggregated(ctx: &Ctx) -> Result<()> {
    for (path, group, version, plural) in
        [("/api", "", "v1", "configmaps"), ("/apis", "apps", "v1", "deployments")]
    {
        let reply = ctx.get_as(path, AGGREGATED).await?;
        ensure!(
            reply.header("content-type").contains("as=APIGroupDiscoveryList"),
            "{:?}",
            reply.headers
        );
        let list = reply.ok()?;
        ensure!(list["kind"] == "APIGroupDiscoveryList", "{path}: {}", list["kind"]);
        ensure!(list["apiVersion"] == "apidiscovery.k8s.io/v2", "{path}: {}", list["apiVersion"]);
        let items = list["items"].as_array().context("items")?;
        let found =
            items.iter().find(|i| i["metadata"]["name"].as_str().unwrap_or_default() == group);
        let versions = &found.with_context(|| format!("no group {group:?}"))?["versions"];
        let resources = &find(versions, "version", version)?["resources"];
        let resource = find(resources, "resource", plural)?;
        ensure!(resource["scope"] == "Namespaced", "{resource}");
        ensure!(resource["verbs"] == serde_json::json!(VERBS), "{resource}");
        ensure!(resource["singularResource"].is_string(), "{resource}");
        ensure!(resource["responseKind"]["kind"].is_string(), "{resource}");
        if plural == "deployments" {
            let scale = find(&resource["subresources"], "subresource", "scale")?;
            ensure!(scale["responseKind"]["kind"] == "Scale", "{scale}");
            ensure!(scale["responseKind"]["group"] == "autoscaling", "{scale}");
        }
    }
    Ok(())
}

async fn aggregated_etag(ctx: &Ctx) -> Result<()> {
    // Other cases add CRDs all the time, so the tag may change between the two requests.
    ctx.eventually("304 for a known tag", async || {
        let first = ctx.get_as("/api", AGGREGATED).await?;
        let tag = first.header("etag").to_owned();
        ensure!(!tag.is_empty(), "no ETag: {:?}", first.headers);
        let again = ctx.call(Method::GET, "/api").accept(AGGREGATED).header("if-none-match", &tag);
        let again = again.send().await?;
        ensure!(again.code == 200 || again.text.is_empty(), "a 304 has no body");
        Ok((again.code == 304).then_some(()))
    })
    .await
}

async fn unknown_group(ctx: &Ctx) -> Result<()> {
    for path in ["/apis/no.such.group", "/apis/apps/v9", "/apis/no.such.group/v1/things"] {
        let reply = ctx.get(path).await?;
        ensure!(reply.code == 404, "{path}: {reply:?}");
    }
    Ok(())
}

async fn through_kube(ctx: &Ctx) -> Result<()> {
    let info = ctx.client.apiserver_version().await?;
    ensure!(info.major == "1", "{info:?}");
    for (label, found) in [
        ("legacy", Discovery::new(ctx.client.clone()).filter(&["", "apps"]).run().await?),
        (
            "aggregated",
            Discovery::new(ctx.client.clone()).filter(&["", "apps"]).run_aggregated().await?,
        ),
    ] {
        let gvk = GroupVersionKind::gvk("apps", "v1", "Deployment");
        let (resource, capabilities) = found.resolve_gvk(&gvk).context(label)?;
        ensure!(resource.plural == "deployments", "{label}: {resource:?}");
        ensure!(capabilities.scope == Scope::Namespaced, "{label}: {capabilities:?}");
        ensure!(capabilities.supports_operation("watch"), "{label}: {capabilities:?}");
        let gvk = GroupVersionKind::gvk("", "v1", "Node");
        let (_, capabilities) = found.resolve_gvk(&gvk).context(label)?;
        ensure!(capabilities.scope == Scope::Cluster, "{label}: {capabilities:?}");
    }
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let (resource, _) = kube::discovery::pinned_kind(&ctx.client, &gvk).await?;
    ensure!(resource.plural == "configmaps", "{resource:?}");
    Ok(())
}
