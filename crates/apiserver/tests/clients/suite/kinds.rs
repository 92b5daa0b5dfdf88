//! Built-in kinds with rules of their own.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::Ctx;
use crate::reply::names;

cases![
    lease_by_put,
    lease_update_needs_version,
    core_event_as_new,
    new_event_as_core,
    secret_string_data,
    secret_immutable,
    secret_bad_data,
    config_map_immutable,
    config_map_keys,
    deployment,
    deployment_selector,
    deployment_scale,
    node,
    pod,
];

fn lease(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2024-01-02T03:04:05.678901Z"},
    })
}

async fn lease_by_put(ctx: &Ctx) -> Result<()> {
    let path = format!("{}/elected", ctx.path("coordination.k8s.io/v1", "leases"));
    let created = ctx.put(&path, &lease("elected")).await?.created()?;
    ensure!(created["spec"]["holderIdentity"] == "me", "{created}");
    ensure!(created["spec"]["renewTime"] == "2024-01-02T03:04:05.678901Z", "{created}");
    ensure!(created["metadata"]["uid"].is_string(), "{created}");
    let again = ctx.put(&path, &created).await?.ok()?;
    ensure!(again == created, "{again}");
    Ok(())
}

async fn lease_update_needs_version(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("coordination.k8s.io/v1", "leases");
    ctx.post(&path, &lease("bare")).await?.created()?;
    let reply = ctx.put(&format!("{path}/bare"), &lease("bare")).await?;
    let wording = "must be specified for an update";
    reply.invalid("metadata.resourceVersion", "FieldValueInvalid", wording)?;
    Ok(())
}

async fn core_event_as_new(ctx: &Ctx) -> Result<()> {
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "told"},
        "involvedObject": {"kind": "ConfigMap", "name": "x", "namespace": ctx.namespace, "apiVersion": "v1"},
        "reason": "Tested", "message": "all is well", "type": "Normal", "count": 3,
        "source": {"component": "tests", "host": "here"},
        "firstTimestamp": "2024-01-02T03:04:05Z", "lastTimestamp": "2024-01-02T03:04:06Z",
    });
    ctx.post(&ctx.core("events"), &event).await?.created()?;
    let path = ctx.path("events.k8s.io/v1", "events");
    let read = ctx.get(&format!("{path}/told")).await?.ok()?;
    ensure!(read["apiVersion"] == "events.k8s.io/v1" && read["kind"] == "Event", "{read}");
    ensure!(read["regarding"] == event["involvedObject"], "{read}");
    ensure!(read["note"] == "all is well" && read["reason"] == "Tested", "{read}");
    ensure!(read["deprecatedCount"] == 3, "{read}");
    ensure!(read["deprecatedSource"] == event["source"], "{read}");
    ensure!(read["deprecatedFirstTimestamp"] == "2024-01-02T03:04:05Z", "{read}");
    ensure!(read["deprecatedLastTimestamp"] == "2024-01-02T03:04:06Z", "{read}");
    for (path, selector, expected) in [
        (
            ctx.core("events"),
            "involvedObject.name%3Dx,involvedObject.kind%3DConfigMap",
            vec!["told"],
        ),
        (ctx.core("events"), "involvedObject.name%3Dy", vec![]),
        (ctx.core("events"), "reason%3DTested,type%3DNormal", vec!["told"]),
        (path.clone(), "regarding.name%3Dx", vec!["told"]),
    ] {
        let list = ctx.get(&format!("{path}?fieldSelector={selector}")).await?.ok()?;
        ensure!(names(&list) == expected, "{selector}: {list}");
    }
    // Deleted in one form, gone in both.
    ctx.delete(&format!("{path}/told")).await?.ok()?;
    ctx.get(&format!("{}/told", ctx.core("events"))).await?.refused(404, "NotFound", "")?;
    Ok(())
}

async fn new_event_as_core(ctx: &Ctx) -> Result<()> {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "noted"},
        "eventTime": "2024-01-02T03:04:05.678901Z", "action": "Testing", "reason": "Tested",
        "note": "all is well", "type": "Warning",
        "reportingController": "example.com/tests", "reportingInstance": "tests-0",
        "regarding": {"kind": "ConfigMap", "name": "x", "namespace": ctx.namespace},
    });
    ctx.post(&ctx.path("events.k8s.io/v1", "events"), &event).await?.created()?;
    let read = ctx.get(&format!("{}/noted", ctx.core("events"))).await?.ok()?;
    ensure!(read["involvedObject"] == event["regarding"], "{read}");
    ensure!(read["message"] == "all is well" && read["action"] == "Testing", "{read}");
    ensure!(read["reportingComponent"] == "example.com/tests", "{read}");
    ensure!(read["reportingInstance"] == "tests-0", "{read}");
    ensure!(read["eventTime"] == "2024-01-02T03:04:05.678901Z", "{read}");
    Ok(())
}

fn secret(name: &str, more: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    for (key, value) in more.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

async fn secret_string_data(ctx: &Ctx) -> Result<()> {
    let body =
        secret("plain", &json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "hello"}}));
    let created = ctx.post(&ctx.core("secrets"), &body).await?.created()?;
    ensure!(created["data"] == json!({"a": "aGVsbG8=", "b": "eQ=="}), "{created}");
    ensure!(created["stringData"].is_null(), "{created}");
    ensure!(created["type"] == "Opaque", "{created}");
    let path = format!("{}/plain", ctx.core("secrets"));
    let patched = ctx.merge(&path, &json!({"stringData": {"c": "z"}})).await?.ok()?;
    ensure!(patched["data"]["c"] == "eg==" && patched["stringData"].is_null(), "{patched}");
    let reply = ctx.merge(&path, &json!({"type": "example.com/other"})).await?;
    reply.invalid("type", "FieldValueInvalid", "field is immutable")?;
    Ok(())
}

async fn secret_immutable(ctx: &Ctx) -> Result<()> {
    let body = secret("fixed", &json!({"stringData": {"a": "b"}, "immutable": true}));
    ctx.post(&ctx.core("secrets"), &body).await?.created()?;
    let path = format!("{}/fixed", ctx.core("secrets"));
    let wording = "field is immutable when `immutable` is set";
    let reply = ctx.merge(&path, &json!({"stringData": {"a": "c"}})).await?;
    reply.invalid("data", "FieldValueForbidden", wording)?;
    let reply = ctx.merge(&path, &json!({"immutable": false})).await?;
    reply.invalid("immutable", "FieldValueForbidden", wording)?;
    ctx.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}})).await?.ok()?;
    Ok(())
}

async fn secret_bad_data(ctx: &Ctx) -> Result<()> {
    let body = secret("bad", &json!({"data": {"a": "not base64!"}}));
    ctx.post(&ctx.core("secrets"), &body).await?.refused(
        400,
        "BadRequest",
        "illegal base64 data",
    )?;
    let body = secret("bad", &json!({"stringData": {"a/b": "x"}}));
    ctx.post(&ctx.core("secrets"), &body).await?.invalid(
        "data[a/b]",
        "FieldValueInvalid",
        "a/b",
    )?;
    let body = secret("bad", &json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": "x"}}));
    let reply = ctx.post(&ctx.core("secrets"), &body).await?;
    reply.invalid("data[tls.key]", "FieldValueRequired", "data[tls.key]: Required value")?;
    Ok(())
}

async fn config_map_immutable(ctx: &Ctx) -> Result<()> {
    let mut body = crate::ctx::config_map("fixed", &json!({"a": "b"}));
    body["immutable"] = true.into();
    ctx.post(&ctx.core("configmaps"), &body).await?.created()?;
    let reply = ctx
        .merge(&format!("{}/fixed", ctx.core("configmaps")), &json!({"data": {"a": "c"}}))
        .await?;
    reply.invalid("data", "FieldValueForbidden", "field is immutable when `immutable` is set")?;
    Ok(())
}

async fn config_map_keys(ctx: &Ctx) -> Result<()> {
    let body = crate::ctx::config_map("keys", &json!({"a b": "c"}));
    let reply = ctx.post(&ctx.core("configmaps"), &body).await?;
    reply.invalid("data[a b]", "FieldValueInvalid", "data[a b]: Invalid value: \"a b\"")?;
    let mut body = crate::ctx::config_map("keys", &json!({"a": "c"}));
    body["binaryData"] = json!({"a": "eA=="});
    ctx.post(&ctx.core("configmaps"), &body).await?.refused(
        422,
        "Invalid",
        "duplicate of key present in",
    )?;
    Ok(())
}

/// Without replicas, so that no cluster has to run anything.
fn deployment_object(name: &str, label: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "c", "image": "example.com/none"}]},
            },
        },
    })
}

async fn deployment(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("apps/v1", "deployments");
    let created = ctx.post(&path, &deployment_object("made", "made")).await?.created()?;
    ensure!(created["metadata"]["generation"] == 1, "{created}");
    let spec = &created["spec"];
    ensure!(spec["strategy"]["type"] == "RollingUpdate", "{spec}");
    ensure!(
        spec["strategy"]["rollingUpdate"] == json!({"maxSurge": "25%", "maxUnavailable": "25%"}),
        "{spec}"
    );
    ensure!(spec["revisionHistoryLimit"] == 10 && spec["progressDeadlineSeconds"] == 600, "{spec}");
    let pod = &spec["template"]["spec"];
    ensure!(pod["restartPolicy"] == "Always" && pod["dnsPolicy"] == "ClusterFirst", "{pod}");
    ensure!(pod["containers"][0]["imagePullPolicy"] == "Always", "{pod}");
    ensure!(pod["terminationGracePeriodSeconds"] == 30, "{pod}");
    let patched =
        ctx.merge(&format!("{path}/made"), &json!({"spec": {"minReadySeconds": 5}})).await?.ok()?;
    ensure!(patched["metadata"]["generation"] == 2, "{patched}");
    Ok(())
}

async fn deployment_selector(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("apps/v1", "deployments");
    let reply = ctx.post(&path, &deployment_object("wrong", "other")).await?;
    let wording = "`selector` does not match template `labels`";
    reply.invalid("spec.template.metadata.labels", "FieldValueInvalid", wording)?;
    ctx.post(&path, &deployment_object("fixed", "fixed")).await?.created()?;
    let patch = json!({"spec": {
        "selector": {"matchLabels": {"app": "new"}},
        "template": {"metadata": {"labels": {"app": "new"}}},
    }});
    let reply = ctx.merge(&format!("{path}/fixed"), &patch).await?;
    reply.invalid("spec.selector", "FieldValueInvalid", "field is immutable")?;
    Ok(())
}

async fn deployment_scale(ctx: &Ctx) -> Result<()> {
    let path = ctx.path("apps/v1", "deployments");
    ctx.post(&path, &deployment_object("scaled", "scaled")).await?.created()?;
    let scale = ctx.get(&format!("{path}/scaled/scale")).await?.ok()?;
    ensure!(scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1", "{scale}");
    ensure!(scale["status"]["selector"] == "app=scaled", "{scale}");
    let dry = format!("{path}/scaled/scale?dryRun=All");
    let scale = ctx.merge(&dry, &json!({"spec": {"replicas": 3}})).await?.ok()?;
    ensure!(scale["spec"]["replicas"] == 3, "{scale}");
    let stored = ctx.get(&format!("{path}/scaled")).await?.ok()?;
    ensure!(stored["spec"]["replicas"] == 0, "{stored}");
    Ok(())
}

async fn node(ctx: &Ctx) -> Result<()> {
    let name = format!("node-{}", ctx.namespace);
    let body = json!({
        "apiVersion": "v1", "kind": "Node",
        // Cluster-scoped kinds have no namespace; one that is sent is dropped.
        "metadata": {"name": name, "labels": {"landbridge.test": "yes"}, "namespace": "default"},
        "spec": {"unschedulable": true},
    });
    ctx.leaves(format!("/api/v1/nodes/{name}"));
    let created = ctx.post("/api/v1/nodes", &body).await?.created()?;
    ensure!(created["metadata"]["namespace"].is_null(), "{created}");
    let path = format!("/api/v1/nodes/{name}");
    let patch = json!({"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}});
    let patched = ctx.merge(&format!("{path}/status"), &patch).await?.ok()?;
    ensure!(patched["status"]["addresses"][0]["address"] == "192.0.2.1", "{patched}");
    let list =
        ctx.get(&format!("/api/v1/nodes?fieldSelector=metadata.name%3D{name}")).await?.ok()?;
    ensure!(names(&list) == [name.as_str()], "{list}");
    Ok(())
}

async fn pod(ctx: &Ctx) -> Result<()> {
    // A pod needs the service account, which a controller makes in time on some clusters only.
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let reply = ctx.post(&ctx.core("serviceaccounts"), &account).await?;
    ensure!(matches!(reply.code, 201 | 409), "{reply:?}");
    let body = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "inert"},
        "spec": {
            "automountServiceAccountToken": false,
            "nodeSelector": {"landbridge.test/nowhere": "yes"},
            "containers": [{"name": "c", "image": "example.com/none:1"}],
        },
    });
    let created = ctx.post(&ctx.core("pods"), &body).await?.created()?;
    ensure!(created["status"]["phase"] == "Pending", "{created}");
    ensure!(created["status"]["qosClass"] == "BestEffort", "{created}");
    let defaults = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30, "enableServiceLinks": true, "securityContext": {},
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ],
    });
    for (field, value) in defaults.as_object().into_iter().flatten() {
        ensure!(created["spec"][field] == *value, "{field}: {created}");
    }
    ensure!(created["spec"]["serviceAccountName"] == "default", "{created}");
    ensure!(created["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent", "{created}");
    let list = ctx
        .get(&format!("{}?fieldSelector=status.phase%3DPending", ctx.core("pods")))
        .await?
        .ok()?;
    ensure!(names(&list) == ["inert"], "{list}");
    let empty = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": []}});
    let reply = ctx.post(&ctx.core("pods"), &empty).await?;
    reply.invalid("spec.containers", "FieldValueRequired", "spec.containers: Required value")?;
    let path = format!("{}/inert?gracePeriodSeconds=0", ctx.core("pods"));
    ctx.delete(&path).await?.ok()?;
    ctx.gone(&format!("{}/inert", ctx.core("pods"))).await?;
    Ok(())
}
