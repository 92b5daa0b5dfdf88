//! The server: sockets, the journal on disk, readers while others write, a journal that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use landbridge_cloudlet::journal::{Forgetful, Journal, JournalError, Kept, Row, Stored};
use landbridge_cloudlet::{Change, Request, Response, Server, Service, http};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::world::{accounts, config, password};

async fn call(server: &Server, token: &str, line: &str, body: Option<Value>) -> Response {
    let (method, path) = line.split_once(' ').unwrap();
    let service = if path.starts_with("/v3") { Service::Identity } else { Service::Network };
    let mut request = Request::new(service, method.parse().unwrap(), path).token(token);
    if let Some(body) = body {
        request = request.json(&body);
    }
    server.call(request).await
}

async fn sign_in(server: &Server) -> String {
    let body = password("admin", Some("admin"));
    let answer = call(server, "", "POST /v3/auth/tokens", Some(body)).await;
    answer.header("x-subject-token").unwrap().to_owned()
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || async {
        let journal = Stored::open(dir.path()).unwrap();
        Server::open(config(), Box::new(journal), &accounts()).await.unwrap()
    };
    let server = open().await;
    let token = sign_in(&server).await;
    let made =
        call(&server, &token, "POST /v2.0/networks", Some(json!({"network": {"name": "kept"}})))
            .await;
    assert_eq!(made.status, 201);
    let gone =
        call(&server, &token, "POST /v2.0/networks", Some(json!({"network": {"name": "gone"}})))
            .await;
    let gone = gone.value()["network"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        call(&server, &token, &format!("DELETE /v2.0/networks/{gone}"), None).await.status,
        204
    );
    let before = call(&server, &token, "GET /v2.0/networks", None).await.value();
    drop(server);
    // The writer lets go of the directory once the last handle is gone.
    let server = loop {
        match Stored::open(dir.path()) {
            Ok(journal) => break Server::open(config(), Box::new(journal), &[]).await.unwrap(),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    };
    let after = call(&server, &token, "GET /v2.0/networks", None).await;
    assert_eq!(after.status, 200, "the token is still good");
    assert_eq!(after.value(), before);
    assert_eq!(before["networks"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_and_readers_at_once() {
    let server = Server::open(config(), Box::new(Forgetful), &accounts()).await.unwrap();
    let token = sign_in(&server).await;
    let mut follower = server.follow();
    let net = call(&server, &token, "POST /v2.0/networks", Some(json!({"network": {}}))).await;
    let net = net.value()["network"]["id"].as_str().unwrap().to_owned();
    let subnet = json!({"subnet": {"network_id": net, "cidr": "10.0.0.0/22", "ip_version": 4}});
    assert_eq!(call(&server, &token, "POST /v2.0/subnets", Some(subnet)).await.status, 201);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (server, token, net) = (server.clone(), token.clone(), net.clone());
            tokio::spawn(async move {
                for _ in 0..25 {
                    let port = json!({"port": {"network_id": net}});
                    let made = call(&server, &token, "POST /v2.0/ports", Some(port)).await;
                    assert_eq!(made.status, 201, "{}", made.value());
                    let id = made.value()["port"]["id"].as_str().unwrap().to_owned();
                    // Who was told of it finds it.
                    let seen = call(&server, &token, &format!("GET /v2.0/ports/{id}"), None).await;
                    assert_eq!(seen.status, 200);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let ports = call(&server, &token, "GET /v2.0/ports?fields=fixed_ips", None).await.value();
    let ips: std::collections::BTreeSet<String> = ports["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["fixed_ips"][0]["ip_address"].to_string())
        .collect();
    assert_eq!(ips.len(), 200);
    let mut told = 0;
    while let Ok(changes) = follower.try_recv() {
        told += changes
            .iter()
            .filter(|change| change.kind.name == "port" && change.before.is_none())
            .count();
    }
    assert_eq!(told, 200, "every port was told");
}

/// A disk that is full now and then.
struct Full(Arc<AtomicBool>);

impl Journal for Full {
    fn rows(&self) -> Result<Vec<Row>, JournalError> {
        Ok(Vec::new())
    }

    fn keep(&self, _changes: Vec<Change>) -> Kept<'_> {
        let full = self.0.load(Ordering::SeqCst);
        Box::pin(async move {
            if full {
                Err(JournalError::Storage("no space left on device".into()))
            } else {
                Ok(Vec::new())
            }
        })
    }
}

#[tokio::test]
async fn what_cannot_be_kept_did_not_happen() {
    let full = Arc::new(AtomicBool::new(false));
    let server = Server::open(config(), Box::new(Full(full.clone())), &accounts()).await.unwrap();
    let token = sign_in(&server).await;
    let net = json!({"network": {}});
    full.store(true, Ordering::SeqCst);
    assert_eq!(call(&server, &token, "POST /v2.0/networks", Some(net.clone())).await.status, 503);
    assert_eq!(
        call(&server, &token, "GET /v2.0/networks", None).await.value(),
        json!({"networks": []})
    );
    full.store(false, Ordering::SeqCst);
    assert_eq!(call(&server, &token, "POST /v2.0/networks", Some(net)).await.status, 201);
}

async fn raw(address: std::net::SocketAddr, text: &str) -> String {
    spoken(TcpStream::connect(address).await.unwrap(), text).await
}

async fn spoken(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

#[tokio::test]
async fn the_socket_answers_with_ids_and_bounds() {
    let server = Server::open(config(), Box::new(Forgetful), &accounts()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(http::serve(server, Service::Network, listener, async {
        let _ = stopped.await;
    }));
    let answer =
        raw(address, "GET / HTTP/1.1\r\nhost: cloud.example:9696\r\nconnection: close\r\n\r\n")
            .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("x-openstack-request-id: req-") && answer.contains("application/json"));
    assert!(
        answer.contains("http://cloud.example:9696/v2.0/"),
        "links lead where the client came from"
    );
    let head = raw(address, "HEAD / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await;
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let huge = format!(
        "POST /v2.0/networks HTTP/1.1\r\nhost: h\r\ncontent-length: 9999999\r\nconnection: close\r\n\r\n{}",
        "x".repeat(5_000_000)
    );
    let refused = raw(address, &huge).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 413"), "{refused}");
    let _ = stop.send(());
    serving.await.unwrap();
}

#[tokio::test]
async fn a_socket_in_a_directory_answers_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keystone.sock");
    // A process that was killed left its socket behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = http::socket(&path).unwrap();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "only its owner may ask");
    let server = Server::open(config(), Box::new(Forgetful), &accounts()).await.unwrap();
    let serving = tokio::spawn(http::serve(
        server,
        Service::Identity,
        listener,
        std::future::pending::<()>(),
    ));
    let body = password("admin", Some("admin")).to_string();
    let call = format!(
        "POST /v3/auth/tokens HTTP/1.1\r\nhost: keystone-internal.openstack.svc:5000\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = spoken(UnixStream::connect(&path).await.unwrap(), &call).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.contains("x-subject-token: "), "{answer}");
    // Who serves there is not pushed aside.
    let error = http::socket(&path).unwrap_err().to_string();
    assert!(error.contains("keystone.sock: Address already in use"), "{error}");
    serving.abort();
    let file = dir.path().join("file");
    std::fs::write(&file, "somebody's").unwrap();
    assert!(http::socket(&file).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "somebody's");
}
