//! What a node may do.

use landbridge_apiserver::Identity;
use serde_json::json;

use crate::world::{Who, World};

fn node(name: &str) -> Who {
    Who::Known(Identity::new(format!("system:node:{name}"), &["system:nodes"]))
}

async fn populated() -> World {
    let world = World::new().await;
    for name in ["one", "two"] {
        world.make("/api/v1/nodes", json!({"metadata": {"name": name}})).await;
        let pod = json!({"metadata": {"name": name}, "spec": {
            "nodeName": name, "serviceAccountName": "default",
            "volumes": [{"name": "v", "secret": {"secretName": name}}],
            "containers": [{"name": "c", "image": "i"}]}});
        world.make("/api/v1/namespaces/default/pods", pod).await;
        world.make("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": name}})).await;
    }
    world
}

#[tokio::test]
async fn a_node_reads_what_its_pods_need() {
    let world = populated().await;
    let table = [
        ("/api/v1/nodes/one", true),
        ("/api/v1/nodes/two", false),
        ("/api/v1/nodes", false),
        ("/api/v1/nodes?fieldSelector=metadata.name%3Done", true),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Done", true),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Done&watch=true", true),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dtwo", false),
        ("/api/v1/pods", false),
        ("/api/v1/namespaces/default/pods/one", true),
        ("/api/v1/namespaces/default/pods/two", false),
        ("/api/v1/namespaces/default/secrets/one", true),
        ("/api/v1/namespaces/default/secrets/two", false),
        ("/api/v1/namespaces/default/secrets", false),
        ("/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Done&watch=true", true),
        ("/api/v1/services", true),
        ("/api/v1/namespaces", false),
        ("/apis/apps/v1/deployments", false),
        ("/version", true),
    ];
    for (path, wanted) in table {
        let answer = world.get(&node("one"), path).await;
        assert_eq!(answer.code, if wanted { 200 } else { 403 }, "{path}: {answer:?}");
    }
    // The name alone does not make a node.
    let lone = Who::Known(Identity::new("system:node:one", &[]));
    world.get(&lone, "/api/v1/nodes/one").await.forbidden("cannot get resource \"nodes\"");
    let stranger = world.get(&node("one"), "/api/v1/namespaces/default/secrets/two").await;
    stranger.forbidden("no relationship found between node \"one\" and this object");
}

#[tokio::test]
async fn a_node_writes_only_what_is_its_own() {
    let world = populated().await;
    let one = node("one");
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let phase = json!({"status": {"phase": "Running"}});
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let restricted = json!({"metadata": {"labels": {"node-restriction.kubernetes.io/x": "b"}}});
    let taint = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}});
    let lease = |name: &str| json!({"metadata": {"name": name}, "spec": {"holderIdentity": name}});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "one"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let renew = json!({"spec": {"leaseDurationSeconds": 40}});
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let table = [
        ("PATCH /api/v1/nodes/one/status".to_owned(), &ready, true),
        ("PATCH /api/v1/nodes/two/status".to_owned(), &ready, false),
        ("PATCH /api/v1/nodes/one".to_owned(), &label, true),
        ("PATCH /api/v1/nodes/two".to_owned(), &label, false),
        ("PATCH /api/v1/nodes/one".to_owned(), &restricted, false),
        ("PATCH /api/v1/nodes/one".to_owned(), &taint, false),
        ("POST /api/v1/nodes".to_owned(), &lease("three"), false),
        ("DELETE /api/v1/nodes/one".to_owned(), &ready, false),
        ("PATCH /api/v1/namespaces/default/pods/one/status".to_owned(), &phase, true),
        ("PATCH /api/v1/namespaces/default/pods/two/status".to_owned(), &phase, false),
        ("PATCH /api/v1/namespaces/default/pods/one".to_owned(), &label, false),
        ("POST /api/v1/namespaces/default/pods".to_owned(), &pod, false),
        (format!("POST {leases}"), &lease("one"), true),
        (format!("POST {leases}"), &lease("two"), false),
        (format!("PATCH {leases}/one"), &renew, true),
        (format!("PATCH {leases}/two"), &renew, false),
        (
            "POST /apis/coordination.k8s.io/v1/namespaces/default/leases".to_owned(),
            &lease("one"),
            false,
        ),
        ("POST /api/v1/namespaces/default/events".to_owned(), &event, true),
        ("POST /api/v1/namespaces/default/secrets".to_owned(), &lease("x"), false),
    ];
    for (what, body, wanted) in table {
        let answer = world.send(&one, &what, Some(body)).await;
        let allowed = matches!(answer.code, 200 | 201);
        assert!(allowed == wanted && (wanted || answer.code == 403), "{what}: {answer:?}");
    }
    world.post(&node("three"), "/api/v1/nodes", &json!({"metadata": {"name": "three"}})).await.ok();
}

#[tokio::test]
async fn a_node_gets_tokens_for_its_pods_only() {
    let world = populated().await;
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let ask = |name: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name}}});
    world.post(&node("one"), path, &ask("one")).await.ok();
    world.post(&node("one"), path, &ask("two")).await.forbidden("different node");
    world.post(&node("one"), path, &json!({})).await.forbidden("not bound to a pod");
    world.post(&node("none"), path, &ask("one")).await.forbidden("no relationship");
}
