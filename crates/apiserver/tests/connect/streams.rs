//! What goes through.

use futures::AsyncBufReadExt as _;
use http::Method;
use kube::api::LogParams;
use landbridge_apiserver::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::world::{PODS, World, get, soon, upgrade};

#[tokio::test(flavor = "multi_thread")]
async fn bytes_go_both_ways_on_every_listener() {
    let world = World::new().await;
    let clients = [("unix", world.admin.clone()), ("tls", world.tls().await)];
    for (turn, (name, client)) in clients.into_iter().enumerate() {
        for method in [Method::GET, Method::POST] {
            let path = format!("{PODS}/p/exec?command=sh&command=-c&command=a%20b&stdin=true");
            let (mut tunnel, headers) =
                upgrade(&client, method.clone(), &path, "websocket").await.expect(name);
            assert_eq!(headers["sec-websocket-accept"], "accepted", "{name}");
            assert_eq!(headers["sec-websocket-protocol"], "v5.channel.k8s.io", "{name}");
            let seen = world.node.last();
            assert_eq!(
                seen.line,
                format!(
                    "{method} /exec/default/p/main?command=sh&command=-c&command=a%20b&stdin=true"
                )
            );
            assert_eq!(seen.headers["sec-websocket-key"], "dGhlIHNhbXBsZSBub25jZQ==");
            for secret in ["authorization", "cookie"] {
                assert!(!seen.headers.contains_key(secret), "{secret} is not the node's business");
            }
            for word in ["one", "two"] {
                tunnel.write_all(word.as_bytes()).await.expect("write");
                let mut back = [0; 3];
                soon("the echo", tunnel.read_exact(&mut back)).await.expect("read");
                assert_eq!(back, word.as_bytes());
            }
            // The node ends: everything it said arrives, then the end.
            tunnel.write_all(b"so long, and bye").await.expect("write");
            let mut rest = String::new();
            soon("the end", tunnel.read_to_string(&mut rest)).await.expect("end");
            assert_eq!(rest, "so long, and bye", "{name}");
        }
        // The client ends, and the node hears of it.
        let path = format!("{PODS}/p/attach?container=main&stdout=true");
        let (tunnel, _) = upgrade(&client, Method::GET, &path, "websocket").await.expect(name);
        assert_eq!(world.node.last().line, "GET /attach/default/p/main?stdout=true");
        drop(tunnel);
        soon("the node's end", world.node.ended(3 * (turn + 1))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lot_of_bytes_arrive_whole() {
    const SIZE: usize = 4 << 20;
    let world = World::new().await;
    let path = format!("{PODS}/p/portforward?ports=80");
    let (tunnel, _) =
        upgrade(&world.admin, Method::POST, &path, "websocket").await.expect("tunnel");
    assert_eq!(world.node.last().line, "POST /portForward/default/p?ports=80");
    let sent: Vec<u8> = (0..SIZE).map(|i| u8::try_from(i % 97).unwrap()).collect();
    let (mut reader, mut writer) = tokio::io::split(tunnel);
    let copy = sent.clone();
    let writing = tokio::spawn(async move { writer.write_all(&copy).await });
    let mut back = vec![0; SIZE];
    soon("all of it", reader.read_exact(&mut back)).await.expect("read");
    writing.await.expect("task").expect("write");
    assert!(back == sent, "some bytes changed on the way");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_come_line_by_line() {
    let world = World::new().await;
    let parameters =
        LogParams { follow: true, tail_lines: Some(5), timestamps: true, ..LogParams::default() };
    world.node.log.send("one\n".into()).expect("node");
    let pods = world.pods();
    let reader = soon("the head", pods.log_stream("p", &parameters)).await.expect("log");
    let mut lines = reader.lines();
    let mut next = async || {
        let line = futures::StreamExt::next(&mut lines);
        soon("a line", line).await.map(|line| line.expect("line"))
    };
    assert_eq!(next().await.as_deref(), Some("one"));
    let line = world.node.last().line;
    let (path, query) = line.split_once('?').expect("query");
    assert_eq!(path, "GET /containerLogs/default/p/main");
    for wanted in ["follow=true", "tailLines=5", "timestamps=true"] {
        assert!(query.split('&').any(|pair| pair == wanted), "{query}");
    }
    // Later lines come when they are written, not before and not at the end.
    for word in ["two", "three"] {
        world.node.log.send(format!("{word}\n")).expect("node");
        assert_eq!(next().await.as_deref(), Some(word));
    }
    // The end of the server is the end of its streams.
    world.server.shutdown().await;
    assert_eq!(next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_count_with_the_watches() {
    let world = World::with(Limits { requests: 10, watches: 1 }).await;
    let path = format!("{PODS}/p/exec?command=sh");
    let (tunnel, _) = upgrade(&world.admin, Method::GET, &path, "websocket").await.expect("tunnel");
    let log = format!("{PODS}/p/log?follow=true");
    let (code, body) = soon("a refusal", get(&world.admin, &log)).await;
    assert_eq!(code, 429, "{body}");
    assert_eq!(get(&world.admin, &format!("{PODS}/p")).await.0, 200, "not with the requests");
    drop(tunnel);
    soon("a free place", async {
        while upgrade(&world.admin, Method::GET, &path, "websocket").await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_lets_go() {
    let world = World::new().await;
    let path = format!("{PODS}/p/exec?command=sh");
    let (mut tunnel, _) =
        upgrade(&world.admin, Method::GET, &path, "websocket").await.expect("tunnel");
    world.server.shutdown().await;
    let mut rest = Vec::new();
    soon("the end", tunnel.read_to_end(&mut rest)).await.expect("end");
    soon("the node's end", world.node.ended(1)).await;
}
