//! The real pair, over HTTP.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::normal::{Answer, HEADERS};
use crate::server::{Sent, Server};

/// A Keystone and a Neutron that somebody started: `scripts/openstack-peer`.
pub struct Real {
    runtime: Runtime,
    identity: String,
    network: String,
}

impl Real {
    /// The pair named by the environment; `None` where there is none.
    pub fn from_environment() -> Option<Self> {
        let url = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Some(Self {
            runtime: runtime.expect("a runtime"),
            identity: url("KEYSTONE_URL")?,
            network: url("NEUTRON_URL")?,
        })
    }
}

impl Server for Real {
    fn root(&self, service: &str) -> &str {
        if service == "identity" { &self.identity } else { &self.network }
    }

    fn send(&mut self, sent: &Sent<'_>) -> Answer {
        let root = self.root(sent.service).to_owned();
        self.runtime.block_on(send(&root, sent))
    }
}

/// One call on a connection of its own: Neutron's one thread would otherwise wait for the next of this one.
async fn send(root: &str, sent: &Sent<'_>) -> Answer {
    let host = root.strip_prefix("http://").expect("the pair is reached by http");
    let stream = TcpStream::connect(host).await.expect("the real pair answers");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    let connection = tokio::spawn(connection);
    let mut request = hyper::Request::builder()
        .method(sent.method)
        .uri(sent.path)
        .header("host", host)
        .header("connection", "close")
        .header("accept", "application/json");
    for (name, value) in &sent.headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(sent.body.clone()));
    let request = request.body(body).expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let status = response.status().as_u16();
    let header = |name: &str| {
        let value = response.headers().get(name)?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers = HEADERS.iter().filter_map(|(name, _)| header(name)).collect();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    connection.abort();
    Answer { status, headers, body: body_of(&bytes) }
}

/// A body as a value: JSON, a text, or nothing.
pub fn body_of(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
}
