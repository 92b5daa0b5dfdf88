//! A thousand watchers, slow ones among them: writers go on, nobody who reads misses an event, and
//! whoever does not read is cut off.

#![allow(clippy::expect_used, clippy::panic)] // helpers of tests, outside of test functions

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use landbridge_apiserver::{ApiServer, Body, Identity, Options};
use serde_json::{Value, json};

const WATCHERS: usize = 1000;
const SLOW: usize = 50;
const WRITES: usize = 300;
/// Small enough that a watcher which does not read falls behind.
const HISTORY: usize = 100;
/// Writes in a row; less than the history, so that readers cannot fall behind within one.
const BURST: usize = 50;

struct Fixture {
    _dir: tempfile::TempDir,
    server: ApiServer,
}

impl Fixture {
    async fn new(history: usize) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let options = Options { history, ..Options::new(dir.path()) };
        Self { server: ApiServer::open(options).await.expect("server"), _dir: dir }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> http::Response<Body> {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder().method(method).uri(path).body(Full::new(body));
        self.server.handle(request.expect("request"), Some(&Identity::admin())).await
    }

    async fn write(&self, index: usize) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{index}")}});
        let answer = self.send("POST", "/api/v1/namespaces/default/configmaps", &object).await;
        assert_eq!(answer.status(), 201);
    }

    async fn watch(&self) -> Body {
        let path = "/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name!=kube-root-ca.crt";
        let answer = self.send("GET", path, &Value::Null).await;
        assert_eq!(answer.status(), 200);
        answer.into_body()
    }
}

/// Reads frames until `wanted` objects were seen, or the stream says no more.
async fn read(
    mut body: Body,
    wanted: usize,
    seen: Arc<AtomicUsize>,
) -> (Vec<String>, Option<Value>) {
    let (mut names, mut buffer) = (Vec::new(), Vec::new());
    while names.len() < wanted {
        let Some(Ok(frame)) = body.frame().await else { break };
        buffer.extend_from_slice(frame.data_ref().expect("data"));
        while let Some(end) = buffer.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).expect("one event a line");
            if event["type"] == "ERROR" {
                return (names, Some(event["object"].clone()));
            }
            names.push(event["object"]["metadata"]["name"].as_str().expect("name").to_owned());
            seen.fetch_add(1, Ordering::Relaxed);
        }
    }
    (names, None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watchers_slow_ones_among_them() {
    let fixture = Fixture::new(HISTORY).await;
    // The default service account and the like are written in the background; let them settle.
    tokio::time::sleep(Duration::from_millis(300)).await;

    let alone = Instant::now();
    for index in 0..WRITES {
        fixture.write(index).await;
    }
    let alone = alone.elapsed();
    for index in 0..WRITES {
        let path = format!("/api/v1/namespaces/default/configmaps/c{index}");
        assert_eq!(fixture.send("DELETE", &path, &Value::Null).await.status(), 200);
    }

    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(fixture.watch().await);
    }
    let seen = Arc::new(AtomicUsize::new(0));
    let mut readers = Vec::new();
    for _ in SLOW..WATCHERS {
        readers.push(tokio::spawn(read(fixture.watch().await, WRITES, Arc::clone(&seen))));
    }
    let mut watched = Duration::ZERO;
    for burst in 0..WRITES / BURST {
        let began = Instant::now();
        for index in 0..BURST {
            fixture.write(burst * BURST + index).await;
        }
        watched += began.elapsed();
        // Reading is the test, not the speed of the machine: whoever reads gets time to do so.
        let all = (WATCHERS - SLOW) * (burst + 1) * BURST;
        let deadline = Instant::now() + Duration::from_mins(1);
        while seen.load(Ordering::Relaxed) < all && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    let expected: Vec<String> = (0..WRITES).map(|index| format!("c{index}")).collect();
    let all =
        tokio::time::timeout(Duration::from_mins(1), join_all(readers)).await.expect("in time");
    for seen in all {
        let (names, error) = seen.expect("reader");
        assert_eq!(error, None);
        assert_eq!(names, expected, "every event once and in order");
    }
    for body in slow {
        let (_, error) = read(body, WRITES, Arc::default()).await;
        let error = error.expect("cut off");
        assert_eq!((&error["code"], &error["reason"]), (&json!(410), &json!("Expired")));
    }
    println!(
        "{WRITES} writes: {alone:?} alone, {watched:?} with {WATCHERS} watchers, {SLOW} of them not reading"
    );
}
