//! Connections: TLS with client certificates or bearer tokens, and Unix sockets that are an identity themselves.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use crate::identity::Identity;
use crate::pki::ServerTls;
use crate::server::ApiServer;

/// A client that does not finish its handshake by then is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that does not finish its request's headers by then is dropped.
const HEADERS: Duration = Duration::from_secs(30);
/// How long requests may take to finish once the server stops.
const DRAIN: Duration = Duration::from_secs(2);
/// After a failed accept (no file descriptors left, say) the listener takes a breath.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl ApiServer {
    /// Serves TLS clients until `shutdown` completes. Who they are, their certificates say.
    pub async fn serve_tls(
        &self,
        listener: TcpListener,
        tls: ServerTls,
        shutdown: impl Future<Output = ()>,
    ) {
        let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
        let graceful = Arc::new(GracefulShutdown::new());
        tokio::pin!(shutdown);
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "accept failed");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
                () = &mut shutdown => break,
            };
            let _ = stream.set_nodelay(true); // only a matter of latency
            let (server, acceptor, watcher) = (self.clone(), acceptor.clone(), graceful.watcher());
            let tls = tls.clone();
            tokio::spawn(async move {
                let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await
                else {
                    return; // not TLS, or too slow
                };
                let chain = stream.get_ref().1.peer_certificates();
                let identity = chain.and_then(|chain| tls.identity(chain));
                let identity = identity.map(Identity::authenticated);
                connection(server, stream, identity, watcher).await;
            });
        }
        drain(graceful).await;
    }

    /// Serves everybody who can open the socket as one identity.
    pub async fn serve_unix(
        &self,
        listener: UnixListener,
        identity: Identity,
        shutdown: impl Future<Output = ()>,
    ) {
        let graceful = Arc::new(GracefulShutdown::new());
        tokio::pin!(shutdown);
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "accept failed");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
                () = &mut shutdown => break,
            };
            let (server, identity, watcher) =
                (self.clone(), Some(identity.clone()), graceful.watcher());
            tokio::spawn(connection(server, stream, identity, watcher));
        }
        drain(graceful).await;
    }
}

async fn connection<S>(
    server: ApiServer,
    stream: S,
    identity: Option<Identity>,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (server, identity) = (server.clone(), identity.clone());
        async move { Ok::<_, Infallible>(server.handle(request, identity.as_ref()).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(serving).await {
        tracing::debug!(%error, "connection ended"); // clients hang up all the time
    }
}

async fn drain(graceful: Arc<GracefulShutdown>) {
    if let Some(graceful) = Arc::into_inner(graceful) {
        let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await; // then we leave anyway
    }
}
