//! The whole controller on the embedded API, with the rights it has in production, and a simulated cloud.

use std::time::Duration;

use http::Method;
use kube::api::DeleteParams;
use landbridge_controllers::octavia::world::Kind;
use serde_json::{Value, json};

use crate::scene::nad;
use crate::sim::Sim;
use crate::stage::{PLANE, Scene, until};

#[tokio::test(flavor = "multi_thread")]
async fn from_the_seeds_patch_to_networks_and_back() {
    let sim = Sim::new();
    let scene = Scene::open(|_| sim.client()).await;
    for node in ["worker-0", "worker-1"] {
        scene.create(Kind::Node.resource(), json!({"metadata": {"name": node}})).await;
    }
    scene
        .create(
            PLANE,
            json!({"metadata": {"name": "controlplane", "namespace": "openstack"}, "spec": {}}),
        )
        .await;
    let patch = include_str!("../../../../examples/seeds/001-octavia/patches/controlplane.yaml");
    let mut patch: Vec<Value> = serde_saphyr::from_multiple(patch).unwrap();
    // OVN makes a definition of that name where there is none, as upstream's does; the seed has applied its own before.
    patch[0]["spec"].as_object_mut().unwrap().remove("ovn");
    scene.patch(PLANE, "controlplane", patch[0].clone()).await;
    // What is missing is told, and what comes is noticed.
    scene.until_told("False", "there is no NetworkAttachmentDefinition octavia").await;
    scene.create(Kind::Attachment.resource(), nad(&json!({}))).await;
    scene.until_told("True", "Octavia Management Network setup completed").await;
    assert_eq!(sim.named("subnets", "lb-mgmt-subnet")["host_routes"].as_array().unwrap().len(), 1);
    until("addresses of nodes", async || {
        let map = scene.get(Kind::Map.resource(), "octavia-hmport-map").await;
        map.is_some_and(|map| map["data"]["rsyslog_worker-1"] == "172.23.0.100")
    })
    .await;
    // The two controllers write to one status, and both come to rest.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let revision = async || {
        scene.get(Kind::Octavia.resource(), "octavia").await.unwrap()["metadata"]["resourceVersion"]
            .clone()
    };
    let before = revision().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(revision().await, before, "somebody writes for ever");

    // Somebody changes Neutron.
    let router = sim.named("routers", "octavia-link-router")["id"].clone();
    let path = format!("/routers/{}", router.as_str().unwrap());
    sim.admin(&Method::PUT, &path, json!({"router": {"external_gateway_info": {}}})).unwrap();
    until("the gateway is back", async || {
        sim.named("routers", "octavia-link-router")["external_gateway_info"].is_object()
    })
    .await;
    // Somebody changes the attachment: wrongly, and rightly.
    let config = |change: Value| json!({"spec": {"config": nad(&change)["spec"]["config"]}});
    let wrong = json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.40"}]});
    scene.patch(Kind::Attachment.resource(), "octavia", config(wrong)).await;
    scene
        .until_told("False", "the router's address 172.23.0.40 lies in 172.23.0.30-172.23.0.70")
        .await;
    let right = json!({"routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.160"}]});
    scene.patch(Kind::Attachment.resource(), "octavia", config(right)).await;
    scene.until_told("True", "completed").await;
    let ip = &sim.named("routers", "octavia-link-router")["external_gateway_info"]["external_fixed_ips"]
        [0];
    assert_eq!(ip["ip_address"], "172.23.0.160");
    // A node comes.
    scene.create(Kind::Node.resource(), json!({"metadata": {"name": "worker-2"}})).await;
    until("the new node has addresses", async || {
        let map = scene.get(Kind::Map.resource(), "octavia-hmport-map").await;
        map.is_some_and(|map| map["data"]["hm_worker-2"] == "172.23.0.101")
    })
    .await;
    // The cloud is away for a while.
    let project = sim.with(|state| state.projects.remove("service")).unwrap();
    scene.until_told("False", "Keystone has no project service in domain Default").await;
    sim.with(|state| state.projects.insert("service".to_owned(), project));
    scene.until_told("True", "completed").await;

    scene
        .api(Kind::Attachment.resource())
        .delete("octavia", &DeleteParams::default())
        .await
        .unwrap();
    scene.patch(PLANE, "controlplane", json!({"spec": {"octavia": {"enabled": false}}})).await;
    until("the Octavia is gone", async || {
        scene.get(Kind::Octavia.resource(), "octavia").await.is_none()
    })
    .await;
    for kind in ["networks", "subnets", "ports", "routers", "security-groups", "rbac-policies"] {
        assert_eq!(sim.all(kind), Vec::<Value>::new(), "{kind}");
    }
}
