//! What a node may do.

use landbridge_apiserver::{Identity, NodeObjectName, NodeObjects};
use serde_json::{Value, json};

use crate::world::{Who, World, admin, rule};

fn node(name: &str) -> Who {
    Who::Known(Identity::new(format!("system:node:{name}"), &["system:nodes"]))
}

async fn populated() -> World {
    let world = World::new().await;
    populate(&world).await;
    world
}

async fn populate(world: &World) {
    for name in ["one", "two"] {
        world.make("/api/v1/nodes", json!({"metadata": {"name": name}})).await;
        let pod = json!({"metadata": {"name": name}, "spec": {
            "nodeName": name, "serviceAccountName": "default",
            "volumes": [{"name": "v", "secret": {"secretName": name}}],
            "containers": [{"name": "c", "image": "i"}]}});
        world.make("/api/v1/namespaces/default/pods", pod).await;
        world.make("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": name}})).await;
    }
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

#[tokio::test]
async fn a_node_ends_its_pods() {
    let world = populated().await;
    let (one, pods) = (node("one"), "/api/v1/namespaces/default/pods");
    let evict = |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    world
        .post(&one, &format!("{pods}/two/eviction"), &evict("two"))
        .await
        .forbidden("pods/eviction");
    world.post(&one, &format!("{pods}/one/eviction"), &evict("one")).await.ok();
    let leaving = world.get(&one, &format!("{pods}/one")).await.ok();
    assert_eq!(leaving["metadata"]["deletionGracePeriodSeconds"], 30, "{leaving}");
    let done =
        json!({"gracePeriodSeconds": 0, "preconditions": {"uid": leaving["metadata"]["uid"]}});
    world.send(&one, &format!("DELETE {pods}/two"), Some(&done)).await.forbidden("no relationship");
    world.send(&one, &format!("DELETE {pods}/one"), Some(&done)).await.ok();
    world.get(&admin(), &format!("{pods}/one")).await.refused(404, "not found");
}

#[tokio::test]
async fn a_node_leaves_notes_with_the_status() {
    let world = populated().await;
    let path = "PATCH /api/v1/namespaces/default/pods/one/status";
    let notes = json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": "[]"}}});
    let noted = world.send(&node("one"), path, Some(&notes)).await.ok();
    assert_eq!(noted["metadata"]["annotations"], notes["metadata"]["annotations"], "{noted}");
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    world
        .send(&node("one"), path, Some(&label))
        .await
        .forbidden("cannot update labels through pod status");
}

#[tokio::test]
async fn a_node_speaks_of_its_pods() {
    let world = populated().await;
    let one = node("one");
    let core = json!({"metadata": {"generateName": "e-"}, "reason": "Started", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "one"}});
    let new = json!({"metadata": {"generateName": "e-"}, "reason": "Started", "type": "Normal",
        "action": "Starting", "reportingController": "agent", "reportingInstance": "one",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "one"}});
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}});
    for (events, event, again) in [
        ("/api/v1/namespaces/default/events", core, json!({"count": 2, "message": "again"})),
        ("/apis/events.k8s.io/v1/namespaces/default/events", new, series),
    ] {
        let made = world.post(&one, events, &event).await.ok();
        let name = made["metadata"]["name"].as_str().expect("name");
        let again = world.send(&one, &format!("PATCH {events}/{name}"), Some(&again)).await;
        assert_eq!(again.code, 200, "{again:?}");
        world.get(&one, events).await.forbidden("cannot list resource \"events\"");
    }
}

/// A kind of our own, for the whole cluster, with a status.
async fn kind(world: &World, plural: &str, kind: &str) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]},
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.make(crds, crd).await;
    for _ in 0..500 {
        let found = world.get(&admin(), &format!("/apis/example.com/v1/{plural}")).await;
        if found.code == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{plural} is not served");
}

#[tokio::test]
async fn a_node_has_objects_of_its_own() {
    let of = |resource: &str, name| NodeObjects {
        group: "example.com".into(),
        resource: resource.into(),
        name,
    };
    let world = World::with(vec![
        of("states", NodeObjectName::Exact),
        of("enactments", NodeObjectName::PrefixDot),
    ])
    .await;
    populate(&world).await;
    for (plural, name) in [("states", "State"), ("enactments", "Enactment"), ("others", "Other")] {
        kind(&world, plural, name).await;
    }
    let one = node("one");
    let object = |kind: &str, name: &str| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}});
    let base = "/apis/example.com/v1";
    world.make(&format!("{base}/states"), object("State", "two")).await;
    world.make(&format!("{base}/enactments"), object("Enactment", "two.policy")).await;
    let status = json!({"status": {"ok": true}});
    let empty = Value::Null;
    let table = |wide: bool| {
        vec![
            ("POST", "states", object("State", "one"), true),
            ("POST", "states", object("State", "three"), false),
            ("POST", "enactments", object("Enactment", "one.policy"), true),
            ("POST", "enactments", object("Enactment", "three.policy"), false),
            ("POST", "enactments", object("Enactment", "one"), false),
            ("POST", "others", object("Other", "one"), wide),
            ("PATCH", "states/one/status", status.clone(), true),
            ("PATCH", "states/two/status", status.clone(), false),
            ("PATCH", "states/two", status.clone(), false),
            ("PATCH", "enactments/one.policy", status.clone(), true),
            ("PATCH", "enactments/two.policy/status", status.clone(), false),
            ("GET", "states/one", empty.clone(), true),
            ("GET", "states/two", empty.clone(), wide),
            ("GET", "states?fieldSelector=metadata.name%3Done&watch=true", empty.clone(), true),
            ("GET", "states?watch=true", empty.clone(), wide),
            ("GET", "enactments", empty.clone(), wide),
            ("DELETE", "states/two", empty.clone(), false),
            ("DELETE", "enactments/two.policy", empty.clone(), false),
            ("DELETE", "enactments?fieldSelector=metadata.name%3Dtwo.policy", empty.clone(), false),
            ("DELETE", "enactments/one.policy", empty.clone(), true),
            ("DELETE", "states/one", empty.clone(), true),
        ]
    };
    // Roles may let nodes read more, but they cannot let a node write what is another's.
    for wide in [false, true] {
        if wide {
            world.cluster_role("wide", rule("example.com", &["*"], &["*"])).await;
            world.bind("", "ClusterRole", "wide", "system:node:one").await;
        }
        for (method, path, body, wanted) in table(wide) {
            let body = Some(&body).filter(|body| !body.is_null());
            let answer = world.send(&one, &format!("{method} {base}/{path}"), body).await;
            let allowed = matches!(answer.code, 200 | 201);
            assert!(
                allowed == wanted && (wanted || answer.code == 403),
                "{method} {path}, wide {wide}: {answer:?}"
            );
        }
    }
    let refused = world.post(&one, &format!("{base}/states"), &object("State", "three")).await;
    refused.forbidden("node \"one\" can only write its own states, which are named \"one\"");
}

#[tokio::test]
async fn roles_do_not_make_a_node_master_of_pods() {
    let world = populated().await;
    world.cluster_role("wide", rule("", &["pods", "pods/status"], &["*"])).await;
    world.bind("", "ClusterRole", "wide", "system:node:one").await;
    let (one, pods) = (node("one"), "/api/v1/namespaces/default/pods");
    let note = json!({"metadata": {"annotations": {"a": "b"}}});
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.send(&one, &format!("PATCH {pods}/one"), Some(&note)).await.ok();
    for (what, body, words) in [
        (
            format!("PATCH {pods}/two"),
            &note,
            "can only update pod status for pods with spec.nodeName set to itself",
        ),
        (format!("PATCH {pods}/two/status"), &note, "set to itself"),
        (
            format!("DELETE {pods}/two"),
            &json!({}),
            "can only delete pods with spec.nodeName set to itself",
        ),
        (format!("POST {pods}"), &pod, "cannot create pods"),
    ] {
        world.send(&one, &what, Some(body)).await.forbidden(words);
    }
}
