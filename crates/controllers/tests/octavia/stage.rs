//! The embedded API with the controllers of control planes and of Octavia's networks, which have the rights they have in
//! production.

use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use landbridge_apiserver::{ApiServer, CustomKind, Identity, Options};
use landbridge_controllers::octavia::world::Kind;
use landbridge_controllers::octavia::{self, assess::CONDITION};
use landbridge_controllers::{Settings, endpoints, rights};
use landbridge_openstack::Client as OpenStack;
use serde_json::{Value, json};

pub const PLANE: (&str, &str, &str, &str) =
    ("core.openstack.org", "v1beta1", "OpenStackControlPlane", "openstackcontrolplanes");
pub const NAMESPACE: (&str, &str, &str, &str) = ("", "v1", "Namespace", "namespaces");

/// The Secret that the controllers may read.
pub const SECRET: &str = "cloud";

pub struct Scene {
    pub admin: Client,
    /// Kept until the end.
    _dir: tempfile::TempDir,
}

impl Scene {
    /// Starts everything; `cloud` gives the cloud to whoever has the controllers' rights.
    pub async fn open(cloud: impl FnOnce(&Client) -> OpenStack) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(Options::new(dir.path())).await.unwrap();
        let crds = landbridge_api::all_crds().into_iter();
        let kinds =
            crds.map(|crd| CustomKind { crd: serde_json::to_value(crd).unwrap(), hooks: None });
        server.install(kinds.collect()).await.unwrap();
        let scene = Self { admin: server.client(Identity::admin()), _dir: dir };
        scene.create(NAMESPACE, json!({"metadata": {"name": "openstack"}})).await;
        let cloud_secret = Some(("openstack".to_owned(), SECRET.to_owned()));
        let settings = Settings { control_planes: true, cloud_secret, ..Settings::default() };
        rights::grant(&scene.admin, rights::USER, &settings).await.unwrap();
        let own = server.client(Identity::new(rights::USER, &[]).authenticated());
        let often = octavia::Settings {
            period: SignedDuration::from_millis(300),
            longest_wait: SignedDuration::from_secs(2),
        };
        let cloud = cloud(&own);
        tokio::spawn(octavia::run(own.clone(), cloud, often, std::future::pending()));
        tokio::spawn(endpoints::run(own, std::future::pending()));
        scene
    }

    pub fn api(
        &self,
        (group, version, kind, plural): (&str, &str, &str, &str),
    ) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        if matches!(plural, "namespaces" | "nodes") {
            return Api::all_with(self.admin.clone(), &resource);
        }
        Api::namespaced_with(self.admin.clone(), "openstack", &resource)
    }

    pub async fn create(&self, kind: (&str, &str, &str, &str), mut object: Value) {
        let (group, version, name, _) = kind;
        let api_version =
            if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        object["apiVersion"] = api_version.into();
        object["kind"] = name.into();
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        let object = serde_json::from_value(object).unwrap();
        self.api(kind).create(&PostParams::default(), &object).await.unwrap();
    }

    pub async fn patch(&self, kind: (&str, &str, &str, &str), name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn get(&self, kind: (&str, &str, &str, &str), name: &str) -> Option<Value> {
        let found = self.api(kind).get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    /// Status and message of the condition.
    pub async fn told(&self) -> (String, String) {
        let Some(octavia) = self.get(Kind::Octavia.resource(), "octavia").await else {
            return (String::new(), String::new());
        };
        let list = octavia["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = list.into_iter().find(|one| one["type"] == CONDITION).unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("message"))
    }

    pub async fn until_told(&self, status: &str, part: &str) {
        for _ in 0..600 {
            let told = self.told().await;
            if told.0 == status && told.1.contains(part) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{status} {part:?} is not told: {:?}", self.told().await);
    }
}

pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}: never");
}
