//! What protects the server and its objects: limits that are felt, names that cannot be taken.

#![allow(clippy::expect_used)] // helpers of tests, outside of test functions

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use landbridge_apiserver::{ApiServer, Body, Identity, Limits, Options};
use serde_json::{Value, json};

struct Fixture {
    _dir: tempfile::TempDir,
    server: ApiServer,
}

impl Fixture {
    async fn new(limits: Limits) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let options = Options { limits, ..Options::new(dir.path()) };
        Self { server: ApiServer::open(options).await.expect("server"), _dir: dir }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Response<Body> {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder().method(method).uri(path).body(Full::new(body));
        self.server.handle(request.expect("request"), Some(&Identity::admin())).await
    }

    async fn json(&self, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let answer = self.send(method, path, body).await;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.expect("body").to_bytes();
        (status, serde_json::from_slice(&bytes).expect("JSON"))
    }
}

#[tokio::test]
async fn beyond_the_limit_clients_hear_when_to_come_back() {
    let fixture = Fixture::new(Limits { requests: 0, watches: 1 }).await;
    let refused = fixture.send("GET", "/api/v1/namespaces", &Value::Null).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers().get("retry-after").expect("header"), "1");

    // A watch takes its place for as long as it is open, and gives it back.
    let path = "/api/v1/namespaces?watch=true";
    let open = fixture.send("GET", path, &Value::Null).await;
    assert_eq!(open.status(), StatusCode::OK);
    let second = fixture.send("GET", path, &Value::Null).await;
    assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(open);
    assert_eq!(fixture.send("GET", path, &Value::Null).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_crd_cannot_take_a_built_in_resource_nor_delete_its_objects() {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let fixture = Fixture::new(Limits::default()).await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "held"},
    });
    assert_eq!(fixture.json("POST", LEASES, &lease).await.0, StatusCode::CREATED);
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "leases.coordination.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": "coordination.k8s.io", "scope": "Namespaced",
            "names": {"plural": "leases", "kind": "Lease"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let (status, answer) = fixture.json("POST", CRDS, &crd).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let path = format!("{CRDS}/leases.coordination.k8s.io");
    let mut crd = Value::Null;
    for _ in 0..100 {
        crd = fixture.json("GET", &path, &Value::Null).await.1;
        if crd["status"]["conditions"].is_array() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let accepted = &crd["status"]["conditions"][0];
    assert_eq!(
        (&accepted["type"], &accepted["status"]),
        (&json!("NamesAccepted"), &json!("False"))
    );

    assert_eq!(fixture.send("DELETE", &path, &Value::Null).await.status(), StatusCode::OK);
    for _ in 0..100 {
        if fixture.json("GET", &path, &Value::Null).await.0 == StatusCode::NOT_FOUND {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.json("GET", &path, &Value::Null).await.0, StatusCode::NOT_FOUND);
    let held = format!("{LEASES}/held");
    assert_eq!(fixture.json("GET", &held, &Value::Null).await.0, StatusCode::OK, "not the CRD's");
}
