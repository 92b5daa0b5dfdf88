//! The figures over HTTP, on the node itself only.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http::{Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// So many may ask at once.
const ASKING: usize = 16;
/// Who does not ask in this time is sent away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves `/metrics` until it is dropped. A port that is taken is somebody else's: MetalLB's own
/// speaker may run here, too.
pub async fn run(port: u16, shown: watch::Receiver<String>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%address, %error, "figures of announcing are not served");
            return std::future::pending().await;
        }
    };
    let asking = std::sync::Arc::new(Semaphore::new(ASKING));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = std::sync::Arc::clone(&asking).acquire_owned().await else { return };
        let shown = shown.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                let text = (request.uri().path() == "/metrics").then(|| shown.borrow().clone());
                async move { Ok::<_, Infallible>(response(text)) }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = served.await {
                tracing::debug!(%error, "who asked for figures went away");
            }
            drop(place);
        });
    }
}

fn response(text: Option<String>) -> Response<Full<Bytes>> {
    let known = text.is_some();
    let text = text.unwrap_or_else(|| "figures are at /metrics\n".to_owned());
    let mut response = Response::new(Full::new(Bytes::from(text)));
    if !known {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let plain = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
