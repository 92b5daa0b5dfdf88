//! The driver on the embedded API, with no more rights than it asks for, and kubelets that do as
//! little as possible.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use landbridge_apiserver::{ApiServer, Identity, Options};
use landbridge_workloads::Settings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const SPACE: &str = "default";
const LIMIT: Duration = Duration::from_mins(2);

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn grant(client: &Client) {
    let role = json!({"metadata": {"name": "workloads"}, "rules": landbridge_workloads::rights()});
    let binding = json!({
        "metadata": {"name": "workloads"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "workloads"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
            "name": "system:workloads"}],
    });
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.create(&PostParams::default(), &typed(role)).await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    bindings.create(&PostParams::default(), &typed(binding)).await.unwrap();
}

async fn make_node(client: &Client, name: &str) {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
    nodes.create(&PostParams::default(), &typed(node)).await.unwrap();
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True",
        "reason": "KubeletReady", "lastHeartbeatTime": jiff::Timestamp::now().to_string()}]}});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

/// Starts what is bound, ends what is deleted.
async fn kubelets(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client, SPACE);
    loop {
        for pod in pods.list(&ListParams::default()).await.unwrap() {
            let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
            if pod.metadata.deletion_timestamp.is_some() {
                let _ =
                    pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
            } else if bound && !landbridge_workloads::pods::is_ready(&pod) {
                let now = jiff::Timestamp::now().to_string();
                let status = json!({"status": {"phase": "Running", "conditions":
                    [{"type": "Ready", "status": "True", "lastTransitionTime": now}]}});
                let params = PatchParams::default();
                let _ = pods.patch_status(&pod.name_any(), &params, &Patch::Merge(status)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Waits until something is true.
async fn until<F: Future<Output = Option<T>>, T>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "not so after {LIMIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

fn workload(kind: &str, name: &str, replicas: Option<i32>) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "v1"}]}},
    });
    if let Some(replicas) = replicas {
        spec["replicas"] = json!(replicas);
    }
    if kind == "StatefulSet" {
        spec["serviceName"] = json!(name);
    }
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn image(image: &str) -> Patch<Value> {
    let container = json!({"name": "c", "image": image});
    Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [container]}}}}))
}

async fn images(client: &Client, app: &str) -> Vec<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), SPACE);
    let list = pods.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap();
    let image = |pod: Pod| pod.spec.unwrap().containers[0].image.clone().unwrap();
    list.into_iter().map(image).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn workloads_come_up_change_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let server = ApiServer::open(Options::new(dir.path().join("state"))).await.unwrap();
    let admin = server.client(Identity::admin());
    grant(&admin).await;
    for number in 0..3 {
        make_node(&admin, &format!("worker-{number}")).await;
    }
    let own = server.client(Identity::new("system:workloads", &[]).authenticated());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(landbridge_workloads::run(own, Settings::default(), async {
        let _ = stopped.await;
    }));
    let kubelet = tokio::spawn(kubelets(admin.clone()));

    let nodes: Api<Node> = Api::all(admin.clone());
    until("nodes have addresses", || async {
        let list = nodes.list(&ListParams::default()).await.unwrap();
        let given = |node: &Node| node.spec.as_ref().is_some_and(|spec| spec.pod_cidrs.is_some());
        list.iter().all(given).then_some(())
    })
    .await;

    let deployments: Api<Deployment> = Api::namespaced(admin.clone(), SPACE);
    let sets: Api<StatefulSet> = Api::namespaced(admin.clone(), SPACE);
    let daemons: Api<DaemonSet> = Api::namespaced(admin.clone(), SPACE);
    let post = PostParams::default();
    deployments.create(&post, &typed(workload("Deployment", "web", Some(4)))).await.unwrap();
    sets.create(&post, &typed(workload("StatefulSet", "db", Some(2)))).await.unwrap();
    daemons.create(&post, &typed(workload("DaemonSet", "ds", None))).await.unwrap();

    // What `kubectl rollout status` waits for.
    let through = || async {
        let deployment = deployments.get("web").await.unwrap();
        let status = deployment.status.clone().unwrap_or_default();
        let done = status.observed_generation == deployment.metadata.generation
            && status.updated_replicas == Some(4)
            && status.replicas == Some(4)
            && status.available_replicas == Some(4);
        let set = sets.get("db").await.unwrap();
        let status = set.status.clone().unwrap_or_default();
        let done = done
            && status.observed_generation == set.metadata.generation
            && status.ready_replicas == Some(2)
            && status.updated_replicas == Some(2)
            && status.current_revision == status.update_revision;
        let daemon = daemons.get("ds").await.unwrap();
        let status = daemon.status.clone().unwrap_or_default();
        let done = done
            && status.observed_generation == daemon.metadata.generation
            && status.updated_number_scheduled == Some(3)
            && status.number_available == Some(3);
        done.then_some(())
    };
    until("all come up", through).await;
    let params = PatchParams::default();
    deployments.patch("web", &params, &image("v2")).await.unwrap();
    sets.patch("db", &params, &image("v2")).await.unwrap();
    daemons.patch("ds", &params, &image("v2")).await.unwrap();
    until("all roll", through).await;
    for (app, count) in [("web", 4), ("db", 2), ("ds", 3)] {
        until("old pods are gone", || async {
            (images(&admin, app).await == vec!["v2"; count]).then_some(())
        })
        .await;
    }
    let replica_sets: Api<ReplicaSet> = Api::namespaced(admin.clone(), SPACE);
    assert_eq!(replica_sets.list(&ListParams::default()).await.unwrap().items.len(), 2);
    let events: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(admin.clone(), SPACE);
    until("people are told", || async {
        let list = events.list(&ListParams::default()).await.unwrap();
        let told = |reason: &str| list.iter().any(|event| event.reason.as_deref() == Some(reason));
        (told("Scheduled") && told("ScalingReplicaSet") && told("SuccessfulCreate")).then_some(())
    })
    .await;

    let delete = DeleteParams::default();
    deployments.delete("web", &delete).await.unwrap();
    sets.delete("db", &delete).await.unwrap();
    daemons.delete("ds", &delete).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(admin.clone(), SPACE);
    until("all are gone", || async {
        pods.list(&ListParams::default()).await.unwrap().items.is_empty().then_some(())
    })
    .await;
    kubelet.abort();
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
    server.shutdown().await;
}
