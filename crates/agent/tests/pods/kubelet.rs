//! The kubelet's socket: real commands in real namespaces.

use std::fmt::Write as _;
use std::time::Duration;

use landbridge_agent::kubelet::{self, Settings};
use serde_json::{Value, json};

use crate::client::{Client, Received};
use crate::harness::{Node, get, in_node, kill, until};

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";

/// A node with one pod and the socket.
async fn node() -> (Node, Client, tokio::task::JoinHandle<()>) {
    let mut node = Node::new().await;
    node.start();
    let container = json!({
        "name": "web", "image": "x",
        "ports": [{"containerPort": 8080}],
        "env": [{"name": "COLOUR", "value": "red"}],
    });
    node.create("web-0", json!({"containers": [container, {"name": "side", "image": "y"}]})).await;
    node.ready("web-0").await;
    let socket = node.dir.path().join("kubelet.sock");
    let listener = kubelet::bind(&socket).unwrap();
    let settings = Settings { terminal: crate::processes::terminal_command() };
    let serving = kubelet::run(listener, node.directory.clone(), settings, std::future::pending());
    (node, Client::new(&socket), tokio::spawn(serving))
}

async fn end(mut node: Node) {
    node.delete("web-0").await;
    node.clean().await;
    node.stop().await;
}

fn shell(script: &str, more: &str) -> String {
    let mut escaped = String::new();
    for byte in script.bytes() {
        write!(escaped, "%{byte:02x}").unwrap();
    }
    format!("/exec/default/web-0/web?command=sh&command=-c&command={escaped}&stdout=true{more}")
}

#[test]
fn commands_run_in_the_namespaces_of_the_pod() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let script =
            "hostname; echo $COLOUR; cat /proc/net/dev | grep -c eth0; echo oh >&2; exit 3";
        for protocol in [V5, V4] {
            let mut socket = client.open(&shell(script, "&stderr=true"), protocol).await.unwrap();
            let [_, stdout, stderr, status] = socket.all().await;
            assert_eq!(stdout, "web-0\nred\n1\n");
            assert_eq!(stderr, "oh\n");
            let status: Value = serde_json::from_str(&status).unwrap();
            assert_eq!(status["reason"], "NonZeroExitCode");
            let causes = json!([{"reason": "ExitCode", "message": "3"}]);
            assert_eq!(status["details"]["causes"], causes);
        }
        let mut socket = client.open(&shell("true", ""), V5).await.unwrap();
        let [_, _, _, status] = socket.all().await;
        assert_eq!(serde_json::from_str::<Value>(&status).unwrap()["status"], "Success");
        let missing = "/exec/default/web-0/web?command=/no/such&stdout=true";
        let mut socket = client.open(missing, V5).await.unwrap();
        let [_, _, _, status] = socket.all().await;
        let status: Value = serde_json::from_str(&status).unwrap();
        assert_eq!(status["status"], "Failure");
        assert!(status["message"].as_str().unwrap().contains("/no/such"), "{status}");
        end(node).await;
    });
}

#[test]
fn input_reaches_a_command_and_ends() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let path = "/exec/default/web-0/web?command=cat&stdin=true&stdout=true";
        let mut socket = client.open(path, &format!("{V5}, {V4}")).await.unwrap();
        let large = vec![b'x'; 60_000];
        socket.send(0, b"hello ").await;
        socket.frame(0x89, b"ping").await;
        socket.send(0, &large).await;
        socket.send(255, &[0]).await;
        let [_, stdout, _, status] = socket.all().await;
        assert_eq!(stdout.len(), 6 + large.len());
        assert!(stdout.starts_with("hello x") && status.contains("Success"), "{status}");
        end(node).await;
    });
}

#[test]
fn a_terminal_has_a_size_and_takes_signals() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let script = "stty size; tty; read line; stty size; echo [$line]; read more";
        let path = shell(script, "&stdin=true&tty=true");
        let mut socket = client.open(&path, V5).await.unwrap();
        socket.until(1, "/dev/pts/").await;
        socket.send(4, br#"{"Width":101,"Height":42}"#).await;
        socket.send(0, b"typed\r").await;
        let seen = socket.until(1, "[typed]").await;
        assert!(seen.contains("42 101"), "{seen:?}");
        // Control-C ends the command: it is in the foreground of a terminal of its own.
        socket.send(0, &[3]).await;
        let [_, _, _, status] = socket.all().await;
        assert!(status.contains("\"130\""), "{status}");
        end(node).await;
    });
}

#[test]
fn a_command_ends_with_its_client() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let mut socket =
            client.open(&shell("echo $$; sleep 600", "&stdin=true"), V5).await.unwrap();
        let pid = socket.until(1, "\n").await;
        let process = format!("/proc/{}", pid.trim());
        assert!(std::path::Path::new(&process).exists());
        drop(socket);
        until("the command has ended", || async {
            let stat = std::fs::read_to_string(format!("{process}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
        })
        .await;
        end(node).await;
    });
}

#[test]
fn logs_are_shown_followed_and_kept() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let body = |answer: String| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        get("10.9.0.2:8080", "").await;
        let path = "/containerLogs/default/web-0/web";
        let all = body(client.get(path, "").await);
        assert!(all.contains("images are not run") && all.contains("GET /x"), "{all}");
        let last = client.get(&format!("{path}?tailLines=1&timestamps=true"), "").await;
        assert!(last.starts_with("HTTP/1.1 200"), "{last}");
        assert_eq!(body(last).matches("Z 10.9.0.1:").count(), 1);
        let side = body(client.get("/containerLogs/default/web-0/side", "").await);
        assert!(side.contains("images are not run") && !side.contains("GET"), "{side}");

        let follow = {
            let path = format!("{path}?follow=true&tailLines=0");
            let client = Client::new(&client.socket);
            tokio::spawn(async move { client.get(&path, "").await })
        };
        let mut attached =
            client.open("/attach/default/web-0/web?stdout=true&stderr=true", V5).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        get("10.9.0.2:8080", "").await;
        assert!(attached.until(1, "GET /x").await.contains("10.9.0.1:"));
        let answer = client.get(&format!("{path}?previous=true"), "").await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("previous terminated"));
        kill(node.pid("web-0"));
        let restarted = |status: &Value| status["containerStatuses"][0]["restartCount"] == 1;
        node.pod_is("web-0", "started again", restarted).await;
        // Both end with the process they showed.
        let followed = follow.await.unwrap();
        assert!(followed.contains("GET /x"), "{followed}");
        assert!(attached.all().await[3].contains("Success"));
        node.ready("web-0").await;
        let previous = body(client.get(&format!("{path}?previous=true"), "").await);
        assert!(previous.contains("GET /x"), "{previous}");
        assert!(!body(client.get(path, "").await).contains("GET /x"));
        end(node).await;
    });
}

#[test]
fn ports_are_forwarded() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let path = "/portForward/default/web-0?ports=8080&ports=9";
        let mut socket = client.open(path, V4).await.unwrap();
        for channel in 0..2 {
            let port = 8080_u16.to_le_bytes().to_vec();
            assert_eq!(socket.receive().await, Received::Channel(channel, port));
        }
        assert!(socket.until(3, "port 9").await.contains("refused"));
        socket.send(0, b"GET /forward HTTP/1.0\r\n\r\n").await;
        let answer = socket.until(0, "you are").await;
        assert!(answer.contains("pod default/web-0") && answer.contains("127.0.0.1"), "{answer}");
        end(node).await;
    });
}

#[test]
fn what_is_not_served_is_explained() {
    in_node(|| async {
        let (node, client, _serving) = node().await;
        let exec = shell("true", "");
        let spdy = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";
        for (path, headers, code, words) in [
            ("/nothing", "", 404, "nothing is served at /nothing"),
            (&exec, "", 400, "Upgrade: websocket"),
            (&exec, spdy, 400, "kubectl 1.31"),
            ("/portForward/default/web-0", spdy, 400, "v4.channel.k8s.io"),
            ("/exec/default/none/web?command=x&stdout=1", "", 404, "default/none"),
            ("/exec/default/web-0/none?command=x&stdout=1", "", 400, "container none"),
            ("/exec/default/web-0/web?stdout=1", "", 400, "at least 1 command"),
            ("/containerLogs/default/web-0/web?tailLines=x", "", 400, "tailLines"),
        ] {
            let answer = client.get(path, headers).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{path}: {answer}");
            let status: Value =
                serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
            assert!(status["message"].as_str().unwrap().contains(words), "{status}");
        }
        let tunnel = "SPDY/3.1+portforward.k8s.io";
        let refused = client.open("/portForward/default/web-0", tunnel).await.err().unwrap();
        assert!(
            refused.starts_with("HTTP/1.1 400") && refused.contains("SPDY inside"),
            "{refused}"
        );
        let refused = client.open(&exec, "channel.k8s.io").await.err().unwrap();
        assert!(refused.contains("offer one of"), "{refused}");
        // A client that breaks the protocol is let go; others are served.
        let mut socket = client.open(&shell("cat", "&stdin=true"), V5).await.unwrap();
        socket.frame(0x83, b"x").await;
        let Received::Channel(1, empty) = socket.receive().await else { panic!() };
        assert!(empty.is_empty());
        assert_eq!(socket.receive().await, Received::Close(1002));
        assert!(client.get("/healthz", "").await.ends_with("ok"));
        let pods = client.get("/pods", "").await;
        assert!(pods.contains("\"kind\":\"PodList\"") && pods.contains("web-0"));
        end(node).await;
    });
}
