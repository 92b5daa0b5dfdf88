//! How many ports a second a cloud makes, and what each costs it: `scripts/bench-cloud` runs this on the cloudlet and
//! on the real Keystone and Neutron.
//!
//! `ports-per-second NAME IDENTITY-URL NETWORK-URL PORTS CLIENTS PID…` prints one line of figures and one of JSON. The
//! processes named, and their children, are those whose CPU time and memory count.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Clock ticks of /proc in a second: 100 on every Linux.
const TICKS: f64 = 100.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, identity, network, ports, clients, pids @ ..] = words.as_slice() else {
        eprintln!("use: ports-per-second NAME IDENTITY-URL NETWORK-URL PORTS CLIENTS PID…");
        return ExitCode::from(2);
    };
    let (ports, clients): (usize, usize) = (ports.parse().unwrap(), clients.parse().unwrap());
    let pids: Vec<u32> = pids.iter().map(|pid| pid.parse().unwrap()).collect();

    let token = log_in(identity).await;
    let mut connection = Connection::open(network).await;
    let made =
        connection.post("/v2.0/networks", &token, &json!({"network": {"name": "bench"}})).await;
    let id = made["network"]["id"].as_str().unwrap().to_owned();
    // Quotas would end the run: the administrator of the project lifts them.
    let project = made["network"]["project_id"].as_str().unwrap();
    let path = format!("/v2.0/quotas/{project}");
    connection.call("PUT", &path, &token, Some(&json!({"quota": {"port": -1}}))).await;
    let subnet = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": "10.64.0.0/12"}});
    connection.post("/v2.0/subnets", &token, &subnet).await;

    let (cpu, began) = (cpu(&pids), Instant::now());
    let each = ports / clients;
    let work = (0..clients).map(|client| {
        let (network, token, id) = (network.clone(), token.clone(), id.clone());
        async move {
            let mut connection = Connection::open(&network).await;
            for number in 0..each {
                let port =
                    json!({"port": {"network_id": id, "name": format!("p{client}-{number}")}});
                let made = connection.post("/v2.0/ports", &token, &port).await;
                assert_eq!(made["port"]["fixed_ips"].as_array().map(Vec::len), Some(1));
            }
        }
    });
    let tasks: Vec<_> = work.map(tokio::spawn).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)] // a few thousand ports
    let count = (each * clients) as f64;
    let (rate, cost) = (count / seconds, (self::cpu(&pids) - cpu) / count * 1e3);
    let memory = memory(&pids);
    println!(
        "{name}: {count} ports by {clients} clients in {seconds:.2} s: {rate:.1} ports/s, {cost:.3} ms of CPU per \
         port, {memory:.1} MiB of memory"
    );
    println!("{}", json!({"name": name, "rate": rate, "cpu_ms": cost, "memory_mib": memory}));
    ExitCode::SUCCESS
}

async fn log_in(identity: &str) -> String {
    let body = json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {
            "name": "admin", "domain": {"id": "default"}, "password": "secret"}}},
        "scope": {"project": {"name": "admin", "domain": {"id": "default"}}},
    }});
    let mut connection = Connection::open(identity).await;
    let request = connection.request("POST", "/v3/auth/tokens", "", Some(&body));
    let response = connection.sender.send_request(request).await.expect("an answer");
    let token = response.headers().get("x-subject-token").expect("a token");
    token.to_str().unwrap().to_owned()
}

/// A connection that is kept.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Connection {
    async fn open(root: &str) -> Self {
        let host =
            root.strip_prefix("http://").expect("an http URL").trim_end_matches('/').to_owned();
        let stream = TcpStream::connect(&host).await.expect("the service answers");
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        Self { sender, host }
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> hyper::Request<Full<Bytes>> {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = hyper::Request::builder().method(method).uri(path).header("host", &self.host);
        let request =
            request.header("content-type", "application/json").header("x-auth-token", token);
        request.body(Full::new(Bytes::from(body))).unwrap()
    }

    async fn call(&mut self, method: &str, path: &str, token: &str, body: Option<&Value>) -> Value {
        self.sender.ready().await.expect("the connection stays");
        let request = self.request(method, path, token, body);
        let response = self.sender.send_request(request).await.expect("an answer");
        let status = response.status();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        assert!(
            status.is_success(),
            "{method} {path}: {status}: {}",
            String::from_utf8_lossy(&bytes)
        );
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    async fn post(&mut self, path: &str, token: &str, body: &Value) -> Value {
        self.call("POST", path, token, Some(body)).await
    }
}

/// The processes and their children.
fn family(pids: &[u32]) -> Vec<u32> {
    let mut all = pids.to_vec();
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        at += 1;
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    all
}

/// Seconds of CPU time so far.
fn cpu(pids: &[u32]) -> f64 {
    let of = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks =
            |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / TICKS
    };
    family(pids).into_iter().map(of).sum()
}

/// Resident memory now, in MiB.
fn memory(pids: &[u32]) -> f64 {
    let of = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    };
    family(pids).into_iter().map(of).sum()
}
