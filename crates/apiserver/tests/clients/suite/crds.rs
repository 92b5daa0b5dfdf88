//! CustomResourceDefinitions: from creation to removal.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;
use kube::runtime::wait;
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{CRDS, Ctx, JSON};

cases![established, discovered, described, bad_name, not_structural, removed, name_conflict];

/// The group of this case's kinds.
pub fn group(ctx: &Ctx) -> String {
    format!("{}.example.com", ctx.namespace)
}

/// A CRD `widgets` with one version whose `spec` has these properties.
pub fn widgets(ctx: &Ctx, properties: &Value) -> Value {
    let group = group(ctx);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wdg"], "categories": ["gadgets"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": properties},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

/// Creates a CRD, waits until its objects can be listed, and returns the path of its v1 objects.
pub async fn install(ctx: &Ctx, crd: &Value) -> Result<String> {
    let name = crd["metadata"]["name"].as_str().context("name")?;
    ctx.post(CRDS, crd).await?.created()?;
    ctx.leaves(format!("{CRDS}/{name}"));
    let api: Api<CustomResourceDefinition> = Api::all(ctx.client.clone());
    let waiting = wait::await_condition(api, name, wait::conditions::is_crd_established());
    tokio::time::timeout(Duration::from_mins(1), waiting).await.context("not established")??;
    let path = ctx.path(&format!("{}/v1", group(ctx)), "widgets");
    // A cluster's handler follows the condition with a short delay.
    ctx.eventually("the kind is served", async || {
        Ok((ctx.get(&path).await?.code == 200).then_some(()))
    })
    .await?;
    Ok(path)
}

/// A Widget as a client sends it.
pub fn widget(ctx: &Ctx, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{}/v1", group(ctx)), "kind": "Widget",
        "metadata": {"name": name}, "spec": spec,
    })
}

async fn established(ctx: &Ctx) -> Result<()> {
    let crd = widgets(ctx, &json!({"size": {"type": "integer"}}));
    let path = install(ctx, &crd).await?;
    let name = format!("widgets.{}", group(ctx));
    let stored = ctx.get(&format!("{CRDS}/{name}")).await?.ok()?;
    for kind in ["NamesAccepted", "Established"] {
        let conditions = stored["status"]["conditions"].as_array().context("conditions")?;
        let found = conditions.iter().any(|c| c["type"] == kind && c["status"] == "True");
        ensure!(found, "{kind}: {conditions:?}");
    }
    ensure!(stored["status"]["storedVersions"] == json!(["v1"]), "{}", stored["status"]);
    let names = &stored["status"]["acceptedNames"];
    ensure!(names["kind"] == "Widget" && names["listKind"] == "WidgetList", "{names}");
    ensure!(names["singular"] == "widget" && names["shortNames"] == json!(["wdg"]), "{names}");
    ensure!(stored["spec"]["names"]["listKind"] == "WidgetList", "defaults: {}", stored["spec"]);
    ensure!(stored["spec"]["conversion"]["strategy"] == "None", "defaults: {}", stored["spec"]);
    let finalizers = &stored["metadata"]["finalizers"];
    ensure!(finalizers == &json!(["customresourcecleanup.apiextensions.k8s.io"]), "{finalizers}");
    let list = ctx.get(&path).await?.ok()?;
    ensure!(list["kind"] == "WidgetList" && list["items"] == json!([]), "{list}");
    let api = ctx.dynamic(&group(ctx), "v1", "Widget", "widgets");
    ensure!(api.list(&kube::api::ListParams::default()).await?.items.is_empty(), "through kube");
    Ok(())
}

async fn discovered(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({}));
    crd["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    install(ctx, &crd).await?;
    let group = group(ctx);
    let resources = ctx
        .eventually("discovery has it", async || {
            let reply = ctx.get_as(&format!("/apis/{group}/v1"), JSON).await?;
            Ok(if reply.code == 200 { Some(reply.ok()?) } else { None })
        })
        .await?;
    let list = resources["resources"].as_array().context("resources")?;
    let found = list.iter().find(|r| r["name"] == "widgets").context("widgets")?;
    ensure!(found["shortNames"] == json!(["wdg"]), "{found}");
    ensure!(found["categories"] == json!(["gadgets"]), "{found}");
    ensure!(found["singularName"] == "widget" && found["namespaced"] == true, "{found}");
    ensure!(found["verbs"].as_array().is_some_and(|verbs| verbs.len() == 8), "{found}");
    ensure!(list.iter().any(|r| r["name"] == "widgets/status"), "{resources}");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    ctx.eventually("aggregated discovery has it", async || {
        let all = ctx.get_as("/apis", accept).await?.ok()?;
        let items = all["items"].as_array().context("items")?;
        Ok(items.iter().any(|g| g["metadata"]["name"] == group.as_str()).then_some(()))
    })
    .await
}

async fn described(ctx: &Ctx) -> Result<()> {
    let size = json!({"size": {"type": "integer", "description": "How large."}});
    install(ctx, &widgets(ctx, &size)).await?;
    let api = format!("apis/{}/v1", group(ctx));
    let document = ctx
        .eventually("OpenAPI has it", async || {
            let index = ctx.get_as("/openapi/v3", JSON).await?.ok()?;
            let Some(url) = index["paths"][&api]["serverRelativeURL"].as_str() else {
                return Ok(None);
            };
            let reply = ctx.get_as(url, JSON).await?;
            Ok(if reply.code == 200 { Some(reply.ok()?) } else { None })
        })
        .await?;
    let path = format!("/{api}/namespaces/{{namespace}}/widgets/{{name}}");
    let patch = &document["paths"][&path]["patch"];
    ensure!(patch["x-kubernetes-group-version-kind"]["kind"] == "Widget", "{patch}");
    let parameters = patch["parameters"].as_array().context("parameters of PATCH")?;
    ensure!(parameters.iter().any(|p| p["name"] == "fieldValidation"), "{parameters:?}");
    let schemas = document["components"]["schemas"].as_object().context("schemas")?;
    let schema =
        schemas.iter().find(|(name, _)| name.ends_with(".v1.Widget")).context("the schema")?;
    let described = &schema.1["properties"]["spec"]["properties"]["size"]["description"];
    ensure!(described == "How large.", "{schema:?}");
    Ok(())
}

async fn bad_name(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({}));
    crd["metadata"]["name"] = format!("gadgets.{}", group(ctx)).into();
    let reply = ctx.post(CRDS, &crd).await?;
    reply.invalid(
        "metadata.name",
        "FieldValueInvalid",
        "must be spec.names.plural+\".\"+spec.group",
    )?;
    Ok(())
}

async fn not_structural(ctx: &Ctx) -> Result<()> {
    let reply =
        ctx.post(CRDS, &widgets(ctx, &json!({"loose": {"description": "no type"}}))).await?;
    let place = "openAPIV3Schema.properties[spec].properties[loose].type: Required value";
    reply.refused(422, "Invalid", place)?;
    let mut crd = widgets(ctx, &json!({}));
    crd["spec"]["versions"][0]["schema"] = Value::Null;
    ctx.post(CRDS, &crd).await?.refused(422, "Invalid", "Required value")?;
    let mut crd = widgets(ctx, &json!({}));
    crd["spec"]["versions"][0]["storage"] = false.into();
    let wording = "must have exactly one version marked as storage version";
    ctx.post(CRDS, &crd).await?.invalid("spec.versions", "FieldValueInvalid", wording)?;
    Ok(())
}

async fn removed(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    for name in ["a", "b"] {
        ctx.post(&path, &widget(ctx, name, &json!({}))).await?.created()?;
    }
    let start = ctx.get(&path).await?.ok()?;
    let query = format!("{path}?watch=true&resourceVersion={}", crate::reply::version(&start)?);
    let mut watch = ctx.watch(&query).await?;
    let crd = format!("{CRDS}/widgets.{}", group(ctx));
    ctx.delete(&crd).await?.ok()?;
    let mut gone = Vec::new();
    for _ in 0..2 {
        let (kind, object) = watch.next().await?;
        ensure!(kind == "DELETED", "{kind} {object}");
        gone.push(object["metadata"]["name"].to_string());
    }
    gone.sort();
    ensure!(gone == ["\"a\"", "\"b\""], "{gone:?}");
    ctx.gone(&crd).await?;
    ctx.gone(&path).await?;
    ctx.gone(&format!("/apis/{}", group(ctx))).await?;
    // It can come again, and begins empty.
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    let list = ctx.get(&path).await?.ok()?;
    ensure!(list["items"] == json!([]), "{list}");
    Ok(())
}

/// Another CRD of the group that wants a name which is taken is stored, but not served.
async fn name_conflict(ctx: &Ctx) -> Result<()> {
    install(ctx, &widgets(ctx, &json!({}))).await?;
    let mut second = widgets(ctx, &json!({}));
    let name = format!("gizmos.{}", group(ctx));
    second["metadata"]["name"] = name.as_str().into();
    second["spec"]["names"] = json!({"kind": "Gizmo", "plural": "gizmos", "shortNames": ["wdg"]});
    ctx.post(CRDS, &second).await?.created()?;
    ctx.leaves(format!("{CRDS}/{name}"));
    ctx.eventually("the conflict is reported", async || {
        let crd = ctx.get(&format!("{CRDS}/{name}")).await?.ok()?;
        let conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let names = conditions.iter().find(|c| c["type"] == "NamesAccepted");
        let refused =
            names.is_some_and(|c| c["status"] == "False" && c["reason"] == "ShortNamesConflict");
        Ok(refused.then_some(()))
    })
    .await?;
    let reply = ctx.get(&ctx.path(&format!("{}/v1", group(ctx)), "gizmos")).await?;
    ensure!(reply.code == 404, "{reply:?}");
    Ok(())
}
