//! Whatever is wrong with the cloud or the way to it is told in the condition, and when it is right again everything goes
//! on: nobody restarts anything.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::api::DeleteParams;
use landbridge_controllers::clouds;
use landbridge_controllers::octavia::world::Kind;
use landbridge_openstack::{
    Call, Client, Clock, Cloud, Error, Following, Method, Service, Session, Settings,
};
use serde_json::{Value, json};

use crate::place::{Embedded, Place};
use crate::scene::nad;
use crate::stage::{SECRET, Scene, until};

const KUBE_SECRET: (&str, &str, &str, &str) = ("", "v1", "Secret", "secrets");

/// The cloud that the Secret describes, over a wire to the embedded one.
fn following(kube: &kube::Client, cloud: Embedded) -> Client {
    let secret = clouds::Secret {
        kube: kube.clone(),
        namespace: "openstack".to_owned(),
        name: SECRET.to_owned(),
        cloud: None,
    };
    let begin = move |settings: Settings| -> Result<Arc<dyn Cloud>, Error> {
        Ok(Arc::new(Session::new(settings, cloud.clone(), Fast::new())))
    };
    Client::new(Following::new(secret, begin, Fast::new()))
}

/// A clock that is ten times as fast as others: a client leaves Keystone alone for seconds, and believes it longer.
struct Fast(Timestamp);

impl Fast {
    fn new() -> Self {
        Self(Timestamp::now())
    }
}

impl Clock for Fast {
    fn now(&self) -> Timestamp {
        self.0 + Timestamp::now().duration_since(self.0) * 10
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(wait / 10))
    }
    fn chance(&self) -> u64 {
        0
    }
}

fn secret(password: &str, region: &str) -> Value {
    let text = json!({"clouds": {"lab": {"region_name": region, "auth": {"auth_url": "http://identity/v3",
        "username": "admin", "password": password, "project_name": "admin",
        "user_domain_name": "Default", "project_domain_name": "Default"}}}});
    json!({"clouds.yaml": STANDARD.encode(text.to_string())})
}

async fn ask(place: &Place, method: Method, path: &str, body: Option<Value>) -> Value {
    let mut call = Call::new(Service::Identity, method, path);
    call.body = body;
    place.client.call(call).await.unwrap().body
}

/// A cloud, and an Octavia that wants its networks there.
async fn begin(data: Option<Value>) -> (Embedded, Place, Scene) {
    let cloud = Embedded::new();
    let place = Place {
        name: "embedded".to_owned(),
        client: cloud.client("admin", "secret"),
        has_nova: true,
    };
    let scene = Scene::open(|kube| following(kube, cloud.clone())).await;
    if let Some(data) = data {
        put_secret(&scene, data).await;
    }
    scene.create(Kind::Node.resource(), json!({"metadata": {"name": "worker-0"}})).await;
    scene.create(Kind::Attachment.resource(), nad(&json!({}))).await;
    let meta = json!({"name": "octavia", "namespace": "openstack"});
    scene.create(Kind::Octavia.resource(), json!({"metadata": meta, "spec": {}})).await;
    (cloud, place, scene)
}

async fn put_secret(scene: &Scene, data: Value) {
    let meta = json!({"name": SECRET, "namespace": "openstack"});
    scene.create(KUBE_SECRET, json!({"metadata": meta, "data": data})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_wrong_credentials() {
    let (cloud, place, scene) = begin(None).await;
    // Nobody has said where the cloud is; then who to be is wrong.
    scene
        .until_told("False", "Secret openstack/cloud is not there: it should hold a clouds.yaml")
        .await;
    put_secret(&scene, secret("mistyped", "RegionOne")).await;
    scene.until_told("False", "cannot log in to cloud lab").await;
    let (_, told) = scene.told().await;
    assert!(told.contains("401") && !told.contains("mistyped"), "{told}");
    scene.patch(KUBE_SECRET, SECRET, json!({"data": secret("secret", "RegionOne")})).await;
    scene.until_told("True", "completed").await;
    assert_eq!(place.all_of("networks").await.len(), 2);

    // The password is changed: tokens of before count no more, and neither does what the Secret says.
    let users = ask(&place, Method::GET, "/users?name=admin", None).await;
    let path = format!("/users/{}", users["users"][0]["id"].as_str().unwrap());
    ask(&place, Method::PATCH, &path, Some(json!({"user": {"password": "new"}}))).await;
    scene.until_told("False", "cannot log in to cloud lab").await;
    scene.patch(KUBE_SECRET, SECRET, json!({"data": secret("new", "RegionOne")})).await;
    scene.until_told("True", "completed").await;

    // All the while it is looked after.
    let place = Place { client: cloud.client("admin", "new"), ..place };
    let network = place.named("networks", "lb-mgmt-net").await;
    let path = format!("/networks/{}", network["id"].as_str().unwrap());
    place.put(&path, json!({"network": {"admin_state_up": false}})).await;
    until("the network is up again", async || {
        place.named("networks", "lb-mgmt-net").await["admin_state_up"] == true
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_service_that_is_missing() {
    let (_cloud, place, scene) = begin(None).await;
    let services = ask(&place, Method::GET, "/services?type=network", None).await;
    let service = services["services"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/endpoints?service_id={service}");
    let endpoints =
        ask(&place, Method::GET, &path, None).await["endpoints"].as_array().unwrap().clone();
    assert!(!endpoints.is_empty());
    for endpoint in &endpoints {
        let path = format!("/endpoints/{}", endpoint["id"].as_str().unwrap());
        ask(&place, Method::DELETE, &path, None).await;
    }
    put_secret(&scene, secret("secret", "RegionOne")).await;
    scene.until_told("False", "has no public endpoint of network").await;
    for endpoint in endpoints {
        let body = json!({"endpoint": {"service_id": service, "interface": endpoint["interface"],
            "region_id": endpoint["region_id"], "url": endpoint["url"]}});
        ask(&place, Method::POST, "/endpoints", Some(body)).await;
    }
    scene.until_told("True", "completed").await;
    let delete = DeleteParams::default();
    scene.api(Kind::Octavia.resource()).delete("octavia", &delete).await.unwrap();
    until("the Octavia is gone", async || {
        scene.get(Kind::Octavia.resource(), "octavia").await.is_none()
    })
    .await;
    assert_eq!(place.all_of("networks").await.len(), 0);
}
