//! A request to the agent of a node, and its answer to the client.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::watch;

use crate::body::Body;
use crate::limits::Place;

/// How long an agent may take to begin its answer. What follows may take for ever.
const ANSWER: Duration = Duration::from_secs(30);
/// How long either side may take to let go once the other has.
const FAREWELL: Duration = Duration::from_secs(5);
/// Longest head of an answer, more or less.
const HEAD: usize = 64 * 1024;
/// Longest text of a refusal.
const REFUSAL: usize = 64 * 1024;

/// Headers an upgrade is agreed on with. Nothing else of the client's (tokens, cookies) reaches the
/// node.
const AGREEMENT: [HeaderName; 7] = [
    CONNECTION,
    UPGRADE,
    HeaderName::from_static("sec-websocket-key"),
    HeaderName::from_static("sec-websocket-version"),
    HeaderName::from_static("sec-websocket-protocol"),
    HeaderName::from_static("sec-websocket-extensions"),
    HeaderName::from_static("x-stream-protocol-version"), // SPDY, as kubectl spoke it until 1.30
];
/// The same, of an answer.
const AGREED: [HeaderName; 6] = [
    CONNECTION,
    UPGRADE,
    HeaderName::from_static("sec-websocket-accept"),
    HeaderName::from_static("sec-websocket-protocol"),
    HeaderName::from_static("sec-websocket-extensions"),
    HeaderName::from_static("x-stream-protocol-version"),
];

type NodeRequest = Request<Empty<Bytes>>;

/// A request without an upgrade.
pub fn plain(path: &str) -> ApiResult<NodeRequest> {
    let request = Request::get(path).header(HOST, "node").body(Empty::new());
    request.map_err(|error| ApiError::bad_request(format!("the node cannot be asked so: {error}")))
}

/// A request with the client's upgrade.
pub fn upgrading(method: &Method, path: &str, headers: &HeaderMap) -> ApiResult<NodeRequest> {
    let mut request = plain(path)?;
    *request.method_mut() = method.clone();
    copy_headers(headers, request.headers_mut(), &AGREEMENT);
    Ok(request)
}

fn copy_headers(from: &HeaderMap, to: &mut HeaderMap, which: &[HeaderName]) {
    for name in which {
        for value in from.get_all(name) {
            to.append(name, value.clone());
        }
    }
}

/// The agent to talk to.
pub struct Node<'a> {
    pub name: &'a str,
    pub socket: &'a Path,
}

impl Node<'_> {
    /// Asks, and hands on the answer as it comes.
    pub async fn streamed(
        &self,
        request: NodeRequest,
        stopping: watch::Receiver<bool>,
        place: Place,
    ) -> ApiResult<Response<Body>> {
        let answer = self.ask(request).await?;
        if !answer.status().is_success() {
            return Err(self.refusal(answer).await);
        }
        Ok(streamed(answer, stopping, place))
    }

    /// Asks for an upgrade. If the node agrees, the two connections become one.
    pub async fn upgraded(
        &self,
        request: NodeRequest,
        client: OnUpgrade,
        stopping: watch::Receiver<bool>,
        place: Place,
    ) -> ApiResult<Response<Body>> {
        let answer = self.ask(request).await?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refusal(answer).await);
        }
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        copy_headers(answer.headers(), response.headers_mut(), &AGREED);
        let node = hyper::upgrade::on(answer);
        tokio::spawn(async move {
            carry(client, node, stopping).await;
            drop(place);
        });
        Ok(response)
    }

    async fn ask(&self, request: NodeRequest) -> ApiResult<Response<Incoming>> {
        match tokio::time::timeout(ANSWER, self.send(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(ApiError::unavailable(format!(
                "error dialing backend: the agent of node {:?} does not answer on {}: {why}. Is it running?",
                self.name,
                self.socket.display()
            ))),
            Err(_) => Err(ApiError::new(
                504,
                "Timeout",
                format!("the agent of node {:?} did not answer within {ANSWER:?}", self.name),
            )),
        }
    }

    /// What the agent says it cannot do, as this server would say it. Agents may answer with text.
    async fn refusal(&self, answer: Response<Incoming>) -> ApiError {
        let code = match answer.status().as_u16() {
            code @ 400..=599 => code,
            _ => 502, // it did something else than was asked for
        };
        let body = Limited::new(answer.into_body(), REFUSAL).collect();
        let bytes = match tokio::time::timeout(ANSWER, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            _ => Bytes::new(),
        };
        let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let said = status["message"]
            .as_str()
            .map_or_else(|| String::from_utf8_lossy(&bytes).trim().to_owned(), str::to_owned);
        let message = if said.is_empty() {
            format!("the agent of node {:?} answered {code} and did not say why", self.name)
        } else {
            said
        };
        ApiError::new(code, reason(code), message)
    }

    async fn send(&self, request: NodeRequest) -> Result<Response<Incoming>, String> {
        let stream = UnixStream::connect(self.socket).await.map_err(|e| e.to_string())?;
        let mut builder = hyper::client::conn::http1::Builder::new();
        let shaken = builder.max_buf_size(HEAD).handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|e| e.to_string())?;
        // Ends with the answer, or when nobody reads it any more.
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "connection to a node ended");
            }
        });
        sender.send_request(request).await.map_err(|e| e.to_string())
    }
}

/// Upstream's word for a code.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}

/// The node's answer, piece by piece.
fn streamed(
    answer: Response<Incoming>,
    stopping: watch::Receiver<bool>,
    place: Place,
) -> Response<Body> {
    let (head, body) = answer.into_parts();
    let pieces = body
        .into_data_stream()
        .take_until(stopped(stopping))
        .take_while(|piece| std::future::ready(piece.is_ok()))
        .filter_map(|piece| std::future::ready(piece.ok()))
        .inspect(move |_| {
            let _held = &place; // until the client hangs up or the node is done
        });
    let mut response = Response::new(Body::stream(pieces));
    *response.status_mut() = head.status;
    let plain = HeaderValue::from_static("text/plain");
    let media = head.headers.get(CONTENT_TYPE).cloned().unwrap_or(plain);
    response.headers_mut().insert(CONTENT_TYPE, media);
    let never = HeaderValue::from_static("no-cache, private");
    response.headers_mut().insert(http::header::CACHE_CONTROL, never);
    response
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await; // a server that is gone has stopped
}

/// Copies bytes both ways until one side ends; what it sent before is delivered.
async fn carry(client: OnUpgrade, node: OnUpgrade, stopping: watch::Receiver<bool>) {
    let (client, node) = match tokio::try_join!(client, node) {
        Ok(both) => both,
        Err(error) => {
            tracing::debug!(%error, "a connection was not handed over");
            return;
        }
    };
    let (mut from_client, mut to_client) = tokio::io::split(TokioIo::new(client));
    let (mut from_node, mut to_node) = tokio::io::split(TokioIo::new(node));
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_node) => {}
        _ = tokio::io::copy(&mut from_node, &mut to_client) => {}
        () = stopped(stopping) => {}
    }
    let farewell = async { tokio::join!(to_client.shutdown(), to_node.shutdown()) };
    let _ = tokio::time::timeout(FAREWELL, farewell).await; // dropped then, which ends them too
}
