//! The thin front: a listener per service, bounded bodies, request ids.

mod listener;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;

pub use self::listener::{Listener, socket};
use crate::chance::{Chance, System};
use crate::request::{Request, Response, Service, pairs, segments};
use crate::server::Server;

/// Largest request body: a bulk create of a thousand ports is a tenth of it.
const BODY: usize = 4 * 1024 * 1024;
/// Longest path with query: what the services answer 414 to elsewhere.
const PATH: usize = 64 * 1024;
/// A client that does not finish its headers by then is dropped.
const HEADERS: Duration = Duration::from_secs(30);
/// The same for its body.
const BODY_TIME: Duration = Duration::from_mins(1);
/// How long calls may take to finish once the server stops.
const DRAIN: Duration = Duration::from_secs(2);
/// After a failed accept (no file descriptors left, say) the listener takes a breath.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves one of the cloud's services until `shutdown` completes, on TCP or on a Unix socket.
pub async fn serve<L: Listener>(
    server: Server,
    service: Service,
    mut listener: L,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = Arc::new(GracefulShutdown::new());
    tokio::pin!(shutdown);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        tokio::spawn(connection(server.clone(), service, stream, graceful.watcher()));
    }
    if let Some(graceful) = Arc::into_inner(graceful) {
        let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await; // then we leave anyway
    }
}

async fn connection<S: listener::Stream>(
    server: Server,
    service: Service,
    stream: S,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let handler = service_fn(|request: hyper::Request<Incoming>| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(answer(&server, service, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let serving = builder.serve_connection(TokioIo::new(stream), handler).into_owned();
    if let Err(error) = watcher.watch(serving).await {
        tracing::debug!(%error, "connection ended"); // clients hang up all the time
    }
}

async fn answer(
    server: &Server,
    service: Service,
    request: hyper::Request<Incoming>,
) -> hyper::Response<Full<Bytes>> {
    let id = format!("req-{}", (&mut System as &mut dyn Chance).uuid());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let head = method == Method::HEAD;
    let response = match read(server, service, request).await {
        Ok(request) => server.call(request).await,
        Err(status) => Response::empty(status),
    };
    tracing::debug!(?service, %method, path, status = response.status.as_u16(), id, "call");
    dress(response, &id, head)
}

/// The call as a value; the token and the body are looked at by nobody on the way.
async fn read(
    server: &Server,
    service: Service,
    request: hyper::Request<Incoming>,
) -> Result<Request, StatusCode> {
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    if parts.uri.path().len() + query.len() > PATH {
        return Err(StatusCode::URI_TOO_LONG);
    }
    let body = tokio::time::timeout(BODY_TIME, Limited::new(body, BODY).collect()).await;
    let body = match body {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(Err(_)) => return Err(StatusCode::BAD_REQUEST),
        Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
    };
    Ok(Request {
        service,
        method: parts.method,
        path: segments(parts.uri.path()),
        query: pairs(query),
        base: base(server, service, &parts.headers),
        headers: parts.headers,
        body,
    })
}

/// The root under which the client reached us.
fn base(server: &Server, service: Service, headers: &HeaderMap) -> String {
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let plain =
        |host: &&str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-[]".contains(&b));
    let proto = headers.get("x-forwarded-proto").and_then(|proto| proto.to_str().ok());
    let proto = if proto == Some("https") { "https" } else { "http" };
    match host.filter(plain) {
        Some(host) => format!("{proto}://{host}"),
        None => server.config().endpoints.get(&service).cloned().unwrap_or_default(),
    }
}

fn dress(response: Response, id: &str, head: bool) -> hyper::Response<Full<Bytes>> {
    let has_body = !response.body.is_empty();
    let body = if head { Bytes::new() } else { response.body };
    let mut out = hyper::Response::new(Full::new(body));
    *out.status_mut() = response.status;
    let headers = out.headers_mut();
    if has_body {
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-openstack-request-id", id);
    }
    for (name, value) in response.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    out
}
