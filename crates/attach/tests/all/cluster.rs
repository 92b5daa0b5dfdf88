//! The cluster behind an API: what is sent, and what answers mean.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use landbridge_attach::objects::{Event, KubeObjects, ObjectError, Objects};
use landbridge_cni::whereabouts::{Operation, Reservation};
use serde_json::{Value, json};

use crate::support::pod;

/// What is answered to a request, in order; the last one again and again.
type Answers = BTreeMap<String, Vec<(u16, Value)>>;
type Seen = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A server that notes requests (method and path, kind of content, body) and answers with the
/// next of the answers for a path, or with 404.
struct Api {
    runtime: tokio::runtime::Runtime,
    seen: Seen,
    answers: Arc<Mutex<Answers>>,
    directory: tempfile::TempDir,
}

impl Api {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let api = Self { runtime, seen: Arc::default(), answers: Arc::default(), directory };
        let socket = api.directory.path().join("api.sock");
        let (seen, answers) = (Arc::clone(&api.seen), Arc::clone(&api.answers));
        let listener =
            api.runtime.block_on(async { tokio::net::UnixListener::bind(&socket).unwrap() });
        api.runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                tokio::spawn(async move {
                    let service =
                        service_fn(move |request: http::Request<hyper::body::Incoming>| {
                            let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                            async move {
                                let key = format!("{} {}", request.method(), request.uri());
                                let kind = request.headers().get("content-type");
                                let kind = kind.map_or("", |k| k.to_str().unwrap()).to_owned();
                                let body = request.into_body().collect().await.unwrap().to_bytes();
                                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                                seen.lock().unwrap().push((key.clone(), kind, body));
                                let next = answers.lock().unwrap().get_mut(&key).and_then(|list| {
                                    if list.len() > 1 {
                                        Some(list.remove(0))
                                    } else {
                                        list.first().cloned()
                                    }
                                });
                                let (code, body) = next.unwrap_or((404, status(404)));
                                if code == 0 {
                                    tokio::time::sleep(Duration::from_mins(1)).await;
                                }
                                let response = http::Response::builder().status(code.max(200));
                                response
                                    .header("content-type", "application/json")
                                    .body(Full::new(bytes::Bytes::from(body.to_string())))
                            }
                        });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        api
    }

    fn objects(&self) -> KubeObjects {
        let socket = self.directory.path().join("api.sock");
        let client = self.runtime.block_on(async { landbridge_client::unix(&socket) });
        KubeObjects::new(client, self.runtime.handle().clone(), "kube-system")
            .with_limit(Duration::from_secs(2))
    }

    fn answer(&self, request: &str, answers: &[(u16, Value)]) {
        self.answers.lock().unwrap().insert(request.to_owned(), answers.to_vec());
    }

    fn seen(&self) -> Vec<(String, String, Value)> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn status(code: u16) -> Value {
    let reason = if code == 404 { "NotFound" } else { "no" };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no",
        "reason": reason, "code": code})
}

const POOL: &str =
    "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/10.0.0.0-24";
const RESERVATIONS: &str =
    "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations";

fn pool_object() -> Value {
    json!({"apiVersion": "whereabouts.cni.cncf.io/v1alpha1", "kind": "IPPool",
        "metadata": {"name": "10.0.0.0-24", "resourceVersion": "7"},
        "spec": {"range": "10.0.0.0/24", "allocations": {"1": {"id": "c", "podref": "n/p"}}}})
}

#[test]
fn what_is_not_there_is_none_and_what_is_there_is_read() {
    let api = Api::new();
    let objects = api.objects();
    assert_eq!(objects.pod("n", "p").unwrap(), None);
    assert_eq!(objects.pool("10.0.0.0-24").unwrap(), None);
    assert_eq!(objects.definition("n", "x").unwrap(), None);
    api.answer(&format!("GET {POOL}"), &[(200, pool_object())]);
    let pool = objects.pool("10.0.0.0-24").unwrap().unwrap();
    assert_eq!((pool.resource_version.as_str(), pool.spec.allocations.len()), ("7", 1));
    let found = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "1"},
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ovn", "uid": "2", "controller": true}]},
        "spec": {"nodeName": "worker-0", "containers": []},
        "status": {"phase": "Failed", "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}]}});
    api.answer("GET /api/v1/namespaces/n/pods/p", &[(200, found)]);
    let pod = objects.pod("n", "p").unwrap().unwrap();
    assert_eq!(pod.controller.unwrap().name, "ovn");
    assert!(pod.is_finished && pod.is_lost && !pod.is_terminating);
    assert_eq!(pod.node, "worker-0");
}

#[test]
fn answers_mean_what_they_say() {
    let api = Api::new();
    let objects = api.objects();
    let patch = [Operation::Remove { path: "/spec/allocations/1".into() }];
    let cases =
        [(422, "conflict"), (409, "conflict"), (403, "refused"), (500, "away"), (429, "away")];
    for (code, expected) in cases {
        api.answer(
            &format!("PATCH {POOL}?&fieldManager=landbridge-attach"),
            &[(code, status(code))],
        );
        let error = objects.patch_pool("10.0.0.0-24", &patch).unwrap_err();
        let found = match error {
            ObjectError::Conflict(_) => "conflict",
            ObjectError::Refused(_) => "refused",
            ObjectError::Unreachable(_) => "away",
        };
        assert_eq!(found, expected, "{code}: {:?}", api.seen());
    }
    let (_, kind, body) = api.seen().remove(0);
    assert_eq!(kind, "application/json-patch+json");
    assert_eq!(body, json!([{"op": "remove", "path": "/spec/allocations/1"}]));
}

#[test]
fn an_api_that_does_not_answer_is_not_waited_for() {
    let api = Api::new();
    let objects = api.objects();
    api.answer(&format!("GET {POOL}"), &[(0, Value::Null)]);
    let begun = Instant::now();
    let error = objects.pool("10.0.0.0-24").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the Kubernetes API does not answer: reading IPPool 10.0.0.0-24: no answer within 2 s"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn reservations_are_deleted_in_one_state_only() {
    let api = Api::new();
    let objects = api.objects();
    // Gone is fine.
    objects.delete_reservation("10.0.0.1", "5").unwrap();
    let (_, _, body) = api.seen().remove(0);
    assert_eq!(body["preconditions"]["resourceVersion"], "5");
    api.answer(&format!("DELETE {RESERVATIONS}/10.0.0.1?"), &[(409, status(409))]);
    assert!(objects.delete_reservation("10.0.0.1", "5").unwrap_err().is_conflict());
    api.answer(&format!("POST {RESERVATIONS}?"), &[(409, status(409))]);
    let spec = Reservation { podref: "n/p".into(), ..Reservation::default() };
    assert!(objects.create_reservation("10.0.0.1", &spec).unwrap_err().is_conflict());
    let (_, _, body) = api.seen().pop().unwrap();
    assert_eq!(body["spec"], json!({"podref": "n/p"}));
    assert_eq!(body["kind"], "OverlappingRangeIPReservation");
}

#[test]
fn the_status_goes_to_the_pod_it_is_about() {
    let api = Api::new();
    let objects = api.objects();
    let path = "/api/v1/namespaces/n/pods/p";
    // A pod that is gone is no error.
    objects.set_network_status(&pod("n/p", ""), "[]").unwrap();
    let (request, kind, body) = api.seen().remove(0);
    assert!(request.starts_with(&format!("PATCH {path}/status")), "{request}");
    assert_eq!(kind, "application/merge-patch+json");
    assert_eq!(body["metadata"]["uid"], "uid-p");
    assert_eq!(body["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"], "[]");
    // A conflict is tried again while it is the same pod.
    let there = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "uid-p"}});
    api.answer(&format!("GET {path}"), &[(200, there.clone())]);
    api.answer(&request, &[(409, status(409)), (409, status(409)), (200, there.clone())]);
    objects.set_network_status(&pod("n/p", ""), "[]").unwrap();
    assert_eq!(api.seen().iter().filter(|(key, ..)| key.starts_with("PATCH")).count(), 3);
    // Another pod of the same name is left alone.
    let mut other = there;
    other["metadata"]["uid"] = json!("later");
    api.answer(&format!("GET {path}"), &[(200, other)]);
    api.answer(&request, &[(409, status(409))]);
    objects.set_network_status(&pod("n/p", ""), "[]").unwrap();
    assert_eq!(api.seen().iter().filter(|(key, ..)| key.starts_with("PATCH")).count(), 1);
}

#[test]
fn events_are_sent_without_waiting() {
    let api = Api::new();
    let objects = api.objects();
    let event = |message: &str| Event {
        is_warning: true,
        reason: "NoNetworkFound",
        message: message.into(),
    };
    objects.tell(&pod("n/p", ""), vec![event("a"), event("b")]);
    objects.finish(Duration::from_secs(10));
    let seen = api.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].0.starts_with("POST /api/v1/namespaces/n/events"), "{}", seen[0].0);
    let body = &seen[0].2;
    assert_eq!(
        (&body["reason"], &body["type"], &body["message"]),
        (&json!("NoNetworkFound"), &json!("Warning"), &json!("a"))
    );
    assert_eq!(body["involvedObject"]["uid"], "uid-p");
    assert_ne!(body["metadata"]["name"], seen[1].2["metadata"]["name"]);
}
