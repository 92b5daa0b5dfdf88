//! Namespaces: made, ending, and emptied.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, NAMESPACES, config_map};
use crate::reply::causes;

cases![made, bad_name, protected, terminating; controllers: emptied, in_order, furnished];

async fn made(ctx: &Ctx) -> Result<()> {
    let read = ctx.get(&format!("{NAMESPACES}/{}", ctx.namespace)).await?.ok()?;
    ensure!(read["status"]["phase"] == "Active", "{read}");
    ensure!(read["spec"]["finalizers"] == json!(["kubernetes"]), "{read}");
    let label = &read["metadata"]["labels"]["kubernetes.io/metadata.name"];
    ensure!(label == ctx.namespace.as_str(), "{read}");
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        ctx.get(&format!("{NAMESPACES}/{name}")).await?.ok()?;
    }
    let list = ctx.get(&format!("{NAMESPACES}?fieldSelector=status.phase%3DActive")).await?.ok()?;
    ensure!(crate::reply::names(&list).contains(&ctx.namespace.as_str()), "{list}");
    Ok(())
}

async fn bad_name(ctx: &Ctx) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}});
    let reply = ctx.post(NAMESPACES, &body).await?;
    reply.invalid(
        "metadata.name",
        "FieldValueInvalid",
        "a lowercase RFC 1123 label must consist of",
    )?;
    Ok(())
}

async fn protected(ctx: &Ctx) -> Result<()> {
    // Dry, so that a server which does not protect it loses nothing.
    let reply = ctx.delete(&format!("{NAMESPACES}/default?dryRun=All")).await?;
    reply.refused(403, "Forbidden", "this namespace may not be deleted")?;
    Ok(())
}

/// While it ends, nothing new comes in.
async fn terminating(ctx: &Ctx) -> Result<()> {
    let name = format!("{}-ends", ctx.namespace);
    let path = format!("{NAMESPACES}/{name}");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    ctx.post(NAMESPACES, &body).await?.created()?;
    let mut object = config_map("holds", &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    ctx.post(&format!("{path}/configmaps"), &object).await?.created()?;
    let marked = ctx.delete(&path).await?.ok()?;
    ensure!(marked["status"]["phase"] == "Terminating", "{marked}");
    ensure!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    let mut attempt = 0;
    let reply = ctx
        .eventually("nothing new comes in", async || {
            attempt += 1;
            let object = config_map(&format!("late-{attempt}"), &json!({}));
            let reply = ctx.post(&format!("{path}/configmaps"), &object).await?;
            Ok((reply.code != 201).then_some(reply))
        })
        .await?;
    let status = reply.refused(403, "Forbidden", "because it is being terminated")?;
    ensure!(causes(&status).iter().any(|c| c["reason"] == "NamespaceTerminating"), "{status}");
    // What is there may still change, which is how the end comes about.
    let release = json!({"metadata": {"finalizers": null}});
    ctx.merge(&format!("{path}/configmaps/holds"), &release).await?.ok()?;
    Ok(())
}

async fn emptied(ctx: &Ctx) -> Result<()> {
    let name = format!("{}-full", ctx.namespace);
    let path = format!("{NAMESPACES}/{name}");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let created = ctx.post(NAMESPACES, &body).await?.created()?;
    for index in 0..5 {
        let object = config_map(&format!("c{index}"), &json!({}));
        ctx.post(&format!("{path}/configmaps"), &object).await?.created()?;
    }
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{name}/leases");
    ctx.post(&leases, &lease).await?.created()?;
    let mut held = config_map("held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    ctx.post(&format!("{path}/configmaps"), &held).await?.created()?;
    ctx.delete(&path).await?.ok()?;
    ctx.gone(&format!("{path}/configmaps/c0")).await?;
    ctx.gone(&format!("{leases}/l")).await?;
    let still = ctx.get(&path).await?.ok().context("it waits for its last object")?;
    ensure!(still["status"]["phase"] == "Terminating", "{still}");
    ctx.merge(&format!("{path}/configmaps/held"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .ok()?;
    ctx.gone(&path).await?;
    // Born again, it is another one, and empty.
    let again = ctx.post(NAMESPACES, &body).await?.created()?;
    ctx.leaves(path.clone());
    ensure!(again["metadata"]["uid"] != created["metadata"]["uid"], "{again}");
    ctx.get(&format!("{path}/configmaps/c0")).await?.refused(404, "NotFound", "")?;
    Ok(())
}

/// `STATUS REASON: MESSAGE` of a condition.
fn condition(namespace: &Value, kind: &str) -> String {
    let list = namespace["status"]["conditions"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let found = list.iter().find(|c| c["type"] == kind).cloned().unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("status"), text("reason"), text("message"))
}

/// Pods go first; the rest stays until the last of them is gone.
async fn in_order(ctx: &Ctx) -> Result<()> {
    let name = format!("{}-ordered", ctx.namespace);
    let path = format!("{NAMESPACES}/{name}");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let created = ctx.post(NAMESPACES, &body).await?.created()?;
    let pod = |name: &str, finalizers: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "finalizers": finalizers},
            "spec": {"containers": [{"name": "main", "image": "example.invalid/main:1"}]},
        })
    };
    let pods = format!("{path}/pods");
    ctx.post(&pods, &pod("free", json!([]))).await?.created()?;
    ctx.post(&pods, &pod("held", json!(["example.com/hold"]))).await?.created()?;
    ctx.post(&format!("{path}/configmaps"), &config_map("needed", &json!({}))).await?.created()?;
    let revision = crate::reply::version(&created)?;
    let selector = format!("fieldSelector=metadata.name%3D{name}");
    let mut watch = ctx
        .watch(&format!("{NAMESPACES}?watch=true&resourceVersion={revision}&{selector}"))
        .await?;
    ctx.delete(&path).await?.ok()?;

    let waits = ctx
        .eventually("it waits for the pod", async || {
            let namespace = ctx.get(&path).await?.ok()?;
            let left = condition(&namespace, "NamespaceContentRemaining");
            Ok(left.contains("pods. has 1 resource instances").then_some(namespace))
        })
        .await?;
    for (kind, said) in [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False ResourcesDiscovered: All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False ParsedGroupVersions: All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False ContentDeleted: All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ),
    ] {
        ensure!(condition(&waits, kind) == said, "{kind}: {waits}");
    }
    let needed = ctx.get(&format!("{path}/configmaps/needed")).await?.ok()?;
    ensure!(needed["metadata"]["deletionTimestamp"].is_null(), "a pod may need it: {needed}");

    ctx.merge(&format!("{pods}/held"), &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ctx.gone(&path).await?;
    // The last thing it said is that all is well.
    let mut last = Value::Null;
    loop {
        let (kind, object) = watch.next().await?;
        if kind == "DELETED" {
            break;
        }
        last = object;
    }
    for (kind, said) in [
        ("NamespaceContentRemaining", "False ContentRemoved: All content successfully removed"),
        (
            "NamespaceFinalizersRemaining",
            "False ContentHasNoFinalizers: All content-preserving finalizers finished",
        ),
    ] {
        ensure!(condition(&last, kind) == said, "{kind}: {last}");
    }
    Ok(())
}

async fn furnished(ctx: &Ctx) -> Result<()> {
    for path in [ctx.core("serviceaccounts/default"), ctx.core("configmaps/kube-root-ca.crt")] {
        ctx.eventually(&path, async || Ok((ctx.get(&path).await?.code == 200).then_some(())))
            .await?;
    }
    Ok(())
}
