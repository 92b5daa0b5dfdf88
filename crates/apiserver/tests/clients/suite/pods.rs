//! Pods on nodes: how they get one, and how they leave it. The test is the node.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, JSON_PATCH, config_map};
use crate::reply::{names, text, version};

cases![
    stays_until_its_node_is_done,
    time_only_gets_shorter,
    force,
    goes_at_once_where_nothing_runs,
    finalizers_and_grace,
    trying_deletes_nothing,
    collections_have_grace,
    binding,
    binding_of_old,
    eviction,
    notes_with_the_status,
    nothing_runs_here,
    little_may_change,
    revisions;
    controllers: namespaces_wait, owners_wait
];

/// No cluster has a node of that name, so nobody but the case ends its pods.
const NODE: &str = "landbridge-test-no-such-node";

fn pod(name: &str, node: Option<&str>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "example.invalid/main:1"}]},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = node.into();
    }
    pod
}

/// A pod needs the service account, which a controller makes in time on some clusters only.
async fn account(ctx: &Ctx) -> Result<()> {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let reply = ctx.post(&ctx.core("serviceaccounts"), &account).await?;
    ensure!(matches!(reply.code, 201 | 409), "{}", reply.text);
    Ok(())
}

async fn made(ctx: &Ctx, pod: &Value) -> Result<(String, Value)> {
    account(ctx).await?;
    let created = ctx.post(&ctx.core("pods"), pod).await?.created()?;
    Ok((format!("{}/{}", ctx.core("pods"), text(pod, "/metadata/name")?), created))
}

/// What a node does when a pod has ended.
async fn confirm(ctx: &Ctx, path: &str, uid: &Value) -> Result<()> {
    let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
    ctx.delete_with(path, &options).await?.ok()?;
    ctx.get(path).await?.refused(404, "NotFound", "")?;
    Ok(())
}

fn seconds_between(earlier: &Value, later: &Value) -> Result<i64> {
    let time = |value: &Value| -> Result<jiff::Timestamp> {
        Ok(value.as_str().unwrap_or_default().parse()?)
    };
    Ok(time(later)?.as_second() - time(earlier)?.as_second())
}

async fn stays_until_its_node_is_done(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("slow", Some(NODE))).await?;
    let generation = created["metadata"]["generation"].as_i64().unwrap_or_default();
    let since = version(&created)?;
    let selector = format!("fieldSelector=spec.nodeName%3D{NODE}");
    let list = ctx.core("pods");
    let mut watch =
        ctx.watch(&format!("{list}?watch=true&resourceVersion={since}&{selector}")).await?;
    let marked = ctx.delete(&path).await?.ok()?;
    ensure!(marked["kind"] == "Pod", "the pod, as it is still there: {marked}");
    ensure!(marked["metadata"]["deletionGracePeriodSeconds"] == 30, "its own: {marked}");
    let given = seconds_between(
        &created["metadata"]["creationTimestamp"],
        &marked["metadata"]["deletionTimestamp"],
    )?;
    ensure!((30..=60).contains(&given), "until when, not since when: {marked}");
    ensure!(marked["metadata"]["generation"] == generation + 1, "{marked}");
    let seen = watch.expect("MODIFIED", "slow").await?;
    ensure!(seen == marked, "{seen}");
    // Asked again, it changes nothing.
    let again = ctx.delete(&path).await?.ok()?;
    ensure!(again == marked, "{again}");
    // The node reports, and nothing of that ends the pod.
    let status = json!({"status": {"phase": "Running"}});
    ctx.merge(&format!("{path}/status"), &status).await?.ok()?;
    watch.expect("MODIFIED", "slow").await?;
    let other = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": "another"}});
    ctx.delete_with(&path, &other).await?.refused(409, "Conflict", "UID in")?;
    confirm(ctx, &path, &created["metadata"]["uid"]).await?;
    loop {
        let (kind, object) = watch.next().await?;
        if kind == "DELETED" {
            ensure!(object["metadata"]["deletionGracePeriodSeconds"] == 0, "{object}");
            return Ok(());
        }
    }
}

async fn time_only_gets_shorter(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("hurried", Some(NODE))).await?;
    let with = |seconds: i64| format!("{path}?gracePeriodSeconds={seconds}");
    let first = ctx.delete(&with(100)).await?.ok()?;
    ensure!(first["metadata"]["deletionGracePeriodSeconds"] == 100, "as asked: {first}");
    let longer = ctx.delete(&with(200)).await?.ok()?;
    ensure!(longer == first, "{longer}");
    let shorter = ctx.delete(&with(40)).await?.ok()?;
    ensure!(shorter["metadata"]["deletionGracePeriodSeconds"] == 40, "{shorter}");
    let less = seconds_between(
        &shorter["metadata"]["deletionTimestamp"],
        &first["metadata"]["deletionTimestamp"],
    )?;
    ensure!(less == 60, "counted from the same beginning: {shorter}");
    ensure!(shorter["metadata"]["generation"] == first["metadata"]["generation"], "{shorter}");
    let patch =
        json!([{"op": "replace", "path": "/metadata/deletionGracePeriodSeconds", "value": 0}]);
    let patched = ctx.patch(&path, JSON_PATCH, &patch).await?;
    ensure!(ctx.get(&path).await?.ok()? == shorter, "nobody else sets it: {}", patched.text);
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn force(ctx: &Ctx) -> Result<()> {
    // As `kubectl delete --force --grace-period=0` does.
    let (path, _) = made(ctx, &pod("forced", Some(NODE))).await?;
    let options = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    ctx.delete_with(&path, &options).await?.ok()?;
    ctx.get(&path).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn goes_at_once_where_nothing_runs(ctx: &Ctx) -> Result<()> {
    let mut gated = pod("unplaced", None);
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/test"}]); // a cluster may place it
    let (path, _) = made(ctx, &gated).await?;
    ctx.delete_with(&path, &json!({"gracePeriodSeconds": 300})).await?.ok()?;
    ctx.get(&path).await?.refused(404, "NotFound", "")?;
    for phase in ["Succeeded", "Failed"] {
        let (path, _) = made(ctx, &pod(&phase.to_lowercase(), Some(NODE))).await?;
        ctx.merge(&format!("{path}/status"), &json!({"status": {"phase": phase}})).await?.ok()?;
        ctx.delete(&path).await?.ok()?;
        ctx.get(&path).await?.refused(404, "NotFound", "")?;
    }
    Ok(())
}

async fn finalizers_and_grace(ctx: &Ctx) -> Result<()> {
    let mut held = pod("held", Some(NODE));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let (path, _) = made(ctx, &held).await?;
    let none = json!({"metadata": {"finalizers": null}});
    ctx.delete(&path).await?.ok()?;
    let done = ctx.delete_with(&path, &json!({"gracePeriodSeconds": 0})).await?.ok()?;
    ensure!(done["metadata"]["deletionGracePeriodSeconds"] == 0, "{done}");
    ensure!(ctx.get(&path).await?.ok()? == done, "the finalizer holds it: {done}");
    ctx.merge(&path, &none).await?.ok()?;
    ctx.get(&path).await?.refused(404, "NotFound", "")?;
    // The other way round: the finalizer goes first.
    let (path, created) = made(ctx, &held).await?;
    ctx.delete(&path).await?.ok()?;
    ctx.merge(&path, &none).await?.ok()?;
    ctx.get(&path).await?.ok()?;
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn trying_deletes_nothing(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("tried", Some(NODE))).await?;
    for seconds in [0, 30] {
        ctx.delete(&format!("{path}?dryRun=All&gracePeriodSeconds={seconds}")).await?.ok()?;
    }
    ensure!(ctx.get(&path).await?.ok()? == created, "nothing changed");
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn collections_have_grace(ctx: &Ctx) -> Result<()> {
    for name in ["one", "two"] {
        made(ctx, &pod(name, Some(NODE))).await?;
    }
    let path = ctx.core("pods");
    ctx.delete_with(&path, &json!({"gracePeriodSeconds": 77})).await?.ok()?;
    let left = ctx.get(&path).await?.ok()?;
    ensure!(names(&left) == ["one", "two"], "{left}");
    for item in left["items"].as_array().into_iter().flatten() {
        ensure!(item["metadata"]["deletionGracePeriodSeconds"] == 77, "{item}");
    }
    ctx.delete(&format!("{path}?gracePeriodSeconds=0")).await?.ok()?;
    let left = ctx.get(&path).await?.ok()?;
    ensure!(names(&left).is_empty(), "{left}");
    Ok(())
}

fn binding_of(name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": name, "annotations": {"example.com/why": "room"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
}

/// A pod no scheduler takes.
fn unplaced(name: &str) -> Value {
    let mut pod = pod(name, None);
    pod["spec"]["schedulerName"] = "landbridge-test".into();
    pod
}

async fn bound(ctx: &Ctx, path: &str) -> Result<Value> {
    let pod = ctx.get(path).await?.ok()?;
    ensure!(pod["spec"]["nodeName"] == NODE, "{pod}");
    ensure!(pod["metadata"]["annotations"]["example.com/why"] == "room", "{pod}");
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let scheduled = conditions.iter().find(|c| c["type"] == "PodScheduled");
    ensure!(scheduled.is_some_and(|c| c["status"] == "True"), "{pod}");
    Ok(pod)
}

async fn binding(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &unplaced("placed")).await?;
    let endpoint = format!("{path}/binding");
    let patch = json!({"spec": {"nodeName": NODE}});
    ctx.merge(&path, &patch).await?.invalid(
        "spec",
        "FieldValueForbidden",
        "pod updates may not change",
    )?;
    let nowhere = json!({"metadata": {"name": "placed"}, "target": {"kind": "Node"}});
    ensure!(ctx.post(&endpoint, &nowhere).await?.code >= 400, "a node must be named");
    ctx.post(&endpoint, &binding_of("other", NODE)).await?.refused(
        400,
        "BadRequest",
        "does not match",
    )?;
    ctx.post(&format!("{endpoint}?dryRun=All"), &binding_of("placed", NODE)).await?.created()?;
    ensure!(ctx.get(&path).await?.ok()?["spec"]["nodeName"].is_null(), "a try binds nothing");
    let status = ctx.post(&endpoint, &binding_of("placed", NODE)).await?.created()?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    let pod = bound(ctx, &path).await?;
    ensure!(pod["metadata"]["generation"] == created["metadata"]["generation"], "{pod}");
    let reply = ctx.post(&endpoint, &binding_of("placed", "elsewhere")).await?;
    let wording = format!("pod placed is already assigned to node \"{NODE}\"");
    reply.refused(409, "Conflict", &wording)?;
    let missing = format!("{}/missing/binding", ctx.core("pods"));
    ctx.post(&missing, &binding_of("missing", NODE)).await?.refused(
        404,
        "NotFound",
        "\"missing\"",
    )?;
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn binding_of_old(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &unplaced("placed")).await?;
    ctx.post(&ctx.core("bindings"), &binding_of("placed", NODE)).await?.created()?;
    bound(ctx, &path).await?;
    ensure!(ctx.get(&ctx.core("bindings")).await?.code >= 404, "they are not kept");
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn eviction(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("unwanted", Some(NODE))).await?;
    let endpoint = format!("{path}/eviction");
    let eviction = |options: Value| {
        json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": "unwanted", "namespace": ctx.namespace}, "deleteOptions": options})
    };
    let other = eviction(json!({"preconditions": {"uid": "another"}}));
    ctx.post(&endpoint, &other).await?.refused(409, "Conflict", "UID in")?;
    ctx.post(&endpoint, &eviction(json!({"dryRun": ["All"]}))).await?.created()?;
    ensure!(ctx.get(&path).await?.ok()? == created, "nothing happened yet");
    let status =
        ctx.post(&endpoint, &eviction(json!({"gracePeriodSeconds": 50}))).await?.created()?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    let leaving = ctx.get(&path).await?.ok()?;
    ensure!(leaving["metadata"]["deletionGracePeriodSeconds"] == 50, "{leaving}");
    let conditions = leaving["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let target = conditions.iter().find(|c| c["type"] == "DisruptionTarget");
    ensure!(target.is_some_and(|c| c["reason"] == "EvictionByEvictionAPI"), "{leaving}");
    confirm(ctx, &path, &created["metadata"]["uid"]).await?;
    ctx.post(&endpoint, &eviction(json!({}))).await?.refused(404, "NotFound", "unwanted")?;
    // kubectl drain looks for it here.
    let served = ctx.get("/api/v1").await?.ok()?;
    let listed = served["resources"].as_array().into_iter().flatten();
    let found = listed.into_iter().find(|r| r["name"] == "pods/eviction").cloned();
    let found = found.unwrap_or_default();
    ensure!(
        found["kind"] == "Eviction" && found["group"] == "policy" && found["version"] == "v1",
        "{found}"
    );
    Ok(())
}

async fn notes_with_the_status(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("noted", Some(NODE))).await?;
    let mut update = created.clone();
    update["metadata"]["annotations"] = json!({"example.com/networks": "[]"});
    update["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "y"}]);
    update["spec"]["hostname"] = "other".into();
    update["status"]["phase"] = "Running".into();
    let status = ctx.put(&format!("{path}/status"), &update).await?.ok()?;
    ensure!(status["metadata"]["annotations"]["example.com/networks"] == "[]", "{status}");
    ensure!(status["status"]["phase"] == "Running", "{status}");
    ensure!(status["metadata"]["ownerReferences"].is_null(), "not through this endpoint: {status}");
    ensure!(status["spec"] == created["spec"], "{status}");
    ensure!(status["metadata"]["generation"] == created["metadata"]["generation"], "{status}");
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

/// Without a node nothing answers for a pod, and the refusal says so.
async fn nothing_runs_here(ctx: &Ctx) -> Result<()> {
    let mut lonely = unplaced("lonely");
    let second = json!({"name": "second", "image": "example.invalid/second:1"});
    lonely["spec"]["containers"] = json!([lonely["spec"]["containers"][0], second]);
    let (path, _) = made(ctx, &lonely).await?;
    let exec = format!("{path}/exec?command=ls");
    ctx.call(Method::POST, &exec).send().await?.refused(
        400,
        "BadRequest",
        "pgrade request required",
    )?;
    let log = ctx.get(&format!("{path}/log")).await?;
    log.refused(
        400,
        "BadRequest",
        "a container name must be specified for pod lonely, choose one of: [main second]",
    )?;
    let log = ctx.get(&format!("{path}/log?container=third")).await?;
    log.refused(400, "BadRequest", "container third is not valid for pod lonely")?;
    ctx.get(&format!("{path}/log?container=main&tailLines=-1")).await?.invalid(
        "tailLines",
        "FieldValueInvalid",
        "must be greater than or equal to 0",
    )?;
    if ctx.ours {
        // Upstream gives an empty log here, which says less.
        let log = ctx.get(&format!("{path}/log?container=main")).await?;
        log.refused(400, "BadRequest", "does not have a host assigned")?;
        let (path, created) = made(ctx, &pod("recorded", Some(NODE))).await?;
        let log = ctx.get(&format!("{path}/log")).await?;
        log.refused(503, "ServiceUnavailable", "no node is attached to this API server")?;
        confirm(ctx, &path, &created["metadata"]["uid"]).await?;
    }
    ctx.get(&ctx.core("pods/missing/log")).await?.refused(404, "NotFound", "\"missing\"")?;
    ctx.call(Method::POST, &format!("{path}/log")).send().await?.refused(
        405,
        "MethodNotAllowed",
        "",
    )?;
    ctx.delete(&path).await?.ok()?;
    Ok(())
}

async fn little_may_change(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("settled", Some(NODE))).await?;
    let wording = "pod updates may not change fields other than";
    for spec in [
        json!({"hostname": "other"}),
        json!({"nodeName": "elsewhere"}),
        json!({"terminationGracePeriodSeconds": 5}),
        json!({"restartPolicy": "Never"}),
    ] {
        let reply = ctx.merge(&path, &json!({"spec": spec})).await?;
        reply.invalid("spec", "FieldValueForbidden", wording)?;
    }
    let mut tolerations = created["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for toleration in &mut tolerations {
        toleration["tolerationSeconds"] = 5.into();
    }
    tolerations.push(json!({"key": "example.com/more", "operator": "Exists"}));
    let spec = json!({"spec": {"tolerations": tolerations, "activeDeadlineSeconds": 9}});
    let changed = ctx.merge(&path, &spec).await?.ok()?;
    ensure!(changed["spec"]["tolerations"] == json!(tolerations), "{changed}");
    let image = json!([{"op": "replace", "path": "/spec/containers/0/image", "value": "example.invalid/main:2"}]);
    let changed = ctx.patch(&path, JSON_PATCH, &image).await?.ok()?;
    let generation = created["metadata"]["generation"].as_i64().unwrap_or_default();
    ensure!(changed["metadata"]["generation"] == generation + 2, "{changed}");
    confirm(ctx, &path, &created["metadata"]["uid"]).await
}

async fn revisions(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("apps/v1", "controllerrevisions");
    let body = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": "web-1"}, "revision": 1, "data": {"spec": {"template": {"any": [1, "b"]}}}});
    let created = ctx.post(&path, &body).await?.created()?;
    ensure!(created["data"] == body["data"], "{created}");
    let changed = ctx.merge(&format!("{path}/web-1"), &json!({"data": {"spec": null}})).await?;
    changed.invalid("data", "FieldValueInvalid", "field is immutable")?;
    let moved = ctx.merge(&format!("{path}/web-1"), &json!({"revision": 3})).await?.ok()?;
    ensure!(moved["revision"] == 3, "{moved}");
    Ok(())
}

async fn namespaces_wait(ctx: &Ctx) -> Result<()> {
    let (path, created) = made(ctx, &pod("last", Some(NODE))).await?;
    ctx.config_map("needed", &json!({})).await?;
    let namespace = format!("/api/v1/namespaces/{}", ctx.namespace);
    ctx.delete(&namespace).await?.ok()?;
    let said = ctx
        .eventually("it waits for the pod", async || {
            let namespace = ctx.get(&namespace).await?.ok()?;
            let list = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let text = |kind: &str| {
                let found = list.iter().find(|c| c["type"] == kind);
                found.map(|c| format!("{} {}", c["status"], c["message"])).unwrap_or_default()
            };
            let left = text("NamespaceContentRemaining");
            Ok(left
                .contains("pods. has 1 resource instances")
                .then(|| text("NamespaceDeletionContentFailure")))
        })
        .await?;
    ensure!(said.starts_with("\"False\""), "taking its time is no failure: {said}");
    let leaving = ctx.get(&path).await?.ok()?;
    ensure!(leaving["metadata"]["deletionGracePeriodSeconds"] == 30, "{leaving}");
    let needed = ctx.get(&ctx.core("configmaps/needed")).await?.ok()?;
    ensure!(needed["metadata"]["deletionTimestamp"].is_null(), "the pod may need it: {needed}");
    confirm(ctx, &path, &created["metadata"]["uid"]).await?;
    ctx.gone(&namespace).await
}

async fn owners_wait(ctx: &Ctx) -> Result<()> {
    let owner =
        ctx.post(&ctx.core("configmaps"), &config_map("owner", &json!({}))).await?.created()?;
    let mut owned = pod("owned", Some(NODE));
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
    }]);
    let (path, created) = made(ctx, &owned).await?;
    let above = ctx.core("configmaps/owner");
    ctx.delete_with(&above, &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    ctx.eventually("the pod is told to end", async || {
        let pod = ctx.get(&path).await?.ok()?;
        Ok((pod["metadata"]["deletionGracePeriodSeconds"] == 30).then_some(()))
    })
    .await?;
    ctx.get(&above).await?.ok()?;
    confirm(ctx, &path, &created["metadata"]["uid"]).await?;
    ctx.gone(&above).await
}
