//! A server with one node, and clients of it.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::client::Body;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use landbridge_apiserver::pki::Pki;
use landbridge_apiserver::{ApiServer, Identity, Limits, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::node::{Node, Sockets};

pub const PODS: &str = "/api/v1/namespaces/default/pods";
/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(20);

pub struct World {
    pub server: ApiServer,
    pub node: Node,
    pub admin: Client,
    dir: TempDir,
}

pub type Tunnel = TokioIo<hyper::upgrade::Upgraded>;

impl World {
    pub async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub async fn with(limits: Limits) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let nodes = Some(Arc::new(Sockets(dir.path().to_owned())) as _);
        let options = Options { limits, nodes, ..Options::new(dir.path().join("state")) };
        let server = ApiServer::open(options).await.expect("server");
        let node = Node::start(&dir.path().join("one.sock"));
        let admin = socket(&dir, &server, "admin", Identity::admin());
        let world = Self { server, node, admin, dir };
        world.pod("p", "one", &["main"]).await;
        world
    }

    /// A client of somebody.
    pub fn client(&self, user: &str) -> Client {
        socket(&self.dir, &self.server, user, Identity::new(user, &[]))
    }

    pub async fn tls(&self) -> Client {
        let pki = Pki::ensure(&self.dir.path().join("pki"), jiff::Timestamp::now()).expect("pki");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("https://{}", listener.local_addr().expect("address"));
        let (server, tls) = (self.server.clone(), pki.server_tls().expect("TLS"));
        tokio::spawn(async move { server.serve_tls(listener, tls, std::future::pending()).await });
        let kubeconfig = Kubeconfig::from_yaml(&pki.admin_kubeconfig(&url)).expect("kubeconfig");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("config");
        Client::try_from(config).expect("client")
    }

    pub async fn pod(&self, name: &str, node: &str, containers: &[&str]) {
        let containers: Vec<Value> =
            containers.iter().map(|name| json!({"name": name, "image": "i"})).collect();
        let pod = json!({"metadata": {"name": name},
            "spec": {"nodeName": node, "containers": containers}});
        self.make(PODS, &pod).await;
    }

    pub async fn make(&self, path: &str, object: &Value) {
        let (code, body) = send(&self.admin, "POST", path, object).await;
        assert_eq!(code, 201, "{body}");
    }

    /// Lets a user do something to pods.
    pub async fn grant(&self, user: &str, resource: &str, verb: &str) {
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
        let name = format!("{user}-{verb}");
        let rules = json!([{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]);
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.make(&format!("{rbac}/roles"), &role).await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "User", "name": user}],
        });
        self.make(&format!("{rbac}/rolebindings"), &binding).await;
    }

    pub fn pods(&self) -> kube::Api<Pod> {
        kube::Api::namespaced(self.admin.clone(), "default")
    }
}

fn socket(dir: &TempDir, server: &ApiServer, name: &str, identity: Identity) -> Client {
    let path = dir.path().join(format!("api-{name}.sock"));
    let listener = tokio::net::UnixListener::bind(&path).expect("socket");
    let server = server.clone();
    tokio::spawn(
        async move { server.serve_unix(listener, identity, std::future::pending()).await },
    );
    landbridge_client::unix(&path)
}

/// Sends a request and reads the answer to its end.
pub async fn send(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).body(Body::from(bytes));
    read(client.send(request.expect("request")).await.expect("an answer")).await
}

pub async fn get(client: &Client, path: &str) -> (u16, Value) {
    send(client, "GET", path, &Value::Null).await
}

async fn read(response: Response<Body>) -> (u16, Value) {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("body").to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::String(text)))
}

/// Asks for a connection of another protocol.
pub async fn upgrade(
    client: &Client,
    method: Method,
    path: &str,
    protocol: &str,
) -> Result<(Tunnel, http::HeaderMap), (u16, Value)> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("connection", "Upgrade")
        .header("upgrade", protocol)
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "v5.channel.k8s.io")
        .header("authorization", "Bearer secret")
        .header("cookie", "secret")
        .body(Body::empty())
        .expect("request");
    let response = client.send(request).await.expect("an answer");
    if response.status() != 101 {
        return Err(read(response).await);
    }
    let headers = response.headers().clone();
    Ok((TokioIo::new(hyper::upgrade::on(response).await.expect("upgrade")), headers))
}

/// What must happen before long.
pub async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, work).await.unwrap_or_else(|_| panic!("{what}: not within {SOON:?}"))
}
