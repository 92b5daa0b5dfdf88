//! What upstream is known to do, case by case.

use landbridge_controllers::mirror::Key;
use landbridge_workloads::action::Kind::{
    self, ControllerRevision, DaemonSet, Deployment, Node, Pod, ReplicaSet, StatefulSet,
};
use serde_json::{Value, json};

use crate::lab::{Lab, SPACE, at, template};
use crate::server::{is_leaving, is_ready, key, owner, uid};

fn rolling(surge: impl Into<Value>, unavailable: impl Into<Value>) -> Value {
    let (surge, unavailable): (Value, Value) = (surge.into(), unavailable.into());
    json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

fn deployed(replicas: i32, strategy: &Value) -> Lab {
    let mut lab = Lab::new(1, 3, 1);
    lab.create(Deployment, "web", &json!({"replicas": replicas, "strategy": strategy}));
    lab.settle();
    assert_eq!(lab.ready(Deployment, "web"), usize::try_from(replicas).unwrap());
    lab
}

#[test]
fn a_deployment_comes_up_and_says_so() {
    let lab = deployed(3, &rolling(json!("25%"), json!("25%")));
    let status = &lab.object(Deployment, "web")["status"];
    for (field, wanted) in [
        ("replicas", 3),
        ("updatedReplicas", 3),
        ("readyReplicas", 3),
        ("availableReplicas", 3),
        ("unavailableReplicas", 0),
        ("observedGeneration", 1),
    ] {
        assert_eq!(status[field], wanted, "{field}");
    }
    let available = lab.condition(Deployment, "web", "Available");
    assert_eq!(available, ("True".into(), "MinimumReplicasAvailable".into()));
    let progressing = lab.condition(Deployment, "web", "Progressing");
    assert_eq!(progressing, ("True".into(), "NewReplicaSetAvailable".into()));
    let annotations = &lab.object(Deployment, "web")["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "1");
    // Spread over the nodes, named after their ReplicaSet.
    let mut nodes: Vec<&Value> =
        lab.active(Deployment, "web").iter().map(|pod| &pod["spec"]["nodeName"]).collect();
    nodes.sort_by_key(ToString::to_string);
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
    let set = lab.server.all(ReplicaSet).next().unwrap();
    let hash = &set["metadata"]["labels"]["pod-template-hash"];
    assert_eq!(*key(set).name, format!("web-{}", hash.as_str().unwrap()));
    for pod in lab.active(Deployment, "web") {
        assert!(key(pod).name.starts_with(&*key(set).name));
        assert_eq!(&pod["metadata"]["labels"]["pod-template-hash"], hash);
    }
    let told: Vec<&str> = lab.operators[0].notices.iter().map(|notice| notice.reason).collect();
    assert!(told.contains(&"ScalingReplicaSet") && told.contains(&"Scheduled"), "{told:?}");
}

/// Replicas, maxSurge, maxUnavailable; how many old and new pods there are when no new one ever
/// becomes ready.
#[test]
fn a_rolling_update_waits_for_the_new_pods() {
    for (replicas, surge, unavailable, old, new) in [
        (10, json!(3), json!(2), 8, 5),
        (10, json!("25%"), json!("25%"), 8, 5),
        (10, json!(0), json!(2), 8, 2),
        (10, json!(5), json!(0), 10, 5),
        (4, json!("25%"), json!("25%"), 3, 2),
        (1, json!("25%"), json!("25%"), 1, 1),
        (3, json!(0), json!(0), 2, 1),
        (2, json!("100%"), json!("100%"), 0, 2),
    ] {
        let name = format!("{replicas} {surge} {unavailable}");
        let mut lab = deployed(replicas, &rolling(surge, unavailable));
        lab.set_image(Deployment, "web", "v2");
        lab.controllers();
        assert_eq!(lab.sizes("web"), [(1, old), (2, new)], "{name}");
        lab.settle();
        assert_eq!(lab.sizes("web"), [(1, 0), (2, i64::from(replicas))], "{name}");
    }
}

#[test]
fn a_rolling_update_keeps_its_promises_at_every_step() {
    for (replicas, surge, unavailable) in [(10, 3, 2), (10, 0, 1), (10, 1, 0), (5, 2, 5), (1, 1, 0)]
    {
        let mut lab = deployed(replicas, &rolling(json!(surge), json!(unavailable)));
        lab.set_image(Deployment, "web", "v2");
        for _ in 0..100 {
            lab.controllers();
            let active = i32::try_from(lab.active(Deployment, "web").len()).unwrap();
            let ready = i32::try_from(lab.ready(Deployment, "web")).unwrap();
            assert!(active <= replicas + surge, "{active} of {replicas}+{surge}");
            assert!(ready >= replicas - unavailable, "{ready} of {replicas}-{unavailable}");
            lab.kubelets();
        }
        assert_eq!(lab.sizes("web"), [(1, 0), (2, i64::from(replicas))]);
    }
}

#[test]
fn a_broken_template_stops_early_and_can_be_undone() {
    let mut lab = deployed(4, &rolling(json!(1), json!(1)));
    lab.set(Deployment, "web", &json!({"progressDeadlineSeconds": 60}));
    lab.settle();
    lab.set_image(Deployment, "web", "broken");
    // Pods of the new template never become ready.
    for _ in 0..20 {
        lab.controllers();
        let pods: Vec<Key> = lab.server.all(Pod).map(key).collect();
        for pod in pods {
            let object = lab.server.get(Pod, &pod).unwrap();
            let broken = object["spec"]["containers"][0]["image"] == "broken";
            if !broken || is_leaving(object) || object["status"].is_null() {
                lab.server.kubelet(&pod);
            }
        }
        lab.pass(1);
    }
    assert_eq!(lab.sizes("web"), [(1, 3), (2, 2)]);
    assert_eq!(lab.ready(Deployment, "web"), 3);
    assert_eq!(lab.condition(Deployment, "web", "Progressing").1, "ReplicaSetUpdated");
    lab.pass(61);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(
        lab.condition(Deployment, "web", "Progressing"),
        ("False".into(), "ProgressDeadlineExceeded".into())
    );
    // `kubectl rollout undo` writes the old template back.
    lab.set_image(Deployment, "web", "v1");
    lab.settle();
    assert_eq!(lab.sizes("web"), [(2, 0), (3, 4)]);
    assert_eq!(lab.condition(Deployment, "web", "Progressing").1, "NewReplicaSetAvailable");
    let annotations = &lab.object(Deployment, "web")["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
}

#[test]
fn recreate_waits_until_the_old_pods_are_gone() {
    let mut lab = deployed(3, &json!({"type": "Recreate"}));
    lab.set_image(Deployment, "web", "v2");
    lab.controllers();
    assert_eq!(lab.sizes("web"), [(1, 0)]);
    assert_eq!(lab.pods_of(Deployment, "web").len(), 3, "they still end");
    lab.controllers();
    assert_eq!(lab.sizes("web"), [(1, 0)], "nothing new beside the old");
    lab.kubelets();
    lab.controllers();
    assert_eq!(lab.sizes("web"), [(1, 0), (2, 3)]);
    lab.settle();
    assert_eq!(lab.ready(Deployment, "web"), 3);
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut lab = deployed(4, &rolling(json!(1), json!(1)));
    lab.set(Deployment, "web", &json!({"paused": true}));
    lab.set_image(Deployment, "web", "v2");
    lab.settle();
    assert_eq!(lab.sizes("web"), [(1, 4)]);
    assert_eq!(
        lab.condition(Deployment, "web", "Progressing"),
        ("Unknown".into(), "DeploymentPaused".into())
    );
    lab.set(Deployment, "web", &json!({"replicas": 6}));
    lab.settle();
    assert_eq!(lab.sizes("web"), [(1, 6)]);
    lab.set(Deployment, "web", &json!({"paused": false}));
    lab.settle();
    assert_eq!(lab.sizes("web"), [(1, 0), (2, 6)]);
    assert_eq!(lab.condition(Deployment, "web", "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn scaling_in_the_middle_of_a_rollout_is_proportional() {
    let mut lab = deployed(10, &rolling(json!(3), json!(2)));
    lab.set_image(Deployment, "web", "v2");
    lab.controllers(); // kubelets stand still: 8 old, 5 new that never get ready
    assert_eq!(lab.sizes("web"), [(1, 8), (2, 5)]);
    lab.set(Deployment, "web", &json!({"replicas": 15}));
    lab.controllers();
    // Upstream's own example: 10 to 15 with 13 pods becomes 18 = 11 + 7.
    assert_eq!(lab.sizes("web"), [(1, 11), (2, 7)]);
    lab.settle();
    assert_eq!(lab.sizes("web"), [(1, 0), (2, 15)]);
    lab.set(Deployment, "web", &json!({"replicas": 0}));
    lab.settle();
    assert_eq!(lab.sizes("web"), [(1, 0), (2, 0)]);
    assert!(lab.pods_of(Deployment, "web").is_empty());
}

#[test]
fn old_replica_sets_are_kept_up_to_the_limit() {
    let mut lab = deployed(2, &rolling(json!(1), json!(0)));
    lab.set(Deployment, "web", &json!({"revisionHistoryLimit": 2}));
    for image in ["v2", "v3", "v4", "v5"] {
        lab.set_image(Deployment, "web", image);
        lab.settle();
    }
    assert_eq!(lab.sizes("web"), [(3, 0), (4, 0), (5, 2)]);
}

#[test]
fn a_name_that_is_taken_is_a_collision() {
    let mut first = deployed(1, &rolling(json!(1), json!(0)));
    let name = key(first.server.all(ReplicaSet).next().unwrap());
    first.server.delete(Deployment, &at("web"), false);
    first.settle();
    assert_eq!(first.server.all(ReplicaSet).count(), 0, "collected");
    let mut lab = Lab::new(2, 3, 1);
    // Somebody else's ReplicaSet of that very name.
    let other = crate::lab::workload(ReplicaSet, "other", &json!({"replicas": 0}));
    let mut other = other;
    other["metadata"]["name"] = json!(&*name.name);
    lab.server.create(ReplicaSet, other).unwrap();
    lab.create(Deployment, "web", &json!({"replicas": 1}));
    lab.settle();
    assert_eq!(lab.status(Deployment, "web", "collisionCount"), 1);
    assert_eq!(lab.ready(Deployment, "web"), 1);
}

#[test]
fn pods_are_adopted_and_released_by_their_labels() {
    let mut lab = Lab::new(1, 2, 1);
    let mut orphan = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "orphan", "namespace": SPACE, "labels": {"app": "set"}}});
    orphan["spec"] = template("v1")["spec"].clone();
    lab.server.create(Pod, orphan).unwrap();
    lab.create(ReplicaSet, "set", &json!({"replicas": 2}));
    lab.settle();
    let names = lab.names(ReplicaSet, "set");
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"orphan".to_owned()), "{names:?}");
    // Its label goes: it is let go and replaced.
    lab.server.change(Pod, &at("orphan"), |pod| pod["metadata"]["labels"] = json!({"app": "y"}));
    lab.settle();
    assert_eq!(owner(lab.object(Pod, "orphan")), None);
    let names = lab.names(ReplicaSet, "set");
    assert!(names.len() == 2 && !names.contains(&"orphan".to_owned()), "{names:?}");
    // And back again: one too many now.
    lab.server.change(Pod, &at("orphan"), |pod| pod["metadata"]["labels"] = json!({"app": "set"}));
    lab.settle();
    assert_eq!(lab.active(ReplicaSet, "set").len(), 2);
    assert_eq!(lab.status(ReplicaSet, "set", "readyReplicas"), 2);
    assert_eq!(lab.status(ReplicaSet, "set", "fullyLabeledReplicas"), 2);
}

/// Two pods, and which of them goes when one must. Everything else is the same.
#[test]
fn victims_in_upstreams_order() {
    let running = |ready: &str| {
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True",
            "lastTransitionTime": ready}]})
    };
    let old = "2020-01-01T00:00:00Z";
    let young = "2020-01-02T00:00:00Z";
    let base = json!({"spec": {"nodeName": "worker-0"}, "status": running(old),
        "created": old, "annotations": {}});
    for (what, change) in [
        ("not bound", json!({"spec": {"nodeName": null}})),
        ("pending", json!({"status": {"phase": "Pending"}})),
        ("not ready", json!({"status": {"phase": "Running", "conditions": []}})),
        ("cheap", json!({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}})),
        ("ready later", json!({"status": running(young)})),
        (
            "restarted",
            json!({"status": {"phase": "Running", "conditions": running(old)["conditions"],
            "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": 3}]}}),
        ),
        ("younger", json!({"created": young})),
    ] {
        for (victim, survivor) in [("a", "b"), ("b", "a")] {
            let mut lab = Lab::new(1, 2, 1);
            lab.create(ReplicaSet, "set", &json!({"replicas": 2}));
            let set = uid(lab.object(ReplicaSet, "set")).to_owned();
            for name in ["a", "b"] {
                let mut wish = base.clone();
                if name == victim {
                    for (field, value) in change.as_object().unwrap() {
                        wish[field] = value.clone();
                    }
                }
                let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
                    "name": name, "namespace": SPACE, "labels": {"app": "set"},
                    "annotations": wish["annotations"],
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                        "name": "set", "uid": set, "controller": true}]}});
                pod["spec"] = template("v1")["spec"].clone();
                pod["spec"]["nodeName"] = wish["spec"]["nodeName"].clone();
                pod["spec"]["schedulerName"] = json!("nobody");
                pod["status"] = wish["status"].clone();
                lab.server.create(Pod, pod).unwrap();
                lab.server.change(Pod, &at(name), |pod| {
                    pod["metadata"]["creationTimestamp"] = wish["created"].clone();
                });
            }
            lab.controllers();
            assert_eq!(lab.active(ReplicaSet, "set").len(), 2, "{what}: nobody else is made");
            lab.set(ReplicaSet, "set", &json!({"replicas": 1}));
            lab.controllers();
            assert_eq!(lab.names(ReplicaSet, "set"), [survivor], "{what}");
        }
    }
}

#[test]
fn min_ready_seconds_delay_availability() {
    let mut lab = Lab::new(1, 1, 1);
    lab.create(ReplicaSet, "set", &json!({"replicas": 1, "minReadySeconds": 20}));
    for _ in 0..3 {
        lab.controllers();
        lab.kubelets();
    }
    lab.controllers();
    assert_eq!(lab.status(ReplicaSet, "set", "readyReplicas"), 1);
    assert_eq!(lab.status(ReplicaSet, "set", "availableReplicas"), 0);
    lab.pass(19);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(lab.status(ReplicaSet, "set", "availableReplicas"), 0);
    lab.pass(1);
    lab.controllers();
    assert_eq!(lab.status(ReplicaSet, "set", "availableReplicas"), 1);
}

fn stateful(spec: &Value) -> Lab {
    let mut lab = Lab::new(1, 3, 1);
    lab.create(StatefulSet, "db", spec);
    lab.settle();
    lab
}

fn stateful_spec(replicas: i32, policy: &str, partition: i32) -> Value {
    json!({"replicas": replicas, "serviceName": "db", "podManagementPolicy": policy,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}})
}

#[test]
fn a_stateful_set_comes_up_in_order_with_an_identity() {
    let mut lab = Lab::new(1, 3, 1);
    lab.create(StatefulSet, "db", &stateful_spec(3, "OrderedReady", 0));
    lab.controllers();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0"], "one at a time");
    lab.kubelets();
    lab.controllers();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0"], "it runs but is not ready");
    lab.settle();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0", "db-1", "db-2"]);
    let pod = lab.object(Pod, "db-1");
    assert_eq!(pod["spec"]["hostname"], "db-1");
    assert_eq!(pod["spec"]["subdomain"], "db");
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "db-1");
    assert_eq!(labels["apps.kubernetes.io/pod-index"], "1");
    let revision = lab.status(StatefulSet, "db", "updateRevision");
    assert_eq!(labels["controller-revision-hash"], revision);
    assert_eq!(lab.status(StatefulSet, "db", "currentRevision"), revision);
    let recorded = lab.object(ControllerRevision, revision.as_str().unwrap());
    assert_eq!(recorded["data"]["spec"]["template"]["$patch"], "replace");
    assert_eq!(recorded["revision"], 1);
    for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas"] {
        assert_eq!(lab.status(StatefulSet, "db", field), 3, "{field}");
    }
    // Down in reverse, one at a time.
    lab.set(StatefulSet, "db", &json!({"replicas": 1}));
    lab.controllers();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0", "db-1"]);
    lab.settle();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0"]);
}

#[test]
fn a_parallel_stateful_set_starts_all_at_once() {
    let mut lab = Lab::new(1, 3, 1);
    lab.create(StatefulSet, "db", &stateful_spec(4, "Parallel", 0));
    lab.controllers();
    assert_eq!(lab.names(StatefulSet, "db").len(), 4);
    lab.settle();
    lab.set(StatefulSet, "db", &json!({"replicas": 1, "ordinals": {"start": 2}}));
    lab.settle();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-2"]);
}

fn images(lab: &Lab, kind: Kind, name: &str) -> Vec<String> {
    let pods = lab.active(kind, name);
    let image = |pod: &&Value| pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
    pods.iter().map(image).collect()
}

#[test]
fn a_stateful_set_rolls_from_the_top_down_to_the_partition() {
    let mut lab = stateful(&stateful_spec(3, "OrderedReady", 1));
    lab.set_image(StatefulSet, "db", "v2");
    lab.controllers();
    assert_eq!(lab.names(StatefulSet, "db"), ["db-0", "db-1"], "db-2 goes first");
    lab.settle();
    assert_eq!(images(&lab, StatefulSet, "db"), ["v1", "v2", "v2"]);
    assert_eq!(lab.status(StatefulSet, "db", "updatedReplicas"), 2);
    assert_eq!(lab.status(StatefulSet, "db", "currentReplicas"), 1);
    // Below the partition a pod comes back as it was.
    lab.server.delete(Pod, &at("db-0"), true);
    lab.settle();
    assert_eq!(images(&lab, StatefulSet, "db"), ["v1", "v2", "v2"]);
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
    lab.set(StatefulSet, "db", &json!({"updateStrategy": strategy}));
    lab.settle();
    assert_eq!(images(&lab, StatefulSet, "db"), ["v2", "v2", "v2"]);
    let current = lab.status(StatefulSet, "db", "currentRevision");
    assert_eq!(current, lab.status(StatefulSet, "db", "updateRevision"));
    // Back to the first template: its revision is the newest again.
    lab.set_image(StatefulSet, "db", "v1");
    lab.settle();
    let numbers: Vec<i64> =
        lab.server.all(ControllerRevision).map(|r| r["revision"].as_i64().unwrap()).collect();
    assert_eq!(numbers.len(), 2);
    let newest = lab.status(StatefulSet, "db", "updateRevision");
    assert_eq!(lab.object(ControllerRevision, newest.as_str().unwrap())["revision"], 3);
}

#[test]
fn on_delete_leaves_it_to_people() {
    let strategy = json!({"updateStrategy": {"type": "OnDelete"}});
    let mut spec = stateful_spec(2, "OrderedReady", 0);
    spec["updateStrategy"] = strategy["updateStrategy"].clone();
    let mut lab = stateful(&spec);
    lab.create(DaemonSet, "ds", &strategy);
    lab.settle();
    lab.set_image(StatefulSet, "db", "v2");
    lab.set_image(DaemonSet, "ds", "v2");
    lab.settle();
    assert_eq!(images(&lab, StatefulSet, "db"), ["v1", "v1"]);
    assert_eq!(images(&lab, DaemonSet, "ds"), ["v1", "v1", "v1"]);
    let victim = key(lab.active(DaemonSet, "ds")[0]);
    lab.server.delete(Pod, &victim, false);
    lab.server.delete(Pod, &at("db-0"), false);
    lab.settle();
    assert_eq!(images(&lab, StatefulSet, "db"), ["v2", "v1"]);
    let mut found = images(&lab, DaemonSet, "ds");
    found.sort();
    assert_eq!(found, ["v1", "v1", "v2"]);
}

#[test]
fn a_failed_pod_of_a_stateful_set_is_replaced() {
    let mut lab = stateful(&stateful_spec(2, "OrderedReady", 0));
    let before = uid(lab.object(Pod, "db-0")).to_owned();
    lab.server.set_pod(&at("db-0"), "Failed", false);
    lab.settle();
    assert_ne!(uid(lab.object(Pod, "db-0")), before);
    assert_eq!(lab.ready(StatefulSet, "db"), 2);
}

fn nodes_of(lab: &Lab, name: &str) -> Vec<String> {
    let pods = lab.active(DaemonSet, name);
    let mut nodes: Vec<String> =
        pods.iter().map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or("?").to_owned()).collect();
    nodes.sort();
    nodes
}

#[test]
fn a_daemon_set_runs_once_on_every_node_that_takes_it() {
    let mut lab = Lab::new(1, 4, 1);
    for (node, spec) in [
        ("worker-1", json!({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]})),
        (
            "worker-2",
            json!({"unschedulable": true,
            "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}),
        ),
        ("worker-3", json!({"taints": [{"key": "gpu", "effect": "NoExecute"}]})),
    ] {
        lab.server.change(Node, &Key::new("", node), |node| node["spec"] = spec.clone());
    }
    lab.create(DaemonSet, "ds", &json!({}));
    lab.settle();
    assert_eq!(nodes_of(&lab, "ds"), ["worker-0", "worker-2"], "cordoned nodes are no obstacle");
    for (field, wanted) in [
        ("desiredNumberScheduled", 2),
        ("currentNumberScheduled", 2),
        ("updatedNumberScheduled", 2),
        ("numberReady", 2),
        ("numberAvailable", 2),
        ("numberMisscheduled", 0),
    ] {
        assert_eq!(lab.status(DaemonSet, "ds", field), wanted, "{field}");
    }
    // A taint that only keeps new pods out leaves the old one, and says so.
    lab.server.change(Node, &Key::new("", "worker-0"), |node| {
        node["spec"]["taints"] = json!([{"key": "x", "effect": "NoSchedule"}]);
    });
    lab.settle();
    assert_eq!(nodes_of(&lab, "ds"), ["worker-0", "worker-2"]);
    assert_eq!(lab.status(DaemonSet, "ds", "numberMisscheduled"), 1);
    // One that throws pods out throws it out; a new node gets one; a node that goes loses it.
    lab.server.change(Node, &Key::new("", "worker-0"), |node| {
        node["spec"]["taints"] = json!([{"key": "x", "effect": "NoExecute"}]);
    });
    lab.server.node("worker-9", &json!({}), 10);
    lab.server.remove(Node, &Key::new("", "worker-2"));
    lab.settle();
    assert_eq!(nodes_of(&lab, "ds"), ["worker-9"]);
    assert_eq!(lab.pods_of(DaemonSet, "ds").len(), 1);
}

#[test]
fn a_daemon_set_rolls_as_many_as_may_be_unavailable() {
    for (limit, at_once) in [(json!(1), 1), (json!("50%"), 2), (json!(3), 3)] {
        let mut lab = Lab::new(1, 4, 1);
        let strategy = json!({"type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": limit, "maxSurge": 0}});
        lab.create(DaemonSet, "ds", &json!({"updateStrategy": strategy}));
        lab.settle();
        lab.set_image(DaemonSet, "ds", "v2");
        let mut lowest = 4;
        for _ in 0..40 {
            lab.controllers();
            lowest = lowest.min(lab.ready(DaemonSet, "ds"));
            lab.kubelets();
        }
        assert_eq!(lowest, 4 - at_once, "{limit}");
        assert_eq!(images(&lab, DaemonSet, "ds"), ["v2"; 4]);
    }
}

fn bare_pod(lab: &mut Lab, name: &str, spec: &Value) {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": "bare"}}});
    pod["spec"] = template("v1")["spec"].clone();
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    lab.server.create(Pod, pod).unwrap();
}

fn node_or_reason(lab: &Lab, name: &str) -> String {
    let pod = lab.object(Pod, name);
    match pod["spec"]["nodeName"].as_str() {
        Some(node) => node.to_owned(),
        None => pod["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned(),
    }
}

fn anti(topology: &str) -> Value {
    json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "bare"}}, "topologyKey": topology}]}})
}

#[test]
fn the_scheduler_says_where_or_why_not() {
    let mut lab = Lab::new(1, 3, 1);
    lab.server.change(Node, &Key::new("", "worker-0"), |node| {
        node["spec"]["taints"] = json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]);
    });
    lab.server.change(Node, &Key::new("", "worker-2"), |node| {
        node["metadata"]["labels"]["disk"] = json!("ssd");
    });
    let gpu = json!([{"key": "gpu", "operator": "Exists"}]);
    let hostname = "kubernetes.io/hostname";
    let container = |extra: Value| {
        let mut container = json!({"name": "c", "image": "i"});
        for (field, value) in extra.as_object().unwrap() {
            container[field] = value.clone();
        }
        json!([container])
    };
    let requests = |cpu: &str| container(json!({"resources": {"requests": {"cpu": cpu}}}));
    let ports = || container(json!({"ports": [{"containerPort": 80, "hostPort": 80}]}));
    let ssd = json!({"disk": "ssd"});
    for (name, spec, wanted) in [
        ("a", json!({"nodeSelector": {"disk": "ssd"}}), "worker-2"),
        (
            "b",
            json!({"nodeSelector": {hostname: "worker-0"}}),
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 node(s) didn't match Pod's node affinity/selector.",
        ),
        ("c", json!({"nodeSelector": {hostname: "worker-0"}, "tolerations": gpu}), "worker-0"),
        (
            "d",
            json!({"containers": requests("5")}),
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 Insufficient cpu.",
        ),
        ("e", json!({"containers": requests("3"), "nodeSelector": ssd}), "worker-2"),
        (
            "f",
            json!({"containers": requests("1500m"), "nodeSelector": ssd}),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {gpu: yes}.",
        ),
        ("g", json!({"containers": ports(), "nodeSelector": ssd}), "worker-2"),
        (
            "h",
            json!({"containers": ports(), "nodeSelector": ssd}),
            "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {gpu: yes}.",
        ),
        ("i", json!({"affinity": anti(hostname)}), "worker-1"),
        (
            "j",
            json!({"affinity": anti(hostname)}),
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 node(s) didn't match pod anti-affinity rules.",
        ),
        ("k", json!({}), "worker-2"),
        (
            "l",
            json!({"nodeSelector": {hostname: "worker-1"}}),
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't satisfy existing pods anti-affinity rules, 1 node(s) had untolerated taint {gpu: yes}.",
        ),
        (
            "m",
            json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "none"}}, "topologyKey": hostname}]}}}),
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 node(s) didn't match pod affinity rules.",
        ),
    ] {
        bare_pod(&mut lab, name, &spec);
        lab.controllers();
        assert_eq!(node_or_reason(&lab, name), wanted, "{name}");
    }
    let told: Vec<&str> = lab.operators[0]
        .notices
        .iter()
        .filter(|notice| notice.reason == "Scheduled")
        .map(|notice| notice.note.as_str())
        .collect();
    assert_eq!(told[0], "Successfully assigned lab/a to worker-2");
    // Whoever waits is woken when something changes.
    lab.server.change(Node, &Key::new("", "worker-0"), |node| node["spec"] = json!({}));
    lab.controllers();
    assert_eq!(node_or_reason(&lab, "b"), "worker-0");
    let without = Lab::new(1, 0, 1);
    let mut lab = without;
    bare_pod(&mut lab, "a", &json!({}));
    lab.controllers();
    assert_eq!(node_or_reason(&lab, "a"), "no nodes available to schedule pods");
}

#[test]
fn pods_spread_over_zones() {
    let mut lab = Lab::new(1, 4, 1);
    for (node, zone) in [("worker-0", "a"), ("worker-1", "a"), ("worker-2", "a"), ("worker-3", "b")]
    {
        lab.server.change(Node, &Key::new("", node), |node| {
            node["metadata"]["labels"]["zone"] = json!(zone);
        });
    }
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "bare"}}}]});
    for number in 0..8 {
        bare_pod(&mut lab, &format!("p{number}"), &spread);
    }
    lab.controllers();
    let in_b = lab.server.all(Pod).filter(|pod| pod["spec"]["nodeName"] == "worker-3").count();
    assert_eq!(in_b, 4);
}

#[test]
fn nodes_get_addresses_of_their_own() {
    let mut lab = Lab::new(1, 3, 1);
    lab.server.change(Node, &Key::new("", "worker-1"), |node| {
        node["spec"]["podCIDR"] = json!("10.244.0.0/24");
        node["spec"]["podCIDRs"] = json!(["10.244.0.0/24", "fd00:10:244::/64"]);
    });
    lab.controllers();
    let cidrs = |lab: &Lab, name: &str| {
        lab.server.get(Node, &Key::new("", name)).unwrap()["spec"]["podCIDRs"].clone()
    };
    assert_eq!(cidrs(&lab, "worker-0"), json!(["10.244.1.0/24", "fd00:10:244:1::/64"]));
    assert_eq!(cidrs(&lab, "worker-2"), json!(["10.244.2.0/24", "fd00:10:244:2::/64"]));
    lab.server.remove(Node, &Key::new("", "worker-0"));
    lab.server.node("worker-3", &json!({}), 10);
    lab.controllers();
    assert_eq!(cidrs(&lab, "worker-3"), json!(["10.244.1.0/24", "fd00:10:244:1::/64"]));
}

#[test]
fn a_silent_node_is_unreachable_until_it_is_heard_again() {
    let mut lab = deployed(3, &rolling(json!(1), json!(1)));
    let at_node = Key::new("", "worker-1");
    lab.silent.push("worker-1".to_owned());
    let ready = |lab: &Lab| {
        let node = lab.server.get(Node, &at_node).unwrap();
        let ready = &node["status"]["conditions"][0];
        let taints = node["spec"]["taints"].as_array().map_or(0, Vec::len);
        (ready["status"].as_str().unwrap().to_owned(), taints)
    };
    lab.pass(39);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(ready(&lab), ("True".to_owned(), 0));
    lab.pass(2);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(ready(&lab), ("Unknown".to_owned(), 2));
    // Pods stay for their tolerationSeconds, then go and are replaced elsewhere.
    let there = |lab: &Lab| {
        lab.active(Deployment, "web").iter().filter(|p| p["spec"]["nodeName"] == "worker-1").count()
    };
    lab.pass(200);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(there(&lab), 1);
    lab.pass(100);
    lab.renew_leases();
    lab.controllers();
    assert_eq!(there(&lab), 0);
    assert_eq!(lab.active(Deployment, "web").len(), 3);
    lab.silent.clear();
    lab.renew_leases();
    lab.controllers();
    assert_eq!(ready(&lab), ("True".to_owned(), 0));
    lab.settle();
    assert_eq!(lab.pods_of(Deployment, "web").len(), 3);
}

#[test]
fn a_node_that_says_it_is_not_ready_is_tainted() {
    let mut lab = Lab::new(1, 1, 1);
    lab.controllers();
    let at_node = Key::new("", "worker-0");
    lab.server.change(Node, &at_node, |node| {
        node["status"]["conditions"][0]["status"] = json!("False");
    });
    lab.controllers();
    let taints = lab.server.get(Node, &at_node).unwrap()["spec"]["taints"].clone();
    let keys: Vec<&str> =
        taints.as_array().unwrap().iter().map(|taint| taint["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready"; 2]);
    bare_pod(&mut lab, "a", &json!({}));
    lab.controllers();
    assert_eq!(
        node_or_reason(&lab, "a"),
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."
    );
}

#[test]
fn pods_of_a_node_that_is_gone_go_too() {
    let mut lab = deployed(3, &rolling(json!(1), json!(1)));
    lab.server.remove(Node, &Key::new("", "worker-0"));
    lab.controllers();
    assert_eq!(lab.pods_of(Deployment, "web").len(), 3, "the node may come back in a moment");
    lab.pass(6);
    lab.settle();
    let pods = lab.active(Deployment, "web");
    assert_eq!(pods.len(), 3);
    assert!(pods.iter().all(|pod| pod["spec"]["nodeName"] != "worker-0" && is_ready(pod)));
}

#[test]
fn no_name_comes_back() {
    let mut lab = Lab::new(1, 1, 1);
    lab.create(ReplicaSet, "set", &json!({"replicas": 1}));
    lab.create(DaemonSet, "ds", &json!({}));
    lab.settle();
    for _ in 0..20 {
        let pods: Vec<Key> = lab.server.all(Pod).map(key).collect();
        for pod in pods {
            lab.server.delete(Pod, &pod, true);
        }
        lab.settle();
    }
    let mut names = lab.server.made.clone();
    let made = names.len();
    assert_eq!(made, 42);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), made);
}
