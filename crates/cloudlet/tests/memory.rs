//! Memory: what a port costs the whole cloud, with its index entries and the journal's copy.
//!
//! In a file of its own, because it measures its process.

#![allow(clippy::unwrap_used)]

use http::Method;
use landbridge_cloudlet::identity::Account;
use landbridge_cloudlet::journal::Stored;
use landbridge_cloudlet::{Config, Request, Response, Server, Service};
use serde_json::{Value, json};

/// Ports of one call.
const BULK: usize = 100;
const PORTS: usize = 5000;
/// What a port may take at most, on average. It takes about 2 KiB: its text, which state and journal share, seven index
/// entries, the journal's entry; with a text of its own for each of both it would be 2.5.
const LIMIT: usize = 2300;

/// Resident memory of this process that is no file; `None` where Linux does not say.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
}

async fn post(server: &Server, service: Service, token: &str, path: &str, body: Value) -> Response {
    let request = Request::new(service, Method::POST, path).token(token).json(&body);
    let answer = server.call(request).await;
    assert_eq!(answer.status, 201, "{}", answer.value());
    answer
}

async fn ports(server: &Server, token: &str, network: &str, count: usize) {
    for number in 0..count / BULK {
        let port = |at: usize| json!({"network_id": network, "name": format!("p{number}-{at}")});
        let bulk: Vec<Value> = (0..BULK).map(port).collect();
        post(server, Service::Network, token, "/v2.0/ports", json!({"ports": bulk})).await;
    }
}

#[test]
fn a_port_costs_little() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config { password_rounds: 1, ..Config::default() };
        config.network.quotas.insert("port".to_owned(), -1);
        let journal = Stored::open(dir.path()).unwrap();
        let server =
            Server::open(config, Box::new(journal), &Account::lab("secret")).await.unwrap();
        let login = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "admin", "domain": {"id": "default"}, "password": "secret"}}},
            "scope": {"project": {"name": "admin", "domain": {"id": "default"}}},
        }});
        let token = post(&server, Service::Identity, "", "/v3/auth/tokens", login).await;
        let token = token.header("x-subject-token").unwrap().to_owned();
        let make = |path, body| post(&server, Service::Network, &token, path, body);
        let network = make("/v2.0/networks", json!({"network": {}})).await.value();
        let network = network["network"]["id"].as_str().unwrap().to_owned();
        let subnet = json!({"network_id": network, "ip_version": 4, "cidr": "10.0.0.0/16"});
        make("/v2.0/subnets", json!({"subnet": subnet})).await;
        ports(&server, &token, &network, 1000).await; // until caches and queues have their size
        let Some(before) = resident() else { return };
        ports(&server, &token, &network, PORTS).await;
        let each = resident().unwrap().saturating_sub(before) / PORTS;
        println!("{each} bytes per port, {} MiB in all", resident().unwrap() / 1024 / 1024);
        assert!(each < LIMIT, "{each} bytes per port");
    });
}
