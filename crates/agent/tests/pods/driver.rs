//! Pods on the real kernel, with a real API in this process and the rights of a node.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use landbridge_agent::pods::process;
use landbridge_linux::namespace::named;
use serde_json::{Value, json};

use crate::harness::{Node, condition, get, in_node, kill, until};

fn web() -> Value {
    json!({"containers": [{
        "name": "web", "image": "quay.io/x/web:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1},
    }]})
}

#[test]
fn a_pod_lives_answers_and_leaves_nothing() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        let mut spec = web();
        spec["initContainers"] = json!([{"name": "init", "image": "i"}]);
        node.create("web-0", spec).await;
        let pod = node.ready("web-0").await;
        let status = &pod["status"];
        assert_eq!(status["phase"], "Running");
        assert_eq!(status["podIP"], "10.9.0.2");
        assert_eq!(status["podIPs"], json!([{"ip": "10.9.0.2"}, {"ip": "fd09::2"}]));
        assert_eq!(status["hostIP"], "127.0.0.1");
        assert_eq!(condition(status, "PodReadyToStartContainers").unwrap(), "True");
        let container = &status["containerStatuses"][0];
        assert_eq!(container["restartCount"], 0);
        assert_eq!(container["started"], true);
        assert_eq!(container["image"], "quay.io/x/web:1");
        assert!(container["containerID"].as_str().unwrap().starts_with("landbridge://"));
        let init = &status["initContainerStatuses"][0]["state"]["terminated"];
        assert_eq!(init["reason"], "Completed");

        let answer = get("10.9.0.2:8080", "Accept: application/json\r\n").await;
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!((&body["pod"], &body["node"]), (&json!("web-0"), &json!("worker-0")));
        let addresses = body["addresses"]["eth0"].as_array().unwrap();
        assert!(addresses.contains(&json!("10.9.0.2/24")), "{body}");
        assert!(addresses.contains(&json!("fd09::2/64")), "{body}");
        assert!(get("[fd09::2]:8080", "").await.contains("web-0"));
        assert_eq!(named::list(&node.netns_dir()).unwrap().len(), 1);
        node.event("web-0", "Started").await;

        // What is written says what is: nothing is written again without a reason.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let before = node.ready("web-0").await["metadata"]["resourceVersion"].clone();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(node.ready("web-0").await["metadata"]["resourceVersion"], before);

        node.delete("web-0").await;
        node.clean().await;
        // Somebody else still holds the object: the node has done its part and leaves it alone.
        let held = async || node.pods().get("web-0").await.unwrap().metadata.resource_version;
        let before = held().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(held().await, before);
        node.gone("web-0").await;
        node.event("web-0", "Killing").await;
        assert!(node.directory.all().is_empty());
        node.stop().await;
    });
}

#[test]
fn a_pod_survives_its_agent() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        node.create("a", web()).await;
        node.create("b", web()).await;
        node.create("c", web()).await;
        for pod in ["a", "b", "c"] {
            node.ready(pod).await;
        }
        let pids = ["a", "b", "c"].map(|pod| node.pid(pod));
        node.stop().await;
        assert!(get("10.9.0.2:8080", "").await.contains("default/"), "it answers without an agent");
        // While nobody looks, one pod is deleted and the process of another dies.
        node.force_delete("b").await;
        kill(pids[2]);
        node.start();
        let restarted = |status: &Value| status["containerStatuses"][0]["restartCount"] == 1;
        let pod = node.pod_is("c", "started again", restarted).await;
        let last = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
        assert_eq!(last["reason"], "ContainerStatusUnknown");
        node.ready("c").await;
        let pod = node.ready("a").await;
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0);
        assert_eq!(node.pid("a"), pids[0]);
        assert_ne!(node.pid("c"), pids[2]);
        until("the sandbox of b is gone", || async {
            (named::list(&node.netns_dir()).unwrap().len() == 2).then_some(())
        })
        .await;
        assert_eq!(node.veths.added.lock().unwrap().len(), 3, "nothing was attached again");
        node.delete("a").await;
        node.delete("c").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn after_a_reboot_pods_come_back() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        node.create("a", web()).await;
        node.ready("a").await;
        let pid = node.pid("a");
        node.stop().await;
        kill(pid);
        for name in named::list(&node.netns_dir()).unwrap() {
            named::delete(&node.netns_dir(), &name).unwrap();
        }
        node.start();
        node.event("a", "SandboxChanged").await;
        let again = |status: &Value| {
            status["podIP"] == "10.9.1.2" && condition(status, "Ready") == Some("True".into())
        };
        let pod = node.pod_is("a", "in a new sandbox", again).await;
        assert_eq!(pod["status"]["podIPs"], json!([{"ip": "10.9.1.2"}, {"ip": "fd09:1::2"}]));
        assert_eq!(node.veths.attached.lock().unwrap().len(), 1);
        node.delete("a").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn networks_that_refuse_are_told_and_tried_again() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.veths.refuse.store(true, Ordering::SeqCst);
        node.start();
        node.create("a", web()).await;
        let event = node.event("a", "FailedCreatePodSandBox").await;
        let note = event.message.unwrap();
        assert!(note.starts_with("Failed to create pod sandbox: rpc error"), "{note}");
        assert!(note.ends_with("failed (add): no addresses left in 10.9.0.0/16"), "{note}");
        let waiting = |status: &Value| {
            let state = &status["containerStatuses"][0]["state"]["waiting"];
            status["phase"] == "Pending" && state["reason"] == "ContainerCreating"
        };
        node.pod_is("a", "waiting", waiting).await;
        node.veths.refuse.store(false, Ordering::SeqCst);
        node.ready("a").await;
        assert_eq!(node.veths.attached.lock().unwrap().len(), 1, "failed attempts were released");
        node.delete("a").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn deleting_waits_for_no_network() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        node.create("slow", web()).await;
        node.ready("slow").await;
        node.veths.hang_del.store(true, Ordering::SeqCst);
        let start = Instant::now();
        node.delete("slow").await;
        node.gone("slow").await;
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(node.veths.attached.lock().unwrap().len(), 1, "still to be released");
        assert!(named::list(&node.netns_dir()).unwrap().is_empty());
        // An agent that comes later still knows.
        node.veths.refuse_del.store(true, Ordering::SeqCst);
        node.veths.hang_del.store(false, Ordering::SeqCst);
        node.stop().await;
        node.start();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(node.veths.attached.lock().unwrap().len(), 1);
        node.veths.refuse_del.store(false, Ordering::SeqCst);
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn a_process_that_dies_or_does_not_live_is_started_again() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        let mut spec = web();
        spec["containers"][0]["livenessProbe"] =
            json!({"tcpSocket": {"port": 9}, "periodSeconds": 1, "failureThreshold": 2});
        node.create("dead", spec).await;
        node.create("killed", web()).await;
        node.ready("killed").await;
        kill(node.pid("killed"));
        let restarted = |status: &Value| {
            let container = &status["containerStatuses"][0];
            container["restartCount"] == 1 && container["ready"] == true
        };
        let pod = node.pod_is("killed", "started again", restarted).await;
        let last = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
        assert_eq!((&last["exitCode"], &last["reason"]), (&json!(137), &json!("Error")));
        node.event("killed", "BackOff").await;
        let restarted =
            |status: &Value| status["containerStatuses"][0]["restartCount"].as_u64() >= Some(1);
        node.pod_is("dead", "started again", restarted).await;
        let event = node.event("dead", "Unhealthy").await;
        assert!(event.message.unwrap().starts_with("Liveness probe failed: dial tcp 10.9."));
        let backing_off = |status: &Value| {
            let waiting = &status["containerStatuses"][0]["state"]["waiting"];
            waiting["reason"] == "CrashLoopBackOff"
                && condition(status, "Ready").unwrap() == "False"
        };
        node.pod_is("dead", "backing off", backing_off).await;
        node.delete("dead").await;
        node.delete("killed").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn pods_in_the_nodes_network_share_its_ports() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        let mut spec = web();
        spec["hostNetwork"] = true.into();
        node.create("one", spec.clone()).await;
        let pod = node.ready("one").await;
        assert_eq!(pod["status"]["podIP"], "127.0.0.1");
        assert!(get("127.0.0.1:8080", "").await.contains("default/one"));
        node.create("two", spec).await;
        let waits = |status: &Value| {
            status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PortNotAvailable"
        };
        let pod = node.pod_is("two", "waiting for its port", waits).await;
        let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
        let message = waiting["message"].as_str().unwrap();
        assert!(message.starts_with("port 8080/TCP: another process"), "{message}");
        node.delete("one").await;
        node.ready("two").await;
        assert!(get("127.0.0.1:8080", "").await.contains("default/two"));
        assert!(node.veths.added.lock().unwrap().is_empty());
        node.delete("two").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn a_pod_of_the_same_name_is_another_pod() {
    in_node(|| async {
        let mut node = Node::new().await;
        node.start();
        node.create("a", web()).await;
        let first = node.ready("a").await;
        node.force_delete("a").await;
        node.create("a", web()).await;
        let second = node.ready("a").await;
        assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
        assert_ne!(first["status"]["podIP"], second["status"]["podIP"]);
        until("the first sandbox is gone", || async {
            (named::list(&node.netns_dir()).unwrap().len() == 1).then_some(())
        })
        .await;
        let shown = node.directory.get("default", "a").unwrap();
        assert_eq!(json!(shown.pod.metadata.uid), second["metadata"]["uid"]);
        assert!(
            get(&format!("{}:8080", second["status"]["podIP"].as_str().unwrap()), "")
                .await
                .contains("default/a")
        );
        node.delete("a").await;
        node.clean().await;
        node.stop().await;
    });
}

#[test]
fn an_agent_that_keeps_dying_loses_nothing() {
    in_node(|| async {
        let mut node = Node::new().await;
        for round in 0..6 {
            node.start();
            let pod = format!("p{round}");
            node.create(&pod, web()).await;
            if round > 0 {
                node.delete(&format!("p{}", round - 1)).await;
            }
            // Somewhere in the middle of making one and ending another.
            tokio::time::sleep(Duration::from_millis(17 * round)).await;
            node.stop().await;
        }
        node.start();
        node.ready("p5").await;
        node.delete("p5").await;
        for round in 0..6 {
            node.gone(&format!("p{round}")).await;
        }
        node.clean().await;
        let own = node.dir.path().to_owned();
        let left = process::with_last_argument(process::SETTINGS);
        let left: Vec<_> = left.keys().filter(|path| path.starts_with(&own)).collect();
        assert!(left.is_empty(), "processes nobody knows of: {left:?}");
        node.stop().await;
    });
}
