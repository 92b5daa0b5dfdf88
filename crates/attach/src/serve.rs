//! The daemon's socket: `POST /cni`, `GET /healthz`, `GET /readyz`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use landbridge_cni::error::{CniError, Code};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use crate::daemon::Daemon;
use crate::message::{BODY_MAX, Message};

/// How many calls are served at the same time; more wait for their turn.
const CALLS_MAX: usize = 64;
/// How long calls may go on after the stop.
const DRAIN: Duration = Duration::from_secs(30);

struct Server {
    daemon: Arc<Daemon>,
    turns: Semaphore,
    is_stopping: AtomicBool,
}

/// Serves until told to stop, then lets the calls that run finish. Needs a runtime of several threads.
pub async fn serve(listener: UnixListener, daemon: Arc<Daemon>, stop: impl Future<Output = ()>) {
    let server = Arc::new(Server {
        daemon,
        turns: Semaphore::new(CALLS_MAX),
        is_stopping: AtomicBool::new(false),
    });
    let mut stop = std::pin::pin!(stop);
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of files, most likely: a moment later it may work.
                    tracing::warn!(%error, "a call of the CNI socket was not taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let server = Arc::clone(&server);
        connections.spawn(async move {
            let service = service_fn(|request| {
                let server = Arc::clone(&server);
                async move { Ok::<_, Infallible>(server.answer(request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of the CNI socket broke off");
            }
        });
    }
    server.is_stopping.store(true, Ordering::Relaxed);
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("calls of the CNI socket are broken off");
    }
}

impl Server {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/cni") => match self.call(request).await {
                Ok(text) => respond(StatusCode::OK, text),
                Err(error) => respond(StatusCode::BAD_REQUEST, error.print().unwrap_or_default()),
            },
            (&Method::GET, "/healthz") => respond(StatusCode::OK, "ok".to_owned()),
            (&Method::GET, "/readyz") => {
                if self.is_stopping.load(Ordering::Relaxed) {
                    respond(StatusCode::SERVICE_UNAVAILABLE, "stopping".to_owned())
                } else {
                    respond(StatusCode::OK, "ok".to_owned())
                }
            }
            (_, "/cni" | "/healthz" | "/readyz") => {
                respond(StatusCode::METHOD_NOT_ALLOWED, String::new())
            }
            (_, path) => {
                let error = CniError::new(Code::INTERNAL, format!("no such path: {path}"));
                respond(StatusCode::NOT_FOUND, error.print().unwrap_or_default())
            }
        }
    }

    async fn call(&self, request: Request<Incoming>) -> Result<String, CniError> {
        let body = Limited::new(request.into_body(), BODY_MAX).collect().await;
        let body = body.map_err(|error| {
            CniError::new(Code::DECODING_FAILURE, format!("the request cannot be read: {error}"))
        })?;
        let message = Message::parse(&body.to_bytes())?;
        let closed = |_| CniError::new(Code::TRY_AGAIN, "the daemon is stopping");
        let _turn = self.turns.acquire().await.map_err(closed)?;
        // On this thread, which the runtime replaces meanwhile: waking another one and being woken by it takes
        // longer than some parts of a call. A caller that went away does not stop a call in the middle.
        tokio::task::block_in_place(|| self.daemon.handle(&message))
    }
}

fn respond(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
