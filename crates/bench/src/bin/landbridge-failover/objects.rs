//! The addresses that are announced: a pool, an advertisement, and Services that have their
//! addresses and an endpoint.

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// Where they are announced: the trunk of the lab's nodes, untagged.
pub const INTERFACE: &str = "enp6s0";
const SYSTEM: &str = "metallb-system";
const NAMESPACE: &str = "failover";

/// The address of a Service, by its number.
pub fn address(number: u16) -> std::net::Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    std::net::Ipv4Addr::new(172, 27, high, low)
}

async fn apply(client: &Client, plural: &str, body: Value, status: bool) -> Result<()> {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = GroupVersionKind::gvk(group, version, &kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    let objects: Api<DynamicObject> = match body["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = body["metadata"]["name"].as_str().context("no name")?.to_owned();
    let params = PatchParams::apply("landbridge-failover").force();
    let patch = Patch::Apply(&body);
    if status {
        objects.patch_status(&name, &params, &patch).await
    } else {
        objects.patch(&name, &params, &patch).await
    }
    .with_context(|| format!("cannot apply {} {name}", kind.kind))?;
    Ok(())
}

/// Makes them all.
pub async fn make(client: &Client, count: u16) -> Result<()> {
    for namespace in [SYSTEM, NAMESPACE] {
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(client, "namespaces", body, false).await?;
    }
    let pool = json!({
        "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "failover", "namespace": SYSTEM},
        "spec": {"addresses": ["172.27.0.0/16"], "autoAssign": false},
    });
    apply(client, "ipaddresspools", pool, false).await?;
    let advertisement = json!({
        "apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement",
        "metadata": {"name": "failover", "namespace": SYSTEM},
        "spec": {"ipAddressPools": ["failover"], "interfaces": [INTERFACE]},
    });
    apply(client, "l2advertisements", advertisement, false).await?;
    for number in 1..=count {
        service(client, number).await?;
    }
    Ok(())
}

async fn service(client: &Client, number: u16) -> Result<()> {
    let (name, ip) = (format!("vip-{number}"), address(number).to_string());
    let head = |spec: Value| {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": name, "namespace": NAMESPACE,
                "annotations": {"metallb.io/loadBalancerIPs": ip},
            },
            "spec": spec,
        })
    };
    let ports = json!([{"port": 80, "protocol": "TCP"}]);
    let spec = json!({"type": "LoadBalancer", "ports": ports});
    apply(client, "services", head(spec), false).await?;
    // Where a controller gives addresses it gives this one, too, and this says nothing new.
    let mut status = head(Value::Null);
    status["status"] = json!({"loadBalancer": {"ingress": [{"ip": ip}]}});
    if let Some(body) = status.as_object_mut() {
        body.remove("spec");
    }
    apply(client, "services", status, true).await?;
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["198.51.100.1"], "conditions": {"ready": true}}],
        "ports": [{"port": 80, "protocol": "TCP"}],
    });
    apply(client, "endpointslices", slice, false).await
}
