//! A full disk: writes are refused in words, reads go on, and nothing has to be restarted when
//! there is space again.

#![allow(clippy::expect_used, clippy::panic)] // helpers of tests, outside of test functions

use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use landbridge_apiserver::{ApiServer, Identity, Options};
use serde_json::{Value, json};

/// A small file system of its own; `None` with the reason when this user cannot mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Result<Self, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let options = format!("size={size}");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(dir.path())
            .output()
            .map_err(|e| e.to_string())?;
        if done.status.success() {
            Ok(Self(dir))
        } else {
            Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

async fn send(server: &ApiServer, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).body(Full::new(body));
    let answer = server.handle(request.expect("request"), Some(&Identity::admin())).await;
    let status = answer.status();
    let bytes = answer.into_body().collect().await.expect("body").to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn config_map(name: &str, size: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y".repeat(size)}})
}

#[tokio::test]
async fn a_full_disk_is_said_and_survived() {
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let disk = match SmallDisk::mount("24m") {
        Ok(disk) => disk,
        Err(why) => {
            println!("skipped: cannot mount a small file system: {why}");
            if let Ok(file) = std::env::var("LANDBRIDGE_SKIP_FILE") {
                let line = format!("full disk: cannot mount a small file system: {why}\n");
                let _ = std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(file)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
            }
            return;
        }
    };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 10 << 20]).expect("ballast");
    let server = ApiServer::open(Options::new(disk.path().join("store"))).await.expect("server");

    let mut stored = Vec::new();
    let refused = loop {
        let name = format!("c{}", stored.len());
        let (status, answer) = send(&server, "POST", MAPS, &config_map(&name, 200_000)).await;
        if status != StatusCode::CREATED {
            break (status, answer);
        }
        stored.push(name);
        assert!(stored.len() < 500, "the disk never filled up");
    };
    assert_eq!(refused.0, StatusCode::INTERNAL_SERVER_ERROR);
    let message = refused.1["message"].as_str().expect("message");
    assert!(message.contains("Free space"), "says what to do: {message}");
    assert_eq!(refused.1["kind"], "Status");

    for name in &stored {
        let (status, _) = send(&server, "GET", &format!("{MAPS}/{name}"), &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{name} is acknowledged and must be readable");
    }
    std::fs::remove_file(ballast).expect("space again");
    let (status, answer) = send(&server, "POST", MAPS, &config_map("after", 10)).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    server.shutdown().await;
    drop(server);

    let server = ApiServer::open(Options::new(disk.path().join("store"))).await.expect("again");
    stored.push("after".to_owned());
    for name in &stored {
        let (status, _) = send(&server, "GET", &format!("{MAPS}/{name}"), &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{name} after a restart");
    }
    server.shutdown().await;
}
