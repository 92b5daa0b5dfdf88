//! The addresses that are announced: a pool, an advertisement, Services, and pods on all nodes
//! behind them.

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// Where they are announced: the trunk of the lab's nodes, untagged.
pub const INTERFACE: &str = "enp6s0";
/// Whom the prober asks as: pods answer to an address.
pub const CLIENT: &str = "172.27.255.100/16";
const SYSTEM: &str = "metallb-system";
const NAMESPACE: &str = "failover";

/// The address of a Service, by its number.
pub fn address(number: u16) -> std::net::Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    std::net::Ipv4Addr::new(172, 27, high, low)
}

async fn apply(client: &Client, plural: &str, body: Value) -> Result<()> {
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
    let applied = objects.patch(&name, &params, &Patch::Apply(&body)).await;
    applied.with_context(|| format!("cannot apply {} {name}", kind.kind))?;
    Ok(())
}

/// Makes them all.
pub async fn make(client: &Client, count: u16) -> Result<()> {
    for namespace in [SYSTEM, NAMESPACE] {
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(client, "namespaces", body).await?;
    }
    let pool = json!({
        "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
        "metadata": {"name": "failover", "namespace": SYSTEM},
        "spec": {"addresses": ["172.27.0.0/16"], "autoAssign": false},
    });
    apply(client, "ipaddresspools", pool).await?;
    let advertisement = json!({
        "apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement",
        "metadata": {"name": "failover", "namespace": SYSTEM},
        "spec": {"ipAddressPools": ["failover"], "interfaces": [INTERFACE]},
    });
    apply(client, "l2advertisements", advertisement).await?;
    pods(client).await?;
    for number in 1..=count {
        service(client, number).await?;
    }
    Ok(())
}

/// Pods on every node, two each: who fails takes some of them along.
async fn pods(client: &Client) -> Result<()> {
    let labels = json!({"app": "web"});
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }]);
    let container = json!({
        "name": "web", "image": "web",
        "ports": [{"name": "http", "containerPort": 8080}],
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {
            "replicas": 6, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "topologySpreadConstraints": spread},
            },
        },
    });
    apply(client, "deployments", deployment).await
}

async fn service(client: &Client, number: u16) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": format!("vip-{number}"), "namespace": NAMESPACE,
            "annotations": {"metallb.io/loadBalancerIPs": address(number).to_string()},
        },
        "spec": {
            "type": "LoadBalancer", "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": "http", "protocol": "TCP"}],
        },
    });
    apply(client, "services", service).await
}
