//! The whole controller on the embedded API, with the rights it has in production, and a simulated
//! Keystone; and settings from a Secret.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use landbridge_apiserver::{ApiServer, CustomKind, Identity, Options};
use landbridge_controllers::keystone::record::Kind;
use landbridge_controllers::{Settings, clouds, keystone, rights};
use landbridge_openstack::error::Asked;
use landbridge_openstack::{Client as OpenStack, Error, Source as _};
use serde_json::{Value, json};

use super::simulated::Simulated;

struct Scene {
    /// Kept until the end.
    _dir: tempfile::TempDir,
    server: ApiServer,
    admin: Client,
}

impl Scene {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(Options::new(dir.path())).await.unwrap();
        let crds = landbridge_api::all_crds().into_iter();
        let kinds =
            crds.map(|crd| CustomKind { crd: serde_json::to_value(crd).unwrap(), hooks: None });
        server.install(kinds.collect()).await.unwrap();
        let admin = server.client(Identity::admin());
        let scene = Self { _dir: dir, server, admin };
        let namespaces: Api<DynamicObject> = Api::all_with(
            scene.admin.clone(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace")),
        );
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack"}});
        let object = serde_json::from_value(object).unwrap();
        namespaces.create(&PostParams::default(), &object).await.unwrap();
        scene
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let (name, plural) = kind.names();
        let kind = GroupVersionKind::gvk("keystone.openstack.org", "v1beta1", name);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.admin.clone(), "openstack", &resource)
    }

    async fn create(&self, kind: Kind, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "keystone.openstack.org/v1beta1", "kind": kind.names().0,
            "metadata": {"name": name, "namespace": "openstack"}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        self.api(kind).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn get(&self, kind: Kind) -> Option<Value> {
        let found = self.api(kind).get_opt("glance").await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    /// Status and message of `Ready`.
    async fn ready(&self, kind: Kind) -> String {
        let object = self.get(kind).await.unwrap_or_default();
        let first = &object["status"]["conditions"][0];
        let part = |field: &str| first[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("status"), part("message"))
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

fn url(keystone: &Simulated) -> Option<String> {
    let state = keystone.state();
    Some(state.endpoints.values().next()?["url"].as_str()?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn from_records_to_keystone_and_back() {
    let scene = Scene::open().await;
    let settings = Settings { control_planes: true, ..Settings::default() };
    rights::grant(&scene.admin, rights::USER, &settings).await.unwrap();
    let own = scene.server.client(Identity::new(rights::USER, &[]).authenticated());
    let simulated = Simulated::default();
    let often =
        keystone::Settings { period: Duration::from_millis(300), ..keystone::Settings::default() };
    let cloud = OpenStack::new(simulated.clone());
    let _work = tokio::spawn(keystone::run(own, cloud, often, std::future::pending()));

    let internal = "http://glance-internal.openstack.svc:9292";
    let spec = json!({"serviceName": "glance", "endpoints": {"internal": internal}});
    scene.create(Kind::Endpoint, "glance", spec).await;
    until("what is missing is told", async || {
        scene.ready(Kind::Endpoint).await.ends_with("Keystone has no service glance")
    })
    .await;
    let spec = json!({"serviceName": "glance", "serviceType": "image", "enabled": true});
    scene.create(Kind::Service, "glance", spec).await;
    for kind in Kind::ALL {
        until("ready", async || scene.ready(kind).await == "True: Setup complete").await;
    }
    assert_eq!(url(&simulated).as_deref(), Some(internal));
    // It comes to rest.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let revision =
        async || scene.get(Kind::Endpoint).await.unwrap()["metadata"]["resourceVersion"].clone();
    let before = revision().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(revision().await, before, "somebody writes for ever");

    // Another URL is declared, then somebody meddles in Keystone.
    let patch = json!({"spec": {"endpoints": {"internal": "http://other:9292"}}});
    let params = PatchParams::default();
    scene.api(Kind::Endpoint).patch("glance", &params, &Patch::Merge(patch)).await.unwrap();
    until("changed", async || url(&simulated).as_deref() == Some("http://other:9292")).await;
    for endpoint in simulated.state().endpoints.values_mut() {
        endpoint["url"] = "http://evil".into();
    }
    until("corrected", async || url(&simulated).as_deref() == Some("http://other:9292")).await;

    // Keystone is away for a while.
    let asked = Asked { method: http::Method::GET, url: "http://k/v3/services".to_owned() };
    simulated.state().away = Some(Error::Unreachable { asked, why: "refused".to_owned() });
    until("told", async || {
        let told = scene.ready(Kind::Service).await;
        told == "False: KeystoneAPI error occurred GET http://k/v3/services: cannot be reached: refused"
    })
    .await;
    let params = DeleteParams::default();
    scene.api(Kind::Endpoint).delete("glance", &params).await.unwrap();
    scene.api(Kind::Service).delete("glance", &params).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(scene.get(Kind::Endpoint).await.is_some(), "it is still registered");
    simulated.state().away = None;
    for kind in Kind::ALL {
        until("gone", async || scene.get(kind).await.is_none()).await;
    }
    let state = simulated.state();
    assert!(state.services.is_empty() && state.endpoints.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_come_from_a_secret() {
    let scene = Scene::open().await;
    // With the rights that the controllers have: this Secret, and no other.
    let cloud_secret = Some(("openstack".to_owned(), "cloud".to_owned()));
    let settings = Settings { control_planes: true, cloud_secret, ..Settings::default() };
    rights::grant(&scene.admin, rights::USER, &settings).await.unwrap();
    let own = scene.server.client(Identity::new(rights::USER, &[]).authenticated());
    let other: Api<KubeSecret> = Api::namespaced(own.clone(), "openstack");
    assert!(matches!(other.get("another").await, Err(kube::Error::Api(told)) if told.code == 403));
    let source = clouds::Secret {
        kube: own,
        namespace: "openstack".to_owned(),
        name: "cloud".to_owned(),
        cloud: Some("prod".to_owned()),
    };
    let error = source.load().await.unwrap_err();
    assert!(matches!(error, Error::Nowhere(_)));
    assert_eq!(
        error.to_string(),
        "Secret openstack/cloud is not there: it should hold a clouds.yaml"
    );
    let secrets: Api<KubeSecret> = Api::namespaced(scene.admin.clone(), "openstack");
    let held = |text: &str| ByteString(text.as_bytes().to_vec());
    let mut secret = KubeSecret::default();
    secret.metadata.name = Some("cloud".to_owned());
    let data = [("clouds.yaml".to_owned(), held("clouds: {lab: {}}"))];
    secret.data = Some(data.into());
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(
        source.load().await.unwrap_err().to_string(),
        "Secret openstack/cloud, key clouds.yaml has no cloud prod; it has lab"
    );
    let right = "clouds: {prod: {auth: {auth_url: 'http://k', user_id: u, project_id: z}}}";
    let patch = json!({"stringData": {
        "clouds.yaml": right,
        "secure.yaml": "clouds: {prod: {auth: {password: hidden}}}",
        "cacert": "PEM",
    }});
    secrets.patch("cloud", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let settings = source.load().await.unwrap();
    assert_eq!((settings.cloud.as_str(), settings.auth_url.as_str()), ("prod", "http://k"));
    assert_eq!(settings.trust.authorities.as_deref(), Some(&b"PEM"[..]));
    assert!(!format!("{settings:?}").contains("hidden"));
}
