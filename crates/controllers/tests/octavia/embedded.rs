//! The whole controller on the embedded API, with the rights it has in production, and a simulated cloud.

use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use landbridge_apiserver::{ApiServer, CustomKind, Identity, Options};
use landbridge_controllers::octavia::world::Kind;
use landbridge_controllers::octavia::{self, assess::CONDITION};
use landbridge_controllers::{Settings, endpoints, rights};
use serde_json::{Value, json};

use crate::scene::nad;
use crate::sim::Sim;

const PLANE: (&str, &str, &str, &str) =
    ("core.openstack.org", "v1beta1", "OpenStackControlPlane", "openstackcontrolplanes");
const NAMESPACE: (&str, &str, &str, &str) = ("", "v1", "Namespace", "namespaces");

struct Scene {
    admin: Client,
    sim: Sim,
}

impl Scene {
    fn api(&self, (group, version, kind, plural): (&str, &str, &str, &str)) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        if group.is_empty() && plural != "configmaps" {
            return Api::all_with(self.admin.clone(), &resource);
        }
        Api::namespaced_with(self.admin.clone(), "openstack", &resource)
    }

    async fn create(&self, kind: (&str, &str, &str, &str), mut object: Value) {
        let (group, version, name, _) = kind;
        let api_version =
            if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        object["apiVersion"] = api_version.into();
        object["kind"] = name.into();
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        let object = serde_json::from_value(object).unwrap();
        self.api(kind).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn patch(&self, kind: (&str, &str, &str, &str), name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn get(&self, kind: (&str, &str, &str, &str), name: &str) -> Option<Value> {
        let found = self.api(kind).get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    /// Status and message of the condition.
    async fn told(&self) -> (String, String) {
        let Some(octavia) = self.get(Kind::Octavia.resource(), "octavia").await else {
            return (String::new(), String::new());
        };
        let list = octavia["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = list.into_iter().find(|one| one["type"] == CONDITION).unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("message"))
    }

    async fn until_told(&self, status: &str, part: &str) {
        for _ in 0..300 {
            let told = self.told().await;
            if told.0 == status && told.1.contains(part) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{status} {part:?} is not told: {:?}", self.told().await);
    }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..300 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}: never");
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_seeds_patch_to_networks_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = ApiServer::open(Options::new(dir.path())).await.unwrap();
    let crds = landbridge_api::all_crds().into_iter();
    let kinds = crds.map(|crd| CustomKind { crd: serde_json::to_value(crd).unwrap(), hooks: None });
    server.install(kinds.collect()).await.unwrap();
    let scene = Scene { admin: server.client(Identity::admin()), sim: Sim::new() };
    let settings = Settings { control_planes: true, ..Settings::default() };
    rights::grant(&scene.admin, rights::USER, &settings).await.unwrap();
    let own = server.client(Identity::new(rights::USER, &[]).authenticated());
    let period = octavia::Settings { period: SignedDuration::from_millis(300) };
    let (client, cloud) = (own.clone(), scene.sim.client());
    let _networks = tokio::spawn(octavia::run(client, cloud, period, std::future::pending()));
    let _planes = tokio::spawn(endpoints::run(own, std::future::pending()));

    scene.create(NAMESPACE, json!({"metadata": {"name": "openstack"}})).await;
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
    assert_eq!(
        scene.sim.named("subnets", "lb-mgmt-subnet")["host_routes"].as_array().unwrap().len(),
        1
    );
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
    let router = scene.sim.named("routers", "octavia-link-router")["id"].clone();
    let path = format!("/routers/{}", router.as_str().unwrap());
    scene.sim.admin(&Method::PUT, &path, json!({"router": {"external_gateway_info": {}}})).unwrap();
    until("the gateway is back", async || {
        scene.sim.named("routers", "octavia-link-router")["external_gateway_info"].is_object()
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
    let ip = &scene.sim.named("routers", "octavia-link-router")["external_gateway_info"]["external_fixed_ips"]
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
    let project = scene.sim.with(|state| state.projects.remove("service")).unwrap();
    scene.until_told("False", "Keystone has no project service in domain Default").await;
    scene.sim.with(|state| state.projects.insert("service".to_owned(), project));
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
        assert_eq!(scene.sim.all(kind), Vec::<Value>::new(), "{kind}");
    }
}
