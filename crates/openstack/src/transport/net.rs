//! HTTP and HTTPS by hyper and rustls. Connections are kept and used again.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Body as _;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{LARGEST_ANSWER, Transport, Trouble, tls};
use crate::config::Trust;

/// How long it may take until somebody answers the door.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than the 60 seconds after which usual proxies close what is idle.
const IDLE: Duration = Duration::from_secs(30);

/// Requests over the network.
#[derive(Clone)]
pub struct Net {
    http: Client<Connector, Full<Bytes>>,
    patience: Duration,
}

impl Net {
    /// With this trust, and at most so long for each answer. What is wrong with the certificates is
    /// told here.
    pub fn new(trust: &Trust, patience: Duration) -> Result<Self, String> {
        let connector = Connector { tls: TlsConnector::from(Arc::new(tls::config(trust)?)) };
        let http = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            // A kept connection that closes before anything was sent is no reason to give up.
            .retry_canceled_requests(true)
            .build(connector);
        Ok(Self { http, patience })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Trouble> {
        let response = self.http.request(request.map(Full::new)).await.map_err(|error| {
            let why = chain(&error);
            if error.is_connect() { Trouble::Unreachable(why) } else { Trouble::Lost(why) }
        })?;
        let (parts, body) = response.into_parts();
        let too_large = || Trouble::Unreadable(format!("it is larger than {LARGEST_ANSWER} bytes"));
        if body.size_hint().lower() > LARGEST_ANSWER as u64 {
            return Err(too_large());
        }
        let body = match Limited::new(body, LARGEST_ANSWER).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(too_large()),
            Err(error) => return Err(Trouble::Lost(chain(&*error))),
        };
        Ok(Response::from_parts(parts, body))
    }
}

impl Transport for Net {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>> {
        Box::pin(async move {
            let done = tokio::time::timeout(self.patience, self.exchange(request)).await;
            done.unwrap_or_else(|_| {
                Err(Trouble::Lost(format!("none within {} s", self.patience.as_secs_f32())))
            })
        })
    }
}

/// An error and what is below it: hyper's own words say little.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        below = error.source();
    }
    text
}

#[derive(Clone)]
struct Connector {
    tls: TlsConnector,
}

impl tower::Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Stream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.tls.clone();
        Box::pin(async move {
            tokio::time::timeout(CONNECT, connect(&uri, &tls)).await.unwrap_or_else(|_| {
                let why = format!("nobody answers within {} s", CONNECT.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            })
        })
    }
}

async fn connect(uri: &Uri, tls: &TlsConnector) -> io::Result<Stream> {
    let is_tls = uri.scheme_str() == Some("https");
    let host = uri.host().ok_or_else(|| io::Error::other("the URL has no host"))?;
    // IPv6 addresses have brackets in URLs, and nowhere else.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    if !is_tls {
        return Ok(Stream::Plain(TokioIo::new(stream)));
    }
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let stream = tls.connect(name, stream).await?;
    Ok(Stream::Tls(Box::new(TokioIo::new(stream))))
}

/// A connection, with or without TLS.
enum Stream {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}
