//! Services: cluster IPs and what may change.

use std::net::IpAddr;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::cases;
use crate::ctx::Ctx;
use crate::reply::{text, version};

cases![
    cluster_ip,
    same_ip_twice,
    released_ip,
    headless,
    immutable_ip,
    left_out_on_update,
    node_port,
    health_port,
    external_name,
    bad_ports
];

fn service(name: &str, more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

async fn cluster_ip(ctx: &Ctx) -> Result<()> {
    let created = ctx.post(&ctx.core("services"), &service("a", &json!({}))).await?.created()?;
    let spec = &created["spec"];
    let address: IpAddr = text(&created, "/spec/clusterIP")?.parse()?;
    ensure!(spec["clusterIPs"] == json!([address.to_string()]), "{spec}");
    ensure!(spec["type"] == "ClusterIP" && spec["sessionAffinity"] == "None", "{spec}");
    ensure!(spec["ipFamilyPolicy"] == "SingleStack", "{spec}");
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    ensure!(spec["ipFamilies"] == json!([family]), "{spec}");
    ensure!(spec["internalTrafficPolicy"] == "Cluster", "{spec}");
    ensure!(spec["ports"] == json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]), "{spec}");
    ensure!(created["status"] == json!({"loadBalancer": {}}), "{created}");
    let other = ctx.post(&ctx.core("services"), &service("b", &json!({}))).await?.created()?;
    ensure!(other["spec"]["clusterIP"] != spec["clusterIP"], "{other}");
    Ok(())
}

async fn same_ip_twice(ctx: &Ctx) -> Result<()> {
    let first = ctx.post(&ctx.core("services"), &service("first", &json!({}))).await?.created()?;
    let same = json!({"clusterIP": first["spec"]["clusterIP"]});
    let reply = ctx.post(&ctx.core("services"), &service("second", &same)).await?;
    reply.invalid("spec.clusterIPs", "FieldValueInvalid", "provided IP is already allocated")?;
    let reply = ctx
        .post(&ctx.core("services"), &service("second", &json!({"clusterIP": "nonsense"})))
        .await?;
    reply.refused(422, "Invalid", "nonsense")?;
    Ok(())
}

async fn released_ip(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    let first = ctx.post(&path, &service("first", &json!({}))).await?.created()?;
    ctx.delete(&format!("{path}/first")).await?.ok()?;
    let same = json!({"clusterIP": first["spec"]["clusterIP"]});
    ctx.eventually("the address is free again", async || {
        let reply = ctx.post(&path, &service("second", &same)).await?;
        Ok((reply.code == 201).then_some(()))
    })
    .await
}

async fn headless(ctx: &Ctx) -> Result<()> {
    let created = ctx
        .post(&ctx.core("services"), &service("none", &json!({"clusterIP": "None"})))
        .await?
        .created()?;
    ensure!(created["spec"]["clusterIP"] == "None", "{created}");
    ensure!(created["spec"]["clusterIPs"] == json!(["None"]), "{created}");
    Ok(())
}

async fn immutable_ip(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    ctx.post(&path, &service("fixed", &json!({}))).await?.created()?;
    let patch = json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
    let reply = ctx.merge(&format!("{path}/fixed"), &patch).await?;
    reply.invalid("spec.clusterIPs[0]", "FieldValueInvalid", "may not change once set")?;
    Ok(())
}

/// Clients that do not know of the address keep it.
async fn left_out_on_update(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    let created = ctx.post(&path, &service("kept", &json!({}))).await?.created()?;
    let mut wish = service("kept", &json!({"selector": {"app": "y"}}));
    wish["metadata"]["resourceVersion"] = version(&created)?.into();
    let updated = ctx.put(&format!("{path}/kept"), &wish).await?.ok()?;
    ensure!(updated["spec"]["clusterIP"] == created["spec"]["clusterIP"], "{updated}");
    ensure!(updated["spec"]["selector"] == json!({"app": "y"}), "{updated}");
    Ok(())
}

async fn node_port(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    let created = ctx.post(&path, &service("a", &json!({"type": "NodePort"}))).await?.created()?;
    let port = created["spec"]["ports"][0]["nodePort"].as_i64().unwrap_or_default();
    ensure!((30_000..=32_767).contains(&port), "{created}");
    ensure!(created["spec"]["externalTrafficPolicy"] == "Cluster", "{created}");
    let same = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    let reply = ctx.post(&path, &service("b", &same)).await?;
    reply.invalid(
        "spec.ports[0].nodePort",
        "FieldValueInvalid",
        "provided port is already allocated",
    )?;
    Ok(())
}

/// With policy Local a load balancer has a port to ask nodes whether they have endpoints.
async fn health_port(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    let local = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"});
    let created = ctx.post(&path, &service("a", &local)).await?.created()?;
    let port = created["spec"]["healthCheckNodePort"].clone();
    ensure!(port.as_i64().is_some_and(|n| (30_000..=32_767).contains(&n)), "{created}");
    ensure!(port != created["spec"]["ports"][0]["nodePort"], "{created}");
    let mut same = local.clone();
    same["healthCheckNodePort"] = port.clone();
    let reply = ctx.post(&path, &service("b", &same)).await?;
    let text = "provided port is already allocated";
    reply.invalid("spec.healthCheckNodePort", "FieldValueInvalid", text)?;
    let patch = json!({"spec": {"sessionAffinity": "ClientIP"}});
    let kept = ctx.merge(&format!("{path}/a"), &patch).await?.ok()?;
    ensure!(kept["spec"]["healthCheckNodePort"] == port, "{kept}");
    let patch = json!({"spec": {"externalTrafficPolicy": "Cluster"}});
    let gone = ctx.merge(&format!("{path}/a"), &patch).await?.ok()?;
    ensure!(gone["spec"]["healthCheckNodePort"].is_null(), "{gone}");
    // It is free again.
    ctx.post(&path, &service("b", &same)).await?.created()?;
    Ok(())
}

async fn external_name(ctx: &Ctx) -> Result<()> {
    let body = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "away"},
        "spec": {"type": "ExternalName", "externalName": "away.example.com"},
    });
    let created = ctx.post(&ctx.core("services"), &body).await?.created()?;
    ensure!(created["spec"]["clusterIP"].is_null(), "{created}");
    Ok(())
}

async fn bad_ports(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("services");
    let reply = ctx.post(&path, &service("bad", &json!({"ports": [{"port": 70_000}]}))).await?;
    reply.invalid("spec.ports[0].port", "FieldValueInvalid", "must be between 1 and 65535")?;
    let two = json!({"ports": [{"port": 1}, {"port": 2}]});
    let reply = ctx.post(&path, &service("bad", &two)).await?;
    reply.invalid(
        "spec.ports[0].name",
        "FieldValueRequired",
        "spec.ports[0].name: Required value",
    )?;
    let reply = ctx.post(&path, &service("bad", &json!({"ports": []}))).await?;
    reply.invalid("spec.ports", "FieldValueRequired", "spec.ports: Required value")?;
    let reply = ctx.post(&path, &service("9bad", &json!({}))).await?;
    reply.invalid("metadata.name", "FieldValueInvalid", "a DNS-1035 label must consist of")?;
    Ok(())
}
