//! A kind with rules of its own: defaults, refusals across objects, conversion, columns. The same
//! `Hooks` will stand behind real webhooks; here they run in process.

#![allow(clippy::expect_used, clippy::panic)] // helpers of tests, outside of test functions

use std::sync::Arc;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use landbridge_apiserver::{ApiServer, CustomKind, Identity, Options};
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::status::{ApiError, ApiResult};
use landbridge_machinery::table::{Column, Columns};
use serde_json::{Value, json};

const GROUP: &str = "ports.example.org";

/// `Berth`: v1alpha1 has `spec.metres`, v1 (stored) has `spec.length`; two berths of one harbour
/// may not have one number; a berth with a ship in it cannot be deleted.
struct Berths;

impl Hooks for Berths {
    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Create && object["spec"]["harbour"].is_null() {
            object["spec"]["harbour"] = request.namespace.unwrap_or_default().into();
        }
        Ok(())
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        if request.operation == Operation::Delete {
            return match object["spec"]["ship"].as_str() {
                Some(ship) => Err(ApiError::denied(format!("{ship} is still here"))),
                None => Ok(Vec::new()),
            };
        }
        let kind = GroupKind::new(GROUP, "Berth");
        for other in request.objects.list(&kind, request.namespace) {
            let other_name = other["metadata"]["name"].as_str().unwrap_or_default();
            if other_name != request.name && other["spec"]["number"] == object["spec"]["number"] {
                let path = FieldPath::new("spec.number");
                let error = FieldError::duplicate(&path, object["spec"]["number"].clone());
                return Err(ApiError::invalid(&kind, request.name, &[error]));
            }
        }
        let long = object["spec"]["length"].as_i64().is_some_and(|metres| metres > 300);
        Ok(if long { vec!["few ships are that long".to_owned()] } else { Vec::new() })
    }

    fn convert(&self, object: &mut Value, from: &str, to: &str) -> Result<(), String> {
        let (old, new) = match (from, to) {
            ("v1alpha1", "v1") => ("metres", "length"),
            ("v1", "v1alpha1") => ("length", "metres"),
            _ => return Err(format!("unknown versions {from} and {to}")),
        };
        let Some(spec) = object["spec"].as_object_mut() else { return Ok(()) };
        if let Some(value) = spec.remove(old) {
            spec.insert(new.to_owned(), value);
        }
        Ok(())
    }

    fn columns(&self, _version: &str) -> Option<Columns> {
        let columns = vec![Column::name(), Column::new("Taken by", "the ship in the berth")];
        Some(Columns::Computed(columns, |object, _now| {
            let ship = object["spec"]["ship"].as_str().unwrap_or("-");
            vec![object["metadata"]["name"].clone(), ship.into()]
        }))
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("vberth.example.org")
    }
}

fn crd() -> Value {
    let version = |name: &str, storage: bool, length: &str| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "number": {"type": "integer"}, "ship": {"type": "string"},
                    "harbour": {"type": "string"}, length: {"type": "integer", "minimum": 1},
                }},
                "status": {"type": "object", "properties": {"note": {"type": "string"}}},
            }}},
            "subresources": {"status": {}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("berths.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": "berths", "kind": "Berth"},
            "versions": [version("v1alpha1", false, "metres"), version("v1", true, "length")],
        },
    })
}

struct Harbour {
    _dir: tempfile::TempDir,
    server: ApiServer,
    client: kube::Client,
}

async fn harbour() -> Harbour {
    let dir = tempfile::tempdir().expect("temporary directory");
    let server = ApiServer::open(Options::new(dir.path())).await.expect("server");
    let hooks: Arc<dyn Hooks> = Arc::new(Berths);
    server.install(vec![CustomKind { crd: crd(), hooks: Some(hooks) }]).await.expect("installed");
    let client = server.client(Identity::admin());
    Harbour { _dir: dir, server, client }
}

impl Harbour {
    fn berths(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, version, "Berth");
        let resource = ApiResource::from_gvk_with_plural(&kind, "berths");
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    async fn create(&self, version: &str, name: &str, spec: Value) -> kube::Result<DynamicObject> {
        let object = serde_json::from_value(json!({
            "apiVersion": format!("{GROUP}/{version}"), "kind": "Berth",
            "metadata": {"name": name}, "spec": spec,
        }));
        self.berths(version).create(&PostParams::default(), &object.expect("object")).await
    }
}

fn status(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("no Status: {other}"),
    }
}

#[tokio::test]
async fn a_kind_fills_in_and_refuses_with_a_view_of_the_other_objects() {
    let harbour = harbour().await;
    let first =
        harbour.create("v1", "one", json!({"number": 1, "ship": "Ever"})).await.expect("first");
    assert_eq!(first.data["spec"]["harbour"], "default");

    let refused = harbour.create("v1", "two", json!({"number": 1})).await.expect_err("same number");
    let (code, message) = status(refused);
    assert_eq!(code, 422);
    assert_eq!(
        message,
        "admission webhook \"vberth.example.org\" denied the request: \
         Berth.ports.example.org \"two\" is invalid: spec.number: Duplicate value: 1"
    );

    let delete = harbour.berths("v1").delete("one", &DeleteParams::default()).await;
    let (code, message) = status(delete.expect_err("taken"));
    assert_eq!(code, 403);
    assert!(message.ends_with("denied the request: Ever is still here"), "{message}");

    let leave = kube::api::Patch::Merge(json!({"spec": {"ship": null}}));
    let berths = harbour.berths("v1");
    berths.patch("one", &kube::api::PatchParams::default(), &leave).await.expect("leaves");
    berths.delete("one", &DeleteParams::default()).await.expect("empty");
}

#[tokio::test]
async fn each_version_reads_and_writes_the_same_object() {
    let harbour = harbour().await;
    harbour.create("v1alpha1", "old", json!({"number": 1, "metres": 90})).await.expect("old");
    let new = harbour.berths("v1").get("old").await.expect("as v1");
    assert_eq!(new.data["spec"]["length"], 90);
    assert_eq!(new.data["spec"].get("metres"), None);

    harbour.create("v1", "new", json!({"number": 2, "length": 120})).await.expect("new");
    let old =
        harbour.berths("v1alpha1").list(&kube::api::ListParams::default()).await.expect("list");
    let metres: Vec<_> = old.items.iter().map(|o| o.data["spec"]["metres"].as_i64()).collect();
    assert_eq!(metres, [Some(120), Some(90)]);

    // The client's own version judges what the client wrote.
    let refused = harbour.create("v1alpha1", "bad", json!({"number": 3, "metres": 0})).await;
    let (code, message) = status(refused.expect_err("too short"));
    assert_eq!(code, 422);
    assert!(message.contains("spec.metres: Invalid value: 0"), "{message}");
}

#[tokio::test]
async fn columns_and_warnings_reach_the_user() {
    let harbour = harbour().await;
    let body = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Berth", "metadata": {"name": "long"},
        "spec": {"number": 1, "length": 400, "ship": "Ever"},
    });
    let path = format!("/apis/{GROUP}/v1/namespaces/default/berths");
    let request = http::Request::post(&path)
        .body(http_body_util::Full::new(bytes::Bytes::from(body.to_string())))
        .expect("request");
    let answer = harbour.server.handle(request, Some(&Identity::admin())).await;
    assert_eq!(answer.status(), 201);
    let warning = answer.headers().get("warning").expect("warning").to_str().expect("text");
    assert_eq!(warning, "299 - \"few ships are that long\"");

    let table = http::Request::get(&path)
        .header("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
        .body(String::new())
        .expect("request");
    let table: Value = harbour.client.request(table.map(String::into_bytes)).await.expect("table");
    assert_eq!(table["columnDefinitions"][1]["name"], "Taken by");
    assert_eq!(table["rows"][0]["cells"], json!(["long", "Ever"]));
}

#[tokio::test]
async fn rules_are_back_after_a_restart() {
    let harbour = harbour().await;
    harbour.create("v1", "one", json!({"number": 1})).await.expect("first");
    let Harbour { _dir: dir, server, client } = harbour;
    server.shutdown().await;
    drop((server, client));

    let server = ApiServer::open(Options::new(dir.path())).await.expect("again");
    let hooks: Arc<dyn Hooks> = Arc::new(Berths);
    server.install(vec![CustomKind { crd: crd(), hooks: Some(hooks) }]).await.expect("installed");
    let client = server.client(Identity::admin());
    let harbour = Harbour { _dir: dir, server, client };
    let refused = harbour.create("v1", "two", json!({"number": 1})).await.expect_err("same number");
    assert_eq!(status(refused).0, 422);
}

/// What a kind does not let go keeps its namespace, which says so; the rest goes.
#[tokio::test]
async fn an_ending_namespace_says_who_refuses() {
    let harbour = harbour().await;
    let object = |value: Value| serde_json::from_value::<DynamicObject>(value).expect("object");
    let api = |group: &str, version: &str, kind: &str, plural: &str, namespace: Option<&str>| {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        let client = harbour.client.clone();
        match namespace {
            Some(namespace) => Api::<DynamicObject>::namespaced_with(client, namespace, &resource),
            None => Api::<DynamicObject>::all_with(client, &resource),
        }
    };
    let namespaces = api("", "v1", "Namespace", "namespaces", None);
    let berths = api(GROUP, "v1", "Berth", "berths", Some("docks"));
    let maps = api("", "v1", "ConfigMap", "configmaps", Some("docks"));
    let post = PostParams::default();
    let docks =
        object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "docks"}}));
    namespaces.create(&post, &docks).await.expect("namespace");
    let taken = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Berth", "metadata": {"name": "taken"},
        "spec": {"number": 1, "ship": "Ark"},
    });
    berths.create(&post, &object(taken)).await.expect("berth");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "free"}});
    maps.create(&post, &object(map)).await.expect("map");
    namespaces.delete("docks", &DeleteParams::default()).await.expect("marked");

    let complaint = async || {
        let namespace = namespaces.get_opt("docks").await.expect("read")?;
        let conditions = namespace.data["status"]["conditions"].as_array().cloned();
        let failure = conditions.unwrap_or_default().into_iter().find(|condition| {
            condition["type"] == "NamespaceDeletionContentFailure" && condition["status"] == "True"
        });
        failure.map(|condition| condition["message"].as_str().unwrap_or_default().to_owned())
    };
    let said = until(complaint).await;
    assert!(said.starts_with("Failed to delete all resource types, 1 remaining: "), "{said}");
    assert!(said.ends_with("Ark is still here"), "{said}");
    until(async || maps.get_opt("free").await.expect("read").is_none().then_some(())).await;
    let leaves = json!({"spec": {"ship": null}});
    berths.patch("taken", &PatchParams::default(), &Patch::Merge(leaves)).await.expect("leaves");
    until(async || namespaces.get_opt("docks").await.expect("read").is_none().then_some(())).await;
    harbour.server.shutdown().await;
}

async fn until<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..1000 {
        if let Some(found) = attempt().await {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("not within 20 seconds");
}
